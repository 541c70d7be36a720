"""The `LoweringContext` that operator rules build on.

Owns the program under construction: buffers, kernels, literals. One operator is lowered at a time;
its name and origin mark what it makes. Knows no operator and no torch graph (see `lower`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ptc.loops import build as b
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index, product
from ptc.loops.nodes import (
    AnyKernel,
    Buffer,
    BufferKind,
    DType,
    Expr,
    ExternKernel,
    Kernel,
    Load,
    Operand,
    Origin,
    Ref,
    Stmt,
    Store,
    TemplateKernel,
)
from ptc.loops.templates import TEMPLATES
from ptc.ops.protocol import Indices, TensorValue
from ptc.schedule.builder import Builder, make_view
from ptc.schedule.sizes import Sizes
from ptc.support.diagnostics import InternalError


def dense_strides(shape: Sequence[Index]) -> tuple[Index, ...]:
    """Row-major strides."""
    return tuple([product(shape[d + 1 :]) for d in range(len(shape))])


def _position(var: str, extent: Index) -> Index:
    """The index variable; a dimension of size 1 has one position."""
    return Index.const(0) if extent == 1 else Index.var(var)


class Context:
    """Implements `ptc.ops.protocol.LoweringContext`."""

    def __init__(
        self,
        sizes: Mapping[str, tuple[int, int | None]],
        equal: Mapping[Any, Any] | None = None,
    ) -> None:
        self.buffers: dict[str, Buffer] = {}
        self.kernels: list[AnyKernel] = []
        self._sizes = sizes
        self._symbols = Sizes(equal)
        self._kernel_names: dict[str, int] = {}
        self._builder: Builder | None = None
        self._ranges = Ranges({}, sizes)
        self._numbers = frozenset([name for name, (low, _) in sizes.items() if low < 0])
        self.operator = "op"
        self.origin = Origin("op")

    # -- buffers

    def size(self, value: int | Index) -> Index:
        """A size as an Index."""
        return self._symbols.index(value)

    def counts_sizes(self, index: Index) -> bool:
        """Whether every variable of it is a size, not a number of any sign."""
        return self._numbers.isdisjoint(index.free_vars())

    def may_be_zero(self, size: Index) -> bool:
        """Whether the ranges of the sizes let it be 0."""
        low = self._ranges.interval(size)[0]
        return low is None or low <= 0

    @property
    def symbols(self) -> Sizes:
        """The converter of symbolic sizes."""
        return self._symbols

    def unique(self, hint: str) -> str:
        """A buffer name that is not taken."""
        if hint not in self.buffers:
            return hint
        number = 1
        while f"{hint}_{number}" in self.buffers:
            number += 1
        return f"{hint}_{number}"

    def add_buffer(self, buffer: Buffer) -> TensorValue:
        """Enter a buffer; its whole as a tensor."""
        self.buffers[buffer.name] = buffer
        return TensorValue(buffer.name, buffer.dtype, buffer.shape)

    def empty(self, shape: Sequence[Index], dtype: DType) -> TensorValue:
        """A fresh temporary that the rule's kernels fill completely."""
        dims = tuple([Index.of(d) for d in shape])
        name = self.unique(self.operator)
        return self.add_buffer(Buffer(name, dtype, dims, dense_strides(dims), BufferKind.TEMP))

    def literal(self, data: bytes, shape: Sequence[int], dtype: DType) -> TensorValue:
        """Constant data carried by the program."""
        dims = tuple([Index.const(int(d)) for d in shape])
        name = self.unique(f"{self.operator}_data")
        return self.add_buffer(
            Buffer(name, dtype, dims, dense_strides(dims), BufferKind.LITERAL, data)
        )

    def view(
        self, x: TensorValue, shape: Sequence[Index], remap: Callable[[Indices], Indices]
    ) -> TensorValue:
        """The same memory under another index space. `remap`: new index -> index of `x`."""
        return make_view(x, tuple([Index.of(d) for d in shape]), remap, self._sizes)

    def materialise(self, x: TensorValue) -> TensorValue:
        """`x` in a dense buffer of its own shape (itself when it already is)."""
        buffer = self.buffers[x.buffer]
        if x.remap is None and buffer.strides == dense_strides(buffer.shape):
            return x
        return self.pointwise(x.shape, x.dtype, lambda index: self.load(x, index))

    # -- expressions

    def load(
        self, x: TensorValue, index: Indices, mask: Expr | None = None, other: Expr | None = None
    ) -> Expr:
        """Read one element, through the views. Masked: see `nodes.Load`."""
        if len(index) != len(x.shape):
            raise InternalError(
                "lower", f"{self.operator}: {len(index)} indices into a {len(x.shape)}-d tensor"
            )
        where = index if x.remap is None else x.remap(index)
        simple = tuple([self._ranges.simplify(Index.of(i)) for i in where])
        return Load(x.buffer, simple, x.dtype, mask, other)

    # -- kernels

    def _name_kernel(self) -> str:
        number = self._kernel_names.get(self.operator, 0)
        self._kernel_names[self.operator] = number + 1
        return self.operator if number == 0 else f"{self.operator}__{number}"

    @contextmanager
    def _scope(self, builder: Builder) -> Iterator[Builder]:
        saved = self._builder, self._ranges
        self._builder, self._ranges = builder, builder.ranges
        try:
            yield builder
        finally:
            self._builder, self._ranges = saved

    @contextmanager
    def kernel(self) -> Iterator[Builder]:
        """Write a kernel loop by loop, into buffers made by `empty`."""
        with self._scope(Builder(self._sizes)) as builder:
            yield builder
        self.kernels.append(Kernel(self._name_kernel(), builder.body, (), (self.origin,)))

    def pointwise(
        self, shape: Sequence[Index], dtype: DType, body: Callable[[Indices], Expr]
    ) -> TensorValue:
        """One kernel that stores `body(index)` at every index of a fresh buffer."""
        target = self.empty(shape, dtype)
        with self.kernel() as builder:
            self._fill(builder, target, (), body)
        return target

    def _fill(
        self,
        builder: Builder,
        target: TensorValue,
        index: Indices,
        body: Callable[[Indices], Expr],
    ) -> None:
        if len(index) == len(target.shape):
            builder.store(target, index, body(index))
            return
        with builder.loop(target.shape[len(index)]) as i:
            self._fill(builder, target, (*index, i), body)

    def copy(self, x: TensorValue, target: TensorValue) -> None:
        """Store every element of `x` to `target`, of the same shape."""
        with self.kernel() as builder:
            self._fill(builder, target, (), lambda index: self.load(x, index))

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
        """A contraction; see the protocol. `out_vars` are the template's output variables that
        index the result (those of extent 1 may be left out)."""
        formal = TEMPLATES[template]
        target = self.empty(shape, dtype)
        sizes = {v: Index.of(extents[v]) for v in formal.vars if v in extents}
        builder = Builder(self._sizes)
        for name, extent in sizes.items():
            builder.ranges.declare(name, extent)
        made: dict[str, Operand] = {}
        with self._scope(builder):
            for name, element in operands.items():
                variables = formal.operands[name]
                values = {v: _position(v, sizes[v]) for v in variables}
                made[name] = Operand(variables, element(values))
            index = tuple([_position(v, sizes[v]) for v in out_vars])
            acc = Ref("acc", accumulate)
            value = b.cast(acc, dtype) if epilogue is None else epilogue(index, acc)
            store = Store(target.buffer, index, value)
        self.kernels.append(
            TemplateKernel(
                self._name_kernel(), template, sizes, made, (store,), accumulate,
                dict(attrs or {}), (self.origin,),
            )
        )  # fmt: skip
        return target

    def extern(
        self,
        function: str,
        inputs: Sequence[TensorValue],
        outputs: Sequence[TensorValue],
        attrs: Mapping[str, object] | None = None,
    ) -> None:
        """Call runtime routine `function`; inputs are materialised, outputs made by `empty`."""
        names = tuple([self.materialise(x).buffer for x in inputs])
        targets = tuple([x.buffer for x in outputs])
        kernel = ExternKernel(
            self._name_kernel(), function, names, targets, dict(attrs or {}), (self.origin,)
        )
        self.kernels.append(kernel)

    def statements(self, build: Callable[[Builder], None]) -> tuple[Stmt, ...]:
        """The statements `build` writes, not yet placed in a kernel (hand-made epilogues)."""
        builder = Builder(self._sizes)
        with self._scope(builder):
            build(builder)
        return builder.body
