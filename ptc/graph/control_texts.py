"""What the operations of `TextItem` mean: functions on Python's own strings, and their signatures.

Takes names of operations, gives Python callables and the kinds of operands and results. Knows
nothing of programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ptc.graph.control import ListVar, NumberKind, NumberVar, TextItem, TextVar
from ptc.graph.control_operations import kind_of_number


@dataclass(frozen=True, slots=True)
class TextOperation:
    """`args`: `text` (a variable or a constant), `int`, `texts` (a list of texts), `ints` (a list
    of ints); the last one any number of times if `more`. `result`: one of these, `bool` or `float`.
    `optional` is how many operands at the end may be left out."""

    args: tuple[str, ...]
    result: str
    function: Callable[..., Any]
    optional: int = 0
    more: bool = False


def _succeeds(convert: Callable[[str], Any]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            convert(text)
        except ValueError:
            return False
        return True

    return test


_T, _TT, _TI = ("text",), ("text", "text"), ("text", "int")


def _method(args: tuple[str, ...], result: str, function: Any, optional: int = 0) -> TextOperation:
    return TextOperation(args, result, function, optional)


#: Operation -> what it is. Characters are code points; indices are valid and not negative, bounds
#: of a slice lie between 0 and the length in order: the capture has seen to it, and to it that
#: `int` and `float` are asked of texts only that `is_int` and `is_float` hold for.
TEXT_OPERATIONS: Mapping[str, TextOperation] = {
    "length": _method(_T, "int", len),
    "eq": _method(_TT, "bool", lambda a, b: a == b),
    "lt": _method(_TT, "bool", lambda a, b: a < b),
    "le": _method(_TT, "bool", lambda a, b: a <= b),
    "contains": _method(_TT, "bool", lambda text, part: part in text),
    "startswith": _method(_TT, "bool", str.startswith),
    "endswith": _method(_TT, "bool", str.endswith),
    "find": _method(_TT, "int", str.find),
    "rfind": _method(_TT, "int", str.rfind),
    "count": _method(_TT, "int", str.count),
    "isdigit": _method(_T, "bool", str.isdigit),
    "isdecimal": _method(_T, "bool", str.isdecimal),
    "isnumeric": _method(_T, "bool", str.isnumeric),
    "isalpha": _method(_T, "bool", str.isalpha),
    "isalnum": _method(_T, "bool", str.isalnum),
    "isspace": _method(_T, "bool", str.isspace),
    "is_int": _method(_T, "bool", _succeeds(int)),
    "is_float": _method(_T, "bool", _succeeds(float)),
    "int": _method(_T, "int", int),
    "float": _method(_T, "float", float),
    "chr": _method(("int",), "text", chr),
    "ord": _method(_T, "int", ord),
    "item": _method(_TI, "text", lambda text, index: text[index]),
    "slice": _method(("text", "int", "int"), "text", lambda text, a, b: text[a:b]),
    "reversed": _method(_T, "text", lambda text: text[::-1]),
    "repeat": _method(_TI, "text", lambda text, count: text * count),
    "upper": _method(_T, "text", str.upper),
    "lower": _method(_T, "text", str.lower),
    "strip": _method(_TT, "text", str.strip, 1),
    "lstrip": _method(_TT, "text", str.lstrip, 1),
    "rstrip": _method(_TT, "text", str.rstrip, 1),
    "removeprefix": _method(_TT, "text", str.removeprefix),
    "removesuffix": _method(_TT, "text", str.removesuffix),
    "replace": _method(("text", "text", "text", "int"), "text", str.replace, 1),
    "zfill": _method(_TI, "text", str.zfill),
    "ljust": _method(("text", "int", "text"), "text", str.ljust),
    "rjust": _method(("text", "int", "text"), "text", str.rjust),
    "center": _method(("text", "int", "text"), "text", str.center),
    "join": _method(("text", "texts"), "text", str.join),
    "split": _method(_TT, "texts", str.split, 1),
    "characters": _method(_T, "texts", list),
    "choose": TextOperation(
        ("ints", "text"), "texts", lambda places, *texts: [texts[i] for i in places], more=True
    ),
}


def fault_of(item: TextItem) -> str | None:
    """What is wrong with the types of an item; None if nothing is."""
    operation = TEXT_OPERATIONS.get(item.op)
    if operation is None:
        return f"there is no text operation `{item.op}`"
    wanted = operation.args
    if operation.more and len(item.args) > len(wanted):
        wanted = (*wanted, *[wanted[-1]] * (len(item.args) - len(wanted)))
    if len(item.args) not in range(len(wanted) - operation.optional, len(wanted) + 1):
        return f"{item.op} with {len(item.args)} operands, expected {len(wanted)}"
    for what, given in zip(wanted, item.args, strict=False):
        if type_name(given) != what:
            return f"{item.op} of {type_name(given)}, expected {what}"
    if type_name(item.target) != operation.result or not isinstance(item.target, _TARGETS):
        return f"{item.op} is {operation.result}, `{item.target.name}` {type_name(item.target)}"
    return None


_TARGETS = (TextVar, NumberVar, ListVar)


def type_name(value: object) -> str:
    """What an operand is, in the words of `TextOperation`; `other` if it is none of them."""
    if isinstance(value, str | TextVar):
        return "text"
    if isinstance(value, ListVar):
        return "texts" if value.element is str else _LISTS.get(value.element, "other")  # type: ignore[arg-type]
    kind = value.kind if isinstance(value, NumberVar) else kind_of_number(value)
    return "other" if kind is None else kind.value


_LISTS: Mapping[object, str] = {NumberKind.INT: "ints"}


_INFIX: Mapping[str, str] = {"eq": "==", "lt": "<", "le": "<=", "repeat": "*"}
_FUNCTIONS: Mapping[str, str] = {
    "length": "len", "int": "int", "float": "float", "chr": "chr", "ord": "ord",
    "characters": "list",
}  # fmt: skip


def text_operation(op: str, args: list[str]) -> str:
    """An operation as Python writes it, from its operands' texts."""
    first, rest = args[0], ", ".join(args[1:])
    if op in _INFIX:
        return f"{first} {_INFIX[op]} {rest}"
    if op in _FUNCTIONS:
        return f"{_FUNCTIONS[op]}({first})"
    match op:
        case "contains":
            return f"{rest} in {first}"
        case "item":
            return f"{first}[{rest}]"
        case "slice":
            return f"{first}[{args[1]}:{args[2]}]"
        case "reversed":
            return f"{first}[::-1]"
        case "choose":
            return f"[({rest},)[place] for place in {first}]"
        case "is_int" | "is_float":
            return f"reads_as({op.removeprefix('is_')}, {first})"
        case _:
            return f"{first}.{op}({rest})"
