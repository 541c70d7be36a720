"""Operations on lists in ONNX. Of numbers they work on 1-D tensors, of tensors on sequences.

Takes names of `ListItem` operations with their operands, writes to a builder. An operation that
changes its list gives the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from ptc.exporters.onnx.builder import Builder
from ptc.exporters.onnx.numbers import convert
from ptc.exporters.onnx.types import onnx_type
from ptc.exporters.onnx.values import (
    OnnxSequence,
    OnnxText,
    OnnxValue,
    element_dtype,
    empty_sequence,
)
from ptc.exporters.regions import Value
from ptc.graph.control import ListVar, NumberKind, Var
from ptc.loops.nodes import DType
from ptc.ops.onnx_protocol import OnnxTensor
from ptc.support.diagnostics import CompileError


def no_sizes(builder: Builder) -> OnnxTensor:
    """The shape of a 0-d tensor."""
    return builder.constant(np.array([], dtype=np.int64), DType.I64)


def apply(
    builder: Builder,
    op: str,
    args: Sequence[OnnxValue | None],
    operands: Sequence[Value | None],
    types: Sequence[Var],
) -> list[OnnxValue]:
    """The results of an operation. Raises CompileError PTC-E025 for one that ONNX has no form
    of."""
    given = [arg for arg in args if arg is not None]
    if any(isinstance(arg, OnnxText) for arg in given):
        raise _refused(f"the operation `{op}` of lists of strings")
    owner = next((v.type for v in operands if v is not None and isinstance(v.type, ListVar)), None)
    variable = types[0] if op == "new" else owner
    assert isinstance(variable, ListVar)
    of_numbers = isinstance(variable.element, NumberKind)
    kind = _Numbers if of_numbers else _Sequences
    operations = kind(builder, variable, types)
    own: Any = getattr(operations, f"op_{op}", None)
    if own is None:
        raise _refused(f"the operation `{op}` of lists")
    found = own(*given)
    return list(found) if isinstance(found, tuple) else [found]


def _refused(what: str) -> CompileError:
    return CompileError(
        "PTC-E025",
        f"ONNX has no form of {what}",
        hint="keep it in tensors, or export with `--format ptir`",
    )


class _Operations:
    def __init__(self, builder: Builder, variable: ListVar, types: Sequence[Var]) -> None:
        self._b = builder
        self._types = types
        self._dtype = element_dtype(variable)

    def number(self, value: int) -> OnnxTensor:
        return self._b.constant(value, DType.I64)

    def row(self, value: OnnxTensor) -> OnnxTensor:
        """A number as a tensor of one element."""
        return self._b.op("Reshape", value, self._b.constant([1], DType.I64))

    def plus(self, x: OnnxTensor, y: int) -> OnnxTensor:
        return self._b.op("Add", x, self.number(y))

    def scalar(self, value: OnnxTensor) -> OnnxTensor:
        return self._b.op("Reshape", value, no_sizes(self._b))


class _Numbers(_Operations):
    """Lists of numbers as 1-D tensors."""

    def _element(self, value: OnnxTensor) -> OnnxTensor:
        return self.row(convert(self._b, value, self._dtype))

    def _cut(self, x: OnnxTensor, start: OnnxTensor, stop: OnnxTensor) -> OnnxTensor:
        axis = self._b.constant([0], DType.I64)
        return self._b.op("Slice", x, self.row(start), self.row(stop), axis)

    def _joined(self, *parts: OnnxTensor) -> OnnxTensor:
        return self._b.op("Concat", *parts, axis=0)

    def op_new(self, *args: OnnxTensor) -> OnnxTensor:
        if not args:
            return self._b.constant(np.array([], dtype=np.int64), self._dtype)
        parts = [self._element(arg) for arg in args]
        return parts[0] if len(parts) == 1 else self._joined(*parts)

    def op_copy(self, x: OnnxTensor) -> OnnxTensor:
        return x

    def op_append(self, x: OnnxTensor, value: OnnxTensor) -> OnnxTensor:
        return self._joined(x, self._element(value))

    def op_extend(self, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
        return self._joined(x, y)

    def op_concat(self, x: OnnxTensor, y: OnnxTensor) -> OnnxTensor:
        return self._joined(x, y)

    def op_insert(self, x: OnnxTensor, index: OnnxTensor, value: OnnxTensor) -> OnnxTensor:
        before = self._cut(x, self.number(0), index)
        return self._joined(before, self._element(value), self._cut(x, index, self.op_length(x)))

    def op_set(self, x: OnnxTensor, index: OnnxTensor, value: OnnxTensor) -> OnnxTensor:
        place = self._b.op("Reshape", index, self._b.constant([1, 1], DType.I64))
        return self._b.op("ScatterND", x, place, self._element(value))

    def op_clear(self, x: OnnxTensor) -> OnnxTensor:
        return self.op_new()

    def op_reverse(self, x: OnnxTensor) -> OnnxTensor:
        last, before = self._b.constant([-1], DType.I64), self._b.constant([-(2**62)], DType.I64)
        return self._b.op("Slice", x, last, before, self._b.constant([0], DType.I64), last)

    def op_get(self, x: OnnxTensor, index: OnnxTensor) -> OnnxTensor:
        return self._b.op("Gather", x, index, axis=0)

    def op_pop(self, x: OnnxTensor, index: OnnxTensor) -> tuple[OnnxTensor, OnnxTensor]:
        rest = self._joined(
            self._cut(x, self.number(0), index),
            self._cut(x, self.plus(index, 1), self.op_length(x)),
        )
        return rest, self.op_get(x, index)

    def op_length(self, x: OnnxTensor) -> OnnxTensor:
        return self._b.op("Size", x, dtype=DType.I64)

    def op_slice(self, x: OnnxTensor, start: OnnxTensor, stop: OnnxTensor) -> OnnxTensor:
        return self._cut(x, start, stop)

    def op_pick(self, x: OnnxTensor, places: OnnxTensor) -> OnnxTensor:
        return self._b.op("Gather", x, places, axis=0)

    def op_filled(self, x: OnnxTensor, value: OnnxTensor) -> OnnxTensor:
        return self._b.op("Expand", self._element(value), self.row(self.op_length(x)))

    def op_find(self, *args: OnnxTensor) -> OnnxTensor:
        """The first place at which each list has the element beside it, or -1."""
        b = self._b
        found: OnnxTensor | None = None
        for owner, value in zip(args[0::2], args[1::2], strict=True):
            if not isinstance(owner, OnnxTensor) or not isinstance(value, OnnxTensor):
                raise _refused("the operation `find` of lists of lists")
            same = b.op("Equal", owner, b.cast(value, owner.dtype), dtype=DType.BOOL)
            found = same if found is None else b.op("And", found, same)
        assert found is not None
        length = self.op_length(args[0])
        none = b.op("Concat", b.cast(found, DType.I64), b.constant([1], DType.I64), axis=0)
        place = b.op("ArgMax", none, dtype=DType.I64, axis=0, keepdims=0)
        missing = b.op("Equal", place, length, dtype=DType.BOOL)
        return b.op("Where", missing, self.number(-1), place, dtype=DType.I64)


class _Sequences(_Operations):
    """Lists of tensors, or of lists of numbers, as sequences."""

    def _emit(
        self, kind: str, inputs: Sequence[OnnxTensor | OnnxSequence], **attributes: Any
    ) -> OnnxSequence:
        values = [self._b.values[value.name] for value in inputs]
        made = self._b.new_value("list", ir.SequenceType(ir.TensorType(onnx_type(self._dtype))))
        self._b.emit(kind, values, [made], attributes)
        assert made.name is not None
        return OnnxSequence(made.name, self._dtype)

    def _tensor(
        self,
        kind: str,
        inputs: Sequence[OnnxTensor | OnnxSequence],
        dtype: DType,
        **attributes: Any,
    ) -> OnnxTensor:
        values = [self._b.values[value.name] for value in inputs]
        made = self._b.new_value("element", ir.TensorType(onnx_type(dtype)))
        self._b.emit(kind, values, [made], attributes)
        assert made.name is not None
        return OnnxTensor(made.name, dtype)

    def op_new(self, *args: OnnxTensor) -> OnnxSequence:
        if not args:
            return empty_sequence(self._b, self._dtype)
        return self._emit("SequenceConstruct", args)

    def op_copy(self, x: OnnxSequence) -> OnnxSequence:
        return x

    def op_append(self, x: OnnxSequence, value: OnnxTensor) -> OnnxSequence:
        return self._emit("SequenceInsert", (x, value))

    def op_insert(self, x: OnnxSequence, index: OnnxTensor, value: OnnxTensor) -> OnnxSequence:
        return self._emit("SequenceInsert", (x, value, index))

    def op_set(self, x: OnnxSequence, index: OnnxTensor, value: OnnxTensor) -> OnnxSequence:
        return self.op_insert(self._emit("SequenceErase", (x, index)), index, value)

    def op_clear(self, x: OnnxSequence) -> OnnxSequence:
        return self.op_new()

    def op_get(self, x: OnnxSequence, index: OnnxTensor) -> OnnxTensor:
        return self._tensor("SequenceAt", (x, index), self._dtype)

    def op_pop(self, x: OnnxSequence, index: OnnxTensor) -> tuple[OnnxSequence, OnnxTensor]:
        return self._emit("SequenceErase", (x, index)), self.op_get(x, index)

    def op_length(self, x: OnnxSequence) -> OnnxTensor:
        return self._tensor("SequenceLength", (x,), DType.I64)

    def op_extend(self, x: OnnxSequence, y: OnnxSequence) -> OnnxSequence:
        return self._walked(x, self.number(0), self.op_length(y), lambda i: self.op_get(y, i))

    def op_concat(self, x: OnnxSequence, y: OnnxSequence) -> OnnxSequence:
        return self.op_extend(x, y)

    def op_reverse(self, x: OnnxSequence) -> OnnxSequence:
        last = self.plus(self.op_length(x), -1)
        return self._walked(
            self.op_new(),
            self.number(0),
            self.op_length(x),
            lambda i: self.op_get(x, self._b.op("Sub", last, i)),
        )

    def op_slice(self, x: OnnxSequence, start: OnnxTensor, stop: OnnxTensor) -> OnnxSequence:
        b = self._b
        length = self.op_length(x)
        start, stop = b.op("Min", start, length), b.op("Min", stop, length)
        count = b.op("Max", b.op("Sub", stop, start), self.number(0))
        return self._walked(self.op_new(), start, count, lambda i: self.op_get(x, i))

    def op_pick(self, x: OnnxSequence, places: OnnxTensor) -> OnnxSequence:
        count = self._b.op("Size", places, dtype=DType.I64)
        return self._walked(
            self.op_new(),
            self.number(0),
            count,
            lambda i: self.op_get(x, self._b.op("Gather", places, i, axis=0)),
        )

    def op_filled(self, x: OnnxSequence, value: OnnxTensor) -> OnnxSequence:
        return self._walked(self.op_new(), self.number(0), self.op_length(x), lambda _: value)

    def op_stack(self, x: OnnxSequence, dim: OnnxTensor) -> OnnxTensor:
        return self._from_sequence(x, dim, new_axis=1)

    def op_cat(self, x: OnnxSequence, dim: OnnxTensor) -> OnnxTensor:
        return self._from_sequence(x, dim, new_axis=0)

    def _from_sequence(self, x: OnnxSequence, dim: OnnxTensor, new_axis: int) -> OnnxTensor:
        content = self._b.values[dim.name].const_value
        if content is None:
            raise _refused("lists of tensors that are put together in a dimension of the data")
        return self._tensor(
            "ConcatFromSequence",
            (x,),
            self._dtype,
            axis=int(content.numpy()),
            new_axis=new_axis,
        )

    def op_lengths(self, x: OnnxSequence) -> OnnxTensor:
        """Of lists of numbers."""
        b = self._b
        sizes = _Numbers(b, ListVar("lengths", NumberKind.INT), self._types)
        return self._gathered(
            x, sizes.op_new(), lambda i: sizes.row(b.op("Size", self.op_get(x, i), dtype=DType.I64))
        )

    def op_flat(self, x: OnnxSequence) -> OnnxTensor:
        """The elements of lists of numbers."""
        empty = self._b.constant(np.array([], dtype=np.int64), self._dtype)
        return self._gathered(x, empty, lambda i: self.op_get(x, i))

    def _gathered(self, x: OnnxSequence, start: OnnxTensor, part: Any) -> OnnxTensor:
        """1-D tensors for each place of a list, one behind the other."""
        dtype = start.dtype
        type_ = ir.TensorType(onnx_type(dtype))

        def step(carried: str, i: OnnxTensor) -> str:
            joined = self._b.op("Concat", OnnxTensor(carried, dtype), part(i), axis=0)
            return joined.name

        return OnnxTensor(self._counted(start.name, type_, self.op_length(x), step), dtype)

    def _walked(
        self, start: OnnxSequence, first: OnnxTensor, count: OnnxTensor, element: Any
    ) -> OnnxSequence:
        """`start` with `element(i)` behind it for `count` places from `first`."""
        type_ = ir.SequenceType(ir.TensorType(onnx_type(self._dtype)))

        def step(carried: str, i: OnnxTensor) -> str:
            place = self._b.op("Add", i, first)
            return self.op_append(OnnxSequence(carried, self._dtype), element(place)).name

        return OnnxSequence(self._counted(start.name, type_, count, step), self._dtype)

    def _counted(self, start: str, type_: ir.TypeProtocol, count: OnnxTensor, step: Any) -> str:
        """A loop of `count` iterations that carries one value."""
        b = self._b
        with b.open_graph() as nodes:
            number = b.new_value("iteration", ir.TensorType(ir.DataType.INT64))
            going = b.new_value("going", ir.TensorType(ir.DataType.BOOL))
            for value in (number, going):
                value.shape = ir.Shape([])
            carried = b.new_value("carried", type_)
            assert number.name is not None and carried.name is not None
            end = step(carried.name, OnnxTensor(number.name, DType.I64))
            still = b.new_value("still", ir.TensorType(ir.DataType.BOOL))
            b.copy(going, still)
            left = b.new_value("left", type_)
            b.copy(b.values[end], left)
        body = ir.Graph([number, going, carried], [still, left], nodes=nodes, name="body")
        result = b.new_value("gathered", type_)
        first = b.values[b.constant(True, DType.BOOL).name]
        b.emit("Loop", [b.values[count.name], first, b.values[start]], [result], {"body": body})
        assert result.name is not None
        return result.name
