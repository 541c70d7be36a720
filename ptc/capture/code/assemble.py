"""From operations with symbolic operands to a code object.

Owns the numbering of constants, names and slots, jump distances and directions, EXTENDED_ARG and
the exception table; the package `bytecode` encodes positions and builds the code object. Stack
depths are the caller's: every handler says how deep its stack is, and the caller knows the largest
depth.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Sequence
from types import CodeType

from bytecode import CompilerFlags, ConcreteBytecode, ConcreteInstr
from bytecode.concrete import ExceptionTableEntry
from bytecode.instr import InstrLocation

from ptc.capture.code import versions
from ptc.capture.code.decode import Position, SlotKind


class Label:
    """A place in the code. `depth` is the stack depth there, once known to the emitter."""

    __slots__ = ("depth",)

    def __init__(self) -> None:
        self.depth: int | None = None


class Variable:
    """A slot of the new code. Identity matters, names may repeat between cells and free
    variables."""

    __slots__ = ("kind", "name")

    def __init__(self, name: str, kind: SlotKind = SlotKind.LOCAL) -> None:
        self.name = name
        self.kind = kind


@dataclasses.dataclass(frozen=True, slots=True)
class Constant:
    value: object


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """A name of `co_names` with the opcode's flag bits."""

    text: str
    flags: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Protection:
    """Where an operation's exceptions go: `Handler` with a label."""

    handler: Label
    depth: int
    lasti: bool


Operand = int | Constant | Name | Variable | Label | None


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
    """One instruction to be. Jumps have names without direction (see versions.DIRECTIONLESS)."""

    opname: str
    operand: Operand
    position: Position | None
    protection: Protection | None = None


Item = Operation | Label


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds the operations of a code object.

    `arguments` are the first slots. A CELL among them becomes a cell by MAKE_CELL, as in CPython.
    `free` fixes the order of the closure; other variables are found in the operations.
    """

    name: str
    qualname: str
    filename: str
    first_line: int
    arguments: tuple[Variable, ...] = ()
    free: tuple[Variable, ...] = ()
    positional: int = 0  # co_argcount
    positional_only: int = 0
    keyword_only: int = 0
    flags: int = 0  # varargs, varkeywords and future flags; the rest is derived


def assemble(frame: Frame, items: Iterable[Item], stack_size: int) -> CodeType:
    """The code object for `items`."""
    items = _with_directions(list(items))
    slots = _Slots(frame, items)
    operations = [item for item in items if isinstance(item, Operation)]
    arguments = _Arguments(slots)
    concrete = [_concrete(operation, arguments.of(operation)) for operation in operations]
    starts = _place(items, concrete)
    result = ConcreteBytecode(
        [word for group in concrete for word in group],
        consts=tuple(arguments.constants),
        names=tuple(arguments.names),
        varnames=[variable.name for variable in slots.local],
        exception_table=_exception_table(items, concrete, starts),
    )
    result.cellvars = [variable.name for variable in slots.cell]
    result.freevars = [variable.name for variable in frame.free]
    result.argcount = frame.positional
    result.posonlyargcount = frame.positional_only
    result.kwonlyargcount = frame.keyword_only
    result.flags = CompilerFlags(_flags(frame))
    result.name, result.qualname, result.filename = frame.name, frame.qualname, frame.filename
    result.first_lineno = frame.first_line
    return result.to_code(stacksize=stack_size, compute_exception_stack_depths=False)


def _flags(frame: Frame) -> int:
    flags = frame.flags | inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS
    return flags | inspect.CO_NESTED if frame.free else flags & ~inspect.CO_NESTED


class _Slots:
    """Numbers of all variables, in CPython's order: co_varnames, other cells, free variables."""

    def __init__(self, frame: Frame, items: Sequence[Item]) -> None:
        used = [
            item.operand
            for item in items
            if isinstance(item, Operation) and isinstance(item.operand, Variable)
        ]
        others = [v for v in dict.fromkeys(used) if v not in frame.arguments]
        self.local = [*frame.arguments, *(v for v in others if v.kind is SlotKind.LOCAL)]
        own_cells = [v for v in others if v.kind is SlotKind.CELL]
        self.cell = [v for v in frame.arguments if v.kind is SlotKind.CELL] + own_cells
        # CPython merges a cell with a local of the same name into one slot.
        clash = {v.name for v in self.local}.intersection(v.name for v in own_cells)
        if clash:
            raise ValueError(f"a local variable and a cell are both called {', '.join(clash)}")
        order = [*self.local, *own_cells, *frame.free]
        self.number = {variable: number for number, variable in enumerate(order)}


class _Arguments:
    """Raw arguments, filling the tables of constants and names on the way."""

    def __init__(self, slots: _Slots) -> None:
        self._slots = slots
        # The first constant is taken for the docstring where it is a string.
        self.constants: list[object] = [None]
        self._constant_number = {id(None): 0}
        self.names: list[str] = []

    def of(self, operation: Operation) -> int | None:
        """The raw argument; a jump gets its own later."""
        match operation.operand:
            case Constant(value):
                return self._constant(value)
            case Name(text, flags):
                return self._name(text) << versions.name_shift(operation.opname) | flags
            case Variable() as variable:
                return self._slots.number[variable]
            case Label():
                return 0
            case plain:
                return plain

    def _constant(self, value: object) -> int:
        # By identity: 1, 1.0 and True are equal, and equality of a user's object may do anything.
        if id(value) not in self._constant_number:
            self._constant_number[id(value)] = len(self.constants)
            self.constants.append(value)
        return self._constant_number[id(value)]

    def _name(self, text: str) -> int:
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text)


def _with_directions(items: list[Item]) -> list[Item]:
    """Give jumps their direction. Backward conditional jumps of 3.12 and later become an inverted
    jump over a JUMP_BACKWARD."""
    place = {item: number for number, item in enumerate(items) if isinstance(item, Label)}
    result: list[Item] = []
    for number, item in enumerate(items):
        if not isinstance(item, Operation) or not isinstance(item.operand, Label):
            result.append(item)
            continue
        backward = place[item.operand] <= number
        name = item.opname
        if name == "JUMP":
            name = "JUMP_BACKWARD" if backward else "JUMP_FORWARD"
        elif name in versions.INVERTED and versions.HAS_BACKWARD_CONDITIONAL_JUMPS:
            name = name.replace("JUMP_", "JUMP_BACKWARD_" if backward else "JUMP_FORWARD_")
        elif name in versions.INVERTED and backward:
            past = Label()
            result.append(dataclasses.replace(item, opname=versions.INVERTED[name], operand=past))
            result.append(dataclasses.replace(item, opname="JUMP_BACKWARD"))
            result.append(past)
            continue
        result.append(dataclasses.replace(item, opname=name))
    return result


def _concrete(operation: Operation, arg: int | None) -> list[ConcreteInstr]:
    """The instruction and its CACHE words."""
    location = _location(operation.position)
    if arg is None:
        word = ConcreteInstr(operation.opname, location=location)
    else:
        word = ConcreteInstr(operation.opname, arg, location=location)
    return [word, *[ConcreteInstr("CACHE", 0, location=location)] * word.use_cache_opcodes()]


def _location(position: Position | None) -> InstrLocation:
    if position is None or position.line is None:
        return InstrLocation(None, None, None, None)
    if position.column is None or position.end_column is None or position.end_line is None:
        # Without columns the line table knows no end line either.
        return InstrLocation(position.line, position.line, None, None)
    return InstrLocation(position.line, position.end_line, position.column, position.end_column)


def _place(items: Sequence[Item], concrete: list[list[ConcreteInstr]]) -> dict[Label, int]:
    """Code units of all labels; sets the distances of jumps, which may grow with EXTENDED_ARG."""
    while True:
        starts = _label_units(items, concrete)
        unit = 0
        grown = False
        numbered = (item for item in items if isinstance(item, Operation))
        for operation, words in zip(numbered, concrete, strict=True):
            size = _units(words)
            unit += size
            if isinstance(operation.operand, Label):
                distance = starts[operation.operand] - unit
                words[0].arg = -distance if versions.jumps_backward(operation.opname) else distance
                grown |= _units(words) != size
        if not grown:
            return starts


def _label_units(items: Sequence[Item], concrete: list[list[ConcreteInstr]]) -> dict[Label, int]:
    starts: dict[Label, int] = {}
    unit = number = 0
    for item in items:
        if isinstance(item, Label):
            starts[item] = unit
        else:
            unit += _units(concrete[number])
            number += 1
    return starts


def _units(words: list[ConcreteInstr]) -> int:
    # Only the instruction itself can grow (EXTENDED_ARG); CACHE words are one unit each.
    return words[0].size // 2 + len(words) - 1


def _exception_table(
    items: Sequence[Item], concrete: list[list[ConcreteInstr]], starts: dict[Label, int]
) -> list[ExceptionTableEntry]:
    """One entry for each run of operations with the same protection."""
    table: list[ExceptionTableEntry] = []
    open_for: Protection | None = None
    unit = 0
    operations = (item for item in items if isinstance(item, Operation))
    for operation, words in zip(operations, concrete, strict=True):
        protection = operation.protection
        stop = unit + _units(words) - 1  # inclusive
        if protection is None:
            pass
        elif protection == open_for:
            table[-1].stop_offset = stop
        else:
            target = starts[protection.handler]
            table.append(
                ExceptionTableEntry(unit, stop, target, protection.depth, protection.lasti)
            )
        open_for = protection
        unit = stop + 1
    return table
