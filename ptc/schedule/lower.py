"""Lowering: `AtenProgram` -> loop `Program`, one kernel (or a few) an operator, nothing fused yet.

Walks the aten graph, gives each node's arguments to the operator's rule of `ptc.ops`, and describes
inputs, weights and outputs as buffers. Must not know any operator: what it handles itself are graph
mechanics (getitem, size arithmetic, outputs).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

from ptc.graph.program import AtenProgram, InputKind, OutputKind, ProgramInput
from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Buffer,
    BufferKind,
    DType,
    Expr,
    ExternKernel,
    Origin,
    Program,
    Size,
)
from ptc.ops import registry
from ptc.ops.dtypes import from_torch
from ptc.ops.protocol import TensorValue
from ptc.schedule.context import Context, dense_strides
from ptc.schedule.numbers import arithmetic, is_expression
from ptc.support.diagnostics import CompileError, InternalError

_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT)


def lower(program: AtenProgram, *, row_major: bool = False) -> Program:
    """The loop program of an aten program.

    Buffers of inputs and weights are named after their ProgramInput and listed in `inputs` in the
    order of the placeholders. Inputs, weights and results have eager's strides, or row-major ones
    with `row_major`: the interface of a library. Raises CompileError PTC-O001 for an operator
    without a rule.
    """
    return _Lowering(program, row_major).run()


class _Lowering:
    def __init__(self, program: AtenProgram, row_major: bool) -> None:
        self.program = program
        self.row_major = row_major
        ranges = {s: (d.lower, d.upper) for s, d in program.dims.items()}
        self.context = Context(ranges, program.equal)
        self.values: dict[Node, Any] = {}
        self.inputs: list[str] = []
        self.scalars: dict[str, str] = {}

    def run(self) -> Program:
        nodes = list(self.program.graph.graph.nodes)
        # Names that callers know come first, so that no temporary takes one.
        for node, described in zip(
            [n for n in nodes if n.op == "placeholder"], self.program.inputs, strict=True
        ):
            self._placeholder(node, described)
        outputs: tuple[str | Index, ...] = ()
        for node in nodes:
            if node.op == "call_function":
                self.values[node] = self._call(node)
            elif node.op == "get_attr":
                self.values[node] = self._literal(node)
            elif node.op == "output":
                outputs = self._outputs(node)
        known = {str(symbol) for symbol in self.program.equal}
        dims = [(s, d) for s, d in self.program.dims.items() if s not in known]
        sizes = tuple([Size(s, d.name, d.lower, d.upper) for s, d in dims])
        return Program(
            name=self.program.name,
            sizes=sizes,
            buffers=self.context.buffers,
            inputs=tuple(self.inputs),
            outputs=outputs,
            kernels=tuple(self.context.kernels),
            scalars=self.scalars,
            written=self._written_weights(),
        )

    def _written_weights(self) -> frozenset[str]:
        targets = [self.inputs[o.target] for o in self.program.outputs if o.target is not None]
        buffers = self.context.buffers
        return frozenset([n for n in targets if buffers[n].kind is BufferKind.WEIGHT])

    # -- leaves

    def _placeholder(self, node: Node, described: ProgramInput) -> None:
        value = node.meta["val"]
        name = described.name
        if name in self.context.buffers:
            raise InternalError("lower", f"two inputs are called {name}")
        self.inputs.append(name)
        if isinstance(value, torch.Tensor):
            kind = BufferKind.WEIGHT if described.kind in _WEIGHTS else BufferKind.INPUT
            symbols = self.context.symbols
            shape = symbols.shape(value.shape)
            strides = dense_strides(shape) if self.row_major else symbols.shape(value.stride())
            self.values[node] = self.context.add_buffer(
                Buffer(name, from_torch(value.dtype), shape, strides, kind)
            )
            return
        dtype = _scalar_dtype(value)
        whole = self.context.add_buffer(Buffer(name, dtype, (), (), BufferKind.INPUT))
        if isinstance(value, torch.SymInt):
            self.values[node] = self._integer(value, whole)
        elif isinstance(value, torch.SymFloat | torch.SymBool):
            self.values[node] = self.context.load(whole, ())
        else:
            self.values[node] = value

    def _integer(self, value: torch.SymInt, given: TensorValue) -> Index | Expr:
        """An int argument: a size, or where its range is not known, a number of any sign."""
        index = self.context.symbols.index(value)
        if index.variable is not None and index.variable not in self.program.dims:
            return self.context.load(given, ())
        if index.variable is not None:
            self.scalars[index.variable] = given.buffer
        return index

    def _literal(self, node: Node) -> TensorValue:
        tensor = getattr(self.program.graph, str(node.target)).detach().cpu().contiguous()
        self.context.operator = node.name
        return self.context.literal(tensor_bytes(tensor), tensor.shape, from_torch(tensor.dtype))

    # -- operators

    def _call(self, node: Node) -> Any:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            args = [self._argument(a) for a in node.args]
            # Whole parts of floats that were computed from sizes are sizes.
            rounded = node.target in (math.trunc, math.floor, math.ceil)
            if any(is_expression(a) for a in args) and not rounded:
                return arithmetic(node, args)
            return self.context.symbols.index(value)
        if isinstance(value, int | float | bool):
            return value
        if isinstance(value, torch.SymFloat | torch.SymBool):
            return self._symbolic_scalar(node, value)
        if node.target is operator.getitem:
            container, position = node.args
            return self._argument(container)[position]
        rule = registry.lowering(node.target)
        if rule is None:
            raise CompileError(
                "PTC-O001",
                f"the operator `{node.target}` has no lowering rule",
                location=node.meta.get("location"),
                hint="compute it outside the compiled model, or add a rule: see docs/operators.md",
            )
        self.context.operator = node.name
        location = node.meta.get("location")
        self.context.origin = Origin(_operator_name(node.target), str(location or ""))
        args = [self._argument(a) for a in node.args]
        kwargs = {k: self._argument(v) for k, v in node.kwargs.items()}
        try:
            registry.examine(node.target, *_fakes(node))
            result = rule(self.context, *args, **kwargs)
        except CompileError as error:
            raise _located(error, location) from None
        except (TypeError, AttributeError):
            # A rule that computes with the number itself, while it is known only at run time.
            if not any(is_expression(a) for a in (*args, *kwargs.values())):
                raise
            raise CompileError(
                "PTC-O004",
                f"`{node.target}` with a number that is known only when the model runs",
                location=location,
                hint="pass the number as a tensor, or fix it",
            ) from None
        self._check(node, result, value)
        return self._with_shapes(result, value)

    def _with_shapes(self, result: Any, expected: Any) -> Any:
        """Results under the shapes torch computed: a rule may have written an equal size in another
        form (`min(s0, 5)` where torch knows 5)."""
        if isinstance(result, list | tuple) and isinstance(expected, list | tuple):
            return tuple([self._with_shapes(r, e) for r, e in zip(result, expected, strict=False)])
        if not isinstance(result, TensorValue) or not isinstance(expected, torch.Tensor):
            return result
        shape, dtype = self.context.symbols.shape(expected.shape), from_torch(expected.dtype)
        if dtype is not result.dtype:
            return self.context.empty(shape, dtype)
        return result if shape == result.shape else replace(result, shape=shape)

    def _symbolic_scalar(self, node: Node, value: Any) -> Expr:
        """Arithmetic of float inputs stays on their loads; of sizes, the expression says all."""
        args = [self._argument(a) for a in node.args]
        if any(is_expression(a) for a in args):
            return arithmetic(node, args)
        return self.context.symbols.scalar(value)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Node):
            return self.values[value]
        if isinstance(value, list | tuple):
            return [self._argument(v) for v in value]
        if isinstance(value, torch.SymInt):
            return self.context.symbols.index(value)
        return value

    def _check(self, node: Node, result: Any, expected: Any) -> None:
        """A rule's result has the type and shape that torch computed."""
        if isinstance(expected, list | tuple):
            read = [user.args[1] for user in node.users if user.target is operator.getitem]
            for number, (got, want) in enumerate(zip(result, expected, strict=False)):
                # Torch's own rule may name another type for statistics than its kernel gives.
                if got is not None and want is not None and number in read:
                    self._check(node, got, want)
            return
        if not isinstance(expected, torch.Tensor) or not isinstance(result, TensorValue):
            return
        shape = self.context.symbols.shape(expected.shape)
        same = len(shape) == len(result.shape) and all(
            x == y or x.constant is None or y.constant is None
            for x, y in zip(shape, result.shape, strict=True)
        )
        nothing = any(d == 0 for d in shape)  # its type cannot matter: see `_with_shapes`
        if not same or (from_torch(expected.dtype) is not result.dtype and not nothing):
            raise InternalError(
                "lower",
                f"the rule of {node.target} gave {_shown(result.dtype, result.shape)}, torch says "
                f"{_shown(from_torch(expected.dtype), shape)} (node {node.name})",
            )

    # -- outputs

    def _outputs(self, node: Node) -> tuple[str | Index, ...]:
        elements: Sequence[Any] = node.args[0]  # type: ignore[assignment]
        expected = node.meta.get("val", (None,) * len(elements))
        names: list[str | Index] = []
        for number, (element, described) in enumerate(
            zip(elements, self.program.outputs, strict=True)
        ):
            value = self._argument(element)
            self.context.operator = f"out_{number}"
            self.context.origin = Origin("output", described.name)
            if isinstance(value, TensorValue):
                strides = self._output_strides(value, expected[number], described.kind, described)
                names.append(self._output(value, strides))
            elif isinstance(value, Index):
                names.append(value)
            elif isinstance(value, int) and not isinstance(value, bool):
                names.append(Index.const(value))
            else:
                names.append(self._scalar_output(value))
        return tuple(names)

    def _output_strides(
        self, value: TensorValue, fake: Any, kind: OutputKind, described: Any
    ) -> tuple[Index, ...]:
        """Eager's strides where they are dense, so that a caller sees the same memory format,
        unless the interface is row-major; a write-back has those of the input it is copied into."""
        if kind is OutputKind.WRITE_BACK:
            return self.context.buffers[self.inputs[described.target]].strides
        seen = isinstance(fake, torch.Tensor) and fake.dim() == len(value.shape)
        if seen and not self.row_major:
            strides = self.context.symbols.shape(fake.stride())
            if _is_dense(value.shape, strides):
                return strides
        return dense_strides(value.shape)

    def _output(self, value: TensorValue, strides: tuple[Index, ...]) -> str:
        """The OUTPUT buffer for a value: its own buffer if that is a temporary nobody else gives
        out, else a copy."""
        buffer = self.context.buffers[value.buffer]
        same = strides == buffer.strides or not self._read_whole(buffer.name)
        if value.remap is None and buffer.kind is BufferKind.TEMP and same:
            self.context.buffers[buffer.name] = replace(
                buffer, kind=BufferKind.OUTPUT, strides=strides
            )
            return buffer.name
        name = self.context.unique(self.context.operator)
        target = self.context.add_buffer(
            Buffer(name, value.dtype, value.shape, strides, BufferKind.OUTPUT)
        )
        self.context.copy(value, target)
        return name

    def _read_whole(self, name: str) -> bool:
        """Whether a runtime routine takes the buffer, which fixes its layout."""
        return any(
            isinstance(kernel, ExternKernel) and name in (*kernel.inputs, *kernel.outputs)
            for kernel in self.context.kernels
        )

    def _scalar_output(self, value: Any) -> str:
        """A float, bool or scalar expression as a 0-d output."""
        expr = value if is_expression(value) else b.literal(value, _scalar_dtype(value))
        name = self.context.unique(self.context.operator)
        target = self.context.add_buffer(Buffer(name, expr.dtype, (), (), BufferKind.OUTPUT))
        with self.context.kernel() as kernel:
            kernel.store(target, (), expr)
        return name


def _fakes(node: Node) -> tuple[Any, Any]:
    """The node's arguments with fake values for nodes."""
    return torch.fx.map_arg((node.args, node.kwargs), lambda n: n.meta.get("val"))


def _scalar_dtype(value: Any) -> DType:
    if isinstance(value, bool | torch.SymBool):
        return DType.BOOL
    return DType.I64 if isinstance(value, int | torch.SymInt) else DType.F64


def _is_dense(shape: Sequence[Index], strides: Sequence[Index]) -> bool:
    """Whether the strides are a permutation of row-major ones, dimensions of size 1 aside."""
    dims = [(s, d) for s, d in zip(strides, shape, strict=True) if d != 1]
    if all(s.constant is not None for s, _ in dims):
        dims.sort(key=lambda pair: int(pair[0]))
        expected = Index.const(1)
        for stride, size in dims:
            if stride != expected:
                return False
            expected = expected * size
        return True
    remaining, expected = list(dims), Index.const(1)
    while remaining:
        match = next((pair for pair in remaining if pair[0] == expected), None)
        if match is None:
            return False
        remaining.remove(match)
        expected = expected * match[1]
    return True


def _operator_name(target: Any) -> str:
    if isinstance(target, OpOverload):
        return str(target)
    return getattr(target, "__name__", str(target))


def _located(error: CompileError, location: Any) -> CompileError:
    if error.diagnostic.location is not None or location is None:
        return error
    d = error.diagnostic
    return CompileError(d.code, d.message, location=location, hint=d.hint, notes=d.notes)


def _shown(dtype: DType, shape: Sequence[Index]) -> str:
    return f"{dtype.value}[{', '.join(map(str, shape))}]"


def tensor_bytes(tensor: torch.Tensor) -> bytes:
    """The elements of a contiguous CPU tensor in memory order, as little-endian bytes."""
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
