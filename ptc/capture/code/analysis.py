"""Facts about every instruction boundary: the stack, bound and live variables, handlers.

Owns the data-flow analyses over decoded code, exception edges included. It must not know how code
is generated. All facts hold *before* the instruction of the given index runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from types import CodeType

from ptc.capture.code import versions
from ptc.capture.code.decode import DecodedCode, Handler, Instruction, SlotKind, decode
from ptc.capture.code.effects import stack_effect
from ptc.capture.code.per_code import per_code
from ptc.capture.code.stack_state import FrameState, ItemKind, after

# Globals (not methods: `model.eval()` is harmless) and attributes that show a function its own
# frame.
_FRAME_READING_GLOBALS = frozenset({"locals", "vars", "dir", "eval", "exec", "breakpoint"})
_FRAME_READING_ANYWHERE = frozenset({"_getframe", "currentframe"})


@dataclasses.dataclass(frozen=True, slots=True)
class Analysis:
    """Per-instruction facts of one code object. Slots are indexes into `decoded.slots`."""

    decoded: DecodedCode
    states: tuple[FrameState | None, ...]
    live_masks: tuple[int, ...]  # bit set over slots
    reads_frame: bool

    @property
    def code(self) -> CodeType:
        return self.decoded.code

    def reachable(self, index: int) -> bool:
        """Can control reach the instruction at all? The other queries need it to be reachable."""
        return self.states[index] is not None

    def state(self, index: int) -> FrameState:
        """Stack kinds and slot states; ValueError if the instruction is unreachable."""
        state = self.states[index]
        if state is None:
            raise ValueError(f"instruction {index} of {self.code.co_qualname} is unreachable")
        return state

    def depth(self, index: int) -> int:
        """Number of stack items."""
        return len(self.state(index).stack)

    def stack(self, index: int) -> tuple[ItemKind, ...]:
        """Kind of each stack item, bottom first."""
        return self.state(index).stack

    def live_slots(self, index: int) -> tuple[int, ...]:
        """Slots that may be read from here on, free variables included, in order.

        Every slot is live in a function that may look at its own frame (`locals()`, `eval`, ...).
        """
        if self.reads_frame:
            return tuple(range(len(self.decoded.slots)))
        mask = self.live_masks[index]
        return tuple(slot for slot in range(len(self.decoded.slots)) if mask >> slot & 1)

    def live(self, index: int) -> frozenset[str]:
        """Names of variables whose value may be read later: locals and cells, not free
        variables."""
        slots = self.decoded.slots
        return frozenset(
            slots[number].name
            for number in self.live_slots(index)
            if slots[number].kind is not SlotKind.FREE
        )

    def cells(self, index: int) -> frozenset[str]:
        """Names whose slot may hold a cell at this point (free variables included)."""
        pairs = zip(self.decoded.slots, self.state(index).slots, strict=True)
        return frozenset(slot.name for slot, state in pairs if state & ItemKind.CELL)

    def handlers(self, index: int) -> tuple[Handler, ...]:
        """Exception handlers around the instruction, innermost first: where an exception raised
        here goes, then where one raised by that handler would go, and so on."""
        found: list[Handler] = []
        handler = self.decoded.instructions[index].handler
        while handler is not None and handler not in found:
            found.append(handler)
            handler = self.decoded.instructions[handler.target].handler
        return tuple(found)


@per_code
def analyse(code: CodeType) -> Analysis:
    """Analyse `code`. The result is cached for as long as the code object is remembered."""
    decoded = decode(code)
    states = _forward(decoded)
    reads_frame = any(_reads_frame(instruction) for instruction in decoded.instructions)
    return Analysis(decoded, tuple(states), tuple(_live(decoded)), reads_frame)


def _reads_frame(instruction: Instruction) -> bool:
    name = instruction.argval
    if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and name in _FRAME_READING_GLOBALS:
        return True
    return versions.names_name(instruction.opname) and name in _FRAME_READING_ANYWHERE


def _forward(decoded: DecodedCode) -> list[FrameState | None]:
    """Propagate abstract frames from the entry along all edges until nothing changes."""
    states: list[FrameState | None] = [None] * len(decoded.instructions)
    states[0] = _entry(decoded)
    work = [0]
    while work:
        index = work.pop()
        state = states[index]
        assert state is not None
        for successor, incoming in _edges(decoded.instructions[index], state):
            known = states[successor]
            merged = incoming if known is None else known.merge(incoming)
            if merged != known:
                states[successor] = merged
                work.append(successor)
    return states


def _entry(decoded: DecodedCode) -> FrameState:
    """Arguments have values; cells and free variables are set up by the function's first
    instructions."""
    kinds = (ItemKind.VALUE if slot.is_argument else ItemKind.NULL for slot in decoded.slots)
    return FrameState((), tuple(kinds))


def _edges(instruction: Instruction, state: FrameState) -> Iterator[tuple[int, FrameState]]:
    following = after(state, instruction)
    if instruction.handler is not None and instruction.opname not in versions.NEVER_RAISES:
        yield instruction.handler.target, state.raised(instruction.handler, following)
    if instruction.target is not None:
        yield instruction.target, after(state, instruction, jump=True)
    if falls_through(instruction):
        yield instruction.index + 1, following


def falls_through(instruction: Instruction) -> bool:
    """May control continue at the next instruction?"""
    name = instruction.opname
    return name not in versions.UNCONDITIONAL_JUMPS and name not in versions.LEAVES_FUNCTION


_READS = frozenset(
    {
        "LOAD_FAST",
        "LOAD_FAST_CHECK",
        "LOAD_CLOSURE",
        "LOAD_DEREF",
        "LOAD_CLASSDEREF",
        "LOAD_FROM_DICT_OR_DEREF",
        # These need the cell, or complain if the variable is unbound.
        "STORE_DEREF",
        "DELETE_DEREF",
        "DELETE_FAST",
        "MAKE_CELL",
    }
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Saved:
    """What inlined comprehensions save on the stack while their variables have its slot. `bit` is
    that of a saved value by the instruction that saves it, `restored` by the instruction (and the
    slot) that puts it back."""

    bit: dict[int, int]
    restored: dict[tuple[int, int], int]


def _saved(decoded: DecodedCode) -> _Saved:
    count = len(decoded.slots)
    saves = [i.index for i in decoded.instructions if i.opname == "LOAD_FAST_AND_CLEAR"]
    bits = {index: 1 << (count + number) for number, index in enumerate(saves)}
    restored: dict[tuple[int, int], int] = {}
    if not saves:
        return _Saved(bits, restored)
    stacks: dict[int, list[int]] = {0: []}
    work = [0]
    while work:
        index = work.pop()
        instruction, stack = decoded.instructions[index], stacks[index]
        for successor, following in _moves(instruction, stack, bits, restored):
            if successor not in stacks:
                stacks[successor] = following
                work.append(successor)
    return _Saved(bits, restored)


def _moves(
    instruction: Instruction,
    stack: list[int],
    bits: dict[int, int],
    restored: dict[tuple[int, int], int],
) -> Iterator[tuple[int, list[int]]]:
    """The stacks behind an instruction along its edges: for each item its bit in `bits`, or 0."""
    handler = instruction.handler
    if handler is not None and instruction.opname not in versions.NEVER_RAISES:
        yield handler.target, stack[: handler.depth] + [0] * (1 + handler.lasti)
    name, arg = instruction.opname, instruction.arg or 0
    jumped, rest = list(stack), list(stack)
    if name == "SWAP":
        rest[-1], rest[-arg] = rest[-arg], rest[-1]
    elif name == "PUSH_EXC_INFO":
        rest.insert(len(rest) - 1, 0)
    elif name == "LOAD_FAST_AND_CLEAR":
        rest.append(bits[instruction.index])
    elif "STORE_FAST" in name and not name.endswith("MAYBE_NULL"):
        parts = versions.SUPERINSTRUCTIONS.get(name, (name,))
        for part, slot in zip(parts, instruction.slots, strict=True):
            item = rest.pop() if part == "STORE_FAST" else rest.append(0)
            if item:
                restored[(instruction.index, slot)] = item
    else:
        for edge, jump in ((rest, False), (jumped, True)):
            taken, left = stack_effect(name, instruction.arg, jump=jump)
            edge[len(edge) - taken :] = [0] * left
    if instruction.target is not None:
        yield instruction.target, jumped
    if falls_through(instruction):
        yield instruction.index + 1, rest


def _live(decoded: DecodedCode) -> list[int]:
    """Backward liveness of slots. A covered instruction keeps its handler's variables alive. What
    a comprehension saves is alive while it runs if it is where it is put back."""
    instructions = decoded.instructions
    saved = _saved(decoded)
    live = [0] * len(instructions)
    changed = True
    while changed:
        changed = False
        for instruction in reversed(instructions):
            mask = _live_before(instruction, live, saved)
            if mask != live[instruction.index]:
                live[instruction.index] = mask
                changed = True
    return live


def _live_before(instruction: Instruction, live: list[int], saved: _Saved) -> int:
    mask = 0
    if instruction.target is not None:
        mask |= live[instruction.target]
    if falls_through(instruction) and instruction.index + 1 < len(live):
        mask |= live[instruction.index + 1]
    parts = versions.SUPERINSTRUCTIONS.get(instruction.opname, (instruction.opname,))
    places = instruction.slots
    for part, slot in reversed(list(zip(parts * len(places), places, strict=False))):
        if part == "STORE_FAST":
            bit = saved.restored.get((instruction.index, slot), 0)
            mask = mask & ~(1 << slot) | (bit if mask >> slot & 1 else 0)
        elif part == "LOAD_FAST_AND_CLEAR":
            bit = saved.bit[instruction.index]
            mask = mask & ~bit & ~(1 << slot) | (1 << slot if mask & bit else 0)
        elif part in _READS:
            mask |= 1 << slot
    if instruction.handler is not None:
        mask |= live[instruction.handler.target]
    return mask
