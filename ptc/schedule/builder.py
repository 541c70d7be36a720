"""Writes one kernel's statements: the `KernelBuilder` that operator rules see.

Keeps the ranges of the loop variables in scope, so that every index that is stored or loaded is
simplified at once. Knows nothing of operators or of torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Accumulator,
    Check,
    DType,
    Expr,
    If,
    Let,
    Loop,
    LoopKind,
    Ref,
    Stmt,
    Store,
    Update,
)
from ptc.ops.protocol import Indices, TensorValue


class Builder:
    """One loop nest in the making. `body` holds the finished top-level statements."""

    def __init__(self, sizes: Mapping[str, tuple[int, int | None]]) -> None:
        self.ranges = Ranges({}, sizes)
        self._levels: list[list[Stmt]] = [[]]
        self._used: dict[str, int] = {}

    @property
    def body(self) -> tuple[Stmt, ...]:
        """The statements written so far at the outermost level."""
        return tuple(self._levels[0])

    def fresh(self, hint: str) -> str:
        """A name that this kernel does not use yet."""
        number = self._used.get(hint, 0)
        self._used[hint] = number + 1
        return f"{hint}{number}"

    @contextmanager
    def loop(
        self, extent: Index, kind: LoopKind = LoopKind.PARALLEL, hint: str = "i"
    ) -> Iterator[Index]:
        """A loop around what is written inside. A loop of one iteration is left away."""
        if extent == 1:
            yield Index.const(0)
            return
        name = self.fresh(hint)
        self.ranges.declare(name, extent)
        self._levels.append([])
        yield Index.var(name)
        body = tuple(self._levels.pop())
        self._levels[-1].append(Loop(name, extent, kind, body))

    def let(self, value: Expr, hint: str = "v", bounds: Index | None = None) -> Ref:
        """Bind a scalar. With `bounds`, `Index.var(ref.name)` may address memory."""
        name = self.fresh(hint)
        if bounds is not None:
            self.ranges.declare(name, bounds)
        self._levels[-1].append(Let(name, value, bounds))
        return Ref(name, value.dtype)

    def store(
        self, target: TensorValue, index: Indices, value: Expr, reduce: str | None = None
    ) -> None:
        """Write an element of a tensor made by `empty` (or of a view of one)."""
        if value.dtype is not target.dtype:
            raise TypeError(f"{value.dtype.value} stored to {target.buffer}: {target.dtype.value}")
        where = index if target.remap is None else target.remap(index)
        simple = tuple([self.ranges.simplify(i) for i in where])
        self._levels[-1].append(Store(target.buffer, simple, value, reduce))

    def accumulator(self, op: str, init: Expr, dtype: DType, hint: str = "acc") -> Ref:
        """Declare a reduction variable. `Ref` is the running or final value."""
        name = self.fresh(hint)
        self._levels[-1].append(Accumulator(name, op, init, dtype))
        return Ref(name, DType.I64 if op in ("argmin", "argmax") else dtype)

    def update(self, accumulator: Ref, value: Expr, position: Expr | None = None) -> None:
        """Combine a value into an accumulator."""
        self._levels[-1].append(Update(accumulator.name, value, position))

    @contextmanager
    def condition(self, condition: Expr) -> Iterator[None]:
        """Run what is written inside only where `condition` holds."""
        self._levels.append([])
        yield
        body = tuple(self._levels.pop())
        self._levels[-1].append(If(condition, body))

    def check(self, condition: Expr, message: str) -> None:
        """Fail the run with `message` where `condition` is false."""
        self._levels[-1].append(Check(condition, message))


class ViewMap:
    """An index map made once: `indices` over probe variables, applied by substitution."""

    __slots__ = ("indices", "probes")

    def __init__(self, probes: tuple[str, ...], indices: Indices) -> None:
        self.probes = probes
        self.indices = indices

    def __call__(self, index: Indices) -> Indices:
        values = dict(zip(self.probes, index, strict=True))
        return tuple([i.substitute(values) for i in self.indices])


def make_view(
    x: TensorValue,
    shape: Indices,
    remap: Callable[[Indices], Indices],
    sizes: Mapping[str, tuple[int, int | None]],
) -> TensorValue:
    """`x` under another index space, its map simplified for indices within `shape`.

    A view that maps every index to itself is `x`.
    """
    names = tuple([f"p{d}" for d in range(len(shape))])
    ranges = Ranges({n: d for n, d in zip(names, shape, strict=True) if d != 1}, sizes)
    probes = tuple(
        [Index.const(0) if d == 1 else Index.var(n) for n, d in zip(names, shape, strict=True)]
    )
    inner = tuple([ranges.simplify(i) for i in remap(probes)])
    if x.remap is not None:
        inner = tuple([ranges.simplify(i) for i in x.remap(inner)])
    if x.remap is None and inner == probes and shape == x.shape:
        return x
    return TensorValue(x.buffer, x.dtype, shape, ViewMap(names, inner))
