"""Basic blocks, post-dominators and join points of normalised code.

Exception edges are ignored and all ways out of the function meet in one virtual exit, so that the
post-dominator of a branch is the place where both arms meet in normal execution. CPython writes
some places twice (a `while` test, a `return` behind an `if`, the end of a returned conditional
expression): instructions with the same effect, the same source position and the same future are one
place here. NOPs, unconditional jumps and what FOR_ITER skips do not count as places. A loop without
a way out is given an edge to the exit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping
from types import CodeType

from ptc.capture.code import versions
from ptc.capture.code.analysis import Analysis, analyse, falls_through
from ptc.capture.code.decode import Instruction
from ptc.capture.code.per_code import per_code

EXIT = -1
"""Number of the virtual exit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """A straight run of places. `successors` are block numbers; EXIT stands for the virtual exit.

    The successors of a test: where it goes if true (None, item left), then if false.
    """

    number: int
    instructions: tuple[int, ...]  # the first copy of each place, by instruction index
    successors: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ControlFlow:
    """Control flow of one code object, without what only exceptions reach."""

    blocks: tuple[Block, ...]
    post_dominators: tuple[int, ...]  # immediate, by block number
    place: Mapping[int, int]  # instruction index -> index of its first copy
    block_at: Mapping[int, int]  # index of a first copy -> number of its block

    def block_of(self, index: int) -> Block:
        """The block that instruction `index` is in; ValueError if only exceptions lead there."""
        place = self.place.get(index)
        if place is None or place not in self.block_at:
            raise ValueError(f"no normal path leads to instruction {index}")
        return self.blocks[self.block_at[place]]

    def immediate_post_dominator(self, number: int) -> int:
        """Number of the first block that every path from `number` passes through; EXIT if none."""
        return self.post_dominators[number]

    def join(self, index: int) -> frozenset[int]:
        """Where the arms of the branch `index` meet: instruction indexes that are all copies of one
        place, at one stack depth; each arm comes to one of them first. Empty if they never meet."""
        meeting = self.immediate_post_dominator(self.block_of(index).number)
        return frozenset() if meeting == EXIT else self.copies(self.blocks[meeting].instructions[0])

    def copies(self, index: int) -> frozenset[int]:
        """All instructions that are the same place as `index`."""
        place = self.place[index]
        return frozenset(other for other, first in self.place.items() if first == place)


@per_code
def control_flow(code: CodeType) -> ControlFlow:
    """Control flow of `code`, cached for as long as the code object is remembered."""
    graph = _Graph(analyse(code))
    place = _places(graph)
    edges = {
        first: tuple(place[edge] if edge != EXIT else EXIT for edge in graph.successors[first])
        for first in set(place.values())
    }
    blocks = _blocks(edges, place[graph.entry])
    block_at = {index: block.number for block in blocks for index in block.instructions}
    return ControlFlow(blocks, post_dominators(blocks), place, block_at)


@dataclasses.dataclass(frozen=True, slots=True)
class PlaceFlow:
    """Control flow between the places of one code object, exception handlers included: each handler
    is a further entry, since only an exception leads there.

    A place is named by the index of its first copy. `members` gives for the header of each loop
    the places that lie in it (its natural loop), the header included. `meetings` says for each
    place where the ways from it come together again (EXIT if they do not), leaving aside those that
    return, raise, or leave the innermost loop: these end for themselves.
    """

    place: Mapping[int, int]
    successors: Mapping[int, tuple[int, ...]]
    parents: Mapping[int, int]  # immediate post-dominators
    members: Mapping[int, frozenset[int]]
    meetings: Mapping[int, int]

    def meeting(self, places: Iterable[int]) -> int:
        """The first place that every path from each of `places` passes through, EXIT if none. Paths
        from a place start at the place itself."""
        chains = [self.chain(place) for place in places]
        shared = frozenset(chains[0]).intersection(*chains[1:])
        return next((place for place in chains[0] if place in shared), EXIT)

    def chain(self, place: int) -> list[int]:
        """The place, its post-dominator, that one's, and so on up to the exit."""
        found = [place]
        while found[-1] != EXIT:
            found.append(self.parents[found[-1]])
        return found


@per_code
def place_flow(code: CodeType) -> PlaceFlow:
    """The places of `code`, cached for as long as the code object is remembered."""
    graph = _Graph(analyse(code))
    place = _places(graph)
    edges = {
        first: tuple(
            dict.fromkeys(place[edge] if edge != EXIT else EXIT for edge in graph.successors[first])
        )
        for first in sorted(set(place.values()))
    }
    handlers = {first: graph.handler(first) for first in edges}
    raising = {
        first: (*targets, place[handler]) if (handler := handlers[first]) in place else targets
        for first, targets in edges.items()
    }
    loops = _natural_loops(raising, place[graph.entry])
    parents = _parents(edges)
    return PlaceFlow(place, edges, parents, loops, _meetings(edges, loops, parents))


def _parents(edges: Mapping[int, tuple[int, ...]]) -> dict[int, int]:
    """Immediate post-dominators of places."""
    names = list(edges)
    numbers = {name: number for number, name in enumerate(names)} | {EXIT: EXIT}
    blocks = tuple(
        Block(number, (first,), tuple(numbers[edge] for edge in edges[first]))
        for number, first in enumerate(names)
    )
    found = post_dominators(blocks)
    return {names[i]: names[p] if p != EXIT else EXIT for i, p in enumerate(found)}


def _meetings(
    edges: Mapping[int, tuple[int, ...]],
    loops: Mapping[int, frozenset[int]],
    parents: Mapping[int, int],
) -> dict[int, int]:
    by_header: dict[int, dict[int, int]] = {}
    meetings: dict[int, int] = {}
    for place, targets in edges.items():
        if len(targets) == 1:
            meetings[place] = targets[0]
            continue
        around = [header for header, members in loops.items() if place in members]
        header = min(around, key=lambda one: len(loops[one]), default=EXIT)
        if header not in by_header:
            by_header[header] = _going_on(edges, header)
        meetings[place] = _meeting(targets, by_header[header], parents.get(place, EXIT))
    return meetings


def _going_on(edges: Mapping[int, tuple[int, ...]], header: int) -> dict[int, int]:
    """Immediate post-dominators among the places from which a way leads on: back to the header of
    the loop, or without one to the last place that returns."""
    last = header
    if header == EXIT:
        last = max((place for place, targets in edges.items() if EXIT in targets), default=EXIT)
    ways = {
        place: (EXIT,) if place == last else tuple(edge for edge in targets if edge != EXIT)
        for place, targets in edges.items()
    }
    predecessors: dict[int, set[int]] = {place: set() for place in ways}
    for place, targets in ways.items():
        for target in targets:
            if target != EXIT:
                predecessors[target].add(place)
    alive = {last, *_reaching(last, EXIT, predecessors)} if last != EXIT else set()
    kept = {
        place: tuple(edge for edge in targets if edge in alive or edge == EXIT)
        for place, targets in ways.items()
        if place in alive
    }
    return _parents(kept) if kept else {}


def _meeting(targets: tuple[int, ...], parents: Mapping[int, int], otherwise: int) -> int:
    chains: list[list[int]] = []
    for target in targets:
        if target in parents:
            chain = [target]
            while chain[-1] != EXIT:
                chain.append(parents[chain[-1]])
            chains.append(chain)
    if not chains:
        return otherwise
    shared = frozenset(chains[0]).intersection(*chains[1:])
    return next((place for place in chains[0] if place in shared), EXIT)


def _natural_loops(edges: Mapping[int, tuple[int, ...]], entry: int) -> dict[int, frozenset[int]]:
    """Header -> places of its loop. A header is reached again from a place that only paths through
    the header lead to. `edges` has those to exception handlers too."""
    predecessors: dict[int, set[int]] = {place: set() for place in edges}
    for place, targets in edges.items():
        for target in targets:
            if target != EXIT:
                predecessors[target].add(place)
    loops: dict[int, set[int]] = {}
    for place, targets in edges.items():
        for target in targets:
            if target != EXIT and _dominates(target, place, edges, entry):
                loops.setdefault(target, {target}).update(_reaching(place, target, predecessors))
    return {header: frozenset(members) for header, members in loops.items()}


def _dominates(header: int, place: int, edges: Mapping[int, tuple[int, ...]], entry: int) -> bool:
    """Whether paths to `place` lead through `header` only."""
    seen: set[int] = set()
    work = [entry]
    while work:
        current = work.pop()
        if current in seen or current in (EXIT, header):
            continue
        if current == place:
            return False
        seen.add(current)
        work.extend(edges[current])
    return True


def _reaching(place: int, header: int, predecessors: Mapping[int, set[int]]) -> set[int]:
    found: set[int] = set()
    work = [place]
    while work:
        current = work.pop()
        if current not in found and current != header:
            found.add(current)
            work.extend(predecessors[current])
    return found


class _Graph:
    """Instructions that may run and their successors in normal execution, silent ones left out."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._instructions = analysis.decoded.instructions
        self.entry = self._audible(0)
        self.successors = {
            instruction.index: self._successors(instruction)
            for instruction in self._instructions
            if analysis.reachable(instruction.index) and not _is_silent(instruction)
        }

    def _audible(self, index: int) -> int:
        """The first place at or behind `index`; EXIT for a loop of nothing but jumps."""
        seen: set[int] = set()
        while _is_silent(instruction := self._instructions[index]):
            if index in seen:
                return EXIT
            seen.add(index)
            jumps = instruction.target is not None
            index = instruction.target if jumps else index + 1  # type: ignore[assignment]
        return index

    def _successors(self, instruction: Instruction) -> tuple[int, ...]:
        branch = versions.BRANCHES.get(instruction.opname)
        if instruction.target is None:
            return (
                (self._audible(instruction.index + 1),) if falls_through(instruction) else (EXIT,)
            )
        skipped = versions.FOR_ITER_EXIT_SKIP if instruction.opname == "FOR_ITER" else 0
        jumped = self._audible(instruction.target + skipped)
        passed = self._audible(instruction.index + 1)
        # A test and its inverse, as at the two ends of a `while` loop, have one order.
        if branch is not None and branch.when in ("true", "none"):
            return (jumped, passed)
        return (passed, jumped)

    def label(self, index: int) -> Hashable:
        """What instructions must have in common to be copies of one place."""
        instruction = self._instructions[index]
        handler = instruction.handler
        guarded = None if handler is None else (handler.depth, handler.lasti)
        position = None if instruction.opname in _QUIET else instruction.position
        return (_meaning(instruction), position, self._analysis.depth(index), guarded)

    def handler(self, index: int) -> int | None:
        """First place of the instruction's exception handler."""
        handler = self._instructions[index].handler
        return None if handler is None else self._audible(handler.target)


# Cannot fail, so that their position never shows; copies of an implicit `return None` differ in it.
_QUIET = frozenset({"LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "POP_TOP"})


def _is_silent(instruction: Instruction) -> bool:
    return instruction.opname == "NOP" or instruction.opname in versions.UNCONDITIONAL_JUMPS


def _meaning(instruction: Instruction) -> Hashable:
    branch = versions.BRANCHES.get(instruction.opname)
    if branch is None:
        return instruction.opname, instruction.arg
    if branch.keep:
        return "keep", branch.when
    return (
        "none" if "none" in branch.when else "truth" if branch.when in ("true", "false") else branch
    )


def _places(graph: _Graph) -> dict[int, int]:
    """The first copy of each instruction's place: the coarsest partition whose members agree in
    label and in the places they lead to (Moore's algorithm for the minimal automaton)."""
    indexes = sorted(graph.successors)
    place = _first_of_each((index, graph.label(index)) for index in indexes)
    while True:
        refined = _first_of_each(
            (index, (place[index], *_leads_to(graph, index, place))) for index in indexes
        )
        if refined == place:
            return place
        place = refined


def _leads_to(graph: _Graph, index: int, place: Mapping[int, int]) -> list[int | None]:
    edges = [*graph.successors[index], graph.handler(index)]
    return [None if edge is None else place.get(edge, EXIT) for edge in edges]


def _first_of_each(labelled: Iterable[tuple[int, Hashable]]) -> dict[int, int]:
    first: dict[Hashable, int] = {}
    return {index: first.setdefault(label, index) for index, label in labelled}


def _blocks(edges: Mapping[int, tuple[int, ...]], entry: int) -> tuple[Block, ...]:
    """Maximal runs of places from the entry on, in code order."""
    reached: dict[int, int] = {
        entry: 2
    }  # place -> number of edges into it; the entry starts a block
    work = [entry]
    while work:
        for edge in set(edges[work.pop()]) - {EXIT}:
            if edge not in reached:
                work.append(edge)
            reached[edge] = reached.get(edge, 0) + 1
    leaders = {
        edge
        for index in reached
        for edge in edges[index]
        if edge != EXIT and len(set(edges[index])) > 1
    }
    leaders.update(index for index, count in reached.items() if count > 1)
    number = {leader: position for position, leader in enumerate(sorted(leaders))} | {EXIT: EXIT}
    blocks: list[Block] = []
    for leader in sorted(leaders):
        run = [leader]
        while (following := edges[run[-1]][0]) not in number:
            run.append(following)
        successors = tuple(number[edge] for edge in dict.fromkeys(edges[run[-1]]))
        blocks.append(Block(number[leader], tuple(run), successors))
    return tuple(blocks)


def post_dominators(blocks: tuple[Block, ...]) -> tuple[int, ...]:
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
    """Successors, with an edge to the exit from the last block of each loop without a way out."""
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
