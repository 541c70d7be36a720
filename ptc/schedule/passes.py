"""The passes of scheduling, in order: the table of contents of this package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ptc.loops.nodes import Program
from ptc.loops.verifier import verify
from ptc.schedule.fuse import fuse_elementwise, fuse_positions, fuse_prepare, fuse_rows
from ptc.schedule.layout import choose_layouts
from ptc.schedule.memory import plan_memory
from ptc.schedule.positions import fold_positions
from ptc.schedule.prepare import fold_scales, move_costly, move_to_prepare
from ptc.schedule.share import share_values
from ptc.schedule.simplify import fold_constants, remove_dead_kernels
from ptc.schedule.vectors import vectorise

Pass = Callable[[Program], Program | None]


@dataclass(frozen=True, slots=True)
class Options:
    """freeze: weights may be folded and packed (`prepare` kernels); otherwise they are read live.
    verify: check the program after every pass. written: weights that some other entry of the same
    library writes (this program's own are in `Program.written`)."""

    freeze: bool = False
    verify: bool = False
    written: frozenset[str] = frozenset()


def bind_shared_values(program: Program) -> Program:
    """Lets for repeated expressions, in every kernel."""
    sizes = frozenset([s.symbol for s in program.sizes])
    kernels = tuple([share_values(k, sizes) for k in program.kernels])
    prepare = tuple([share_values(k, sizes) for k in program.prepare])
    return replace(program, kernels=kernels, prepare=prepare)


def passes(options: Options) -> list[tuple[str, Pass]]:
    """Names and passes, in the order they run."""
    frozen: list[tuple[str, Pass]] = [("prepare", move_to_prepare), ("fold", fold_scales)]
    return [
        ("simplify", remove_dead_kernels),
        ("constants", fold_constants),
        ("positions", fuse_positions),
        *([("prepare-costly", move_costly)] if options.freeze else []),
        ("fuse-elementwise", fuse_elementwise),
        ("decide", fold_positions),
        *(frozen if options.freeze else []),
        ("layout", choose_layouts),
        ("fuse-rows", fuse_rows),
        ("clean", remove_dead_kernels),
        ("fuse-prepare", fuse_prepare),
        ("vectors", vectorise),
        ("share", bind_shared_values),
        ("memory", plan_memory),
    ]


def schedule(
    program: Program,
    options: Options | None = None,
    observe: Callable[[str, Program], None] | None = None,
) -> Program:
    """Run all passes. `observe(name, program)` sees the program after each that changed it."""
    options = options or Options()
    own = frozenset([n for n in options.written if n in program.buffers])
    program = replace(program, written=program.written | own)
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
