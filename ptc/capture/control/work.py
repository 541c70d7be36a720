"""How long a capture may take, in units of work that the program alone decides: on every machine
it ends at the same place.

A unit is about a tenth of a millisecond. Owns what things cost and the limit.
"""

from __future__ import annotations

from ptc.capture.errors import GraphBreak

INSTRUCTION = 1
ARM = 2
ITEM = 1  # of the program, written
TENSOR_CALL = 10  # that torch looks at
QUESTION = 5  # of torch about symbolic sizes
_MOST = 1_500_000


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
