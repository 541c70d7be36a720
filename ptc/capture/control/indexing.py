"""Python sequences indexed by numbers that data decides, and iterators whose position is one."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control import identities, lists
from ptc.capture.control.arithmetic import computed, int_range
from ptc.capture.control.data_keys import HeldByKeys
from ptc.capture.control.handles import handle_of, one_class
from ptc.capture.control.questions import Which
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.lookup import static_lookup
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.containers import DequeValue, SequenceIterator, SequenceValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.data_ranges import DataRange
from ptc.capture.values.torch_module import ModuleValue
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Assign, Body, NumberKind, NumberVar, Switch

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def element(vm: ControlMachine, obj: Value, key: DataNumber) -> Value | None:
    """`obj[key]` of a Python sequence; None for all else."""
    if isinstance(obj, ConstantValue) and isinstance(obj.value, (tuple, str, range)):
        items: list[Value] = [ConstantValue(item) for item in obj.value]
    elif isinstance(obj, SequenceValue) and not hasattr(obj.klass, "__torch_function__"):
        if vm.python_method(obj, "__getitem__") is not None:
            return None
        items = obj.items
    else:
        return None
    name = "list" if obj.cls is list else "string" if obj.cls is str else obj.cls.__name__
    if key.cls is float:
        indices = "indices must be integers" + ("" if name == "string" else " or slices")
        kind = "'float'" if name == "string" else "float"
        raise vm.type_error(f"{name} {indices}, not {kind}")
    index = valid_index(vm, key, len(items), ConstantValue(f"{name} index out of range"))
    return _one_of(vm, index, items)


def _one_of(vm: ControlMachine, index: DataNumber, items: list[Value]) -> Value:
    """`items[index]`, which is there."""
    if all(isinstance(item, (TensorValue, ConstantValue, DataNumber)) for item in items):
        return vm.settle(ChoiceValue(index.var, tuple(items)))
    klass = one_class(items)
    if klass is not None:
        target = NumberVar(vm.writer.name("n"), NumberKind.INT)
        arms = tuple(Body([Assign(target, item.var)]) for item in items)  # type: ignore[attr-defined]
        vm.writer.add(Switch(index.var, arms, None, "choice"))
        return handle_of(klass, DataNumber(target))
    if any(isinstance(item, ChoiceValue) for item in items):
        return _one_of_all(vm, index, items)
    return ChoiceValue(index.var, tuple(items))


def _one_of_all(vm: ControlMachine, index: DataNumber, items: list[Value]) -> Value:
    """The same where some items are one of several themselves: one of all that there may be. A loop
    that moves items about would make ever deeper ones of choices of choices."""
    every: list[Value] = []
    target = NumberVar(vm.writer.name("n"), NumberKind.INT)

    def arm(item: Value) -> Body:
        if isinstance(item, ChoiceValue):
            arms = tuple(arm(one) for one in item.alternatives)
            return Body([Switch(item.selector, arms, None, "choice")])
        place = next((n for n, one in enumerate(every) if vm.same_alternative(one, item)), None)
        if place is None:
            place = len(every)
            every.append(item)
        return Body([Assign(target, place)])

    vm.writer.add(Switch(index.var, tuple(map(arm, items)), None, "choice"))
    return ChoiceValue(target, tuple(every))


#: torch's containers whose `__getitem__` takes positions.
_MODULE_LISTS = (torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)


def is_module_list(obj: Value) -> bool:
    owner = static_lookup(obj.cls, "__getitem__") if isinstance(obj, ModuleValue) else None
    return owner is not None and owner[1] in _MODULE_LISTS


def module(vm: ControlMachine, obj: Value, key: DataNumber) -> Value | None:
    """`obj[key]` of a container of modules; None for all else."""
    if not is_module_list(obj) or key.cls is not int:
        return None
    count = vm.length(obj).constant()
    shown = [ConstantValue("index "), vm.str(key), ConstantValue(" is out of range")]
    index = valid_index(vm, key, count, vm.join_text(shown))
    modules = [vm.getitem(obj, ConstantValue(number)) for number in range(count)]
    return ChoiceValue(index.var, tuple(modules))


_MOST_SLICES = 32
_MOST_STORES = 8  # arms, one for each element of a list that one may be stored in
#: An iterator over so many elements has no end.
ENDLESS = 2**60


def known_slice(vm: ControlMachine, obj: Value, key: Value) -> Value:
    """A slice of a Python sequence with known bounds, the arms being one for each."""
    if not isinstance(key, SliceValue) or not any(isinstance(p, DataNumber) for p in key.parts):
        return key
    if isinstance(obj, ConstantValue) and isinstance(obj.value, (tuple, str, range)):
        count = len(obj.value)
    elif isinstance(obj, SequenceValue) and not isinstance(obj, DequeValue):
        count = len(obj.items)
    elif is_module_list(obj):
        count = vm.length(obj).constant()
    else:
        return key
    start, stop, step = key.parts
    if not step.is_constant() or count > _MOST_SLICES:
        raise GraphBreak(
            "PTC-B006", f"a slice of {count} objects has bounds that data decides",
            "use a tensor, or a loop over the elements",
        )  # fmt: skip
    if step.constant() is not None and step.constant() < 0:
        raise GraphBreak("PTC-B006", "a slice to the front has bounds that data decides")
    return SliceValue(_bound(vm, start, count), _bound(vm, stop, count), step)


def _bound(vm: ControlMachine, part: Value, count: int) -> Value:
    if not isinstance(part, DataNumber):
        return part
    if part.cls is float:
        text = "slice indices must be integers or None or have an __index__ method"
        raise vm.type_error(text)
    bound = _from_front(vm, part, count)
    for limit, op in ((0, "max"), (count, "min")):
        bound = vm.call(vm.wrap_fixed(getattr(builtins, op)), [bound, ConstantValue(limit)])
    assert isinstance(bound, DataNumber)
    numbers = tuple(ConstantValue(number) for number in range(count + 1))
    return numbers[vm.choose(Which(ChoiceValue(bound.var, numbers)))]


def _from_front(vm: ControlMachine, key: DataNumber, count: int) -> DataNumber:
    """An index with negative ones counted from the front, without a branch."""
    number = vm.arithmetic("int", [key]) if key.cls is bool else key
    negative = vm.compare("<", number, ConstantValue(0))
    moved = vm.binary("+", number, ConstantValue(count))
    return computed(vm, "select", [negative, moved, number], NumberKind.INT)


def valid_index(vm: ControlMachine, key: DataNumber, count: int, message: Value) -> DataNumber:
    """The number as an index from the front; raises IndexError where there is no such element."""
    known = int_range(vm, key)
    if known is not None and known[0] >= 0 and known[1] < count:
        return vm.arithmetic("int", [key]) if key.cls is bool else key  # type: ignore[return-value]
    index = _from_front(vm, key, count)
    inside = vm.binary(
        "&", vm.compare(">=", index, ConstantValue(0)), vm.compare("<", index, ConstantValue(count))
    )
    if not vm.truth(inside):
        raise vm.raised(IndexError, [message])
    return index


def same_object(vm: ControlMachine, one: Value, other: Value) -> bool | None:
    """`is` where data may decide it; None for all else."""
    if isinstance(one, HeldByKeys) and isinstance(other, HeldByKeys) and one.cls is other.cls:
        one, other = one.key_list, other.key_list  # each dictionary or set has its own
    found = lists.one_list(vm, one, other)
    if found is None:
        found = identities.same_tensor(vm, one, other)
    return same_number(vm, one, other) if found is None else found


def same_number(vm: ControlMachine, one: Value, other: Value) -> bool | None:
    """`is` between numbers of which CPython has one object each: bools and small ints. None for
    all else."""
    if one is other or not any(isinstance(value, DataNumber) for value in (one, other)):
        return None
    if one.cls is not other.cls or one.cls not in (int, bool):
        return None
    known = next((v.value for v in (one, other) if isinstance(v, ConstantValue)), 0)
    if not -5 <= known <= 256:
        return None
    if one.cls is int and all(isinstance(value, DataNumber) for value in (one, other)):
        return None
    return vm.truth(vm.compare("==", one, other))


def position(vm: ControlMachine, obj: Value, key: Value) -> Value:
    """An index for a store: a known one, the arms being one for each."""
    obj = vm.settle(obj)
    if not isinstance(key, DataNumber) or not isinstance(obj, SequenceValue):
        return known_slice(vm, obj, key)
    if lists.hold_numbers(vm, obj, _MOST_STORES):
        return key
    count = len(obj.items)
    message = ConstantValue("list assignment index out of range")
    index = valid_index(vm, key, count, message)
    numbers = tuple(ConstantValue(number) for number in range(count))
    return numbers[vm.choose(Which(ChoiceValue(index.var, numbers)))]


def next_by_data(vm: ControlMachine, iterator: Any) -> Value | None:
    """The next element of an iterator whose position data decides."""
    here: Any = iterator.position
    plain = isinstance(here, int)
    if plain:
        if here < 0:
            return None  # at its end
        here = ConstantValue(here)
    count = iterator.count(vm)
    endless = count.is_constant() and count.constant() >= ENDLESS
    if not endless and not vm.truth(vm.compare("<", here, count)):
        return None
    found = _element_at(vm, iterator, here)
    following = vm.binary("+", here, ConstantValue(1))
    if plain and following.is_constant():
        following = following.constant()
    vm.journal.assign(iterator, "position", following)
    return found


def _element_at(vm: ControlMachine, iterator: Any, position: Value) -> Value:
    """The element at a position that is in range: nothing asks whether it is."""
    known = isinstance(iterator, SequenceIterator) and isinstance(iterator.sequence, SequenceValue)
    if not known or not isinstance(position, DataNumber):
        return iterator.element(vm, position)
    return _one_of(vm, position, iterator.sequence.items)


def range_by_data(vm: ControlMachine, args: list[Value]) -> Value | None:
    """`range` with a bound that data decides."""
    args = [vm.read_index(arg) if isinstance(arg, TensorValue) else arg for arg in args]
    if not any(isinstance(arg, (DataNumber, SymbolicNumber)) for arg in args):
        return None
    if any(arg.cls is float for arg in args):
        raise vm.type_error("'float' object cannot be interpreted as an integer")
    start, stop = (ConstantValue(0), args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) > 2 else ConstantValue(1)
    if not step.is_constant():
        raise GraphBreak("PTC-B006", "the step of a range depends on data")
    return DataRange(start, stop, step.constant())
