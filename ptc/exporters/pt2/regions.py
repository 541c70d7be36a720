"""Running a program with control flow as `torch.export` traces it: branches and loops as torch's
operators `cond` and `while_loop`.

Takes regions and values of what they use; gives values. What an operator's graphs use from outside
is given to it, since they may refer to nothing else. Knows neither files nor signatures.
"""

# pyright: reportPrivateUsage=false
# `torch._check` is how a range is told to torch.export.

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, assert_never

import torch
from torch.fx import GraphModule

from ptc.exporters.pt2 import numbers
from ptc.exporters.pt2.alike import are_alike
from ptc.exporters.pt2.data_sized import data_sized
from ptc.exporters.pt2.segments import Scalar, SegmentReplay
from ptc.exporters.pt2.straight import is_users, with_source_lines
from ptc.exporters.pt2.torch_export import known_of_sizes, set_place
from ptc.exporters.regions import (
    Branch,
    Call,
    Constant,
    Dimension,
    Loop,
    Operation,
    Primitive,
    Region,
    Undefined,
    Value,
    free_values,
    walk,
)
from ptc.graph.control import ListVar, NumberKind, NumberVar, TensorVar, TextVar
from ptc.graph.control_parts import placeholders_of
from ptc.graph.program import DimRange
from ptc.graph.symbols import SYMBOLIC_TYPES, expression_of
from ptc.support.diagnostics import CompileError, InternalError, Location

_COND = torch.ops.higher_order.cond
_WHILE_LOOP = torch.ops.higher_order.while_loop


class RegionTracer:
    """One region on its way through tracing. `values` has what was made so far, `weights` the
    program's plain weights by name."""

    def __init__(
        self,
        values: dict[Value, Any],
        weights: Mapping[str, torch.Tensor],
        graphs: dict[int, GraphModule] | None = None,
    ) -> None:
        self.values = values
        self._weights = weights
        # With the user's lines, by id of the segment
        self._graphs: dict[int, GraphModule] = {} if graphs is None else graphs

    def run(self, region: Region) -> None:
        for operation in region.operations:
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        match operation:
            case Constant():
                self.values[operation.result] = operation.content
            case Undefined():
                self.values[operation.result] = _anything(operation.result)
            case Dimension():
                tensor = self.values[operation.tensor]
                self.values[operation.result] = tensor.shape[operation.dim]
            case Call():
                self._call(operation)
            case Primitive():
                self._primitive(operation)
            case Branch():
                self._branch(operation)
            case Loop():
                self._loop(operation)
            case _:
                assert_never(operation)

    # --- straight computation ---------------------------------------------------------------------

    def _call(self, call: Call) -> None:
        aten = call.segment.aten
        given: list[Any] = []
        for (described, node), value in zip(placeholders_of(aten), call.args, strict=True):
            if value is None:
                given.append(self._weights.get(described.name))  # None: it is not read
            elif isinstance(value.type, NumberVar):
                given.append(self._argument(value, node.meta["val"], aten.dims))
            else:
                given.append(self.values[value])
        key = id(call.segment)
        if key not in self._graphs:
            self._graphs[key] = with_source_lines(aten.graph)
        results = SegmentReplay(self._graphs[key]).run(*given)
        for value, result in zip(call.results, results, strict=True):
            if value is not None:
                self.values[value] = result

    def _argument(self, value: Value, fake: Any, dims: Mapping[str, DimRange]) -> Any:
        """A number as an argument of a graph. One that is a size there is a size from here on."""
        number = self.values[value]
        if not isinstance(number, torch.Tensor):
            return number
        name = str(expression_of(fake)) if isinstance(fake, SYMBOLIC_TYPES) else ""
        if name not in dims:
            return Scalar(number, kind_of(value))
        read = numbers.as_scalar(number, kind_of(value))
        torch._check(read >= dims[name].lower)
        if dims[name].upper is not None:
            torch._check(read <= dims[name].upper)
        self.values[value] = read
        return read

    def _primitive(self, operation: Primitive) -> None:
        args: list[Any] = [None if a is None else self.values[a] for a in operation.args]
        match operation.kind:
            case "compute":
                (result,) = operation.results
                with placed_at(operation.location):
                    found = [numbers.compute(operation.op, args, kind_of(result))]
            case "item":
                (result,) = operation.results
                found = [numbers.as_tensor(args[0].reshape(()), kind_of(result))]
            case "data_sized":
                found = data_sized(operation.op, _scalars(operation, args), len(operation.results))
            case _:
                place = operation.location
                known = place is not None and is_users(place)
                raise _unsayable(operation.results[0], place if known else None)
        self.values.update(zip(operation.results, found, strict=True))

    # --- control flow -----------------------------------------------------------------------------

    def _branch(self, branch: Branch) -> None:
        condition = self.values[branch.condition]
        if isinstance(condition, bool) or are_alike(branch.then, branch.orelse):
            region = branch.then if condition is True else branch.orelse
            self.run(region)
            found = [self.values[value] for value in region.results]
        elif branch.results:
            _require_sayable(branch.results, branch.location)
            outside = self._outside([branch.then, branch.orelse])
            with placed_at(branch.location):
                found = _COND(
                    numbers.as_tensor(condition, NumberKind.BOOL),
                    self._arm(branch, branch.then, outside),
                    self._arm(branch, branch.orelse, outside),
                    tuple(outside.operands),
                )
        else:
            found = []
        self.values.update(zip(branch.results, found, strict=True))

    def _arm(
        self, branch: Branch, region: Region, outside: Outside
    ) -> Callable[..., tuple[Any, ...]]:
        def run(*operands: Any) -> tuple[Any, ...]:
            inner = outside.tracer(operands)
            before = known_of_sizes(operands)
            inner.run(region)
            if known_of_sizes(operands) != before:
                raise _for_some_sizes(branch.location)
            pairs = zip(region.results, branch.results, strict=True)
            return tuple(_own(inner.values[value], outer) for value, outer in pairs)

        return run

    def _loop(self, loop: Loop) -> None:
        _require_sayable(loop.results, loop.location)
        outside = self._outside([loop.body], also=[loop.again])
        count = 1 + len(loop.initial)

        def again(*operands: Any) -> torch.Tensor:
            return operands[0].clone()

        def body(*operands: Any) -> tuple[Any, ...]:
            inner = outside.tracer(operands[count:])
            inner.values.update(zip(loop.body.params, operands[1:count], strict=True))
            inner.run(loop.body)
            results = [_own(inner.values[v], v) for v in loop.body.results]
            for value, entered, left in zip(loop.results, operands[1:count], results, strict=True):
                _require_same_shape(value, entered, left, loop.location)
            going = numbers.as_tensor(inner.values[loop.again], NumberKind.BOOL)
            return (going.clone(), *results)

        first = torch.full((), True)
        initial = [_own(self.values[value], value) for value in loop.initial]
        with placed_at(loop.location):
            _, *found = _WHILE_LOOP(again, body, (first, *initial), tuple(outside.operands))
        self.values.update(zip(loop.results, found, strict=True))

    def _outside(self, regions: Sequence[Region], also: Sequence[Value] = ()) -> Outside:
        """What regions use from outside."""
        used = dict.fromkeys(value for region in regions for value in free_values(region, also))
        names = dict.fromkeys(name for region in regions for name in _weights_of(region))
        values = {value: self.values[value] for value in used if value in self.values}
        weights = {name: self._weights[name] for name in names if name in self._weights}
        return Outside(values, weights, self._graphs)


class Outside:
    """What the graphs of an operator use from outside: `operands` are those that torch traces."""

    def __init__(
        self,
        values: Mapping[Value, Any],
        weights: Mapping[str, torch.Tensor],
        graphs: dict[int, GraphModule],
    ) -> None:
        self._graphs = graphs
        self._fixed = {v: item for v, item in values.items() if not _is_traced(item)}
        # An operand that is given twice would have two parameters of one name
        self.operands: list[Any] = []
        self._places = {v: self._place(item) for v, item in values.items() if _is_traced(item)}
        self._weights = {name: self._place(tensor) for name, tensor in weights.items()}

    def _place(self, operand: Any) -> int:
        for place, known in enumerate(self.operands):
            if known is operand:
                return place
        self.operands.append(operand)
        return len(self.operands) - 1

    def tracer(self, operands: Sequence[Any]) -> RegionTracer:
        """A tracer of a graph whose operands these are."""
        values = {value: operands[place] for value, place in self._places.items()}
        weights = {name: operands[place] for name, place in self._weights.items()}
        return RegionTracer({**self._fixed, **values}, weights, self._graphs)


@contextmanager
def placed_at(location: Location | None) -> Generator[None]:
    """Errors without a place get this one, those of torch too."""
    try:
        yield
    except CompileError as error:
        found = error.diagnostic
        if found.location is not None:
            raise
        raise CompileError(
            found.code, found.message, location=location, hint=found.hint, notes=found.notes
        ) from error
    except Exception as error:  # torch has no common base for what tracing raises
        set_place(error, location)
        raise


def _scalars(operation: Primitive, args: Sequence[Any]) -> list[Any]:
    """The arguments of an operator, numbers as it takes them."""
    return [
        numbers.as_scalar(arg, value.type.kind)
        if value is not None and isinstance(value.type, NumberVar)
        else arg
        for value, arg in zip(operation.args, args, strict=True)
    ]


def _is_traced(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, *SYMBOLIC_TYPES))


def _weights_of(region: Region) -> list[str]:
    """The plain weights that a region's graphs read."""
    return [
        described.name
        for operation in walk(region)
        if isinstance(operation, Call)
        for described, value in zip(operation.segment.aten.inputs, operation.args, strict=True)
        if value is None
    ]


def kind_of(value: Value) -> NumberKind:
    if not isinstance(value.type, NumberVar):
        raise InternalError("export", f"`{value.name}` is no number")
    return value.type.kind


def _own(number: Any, value: Value) -> torch.Tensor:
    """A value as a result of a graph, which shares memory with nothing: tensors are row-major."""
    if isinstance(value.type, NumberVar):
        return numbers.as_tensor(number, kind_of(value)).clone()
    return number.clone(memory_format=torch.contiguous_format)


def _anything(value: Value) -> Any:
    """Any value of the type, for what is not read."""
    match value.type:
        case NumberVar(_, kind):
            return {NumberKind.INT: 0, NumberKind.FLOAT: 0.0, NumberKind.BOOL: False}[kind]
        case TensorVar(_, fake):
            shape = [size if isinstance(size, int) else 0 for size in fake.shape]
            return torch.zeros(shape, dtype=fake.dtype)
        case _:
            return None


def _require_sayable(values: Sequence[Value], location: Location | None) -> None:
    for value in values:
        if isinstance(value.type, (ListVar, TextVar)):
            raise _unsayable(value, location)


def _unsayable(value: Value, location: Location | None) -> CompileError:
    kind = "string" if isinstance(value.type, TextVar) else "list"
    return CompileError(
        "PTC-E054",
        f"data decides what a {kind} holds, and programs of torch have no such {kind}s",
        location=location,
        hint="write into a tensor of the greatest length, or use `ptc compile`",
    )


def _for_some_sizes(location: Location | None) -> CompileError:
    """What torch is told in a branch it takes for true everywhere."""
    return CompileError(
        "PTC-E057",
        "a branch is made for some sizes only, which torch.export would take for all",
        location=location,
        hint="make sizes that data decides independent of each other, or use `ptc compile`",
    )


def _require_same_shape(
    value: Value, entered: torch.Tensor, left: torch.Tensor, location: Location | None
) -> None:
    """torch's loops carry tensors of one shape."""
    pairs = zip(entered.shape, left.shape, strict=False)
    same = entered.dim() == left.dim() and all(
        expression_of(a) == expression_of(b) for a, b in pairs
    )
    if not same or entered.dtype != left.dtype:
        raise CompileError(
            "PTC-E055",
            f"the loop changes the shape of a tensor (`{value.type.name}`) from "
            f"{list(entered.shape)} to {list(left.shape)}, and loops of torch carry one shape",
            location=location,
            hint="write into a tensor of the greatest size, or use `ptc compile`",
        )
