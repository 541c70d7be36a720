"""Operations on Python numbers as TorchScript expressions with Python's meaning.

TorchScript's ints wrap around, its bools are no ints, and some of its functions are C's: where that
would be seen, the expression calls a function of `number_library`. Takes the texts and kinds of
operands, gives text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ptc.exporters.torchscript.writer import constant, refuse
from ptc.graph.control import NumberKind

INT, FLOAT, BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL
_LIBRARY = "numbers_of_python"

_COMPARISONS: Mapping[str, str] = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
#: Operations that ints have functions for.
_CHECKED = frozenset({"add", "sub", "mul", "floordiv", "mod", "neg", "abs", "lshift", "rshift"})
_SIGNS: Mapping[str, str] = {"add": "+", "sub": "-", "mul": "*"}
_BITS: Mapping[str, str] = {"and": "&", "or": "|", "xor": "^"}
_ROUNDED = frozenset({"int", "math.floor", "math.ceil", "math.trunc", "round"})
#: Functions of `math` that TorchScript lacks, or has otherwise.
_OWN_MATH = frozenset({"log2", "cbrt", "exp2", "hypot", "isqrt", "gcd"})
_OF_INTS = frozenset({"math.isqrt", "math.gcd"})
_TESTS = frozenset({"math.isnan", "math.isinf", "math.isfinite"})


def operation(op: str, args: Sequence[str], kinds: Sequence[NumberKind], kind: NumberKind) -> str:
    """`op(*args)` as an expression of kind `kind`."""
    if op in _COMPARISONS:
        return _comparison(op, args, kinds)
    if op in ("not", "bool"):
        return _truth(args[0], kinds[0], negated=op == "not")
    if op in ("min", "max", "select"):
        return _choice(op, args, kinds, kind)
    if op in _BITS:
        if set(kinds) != {BOOL}:
            args = [as_int(*pair) for pair in zip(args, kinds, strict=True)]
        return f"({args[0]} {_BITS[op]} {args[1]})"
    if op in _ROUNDED:
        if kinds[0] is not FLOAT:
            return as_int(args[0], kinds[0])
        return f"{_LIBRARY}.{_plain_name(op)}({args[0]})"
    if op == "float":
        return as_float(args[0], kinds[0])
    if op.startswith("math.") or op == "power":
        return _mathematical(op, args, kinds)
    return _arithmetic(op, args, kinds, kind)


def as_int(text: str, kind: NumberKind) -> str:
    return f"int({text})" if kind is BOOL else text


def as_float(text: str, kind: NumberKind) -> str:
    return text if kind is FLOAT else f"float({text})"


def _plain_name(op: str) -> str:
    names = {"int": "to_int", "math.trunc": "to_int", "round": "rounded"}
    return names.get(op, op.removeprefix("math."))


def _arithmetic(op: str, args: Sequence[str], kinds: Sequence[NumberKind], kind: NumberKind) -> str:
    pairs = list(zip(args, kinds, strict=True))
    ints = [as_int(*pair) for pair in pairs]
    floats = [as_float(*pair) for pair in pairs]
    if op == "pos":
        return ints[0]
    if op == "truediv":
        given = ", ".join(ints if FLOAT not in kinds else floats)
        return f"({floats[0]} / {floats[1]})" if FLOAT in kinds else f"{_LIBRARY}.truediv({given})"
    if op == "pow":
        if kind is FLOAT:
            return f"math.pow({floats[0]}, {floats[1]})"
        return f"{_LIBRARY}.int_pow({ints[0]}, {ints[1]})"
    if op == "round_to":
        if kinds[0] is FLOAT:
            return f"{_LIBRARY}.round_float({args[0]}, {ints[1]})"
        return f"{_LIBRARY}.round_int({ints[0]}, {ints[1]})"
    if op == "invert":
        return f"(-1 - {ints[0]})"
    if FLOAT not in kinds and op in _CHECKED:
        return f"{_LIBRARY}.{op}({', '.join(ints)})"
    match op:
        case "add" | "sub" | "mul":
            return f"({floats[0]} {_SIGNS[op]} {floats[1]})"
        case "neg":
            return f"(-{floats[0]})"
        case "abs":
            return f"math.fabs({floats[0]})"
        case "floordiv" | "mod":
            return f"{_LIBRARY}.float_{op}({floats[0]}, {floats[1]})"
        case _:
            refuse(f"the operation `{op}` on numbers")


def _mathematical(op: str, args: Sequence[str], kinds: Sequence[NumberKind]) -> str:
    name = op.removeprefix("math.")
    pairs = list(zip(args, kinds, strict=True))
    if op in _TESTS and kinds[0] is not FLOAT:
        return constant(op == "math.isfinite")
    turn: Callable[[str, NumberKind], str] = as_int if op in _OF_INTS else as_float
    given = ", ".join(turn(*pair) for pair in pairs)
    if name == "power":
        name = "pow"
    return f"{_LIBRARY if name in _OWN_MATH else 'math'}.{name}({given})"


def _comparison(op: str, args: Sequence[str], kinds: Sequence[NumberKind]) -> str:
    sign = _COMPARISONS[op]
    pairs = list(zip(args, kinds, strict=True))
    if set(kinds) == {BOOL} and op in ("eq", "ne"):
        return f"({args[0]} {sign} {args[1]})"
    if set(kinds) == {FLOAT}:
        # Torch takes `x == x` to be true
        test = {"ne": f"math.isnan({args[0]}) or ", "lt": "", "gt": ""}
        return f"({test.get(op, f'not math.isnan({args[0]}) and ')}{args[0]} {sign} {args[1]})"
    if FLOAT not in kinds:
        a, b = (as_int(*pair) for pair in pairs)
        return f"({a} {sign} {b})"
    if kinds[0] is FLOAT:
        swapped = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(op, op)
        return _comparison(swapped, args[::-1], kinds[::-1])
    return f"{_LIBRARY}.{op}({as_int(*pairs[0])}, {args[1]})"


def _truth(text: str, kind: NumberKind, *, negated: bool) -> str:
    if kind is BOOL:
        return f"(not {text})" if negated else text
    return f"({text} {'==' if negated else '!='} {'0.0' if kind is FLOAT else '0'})"


def _choice(op: str, args: Sequence[str], kinds: Sequence[NumberKind], kind: NumberKind) -> str:
    if op == "select":
        condition = _truth(args[0], kinds[0], negated=False)
        first, second = zip(args[1:], kinds[1:], strict=True)
    else:  # the second one, where it is the smaller or the greater
        condition = _comparison("lt" if op == "min" else "gt", args[::-1], kinds[::-1])
        second, first = zip(args, kinds, strict=True)
    turn = {FLOAT: as_float, INT: as_int}.get(kind, lambda text, _: text)
    return f"({turn(*first)} if {condition} else {turn(*second)})"
