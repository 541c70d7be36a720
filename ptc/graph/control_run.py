"""The reference interpreter of programs with control flow: it defines what they mean.

Takes a `ControlProgram`, real tensors and the numbers and buffers kept from call to call; gives the
flat results. Segments run operator by operator with eager torch on the variables' own tensors, so
that writes are seen where torch lets them be seen; numbers and lists are Python's. It checks what
the program says of types and sizes against what comes out. Knows nothing of how programs are made
or compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import torch
from torch.fx.node import map_aggregate

from ptc.graph.control import (
    Assign,
    Bind,
    Body,
    Compute,
    ControlProgram,
    DataSized,
    Emit,
    Formatted,
    If,
    Item,
    ListItem,
    ListVar,
    MakeText,
    NumberVar,
    Operand,
    Raise,
    ReadItem,
    Segment,
    Switch,
    TensorVar,
    Text,
    TextItem,
    TextVar,
    Var,
    While,
)
from ptc.graph.control_coverage import AGAIN, Coverage
from ptc.graph.control_lists import LIST_FUNCTIONS, index_of_row
from ptc.graph.control_operations import FUNCTIONS, kind_of_number, type_of_kind
from ptc.graph.control_parts import placeholders_of
from ptc.graph.control_texts import TEXT_OPERATIONS
from ptc.graph.program import CapturedProgram, InputKind
from ptc.graph.symbols import SYMBOLIC_TYPES, bind_sizes, concrete, in_range, symbols_of
from ptc.graph.transforms import levels_restored, to_differentiate
from ptc.graph.types import type_text
from ptc.hosting.effects import Emit as EmitCallback
from ptc.hosting.effects import emit_here, exception_of
from ptc.hosting.tensors import check_apart
from ptc.support.diagnostics import CompileError, InternalError

_INT_LIMITS = range(-(2**63), 2**63)


class Failure(Exception):
    """What a library ends the run with that no exception of the user's is."""


class IntegerOverflow(Failure):
    """An int of the program does not fit 64 bits."""


class NanKey(Failure):
    """A NaN is looked for among keys: which of them it is, Python decides by its identity."""


def run(
    program: ControlProgram,
    tensors: Mapping[str, Any],
    state: dict[str, Any],
    *,
    emit: EmitCallback | None = None,
    coverage: Coverage | None = None,
) -> list[Any]:
    """The flat results; None for one that has no meaning in the variant taken.

    `tensors` has the user's tensors and numbers by input name, and may have weights in place of the
    live ones. `state` is one session's: empty at first, after each call it has what is kept and
    the written buffers by name, also when the call raises. Tensors that the program writes are
    written in place. Raises the user's exceptions, CompileError PTC-A010 for inputs that do not
    fit, a Failure, and InternalError if the program is not what it says.
    """
    return _run(program, tensors, state, emit, coverage).outputs()


def run_outputs(
    program: ControlProgram,
    tensors: Mapping[str, Any],
    state: dict[str, Any],
    *,
    emit: EmitCallback | None = None,
    record: bool = False,
) -> tuple[list[Any], int]:
    """As `run`, and which variant of the result it is. With `record`, gradients are recorded as the
    present mode and the program say."""
    interpreter = _run(program, tensors, state, emit, None, record)
    return interpreter.outputs(), interpreter.variant()


def _run(
    program: ControlProgram,
    tensors: Mapping[str, Any],
    state: dict[str, Any],
    emit: EmitCallback | None,
    coverage: Coverage | None,
    record: bool = False,
) -> _Interpreter:
    interpreter = _Interpreter(program, emit or emit_here, coverage)
    # Segments may switch the mode
    with torch.set_grad_enabled(record and torch.is_grad_enabled()):
        interpreter.enter(tensors, state)
        try:
            interpreter.body(program.body)
        finally:
            interpreter.leave(state)
    return interpreter


class _Interpreter:
    """One run. `values` is the namespace: variables, and symbols by name."""

    def __init__(
        self, program: ControlProgram, emit: EmitCallback, coverage: Coverage | None
    ) -> None:
        self._program = program
        self._emit = emit
        self._coverage = coverage
        self._weights: dict[str, torch.Tensor] = {}
        self._ranges = {**program.sizes, **program.dims}
        self.values: dict[str, Any] = {}
        self._stale: dict[str, str] = {}  # a variable -> one whose write it would not see

    # -- entry and exit ------------------------------------------------------------------------

    def enter(self, tensors: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Give inputs, weights, kept values and the sizes of the inputs their names."""
        program = self._program
        given: list[Any] = []
        for described in program.inputs:
            name = described.name
            if described.kind in (InputKind.USER, InputKind.SCALAR):
                if name not in tensors:
                    raise CompileError("PTC-A010", f"input `{name}` is not given")
                value = tensors[name]
                self.values[name] = value
            else:
                value = tensors.get(name, described.live)
                assert isinstance(value, torch.Tensor)
                value = value.detach()
                if name in program.written:
                    value = state[name] if name in state else value.clone()
                    self.values[name] = value
                else:
                    self._weights[name] = value
            given.append(value)
        for described, fake, value in zip(program.inputs, program.values, given, strict=True):
            _check_input(described.name, fake, value)
        self._check_apart(given)
        shapes = [tuple(v.shape) if isinstance(v, torch.Tensor) else v for v in given]
        names = [described.name for described in program.inputs]
        self.values.update(bind_sizes(names, program.values, shapes, program.dims))
        for kept in program.state:
            self.values[kept.variable.name] = state.get(kept.variable.name, kept.initial)
        for reference in program.references:
            if reference.variable.name in state:
                self._set(reference.variable, state[reference.variable.name])

    def _check_apart(self, given: Sequence[Any]) -> None:
        """Programs are made for inputs that are different tensors."""
        inputs = [
            (i, v) for i, v in zip(self._program.inputs, given, strict=True) if i.live is None
        ]
        names = [described.name for described, _ in inputs]
        written = [n for n, name in enumerate(names) if name in self._program.written]
        check_apart([value for _, value in inputs], names, written)

    def leave(self, state: dict[str, Any]) -> None:
        """Keep what stays from call to call."""
        for described in self._program.inputs:
            if described.name in self._program.written and described.live is not None:
                state[described.name] = self.values[described.name]
        for kept in (*self._program.state, *self._program.references):
            if kept.variable.name in self.values:
                state[kept.variable.name] = self.values[kept.variable.name]

    def outputs(self) -> list[Any]:
        program = self._program
        if program.variants:
            return [self.values.get(output.value.name) for output in program.outputs]
        return [self._value(output.value) for output in program.outputs]

    def variant(self) -> int:
        selector = self._program.selector
        return 0 if selector is None else self._number(selector)

    # -- items ---------------------------------------------------------------------------------

    def body(self, body: Body) -> None:
        for item in body.items:
            self._item(item)

    def _item(self, item: Item) -> None:
        match item:
            case Segment():
                self._segment(item)
            case Compute():
                self._set(item.target, self._compute(item))
            case ReadItem():
                self._set(item.target, self._value(item.tensor).item())
            case Bind():
                self._bind(item)
            case Assign(target, source):
                self._assign(target, source)
            case DataSized():
                self._data_sized(item)
            case ListItem():
                self._list_item(item)
            case MakeText():
                self._set(item.target, self._text(item.text))
            case TextItem():
                self._set(item.target, self._text_item(item))
            case If():
                holds = self._value(item.condition)
                self._reach(item, 0 if holds else 1)
                self.body(item.then if holds else item.orelse)
            case Switch():
                chosen = self._number(item.selector)
                if chosen not in range(len(item.arms)):
                    raise _fault(f"alternative {chosen} of {len(item.arms)}")
                self._reach(item, chosen)
                self.body(item.arms[chosen])
            case While():
                self._while(item)
            case Emit():
                self._emit(item.channel, item.label, self._text(item.text))
            case Raise():
                raise exception_of(item.type_name, self._text(item.message))
            case _:
                assert_never(item)

    def _assign(self, target: Var, source: Var | Operand) -> None:
        if isinstance(source, Var) and source.name not in self.values:
            self.values.pop(target.name, None)
        else:
            self._set(target, self._value(source))

    def _while(self, item: While) -> None:
        self._reach(item, 0)
        self.body(item.body)
        while self._value(item.again):
            self._reach(item, AGAIN)
            self.body(item.body)

    def _reach(self, item: If | Switch | While, arm: int) -> None:
        if self._coverage is not None:
            self._coverage.reach(item, arm)

    def _bind(self, item: Bind) -> None:
        if item.tensor is not None:
            size = int(self._value(item.tensor).shape[item.dim])
        else:
            assert item.value is not None
            size = self._number(item.value)
        described = self._ranges.get(item.symbol)
        if described is not None and not in_range(described, size):
            raise _fault(f"`{described.name}` ({item.symbol}) is {size}, out of its range")
        self.values[item.symbol] = size

    # -- straight-line computation -------------------------------------------------------------

    def _segment(self, item: Segment) -> None:
        inputs, sizes = self._segment_inputs(item)
        apart = _apart(inputs)
        before = {node: _version(value) for node, value in inputs.items()}
        with levels_restored():
            results = self._evaluate(item.program, dict(inputs), sizes)
        written = [node for node, version in before.items() if version != _version(inputs[node])]
        if apart is not None and written:
            # Compiled segments work on tensors that are apart from each other
            start = {node: _version(value) for node, value in apart.items()}
            pairs = [*zip(results, self._evaluate(item.program, dict(apart), sizes), strict=True)]
            pairs += [(inputs[n], apart[n]) for n in start if start[n] != _version(apart[n])]
            if not all(_same(one, other) for one, other in pairs):
                raise _fault("a segment writes to a tensor that it reads as another input, too")
        names = {node: described.name for described, node in placeholders_of(item.program)}
        for node in written:
            self._note_views(names[node], inputs[node])
        returned = item.program.graph.graph.output_node().args[0]
        assert isinstance(returned, (tuple, list))
        for output, node, value in zip(item.program.outputs, returned, results, strict=True):
            assert isinstance(node, torch.fx.Node)
            self._check_value(output.name, node.meta["val"], value, sizes)
            self._stale.pop(output.name, None)
            self.values[output.name] = value

    def _evaluate(
        self, program: CapturedProgram, found: dict[torch.fx.Node, Any], sizes: Mapping[str, Any]
    ) -> Sequence[Any]:
        """The results of a graph; `found` has the values of its placeholders."""
        found = to_differentiate(program.graph.graph, found)
        for node in program.graph.graph.nodes:
            match node.op:
                case "placeholder":
                    pass
                case "get_attr":
                    found[node] = getattr(program.graph, str(node.target))
                case "output":
                    return self._arguments(node.args[0], found, sizes)
                case _:
                    found[node] = self._call(node, found, sizes)
        raise _fault("a segment without an output")

    def _note_views(self, name: str, memory: torch.Tensor) -> None:
        """A write is seen through variables that are the same tensor; one that is a view of its own
        would not see it in a compiled program, and may not be read from here on."""
        if not memory.numel():
            return
        given = {described.name for described in self._program.inputs if described.live is None}
        for other, value in self.values.items():
            if not isinstance(value, torch.Tensor) or {other, name} <= given:
                continue
            if _memory(value) == _memory(memory) and _view_of(value) != _view_of(memory):
                self._stale[other] = name

    def _segment_inputs(self, item: Segment) -> tuple[dict[torch.fx.Node, Any], dict[str, Any]]:
        """The values of the placeholders, and of the symbols, those of numbers among them."""
        sizes = dict(self.values)
        found: dict[torch.fx.Node, Any] = {}
        for described, node in placeholders_of(item.program):
            value = found[node] = self._input(described.name)
            fake = node.meta["val"]
            if isinstance(fake, SYMBOLIC_TYPES):
                for symbol in symbols_of(fake):  # one: a bool's expression is `symbol == 1`
                    sizes[symbol] = int(value) if isinstance(value, bool) else value
        for described, node in placeholders_of(item.program):
            self._check_value(described.name, node.meta["val"], found[node], sizes)
        return found, sizes

    def _check_value(self, name: str, fake: Any, value: Any, sizes: Mapping[str, Any]) -> None:
        """The program's dtypes and shapes are eager's."""
        if not isinstance(fake, torch.Tensor):
            if kind_of_number(value) is not kind_of_number(concrete(fake, sizes)):
                raise _fault(f"`{name}` is {value!r}, expected {type_text(fake)}")
            return
        wanted = self._arguments(tuple(fake.shape), {}, sizes)
        if (wanted, fake.dtype) != (tuple(value.shape), value.dtype):
            raise _fault(f"`{name}` is {type_text(value)}, expected {type_text(fake)}")

    def _input(self, name: str) -> Any:
        return self._weights[name] if name in self._weights else self._named(name)

    def _call(self, node: torch.fx.Node, found: Mapping[Any, Any], sizes: Mapping[str, Any]) -> Any:
        args = self._arguments(node.args, found, sizes)
        kwargs = self._arguments(node.kwargs, found, sizes)
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        assert node.op == "call_function" and callable(node.target)
        return node.target(*args, **kwargs)

    def _arguments(self, value: Any, found: Mapping[Any, Any], sizes: Mapping[str, Any]) -> Any:
        def real(leaf: Any) -> Any:
            if isinstance(leaf, torch.fx.Node):
                return found[leaf]
            if isinstance(leaf, SYMBOLIC_TYPES):
                try:
                    return concrete(leaf, sizes)
                except KeyError as unknown:
                    raise _fault(f"the size {leaf} needs {unknown}, which is not bound") from None
            return leaf

        return map_aggregate(value, real)

    def _data_sized(self, item: DataSized) -> None:
        args: list[Any] = [None if arg is None else self._value(arg) for arg in item.args]
        match item.op:
            case "nonzero":
                results: tuple[Any, ...] = (torch.nonzero(args[0]),)
            case "masked_select":
                results = (torch.masked_select(args[0], args[1]),)
            case "unique":
                more = len(item.targets) == 3
                made: Any = torch.unique(
                    args[0], sorted=True, return_inverse=more, return_counts=more
                )
                results = made if more else (made,)
            case "repeat_interleave":
                results = (torch.repeat_interleave(args[0]),)
            case "bincount":
                results = (torch.bincount(args[0], minlength=args[1] or 0),)
            case _:
                raise _fault(f"there is no operator `{item.op}`")
        for target, result in zip(item.targets, results, strict=True):
            self._set(target, result)

    # -- numbers and lists ---------------------------------------------------------------------

    def _compute(self, item: Compute) -> Any:
        args = [self._value(arg) for arg in item.args]
        try:
            result = FUNCTIONS[item.op](*args)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise _fault(
                f"{item.op}{tuple(args)} raises {type(error).__name__}: {error}"
            ) from error
        if isinstance(result, int) and result not in _INT_LIMITS:
            raise IntegerOverflow(f"integer overflow in {item.op}{tuple(args)}")
        return result

    def _list_item(self, item: ListItem) -> None:
        unset = any(isinstance(a, Var) and a.name not in self.values for a in item.args)
        if item.op == "new" and unset and item.target is not None:
            self.values.pop(item.target.name, None)
            return
        args = [self._value(arg) for arg in item.args]
        match item.op:
            case "new":
                result: Any = args
            case "copy":
                result = list(args[0])
            case "append" | "extend" | "insert" | "clear" | "reverse":
                _check_index(item, args)
                getattr(args[0], item.op)(*args[1:])
                return
            case "set":
                _check_index(item, args)
                args[0][args[1]] = args[2]
                return
            case "get" | "pop":
                _check_index(item, args)
                result = args[0][args[1]] if item.op == "get" else args[0].pop(args[1])
            case "length":
                result = len(args[0])
            case "slice":
                result = args[0][args[1] : args[2]]
            case "concat":
                result = args[0] + args[1]
            case "same":
                result = args[0] is args[1]
            case "stack" | "cat":
                result = getattr(torch, item.op)(args[0], args[1])
            case "find":
                result = index_of_row(args)
                if result is None:
                    raise NanKey("a NaN is used as a key")
            case _ if item.op in LIST_FUNCTIONS:
                result = LIST_FUNCTIONS[item.op](*args)
                if item.target is None:
                    return
            case _:
                raise _fault(f"there is no list operation `{item.op}`")
        assert item.target is not None
        self._set(item.target, result)

    # -- text ----------------------------------------------------------------------------------

    def _text_item(self, item: TextItem) -> Any:
        args = [self._value(arg) for arg in item.args]
        operation = TEXT_OPERATIONS[item.op]
        _check_text_index(item, args)
        try:
            result = operation.function(*args)
        except (ValueError, TypeError, IndexError) as error:
            raise _fault(f"{item.op}{tuple(args)} raises {error}") from error
        if operation.result == "int" and result not in _INT_LIMITS:
            raise IntegerOverflow(f"integer overflow in {item.op}{tuple(args)}")
        return result

    def _text(self, text: Text) -> str:
        return "".join(part if isinstance(part, str) else self._formatted(part) for part in text)

    def _formatted(self, part: Formatted) -> str:
        value = self._value(part.value)
        if part.conversion == "format":
            return format(value, part.spec)
        return repr(value) if part.conversion == "repr" else str(value)

    # -- variables -----------------------------------------------------------------------------

    def _named(self, name: str) -> Any:
        if name in self._stale:
            raise _fault(
                f"`{name}` is a view of `{self._stale[name]}` and read after a write to it"
            )
        if name not in self.values:
            raise _fault(f"`{name}` is used before it has a value")
        return self.values[name]

    def _value(self, operand: Var | Operand | str) -> Any:
        return self._named(operand.name) if isinstance(operand, Var) else operand

    def _number(self, operand: Operand) -> int:
        value = self._value(operand)
        assert type(value) is int
        return value

    def _set(self, target: Var, value: Any) -> None:
        if not _is_of(target, value):
            shown = type_text(value) if isinstance(value, torch.Tensor) else repr(value)
            raise _fault(f"`{target.name}` gets {shown}, which is not of its type")
        self._stale.pop(target.name, None)
        self.values[target.name] = value


def _is_of(target: Var, value: Any) -> bool:
    match target:
        case TensorVar(_, fake):
            return isinstance(value, torch.Tensor) and _may_be(fake, value)
        case NumberVar(_, kind):
            return kind_of_number(value) is kind
        case TextVar():
            return type(value) is str
        case ListVar(_, element):
            if not isinstance(value, list):
                return False
            if isinstance(element, torch.Tensor):
                return all(isinstance(v, torch.Tensor) and _may_be(element, v) for v in value)
            if isinstance(element, ListVar):
                return all(_is_of(element, v) for v in value)
            wanted = str if element is str else type_of_kind(element)  # type: ignore[arg-type]
            return all(type(v) is wanted for v in value)
        case _:
            assert_never(target)


def _may_be(fake: torch.Tensor, value: torch.Tensor) -> bool:
    """Same dtype, rank and fixed sizes. The symbolic ones may be bound only after this."""
    return (
        value.dtype == fake.dtype
        and value.dim() == fake.dim()
        and all(
            isinstance(wanted, torch.SymInt) or wanted == size
            for wanted, size in zip(fake.shape, value.shape, strict=True)
        )
    )


def _version(value: Any) -> int | None:
    """Grows with each write to a tensor or a view of it."""
    if not isinstance(value, torch.Tensor):
        return None
    return value._version  # pyright: ignore[reportPrivateUsage]


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _apart(inputs: Mapping[torch.fx.Node, Any]) -> dict[torch.fx.Node, Any] | None:
    """Copies of the inputs, if any two share memory."""
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor)]
    if len({_memory(value) for value in tensors if value.numel()}) == sum(
        value.numel() > 0 for value in tensors
    ):
        return None
    return {
        node: value.clone() if isinstance(value, torch.Tensor) else value
        for node, value in inputs.items()
    }


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and bool(torch.allclose(a, b, rtol=0, atol=0, equal_nan=True))


def _view_of(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()


def _check_input(name: str, fake: Any, value: Any) -> None:
    if isinstance(fake, torch.Tensor):
        if not isinstance(value, torch.Tensor) or value.dtype != fake.dtype:
            shown = type_text(value)
            raise CompileError("PTC-A010", f"input `{name}` is {shown}, expected {type_text(fake)}")
    elif kind_of_number(value) is None:
        raise CompileError("PTC-A010", f"input `{name}` is {value!r}, expected a number")


def _check_index(item: ListItem, args: Sequence[Any]) -> None:
    if item.op in ("get", "set", "pop", "insert"):
        length = len(args[0]) + (item.op == "insert")
        if not 0 <= args[1] < length:
            raise _fault(f"{item.op} at {args[1]} of a list of {len(args[0])}")


def _check_text_index(item: TextItem, args: Sequence[Any]) -> None:
    if item.op == "item" and not 0 <= args[1] < len(args[0]):
        raise _fault(f"character {args[1]} of {args[0]!r}")
    if item.op == "slice" and not 0 <= args[1] <= args[2] <= len(args[0]):
        raise _fault(f"characters {args[1]} to {args[2]} of {args[0]!r}")


def _fault(message: str) -> InternalError:
    return InternalError("run", message)
