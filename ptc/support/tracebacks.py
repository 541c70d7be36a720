"""Tracebacks that lead through the user's lines, for exceptions raised by code made from them."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence

from ptc.support.diagnostics import Location


def _anchor() -> Iterator[None]:
    yield


def _frame_in(file: str) -> types.FrameType:
    """A frame of a function in this file."""
    code = _anchor.__code__.replace(co_filename=file, co_name="captured", co_qualname="captured")
    return types.FunctionType(code, {"__name__": "captured"})().gi_frame


def traceback_at(places: Sequence[Location]) -> types.TracebackType | None:
    """A traceback with an entry for each place, the outermost first."""
    found: types.TracebackType | None = None
    for place in reversed(places):
        # Without an instruction, so that no part of the line is marked.
        found = types.TracebackType(found, _frame_in(place.file), -1, place.line)
    return found
