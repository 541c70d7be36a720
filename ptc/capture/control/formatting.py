"""`str.format`, `%` and `str.join` with values that data decides: the template is taken apart, each
field formatted as Python would, and the parts put together.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ptc.capture.control import strings
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.records import RecordValue
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.texts import TextValue, is_text, parts_of
from ptc.graph.control import Formatted, NumberKind, NumberVar

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

Handler = Callable[..., Value | None]


def call(
    vm: ControlMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A method of str with values that are not all known; None for all other calls."""
    handler = _HANDLERS.get(id(function))
    if handler is None:
        return None
    args, kwargs = vm.settle_arguments(args, kwargs)
    if not args or (function is not str.join and _all_known(vm, [*args, *kwargs.values()])):
        return None
    return handler(vm, *args, **kwargs)


def _all_known(vm: ControlMachine, values: list[Value]) -> bool:
    return all(
        value.is_constant() or (isinstance(value, TupleValue) and _all_known(vm, value.items))
        for value in values
    )


# -- str.format -----------------------------------------------------------------------------------


def _format(vm: ControlMachine, template: Value, *args: Value, **kwargs: Value) -> Value | None:
    parts = list(string.Formatter().parse(template.constant()))
    return _fill(vm, parts, list(args), kwargs, _Counter())


class _Counter:
    """Numbers fields without a name."""

    def __init__(self) -> None:
        self.following = 0

    def name(self, first: str) -> str:
        if first:
            return first
        self.following += 1
        return str(self.following - 1)


def _fill(
    vm: ControlMachine,
    parts: list[Any],
    args: list[Value],
    kwargs: dict[str, Value],
    counter: _Counter,
) -> Value:
    texts: list[Value] = []
    for literal, field, spec, conversion in parts:
        texts.append(ConstantValue(literal))
        if field is None:
            continue
        value = _field(vm, field, args, kwargs, counter)
        inner = list(string.Formatter().parse(spec))
        filled = _fill(vm, inner, args, kwargs, counter)
        if conversion:
            value = vm.str(value) if conversion == "s" else vm.repr(value)
        texts.append(vm.format(value, filled))
    return vm.join_text(texts)


def _field(
    vm: ControlMachine, field: str, args: list[Value], kwargs: dict[str, Value], counter: _Counter
) -> Value:
    """The value that a replacement field names: `0`, `name`, `row[2]`, `point.x`."""
    found = re.fullmatch(r"([^.\[]*)((?:\.[^.\[]+|\[[^\]]+\])*)", field)
    if found is None:
        raise vm.exception(ValueError, "Empty attribute in format string")
    name = counter.name(found[1])
    if name.isdigit():
        if int(name) >= len(args):
            text = f"Replacement index {name} out of range for positional args tuple"
            raise vm.exception(IndexError, text)
        value = args[int(name)]
    elif name in kwargs:
        value = kwargs[name]
    else:
        raise vm.exception(KeyError, name)
    for step in re.findall(r"\.[^.\[]+|\[[^\]]+\]", found[2]):
        if step.startswith("."):
            value = vm.getattr(value, step[1:])
        else:
            key = step[1:-1]
            value = vm.getitem(value, ConstantValue(int(key) if key.isdigit() else key))
    return value


# -- the operator % -------------------------------------------------------------------------------

_FIELD = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<digits>\*|\d+))?"
    r"[hlL]?(?P<kind>.)",
    re.DOTALL,
)
_INTEGERS = "diu"
_BASES = "xXo"
_FLOATS = "eEfFgG"


def percent(vm: ControlMachine, template: Value, given: Value) -> Value:
    """`template % given`"""
    text = template.constant()
    if isinstance(given, RecordValue):
        given = given.known(vm)
    values = list(given.items) if isinstance(given, TupleValue) else [given]
    mapping = given if isinstance(given, DictValue) else None
    texts: list[Value] = []
    end = 0
    used = 0
    for found in _FIELD.finditer(text):
        texts.append(ConstantValue(text[end : found.start()]))
        end = found.end()
        if found["kind"] == "%":
            texts.append(ConstantValue("%"))
            continue
        if "*" in (found["width"], found["digits"]):
            raise GraphBreak("PTC-B002", "a format's width is an argument of %", "write the width")
        if found["key"] is not None:
            if mapping is None:
                raise vm.type_error("format requires a mapping")
            value = vm.getitem(mapping, ConstantValue(found["key"]))
        else:
            if used == len(values):
                raise vm.type_error("not enough arguments for format string")
            value = values[used]
            used += 1
        texts.append(_percent_field(vm, found, vm.settle(value)))
    texts.append(ConstantValue(text[end:]))
    if mapping is None and used < len(values):
        raise vm.type_error("not all arguments converted during string formatting")
    return vm.join_text(texts)


def _percent_field(vm: ControlMachine, found: re.Match[str], value: Value) -> Value:
    kind, flags, width, digits = found["kind"], found["flags"], found["width"], found["digits"]
    if value.is_constant():
        field = found[0] if found["key"] is None else found[0].replace(f"({found['key']})", "", 1)
        return vm.evaluate(lambda: field % (value.constant(),))
    width = width or ""
    if kind in "sr":
        shown = vm.str(value) if kind == "s" else vm.repr(value)
        align = "<" if "-" in flags else ">"
        cut = "" if digits is None else f".{digits}"
        return vm.format(shown, ConstantValue(f"{align}{width}{cut}" if width or cut else ""))
    number = _number(vm, value, kind)
    sign = "+" if "+" in flags else " " if " " in flags else ""
    form = "#" if "#" in flags else ""
    pad = "<" if "-" in flags else ""
    zero = "0" if "0" in flags and not pad else ""
    if kind in _FLOATS:
        places = "" if digits is None else f".{digits}"
        spec = f"{pad}{sign}{form}{zero}{width}{places}{kind}"
    else:
        if digits is not None:
            raise GraphBreak(
                "PTC-B002", "an int that data decides is padded to a precision",
                "pad it to a width: `%03d` in place of `%.3d`",
            )  # fmt: skip
        spec = f"{pad}{sign}{form}{zero}{width}{'d' if kind in _INTEGERS else kind}"
    return vm.format(number, ConstantValue(spec))


def _number(vm: ControlMachine, value: Value, kind: str) -> Value:
    if kind not in _INTEGERS + _BASES + _FLOATS:
        raise vm.exception(ValueError, f"unsupported format character '{kind}' ({ord(kind):#x})")
    wanted = float if kind in _FLOATS else int
    if kind in _BASES and value.cls is float:
        raise vm.type_error(f"%{kind} format: an integer is required, not float")
    if value.cls is str:
        what = "must be real number, not str" if wanted is float else None
        name = f"%{'d' if kind in _INTEGERS else kind} format: a real number is required, not str"
        raise vm.type_error(what or name)
    return vm.call(vm.class_value(wanted), [value])


def _modulo(vm: ControlMachine, template: Value, given: Value) -> Value | None:
    return percent(vm, template, given) if template.is_constant() else None


# -- str.join, widths -----------------------------------------------------------------------------


_MOST_JOINED = 64  # ways that known strings make together; for more, each is in a variable


def _join(vm: ControlMachine, separator: Value, parts: Value) -> Value | None:
    texts: list[Value] = []
    if isinstance(parts, DataListValue):
        return strings.join(vm, separator, parts)
    if isinstance(parts, TextValue):
        return strings.join(vm, separator, strings.characters(vm, parts))
    given = vm.unpack(parts)
    ways = math.prod(len(part.alternatives) for part in given if isinstance(part, ChoiceValue))
    for number, part in enumerate(given):
        many = ways > _MOST_JOINED and is_text(part)
        text = strings.of_variable(strings.variable(vm, part)) if many else vm.settle(part)
        if text.cls is not str:
            kind = text.cls.__name__
            raise vm.type_error(f"sequence item {number}: expected str instance, {kind} found")
        texts += [separator, text] if number else [text]
    return vm.join_text(texts)


_PADDED = re.compile(r"(?P<align>.?[<>^=])?(?P<width>\d+)?s?", re.DOTALL)
_PLAIN = re.compile(r"(?P<sign>[-+ ]?)(?P<rest>(\.\d+)?[a-zA-Z%]?)")


def padded(vm: ControlMachine, text: Value, spec: str) -> Value:
    """`format(text, spec)` of a string."""
    outer = _PADDED.fullmatch(spec)
    if outer is not None and not outer["width"]:
        return text
    parts = parts_of(text)
    part = parts[0] if parts is not None and len(parts) == 1 else None
    if outer is not None and isinstance(part, Formatted) and isinstance(part.value, NumberVar):
        inner = _PLAIN.fullmatch(part.spec)
        plain = part.value.kind is not NumberKind.BOOL or part.spec
        if inner is not None and plain:
            align = outer["align"] or "<"
            made = f"{align}{inner['sign']}{outer['width']}{inner['rest']}"
            return TextValue((Formatted(part.value, made, "format"),))
    try:
        format("", spec)
    except ValueError as error:
        raise vm.native_exception(error) from None
    return TextValue((Formatted(strings.variable(vm, text), spec, "format"),))


def _in_base(vm: ControlMachine, number: Value, spec: str) -> Value | None:
    return vm.format(number, ConstantValue(spec)) if number.cls is int else None


_HANDLERS: Mapping[int, Handler] = {
    id(str.format): _format,
    id(str.__mod__): _modulo,
    id(str.join): _join,
    id(hex): lambda vm, number: _in_base(vm, number, "#x"),
    id(oct): lambda vm, number: _in_base(vm, number, "#o"),
    id(bin): lambda vm, number: _in_base(vm, number, "#b"),
}
