"""What one instruction does to the abstract frame: kinds of stack items, states of slots.

Owns the transfer function of the forward analysis. In: a state and an instruction; out: the state
along each edge. It must not know control flow.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from ptc.capture.code import versions
from ptc.capture.code.decode import Handler, Instruction
from ptc.capture.code.effects import stack_effect


class ItemKind(enum.Flag):
    """What a stack item may be; several bits where paths disagree or CPython decides at run
    time."""

    VALUE = enum.auto()  # an ordinary object: values, iterators, bound __exit__ methods, exceptions
    NULL = enum.auto()  # the NULL of a call, or the saved value of a variable that was unbound
    CELL = enum.auto()  # a cell object taken from a slot
    PREVIOUS = enum.auto()  # pushed by PUSH_EXC_INFO, for POP_EXCEPT: an exception is being handled
    LASTI = enum.auto()  # the instruction offset that RERAISE restores


VALUE, NULL, CELL = ItemKind.VALUE, ItemKind.NULL, ItemKind.CELL


class FrameState(NamedTuple):
    """Stack items, bottom first, and the state of each slot: VALUE, NULL (unbound), CELL or a
    union."""

    stack: tuple[ItemKind, ...]
    slots: tuple[ItemKind, ...]

    def merge(self, other: FrameState) -> FrameState:
        """The state of a place that both states reach."""
        if self == other:
            return self
        if len(self.stack) != len(other.stack):
            raise ValueError("two paths reach one instruction with different stack depths")
        return FrameState(_union(self.stack, other.stack), _union(self.slots, other.slots))

    def raised(self, handler: Handler, after: FrameState) -> FrameState:
        """The state at `handler` if the instruction between self and `after` raises: it may have
        written its slots, or not."""
        extra = (ItemKind.LASTI, VALUE) if handler.lasti else (VALUE,)
        return FrameState(self.stack[: handler.depth] + extra, _union(self.slots, after.slots))


def _union(left: tuple[ItemKind, ...], right: tuple[ItemKind, ...]) -> tuple[ItemKind, ...]:
    if left == right:
        return left
    return tuple(a | b for a, b in zip(left, right, strict=True))


def after(state: FrameState, instruction: Instruction, *, jump: bool = False) -> FrameState:
    """The state behind the instruction, along its jump edge or to the next one."""
    name, arg = instruction.opname, instruction.arg
    stack, slots = list(state.stack), list(state.slots)
    match name:
        case "COPY":
            place = len(stack) - (arg or 0)
            stack.append(stack[place])
            if stack[place] == ItemKind.PREVIOUS:
                # COPY, POP_EXCEPT, RERAISE: POP_EXCEPT takes the copy, what stays is a mere object.
                stack[place] = VALUE
        case "SWAP":
            stack[-1], stack[-(arg or 0)] = stack[-(arg or 0)], stack[-1]
        case "PUSH_EXC_INFO":
            stack.insert(len(stack) - 1, ItemKind.PREVIOUS)
        case "STORE_FAST" | "STORE_FAST_STORE_FAST" | "STORE_FAST_LOAD_FAST":
            _fast_pair(instruction, stack, slots)
        case "DELETE_FAST":
            slots[instruction.slots[0]] = NULL
        case "MAKE_CELL":
            slots[instruction.slots[0]] = CELL
        case "COPY_FREE_VARS":
            count = arg or 0
            slots[len(slots) - count :] = [CELL] * count
        case "LOAD_FAST_AND_CLEAR":
            stack.append(slots[instruction.slots[0]])
            slots[instruction.slots[0]] = NULL
        case _:
            taken, left = stack_effect(name, arg, jump=jump)
            if taken:
                del stack[-taken:]
            stack.extend(_pushed(instruction, state, left))
    return FrameState(tuple(stack), tuple(slots))


def _fast_pair(instruction: Instruction, stack: list[ItemKind], slots: list[ItemKind]) -> None:
    parts = versions.SUPERINSTRUCTIONS.get(instruction.opname, (instruction.opname,))
    for part, slot in zip(parts, instruction.slots, strict=True):
        if part == "STORE_FAST":
            slots[slot] = stack.pop()
        else:
            stack.append(_loaded(slots[slot]))


def _loaded(slot: ItemKind) -> ItemKind:
    """What a successful LOAD_FAST pushes: never NULL, it raises instead."""
    return CELL if slot == CELL else VALUE


def _pushed(instruction: Instruction, state: FrameState, count: int) -> list[ItemKind]:
    name, arg = instruction.opname, instruction.arg or 0
    if name in ("LOAD_FAST", "LOAD_CLOSURE", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_CHECK"):
        return [_loaded(state.slots[slot]) for slot in instruction.slots]
    if name == "PUSH_NULL":
        return [NULL]
    if name == "LOAD_GLOBAL" and versions.load_global_pushes_null(arg):
        return null_pair(NULL)
    if versions.is_method_load(name, arg):
        return null_pair(VALUE | NULL)
    return [VALUE] * count


def null_pair(null: ItemKind) -> list[ItemKind]:
    """A callable and its NULL, in the order of this Python."""
    return [VALUE, null] if versions.NULL_ABOVE_CALLABLE else [null, VALUE]
