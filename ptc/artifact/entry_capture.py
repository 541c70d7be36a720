"""From a request to its captured program, with the sizes that it is made for.

Owns what becomes of sizes for which the user gave no range. How capture works is its package's
business.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from ptc.capture.api import DynamicSpec as SymbolicSizes
from ptc.capture.api import capture_program
from ptc.graph.control import ControlProgram
from ptc.graph.program import CapturedProgram
from ptc.graph.small_sizes import require_small_sizes
from ptc.loader.model import DynamicDim, DynamicSpec, EntryRequest
from ptc.support.diagnostics import CompileError


def capture_entry(
    request: EntryRequest, notes: list[str] | None = None, *, branches: bool = True
) -> CapturedProgram | ControlProgram:
    """The whole program of an entry, captured or as it was read. Raises CompileError PTC-Bnnn where
    Python is needed.

    Sizes that the program treats apart (1, when broadcasting) become branches. Where they cannot,
    or without `branches`, a size for which the user gave no range is taken to be at least 2;
    `notes` then says so.
    """
    if request.program is not None:
        return request.program
    try:
        captured = _capture(request, request.dynamic)
    except CompileError as error:
        if error.code != "PTC-B009":
            raise
        captured = _capture_apart(request, error, notes, branches)
    if notes is not None:
        notes.extend(note for note in captured.notes if note not in notes)
    return captured


def _capture_apart(
    request: EntryRequest, error: CompileError, notes: list[str] | None, branches: bool
) -> CapturedProgram | ControlProgram:
    if branches:
        try:
            return _capture(request, request.dynamic, branch_on_sizes=True)
        except CompileError as refused:
            error = refused if refused.code == "PTC-B009" else error
    narrowed = without_ones(request)
    if narrowed is None:
        raise error
    captured = _capture(request, narrowed)
    if notes is not None:
        names = ", ".join(sorted({f"`{d.name}`" for d in unbounded(request)}))
        notes.append(
            f"{names}: sizes from 2 on, because {error.diagnostic.location} treats 1 apart; "
            "a range such as `[1..64]` asks for all or an error"
        )
    return captured


def _capture(
    request: EntryRequest, spec: DynamicSpec | None, *, branch_on_sizes: bool = False
) -> CapturedProgram | ControlProgram:
    dims = {
        path: {number: (dim.name, dim.lower, dim.upper) for number, dim in sizes.items()}
        for path, sizes in (spec or {}).items()
    }
    with torch.no_grad():
        captured = capture_program(
            request.function,
            request.args,
            dict(request.kwargs),
            dynamic=SymbolicSizes(dims) if dims else None,
            name=request.name,
            branch_on_sizes=branch_on_sizes,
        )
    if isinstance(captured, CapturedProgram):
        require_small_sizes(captured)
    return captured


def unbounded(request: EntryRequest) -> list[DynamicDim]:
    """The dimensions that were named without a range."""
    dims = [dim for sizes in (request.dynamic or {}).values() for dim in sizes.values()]
    return [dim for dim in dims if dim.lower == 1 and dim.upper is None]


def without_ones(request: EntryRequest) -> DynamicSpec | None:
    """The request's sizes with 2 as the least one where none was given; None if all have ranges."""
    if not unbounded(request):
        return None
    return {
        path: {
            number: replace(dim, lower=2) if dim.lower == 1 and dim.upper is None else dim
            for number, dim in sizes.items()
        }
        for path, sizes in (request.dynamic or {}).items()
    }
