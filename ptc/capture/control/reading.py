"""Tensor calls that give Python data or take it from tensors: comparisons of whole tensors, and
numbers given as tensors without dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.errors import GraphBreak
from ptc.capture.fakes import DATA_DEPENDENT
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, SequenceValue, TupleValue
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

Call = Callable[[list[Value], dict[str, Value]], Value]


def whole_comparison(
    vm: ControlMachine, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """Calls whose result is one Python bool; None for all else."""
    name = target if isinstance(target, str) else _FUNCTIONS.get(id(target))
    handler = None if name is None else _COMPARISONS.get(name)
    return None if handler is None else handler(vm, args, kwargs)


def _equal(vm: ControlMachine, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    given = [*args, *kwargs.values()]
    if len(given) != 2 or not all(isinstance(value, TensorValue) for value in given):
        return None
    shapes = [value.fake.shape for value in given]  # type: ignore[attr-defined]
    if len(shapes[0]) != len(shapes[1]):
        return ConstantValue(False)
    if not all(vm.decide(one == other) for one, other in zip(*shapes, strict=True)):
        return ConstantValue(False)
    return _all(vm, vm.torch_call("call_method", "eq", given, {}))


def _allclose(vm: ControlMachine, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    return _all(vm, vm.torch_call("call_function", torch.isclose, args, kwargs))


def _all(vm: ControlMachine, close: Value) -> Value:
    found = vm.torch_call("call_method", "all", [close], {})
    assert isinstance(found, TensorValue)
    return vm.read_item(found)


def _is_nonzero(vm: ControlMachine, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    return ConstantValue(vm.truth(*args, *kwargs.values()))


def _contains(vm: ControlMachine, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    owner, item = args
    assert isinstance(owner, TensorValue)
    return ConstantValue(vm.truth(vm.tensor_contains(owner, item)))


_COMPARISONS: Mapping[str, Any] = {
    "__contains__": _contains,
    "equal": _equal,
    "allclose": _allclose,
    "is_nonzero": _is_nonzero,
}
_FUNCTIONS: Mapping[int, str] = {
    id(getattr(torch, name)): name for name in _COMPARISONS if not name.startswith("_")
}


def read_index(vm: ControlMachine, value: TensorValue) -> Value:
    """The number of an integer tensor, where Python wants an index."""
    fake = value.fake
    if fake.is_floating_point() or fake.is_complex() or not vm.decide_value(fake.numel() == 1):
        text = "only integer tensors of a single element can be converted to an index"
        raise vm.type_error(text)
    read = vm.read_item(value)
    if read.cls is not bool:
        return read
    number = read.convert(vm, int)
    return ConstantValue(int(read.constant())) if number is None else number


def sequence_key(
    vm: ControlMachine, owner: Value, key: TensorValue, is_sequence: bool = False
) -> Value:
    """A tensor as the index of a Python sequence; as it is for all else."""
    sequence = (
        is_sequence
        or isinstance(owner, SequenceValue)
        or (isinstance(owner, ConstantValue) and isinstance(owner.value, (tuple, str, range)))
    )
    return read_index(vm, key) if sequence else key


def reading_numbers(
    vm: ControlMachine, call: Call, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """The call; if torch wants the number in a tensor, the call with numbers for tensors without
    dimensions: for one of them if that will do, else for all."""
    try:
        return call(args, kwargs)
    except GraphBreak as refused:
        if not isinstance(refused.__cause__, DATA_DEPENDENT):
            raise
        first = refused
    places = [place for place, value in enumerate(args) if _holds_number(value)]
    names = [name for name, value in kwargs.items() if _holds_number(value)]
    for chosen in [*([place] for place in places), *([name] for name in names), [*places, *names]]:
        if not chosen:
            break
        read = [_read(vm, v) if place in chosen else v for place, v in enumerate(args)]
        named = {name: _read(vm, v) if name in chosen else v for name, v in kwargs.items()}
        try:
            return call(read, named)
        except GraphBreak as refused:
            if not isinstance(refused.__cause__, DATA_DEPENDENT):
                raise
    raise first


def _holds_number(value: Value) -> bool:
    if isinstance(value, (ListValue, TupleValue)):
        return any(map(_holds_number, value.items))
    return isinstance(value, TensorValue) and value.fake.dim() == 0


def _read(vm: ControlMachine, value: Value) -> Value:
    if isinstance(value, TensorValue) and value.fake.dim() == 0:
        return vm.read_item(value)
    if isinstance(value, (ListValue, TupleValue)):
        items = [_read(vm, item) for item in value.items]
        return ListValue(items) if isinstance(value, ListValue) else TupleValue(items)
    return value
