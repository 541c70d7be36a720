"""Builds programs with control flow by hand, for tests of what comes after capture.

Segments are traced on fake tensors; items are added to the body that is open. It knows nothing of
bytecode: what a Python construct becomes is written out by the test.
"""

# pyright: reportPrivateUsage=false
# Tells ranges to the shape environment as capture does, and compares storages of fake tensors.

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from ptc.autograd.torch_internals import python_dispatcher
from ptc.graph.control import (
    Assign,
    Bind,
    Body,
    Compute,
    ControlOutput,
    ControlProgram,
    DataSized,
    Emit,
    Formatted,
    If,
    ListItem,
    NumberKind,
    NumberVar,
    Operand,
    Raise,
    ReadItem,
    Segment,
    StateNumber,
    Switch,
    TensorVar,
    Text,
    Var,
    While,
)
from ptc.graph.program import (
    CapturedProgram,
    Const,
    DimRange,
    InputKind,
    Leaf,
    Node,
    ProgramInput,
    ProgramOutput,
    Structure,
)
from ptc.graph.symbols import expression_of
from ptc.support.diagnostics import Location
from tests.graph.tracing import Tracer

KINDS: dict[type, NumberKind] = {
    int: NumberKind.INT,
    float: NumberKind.FLOAT,
    bool: NumberKind.BOOL,
}


class SegmentTracer(Tracer):
    """Symbolic numbers stay in the arguments as they are, unless a placeholder is the number."""

    def __init__(self, location: Location) -> None:
        super().__init__()
        self.scalars: dict[Any, Any] = {}
        self.location = location

    def finish(self, node: Any, value: Any) -> None:
        super().finish(node, value)
        node.meta.update(location=self.location, stack=(self.location,))

    def arg(self, value: Any) -> Any:
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self.scalars.get(expression_of(value), value)
        return super().arg(value)


@dataclass
class ControlBuilder:
    """A program in the making. Names of variables are the caller's."""

    name: str = "model"
    mode: Any = field(default_factory=lambda: FakeTensorMode(shape_env=ShapeEnv()))
    body: Body = field(default_factory=Body)
    inputs: list[ProgramInput] = field(default_factory=list[ProgramInput])
    values: list[Any] = field(default_factory=list[Any])
    dims: dict[str, DimRange] = field(default_factory=dict[str, DimRange])
    sizes: dict[str, DimRange] = field(default_factory=dict[str, DimRange])
    state: list[StateNumber] = field(default_factory=list[StateNumber])
    written: set[str] = field(default_factory=set[str])
    symbols: dict[str, Any] = field(default_factory=dict[str, Any])
    line: int = 1
    text: str = ""

    def at(self, line: int, text: str = "") -> Location:
        """The user's line for what follows."""
        self.line, self.text = line, text
        return self.location

    @property
    def location(self) -> Location:
        return Location("model.py", self.line, self.text)

    # -- variables -----------------------------------------------------------------------------

    def tensor(
        self, name: str, example: torch.Tensor, dims: Mapping[int, tuple[str, int, int | None]] = {}
    ) -> TensorVar:
        """A tensor argument of the user; `dims`: dimension -> (name, lower, upper)."""
        context = StatelessSymbolicContext(
            dynamic_sizes=[
                DimDynamic.DYNAMIC if dim in dims else DimDynamic.STATIC
                for dim in range(example.dim())
            ]
        )
        fake = self.mode.from_tensor(example, symbolic_context=context)
        for dim, (label, lower, upper) in dims.items():
            self._describe(self.dims, fake.shape[dim], DimRange(label, lower, upper))
        self.inputs.append(ProgramInput(name, InputKind.USER, f"L[{name!r}]"))
        self.values.append(fake)
        return TensorVar(name, fake)

    def weight(
        self, name: str, live: torch.Tensor, kind: InputKind = InputKind.PARAMETER
    ) -> TensorVar:
        """A parameter or buffer. One that the program writes goes into `written`."""
        fake = self.mode.from_tensor(live, static_shapes=True)
        self.inputs.append(ProgramInput(name, kind, f"L['self'].{name}", live))
        self.values.append(fake)
        return TensorVar(name, fake)

    def scalar(self, name: str, kind: NumberKind) -> NumberVar:
        """A number argument of the user."""
        variable = NumberVar(name, kind)
        self.inputs.append(ProgramInput(name, InputKind.SCALAR, f"L[{name!r}]"))
        self.values.append(self.symbol_of(variable))
        return variable

    def kept(self, name: str, initial: int | float | bool) -> NumberVar:
        """A number that stays from call to call."""
        variable = NumberVar(name, KINDS[type(initial)])
        self.state.append(StateNumber(variable, name, initial))
        return variable

    def size(self, label: str, lower: int = 0, upper: int | None = None) -> torch.SymInt:
        """A new symbolic size that the program binds."""
        hint = max(lower, 5 + len(self.sizes))
        hint = hint if upper is None else min(hint, upper)
        context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC])
        probe = self.mode.from_tensor(torch.empty(hint, device="meta"), symbolic_context=context)
        self._describe(self.sizes, probe.shape[0], DimRange(label, lower, upper))
        return probe.shape[0]

    def _describe(self, table: dict[str, DimRange], size: Any, described: DimRange) -> None:
        torch._check(size >= described.lower)
        if described.upper is not None:
            torch._check(size <= described.upper)
        table[str(expression_of(size))] = described

    def variable(self, name: str, dtype: torch.dtype, *shape: Any) -> TensorVar:
        """A row-major tensor variable of this type; nothing is assigned."""
        with self.mode:
            return TensorVar(name, torch.empty(shape, dtype=dtype))

    def number_of(self, symbol: torch.SymInt) -> NumberVar:
        """A symbol that is bound, as an operand."""
        return NumberVar(str(expression_of(symbol)), NumberKind.INT)

    def symbol_of(self, variable: NumberVar) -> Any:
        """The symbolic number that stands for a number variable in segments."""
        if variable.name not in self.symbols:
            env = self.mode.shape_env
            if variable.kind is NumberKind.INT:
                made: Any = env.create_unbacked_symint()
            elif variable.kind is NumberKind.FLOAT:
                made = env.create_unbacked_symfloat()
            else:
                made = env.create_unbacked_symbool()
            self.symbols[variable.name] = made
        return self.symbols[variable.name]

    # -- items ---------------------------------------------------------------------------------

    def add(self, item: Any) -> None:
        self.body.items.append(item)

    def segment(
        self, fn: Callable[..., Any], reads: Sequence[Var], *names: str
    ) -> tuple[TensorVar, ...]:
        """`names = fn(*reads)`. Without names the segment only writes to what it reads."""
        tracer = SegmentTracer(self.location)
        fakes: list[Any] = []
        inputs: list[ProgramInput] = []
        known = {described.name: described for described in self.inputs}
        for variable in reads:
            if isinstance(variable, NumberVar):
                value = self.symbol_of(variable)
                inputs.append(ProgramInput(variable.name, InputKind.SCALAR, variable.name))
            else:
                assert isinstance(variable, TensorVar)
                value = variable.fake
                made = ProgramInput(variable.name, InputKind.USER, variable.name)
                inputs.append(known.get(variable.name, made))
            tracer.placeholder(variable.name, value)
            if isinstance(variable, NumberVar):
                tracer.scalars[expression_of(value)] = next(iter(reversed(tracer.graph.nodes)))
            fakes.append(value)
        with (
            torch.no_grad(),
            self.mode,
            python_dispatcher(True),
            tracer,
            warnings.catch_warnings(action="ignore"),  # a symbolic number in a node's arguments
        ):
            results = fn(*fakes)
        results = () if not names else results if isinstance(results, tuple) else (results,)
        output = tracer.graph.output(tuple(tracer.arg(value) for value in results))
        output.meta["val"] = tuple(results)
        storages = {_storage(f): i for i, f in reversed(list(enumerate(fakes))) if _is_tensor(f)}
        outputs = tuple(
            ProgramOutput(name, alias_of=storages.get(_storage(value)))
            for name, value in zip(names, results, strict=True)
        )
        self.add(
            Segment(
                CapturedProgram(
                    GraphModule(torch.nn.Module(), tracer.graph),
                    tuple(inputs),
                    outputs,
                    self.mode,
                    name=f"{self.name}_{self.line}",
                    location=self.location,
                )
            )
        )
        return tuple(TensorVar(name, fake) for name, fake in zip(names, results, strict=True))

    def compute(self, name: str, kind: NumberKind, op: str, *args: Operand) -> NumberVar:
        target = NumberVar(name, kind)
        self.add(Compute(target, op, args))
        return target

    def item(self, name: str, tensor: TensorVar) -> NumberVar:
        dtype = tensor.fake.dtype
        if dtype == torch.bool:
            kind = NumberKind.BOOL
        else:
            kind = NumberKind.FLOAT if dtype.is_floating_point else NumberKind.INT
        target = NumberVar(name, kind)
        self.add(ReadItem(target, tensor))
        return target

    def test(self, name: str, fn: Callable[..., torch.Tensor], *reads: Var) -> NumberVar:
        """A condition on tensors: a segment and its element."""
        (tensor,) = self.segment(fn, reads, name + "_tensor")
        return self.item(name, tensor)

    def assign(self, target: Var, source: Var | int | float | bool) -> None:
        self.add(Assign(target, source))

    def number(self, name: str, value: int | float | bool) -> NumberVar:
        """A new number variable with this value."""
        target = NumberVar(name, KINDS[type(value)])
        self.assign(target, value)
        return target

    def bind_dim(self, symbol: torch.SymInt, tensor: TensorVar, dim: int = 0) -> None:
        self.add(Bind(str(expression_of(symbol)), tensor, dim))

    def bind_value(self, symbol: torch.SymInt, value: Operand) -> None:
        self.add(Bind(str(expression_of(symbol)), value=value))

    def data_sized(
        self, op: str, targets: Sequence[TensorVar], *args: TensorVar | Operand | None
    ) -> None:
        self.add(DataSized(tuple(targets), op, args))

    def list_item(self, op: str, target: Var | None, *args: Var | Operand) -> None:
        self.add(ListItem(op, target, args))

    def emit(self, channel: str, *text: str | Formatted, label: str = "") -> None:
        self.add(Emit(channel, text, label, self.location))

    def fail(self, type_name: str, *text: str | Formatted) -> None:
        message: Text = text
        self.add(Raise(type_name, message, self.location))

    # -- control flow --------------------------------------------------------------------------

    @contextmanager
    def inside(self, body: Body) -> Iterator[None]:
        """Items go to `body`."""
        outer, self.body = self.body, body
        try:
            yield
        finally:
            self.body = outer

    def branch(self, condition: NumberVar, construct: str = "if") -> tuple[Body, Body]:
        item = If(condition, Body(), Body(), self.location, construct)
        self.add(item)
        return item.then, item.orelse

    def switch(self, selector: NumberVar, count: int, construct: str = "switch") -> list[Body]:
        item = Switch(selector, tuple(Body() for _ in range(count)), self.location, construct)
        self.add(item)
        return list(item.arms)

    def loop(self, again: NumberVar, construct: str = "while") -> Body:
        item = While(Body(), again, self.location, construct)
        self.add(item)
        return item.body

    # -- the whole -----------------------------------------------------------------------------

    def finish(self, *outputs: Var, **parts: Any) -> ControlProgram:
        """The program with these flat outputs; `parts` as in ControlProgram."""
        leaves = [
            Leaf(number)
            for number, described in enumerate(self.inputs)
            if described.kind in (InputKind.USER, InputKind.SCALAR)
        ]
        arguments = Node("tuple", (Node("tuple", tuple(leaves)), Node("dict", ())))
        result: Structure = Const(None)
        if len(outputs) == 1:
            result = Leaf(0)
        elif outputs:
            result = Node("tuple", tuple(Leaf(number) for number in range(len(outputs))))
        settings: dict[str, Any] = {
            "inputs": tuple(self.inputs),
            "values": tuple(self.values),
            "body": self.body,
            "outputs": tuple(ControlOutput(f"output{i}", v) for i, v in enumerate(outputs)),
            "fake_mode": self.mode,
            "dims": dict(self.dims),
            "sizes": dict(self.sizes),
            "arguments": arguments,
            "result": None if "variants" in parts else result,
            "state": tuple(self.state),
            "written": frozenset(self.written),
            "name": self.name,
            "location": Location("model.py", 1, "def forward(...):"),
        }
        return ControlProgram(**{**settings, **parts})


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _storage(fake: torch.Tensor) -> int:
    return fake.untyped_storage()._cdata
