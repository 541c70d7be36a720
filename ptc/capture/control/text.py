"""`str`, `repr` and `format` of what data decides: strings of constant parts and formatted
variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control import formatting, strings
from ptc.capture.control.arithmetic import operand
from ptc.capture.control.dicts import DataDictValue
from ptc.capture.control.handles import HandleValue
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.questions import Which
from ptc.capture.control.records import RecordValue
from ptc.capture.control.tuples import DataTupleValue
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter import text
from ptc.capture.polyfills import data_dicts, data_lists
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.texts import TextValue, joined, parts_of
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Formatted, NumberVar, Text

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def text_of(vm: ControlMachine, value: Value) -> Text:
    """A Python string as the parts of a text."""
    parts = parts_of(vm.settle(value))
    if parts is None:
        raise GraphBreak(
            "PTC-B002", f"the text of {value.describe()} is needed at capture",
            text.HINT_TEXT,
        )  # fmt: skip
    return tuple(part for part in parts if part != "")


def to_str(vm: ControlMachine, value: Value) -> Value:
    value = vm.settle(value)
    return strings.lasting(vm, shown(vm, value))


def shown(vm: ControlMachine, value: Value) -> Value:
    """`str(value)`, for what puts it out at once."""
    value = vm.settle(value)
    if isinstance(value, TextValue):
        return value
    if isinstance(value, RecordValue):
        return to_repr(vm, value)
    formatted = _formatted(vm, value, "", "str")
    return formatted if formatted is not None else text.to_str(vm, value)


def to_repr(vm: ControlMachine, value: Value) -> Value:
    value = vm.settle(value)
    if isinstance(value, RecordValue):
        value = value.known(vm)
    if isinstance(value, TextValue):
        return _quoted(vm, value)
    formatted = _formatted(vm, value, "", "repr")
    if formatted is not None:
        return strings.lasting(vm, formatted)
    if isinstance(value, TupleValue) and value.cls is torch.Size:
        return joined(("torch.Size([", *_listed([_parts(vm, item) for item in value.items]), "])"))
    if isinstance(value, (ListValue, TupleValue)) and value.cls in (list, tuple):
        left, right = "[]" if value.cls is list else "()"
        comma = "," if value.cls is tuple and len(value.items) == 1 else ""
        return joined((left, *_listed(_all_parts(vm, value.items)), comma + right))
    if isinstance(value, ExceptionValue) and vm.python_method(value, "__repr__") is None:
        inside = _listed([_parts(vm, arg) for arg in value.args])
        return joined((f"{value.klass.__name__}(", *inside, ")"))
    if isinstance(value, DataDictValue) and value.cls is dict:
        return vm.call(vm.wrap_fixed(data_dicts.text), [value])
    if value.cls is set and vm.order_by_data(value):
        return vm.call(vm.wrap_fixed(data_dicts.text_of_set), [value])
    if isinstance(value, DictValue) and value.cls is dict:
        pairs = [(*_parts(vm, key), ": ", *_parts(vm, item)) for key, item in vm.dict_items(value)]
        return joined(("{", *_listed(pairs), "}"))
    if isinstance(value, HandleValue) and vm.python_method(value, "__repr__") is None:
        # Most often in the text of an error, such as a KeyError, that never happens
        vm.not_supported(f"the address of an object of class {value.klass.__qualname__} is shown")
    return text.to_repr(vm, value)


def _quoted(vm: ControlMachine, value: TextValue) -> Value:
    """`repr` of a string. What numbers are written as needs no escapes."""
    if any(isinstance(p, Formatted) and not isinstance(p.value, NumberVar) for p in value.parts):
        return TextValue((Formatted(strings.variable(vm, value), "", "repr"),))
    fixed = "".join(part for part in value.parts if isinstance(part, str))
    quote = repr(fixed)[-1]
    # With the other quote beside it, a part is quoted as the whole is
    beside = "'" if quote == '"' else '"' if "'" in fixed else ""
    parts = [p if isinstance(p, Formatted) else repr(p + beside) for p in value.parts]
    inner = [p if isinstance(p, Formatted) else p[1 : -1 - len(beside)] for p in parts]
    return joined((quote, *inner, quote))


def _parts(vm: ControlMachine, value: Value) -> Text:
    return text_of(vm, to_repr(vm, value))


_PLAIN = (int, float, bool, str, type(None))
#: Ways that the values within one text may go as branches, so that each way has a constant text.
_MOST_WAYS = 16


def _all_parts(vm: ControlMachine, values: list[Value]) -> list[Text]:
    """`repr` of each value."""
    many = _ways(vm, values) > _MOST_WAYS
    found: list[Text] = []
    for value in values:
        chosen = _chosen_text(vm, value, repr) if many else None
        found.append(_parts(vm, value) if chosen is None else chosen.parts)
    return found


def _ways(vm: ControlMachine, values: list[Value]) -> int:
    choices = [value for value in values if isinstance(value, ChoiceValue)]
    return math.prod(len(Which(choice).possible(vm)) for choice in choices)


def _chosen_text(
    vm: ControlMachine, value: Value, convert: Callable[[Any], str]
) -> TextValue | None:
    """The text of a value that is one of several constants, without a branch that is gone on in."""
    if not isinstance(value, ChoiceValue):
        return None
    known = [one for one in value.alternatives if isinstance(one, ConstantValue)]
    if len(known) != len(value.alternatives) or any(type(o.value) not in _PLAIN for o in known):
        return None
    texts = tuple(ConstantValue(convert(one.value)) for one in known)
    return strings.of_variable(strings.variable(vm, ChoiceValue(value.selector, texts)))


def _listed(elements: list[Text]) -> Text:
    parts: list[str | Formatted] = []
    for number, element in enumerate(elements):
        parts += [", "] if number else []
        parts += element
    return tuple(parts)


def format_(vm: ControlMachine, value: Value, spec: Value) -> Value:
    value = vm.settle(value)
    if not spec.is_constant():
        raise GraphBreak("PTC-B002", "data decides a format", "write its width and precision out")
    if isinstance(value, TextValue):
        return formatting.padded(vm, value, spec.constant())
    formatted = _formatted(vm, value, spec.constant(), "format")
    if formatted is not None:
        return strings.lasting(vm, formatted)
    return text.format_(vm, value, spec)


def _formatted(vm: ControlMachine, value: Value, spec: str, conversion: str) -> Value | None:
    """The text of a number or tensor; None for all other values."""
    if isinstance(value, (DataNumber, SymbolicNumber)):
        number = operand(vm, value)
        if not isinstance(number, NumberVar):
            return joined((format(number, spec),))
        _require_format(vm, value.cls, spec)
        return TextValue((Formatted(number, spec, conversion),))
    if isinstance(value, DataListValue):
        if spec:
            raise vm.type_error(
                f"unsupported format string passed to {value.cls.__name__}.__format__"
            )
        if value.cls is not list:
            raise GraphBreak("PTC-B006", f"{value.describe()} is formatted", "make it a list first")
        if not value.is_plain:
            return vm.call(vm.wrap_fixed(data_lists.text_of_list), [value])
        return TextValue((Formatted(value.text_variable(vm), "", "repr"),))
    if isinstance(value, DataTupleValue):
        if spec:
            raise vm.type_error("unsupported format string passed to tuple.__format__")
        return vm.call(vm.wrap_fixed(data_lists.text_of_tuple), [value.elements])
    if isinstance(value, TensorValue):
        if conversion == "format" and spec and value.fake.dim():
            raise vm.type_error("unsupported format string passed to Tensor.__format__")
        if conversion == "format" and value.fake.dim() == 0:
            return format_(vm, vm.read_item(value), ConstantValue(spec))
        return TextValue((Formatted(vm.tensor_variable(value), spec, conversion),))
    return None


def _require_format(vm: ControlMachine, cls: type, spec: str) -> None:
    """Raise what Python raises for a format that the type does not know."""
    try:
        format(cls(1), spec)
    except ValueError as error:
        raise vm.native_exception(error) from None


def join_text(vm: ControlMachine, parts: list[Value]) -> Value:
    found: list[str | Formatted] = []
    many = _ways(vm, parts) > _MOST_WAYS
    for part in parts:
        found += text_of(vm, _chosen_text(vm, part, str) or part if many else part)
    return joined(tuple(found))
