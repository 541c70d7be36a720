"""Loops whose end depends on data.

A loop is first followed as it comes, iteration by iteration. When an iteration that only data
decides on would begin, the loop is traced again as a region: what an iteration changes becomes a
variable that the loop carries, until tracing the body once more changes nothing else. What cannot
be carried as it is before the loop (a counter that turns into a float, None that becomes a tensor)
gets its lasting form in the first iterations, which are then left in front of the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ptc.capture.code import place_flow
from ptc.capture.control.carried_choices import MOST_PEELED
from ptc.capture.control.carrying import Carried, Uncarriable
from ptc.capture.control.states import Exit, Outcome, Point, State, here, take
from ptc.capture.control.unrolling import unrolls
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.frame import Frame
from ptc.capture.values.births import now
from ptc.graph.control import Body, NumberKind, NumberVar, While

if TYPE_CHECKING:
    from ptc.capture.control.forks import Stops
    from ptc.capture.control.machine import ControlMachine

_MOST_UNROLLED = 16  # iterations of a loop with a known end, of which data may leave out the rest
_MOST_TRACES = 40


@dataclass(slots=True)
class LoopContext:
    """A loop being followed. `arms` is how many arms the frame was in at its beginning; `arrivals`
    counts how often its header was reached again."""

    frame: Frame
    header: int
    arms: int
    peel: int = 0
    arrivals: int = 0
    region: bool = False
    began: int = field(default_factory=now)


class DataLoop(BaseException):
    """The loop of this context has to be a region, behind some iterations as they come."""

    def __init__(self, context: LoopContext) -> None:
        super().__init__()
        self.context = context


def at_header(vm: ControlMachine, frame: Frame, header: int, stops: Stops) -> Outcome | None:
    """The header of a loop is reached. None: go on with it; else what came of the loop."""
    context = next((c for c in reversed(vm.loops) if c.frame is frame and c.header == header), None)
    if context is None:
        return _enter(vm, frame, header, stops)
    if context.region:
        return None
    vm.journal.assign(context, "arrivals", context.arrivals + 1)
    if vm.arms.count(frame) <= context.arms:
        return None
    if context.peel and context.arrivals >= context.peel:
        return _region_here(vm, frame, context, stops)
    if not context.peel and not unrolls(vm, frame, header, context.arrivals, _MOST_UNROLLED):
        raise DataLoop(context)
    return None


def _enter(vm: ControlMachine, frame: Frame, header: int, stops: Stops) -> Outcome:
    """Follow a loop from outside; as a region if it must be one."""
    members = place_flow(frame.code).members[header]
    arms = vm.arms.count(frame)
    mark, before, written = here(vm), frame.save(), vm.writer.mark()
    handled = vm.handled

    def back() -> None:
        vm.journal.rollback(mark.position)
        frame.restore(before)
        vm.handled = handled
        vm.writer.cut(written)

    for peel in range(MOST_PEELED + 1):
        context = LoopContext(frame, header, arms, peel=peel)
        try:
            if peel or not vm.known_regions.get((id(frame.code), header)):
                return _followed(vm, frame, context, stops.within(members), mark, before)
        except DataLoop as found:
            if found.context is not context:
                raise
            back()
        except Uncarriable as refused:
            if refused.context is not context or peel == MOST_PEELED:
                vm.lists.references.reconsider(refused.by_reference, refused.mixed)
                vm.lists.stores.reconsider(refused.klass)
                raise _refusal(refused) from None
            back()
            continue
        vm.known_regions[(id(frame.code), header)] = True
        try:
            return region(vm, frame, context, stops)
        except Uncarriable as refused:
            if refused.context is not context:
                raise
            back()
    raise AssertionError("unreachable")


def _refusal(refused: Uncarriable) -> GraphBreak:
    return GraphBreak(
        "PTC-B006",
        f"the loop carries {refused.what}, whose kind changes from one iteration to the next",
        "give it one type and one number of dimensions before the loop",
    )


def _followed(
    vm: ControlMachine, frame: Frame, context: LoopContext, stops: Stops, mark: Point, before: Any
) -> Outcome:
    """Follow the loop as it comes, up to where it is left."""
    vm.loops.append(context)
    try:
        end = vm.advance(frame, stops, resumed=True)
    finally:
        vm.loops.remove(context)
    if isinstance(end, Exit):
        state = take(vm, mark, frame, end)
        vm.journal.rollback(mark.position)
        frame.restore(before)
        return {end: state}
    return end


def _region_here(vm: ControlMachine, frame: Frame, context: LoopContext, stops: Stops) -> Outcome:
    """The remaining iterations as a region, inside the arm that the first ones have led to."""
    return region(vm, frame, context, stops)


def region(vm: ControlMachine, frame: Frame, context: LoopContext, stops: Stops) -> Outcome:
    """Trace the loop as a region from the present state. The outcome has no way back into it."""
    carried = Carried(vm, frame, context)
    try:
        return _traced(vm, frame, context, stops, carried)
    finally:
        carried.end()


def _traced(
    vm: ControlMachine, frame: Frame, context: LoopContext, stops: Stops, carried: Carried
) -> Outcome:
    members = place_flow(frame.code).members[context.header]
    inner = LoopContext(frame, context.header, vm.arms.count(frame) + 1, region=True)
    written = vm.writer.mark()
    back = Exit("at", context.header)
    until = stops.within(members).plus(context.header)
    computed = dict(vm.computed)
    for _ in range(_MOST_TRACES):
        vm.writer.cut(written)
        vm.journal.replace_dict(vm.computed, computed)  # what was cut off is not known any more
        vm.writer.flush()
        carried.begin()
        inner.began = now()
        united = vm.lists.classes.mark()
        body = Body()
        vm.loops.append(inner)
        try:
            outcome = vm.run_arm(
                frame, body, carried.enter,
                lambda: vm.advance(frame, until, resumed=True),
            )  # fmt: skip
        finally:
            vm.loops.remove(inner)
        again = outcome.pop(back, None)
        if again is None:
            vm.writer.body.items.extend(body.items)  # it never comes back: no loop
            return outcome
        grown = carried.grow(again)
        if not grown and not vm.lists.classes.united_since(united, inner.began):
            break
    else:
        raise GraphBreak("PTC-B017", "what a loop carries does not settle")
    _close(vm, carried, body, again, outcome, context)
    return outcome


def _close(
    vm: ControlMachine,
    carried: Carried,
    body: Body,
    again: State,
    outcome: Outcome,
    context: LoopContext,
) -> None:
    carried.assign(again)
    repeat = NumberVar(vm.writer.name("n"), NumberKind.BOOL)
    for leaf in again.leaves:
        vm.assign_at_end(leaf, repeat, True)
    for state in outcome.values():
        for leaf in state.leaves:
            vm.assign_at_end(leaf, repeat, False)
    location = context.frame.location()
    vm.writer.add(While(body, repeat, location, vm.loop_construct(context)))
