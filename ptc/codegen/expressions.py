"""The table of scalar operations in C++: one spelling serves scalars and vectors.

The runtime headers overload every function for both, so a spelling depends on the operation and the
element types alone. Takes operand texts, gives text; the emitter decides what is a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptc.codegen.cpp_types import COMPLEX, ELEMENT, PROMOTED
from ptc.loops.nodes import DType


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand as the spellings see it."""

    text: str
    dtype: DType
    varying: bool  # one value a lane


#: Runtime headers that an operation needs, beyond ptc_vec.h.
MATHS_HEADER = "ptc_math.h"

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
    "xor": "^",
}
_FUNCTIONS = {
    "floordiv": "floor_divide",
    "mod": "remainder",
    "truncdiv": "trunc_divide",
    "fmod": "fmod",
    "min": "minimum",
    "max": "maximum",
    "round": "round",
    "fma": "fma",
    "where": "select",
    "shl": "shift_left",
    "shr": "shift_right",
}
_SAME_NAME = """
    abs sign sqrt rsqrt copysign nextafter pow isnan isinf floor ceil trunc exp exp2 expm1 log log1p
    log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma
    digamma sigmoid atan2 hypot
"""
_FUNCTIONS.update({name: name for name in _SAME_NAME.split()})
_NO_MATHS = {"min", "max", "where", "fma", "shl", "shr", "add", "sub", "mul", "div", "neg", "not"}
# Order of truth values, for types that have no `<` in registers.
_BOOL_ORDER = {
    "lt": "!{0} & {1}",
    "le": "!{0} | {1}",
    "gt": "{0} & !{1}",
    "ge": "{0} | !{1}",
    "min": "{0} & {1}",
    "max": "{0} | {1}",
}


def needs_maths(op: str) -> bool:
    """Whether `op` is declared in the header of mathematical functions."""
    return op in _FUNCTIONS and op not in _NO_MATHS


def spell(op: str, args: Sequence[Operand], dtype: DType, varying: bool) -> str:
    """C++ for `op`. Operands are atoms of text; mixed scalars and vectors were broadcast before."""
    texts = [a.text for a in args]
    if op == "cast":
        return _cast(args[0], dtype, varying)
    if op == "bitcast":
        return f"bitcast<{ELEMENT[dtype]}>({texts[0]})"
    if op == "not":
        return f"!{texts[0]}" if dtype is DType.BOOL else _wrapped(f"~{texts[0]}", dtype, varying)
    if op == "neg":
        return _wrapped(f"-{texts[0]}", dtype, varying)
    if op in ("real", "imag"):
        return f"(__{op}__ {texts[0]})"
    if op == "complex":
        return f"make_complex({texts[0]}, {texts[1]})"
    first = args[0].dtype
    if first is DType.BOOL and op in _BOOL_ORDER:
        return _BOOL_ORDER[op].format(*texts)
    if first in COMPLEX:
        return _complex(op, texts)
    if op in _INFIX:
        return _wrapped(f"{texts[0]} {_INFIX[op]} {texts[1]}", dtype, varying)
    return f"{_FUNCTIONS[op]}({', '.join(texts)})"


def _wrapped(text: str, dtype: DType, varying: bool) -> str:
    return f"({ELEMENT[dtype]})({text})" if dtype in PROMOTED and not varying else text


def _complex(op: str, texts: Sequence[str]) -> str:
    if op == "fma":
        return f"{texts[0]} * {texts[1]} + {texts[2]}"
    if op == "where":
        return f"({texts[0]} ? {texts[1]} : {texts[2]})"
    return f"{texts[0]} {_INFIX[op]} {texts[1]}"


def _cast(x: Operand, dtype: DType, varying: bool) -> str:
    if x.dtype in COMPLEX or dtype in COMPLEX:
        return _complex_cast(x, dtype)
    if dtype is DType.BOOL:
        inner = f"convert<float>({x.text})" if x.dtype in (DType.F16, DType.BF16) else x.text
        return f"to_bool({inner})"
    if x.dtype is DType.BOOL and not varying and dtype in (DType.F16, DType.BF16):
        return f"convert<{ELEMENT[dtype]}>((float){x.text})"
    return f"convert<{ELEMENT[dtype]}>({x.text})"


def _complex_cast(x: Operand, dtype: DType) -> str:
    if x.dtype in COMPLEX and dtype in COMPLEX:
        return f"({ELEMENT[dtype]}){x.text}"
    part = DType.F32 if DType.C64 in (x.dtype, dtype) else DType.F64
    if dtype in COMPLEX:
        return f"({ELEMENT[dtype]})({_cast(x, part, False)})"
    if dtype is DType.BOOL:
        return f"({x.text} != 0)"
    return _cast(Operand(f"(__real__ {x.text})", part, False), dtype, False)
