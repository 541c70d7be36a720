"""Loops over generators that data leads.

Such a generator is run from its beginning to its end, and each value that it yields goes at once
through an iteration of the loop: `yield` runs the frame with the loop from the first instruction of
its body until it asks for the next value. To the generator, the other frame is state like any
other, which its branches fork and merge and its loops carry. An iteration that does not ask for
more leaves the generator where it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ptc.capture.code import Instruction, place_flow
from ptc.capture.control.forks import RAISE, Stops, audible, enter_outer, united
from ptc.capture.control.generators import First, Loop, Wanted
from ptc.capture.control.states import Exit, Outcome, Point, enter, take
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.ops_flow import behind_loop, behind_send
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.iterators import GeneratorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

#: What ends are called of the frame with the loop, as ends of the generator.
LEFT = "left "

Step = Callable[[Stops, Point], Exit | Outcome | None]


def is_driven(vm: ControlMachine, value: object) -> bool:
    """Whether the value is such a generator, at its beginning."""
    if not isinstance(value, GeneratorValue) or value.state != GeneratorValue.CREATED:
        return False
    code, known = value.frame.code, vm.state.known
    return code in known.collected and code not in known.resumed | known.undriven


def step_of(vm: ControlMachine, frame: Frame, instruction: Instruction) -> Step | None:
    """How to run an instruction that has to do with a loop over such a generator; None for all
    others."""
    name = instruction.opname
    if name == "GET_ITER" and is_driven(vm, frame.stack[-1]):
        return lambda stops, mark: None  # it is its own iterator
    if name == "FOR_ITER":
        generator = frame.stack[-1]
        if isinstance(generator, GeneratorValue) and is_driven(vm, generator):
            return partial(_through, vm, frame, instruction, generator)
    if name == "SEND":
        generator = frame.stack[-2]
        left = isinstance(vm.collecting.get(frame), (bool, First))  # after one of its values
        if isinstance(generator, GeneratorValue) and is_driven(vm, generator) and not left:
            return partial(_from_another, vm, frame, instruction, generator)
    if name == "YIELD_VALUE":
        loop = vm.collecting.get(frame)
        if isinstance(loop, Loop):
            return partial(_iteration, vm, frame, loop)
    return None


def _through(
    vm: ControlMachine,
    frame: Frame,
    instruction: Instruction,
    generator: GeneratorValue,
    stops: Stops,
    mark: Point,
) -> Exit | Outcome | None:
    """The loop over a generator, from its first iteration on."""
    flow = place_flow(frame.code)
    header = flow.place[frame.ip - 1]
    until = stops.within(flow.members[header]).plus(header)
    loop = Loop(frame, frame.ip - 1, until, vm.handled)
    return _run(vm, frame, instruction, generator, loop, mark)


def _from_another(
    vm: ControlMachine,
    frame: Frame,
    instruction: Instruction,
    generator: GeneratorValue,
    stops: Stops,
    mark: Point,
) -> Exit | Outcome | None:
    """`yield from`: what the other generator yields goes where this one's values go."""
    wanted = vm.collecting.get(frame)
    if wanted is None:
        vm.state.found.collected.add(frame.code)
        raise _refusal(generator.frame, "another generator goes through it")
    return _run(vm, frame, instruction, generator, wanted, mark)


def _run(
    vm: ControlMachine,
    frame: Frame,
    instruction: Instruction,
    generator: GeneratorValue,
    wanted: Wanted,
    mark: Point,
) -> Exit | Outcome | None:
    """Run a generator to its end for an instruction."""
    inner = generator.frame
    frame.ip -= 1
    before = frame.save()
    vm.journal.record(frame.restore, before)
    vm.journal.record(inner.restore, inner.save())
    vm.journal.assign(generator, "state", GeneratorValue.LEFT)
    vm.collecting[inner] = wanted
    inner.library_calls = vm.library_calls
    vm.frames.append(inner)
    try:
        end = vm.advance(inner, Stops())
    except Raised:
        frame.ip = before[0] + 1
        raise
    finally:
        vm.frames.pop()
        del vm.collecting[inner]
    finish = partial(_finish, vm, frame, instruction, generator, before[0])
    if isinstance(end, Exit):
        return finish(end)
    parts: list[Outcome] = []
    now = vm.journal.mark()
    for kind, state in end.items():
        vm.journal.record(frame.restore, frame.save())
        enter_outer(vm, state)
        inner.returned = state.returned
        here = _landed(vm, frame, partial(finish, kind))
        new = take(vm, mark, frame, here)
        parts.append({here: replace(new, leaves=state.leaves, pending=state.pending)})
        vm.journal.rollback(now)
    vm.journal.rollback(mark.position)
    frame.restore(before)
    return united(vm, frame, parts)


def _finish(
    vm: ControlMachine,
    frame: Frame,
    instruction: Instruction,
    generator: GeneratorValue,
    header: int,
    end: Exit,
) -> Exit | None:
    """The frame with the loop goes on where its generator has ended, or was left. None: at an
    instruction."""
    if end.kind in ("return", "raise"):
        vm.journal.assign(generator, "state", GeneratorValue.FINISHED)
        frame.ip = header + 1
    if end.kind == "raise":
        assert generator.frame.returned is not None
        raise Raised(generator.frame.returned)
    delegates = instruction.opname == "SEND"
    if end.kind == "return":
        if delegates:
            frame.pop()
            behind_send(frame, instruction, generator.frame.returned)
        else:
            behind_loop(frame, instruction)
        return None
    if delegates:
        return end
    kind = end.kind.removeprefix(LEFT)
    if kind == "at":
        return None
    frame.returned = generator.frame.returned
    return Exit(kind, end.place)


def _landed(vm: ControlMachine, frame: Frame, finish: Callable[[], Exit | None]) -> Exit:
    """The end of the loop's instruction, on one of several ways."""
    try:
        end = finish()
    except Raised as raised:
        end = None if vm.unwind(frame, raised) else RAISE
        if end is RAISE:
            frame.returned = raised.value
    if end is not None:
        return end
    return Exit("at", audible(place_flow(frame.code), frame, frame.ip))


def _iteration(
    vm: ControlMachine, inner: Frame, loop: Loop, stops: Stops, mark: Point
) -> Exit | Outcome | None:
    """`yield`: an iteration of the loop."""
    if vm.handled is not loop.handled:
        vm.state.found.undriven.add(inner.code)
        raise _refusal(inner, "yields while it handles an exception")
    frame = loop.frame
    value = inner.pop()
    asked = frame.save()
    vm.journal.record(frame.restore, asked)
    frame.push(value)
    frame.ip = loop.header + 1
    place = vm.frames.index(frame) + 1
    waiting = vm.frames[place:]
    del vm.frames[place:]
    try:
        end = vm.advance(frame, loop.stops, resumed=True)
    except Raised as raised:
        frame.returned = raised.value
        end = RAISE
    finally:
        vm.frames += waiting
    if isinstance(end, Exit):
        return _asked(vm, inner, loop, asked, end)
    yielded = inner.save()
    now = vm.journal.mark()
    parts: list[Outcome] = []
    for kind, state in end.items():
        enter(vm, frame, state)
        here = _asked(vm, inner, loop, asked, kind)
        if here is None:
            here = Exit("at", audible(place_flow(inner.code), inner, inner.ip))
        new = take(vm, mark, inner, here)
        parts.append({here: replace(new, leaves=state.leaves, pending=state.pending)})
        vm.journal.rollback(now)
        inner.restore(yielded)
    vm.journal.rollback(mark.position)
    inner.ip -= 1
    inner.push(value)
    return united(vm, inner, parts)


def _asked(vm: ControlMachine, inner: Frame, loop: Loop, asked: object, end: Exit) -> Exit | None:
    """How the generator goes on after an iteration. None: behind its `yield`."""
    frame = loop.frame
    if end.kind == "at" and end.place == place_flow(frame.code).place[loop.header]:
        frame.ip = loop.header
        inner.push(ConstantValue(None))
        return None
    if end.kind == "yield":
        vm.state.found.collected.add(frame.code)
        raise _refusal(inner, "another generator goes through it")
    if any(one.instructions[one.ip].handler is not None for one in _delegating(vm, loop)) or (
        inner.instructions[inner.ip - 1].handler is not None
    ):
        vm.state.found.undriven.add(inner.code)
        raise _refusal(inner, "is left in a `try`")
    if end.kind == "at":
        frame.ip = end.place
        return Exit(LEFT + end.kind, end.place)
    returned = frame.returned
    frame.restore(asked)  # type: ignore[arg-type]
    inner.returned = returned
    return Exit(LEFT + end.kind, end.place)


def _delegating(vm: ControlMachine, loop: Loop) -> list[Frame]:
    """The generators between a loop and the one at work, which are in a `yield from`."""
    return vm.frames[vm.frames.index(loop.frame) + 1 : -1]


def _refusal(inner: Frame, what: str) -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        f"generator {inner.code.co_qualname} goes different ways depending on data, and {what}",
        "go through it in a loop that does not leave it",
    )
