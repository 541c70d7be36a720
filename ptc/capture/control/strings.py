"""Operations on strings that data decides: variables for them, and the methods of str as items.

A string is a `TextValue`, parts that are put together where it is used; `variable` puts it in a
variable of the program. What Python refuses is asked before an item is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control import list_positions, lists
from ptc.capture.control.arithmetic import computed, is_number, operand
from ptc.capture.control.list_forms import TextForm, new_vars
from ptc.capture.control.lists import DataListValue, ListState
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.polyfills import texts
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import TextValue, is_made, is_text, parts_of
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import (
    Assign,
    Body,
    Formatted,
    MakeText,
    NumberKind,
    NumberVar,
    Switch,
    TextItem,
    TextVar,
)
from ptc.graph.control_texts import TEXT_OPERATIONS

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

Handler = Callable[..., "Value | None"]
_ZERO = ConstantValue(0)


# -- variables ------------------------------------------------------------------------------------


def of_variable(var: TextVar) -> TextValue:
    return TextValue((Formatted(var),))


def new(vm: ControlMachine) -> TextValue:
    """A string in a variable of its own."""
    return of_variable(TextVar(vm.writer.name("text")))


def variable(vm: ControlMachine, value: Value) -> TextVar:
    """The variable of a string, which it gets if it has none yet."""
    if isinstance(value, ChoiceValue):
        return _chosen(vm, value)
    parts = parts_of(value)
    assert parts is not None
    if isinstance(value, TextValue) and value.var is not None:
        return value.var
    known: Any = vm.computed.get(("text", parts))
    if known is None:
        var = TextVar(vm.writer.name("text"))
        vm.writer.compute(MakeText(var, tuple(part for part in parts if part != "")))
        known = of_variable(var)
        vm.journal.put(vm.computed, ("text", parts), known)
    return known.var


def _chosen(vm: ControlMachine, value: ChoiceValue) -> TextVar:
    target = TextVar(vm.writer.name("text"))
    arms: list[Body] = []
    for alternative in value.alternatives:
        arms.append(Body())
        with vm.at_end_of(arms[-1]):
            vm.writer.add(Assign(target, variable(vm, alternative)))
    vm.writer.add(Switch(value.selector, tuple(arms), None, "choice"))
    return target


def lasting(vm: ControlMachine, value: Value) -> Value:
    """A string that stays as it is when what it was formatted from changes: the text of a tensor or
    of a list is put in a variable at once."""
    if not isinstance(value, TextValue):
        return value
    if all(isinstance(part, str) or _is_fixed(part) for part in value.parts):
        return value
    target = TextVar(vm.writer.name("text"))
    vm.writer.add(MakeText(target, value.parts))
    return of_variable(target)


def _is_fixed(part: Formatted) -> bool:
    return isinstance(part.value, (NumberVar, TextVar))


# -- operations -----------------------------------------------------------------------------------


def operation(vm: ControlMachine, op: str, values: Sequence[Value]) -> Any:
    """The result of an item on strings, numbers and lists of strings."""
    args = tuple(_operand(vm, value) for value in values)
    known: Any = vm.computed.get((op, args))
    if known is not None and not any(isinstance(value, DataListValue) for value in values):
        return known
    result = TEXT_OPERATIONS[op].result
    if result == "texts":
        state = ListState(TextForm(), new_vars(vm, TextForm()))
        vm.writer.add(TextItem(op, state.vars[0], args))
        return DataListValue(state)
    made: Any = new(vm) if result == "text" else DataNumber(
        NumberVar(vm.writer.name("n"), NumberKind(result))
    )  # fmt: skip
    reads_list = any(isinstance(value, DataListValue) for value in values)
    (vm.writer.add if reads_list else vm.writer.compute)(TextItem(op, made.var, args))
    if not reads_list:
        vm.journal.put(vm.computed, (op, args), made)
    return made


def _operand(vm: ControlMachine, value: Value) -> Any:
    if isinstance(value, DataListValue):
        return value.state.vars[0]
    if isinstance(value, ConstantValue) and isinstance(value.value, str):
        return value.value
    return operand(vm, value) if is_number(value) else variable(vm, value)


def length(vm: ControlMachine, text: Value) -> Value:
    return operation(vm, "length", [text])


def contains(vm: ControlMachine, container: Value, item: Value) -> Value | None:
    """`item in container` of strings, one of which data decides; None for all else."""
    if not (is_text(container) and (is_made(container) or is_made(item))):
        return None
    if not is_text(item):
        kind = item.cls.__name__
        raise vm.type_error(f"'in <string>' requires string as left operand, not {kind}")
    parts = parts_of(container) or ()
    if item.is_constant() and any(isinstance(p, str) and item.constant() in p for p in parts):
        return ConstantValue(True)
    return operation(vm, "contains", [container, item])


def ordered(vm: ControlMachine, op: str, one: Value, other: Value) -> Value:
    """`<`, `<=`, `>` and `>=`."""
    pair = [one, other] if op in ("<", "<=") else [other, one]
    return operation(vm, "lt" if op in ("<", ">") else "le", pair)


# -- characters -----------------------------------------------------------------------------------


def item(vm: ControlMachine, text: Value, key: Value) -> Value:
    """`text[key]`"""
    if isinstance(key, SliceValue):
        return _slice(vm, text, key)
    if not vm.has_index(key):
        kind = key.cls.__name__
        raise vm.type_error(f"string indices must be integers, not '{kind}'")
    if isinstance(key, TensorValue):
        key = vm.read_index(key)
    elif not is_number(key):
        key = ConstantValue(vm.as_index(key))
    if key.cls is bool:
        key = vm.call(vm.wrap_fixed(int), [key])
    count = length(vm, text)
    if vm.truth(vm.compare("<", key, _ZERO)):
        key = vm.binary("+", key, count)
        inside = vm.compare(">=", key, _ZERO)
    else:
        inside = vm.compare("<", key, count)
    if not vm.truth(inside):
        raise vm.exception(IndexError, "string index out of range")
    return operation(vm, "item", [text, key])


def _slice(vm: ControlMachine, text: Value, key: SliceValue) -> Value:
    start, stop, step = key.parts
    if step.cls is not type(None) and not (step.is_constant() and step.constant() == 1):
        everything = start.cls is type(None) and stop.cls is type(None)
        if everything and step.is_constant() and step.constant() == -1:
            return operation(vm, "reversed", [text])
        if not step.is_constant():
            raise GraphBreak(
                "PTC-B006", "the step of a slice of a string depends on data",
                "take the characters in a loop",
            )  # fmt: skip
        if step.constant() == 0:
            raise vm.exception(ValueError, "slice step cannot be zero")
        return vm.call(vm.wrap_fixed(texts.stepped), [text, start, stop, step])
    count = length(vm, text)
    first = list_positions.bound_within(vm, count, start, _ZERO)
    last = list_positions.bound_within(vm, count, stop, count)
    if not first.is_constant() or first.constant() != 0:
        last = computed(vm, "max", [first, last], NumberKind.INT)
    return operation(vm, "slice", [text, first, last])


def characters(vm: ControlMachine, text: Value) -> DataListValue:
    """The list of a string's characters."""
    return operation(vm, "characters", [text])


# -- numbers --------------------------------------------------------------------------------------


def number_of(vm: ControlMachine, text: Value, to: type) -> Value:
    """`int(text)` or `float(text)`"""
    if not vm.truth(operation(vm, f"is_{to.__name__}", [text])):
        what = (
            "invalid literal for int() with base 10: " if to is int
            else "could not convert string to float: "
        )  # fmt: skip
        raise vm.raised(ValueError, [vm.join_text([ConstantValue(what), vm.repr(text)])])
    return operation(vm, to.__name__, [text])


def _chr(vm: ControlMachine, number: Value) -> Value | None:
    if not isinstance(number, DataNumber):
        return None
    if number.cls is float:
        raise vm.type_error("'float' object cannot be interpreted as an integer")
    inside = vm.binary(
        "&", vm.compare(">=", number, _ZERO), vm.compare("<", number, ConstantValue(0x110000))
    )
    if not vm.truth(inside):
        raise vm.exception(ValueError, "chr() arg not in range(0x110000)")
    return operation(vm, "chr", [vm.arithmetic("int", [number])])


def _ord(vm: ControlMachine, text: Value) -> Value | None:
    if not isinstance(text, TextValue):
        return None
    count = length(vm, text)
    if not vm.truth(vm.compare("==", count, ConstantValue(1))):
        shown = ["ord() expected a character, but string of length ", vm.str(count), " found"]
        parts = [ConstantValue(part) if isinstance(part, str) else part for part in shown]
        raise vm.raised(TypeError, [vm.join_text(parts)])
    return operation(vm, "ord", [text])


# -- methods --------------------------------------------------------------------------------------


def call(
    vm: ControlMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A method of str with strings that data decides; None for all other calls."""
    handler = _HANDLERS.get(id(function))
    if handler is None or not args:
        return None
    args, kwargs = vm.settle_arguments(args, kwargs)
    values = [*args, *kwargs.values()]
    if not any(isinstance(value, (TextValue, DataNumber)) for value in values):
        return None
    return handler(vm, *args, **kwargs)


def _require_texts(vm: ControlMachine, name: str, values: Sequence[Value]) -> None:
    for value in values:
        if not is_text(value):
            kind = value.cls.__name__
            raise vm.type_error(f"{name} arg must be str, not {kind}")


def _traced(function: Callable[..., Any]) -> Handler:
    """A method that is written in Python."""

    def handler(vm: ControlMachine, *args: Value, **kwargs: Value) -> Value:
        return vm.call(vm.wrap_fixed(function), list(args), kwargs)

    return handler


@builtin(texts.not_ascii)
def _not_ascii(vm: ControlMachine, name: Value) -> None:
    vm.not_supported(f"str.{name.constant()} of text that is not ASCII")


def repeated(vm: ControlMachine, text: Value, count: Value) -> Value:
    """`text * count`"""
    return operation(vm, "repeat", [text, count])


def _plain(op: str) -> Handler:
    """A method whose operands are strings."""
    within = getattr(texts, op, None)

    def handler(vm: ControlMachine, *args: Value) -> Value | None:
        if within is not None and len(args) > 2:
            return vm.call(vm.wrap_fixed(within), list(args))
        wanted = TEXT_OPERATIONS[op]
        least = len(wanted.args) - wanted.optional
        if not least <= len(args) <= len(wanted.args):
            return None
        given = list(args)
        rest = [arg for arg in given[1:] if arg.cls is not type(None)]
        if len(rest) < least - 1:
            return None
        _require_texts(vm, op, rest)
        return operation(vm, op, [given[0], *rest])

    return handler


def _end(op: str) -> Handler:
    """`startswith` or `endswith`, of one string or any of a tuple."""

    def handler(vm: ControlMachine, text: Value, end: Value, *limits: Value) -> Value | None:
        if limits:
            return vm.call(vm.wrap_fixed(getattr(texts, op)), [text, end, *limits])
        ends = vm.unpack(end) if end.cls is tuple else [end]
        result: Any = ConstantValue(False)
        for one in ends:
            if not is_text(one):
                kind = one.cls.__name__
                text_ = f"{op} first arg must be str or a tuple of str, not {kind}"
                raise vm.type_error(text_)
            found = _known_end(op, text, one)
            if found is None:
                found = operation(vm, op, [text, one])
            if found.is_constant():
                if found.constant():
                    return found
                continue
            result = found if result.is_constant() else vm.binary("|", result, found)
        return result

    return handler


def _known_end(op: str, text: Value, end: Value) -> Value | None:
    """The answer, if the known part of a string at that end gives it."""
    parts = parts_of(text) or ("",)
    known = parts[0 if op == "startswith" else -1]
    wanted = end.constant() if end.is_constant() else None
    if not isinstance(known, str) or wanted is None or len(known) < len(wanted):
        return None
    return ConstantValue(getattr(known, op)(wanted))


def _replace(
    vm: ControlMachine, text: Value, old: Value, other: Value, count: Value | None = None
) -> Value | None:
    _require_texts(vm, "replace() argument", [old, other])
    most = [] if count is None else [count]
    if not all(is_number(one) and one.cls is int for one in most):
        return None
    return operation(vm, "replace", [text, old, other, *most])


def _justified(op: str) -> Handler:
    def handler(
        vm: ControlMachine, text: Value, width: Value, fill: Value | None = None
    ) -> Value | None:
        if not is_number(width) or width.cls is float:
            return None
        character = fill or ConstantValue(" ")
        if not character.is_constant() or not isinstance(character.constant(), str):
            return None
        if len(character.constant()) != 1:
            raise vm.type_error("The fill character must be exactly one character long")
        return operation(vm, op, [text, width, character])

    return handler


def _zfill(vm: ControlMachine, text: Value, width: Value) -> Value | None:
    if not is_number(width) or width.cls is float:
        return None
    return operation(vm, "zfill", [text, width])


def _split(
    vm: ControlMachine, text: Value, sep: Value | None = None, maxsplit: Value | None = None
) -> Value | None:
    if sep is not None and sep.cls is not type(None):
        if not is_text(sep):
            raise vm.type_error(f"must be str or None, not {sep.cls.__name__}")
        if not vm.truth(sep):
            raise vm.exception(ValueError, "empty separator")
    elif maxsplit is None:
        return operation(vm, "split", [text])
    if maxsplit is not None:
        rest = [sep or ConstantValue(None), maxsplit]
        return vm.call(vm.wrap_fixed(texts.split), [text, *rest])
    return operation(vm, "split", [text, sep] if sep is not None else [text])


def join(vm: ControlMachine, separator: Value, parts: DataListValue) -> Value:
    """`separator.join(parts)` of a list whose length data decides."""
    texts = lists.as_texts(vm, parts)
    if texts is None:
        raise GraphBreak(
            "PTC-B002", f"the elements of {parts.describe()} are joined, and are no strings",
            "append str(...) of them to the list",
        )  # fmt: skip
    return operation(vm, "join", [separator, texts])


_PLAIN = (
    "find", "rfind", "count", "isdigit", "isdecimal", "isnumeric", "isalpha", "isalnum", "isspace",
    "upper", "lower", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix",
)  # fmt: skip

_TRACED = (
    "partition", "rpartition", "rsplit", "splitlines", "index", "rindex", "isascii", "isupper",
    "islower", "istitle", "capitalize", "title", "swapcase", "casefold",
)  # fmt: skip

_HANDLERS: Mapping[int, Handler] = {
    **{id(getattr(str, name)): _traced(getattr(texts, name)) for name in _TRACED},
    **{id(getattr(str, name)): _plain(name) for name in _PLAIN},
    id(str.startswith): _end("startswith"),
    id(str.endswith): _end("endswith"),
    id(str.replace): _replace,
    id(str.ljust): _justified("ljust"),
    id(str.rjust): _justified("rjust"),
    id(str.center): _justified("center"),
    id(str.zfill): _zfill,
    id(str.split): _split,
    id(str.__len__): lambda vm, text: length(vm, text),
    id(str.__getitem__): lambda vm, text, key: item(vm, text, key),
    id(str.__contains__): lambda vm, text, part: contains(vm, text, part),
    id(str.__add__): lambda vm, one, other: vm.binary("+", one, other),
    id(chr): _chr,
    id(ord): _ord,
}
