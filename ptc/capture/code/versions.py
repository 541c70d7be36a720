"""Every difference between the bytecodes of CPython 3.11, 3.12 and 3.13, in one place.

Handlers of opcodes ask here what a flag bit means and which order a call's operands have, instead
of testing `sys.version_info`. Knows opcode names and numbers only, no code objects.

What differs (stacks are written bottom first; "same": as in the column before):

topic               3.11                     3.12                      3.13
plain call          NULL callable args       same                      callable NULL args
                    PRECALL, CALL            CALL                      CALL
method call         method self args         same                      same
keywords of a call  KW_NAMES before PRECALL  KW_NAMES before CALL      names on the stack, CALL_KW
f(*args, **kw)      NULL callable args [kw]  same                      callable NULL args [kw]
LOAD_GLOBAL, bit 0  pushes NULL first        same                      pushes NULL last
method load         LOAD_METHOD              LOAD_ATTR, bit 0          same
super().f           calls `super`            LOAD_SUPER_ATTR           same
COMPARE_OP          arg is the operator      arg >> 4                  arg >> 5; bit 4: gives a bool
operand of a test   any object               same                      a bool: TO_BOOL goes before
conditional jumps   POP_JUMP_FORWARD_IF_..   POP_JUMP_IF_..            same
                    POP_JUMP_BACKWARD_IF_..  (forward only)
`and`, `or`         JUMP_IF_FALSE_OR_POP     COPY, POP_JUMP_IF_FALSE   COPY, TO_BOOL, POP_JUMP_..
FOR_ITER at the end pops iterator, jumps     also skips END_FOR        also skips END_FOR, POP_TOP
comprehensions      functions of their own   inlined                   same
                    -                        LOAD_FAST_AND_CLEAR       same
unbound local       LOAD_FAST raises         LOAD_FAST_CHECK raises    same
two locals          -                        -                         LOAD_FAST_LOAD_FAST, ..
cell for a closure  LOAD_CLOSURE             same                      LOAD_FAST of the cell's slot
parts of a function MAKE_FUNCTION flags      same                      SET_FUNCTION_ATTRIBUTE
constant return     LOAD_CONST, RETURN_VALUE RETURN_CONST              same
slices              BUILD_SLICE, then as keysBINARY_SLICE, STORE_SLICE same
f-string fields     FORMAT_VALUE             same                      CONVERT_VALUE, FORMAT_SIMPLE,
                                                                       FORMAT_WITH_SPEC
+x; (*a, 1)         UNARY_POSITIVE,          CALL_INTRINSIC_1          same
                    LIST_TO_TUPLE
class body names    LOAD_CLASSDEREF          LOAD_FROM_DICT_OR_DEREF,  same
                                             LOAD_FROM_DICT_OR_GLOBALS
"""

from __future__ import annotations

import dis
import opcode
import sys
from typing import Final, NamedTuple

VERSION: Final[tuple[int, int]] = (sys.version_info[0], sys.version_info[1])

PY312: Final = VERSION >= (3, 12)
PY313: Final = VERSION >= (3, 13)

# Calls

NULL_ABOVE_CALLABLE: Final = PY313
"""True: `callable NULL args` on the stack; False: `NULL callable args`."""

HAS_PRECALL: Final = not PY312
HAS_CALL_KW: Final = PY313

UNWINDS_FROM_WORD_BEFORE_CALL: Final = PY313
"""3.13 looks up the handler for an exception out of a Python callee at the code word *before* the
CALL. Compiled code never notices; code that protects only the call needs a word in front of it."""

# Loops

FOR_ITER_EXIT_SKIP: Final = 2 if PY313 else 1 if PY312 else 0
"""Instructions at FOR_ITER's target that an exhausted loop skips (END_FOR, POP_TOP): the iterator
is already popped when control continues at `target + FOR_ITER_EXIT_SKIP`."""

# 3.12 dropped backward conditional jumps; the assembler inverts the test and jumps over a
# JUMP_BACKWARD.
HAS_BACKWARD_CONDITIONAL_JUMPS: Final = not PY312

# The instruction that pushes the cell held by a slot, and whether it is the same as for locals.
LOAD_CELL_OPCODE: Final = "LOAD_FAST" if PY313 else "LOAD_CLOSURE"


class Branch(NamedTuple):
    """A conditional jump. `when`: "true", "false", "none", "not none" or "exhausted". The tested
    value is popped, except that `keep` leaves it on the stack where the jump is taken."""

    when: str
    keep: bool


_CONDITIONS: Final = {"TRUE": "true", "FALSE": "false", "NONE": "none", "NOT_NONE": "not none"}

BRANCHES: Final[dict[str, Branch]] = {
    **{
        f"POP_JUMP_{way}IF_{name}": Branch(when, keep=False)
        for name, when in _CONDITIONS.items()
        for way in (("",) if PY312 else ("FORWARD_", "BACKWARD_"))
    },
    **{
        f"JUMP_IF_{name}_OR_POP": Branch(_CONDITIONS[name], keep=True)
        for name in (() if PY312 else ("TRUE", "FALSE"))
    },
    "FOR_ITER": Branch("exhausted", keep=False),
}

# JUMP is the assembler's name for either direction.
UNCONDITIONAL_JUMPS: Final = frozenset(
    {"JUMP", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
)

# Control never continues at the next instruction. INTERPRETER_EXIT only occurs in CPython's own
# shim frame.
LEAVES_FUNCTION: Final = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})

# Names of jumps without direction, as the assembler takes them.
DIRECTIONLESS: Final[dict[str, str]] = {
    "JUMP_FORWARD": "JUMP",
    "JUMP_BACKWARD": "JUMP",
    **{
        f"POP_JUMP_{way}IF_{name}": f"POP_JUMP_IF_{name}"
        for name in _CONDITIONS
        for way in ("", "FORWARD_", "BACKWARD_")
    },
}

INVERTED: Final = {
    "POP_JUMP_IF_TRUE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_IF_FALSE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_IF_NONE": "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_IF_NOT_NONE": "POP_JUMP_IF_NONE",
}

SUPERINSTRUCTIONS: Final[dict[str, tuple[str, str]]] = (
    {
        "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
        "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
        "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
    }
    if PY313
    else {}
)
"""Opcode -> the two it stands for. High four bits of the argument: slot of the first."""

# Operators

_BINARY: Final = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
BINARY_OPERATORS: Final[tuple[str, ...]] = _BINARY + tuple(f"{op}=" for op in _BINARY)
"""Argument of BINARY_OP -> operator text; the second half are the in-place forms."""

COMPARE_OPERATORS: Final = ("<", "<=", "==", "!=", ">", ">=")

# 3.12 and 3.13 keep more in the low bits of COMPARE_OP.
_COMPARE_SHIFT: Final = 5 if PY313 else 4 if PY312 else 0
_COMPARE_TO_BOOL: Final = 16


def compare_operator(arg: int) -> str:
    """Operator text of a COMPARE_OP argument."""
    return COMPARE_OPERATORS[arg >> _COMPARE_SHIFT]


def compare_gives_bool(arg: int) -> bool:
    """Does this COMPARE_OP turn its result into a bool (3.13: the jump that follows needs one)?"""
    return PY313 and bool(arg & _COMPARE_TO_BOOL)


# Names and their flag bits

_NAME_SHIFT: Final = {"LOAD_GLOBAL": 1} | ({"LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2} if PY312 else {})


def name_shift(opname: str) -> int:
    """Number of flag bits below the name index in the opcode's argument."""
    return _NAME_SHIFT.get(opname, 0)


def load_global_pushes_null(arg: int) -> bool:
    """LOAD_GLOBAL: a NULL for a call goes with the value, below it (3.11, 3.12) or above it
    (3.13)."""
    return bool(arg & 1)


def is_method_load(opname: str, arg: int | None) -> bool:
    """Does the instruction push two items for a call: method and self, or attribute and NULL?

    The NULL lies where NULL_ABOVE_CALLABLE says.
    """
    if opname == "LOAD_METHOD":
        return True
    return PY312 and opname in ("LOAD_ATTR", "LOAD_SUPER_ATTR") and bool((arg or 0) & 1)


# Functions and formatting

MAKE_FUNCTION_HAS_FLAGS: Final = not PY313


def format_value_has_spec(arg: int) -> bool:
    """FORMAT_VALUE (3.11, 3.12): does a format spec lie on top of the value?"""
    return bool(arg & 4)


INTRINSICS_1: Final[tuple[str, ...]] = (
    "INTRINSIC_1_INVALID",
    "INTRINSIC_PRINT",
    "INTRINSIC_IMPORT_STAR",
    "INTRINSIC_STOPITERATION_ERROR",
    "INTRINSIC_ASYNC_GEN_WRAP",
    "INTRINSIC_UNARY_POSITIVE",
    "INTRINSIC_LIST_TO_TUPLE",
    "INTRINSIC_TYPEVAR",
    "INTRINSIC_PARAMSPEC",
    "INTRINSIC_TYPEVARTUPLE",
    "INTRINSIC_SUBSCRIPT_GENERIC",
    "INTRINSIC_TYPEALIAS",
)

INTRINSICS_2: Final[tuple[str, ...]] = (
    "INTRINSIC_2_INVALID",
    "INTRINSIC_PREP_RERAISE_STAR",
    "INTRINSIC_TYPEVAR_WITH_BOUND",
    "INTRINSIC_TYPEVAR_WITH_CONSTRAINTS",
    "INTRINSIC_SET_FUNCTION_TYPE_PARAMS",
    "INTRINSIC_SET_TYPEPARAM_DEFAULT",  # 3.13
)

# Instructions that cannot raise, so that no exception edge leaves them. LOAD_FAST may (unbound
# local), everything that allocates may in principle: only those that matter for slots and handlers
# are here.
NEVER_RAISES: Final = frozenset(
    {
        "NOP",
        "RESUME",
        "POP_TOP",
        "PUSH_NULL",
        "COPY",
        "SWAP",
        "STORE_FAST",
        "STORE_FAST_STORE_FAST",
        "LOAD_CONST",
        "LOAD_FAST_AND_CLEAR",
        "MAKE_CELL",
        "COPY_FREE_VARS",
        "KW_NAMES",
        "PUSH_EXC_INFO",
        "POP_EXCEPT",
        "JUMP_FORWARD",
        "END_FOR",
    }
)


# Layout of the code string

# `dis.hasarg` came with 3.12; before that the opcodes with arguments are the upper ones.
_HAS_ARGUMENT: Final = frozenset[int](getattr(dis, "hasarg", range(dis.HAVE_ARGUMENT, 256)))
_CONST_NUMBERS: Final = frozenset(dis.hasconst)
_NAME_NUMBERS: Final = frozenset(dis.hasname)
_SLOT_NUMBERS: Final = frozenset(dis.haslocal) | frozenset(dis.hasfree)
_JUMP_NUMBERS: Final = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)


def takes_argument(number: int) -> bool:
    """Does opcode `number` use its argument byte?"""
    return number in _HAS_ARGUMENT


def names_constant(opname: str) -> bool:
    """LOAD_CONST, RETURN_CONST, KW_NAMES: the argument indexes co_consts."""
    return opcode.opmap[opname] in _CONST_NUMBERS


def names_name(opname: str) -> bool:
    """The argument, after its flag bits, indexes co_names."""
    return opcode.opmap[opname] in _NAME_NUMBERS


def names_slot(opname: str) -> bool:
    """The argument is an index into the fast locals (two, for a superinstruction)."""
    return opcode.opmap[opname] in _SLOT_NUMBERS


def is_jump(opname: str) -> bool:
    """The argument is a jump distance."""
    return opcode.opmap[opname] in _JUMP_NUMBERS


def jumps_backward(opname: str) -> bool:
    """Is the jump distance counted backwards?"""
    return "BACKWARD" in opname
