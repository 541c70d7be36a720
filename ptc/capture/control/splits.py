"""Sizes that torch's own rules treat apart: a program whose range of sizes has such a one is
written once for it and once for all others.

Broadcasting, contiguity and emptiness ask about 0 and 1 again and again; a branch at each question
would leave nothing to fuse. The first question restarts the capture, with one branch around the
whole program. Owns which sizes are taken apart; knows nothing of what the arms do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from ptc.capture.control.facts import plain
from ptc.capture.control.forks import Stops, advance, frame_location, proceed, run_arm, united
from ptc.capture.control.questions import SizeTruth
from ptc.capture.control.states import Exit, Outcome, Restart, here
from ptc.graph.control import Body, If
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine
    from ptc.capture.interpreter.frame import Frame

#: Each doubles the program. Further ones are branches where they are asked about.
_MOST = 3
_APART = (0, 1)


def take_apart(vm: ControlMachine, condition: sympy.Basic) -> None:
    """Raise Restart if a condition asks whether a size of an input is the least of its range, 0
    or 1."""
    asked: Any = plain(condition)
    if not isinstance(asked, (sympy.Eq, sympy.Ne)) or asked.rhs not in _APART:
        return
    dim = vm.fakes.dims.get(str(asked.lhs))
    splits = vm.state.found.splits
    if dim is None or len(splits) >= _MOST:
        return
    least: Any = asked.rhs
    split = (dim.name, int(least))
    if split not in splits and vm.facts.least(asked.lhs) == least:
        splits[split] = None
        raise Restart


def run_apart(vm: ControlMachine, frame: Frame) -> Exit | Outcome:
    """Run the program's outermost frame, in one arm for each side of each size taken apart."""
    conditions: list[sympy.Basic] = [
        sympy.Eq(expression_of(vm.fakes.sizes[name]), size)
        for name, size in vm.state.known.splits
        if name in vm.fakes.sizes
    ]
    return _run(vm, frame, conditions)


def _run(vm: ControlMachine, frame: Frame, conditions: list[sympy.Basic]) -> Exit | Outcome:
    open_ = [c for c in conditions if vm.facts.truth(c) is None]
    if not open_:
        return advance(vm, frame, Stops())
    base, start = here(vm), frame.save()
    question = SizeTruth(open_[0])
    selector = question.selector(vm)
    vm.writer.flush()
    bodies = (Body(), Body())
    outcomes: list[Outcome] = []
    for answer, body in enumerate(bodies):

        def assume(answer: int = answer) -> None:
            question.assume(vm, answer)

        def run(conditions: list[sympy.Basic] = open_[1:]) -> Exit | Outcome:
            return _run(vm, frame, conditions)

        outcomes.append(run_arm(vm, frame, body, assume, run))
    vm.writer.add(If(selector, *bodies, frame_location(frame), "sizes"))
    end = proceed(vm, frame, united(vm, frame, outcomes), Stops(), base, start)
    assert end is not None  # no arm ends inside the frame
    return end
