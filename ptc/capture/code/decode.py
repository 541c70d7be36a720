"""Decode a code object into instructions addressed by index.

Owns the reading of `co_code`, `co_exceptiontable` and `co_positions()`. CACHE and EXTENDED_ARG are
gone from the result; opcode names are those of the running Python. It must not know what an
instruction does: that is `effects` (stack) and `versions` (differences between Pythons).
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import inspect
from collections.abc import Iterator
from types import CodeType

from ptc.capture.code import versions
from ptc.capture.code.per_code import per_code


class SlotKind(enum.Enum):
    """What a place of the frame's "fast locals" array holds once the function's prologue has
    run."""

    LOCAL = "local"
    CELL = "cell"  # a cell made by this function (an argument that is captured is CELL too)
    FREE = "free"  # a cell taken from the function's closure


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """One place of the fast locals array (CPython's localsplus): locals, then cells, then free
    variables."""

    index: int
    name: str
    kind: SlotKind
    is_argument: bool  # positional, keyword-only, *args and **kwargs


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """Source range of one instruction. Columns are UTF-8 byte offsets; None where CPython has
    none."""

    line: int | None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Handler:
    """Where an exception raised by an instruction goes.

    CPython cuts the stack to `depth` items, pushes the offset of the raising instruction if
    `lasti`, pushes the exception, and continues at instruction `target`.
    """

    target: int
    depth: int
    lasti: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    `arg` is the raw argument with EXTENDED_ARG folded in (None if the opcode takes none). `argval`:
    the constant, for LOAD_CONST, RETURN_CONST and KW_NAMES; the name, without flag bits, for names,
    locals, cells and free variables; a pair of names for the superinstructions of 3.13; the
    operator text ("+", "+=", "<") for BINARY_OP and COMPARE_OP; the index of the target for jumps;
    the name of the intrinsic for CALL_INTRINSIC_1 and _2; otherwise `arg`. Flag bits: see
    `versions`.
    """

    index: int
    offset: int  # of the opcode itself, in bytes, as in f_lasti and tb_lasti
    opname: str
    arg: int | None
    argval: object
    position: Position
    target: int | None  # index of the jump target
    handler: Handler | None
    slots: tuple[int, ...]  # fast local slots that the instruction names, in order


@dataclasses.dataclass(frozen=True, slots=True)
class DecodedCode:
    """A code object, decoded. `refusal` says why it can be neither resumed nor stepped
    (generators)."""

    code: CodeType
    instructions: tuple[Instruction, ...]
    slots: tuple[Slot, ...]
    refusal: str | None

    def call_unit(self, index: int) -> tuple[int, int]:
        """First and last index of the instructions that only make sense together with `index`.

        KW_NAMES, PRECALL and CALL pass the keyword names in an interpreter register, so that a
        break at any of them runs them all. For every other instruction: (index, index).
        """
        first = last = index
        while self._continues_call(first):
            first -= 1
        while last + 1 < len(self.instructions) and self._continues_call(last + 1):
            last += 1
        return first, last

    def _continues_call(self, index: int) -> bool:
        """Does the instruction use the register that the one before it has set?"""
        if index == 0:
            return False
        pair = (self.instructions[index - 1].opname, self.instructions[index].opname)
        return pair in (("KW_NAMES", "PRECALL"), ("KW_NAMES", "CALL"), ("PRECALL", "CALL"))


@per_code
def decode(code: CodeType) -> DecodedCode:
    """Decode `code`. The result is cached for as long as the code object lives."""
    slots = _slots(code)
    words = list(_words(code.co_code))
    owner: list[int] = []
    for index, (_, stop, _, _) in enumerate(words):
        owner.extend([index] * (stop - len(owner)))
    handlers = _handlers(code, owner)
    instructions = tuple(
        _instruction(code, slots, index, word, owner, position, handlers)
        for index, (word, position) in enumerate(zip(words, _positions(code, words), strict=True))
    )
    return DecodedCode(code, instructions, slots, _refusal(code))


# Word ranges: (unit of the opcode, unit after its CACHE words, opcode number, argument or None).
_Word = tuple[int, int, int, int | None]
_CACHE = dis.opmap["CACHE"]
_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]


def _words(co_code: bytes) -> Iterator[_Word]:
    extended = 0
    unit = 0
    units = len(co_code) // 2
    while unit < units:
        number, byte = co_code[2 * unit], co_code[2 * unit + 1]
        if number == _EXTENDED_ARG:
            extended = (extended | byte) << 8
            unit += 1
            continue
        stop = unit + 1
        while stop < units and co_code[2 * stop] == _CACHE:
            stop += 1
        yield unit, stop, number, (extended | byte) if versions.takes_argument(number) else None
        extended = 0
        unit = stop


def _positions(code: CodeType, words: list[_Word]) -> Iterator[Position]:
    by_unit = list(code.co_positions())
    known: dict[tuple[int | None, ...], Position] = {}
    for unit, _, _, _ in words:
        raw = by_unit[unit] if unit < len(by_unit) else (None, None, None, None)
        if raw not in known:
            known[raw] = Position(*raw)
        yield known[raw]


def _slots(code: CodeType) -> tuple[Slot, ...]:
    """CPython's localsplus: co_varnames, the cells not among them, the free variables."""
    arguments = code.co_argcount + code.co_kwonlyargcount
    arguments += bool(code.co_flags & inspect.CO_VARARGS) + bool(
        code.co_flags & inspect.CO_VARKEYWORDS
    )
    cells = set(code.co_cellvars)
    entries = [
        (name, SlotKind.CELL if name in cells else SlotKind.LOCAL, number < arguments)
        for number, name in enumerate(code.co_varnames)
    ]
    local = set(code.co_varnames)
    entries += [(name, SlotKind.CELL, False) for name in code.co_cellvars if name not in local]
    entries += [(name, SlotKind.FREE, False) for name in code.co_freevars]
    return tuple(Slot(index, *entry) for index, entry in enumerate(entries))


def _handlers(code: CodeType, owner: list[int]) -> dict[int, Handler]:
    """Handler of each code unit that has one. The table is a list of 6-bit varints, big end
    first."""
    values: list[int] = []
    value = 0
    for byte in code.co_exceptiontable:
        value = value << 6 | byte & 0x3F
        if not byte & 0x40:
            values.append(value)
            value = 0
    table: dict[int, Handler] = {}
    for entry in range(0, len(values), 4):
        start, length, target, flags = values[entry : entry + 4]
        handler = Handler(owner[target], flags >> 1, bool(flags & 1))
        table.update(dict.fromkeys(range(start, start + length), handler))
    return table


def _instruction(
    code: CodeType,
    slots: tuple[Slot, ...],
    index: int,
    word: _Word,
    owner: list[int],
    position: Position,
    handlers: dict[int, Handler],
) -> Instruction:
    unit, stop, number, arg = word
    opname = dis.opname[number]
    target = None
    places: tuple[int, ...] = ()
    argval: object = arg
    if arg is None:
        pass
    elif versions.is_jump(opname):
        # Distances count from the word after the jump's own CACHE words.
        argval = target = owner[stop - arg if versions.jumps_backward(opname) else stop + arg]
    elif versions.names_slot(opname):
        places = (arg >> 4, arg & 15) if opname in versions.SUPERINSTRUCTIONS else (arg,)
        names = tuple(slots[place].name for place in places)
        argval = names[0] if len(names) == 1 else names
    else:
        argval = _plain_argument(code, opname, arg)
    return Instruction(
        index, 2 * unit, opname, arg, argval, position, target, handlers.get(unit), places
    )


def _plain_argument(code: CodeType, opname: str, arg: int) -> object:
    if versions.names_constant(opname):
        return code.co_consts[arg]
    if versions.names_name(opname):
        return code.co_names[arg >> versions.name_shift(opname)]
    match opname:
        case "BINARY_OP":
            return versions.BINARY_OPERATORS[arg]
        case "COMPARE_OP":
            return versions.compare_operator(arg)
        case "CALL_INTRINSIC_1":
            return versions.INTRINSICS_1[arg]
        case "CALL_INTRINSIC_2":
            return versions.INTRINSICS_2[arg]
        case _:
            return arg


def _refusal(code: CodeType) -> str | None:
    if code.co_flags & inspect.CO_COROUTINE:
        return f"`{code.co_qualname}` is a coroutine"
    if code.co_flags & inspect.CO_ASYNC_GENERATOR:
        return f"`{code.co_qualname}` is an asynchronous generator"
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ITERABLE_COROUTINE):
        return f"`{code.co_qualname}` is a generator"
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return f"`{code.co_qualname}` is the body of a class or module"
    return None
