"""Basic blocks, post-dominators and join points of decoded code.

Exception edges are ignored and all ways out of the function meet in one virtual exit, so that the
post-dominator of a branch is the place where both arms meet in normal execution.
"""

from __future__ import annotations

import dataclasses
from types import CodeType


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Instructions [start, stop). `successors` are block numbers; EXIT stands for the virtual exit."""

    number: int
    start: int
    stop: int
    successors: tuple[int, ...]


EXIT = -1


@dataclasses.dataclass(frozen=True, slots=True)
class ControlFlow:
    """Control flow of one code object. Only blocks reachable without exceptions are listed."""

    blocks: tuple[Block, ...]

    def block_of(self, index: int) -> Block:
        """The block that holds instruction `index`."""
        raise NotImplementedError

    def immediate_post_dominator(self, number: int) -> int:
        """Number of the first block that every path from `number` passes through; EXIT if none."""
        raise NotImplementedError

    def join(self, index: int) -> int | None:
        """Instruction index at which the arms of the branch `index` meet; None: they never do."""
        raise NotImplementedError


def control_flow(code: CodeType) -> ControlFlow:
    """Control flow of `code`, cached for as long as the code object lives."""
    raise NotImplementedError
