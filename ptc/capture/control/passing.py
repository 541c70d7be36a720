"""Exceptions of some ways through a call that a library function or an operator makes.

What called goes on in the arms that return. The exception of the others is one of the instruction
that is at work: it ends there on those ways, and is with the handler around it, or leaves the
frame, once the instruction has come to its end on the other ways.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch

from ptc.capture.code.decode import Handler
from ptc.capture.control.states import Exit, Outcome, Point, State, enter, take
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.machine import RETURNED, YIELDED
from ptc.capture.values.base import Value
from ptc.capture.values.callables import BoundMethodValue
from ptc.capture.values.choices import ChoiceValue
from ptc.graph.control import Body, If, NumberKind, NumberVar, Raise

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


@dataclass(slots=True)
class Instruction:
    """An instruction at work: the state before it, and how many library functions with handlers of
    their own were at work then. `thrown` are the ways on which it has raised, relative to that
    state."""

    frame: Frame
    mark: Point
    handled: Value | None
    catchers: int
    thrown: list[State] = field(default_factory=list[State])


def let_through(
    vm: ControlMachine, frame: Frame, outcome: Outcome, caller: Instruction | None
) -> Exit | None:
    """A frame has ended in several ways. Goes on in the only one that does not raise; None if there
    are several, or an instruction takes them as they are."""
    if _is_called_directly(vm, frame):
        return None
    going = [end for end in outcome if end.kind != "raise"]
    if len(going) != 1 or caller is None or caller.frame is not vm.frames[-2]:
        return None
    raising = [state for end, state in outcome.items() if end.kind == "raise"]
    _require_uncaught(vm, caller, raising)
    body = body_of(vm, going[0], outcome)
    caller.thrown += [_thrown(vm, caller, state) for state in raising]
    vm.writer.go_on_in(body)
    state = outcome[going[0]]
    enter(vm, frame, state)
    for bind in state.pending:
        vm.writer.compute(bind)
    return going[0]


def body_of(vm: ControlMachine, end: Exit, outcome: Mapping[Exit, State]) -> Body:
    """Where to write what follows one of several ends: inside the arm where it lies, or in an arm
    of its own that asks for it."""
    state = outcome[end]
    if len(state.leaves) == 1:
        return state.leaves[0]
    go = NumberVar(vm.writer.name("n"), NumberKind.BOOL)
    for other, its in outcome.items():
        for leaf in its.leaves:
            if not (leaf.items and isinstance(leaf.items[-1], Raise)):
                vm.assign_at_end(leaf, go, other == end)
    body = Body()
    vm.writer.add(If(go, body, Body(), None, "continue"))
    return body


def _thrown(vm: ControlMachine, caller: Instruction, state: State) -> State:
    """The state of an exception, relative to the instruction that it leaves."""
    now = vm.journal.mark()
    for place, content in state.cells.values():
        place.write(vm.journal, content)
    for _, left in reversed(vm.catchers[caller.catchers :]):
        if left is not None:
            left()
    if vm.handled is not caller.handled:
        vm.journal.assign(vm, "handled", caller.handled)
    caller.frame.returned = state.returned
    found = take(vm, caller.mark, caller.frame, Exit("raise"))
    caller.frame.returned = None
    vm.journal.rollback(now)
    return replace(found, leaves=state.leaves, pending=state.pending)


def ended(vm: ControlMachine, frame: Frame, end: Exit, caller: Instruction | None) -> int:
    """What comes of running a frame for an instruction, which ends in one way."""
    if end.kind == "raise":
        assert frame.returned is not None
        raised = Raised(frame.returned)
        if raised.is_a(caught_within(vm, caller)):
            raised = Raised(vm.settle(frame.returned))
        raise raised
    return RETURNED if end.kind == "return" else YIELDED


def _is_called_directly(vm: ControlMachine, frame: Frame) -> bool:
    """Whether a call in the frame around this one gets what the frame returns, or raises."""
    caller = vm.frames[-2] if len(vm.frames) > 1 else None
    if caller is None or frame.code.co_flags & inspect.CO_GENERATOR:
        return False
    instruction = caller.instructions[max(caller.ip - 1, 0)]
    return instruction.opname.startswith("CALL") and caller.library_calls == vm.library_calls


def caught_outside(vm: ControlMachine, frame: Frame, raised: Raised) -> bool:
    """Whether a frame around this one, or a library function, has a handler for what it raises."""
    if raised.is_a(tuple(one for caught, _ in vm.catchers for one in caught)):
        return True
    for outer in vm.frames:
        if outer is frame:
            return False
        if _handles(outer):
            return True
    return False


#: Context managers whose `__exit__` lets every exception through, and sets a state of torch alone.
_LET_THROUGH = (
    torch.no_grad, torch.enable_grad, torch.set_grad_enabled, torch.inference_mode, torch.autocast,
    contextlib.nullcontext,
)  # fmt: skip


def _handles(frame: Frame) -> bool:
    """Whether the frame does anything about an exception that its instruction raises. Leaving the
    above is nothing: the program ends there."""
    handler = frame.instructions[max(frame.ip - 1, 0)].handler
    while handler is not None:
        block = frame.instructions[handler.target : handler.target + 2]
        if [one.opname for one in block] != ["PUSH_EXC_INFO", "WITH_EXCEPT_START"]:
            return True
        left = frame.stack[handler.depth - 1]
        if not isinstance(left, BoundMethodValue) or left.owner.cls not in _LET_THROUGH:
            return True
        handler = _handler_of_reraise(frame, handler.target)
        if handler is not None:  # which gives back what was handled before
            handler = _handler_of_reraise(frame, handler.target)
    return False


def _handler_of_reraise(frame: Frame, place: int) -> Handler | None:
    """The handler around the first RERAISE from a place on."""
    return next(i.handler for i in frame.instructions[place:] if i.opname == "RERAISE")


def caught_within(vm: ControlMachine, caller: Instruction | None) -> tuple[type, ...]:
    """What library functions handle that are at work for an instruction."""
    begun = caller.catchers if caller is not None else len(vm.catchers)
    return tuple(one for caught, _ in vm.catchers[begun:] for one in caught)


def _require_uncaught(vm: ControlMachine, caller: Instruction, raising: list[State]) -> None:
    """A library function that handles an exception itself would have to go on with it as well."""
    classes = caught_within(vm, caller)
    for state in raising:
        value = state.returned
        for one in value.alternatives if isinstance(value, ChoiceValue) else (value,):
            if one is not None and issubclass(one.cls, classes):
                raise GraphBreak(
                    "PTC-B006",
                    f"a library function or an operator handles {one.cls.__name__}, which a "
                    "function that it calls raises depending on data",
                    "call the function in a `try` statement",
                )
