"""The builder that ONNX rules write to: values, constants, sizes, operators, all as onnx_ir nodes.

Implements `ptc.ops.onnx_protocol.OnnxBuilder`. Knows neither the aten graph nor any operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from ptc.exporters.onnx.types import onnx_type
from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.onnx_protocol import OnnxTensor, ResultType, Size
from ptc.support.diagnostics import InternalError

_NUMPY: dict[DType, Any] = {
    DType.F64: np.float64,
    DType.F32: np.float32,
    DType.F16: np.float16,
    DType.BF16: ml_dtypes.bfloat16,
    DType.I64: np.int64,
    DType.I32: np.int32,
    DType.I16: np.int16,
    DType.I8: np.int8,
    DType.U8: np.uint8,
    DType.BOOL: np.bool_,
}


#: Operators that runtimes have for every element type.
_FOR_ALL_TYPES = frozenset(
    {"Cast", "Concat", "Gather", "Identity", "Reshape", "Shape", "Slice", "Split", "Squeeze",
     "Transpose", "Unsqueeze"}
)  # fmt: skip

#: Operators that ONNX Runtime lacks for some types, and the type whose values say the same.
_CARRIERS: Mapping[tuple[str, DType], DType] = {
    ("Where", DType.I8): DType.I32,
    ("Where", DType.I16): DType.I32,
    ("ScatterND", DType.BOOL): DType.U8,
    ("Tile", DType.I16): DType.I32,
}


def carrier(kind: str, dtype: DType) -> DType:
    """The type that operator `kind` works in for values of `dtype`. No runtime's CPU kernels know
    bfloat16; f32 holds its values exactly, and every result is rounded back as eager does."""
    if dtype is DType.BF16 and kind not in _FOR_ALL_TYPES:
        return DType.F32
    return _CARRIERS.get((kind, dtype), dtype)


class Builder:
    """One ONNX graph under construction.

    `symbols` says where each size symbol is read: the value and the axis, or the value alone for an
    integer input. `reserved` are names that only inputs, outputs and weights have. A branch or a
    loop has a graph of its own, which sees the values around it (`open_graph`).
    """

    def __init__(self, opset: int, reserved: Set[str] = frozenset()) -> None:
        self.opset = opset
        self._reserved = reserved
        self.nodes: list[ir.Node] = []
        self.initializers: dict[str, ir.Value] = {}
        self.values: dict[str, ir.Value] = {}
        self.symbols: dict[str, tuple[OnnxTensor, int | None]] = {}
        self.results: tuple[ResultType, ...] = ()
        self._prefix = ""
        self._metadata: dict[str, str] = {}
        self._count = 0
        self._constants: dict[Any, OnnxTensor] = {}
        self._sizes: dict[Index, OnnxTensor] = {}
        self._casts: dict[tuple[str, DType], OnnxTensor] = {}

    # --- the protocol -----------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        return self.results[0].dtype

    @property
    def shape(self) -> tuple[Index, ...]:
        return self.results[0].shape

    def op(
        self, kind: str, *inputs: OnnxTensor | None, dtype: DType | None = None, **attributes: Any
    ) -> OnnxTensor:
        if dtype is None:
            dtype = next(value.dtype for value in inputs if value is not None)
        return self.ops(kind, *inputs, dtypes=[dtype], **attributes)[0]

    def ops(
        self, kind: str, *inputs: OnnxTensor | None, dtypes: Sequence[DType], **attributes: Any
    ) -> tuple[OnnxTensor, ...]:
        carried = [carrier(kind, dtype) for dtype in dtypes]
        inputs = tuple(
            None if value is None else self.cast(value, carrier(kind, value.dtype))
            for value in inputs
        )
        made = self._emit(kind, inputs, carried, attributes)
        return tuple(self.cast(value, dtype) for value, dtype in zip(made, dtypes, strict=True))

    def _emit(
        self,
        kind: str,
        inputs: Sequence[OnnxTensor | None],
        dtypes: Sequence[DType],
        attributes: Mapping[str, Any],
    ) -> tuple[OnnxTensor, ...]:
        trimmed = list(inputs)
        while trimmed and trimmed[-1] is None:
            trimmed.pop()
        outputs = [OnnxTensor(self._fresh(kind), dtype) for dtype in dtypes]
        declared = [self._declare(tensor) for tensor in outputs]
        sources = [None if value is None else self.values[value.name] for value in trimmed]
        self.emit(kind, sources, declared, attributes)
        return tuple(outputs)

    def constant(self, value: Any, dtype: DType) -> OnnxTensor:
        if isinstance(value, Index):
            return self.cast(self.size(value), dtype)
        if isinstance(value, OnnxTensor):
            return self.cast(value, dtype)
        array = array_of(value, dtype)
        key = (dtype, array.shape, array.tobytes())
        known = self._constants.get(key)
        if known is None:
            name = self.free_name(f"constant_{len(self._constants)}")
            known = self._constants[key] = OnnxTensor(name, dtype)
            self.add_initializer(known, ir.tensor(array, dtype=onnx_type(dtype), name=name))
        return known

    def sizes(self, values: Sequence[Size]) -> OnnxTensor:
        indices = [Index.of(value) for value in values]
        numbers = [index.constant for index in indices]
        if None not in numbers:
            return self.constant(numbers, DType.I64)
        parts = [
            self.constant([index.constant], DType.I64)
            if index.constant is not None
            else self._size(index)
            for index in indices
        ]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    def size(self, value: Size) -> OnnxTensor:
        index = Index.of(value)
        if index.constant is not None:
            return self.constant(index.constant, DType.I64)
        return self.op("Squeeze", self._size(index), self.constant([0], DType.I64))

    def cast(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        if x.dtype is dtype:
            return x
        key = (x.name, dtype)
        known = self._casts.get(key)
        if known is None:
            (made,) = self._emit("Cast", (x,), (dtype,), {"to": int(onnx_type(dtype))})
            known = self._casts[key] = OnnxTensor(made.name, dtype, x.shape)
        return known

    # --- for the translation ----------------------------------------------------------------------

    def begin(
        self, name: str, results: tuple[ResultType, ...], metadata: Mapping[str, str]
    ) -> None:
        """What is emitted from here on serves the aten operator `name`."""
        self._prefix = name
        self.results = results
        self._metadata = dict(metadata)

    def add_input(
        self, name: str, dtype: DType, shape: tuple[Index, ...], dims: ir.Shape
    ) -> OnnxTensor:
        """Declare a graph input (or an initializer to be) under its own name."""
        tensor = OnnxTensor(self._unique(name), dtype, shape)
        self._declare(tensor, dims)
        return tensor

    def add_initializer(self, tensor: OnnxTensor, content: ir.TensorProtocol) -> None:
        value = self.values.get(tensor.name) or self._declare(tensor)
        value.const_value = content
        value.shape = ir.Shape(list(content.shape.numpy()))
        self.initializers[tensor.name] = value

    def rename(self, tensor: OnnxTensor, name: str) -> OnnxTensor:
        """An Identity whose result has exactly `name`."""
        result = OnnxTensor(self._unique(name), tensor.dtype, tensor.shape)
        self._declare(result)
        self.copy(self.values[tensor.name], self.values[name])
        return result

    def copy(self, source: ir.Value, target: ir.Value) -> None:
        """An Identity from one declared value to another."""
        node = ir.node("Identity", [source], outputs=[target], name=f"output_{target.name}")
        self.nodes.append(node)

    def free_name(self, name: str) -> str:
        """`name`, or one like it that nothing has."""
        chosen, count = name, 0
        while chosen in self.values or chosen in self._reserved:
            count += 1
            chosen = f"{name}_{count}"
        return chosen

    def new_input(self, name: str, type_: ir.TypeProtocol) -> ir.Value:
        """Declare an input or output of the model under its own name."""
        value = self.values[self._unique(name)] = ir.Value(name=name, type=type_)
        return value

    def new_value(self, name: str, type_: ir.TypeProtocol) -> ir.Value:
        """Declare a value under a name like `name`."""
        chosen = self.free_name(name)
        value = self.values[chosen] = ir.Value(name=chosen, type=type_)
        return value

    def emit(
        self,
        kind: str,
        inputs: Sequence[ir.Value | None],
        outputs: Sequence[ir.Value],
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """An operator on declared values."""
        node = ir.node(
            kind, inputs, dict(attributes or {}) or None, outputs=outputs, name=outputs[0].name,
            metadata_props=dict(self._metadata),
        )  # fmt: skip
        self.nodes.append(node)

    @contextmanager
    def open_graph(self) -> Iterator[list[ir.Node]]:
        """What is emitted from here on belongs to an inner graph, whose nodes are given. Values of
        it are not seen outside."""
        outer = (self.nodes, self._sizes, self._casts, self.symbols)
        self.nodes = []
        self._sizes, self._casts = dict(self._sizes), dict(self._casts)
        self.symbols = dict(self.symbols)
        try:
            yield self.nodes
        finally:
            self.nodes, self._sizes, self._casts, self.symbols = outer

    def forget_sizes(self) -> None:
        """Symbols have another meaning from here on."""
        self.symbols, self._sizes = {}, {}

    # --- insides
    # ------------------------------------------------------------------------------------

    def _declare(self, tensor: OnnxTensor, shape: ir.Shape | None = None) -> ir.Value:
        type_ = ir.TensorType(onnx_type(tensor.dtype))
        value = ir.Value(name=tensor.name, type=type_, shape=shape)
        self.values[tensor.name] = value
        return value

    def _fresh(self, kind: str) -> str:
        self._count += 1
        return self.free_name(f"{self._prefix}/{kind}_{self._count}")

    def _unique(self, name: str) -> str:
        if name in self.values:
            raise InternalError("export", f"two ONNX values are called `{name}`")
        return name

    def _size(self, index: Index) -> OnnxTensor:
        """A symbolic size as a tensor of one element."""
        known = self._sizes.get(index)
        if known is None:
            values = {name: _SizeValue(self, self._symbol(name)) for name in index.free_vars()}
            result = index.evaluate(values, _SizeValue.least, _SizeValue.greatest)
            known = self._sizes[index] = result.tensor
        return known

    def _symbol(self, name: str) -> OnnxTensor:
        variable = Index.var(name)
        known = self._sizes.get(variable)
        if known is not None:
            return known
        if name not in self.symbols:
            raise InternalError("export", f"the size {name} has no source")
        source, axis = self.symbols[name]
        if axis is None:
            wide = self.cast(source, DType.I64)
            made = self.op("Reshape", wide, self.constant([1], DType.I64))
        else:
            made = self.op("Shape", source, dtype=DType.I64, start=axis, end=axis + 1)
        self._sizes[variable] = made
        return made


class _SizeValue:
    """A size under evaluation: Python's operators emit ONNX's."""

    def __init__(self, builder: Builder, tensor: OnnxTensor) -> None:
        self.builder = builder
        self.tensor = tensor

    def apply(self, kind: str, other: _SizeValue | int, swap: bool = False) -> _SizeValue:
        right = self._lift(other)
        pair = (right, self.tensor) if swap else (self.tensor, right)
        return _SizeValue(self.builder, self.builder.op(kind, *pair))

    def _lift(self, other: _SizeValue | int) -> OnnxTensor:
        if isinstance(other, _SizeValue):
            return other.tensor
        return self.builder.constant([other], DType.I64)

    def __add__(self, other: _SizeValue | int) -> _SizeValue:
        return self.apply("Add", other)

    __radd__ = __add__

    def __mul__(self, other: _SizeValue | int) -> _SizeValue:
        return self.apply("Mul", other)

    __rmul__ = __mul__

    def __mod__(self, other: _SizeValue | int) -> _SizeValue:
        return self.apply("Mod", other)

    def __rmod__(self, other: int) -> _SizeValue:
        return self.apply("Mod", other, swap=True)

    def __floordiv__(self, other: _SizeValue | int) -> _SizeValue:
        # ONNX divides towards zero; what divides evenly has no rounding.
        even = self.apply("Sub", self % other)
        return even.apply("Div", other)

    def __rfloordiv__(self, other: int) -> _SizeValue:
        return _SizeValue(self.builder, self._lift(other)) // self

    @staticmethod
    def least(a: Any, b: Any) -> Any:
        return _extremum("Min", a, b)

    @staticmethod
    def greatest(a: Any, b: Any) -> Any:
        return _extremum("Max", a, b)


def _extremum(kind: str, a: Any, b: Any) -> Any:
    if isinstance(a, _SizeValue):
        return a.apply(kind, b)
    if isinstance(b, _SizeValue):
        return b.apply(kind, a)
    return min(a, b) if kind == "Min" else max(a, b)


def array_of(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """A number or nest of lists; out-of-range integers wrap, as a cast in eager does."""
    target = _NUMPY[dtype]
    if dtype.is_int:
        wide = np.asarray(value)
        if wide.dtype.kind == "f":
            wide = np.trunc(wide)
        return wide.astype(np.int64).astype(target)
    return np.asarray(value, dtype=np.float64 if dtype.is_float else None).astype(target)
