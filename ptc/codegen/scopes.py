"""Text of a function body under construction: nested blocks, temporaries, hoisted statements.

A `Writer` holds the open blocks. A statement may be placed in an outer block when everything it
depends on is known there, so that loads that do not change in a loop leave it. Knows C++ only as
lines of text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptc.loops.nodes import DType


@dataclass(frozen=True, slots=True)
class Value:
    """The text of an expression that was emitted. `atom`: safe as an operand without
    parentheses."""

    text: str
    dtype: DType
    varying: bool = False
    atom: bool = True

    def operand(self) -> str:
        """The text, parenthesised if it is a compound."""
        return self.text if self.atom else f"({self.text})"


@dataclass(slots=True)
class Block:
    """One open block. `defines` are IR names bound in it, `stores` the buffers written in it or in
    blocks inside; `fixed`: nothing may be hoisted out of it (its code may not run at all). The
    header is written when the block ends, behind what was hoisted out of it."""

    header: str = ""
    lines: list[str] = field(default_factory=list[str])
    defines: set[str] = field(default_factory=set[str])
    stores: frozenset[str] = frozenset()
    fixed: bool = False
    values: dict[str, tuple[str, Value]] = field(default_factory=dict[str, tuple[str, Value]])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state to return to when vector code turns out impossible."""

    depth: int
    lengths: tuple[int, ...]
    values: tuple[dict[str, tuple[str, Value]], ...]
    defines: tuple[set[str], ...]


class Writer:
    """Open blocks, innermost last."""

    __slots__ = ("_counter", "blocks")

    def __init__(self) -> None:
        self.blocks: list[Block] = [Block()]
        self._counter: dict[str, int] = {}

    def fresh(self, prefix: str) -> str:
        """A new name."""
        number = self._counter.get(prefix, 0)
        self._counter[prefix] = number + 1
        return f"{prefix}{number}"

    def line(self, text: str) -> None:
        """Add a line to the innermost block."""
        self.blocks[-1].lines.append(text)

    def define(self, name: str) -> None:
        """An IR name is bound in the innermost block."""
        self.blocks[-1].defines.add(name)

    def open(self, header: str, stores: frozenset[str], *, fixed: bool = False) -> None:
        """Begin a block `header {`. Loads of buffers that it stores are forgotten."""
        self.forget(stores)
        head = f"{header} {{" if header else "{"
        self.blocks.append(Block(head, stores=stores, fixed=fixed))

    def close(self, after: str = "}") -> None:
        """End the innermost block."""
        block = self.blocks.pop()
        self.blocks[-1].lines.extend(block.header.split("\n"))
        self.blocks[-1].lines.extend(f"  {line}" for line in block.lines)
        self.line(after)
        self.forget(block.stores)

    def forget(self, buffers: frozenset[str]) -> None:
        """Values loaded from `buffers` are no longer current."""
        if not buffers:
            return
        for block in self.blocks:
            stale = [key for key, (source, _) in block.values.items() if source in buffers]
            for key in stale:
                del block.values[key]

    def known(self, key: str) -> Value | None:
        """The value remembered under `key` in any open block."""
        for block in reversed(self.blocks):
            found = block.values.get(key)
            if found is not None:
                return found[1]
        return None

    def home(self, names: frozenset[str], buffer: str) -> Block:
        """The outermost block where a load of `buffer` that uses `names` may be placed."""
        position = len(self.blocks) - 1
        while position > 0:
            block = self.blocks[position]
            if block.fixed or buffer in block.stores or not block.defines.isdisjoint(names):
                break
            position -= 1
        return self.blocks[position]

    def snapshot(self) -> Snapshot:
        """The present state."""
        return Snapshot(
            len(self.blocks),
            tuple(len(b.lines) for b in self.blocks),
            tuple(dict(b.values) for b in self.blocks),
            tuple(set(b.defines) for b in self.blocks),
        )

    def restore(self, state: Snapshot) -> None:
        """Back to `state`, which was taken in a block that is still open."""
        del self.blocks[state.depth :]
        for block, length, values, defines in zip(
            self.blocks, state.lengths, state.values, state.defines, strict=True
        ):
            del block.lines[length:]
            block.values = values
            block.defines = defines

    def text(self) -> list[str]:
        """All lines; every block but the first must be closed."""
        assert len(self.blocks) == 1
        return self.blocks[0].lines
