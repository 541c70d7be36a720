"""What each opcode does to the stack: how many items it takes and how many it leaves in their
place.

Owns the table for all supported Pythons. It agrees with `dis.stack_effect` in the difference (a
test says so) and, unlike it, tells which items are replaced. Items that an instruction only looks
at (the list of LIST_APPEND, the subject of MATCH_SEQUENCE) are not counted.
"""

from __future__ import annotations

import opcode
from collections.abc import Callable
from typing import Final

from ptc.capture.code import versions

Effect = tuple[int, int]
"""(items taken, items left in their place)."""

_LOADS = (
    "PUSH_NULL",
    "LOAD_BUILD_CLASS",
    "LOAD_ASSERTION_ERROR",
    "LOAD_CONST",
    "LOAD_NAME",
    "LOAD_FAST",
    "LOAD_FAST_CHECK",
    "LOAD_FAST_AND_CLEAR",
    "LOAD_CLOSURE",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_LOCALS",
    "GET_LEN",
    "MATCH_MAPPING",
    "MATCH_SEQUENCE",
    "MATCH_KEYS",
    "WITH_EXCEPT_START",
    "IMPORT_FROM",
    "COPY",
)

_STORES = (
    "POP_TOP",
    "PRINT_EXPR",
    "RETURN_VALUE",
    "IMPORT_STAR",
    "POP_EXCEPT",
    "STORE_NAME",
    "STORE_GLOBAL",
    "STORE_FAST",
    "STORE_DEREF",
    "DELETE_ATTR",
    "RERAISE",
    "LIST_APPEND",
    "SET_ADD",
    "LIST_EXTEND",
    "SET_UPDATE",
    "DICT_MERGE",
    "DICT_UPDATE",
)

_NOTHING = (
    "NOP",
    "RESUME",
    "CACHE",
    "KW_NAMES",
    "PRECALL",
    "MAKE_CELL",
    "COPY_FREE_VARS",
    "DELETE_FAST",
    "DELETE_NAME",
    "DELETE_GLOBAL",
    "DELETE_DEREF",
    "SETUP_ANNOTATIONS",
    "RETURN_CONST",
    "EXTENDED_ARG",
    "SWAP",
)

_FIXED: Final[dict[str, Effect]] = {
    **dict.fromkeys(_LOADS, (0, 1)),
    **dict.fromkeys(_STORES, (1, 0)),
    **dict.fromkeys(_NOTHING, (0, 0)),
    **dict.fromkeys(versions.UNCONDITIONAL_JUMPS, (0, 0)),
    **{name: (1, 1) for name in opcode.opmap if name.startswith("UNARY_")},
    **{name: (1, 0) for name in opcode.opmap if name.startswith("POP_JUMP_")},
    **dict.fromkeys(versions.INVERTED, (1, 0)),
    **dict.fromkeys(("TO_BOOL", "GET_ITER", "LIST_TO_TUPLE", "CALL_INTRINSIC_1"), (1, 1)),
    **dict.fromkeys(("LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS"), (1, 1)),
    **dict.fromkeys(("CONVERT_VALUE", "FORMAT_SIMPLE", "CHECK_EXC_MATCH"), (1, 1)),
    **dict.fromkeys(("BINARY_SUBSCR", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "BINARY_OP"), (2, 1)),
    **dict.fromkeys(("IMPORT_NAME", "PREP_RERAISE_STAR", "CALL_INTRINSIC_2"), (2, 1)),
    **dict.fromkeys(("SET_FUNCTION_ATTRIBUTE", "FORMAT_WITH_SPEC"), (2, 1)),
    **dict.fromkeys(("STORE_ATTR", "DELETE_SUBSCR", "MAP_ADD"), (2, 0)),
    **dict.fromkeys(("PUSH_EXC_INFO", "BEFORE_WITH", "LOAD_METHOD"), (1, 2)),
    "CHECK_EG_MATCH": (2, 2),
    "MATCH_CLASS": (3, 1),
    "BINARY_SLICE": (3, 1),
    "STORE_SUBSCR": (3, 0),
    "STORE_SLICE": (4, 0),
    "END_FOR": (1, 0) if versions.PY313 else (2, 0),
    "LOAD_FAST_LOAD_FAST": (0, 2),
    "STORE_FAST_LOAD_FAST": (1, 1),
    "STORE_FAST_STORE_FAST": (2, 0),
}


def _make_function(arg: int) -> Effect:
    operands = (arg & 15).bit_count() if versions.MAKE_FUNCTION_HAS_FLAGS else 0
    return 1 + operands, 1


_BY_ARGUMENT: Final[dict[str, Callable[[int], Effect]]] = {
    "BUILD_TUPLE": lambda arg: (arg, 1),
    "BUILD_LIST": lambda arg: (arg, 1),
    "BUILD_SET": lambda arg: (arg, 1),
    "BUILD_STRING": lambda arg: (arg, 1),
    "BUILD_SLICE": lambda arg: (arg, 1),
    "BUILD_MAP": lambda arg: (2 * arg, 1),
    "BUILD_CONST_KEY_MAP": lambda arg: (arg + 1, 1),
    "UNPACK_SEQUENCE": lambda arg: (1, arg),
    "UNPACK_EX": lambda arg: (1, (arg & 255) + (arg >> 8) + 1),
    "RAISE_VARARGS": lambda arg: (arg, 0),
    "CALL": lambda arg: (arg + 2, 1),
    "CALL_KW": lambda arg: (arg + 3, 1),
    "CALL_FUNCTION_EX": lambda arg: (3 + (arg & 1), 1),
    "FORMAT_VALUE": lambda arg: (1 + versions.format_value_has_spec(arg), 1),
    "LOAD_GLOBAL": lambda arg: (0, 1 + versions.load_global_pushes_null(arg)),
    "LOAD_ATTR": lambda arg: (1, 1 + versions.is_method_load("LOAD_ATTR", arg)),
    "LOAD_SUPER_ATTR": lambda arg: (3, 1 + (arg & 1)),
    "MAKE_FUNCTION": _make_function,
}


def stack_effect(opname: str, arg: int | None, *, jump: bool = False) -> Effect:
    """Items taken and items left, `jump`: along the jump edge.

    FOR_ITER's jump edge on 3.12 and 3.13 leaves a placeholder that END_FOR takes away, as in the
    compiler's own accounting; at run time both are skipped.
    """
    if opname == "FOR_ITER":
        return (1, 0) if jump and not versions.PY312 else (0, 1)
    if opname.endswith("_OR_POP"):
        return (0, 0) if jump else (1, 0)
    fixed = _FIXED.get(opname)
    if fixed is not None:
        return fixed
    by_argument = _BY_ARGUMENT.get(opname)
    if by_argument is not None:
        return by_argument(arg or 0)
    # Generators and coroutines: CPython's own number, as items pushed or popped.
    net = opcode.stack_effect(opcode.opmap[opname], arg, jump=jump)
    return max(-net, 0), max(net, 0)
