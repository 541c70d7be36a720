"""The forms of a program on its way into a library, with or without control flow.

One function a form: each takes either kind of program and gives the next form of the same kind.
Knows what the kinds have in common, must not know entries, files or compilers.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptc.artifact.control import CompiledControl
from ptc.artifact.describe import AnyCompiled, CompiledEntry
from ptc.artifact.live_state import LiveState
from ptc.autograd.control import FunctionalControl, functionalise_control
from ptc.autograd.functionalise import functionalise
from ptc.graph.control import ControlProgram
from ptc.graph.control_printer import print_control
from ptc.graph.control_verifier import verify_control
from ptc.graph.printer import print_program
from ptc.graph.program import AtenProgram, CapturedProgram, OutputKind
from ptc.graph.verifier import verify_aten, verify_captured
from ptc.loops.nodes import Program
from ptc.loops.printer import print_program as print_loops
from ptc.schedule.control import ControlLoops, lower_control, schedule_control
from ptc.schedule.lower import lower
from ptc.schedule.passes import Options, schedule

Captured = CapturedProgram | ControlProgram
Functional = AtenProgram | FunctionalControl
Loops = Program | ControlLoops


# --- from one form to the next ------------------------------------------------------------------


def functional_form(captured: Captured) -> Functional:
    if isinstance(captured, ControlProgram):
        return functionalise_control(captured)
    return functionalise(captured)


def loop_form(functional: Functional) -> Loops:
    """With row-major interfaces, as libraries have them."""
    if isinstance(functional, FunctionalControl):
        return lower_control(functional)
    return lower(functional, row_major=True)


def scheduled_form(loops: Loops, options: Options) -> Loops:
    if isinstance(loops, ControlLoops):
        return schedule_control(loops, options)
    return schedule(loops, options)


def compiled_form(name: str, functional: Functional, scheduled: Loops) -> AnyCompiled:
    if isinstance(scheduled, ControlLoops):
        return CompiledControl(name, scheduled)
    assert isinstance(functional, AtenProgram)
    return CompiledEntry(name, functional, scheduled)


# --- what programs write ------------------------------------------------------------------------


def written_names(functional: Functional) -> Iterator[str]:
    """The names of inputs that the program writes."""
    if isinstance(functional, FunctionalControl):
        yield from functional.program.written
        return
    for output in functional.outputs:
        if output.kind is OutputKind.WRITE_BACK and output.target is not None:
            yield functional.inputs[output.target].name


def live_state(functional: Functional) -> LiveState:
    """What the user's function changes in the model's tensors and objects."""
    names = set(written_names(functional))
    owner = functional.program if isinstance(functional, FunctionalControl) else functional
    written = (i.live for i in owner.inputs if i.live is not None and i.name in names)
    return LiveState.of(written, owner.assigned)


# --- for people and for tests -------------------------------------------------------------------


def verify_captured_form(captured: Captured) -> None:
    """Raises InternalError where the program breaks a rule of its form."""
    if isinstance(captured, ControlProgram):
        verify_control(captured, every_path=False)
    else:
        verify_captured(captured)


def verify_functional_form(functional: Functional) -> None:
    """Raises InternalError where the program breaks a rule of its form."""
    if isinstance(functional, FunctionalControl):
        for segment in functional.segments:
            verify_aten(segment.aten)
    else:
        verify_aten(functional)


def captured_text(captured: Captured) -> str:
    if isinstance(captured, ControlProgram):
        return print_control(captured)
    return print_program(captured)


def functional_text(functional: Functional) -> str:
    if isinstance(functional, FunctionalControl):
        return print_control(functional.program, {id(s.item): s.aten for s in functional.segments})
    return print_program(functional)


def loops_text(loops: Loops) -> str:
    if isinstance(loops, ControlLoops):
        segments = zip(loops.functional.segments, loops.segments, strict=True)
        texts = {id(segment.item): print_loops(program) for segment, program in segments}
        return print_control(loops.functional.program, texts)
    return print_loops(loops)
