"""Original instructions as operations of new code.

In: a decoded instruction, and what its slots and jump target are in the new code. Out: operations
with the same meaning. Superinstructions are taken apart, because their operands only fit low slots.
"""

from __future__ import annotations

from collections.abc import Callable

from ptc.capture.code import versions
from ptc.capture.code.assemble import (
    Constant,
    Label,
    Name,
    Operand,
    Operation,
    Protection,
    Variable,
)
from ptc.capture.code.decode import Instruction


def copy_instruction(
    instruction: Instruction,
    variable: Callable[[int], Variable],
    target: Label | None,
    protection: Protection | None,
) -> list[Operation]:
    """Operations for `instruction`; `variable` maps its slots, `target` is where its jump goes."""
    position = instruction.position
    parts = versions.SUPERINSTRUCTIONS.get(instruction.opname)
    if parts is not None:
        return [
            Operation(part, variable(slot), position, protection)
            for part, slot in zip(parts, instruction.slots, strict=True)
        ]
    name = versions.DIRECTIONLESS.get(instruction.opname, instruction.opname)
    return [Operation(name, _operand(instruction, variable, target), position, protection)]


def _operand(
    instruction: Instruction, variable: Callable[[int], Variable], target: Label | None
) -> Operand:
    name, arg = instruction.opname, instruction.arg
    if arg is None:
        return None
    if instruction.target is not None:
        if target is None:
            raise ValueError(f"{name} is a jump and needs a target in the new code")
        return target
    if instruction.slots:
        return variable(instruction.slots[0])
    if versions.names_constant(name):
        return Constant(instruction.argval)
    if versions.names_name(name):
        flags = arg & ((1 << versions.name_shift(name)) - 1)
        return Name(str(instruction.argval), flags)
    return arg
