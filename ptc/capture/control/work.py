"""How long a capture may take, in units of work that the program alone decides: on every machine
it ends at the same place. How deep a program's branches may lie in each other.

A unit is about a tenth of a millisecond. Owns what things cost and the limits.
"""

from __future__ import annotations

from ptc.capture.errors import GraphBreak
from ptc.graph.control import Body, bodies

INSTRUCTION = 1
ARM = 2
ITEM = 1  # of the program, written
TENSOR_CALL = 10  # that torch looks at
QUESTION = 5  # of torch about symbolic sizes
_MOST = 1_500_000
_DEEPEST = 200  # passes go down by calls, a few for each, of Python's thousand


class TooMuchWork(GraphBreak):
    """To begin anew with what was found would not help."""


class Work:
    """What was done so far, in all captures of one program."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = 0

    def add(self, units: int) -> None:
        """Note work. Raises GraphBreak where it is too much."""
        self.done += units
        if self.done > _MOST:
            raise TooMuchWork(
                "PTC-B017",
                "the ways that data decides here, in each other's midst, are too many to follow "
                "all of them",
                "nest fewer loops and branches that data decides; compute with torch.where, masks "
                "and whole tensors instead of Python numbers; make sizes and counts static",
            )


def require_shallow(body: Body) -> None:
    """Raises GraphBreak where branches and loops lie too deep in each other for the passes."""
    left = [(body, 1)]
    while left:
        here, depth = left.pop()
        if depth > _DEEPEST:
            raise GraphBreak(
                "PTC-B017",
                f"more than {_DEEPEST} branches that data decides lie in each other",
                "make a loop of checks in a row that each may return, or use torch.where and masks",
            )
        left += [(inner, depth + 1) for item in here.items for inner in bodies(item)]
