"""Comparisons of several calls at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptc.exporters.check import CheckSet, check_set
from ptc.graph.program import AtenProgram


def check_sets(
    program: AtenProgram,
    function: Callable[..., Any],
    calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]],
) -> list[CheckSet]:
    """`check_set` of each call's (args, kwargs)."""
    return [check_set(program, function, args, kwargs) for args, kwargs in calls]
