"""Texts of programs as TorchScript expressions: formatted values, and operations on strings.

Strings are bytes in TorchScript: an operation that counts or changes characters is refused in a
program with others than ASCII. Takes items and the texts of operands, gives text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ptc.exporters.torchscript.writer import constant, refuse, text_constant
from ptc.graph.control import (
    Body,
    Emit,
    Formatted,
    ListVar,
    MakeText,
    NumberKind,
    NumberVar,
    TensorVar,
    TextItem,
    TextVar,
    Var,
    walk,
)
from ptc.support.diagnostics import Location

_NUMBERS = "numbers_of_python"
_SPEC = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>=^]))?(?P<sign>[-+ ])?(?P<zero>0)?(?P<width>\d+)?(?P<group>[,_])?"
    r"(?:\.(?P<places>\d+))?(?P<type>[bdeEfFgGnosxX%])?",
    re.DOTALL,
)
_LISTS: Mapping[object, str] = {
    NumberKind.INT: "ints", NumberKind.FLOAT: "floats", NumberKind.BOOL: "bools", str: "texts",
}  # fmt: skip
_BASES: Mapping[str, tuple[int, str]] = {
    "b": (2, "01"), "o": (8, "01234567"), "x": (16, "0123456789abcdef"),
    "X": (16, "0123456789ABCDEF"),
}  # fmt: skip

#: Operations that mean the same on the bytes of UTF-8.
_OF_BYTES = frozenset(
    {"eq", "lt", "le", "contains", "startswith", "endswith", "repeat", "join"}
    | {"removeprefix", "removesuffix", "choose"}
)
_METHODS = frozenset(
    {"startswith", "endswith", "find", "rfind", "isdigit", "isdecimal", "isnumeric", "isalpha"}
    | {"isalnum", "isspace", "upper", "lower", "strip", "lstrip", "rstrip", "replace", "zfill"}
    | {"ljust", "rjust", "join", "split"}
)
_FUNCTIONS: Mapping[str, str] = {
    "length": "len", "chr": "texts.character", "ord": "ord", "characters": "list",
    "repeat": "texts.repeated", "removeprefix": "texts.without_prefix",
    "removesuffix": "texts.without_suffix",
}  # fmt: skip
_INFIX: Mapping[str, str] = {"eq": "==", "lt": "<", "le": "<="}


def text_operation(item: TextItem, args: Sequence[str]) -> str:
    """An operation on strings as an expression."""
    first, rest = args[0], list(args[1:])
    if item.op in _INFIX:
        return f"({first} {_INFIX[item.op]} {rest[0]})"
    if item.op in _FUNCTIONS:
        return f"{_FUNCTIONS[item.op]}({', '.join(args)})"
    if item.op in _METHODS:
        return f"{first}.{item.op}({', '.join(rest)})"
    match item.op:
        case "contains":
            return f"({rest[0]} in {first})"
        case "item":
            return f"{first}[{rest[0]}]"
        case "slice":
            return f"{first}[{rest[0]}:{rest[1]}]"
        case "reversed":
            return f"{first}[::-1]"
        case "choose":
            return f"[[{', '.join(rest)}][place] for place in {first}]"
        case _:
            refuse(f"the operation `{item.op}` on strings that data decides")


def require_ascii(body: Body) -> None:
    """Refuse operations on characters where some are none of ASCII."""
    strange: str | None = None
    items = list(walk(body))
    for item in items:
        found: list[str] = []
        if isinstance(item, TextItem):
            found = [arg for arg in item.args if isinstance(arg, str)]
        elif isinstance(item, MakeText):
            found = [part for part in item.text if isinstance(part, str)]
        strange = strange or next((text for text in found if not text.isascii()), None)
    for item in items:
        if strange and isinstance(item, TextItem) and item.op not in _OF_BYTES:
            refuse(f"`{item.op}` of strings such as {strange!r}, which are no ASCII")


class Texts:
    """Texts made of parts. `name` gives the text of a variable."""

    def __init__(self, name: Callable[[Var], str]) -> None:
        self._name = name

    def whole(self, text: Sequence[str | Formatted], place: Location | None) -> str:
        """All parts as one expression."""
        parts = [
            text_constant(part) if isinstance(part, str) else self.formatted(part, place)
            for part in text
            if part != ""
        ]
        return " + ".join(parts) or '""'

    def formatted(self, part: Formatted, place: Location | None) -> str:
        value, name = part.value, self._name(part.value)
        match value:
            case TensorVar():
                refuse("the text of a tensor as Python has it", place, "print its numbers")
            case TextVar():
                if part.conversion == "repr":
                    return f"texts.quoted({name})"
                return self._in_field(name, part.spec, "text", place)
            case ListVar(_, element):
                if element not in _LISTS or part.spec:
                    refuse("the text of a list of lists or tensors", place)
                return f"texts.list_of_{_LISTS[element]}({name})"
            case NumberVar(_, kind):
                return self._number(name, kind, part.spec, place)

    def _number(self, name: str, kind: NumberKind, spec: str, place: Location | None) -> str:
        if not spec:
            return f"{_NUMBERS}.float_text({name})" if kind is NumberKind.FLOAT else f"str({name})"
        found = _SPEC.fullmatch(spec)
        if found is None:
            refuse(f"the format {spec!r}", place)
        type_, places = found["type"] or "", found["places"]
        if kind is not NumberKind.FLOAT and type_ in ("", "d", "n", *_BASES):
            name = f"int({name})" if kind is NumberKind.BOOL else name
            base = _BASES.get(type_)
            text = f"texts.in_base({name}, {base[0]}, {constant(base[1])})" if base else ""
            return self._in_field(text or f"str({name})", spec, "number", place)
        if kind is not NumberKind.FLOAT:
            name = f"float({name})"
        count = 6 if places is None else int(places)
        match type_:
            case "f" | "F":
                text = f"{_NUMBERS}.fixed({name}, {count})"
            case "e":
                text = f"{_NUMBERS}.exponential({name}, {count})"
            case "g":
                text = f"{_NUMBERS}.general({name}, {count})"
            case "%":
                text = f'({_NUMBERS}.fixed({name} * 100.0, {count}) + "%")'
            case "" if places is None:
                text = f"{_NUMBERS}.float_text({name})"
            case _:
                refuse(f"the format {spec!r}", place)
        return self._in_field(text, spec, "number", place)

    def _in_field(self, text: str, spec: str, what: str, place: Location | None) -> str:
        found = _SPEC.fullmatch(spec)
        if found is None or (
            what == "text" and (found["places"] or found["type"] not in (None, "s"))
        ):
            refuse(f"the format {spec!r}", place)
        if found["group"]:
            text = f"{_NUMBERS}.grouped({text}, {constant(found['group'])})"
            if found["zero"]:
                refuse(f"the format {spec!r}", place)
        if found["sign"] in ("+", " "):
            text = f"texts.signed({text}, {constant(found['sign'])})"
        if not found["width"]:
            return text
        zero = bool(found["zero"])
        fill = found["fill"] or ("0" if zero else " ")
        usual = "=" if zero and what == "number" else (">" if what == "number" else "<")
        align = found["align"] or usual
        if not fill.isascii():
            refuse(f"the format {spec!r}", place)
        return f"texts.padded({text}, {constant(fill)}, {constant(align)}, {found['width']})"


def is_whole_line(item: Emit) -> bool:
    """Whether a text ends with its line, whatever its values are."""
    last = item.text[-1] if item.text else ""
    return isinstance(last, str) and last.endswith("\n")
