"""How capture leaves the straight path: graph breaks, exceptions of the user's program, and values
that are not constants.

`GraphBreak` and `Raised` are host exceptions that travel through inlined frames. The first ends the
current segment (or the whole capture); the second is the user's own exception and is unwound by the
symbolic frames with their exception tables, as CPython would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptc.support.diagnostics import Location

if TYPE_CHECKING:
    from ptc.capture.values.base import Value

# One title a code. `ptc explain` and the tests read this table; messages add the details.
BREAK_CODES: dict[str, str] = {
    "PTC-B001": "a branch depends on tensor data",
    "PTC-B002": "a tensor value is read into Python",
    "PTC-B003": "an effect on the outside world cannot be part of the graph",
    "PTC-B004": "a function that is not written in Python cannot be captured",
    "PTC-B005": "an attribute of an object cannot be read symbolically",
    "PTC-B006": "a Python feature is not supported by capture",
    "PTC-B007": "an operator's output shape depends on tensor data",
    "PTC-B008": "an object cannot be rebuilt after a graph break",
    "PTC-B009": "a branch on a symbolic size does not hold for the whole declared range",
    "PTC-B010": "the program raises an exception",
    "PTC-B011": "a value cannot be part of the captured program's arguments or result",
    "PTC-B012": "a class is created while the program runs",
    "PTC-B013": "coroutines and async generators are not captured",
    "PTC-B014": "an operation on an object from outside cannot be captured",
    "PTC-B015": "a function asked not to be compiled",
    "PTC-B016": "the effect of a call on the gradient tape cannot be captured",
    "PTC-B017": "capture exceeded its budget",
    "PTC-B018": "an in-place change of a tensor's metadata cannot be captured",
}


class GraphBreak(Exception):
    """Capture cannot go on past this point. `location` and `stack` are filled by the frames."""

    def __init__(self, code: str, reason: str, hint: str = "") -> None:
        assert code in BREAK_CODES, code
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.hint = hint
        self.stack: tuple[Location, ...] = ()

    @property
    def location(self) -> Location | None:
        """The innermost line of the user's program."""
        return self.stack[-1] if self.stack else None


class DataDependentBranch(GraphBreak):
    """The truth of a tensor was asked for. The caller may natively test it and go on."""


class Raised(Exception):
    """The user's program raised `value` (an exception value)."""

    def __init__(self, value: Value) -> None:
        super().__init__(value)
        self.value = value

    def is_a(self, classes: type | tuple[type, ...]) -> bool:
        """Whether a handler of these classes takes the exception, or one that data decides."""
        kinds = getattr(self.value, "alternatives", (self.value,))
        return any(issubclass(kind.cls, classes) for kind in kinds)


class NotConstant(Exception):
    """A constant was asked of a value that has none."""
