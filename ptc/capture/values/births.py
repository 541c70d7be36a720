"""When symbolic values and their containers came to be, in the order of capture.

What exists in one arm of a branch only need not be merged with anything, and what an iteration of a
loop makes for itself is not carried to the next. What stands for an object from outside has been
there from the beginning.
"""

from __future__ import annotations

import itertools
from typing import Any

_clock = itertools.count(1)


def now() -> int:
    """A moment: all that is made from here on is younger."""
    return next(_clock)


class BornList(list[Any]):
    __slots__ = ("born",)

    def __init__(self, items: Any = (), *, outside: bool = False) -> None:
        super().__init__(items)
        self.born = 0 if outside else next(_clock)


class BornDict(dict[Any, Any]):
    """`owner` is the value with this content, where somebody asks for it."""

    __slots__ = ("born", "owner")

    def __init__(self, items: Any = (), *, outside: bool = False, owner: Any = None) -> None:
        super().__init__(items)
        self.born = 0 if outside else next(_clock)
        self.owner = owner


def born(owner: Any) -> int:
    """The moment in which a value, container or frame was made; 0 if it was there before."""
    if getattr(owner, "source", None) is not None:
        return 0
    return getattr(owner, "born", 0)
