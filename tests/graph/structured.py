"""Results of the reference interpreter as the user's program returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptc.graph.control import ControlProgram
from ptc.graph.control_run import run_outputs
from ptc.graph.structure import unflatten


def run_structured(
    program: ControlProgram, tensors: Mapping[str, Any], state: dict[str, Any], *, emit: Any = None
) -> Any:
    """As `control_run.run`, with the structure of the result."""
    outputs, variant = run_outputs(program, tensors, state, emit=emit)
    structure = program.variants[variant] if program.variants else program.result
    return None if structure is None else unflatten(structure, outputs)
