"""Which lists may be one list at run time: classes of list variables.

Classes only grow while a program is traced. Each knows where its lists were made (their sites),
which objects of the capture have them, and whether a list holds them: what elements they can hold
is then not one object's to change.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from ptc.capture.values.births import now

#: A place in the program, the same in each capture of it.
Site = Hashable


@dataclass(slots=True)
class ListClass:
    """`born` is when its oldest variable was made, `origins` are the objects that have its
    lists."""

    names: set[str]
    born: int
    origins: set[Hashable]
    sites: set[Site]
    in_list: bool = False


class ListClasses:
    """The classes by variable."""

    def __init__(self) -> None:
        self._classes: dict[str, ListClass] = {}
        self._united: list[int] = []  # when the younger of two united classes was made

    def of(self, name: str) -> ListClass:
        known = self._classes.get(name)
        if known is None:
            known = self._classes[name] = ListClass({name}, now(), {name}, set())
        return known

    def names(self, name: str) -> set[str]:
        return self.of(name).names

    def note(self, name: str, origin: Hashable, site: Site | None) -> None:
        """A variable holds the list of an object, which was made there."""
        found = self.of(name)
        found.origins.discard(name)
        found.origins.add(origin)
        if site is not None:
            found.sites.add(site)

    def same(self, one: str, other: str) -> None:
        """Two variables may refer to one list."""
        mine, its = self.of(one), self.of(other)
        if mine is its:
            return
        self._united.append(max(mine.born, its.born))
        if len(mine.names) < len(its.names):
            mine, its = its, mine
        mine.names |= its.names
        mine.born = min(mine.born, its.born)
        mine.origins |= its.origins
        mine.sites |= its.sites
        mine.in_list |= its.in_list
        for name in its.names:
            self._classes[name] = mine

    def alone(self, name: str) -> bool:
        """Whether one object has the list, and nothing else refers to it."""
        known = self._classes.get(name)
        return known is None or (len(known.origins) < 2 and not known.in_list)

    # -- loops ---------------------------------------------------------------------------------

    def mark(self) -> int:
        return len(self._united)

    def united_since(self, mark: int, began: int) -> bool:
        """Whether two classes that were there when a loop began were united since the mark: what
        the iteration did before held for two lists that may be one."""
        return any(born < began for born in self._united[mark:])


def place_of(frames: Any) -> Site:
    """Where the program is: the instruction of each function."""
    return tuple((frame.code, frame.ip) for frame in frames)
