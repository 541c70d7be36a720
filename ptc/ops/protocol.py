"""What an operator rule is written against: tensor values, the lowering builder, sample rows.

`ptc/ops` owns these protocols; `ptc/schedule` implements `LoweringContext`. A rule sees operators'
arguments as torch's schema orders them, with tensors as `TensorValue`, symbolic ints as `Index`,
everything else (numbers, lists, dtypes, None) as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr, LoopKind, Ref, Stmt

Indices = tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor during lowering: a buffer, seen through an index map.

    `remap` turns an index of this tensor into an index of the buffer (None: the same index). Views
    are index maps and cost nothing; `LoweringContext.load` resolves them.
    """

    buffer: str
    dtype: DType
    shape: Indices
    remap: Callable[[Indices], Indices] | None = None


class KernelBuilder(Protocol):
    """Writes one loop nest. Expressions are built with `ptc.loops.build` and stored here."""

    def loop(
        self, extent: Index, kind: LoopKind = LoopKind.PARALLEL, hint: str = "i"
    ) -> AbstractContextManager[Index]: ...

    def let(self, value: Expr, hint: str = "v", bounds: Index | None = None) -> Ref: ...

    def store(
        self, target: TensorValue, index: Indices, value: Expr, reduce: str | None = None
    ) -> None: ...

    def accumulator(self, op: str, init: Expr, dtype: DType, hint: str = "acc") -> Ref: ...

    def update(self, accumulator: Ref, value: Expr, position: Expr | None = None) -> None: ...

    def condition(self, condition: Expr) -> AbstractContextManager[None]: ...

    def check(self, condition: Expr, message: str) -> None: ...


class LoweringContext(Protocol):
    """Builds the LoopProgram, one operator at a time."""

    def size(self, value: int | Index) -> Index:
        """A size as an Index."""
        ...

    def counts_sizes(self, index: Index) -> bool:
        """Whether every variable of it is a size, not a number of any sign."""
        ...

    def may_be_zero(self, size: Index) -> bool:
        """Whether the ranges of the sizes let it be 0."""
        ...

    def load(
        self, x: TensorValue, index: Indices, mask: Expr | None = None, other: Expr | None = None
    ) -> Expr:
        """Read one element, through the views. Masked: see `nodes.Load`."""
        ...

    def view(
        self, x: TensorValue, shape: Sequence[Index], remap: Callable[[Indices], Indices]
    ) -> TensorValue:
        """The same memory under another index space. `remap`: new index -> index of `x`."""
        ...

    def empty(self, shape: Sequence[Index], dtype: DType) -> TensorValue:
        """A fresh temporary that the rule's kernels fill completely."""
        ...

    def pointwise(
        self, shape: Sequence[Index], dtype: DType, body: Callable[[Indices], Expr]
    ) -> TensorValue:
        """One kernel that stores `body(index)` at every index of a fresh buffer."""
        ...

    def kernel(self) -> AbstractContextManager[KernelBuilder]:
        """Write a kernel loop by loop, into buffers made by `empty`."""
        ...

    def materialise(self, x: TensorValue) -> TensorValue:
        """`x` in a dense buffer of its own shape (itself when it already is)."""
        ...

    def literal(self, data: bytes, shape: Sequence[int], dtype: DType) -> TensorValue:
        """Constant data carried by the program."""
        ...

    def template(
        self,
        template: str,
        extents: Mapping[str, Index],
        operands: Mapping[str, Callable[[Mapping[str, Index]], Expr]],
        shape: Sequence[Index],
        dtype: DType,
        *,
        out_vars: Sequence[str],
        accumulate: DType,
        attrs: Mapping[str, object] | None = None,
        epilogue: Callable[[Indices, Expr], Expr] | None = None,
    ) -> TensorValue:
        """A contraction. Operand functions get the template's index variables by name and return
        the operand's element there. `epilogue(index, acc)` gives the stored value (default: `acc`
        cast to `dtype`)."""
        ...

    def extern(
        self,
        function: str,
        inputs: Sequence[TensorValue],
        outputs: Sequence[TensorValue],
        attrs: Mapping[str, object] | None = None,
    ) -> None:
        """Call runtime routine `function`; inputs are materialised, outputs made by `empty`."""
        ...

    def statements(self, build: Callable[[KernelBuilder], None]) -> tuple[Stmt, ...]:
        """The statements `build` writes, not yet placed in a kernel (hand-made epilogues)."""
        ...


LoweringRule = Callable[..., TensorValue | tuple[TensorValue, ...]]


@dataclass(frozen=True, slots=True)
class T:
    """A tensor argument of a sample: `T("f32[3,4]")`, drawn anew for each test run.

    Floats are normal by default, or uniform in [low, high]; integers and bools are uniform in
    [low, high). `layout`: "contiguous", "transposed" (last two dims swapped in memory), "strided"
    (every second element), "channels_last", "expanded" (stride 0 on size-1-able dim 0). `special`:
    sprinkle inf, nan, -0.0 and denormals in. `definite`: matrices that are symmetric and positive
    definite.
    """

    spec: str
    low: float | None = None
    high: float | None = None
    layout: str = "contiguous"
    special: bool = False
    definite: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """One call of an operator: positional and keyword arguments, tensors as `T` (in lists too).

    `tolerance` multiplies the comparison's default tolerance (which is in terms of eager's own
    error against float64); `exact` asks for bitwise equality."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tolerance: float = 1.0
    exact: bool = False


def sample(*args: Any, tolerance: float = 1.0, exact: bool = False, **kwargs: Any) -> Sample:
    """A row of the sample table."""
    return Sample(args, kwargs, tolerance, exact)
