"""Prepared blocks of a library: what each is computed from, and which programs share one.

Two programs that pack or fold the same weight in the same way read one block. Takes the calls that
fill blocks, gives the rows of the programs' tables. Knows no kernels.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call ahead of the first run: of `function` with `buffers`, of which `written` get their
    content there. `text` is the statement."""

    function: str
    buffers: tuple[str, ...]
    written: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class PreparedBlock:
    """A row of a program's table. `size`: C++ for PreparedSpec's bytes and function. `owner`: the
    program and the place in its table of the block that this one is."""

    size: str
    is_kept: bool
    owner: tuple[int, int] | None = None

    def row(self) -> str:
        program, place = self.owner or (-1, -1)
        return f"{{{self.size}, {str(self.is_kept).lower()}, {program}, {place}}}"


def contents(known: dict[str, Hashable], calls: Iterable[PreparedCall]) -> dict[str, Hashable]:
    """What buffers hold after `calls`, as far as that follows from `known` contents: equal contents
    are equal. A buffer that several calls write has none."""
    found = dict(known)
    lost: set[str] = set()
    for call in calls:
        sources = [b for b in call.buffers if b not in call.written]
        complete = all(b in found and b not in lost for b in sources)
        marks = tuple("to" if b in call.written else found.get(b) for b in call.buffers)
        for buffer in call.written:
            if buffer in found or not complete:
                lost.add(buffer)
            else:
                found[buffer] = (call.function, call.buffers.index(buffer), marks)
    return {name: content for name, content in found.items() if name not in lost}


@dataclass(slots=True)
class BlockTable:
    """The blocks of all programs so far, by content."""

    _places: dict[Hashable, tuple[int, int]] = field(
        default_factory=dict[Hashable, tuple[int, int]]
    )

    def enter(self, content: Hashable | None, program: int, place: int) -> tuple[int, int] | None:
        """The block of an earlier program with this content; if there is none, this is one."""
        if content is None:
            return None
        owner = self._places.setdefault(content, (program, place))
        return owner if owner[0] != program else None


def with_owners_kept(tables: Sequence[Sequence[PreparedBlock]]) -> list[list[PreparedBlock]]:
    """All tables, where a block that another program shares stays after its own is prepared."""
    shared = {block.owner for table in tables for block in table if block.owner is not None}
    return [
        [
            replace(block, is_kept=True) if (number, place) in shared else block
            for place, block in enumerate(table)
        ]
        for number, table in enumerate(tables)
    ]
