"""Basic blocks, post-dominators and join points of decoded code.

Exception edges are ignored and all ways out of the function meet in one virtual exit, so that the
post-dominator of a branch is the place where both arms meet in normal execution. A block that only
jumps on is skipped by the edges that lead to it. A loop without a way out is given an edge to the
exit.
"""

from __future__ import annotations

import dataclasses
from types import CodeType

from ptc.capture.code.analysis import falls_through
from ptc.capture.code.decode import DecodedCode, Instruction, decode
from ptc.capture.code.per_code import per_code

EXIT = -1
"""Number of the virtual exit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Instructions [start, stop). `successors` are block numbers; EXIT stands for the virtual exit.

    The first successor of a branch is the fall-through, the second its jump target.
    """

    number: int
    start: int
    stop: int
    successors: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ControlFlow:
    """Control flow of one code object. Only blocks reachable without exceptions are listed, in code
    order; `number` is the position in `blocks`."""

    blocks: tuple[Block, ...]
    post_dominators: tuple[int, ...]  # immediate, by block number

    def block_of(self, index: int) -> Block:
        """The block that holds instruction `index`; ValueError if only exceptions lead there."""
        for block in self.blocks:
            if block.start <= index < block.stop:
                return block
        raise ValueError(f"no normal path leads to instruction {index}")

    def immediate_post_dominator(self, number: int) -> int:
        """Number of the first block that every path from `number` passes through; EXIT if none."""
        return self.post_dominators[number]

    def join(self, index: int) -> int | None:
        """Instruction index at which the arms of the branch `index` meet; None: they never do."""
        meeting = self.immediate_post_dominator(self.block_of(index).number)
        return None if meeting == EXIT else self.blocks[meeting].start


@per_code
def control_flow(code: CodeType) -> ControlFlow:
    """Control flow of `code`, cached for as long as the code object is remembered."""
    blocks = _blocks(decode(code))
    return ControlFlow(blocks, _post_dominators(blocks))


def _blocks(decoded: DecodedCode) -> tuple[Block, ...]:
    instructions = decoded.instructions
    leaders = {0}
    for instruction in instructions:
        if instruction.target is not None:
            leaders.add(instruction.target)
            leaders.add(instruction.index + 1)
        elif not falls_through(instruction):
            leaders.add(instruction.index + 1)
    starts = sorted(leader for leader in leaders if leader < len(instructions))
    stops = dict(zip(starts, [*starts[1:], len(instructions)], strict=True))
    edges: dict[int, tuple[int, ...]] = {}
    work = [0]
    while work:
        start = work.pop()
        if start not in edges:
            edges[start] = _successors(instructions, stops, instructions[stops[start] - 1])
            work.extend(edge for edge in edges[start] if edge != EXIT)
    number = {start: position for position, start in enumerate(sorted(edges))} | {EXIT: EXIT}
    return tuple(
        Block(number[start], start, stops[start], tuple(number[edge] for edge in edges[start]))
        for start in sorted(edges)
    )


def _successors(
    instructions: tuple[Instruction, ...], stops: dict[int, int], last: Instruction
) -> tuple[int, ...]:
    found: list[int] = []
    if falls_through(last):
        found.append(_through_jumps(instructions, stops, last.index + 1))
    if last.target is not None:
        found.append(_through_jumps(instructions, stops, last.target))
    return tuple(dict.fromkeys(found)) or (EXIT,)


def _through_jumps(instructions: tuple[Instruction, ...], stops: dict[int, int], start: int) -> int:
    """Follow blocks that do nothing but jump forward or on."""
    seen: set[int] = set()
    while start not in seen:
        seen.add(start)
        last = instructions[stops[start] - 1]
        quiet = all(instructions[i].opname == "NOP" for i in range(start, last.index))
        if not quiet or last.target is None or falls_through(last):
            break
        start = last.target
    return start


def _post_dominators(blocks: tuple[Block, ...]) -> tuple[int, ...]:
    """Immediate post-dominators by intersecting along the reversed graph in post-order (Cooper,
    Harvey and Kennedy, "A Simple, Fast Dominance Algorithm")."""
    successors = _with_exits(blocks)
    predecessors: dict[int, list[int]] = {EXIT: []} | {block.number: [] for block in blocks}
    for number, edges in successors.items():
        for edge in edges:
            predecessors[edge].append(number)
    order = _postorder(EXIT, predecessors)
    rank = {number: position for position, number in enumerate(order)}
    parent: dict[int, int] = {EXIT: EXIT}
    changed = True
    while changed:
        changed = False
        for number in reversed(order[:-1]):
            candidates = [edge for edge in successors[number] if edge in parent]
            best = candidates[0]
            for other in candidates[1:]:
                best = _intersect(best, other, parent, rank)
            if parent.get(number) != best:
                parent[number] = best
                changed = True
    return tuple(parent[block.number] for block in blocks)


def _intersect(left: int, right: int, parent: dict[int, int], rank: dict[int, int]) -> int:
    while left != right:
        while rank[left] < rank[right]:
            left = parent[left]
        while rank[right] < rank[left]:
            right = parent[right]
    return left


def _postorder(root: int, edges: dict[int, list[int]]) -> list[int]:
    order: list[int] = []
    seen = {root}
    stack = [(root, iter(edges[root]))]
    while stack:
        node, rest = stack[-1]
        following = next((edge for edge in rest if edge not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(edges[following])))
    return order


def _with_exits(blocks: tuple[Block, ...]) -> dict[int, tuple[int, ...]]:
    """Successors, with an edge to the exit from the last block of each loop that has no way out."""
    successors = {block.number: block.successors for block in blocks}
    while True:
        reaching = _reaching_exit(successors)
        stuck = [block.number for block in blocks if block.number not in reaching]
        if not stuck:
            return successors
        successors[stuck[-1]] += (EXIT,)


def _reaching_exit(successors: dict[int, tuple[int, ...]]) -> set[int]:
    reaching = {EXIT}
    grown = True
    while grown:
        before = len(reaching)
        reaching.update(n for n, edges in successors.items() if not reaching.isdisjoint(edges))
        grown = len(reaching) > before
    return reaching
