"""Python sequences indexed by numbers that data decides, and iterators whose position is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.control.questions import Which
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import SequenceValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.data_ranges import DataRange
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def element(vm: ControlMachine, obj: Value, key: DataNumber) -> Value | None:
    """`obj[key]` of a Python sequence; None for all else."""
    if isinstance(obj, ConstantValue) and isinstance(obj.value, (tuple, str, range)):
        items = [ConstantValue(item) for item in obj.value]
    elif isinstance(obj, SequenceValue) and not hasattr(obj.klass, "__torch_function__"):
        if vm.python_method(obj, "__getitem__") is not None:
            return None
        items = obj.items
    else:
        return None
    name = "list" if obj.cls is list else "string" if obj.cls is str else obj.cls.__name__
    index = valid_index(vm, key, len(items), f"{name} index out of range")
    if all(isinstance(item, (TensorValue, ConstantValue, DataNumber)) for item in items):
        return vm.settle(ChoiceValue(index.var, tuple(items)))
    return ChoiceValue(index.var, tuple(items))


def valid_index(vm: ControlMachine, key: DataNumber, count: int, message: str) -> DataNumber:
    """The number as an index from the front; raises IndexError where there is no such element."""
    bounds = (ConstantValue(-count), ConstantValue(count))
    if not vm.truth(vm.compare(">=", key, bounds[0])) or not vm.truth(
        vm.compare("<", key, bounds[1])
    ):
        raise vm.exception(IndexError, message)
    if not vm.truth(vm.compare("<", key, ConstantValue(0))):
        return key
    moved = vm.arithmetic("add", [key, ConstantValue(count)])
    assert isinstance(moved, DataNumber)
    return moved


def position(vm: ControlMachine, obj: Value, key: Value) -> Value:
    """An index for a store: a known one, the arms being one for each."""
    obj = vm.settle(obj)
    if not isinstance(key, DataNumber) or not isinstance(obj, SequenceValue):
        return key
    count = len(obj.items)
    index = valid_index(vm, key, count, "list assignment index out of range")
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
    if not vm.truth(vm.compare("<", here, iterator.count(vm))):
        return None
    found = iterator.element(vm, here)
    following = vm.binary("+", here, ConstantValue(1))
    if plain and following.is_constant():
        following = following.constant()
    vm.journal.assign(iterator, "position", following)
    return found


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
