"""Runs a frame's instructions where some need answers that only data has.

`advance` runs until a stop, the frame's end, or a fork whose arms do not come together before
those. Each arm runs from the same state; states that end at the same exit are merged, and the
program goes on from there, behind the branch or, where other arms have ended for good, inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import TYPE_CHECKING, Any

from ptc.capture.code import EXIT, place_flow
from ptc.capture.control import entries, passing, records
from ptc.capture.control.loops import at_header
from ptc.capture.control.merging import Merger, Unmergeable
from ptc.capture.control.questions import Fork, Question, impossible
from ptc.capture.control.states import Exit, Outcome, Point, State, enter, here, take
from ptc.capture.control.work import ARM, INSTRUCTION, ITEM
from ptc.capture.errors import GraphBreak, NotConstant, Raised
from ptc.capture.interpreter import calls
from ptc.capture.interpreter.frame import Frame, SavedFrame
from ptc.capture.interpreter.machine import RETURNED
from ptc.capture.values.base import Value
from ptc.graph.control import Body, If, NumberKind, NumberVar, Switch

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

RETURN, RAISE = Exit("return"), Exit("raise")


class Dead(BaseException):
    """No path goes on from here: all of them raise."""


@dataclass(frozen=True, slots=True)
class Stops:
    """Where a run of a frame ends: at any of `places`, and outside of the places `inside`."""

    places: frozenset[int] = frozenset()
    inside: frozenset[int] | None = None

    def hit(self, place: int) -> bool:
        return place in self.places or (self.inside is not None and place not in self.inside)

    def plus(self, *places: int) -> Stops:
        return replace(self, places=self.places.union(places) - {EXIT})

    def within(self, members: frozenset[int]) -> Stops:
        inside = members if self.inside is None else members & self.inside
        return replace(self, inside=inside)


class SplitExit(BaseException):
    """A call ended in several ways: `states` by exit, relative to the state now."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def initialise(
    vm: ControlMachine, function: Value, made: Value, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """See `Machine.initialise`. Where it returns in one arm and raises in another, the call of the
    class gives the object."""
    try:
        return vm.call(function, [made, *args], kwargs)
    except SplitExit as split:
        outcome = {
            end: replace(state, returned=made) if end.kind == "return" else state
            for end, state in split.outcome.items()
        }
        raise SplitExit(outcome) from None


# -- straight on ----------------------------------------------------------------------------------


def advance(
    vm: ControlMachine,
    frame: Frame,
    stops: Stops,
    thrown: Raised | None = None,
    resumed: bool = False,
) -> Exit | Outcome:
    """Run on. An Exit: the machine is there. An Outcome: the ways in which the frame went on, with
    states relative to the state at the start, which is the current one again. `resumed`: the first
    instruction is run even if it is a stop."""
    base = here(vm)
    start = frame.save()
    flow = place_flow(frame.code)
    while True:
        place = flow.place.get(frame.ip)
        if place is not None and not resumed and thrown is None:
            if stops.hit(place):
                return Exit("at", place)
            if place in flow.members:
                left = at_header(vm, frame, place, stops)
                if left is not None:
                    end = proceed(vm, frame, left, stops, base, start)
                    if end is not None:
                        return end
                    continue
        resumed = False
        outcome = _step(vm, frame, thrown, stops)
        thrown = None
        if isinstance(outcome, Exit):
            return outcome
        if outcome is not None:
            end = proceed(vm, frame, outcome, stops, base, start)
            if end is not None:
                return end


def _step(
    vm: ControlMachine, frame: Frame, thrown: Raised | None, stops: Stops
) -> Exit | Outcome | None:
    """Run one instruction. None: on to the next."""
    try:
        vm.prepare_steps(frame, frame.instructions[frame.ip])
    except SplitExit:
        raise not_followed() from None
    before, mark, body = frame.save(), here(vm), vm.writer.body
    caller = passing.Instruction(frame, mark, vm.handled, len(vm.catchers))
    outer, vm.attempt = vm.attempt, Attempt(vm.answers, vm.emitted_effects, caller)
    vm.answers = ()
    end: Exit | Outcome | None
    try:
        end = _run(vm, frame, thrown, stops, before, mark)
    except Dead:
        if not caller.thrown:
            raise
        end = {}
    except Raised as raised:
        if not caller.thrown:
            raise
        frame.returned = raised.value
        end = RAISE
    finally:
        vm.attempt = outer
    return _with_thrown(vm, caller, end, before, body) if caller.thrown else end


def _run(
    vm: ControlMachine,
    frame: Frame,
    thrown: Raised | None,
    stops: Stops,
    before: SavedFrame,
    mark: Point,
) -> Exit | Outcome | None:
    index = frame.ip
    try:
        if thrown is not None:
            raise thrown
        frame.ip = index + 1
        vm.work.add(INSTRUCTION)
        instruction = frame.instructions[index]
        step = vm.step_of(frame, instruction)
        if step is not None:
            return step(stops, mark)
        vm.prepare_operands(frame, instruction)
        stop = frame.handlers[index](vm, frame, instruction)
        _note_made(vm, frame, mark)
        if not stop:
            return None
        vm.frame_ends(frame, instruction)
        return RETURN if stop == RETURNED else Exit("yield", frame.ip)
    except Fork as fork:
        question = fork.question
        selector = question.selector(vm)
        vm.writer.flush()
        answers = vm.attempt.answers
        if vm.attempt.items != vm.emitted_effects:
            # What gave the function its elements can be run to its end before it
            vm.state.found.collected.update(vm.attempt.generators)
            raise GraphBreak(
                "PTC-B006",
                "a library function that calls back into the model branches on data afterwards",
                "write the loop out in Python",
            ) from None
        with vm.keeping_results():
            vm.journal.rollback(mark.position)
        frame.restore(before)
        return branch(vm, frame, question, selector, answers, stops)
    except SplitExit as split:
        return _split(vm, frame, split, mark, before, stops)
    except Raised as raised:
        if not vm.unwind(frame, raised):
            raise
        return None
    except NotConstant as error:
        name = frame.instructions[index].opname
        stopped = calls.not_constant(f"the instruction {name}", error)
        stopped.stack = vm.stack_locations()
        raise stopped from None
    except GraphBreak as stopped:
        if not stopped.stack:  # before the frames go back to where an arm began
            stopped.stack = vm.stack_locations()
        raise


def _note_made(vm: ControlMachine, frame: Frame, mark: Point) -> None:
    """What the instruction has left on the stack may be new."""
    if frame.stack:
        records.replace_made(vm, frame, mark.time)
        entries.note_birth(vm, frame.stack[-1])


def _with_thrown(
    vm: ControlMachine,
    caller: passing.Instruction,
    end: Exit | Outcome | None,
    before: SavedFrame,
    body: Body,
) -> Outcome:
    """The ways on which an instruction came to an end, and those on which it raised before."""
    frame, mark = caller.frame, caller.mark
    if not isinstance(end, dict):
        if end is None:
            end = Exit("at", audible(place_flow(frame.code), frame, frame.ip))
        end = {end: take(vm, mark, frame, end)}
        vm.journal.rollback(mark.position)
    vm.handled = caller.handled
    vm.writer.go_on_in(body)
    parts = [end]
    for state in caller.thrown:
        frame.restore(before)
        frame.ip += 1
        parts.append(_ended(vm, frame, mark, RAISE, state))
    frame.restore(before)
    return united(vm, frame, parts)


Answer = tuple[tuple[Any, ...], int]


class Attempt:
    """One run of an instruction: the answers it was given, and how many it has used."""

    __slots__ = ("answers", "caller", "generators", "items", "used")

    def __init__(
        self,
        answers: tuple[Answer, ...],
        items: int,
        caller: passing.Instruction | None = None,
    ) -> None:
        self.answers = answers
        self.caller = caller
        self.generators: list[CodeType] = []  # that gave it a value
        self.used = 0
        self.items = items

    def answered(self, key: tuple[Any, ...]) -> int | None:
        """This arm's answer to exactly this question, if it was asked before."""
        for place in range(self.used, len(self.answers)):
            if self.answers[place][0] == key:
                self.used = place + 1
                return self.answers[place][1]
        return None

    def expected(self) -> Answer | None:
        """The next question that was asked before, with this arm's answer."""
        return self.answers[self.used] if self.used < len(self.answers) else None


# -- arms -----------------------------------------------------------------------------------------


def branch(
    vm: ControlMachine,
    frame: Frame,
    question: Question,
    selector: NumberVar,
    answers: tuple[Answer, ...],
    stops: Stops,
) -> Outcome:
    """Run the instruction at hand once for each answer, each in an arm of its own up to where they
    meet."""
    flow = place_flow(frame.code)
    place = flow.place.get(frame.ip, EXIT)
    meeting = flow.meetings.get(place, EXIT)
    location, construct = frame_location(frame), vm.construct(frame)
    bodies: list[Body] = []
    outcomes: list[Outcome] = []
    excluded = impossible(question, vm)

    def run() -> Exit | Outcome:
        return advance(vm, frame, stops.plus(meeting), resumed=True)

    for answer in range(question.count):
        body = Body()
        bodies.append(body)
        if answer in excluded:
            outcomes.append({})
            continue

        def start(answer: int = answer) -> None:
            question.assume(vm, answer)
            vm.answers = (*answers, (question.key(), answer))

        outcomes.append(run_arm(vm, frame, body, start, run))
    if selector.kind is NumberKind.BOOL:
        vm.writer.add(If(selector, bodies[0], bodies[1], location, construct))
    else:
        vm.writer.add(Switch(selector, tuple(bodies), location, construct))
    found = united(vm, frame, outcomes)
    vm.work.add(ITEM * sum(len(body.items) for body in bodies))
    return found


def frame_location(frame: Frame) -> Any:
    """The line of the instruction about to be run."""
    from_start = frame.ip
    frame.ip += 1
    found = frame.location()
    frame.ip = from_start
    return found


def run_arm(
    vm: ControlMachine,
    frame: Frame,
    body: Body,
    start: Callable[[], Any],
    run: Callable[[], Exit | Outcome],
    began: int | None = None,
) -> Outcome:
    """`run` the frame from its present state inside `body`. The state is as before afterwards.
    `began`: when what `start` goes on from began, if that was before now."""
    mark, before = here(vm), frame.save()
    if began is not None:
        mark = replace(mark, time=min(began, mark.time))
    handled = vm.handled
    vm.work.add(ARM)
    vm.arms.append(frame)
    try:
        with vm.writer.inside(body):
            start()
            return _arm_outcome(vm, frame, run, mark)
    finally:
        vm.arms.pop()
        vm.journal.rollback(mark.position)
        frame.restore(before)
        vm.handled = handled
        vm.answers = ()


def _arm_outcome(
    vm: ControlMachine, frame: Frame, run: Callable[[], Exit | Outcome], mark: Point
) -> Outcome:
    inner = vm.journal.mark()
    try:
        end = run()
    except Dead:
        return {}
    except Raised as raised:
        if vm.caught_outside(frame, raised):
            frame.returned = raised.value
            return {RAISE: take(vm, mark, frame, RAISE)}
        vm.emit_raise(raised)
        return {}
    if isinstance(end, Exit):
        return {end: take(vm, mark, frame, end)}
    return rebased(vm, frame, end, mark, inner)


def rebased(vm: ControlMachine, frame: Frame, outcome: Outcome, point: Point, now: int) -> Outcome:
    """States relative to the state now, as states relative to an earlier point."""
    found: Outcome = {}
    saved = frame.save()
    handled = vm.handled
    for end, state in outcome.items():
        enter(vm, frame, state)
        whole = take(vm, point, frame, end)
        found[end] = replace(whole, leaves=state.leaves, pending=state.pending)
        vm.journal.rollback(now)
        frame.restore(saved)
        vm.handled = handled
    return found


def united(vm: ControlMachine, frame: Frame, outcomes: Sequence[Outcome]) -> Outcome:
    """The outcomes of arms as one: states of one exit are merged where they can be."""
    by_exit: dict[Exit, list[State]] = {}
    for outcome in outcomes:
        for end, state in outcome.items():
            by_exit.setdefault(end, []).append(state)
    merged: Outcome = {}
    for end, states in by_exit.items():
        if len(states) == 1:
            merged[end] = states[0]
            continue
        try:
            merged[end] = Merger(vm, states).merge(frame, end)
        except Unmergeable as refused:
            if end.kind == "yield":
                vm.state.found.collected.add(frame.code)
            if end.kind != "at":
                vm.lists.references.last_resort()
                raise GraphBreak(
                    "PTC-B006", f"the ways of a branch on data cannot be joined: {refused}"
                ) from None
            merged[end] = states[0]
            for state in states[1:]:
                merged[_apart(end.place, (*merged, *by_exit))] = state
    return merged


def _apart(place: int, taken: Sequence[Exit]) -> Apart:
    """An end at a place that is none of those taken."""
    number = 1
    while Apart("at", place, number) in taken:
        number += 1
    return Apart("at", place, number)


class Apart(Exit):
    """A second state at a place, which cannot be merged with the first."""

    __slots__ = ("number",)

    def __init__(self, kind: str, place: int, number: int) -> None:
        super().__init__(kind, place)
        object.__setattr__(self, "number", number)

    def __hash__(self) -> int:
        return hash((self.kind, self.place, self.number))  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Apart) and (self.place, self.number) == (other.place, other.number)  # type: ignore[attr-defined]
        )


# -- going on -------------------------------------------------------------------------------------


def proceed(
    vm: ControlMachine, frame: Frame, outcome: Outcome, stops: Stops, base: Point, start: Any
) -> Exit | Outcome | None:
    """Go on after arms ended. None: the machine is in the one state that is left."""
    outcome = dict(outcome)
    while True:
        if not outcome:
            raise Dead
        going = [end for end in outcome if end.kind == "at" and not stops.hit(end.place)]
        if len(outcome) == 1:
            end, state = next(iter(outcome.items()))
            resume(vm, frame, state)
            if going:
                return None
            return end
        if not going:
            result = rebased(vm, frame, outcome, base, vm.journal.mark())
            vm.journal.rollback(base.position)
            frame.restore(start)
            return result
        until = stops.plus(_next_meeting(vm, frame, [end.place for end in going]))
        vm.duplicated(len(going))
        parts: list[Outcome] = [{end: outcome[end] for end in outcome if end not in going}]
        for end in going:
            parts.append(_continue(vm, frame, end, outcome, until))
        outcome = united(vm, frame, parts)


def _next_meeting(vm: ControlMachine, frame: Frame, places: list[int]) -> int:
    """The first place where the ways from these may come together; EXIT for a single one."""
    if len(places) == 1:
        return EXIT
    apart = len(set(places)) > 1
    return _first_common([_ahead(vm, frame, place)[0 if apart else 1 :] for place in places])


def _ahead(vm: ControlMachine, frame: Frame, place: int) -> list[int]:
    """The place and those that lie ahead on every way. A loop that begins there is not left in its
    midst, nor is one whose further iterations are to be a region."""
    flow = place_flow(frame.code)
    chain = flow.chain(place)
    if place not in flow.members:
        return chain
    if any(c.frame is frame and c.header == place and not c.peel for c in vm.loops):
        return chain
    members = flow.members[place]
    return [place, *(other for other in chain if other not in members)]


def _first_common(chains: list[list[int]]) -> int:
    shared = frozenset(chains[0]).intersection(*chains[1:])
    return next((place for place in chains[0] if place in shared), EXIT)


def _continue(
    vm: ControlMachine, frame: Frame, end: Exit, outcome: Outcome, stops: Stops
) -> Outcome:
    """Run on from one of several ends: inside the arm where it lies, or in an arm of its own that
    asks for it."""
    state = outcome[end]
    body = passing.body_of(vm, end, outcome)
    return run_arm(
        vm, frame, body,
        lambda: resume(vm, frame, state), lambda: advance(vm, frame, stops), state.began,
    )  # fmt: skip


def resume(vm: ControlMachine, frame: Frame, state: State) -> None:
    """Make a state the current one, where the program goes on from it."""
    enter(vm, frame, state)
    for bind in state.pending:
        vm.writer.compute(bind)


def _split(
    vm: ControlMachine, frame: Frame, split: SplitExit, mark: Point, before: Any, stops: Stops
) -> Outcome:
    """A call that returns in one arm and raises in another."""
    instruction = frame.instructions[frame.ip - 1]
    if not instruction.opname.startswith("CALL") or not vm.called_directly():
        raise not_followed()
    outcome: Outcome = {}
    for end, state in split.outcome.items():
        outcome |= _ended(vm, frame, mark, end, state)
    vm.journal.rollback(mark.position)
    frame.restore(before)
    return outcome


def not_followed() -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        "a function that raises depending on data is called by a library function or an "
        "operator, and the exception is caught",
        "call it in a statement of its own",
    )


def _ended(vm: ControlMachine, frame: Frame, mark: Point, end: Exit, state: State) -> Outcome:
    """What comes of an instruction where a call in it has returned or raised."""
    now, following = vm.journal.mark(), frame.save()
    enter_outer(vm, state)
    value: Value = state.returned  # type: ignore[assignment]
    at = EXIT
    if end.kind == "return":
        frame.push(value)
        at = frame.ip
    elif vm.unwind(frame, Raised(value)):
        at = frame.ip
    place = audible(place_flow(frame.code), frame, at)
    kind = Exit("at", place) if place != EXIT else RAISE
    if kind is RAISE:
        frame.returned = value
    new = take(vm, mark, frame, kind)
    vm.journal.rollback(now)
    frame.restore(following)
    return {kind: replace(new, leaves=state.leaves, pending=state.pending)}


def audible(flow: Any, frame: Frame, index: int) -> int:
    """The first place at or behind an instruction."""
    while index != EXIT and index not in flow.place:
        instruction = frame.instructions[index]
        index = instruction.target if instruction.target is not None else index + 1
    return flow.place[index] if index != EXIT else EXIT


def enter_outer(vm: ControlMachine, state: State) -> None:
    """The part of a callee's last state that outlives its frame."""
    for place, content in state.cells.values():
        place.write(vm.journal, content)
