"""Capture of one segment: from a function's start to its return, or to the instruction that breaks
the graph.

In: a machine, a real function and a call's arguments. Out: a `Segment`, with guards and the text
of a function that does the same as the original: it runs the graph, rebuilds what the rest needs,
replays effects, then returns or hands over to a step function. Knows no torch: the machine's graph
is reached through `outputs` of the rebuilder and `GraphCode`.
"""

from __future__ import annotations

import inspect
import linecache
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ptc.capture.binding import bind_call
from ptc.capture.code import (
    Argument,
    ArgumentKind,
    Layout,
    ResumeRefused,
    build_function,
    decode,
    make_step,
)
from ptc.capture.code.resume import origin
from ptc.capture.errors import GraphBreak, NotConstant, Raised
from ptc.capture.guards import GuardSet, Namespace, Signature
from ptc.capture.interpreter.calls import not_constant
from ptc.capture.interpreter.frame import Frame, SavedFrame, initial_cells
from ptc.capture.interpreter.machine import RETURNED, Machine
from ptc.capture.rebuild import Rebuilder
from ptc.capture.sources import ArgumentSource, ClosureSource, Source
from ptc.capture.values.base import NULL, Value
from ptc.capture.values.callables import BoundMethodValue, CellValue, FunctionValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.objects import OpaqueValue
from ptc.support.diagnostics import Location

Dispatch = Callable[[types.FunctionType], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class GraphBreakReport:
    """A graph break as users see it. `stack` leads from the captured function to the line."""

    code: str
    reason: str
    location: Location | None
    hint: str = ""
    stack: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphCode:
    """The compiled graph of a segment as generated code calls it: `function(*inputs)` gives a tuple
    with one element for each requested output."""

    function: Callable[..., Any]
    inputs: tuple[Source, ...]


@dataclass(slots=True)
class Segment:
    """What was captured. `run(fn, *args, **kwargs)` takes the function object first, for its
    defaults and closure; it is None if the frame must run natively as a whole."""

    guards: GuardSet
    run: Callable[..., Any] | None
    source: str = ""
    breaks: tuple[GraphBreakReport, ...] = ()
    program: Any = None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Outcome:
    """How the traced frame ended: a returned value, or a break before an instruction."""

    returned: Value | None = None
    index: int = 0
    stopped: GraphBreak | None = None
    raised: Raised | None = None


_SUSPENDED = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
_State = tuple[int, SavedFrame, int]  # instruction, frame, journal mark
_MOST_RETREATS = 400


class SegmentCapture:
    """One capture. `finish_graph(outputs)` compiles the machine's graph; None if it is empty. See
    `capture_frame` for `dispatch` and `tail`."""

    def __init__(
        self,
        vm: Machine,
        fn: types.FunctionType,
        dispatch: Dispatch,
        finish_graph: Callable[[list[Value]], GraphCode | None],
        tail: Dispatch | None = None,
    ) -> None:
        self.vm = vm
        self.fn = fn
        self.dispatch = dispatch
        self.tail = tail or dispatch
        self.finish_graph = finish_graph
        self._states: list[_State] = []  # before each instruction run so far

    def capture(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Segment:
        vm = self.vm
        if self.fn.__code__.co_flags & _SUSPENDED:
            raise GraphBreak("PTC-B006", f"`{self.fn.__qualname__}` is a generator or a coroutine")
        frame = enter(vm, self.fn, bind_call(self.fn, args, kwargs))
        outcome = self._trace(frame)
        breaks = (_report(outcome.stopped),) if outcome.stopped is not None else ()
        written = self._write_or_retreat(frame, outcome)
        if isinstance(written, GraphBreakReport):
            return self._native(breaks, written)
        source, namespace = written
        run = build_function(source, "run", namespace, self.fn.__name__)
        Signature.of(self.fn).name_parameters(run)
        return Segment(GuardSet(self.fn, tuple(vm.guards)), run, source, breaks)

    def _native(self, breaks: tuple[GraphBreakReport, ...], why: GraphBreakReport) -> Segment:
        """Nothing of the frame can be compiled: it runs as it is."""
        return Segment(GuardSet(self.fn, tuple(self.vm.guards)), None, "", (*breaks, why))

    # -- tracing -------------------------------------------------------------------------------

    def _trace(self, frame: Frame) -> _Outcome:
        """Run the frame; on a break (or an exception that leaves the frame) return to the state
        before the instruction."""
        vm = self.vm
        vm.frames.append(frame)
        try:
            while True:
                index = frame.ip
                if not frame.kw_names:
                    # KW_NAMES, PRECALL and CALL are one instruction here
                    self._states.append((index, frame.save(), vm.journal.mark()))
                instruction = frame.instructions[index]
                frame.ip = index + 1
                try:
                    stop = frame.handlers[index](vm, frame, instruction)
                    if stop == RETURNED:
                        return _Outcome(frame.returned)
                    if stop:
                        raise GraphBreak("PTC-B006", "a generator is captured as a whole function")
                except Raised as raised:
                    if not vm.unwind(frame, raised):
                        self._return_to(frame, self._states[-1])
                        return _Outcome(index=self._states[-1][0], raised=raised)
                except NotConstant as error:
                    stopped = not_constant(f"the instruction {instruction.opname}", error)
                    return self._broken(frame, stopped)
                except GraphBreak as stopped:
                    return self._broken(frame, stopped)
        finally:
            vm.frames.pop()

    def _broken(self, frame: Frame, stopped: GraphBreak) -> _Outcome:
        if not stopped.stack:
            stopped.stack = self.vm.stack_locations()
        state = self._states[-1]
        self._return_to(frame, state)
        return _Outcome(index=state[0], stopped=stopped)

    def _return_to(self, frame: Frame, state: tuple[int, SavedFrame, int]) -> None:
        self.vm.journal.rollback(state[2])
        frame.restore(state[1])

    # -- writing -------------------------------------------------------------------------------

    def _write_or_retreat(
        self, frame: Frame, outcome: _Outcome
    ) -> tuple[str, dict[str, Any]] | GraphBreakReport:
        """The generated text. Where the state at the break cannot be rebuilt (a generator is in the
        middle of its work), hand over earlier, before there was such an object."""
        first: GraphBreakReport | None = None
        for _ in range(_MOST_RETREATS):
            try:
                return self._write(frame, outcome)
            except GraphBreak as refused:
                report = _report(refused)
            except ResumeRefused as refused:
                report = GraphBreakReport("PTC-B006", str(refused), frame.location())
            first = first or report
            if outcome.returned is None:
                self._states.pop()
            if not self._states or not _makes_progress(frame.code, self._states[-1][0]):
                break
            state = self._states[-1]
            self._return_to(frame, state)
            outcome = _Outcome(index=state[0])
        assert first is not None
        return first

    def _write(self, frame: Frame, outcome: _Outcome) -> tuple[str, dict[str, Any]]:
        signature = Signature.of(self.fn)
        names = Namespace(signature.names())
        emit = Rebuilder(names)
        self._write_end(emit, frame, outcome)
        outputs, emit = emit.outputs, Rebuilder(names)
        emit.derive = self.vm.derived(emit, outputs)
        result = self._write_end(emit, frame, outcome)
        graph = self.finish_graph(emit.outputs)
        lines = signature.fill_defaults()
        call: list[str] = []
        if graph is not None:
            inputs = ", ".join(emit.source(source) for source in graph.inputs)
            targets = "".join(f"{emit.output_name(i)}, " for i in range(len(emit.outputs)))
            call.append(
                f"{targets + '= ' if targets else ''}{names(graph.function, 'graph')}({inputs})"
            )
        lines += [*emit.reads, *call, *emit.lines, *emit.effects, result]
        text = f"def run({signature.parameters()}):\n" + "".join(f"    {line}\n" for line in lines)
        return text, names.globals

    def _write_end(self, emit: Rebuilder, frame: Frame, outcome: _Outcome) -> str:
        """What follows the graph: objects, effects, and the statement that leaves."""
        emit.settle = partial(self.vm.effects.settle, emit)
        if outcome.returned is not None:
            result = f"return {emit.value(outcome.returned)}"
        else:
            result = self._hand_over(emit, frame, outcome)
        self.vm.effects.replay(emit)
        self.vm.leave_state(emit)
        return result

    def _hand_over(self, emit: Rebuilder, frame: Frame, outcome: _Outcome) -> str:
        """Call the step function for the breaking instruction with the frame's state."""
        # An object with state in C (a file, a temporary folder) lives as long as its variable
        keep = frozenset(n for n, v in frame.locals.items() if isinstance(v, OpaqueValue))
        null = tuple(item is NULL for item in frame.stack)
        layout = Layout(null, frozenset(frame.locals), keep)
        step = make_step(frame.code, outcome.index, layout, self.tail)
        callee = self._callee_position(frame, outcome)
        values: list[str] = []
        handled = sorted(a.position for a in step.arguments if a.kind is ArgumentKind.HANDLED)
        for argument in step.arguments:
            values.append(self._argument(emit, frame, argument, handled, callee))
        code = emit.name(step.code, "step")
        cells = "".join(emit.value(self._cell(frame, name)) + ", " for name in step.closure)
        make = emit.name(types.FunctionType, "FunctionType")
        namespace = emit.name(self.fn.__globals__, "globals")
        if cells:
            function = f"{make}({code}, {namespace}, {frame.code.co_name!r}, None, ({cells}))"
        else:
            function = emit.name(types.FunctionType(step.code, self.fn.__globals__), "step")
        return f"return {function}({', '.join(values)})"

    def _cell(self, frame: Frame, name: str) -> CellValue:
        cell = frame.cells.get(name)
        # Before MAKE_CELL has run, the variable is still a plain local
        return cell if cell is not None else CellValue(frame.locals.get(name))

    def _argument(
        self, emit: Rebuilder, frame: Frame, argument: Argument, handled: list[int], callee: int
    ) -> str:
        if argument.kind is ArgumentKind.LOCAL:
            return emit.value(frame.locals[argument.name])
        if argument.kind is ArgumentKind.CELL:
            return emit.value(self._cell(frame, argument.name))
        if argument.kind is ArgumentKind.STACK:
            item = frame.stack[argument.position]
            if argument.position == callee and isinstance(item, Value):
                return self._dispatched(emit, item)
            return emit.value(item)
        # The exception handled at a level is what the next level saved, or the current one
        later = [position for position in handled if position > argument.position]
        current = frame.stack[later[0]] if later else self.vm.handled
        return emit.value(current if current is not None else ConstantValue(None))

    def _callee_position(self, frame: Frame, outcome: _Outcome) -> int:
        """Where the stack has the function whose inlining broke the graph; -1 if there is none."""
        if outcome.stopped is None or len(outcome.stopped.stack) < 2:
            return -1
        last = decode(frame.code).call_unit(outcome.index)[1]
        instruction = frame.instructions[last]
        depth = len(frame.stack)
        if instruction.opname in ("CALL", "CALL_KW"):
            below = (instruction.arg or 0) + (instruction.opname == "CALL_KW")
            first = depth - below - 2
            return first + 1 if frame.stack[first] is NULL else first
        if instruction.opname == "CALL_FUNCTION_EX":
            below = 1 + ((instruction.arg or 0) & 1)
            position = depth - below - 1
            return position - 1 if frame.stack[position] is NULL else position
        return -1

    def _dispatched(self, emit: Rebuilder, callee: Value) -> str:
        """The callee, to be captured in its own right when the step function calls it."""
        dispatch = emit.name(self.dispatch, "dispatch")
        function = callee.func if isinstance(callee, BoundMethodValue) else callee
        if isinstance(function, FunctionValue) and not self.vm.worth_dispatching(function):
            return emit.value(callee)
        if isinstance(callee, FunctionValue):
            return f"{dispatch}({emit.value(callee)})"
        if isinstance(callee, BoundMethodValue) and isinstance(callee.func, FunctionValue):
            method = emit.name(types.MethodType, "MethodType")
            func = f"{dispatch}({emit.value(callee.func)})"
            return f"{method}({func}, {emit.value(callee.owner)})"
        special = self.vm.dispatched_callable(callee)
        if special is not None:
            function, owner = special
            method = emit.name(types.MethodType, "MethodType")
            return f"{method}({dispatch}({emit.value(function)}), {emit.value(owner)})"
        return emit.value(callee)


def enter(vm: Machine, fn: types.FunctionType, arguments: dict[str, Any]) -> Frame:
    """The frame of a call of `fn`, its arguments and closure wrapped with their sources."""
    function = FunctionValue(fn.__code__, vm.globals_of(fn.__globals__))
    function.obj = fn
    function.name, function.qualname = fn.__name__, fn.__qualname__
    cells: list[CellValue] = []
    for i, (name, cell) in enumerate(
        zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    ):
        value = CellValue(source=ClosureSource(i, name), cell=cell)
        vm.wrapped[id(cell)] = value
        vm.kept_alive[id(cell)] = cell
        cells.append(value)
    function.closure = tuple(cells)
    variables = {name: vm.wrap(obj, ArgumentSource(name)) for name, obj in arguments.items()}
    frame = Frame(function, variables)
    initial_cells(vm, frame)
    vm.entered(frame)
    return frame


def location_of_function(fn: types.FunctionType) -> Location:
    code = fn.__code__
    text = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    return Location(code.co_filename, code.co_firstlineno, text)


def _makes_progress(code: types.CodeType, index: int) -> bool:
    """Whether a native step at this instruction is a step of the original program: those of a
    resume function's prologue would lead to the same resume function again."""
    made_from = origin(code)
    return made_from is None or made_from.indexes[index] is not None


def _report(stopped: GraphBreak) -> GraphBreakReport:
    return GraphBreakReport(
        stopped.code, stopped.reason, stopped.location, stopped.hint, stopped.stack
    )
