"""Decode a code object into instructions addressed by index.

Owns the reading of `co_code`, `co_exceptiontable` and `co_positions()`. CACHE and EXTENDED_ARG are
gone from the result; opcode names are those of the running Python. It must not know what an
instruction does: that is `effects` (stack) and `versions` (differences between Pythons).
"""

from __future__ import annotations

import dataclasses
import enum
from types import CodeType


class SlotKind(enum.Enum):
    """What a place of the frame's "fast locals" array holds once the function's prologue has run."""

    LOCAL = "local"
    CELL = "cell"  # a cell made by this function (an argument that is captured is CELL too)
    FREE = "free"  # a cell taken from the function's closure


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """One place of the fast locals array (CPython's localsplus): locals, then cells, then free variables."""

    index: int
    name: str
    kind: SlotKind
    is_argument: bool  # positional, keyword-only, *args and **kwargs


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """Source range of one instruction. Columns are UTF-8 byte offsets; None where CPython has none."""

    line: int | None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Handler:
    """Where an exception raised by an instruction goes.

    CPython cuts the stack to `depth` items, pushes the offset of the raising instruction if `lasti`,
    pushes the exception, and continues at instruction `target`.
    """

    target: int
    depth: int
    lasti: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    `arg` is the raw argument with EXTENDED_ARG folded in (None if the opcode takes none). `argval`:
    the constant, for LOAD_CONST, RETURN_CONST and KW_NAMES; the name, without flag bits, for names,
    locals, cells and free variables; a pair of names for the superinstructions of 3.13; the operator
    text ("+", "+=", "<") for BINARY_OP and COMPARE_OP; the index of the target for jumps; the name of
    the intrinsic for CALL_INTRINSIC_1 and _2; otherwise `arg`. Flag bits: see `versions`.
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
    """A code object, decoded. `refusal` says why it can be neither resumed nor stepped (generators)."""

    code: CodeType
    instructions: tuple[Instruction, ...]
    slots: tuple[Slot, ...]
    refusal: str | None

    def index_of_offset(self, offset: int) -> int:
        """The instruction that covers byte `offset` (its EXTENDED_ARG and CACHE words included)."""
        raise NotImplementedError

    def call_unit(self, index: int) -> tuple[int, int]:
        """First and last index of the instructions that only make sense together with `index`.

        KW_NAMES, PRECALL and CALL pass the keyword names in an interpreter register, so that a break
        at any of them runs them all. For every other instruction: (index, index).
        """
        raise NotImplementedError


def decode(code: CodeType) -> DecodedCode:
    """Decode `code`. The result is cached for as long as the code object lives."""
    raise NotImplementedError
