"""The passes of scheduling, in order: the table of contents of this package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ptc.loops.nodes import Program
from ptc.loops.verifier import verify
from ptc.schedule.fuse import fuse_kernels
from ptc.schedule.share import share_values
from ptc.schedule.simplify import fold_constants, remove_dead_kernels

Pass = Callable[[Program], Program | None]


@dataclass(frozen=True, slots=True)
class ScheduleOptions:
    """freeze: weights may be folded and packed (`prepare` kernels); otherwise they are read live.
    verify: check the program after every pass."""

    freeze: bool = False
    verify: bool = False


def bind_shared_values(program: Program) -> Program:
    """Lets for repeated expressions, in every kernel."""
    sizes = frozenset([s.symbol for s in program.sizes])
    kernels = tuple([share_values(k, sizes) for k in program.kernels])
    prepare = tuple([share_values(k, sizes) for k in program.prepare])
    return replace(program, kernels=kernels, prepare=prepare)


def passes(options: ScheduleOptions) -> list[tuple[str, Pass]]:
    """Names and passes, in the order they run."""
    return [
        ("simplify", remove_dead_kernels),
        ("constants", fold_constants),
        ("fuse", fuse_kernels),
        ("clean", remove_dead_kernels),
        ("share", bind_shared_values),
    ]


def schedule(
    program: Program,
    options: ScheduleOptions | None = None,
    observe: Callable[[str, Program], None] | None = None,
) -> Program:
    """Run all passes. `observe(name, program)` sees the program after each that changed it."""
    options = options or ScheduleOptions()
    for name, run in passes(options):
        changed = run(program)
        if changed is None:
            continue
        program = changed
        if options.verify:
            verify(program, f"schedule.{name}")
        if observe is not None:
            observe(name, program)
    return program
