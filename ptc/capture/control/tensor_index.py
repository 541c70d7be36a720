"""`tensor[...]` with numbers that data decides: each picks its row by `select`, behind a test of
its range, bounds of slices are brought into the range without a branch, and what is left of the key
is Python's own.

Owns which dimension a part of a key is about. Integer tensors without dimensions are numbers too.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control.arithmetic import computed, in_symbols, summands
from ptc.capture.polyfills import torch_functions
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue, SliceValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import NumberKind
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

#: Tensors of these types are masks when they are a key.
_MASKS = (torch.bool, torch.uint8)


def indexed(vm: ControlMachine, target: Any, args: list[Value]) -> Value | None:
    """`x[key]` or `x[key] = value` where the key has numbers that data decides; None for all
    else."""
    if target not in (operator.getitem, operator.setitem) or not isinstance(args[0], TensorValue):
        return None
    key = _numbers_read(vm, args[1])
    parts = list(key.items) if isinstance(key, TupleValue) else [key]
    bounded = _bounded(vm, args[0], parts)
    given = args[2:]
    if given:
        listed = _steps_listed(vm, args[0], bounded)
        if listed is not bounded and isinstance(given[0], TensorValue):
            # What the rows are given may be rows themselves
            given = [vm.call_method(given[0], "clone", [])]
        bounded = listed
    if not all(map(operator.is_, bounded, parts)):
        parts = bounded
        key = TupleValue(parts) if isinstance(key, TupleValue) else parts[0]
    if not any(isinstance(part, (DataNumber, SymbolicNumber)) for part in parts):
        if key is args[1]:
            return None
        return vm.torch_call("call_function", target, [args[0], key, *given], {})
    base, rest = _selected(vm, args[0], parts)
    if target is operator.getitem:
        if not rest:
            return base
        return vm.torch_call("call_function", target, [base, TupleValue(rest)], {})
    if all(_takes_all(part) for part in rest):
        rest = [vm.const(Ellipsis)]
    return vm.torch_call("call_function", target, [base, TupleValue(rest), *given], {})


def _takes_all(part: Value) -> bool:
    return isinstance(part, ConstantValue) and part.value is Ellipsis


def _numbers_read(vm: ControlMachine, key: Value) -> Value:
    """The key with the numbers of integer tensors without dimensions."""
    if isinstance(key, TensorValue):
        fake = key.fake
        whole = not (fake.is_floating_point() or fake.is_complex() or fake.dtype in _MASKS)
        return vm.read_item(key) if whole and fake.dim() == 0 else key
    if isinstance(key, SliceValue):
        read = [vm.read_item(p) if isinstance(p, TensorValue) else p for p in key.parts]
        return (
            key
            if all(map(operator.is_, read, key.parts))
            else SliceValue(read[0], read[1], read[2])
        )
    if isinstance(key, ListValue) and _names_rows(key):
        return vm.call(vm.wrap_fixed(torch.tensor), [key])
    if isinstance(key, TupleValue):
        items = [_numbers_read(vm, item) for item in key.items]
        return key if all(map(operator.is_, items, key.items)) else TupleValue(items)
    return key


def _names_rows(key: ListValue) -> bool:
    """Whether it is a list of numbers, some of which data decides: all ints, or all bools."""
    if not any(isinstance(item, (DataNumber, SymbolicNumber)) for item in key.items):
        return False
    return {item.cls for item in key.items} in ({int}, {bool})


def _bounded(vm: ControlMachine, base: TensorValue, parts: list[Value]) -> list[Value]:
    """The parts with slices whose bounds data decides between 0 and the size: all tensors of this
    size that are cut there have one size again."""
    rank = base.fake.dim()
    taken = sum(_dimensions(part) for part in parts)
    if taken > rank:
        return parts
    result: list[Value] = []
    dim = 0
    for part in parts:
        if isinstance(part, SliceValue):
            part = _slice_within(vm, part, vm.size_value(base, dim))
        result.append(part)
        dim += rank - taken if _takes_all(part) else _dimensions(part)
    return result


def _steps_listed(vm: ControlMachine, base: TensorValue, parts: list[Value]) -> list[Value]:
    """The parts of a key that is written to with a slice whose step data decides as the list of its
    indices: a view of such a part has no form."""
    stepped = [place for place, part in enumerate(parts) if _steps_by_data(part)]
    if len(stepped) != 1 or any(isinstance(part, (TensorValue, ListValue)) for part in parts):
        return parts
    (place,) = stepped
    rank = base.fake.dim()
    taken = sum(_dimensions(part) for part in parts)
    before = parts[:place]
    dim = sum(rank - taken if _takes_all(part) else _dimensions(part) for part in before)
    if dim >= rank:
        return parts
    part = parts[place]
    assert isinstance(part, SliceValue)
    arguments = [vm.size_value(base, dim), *part.parts]
    listed = vm.call(vm.wrap_fixed(torch_functions.indices_of_slice), arguments)
    return [*before, listed, *parts[place + 1 :]]


def _steps_by_data(part: Value) -> bool:
    return isinstance(part, SliceValue) and isinstance(part.parts[2], DataNumber)


def _slice_within(vm: ControlMachine, part: SliceValue, size: Value) -> SliceValue:
    """Bounds that are sizes already are not looked at here, nor are two whose distance may be
    known."""
    open_ = [place for place in (0, 1) if isinstance(part.parts[place], DataNumber)]
    bounds: list[Any] = [part.parts[place] for place in open_]
    closed = any(isinstance(bound, SymbolicNumber) for bound in part.parts)
    if not bounds or closed or isinstance(part.parts[2], DataNumber):
        return part
    if any(bound.cls is not int or in_symbols(vm, bound.var) is not None for bound in bounds):
        return part
    if len(bounds) == 2 and summands(vm, bounds[0].var) & summands(vm, bounds[1].var):
        return part
    found: list[Value] = list(part.parts)
    least: Value = ConstantValue(0)
    for place, bound in zip(open_, bounds, strict=True):
        inside = _within(vm, bound, size)
        if place == 1 and len(bounds) == 2:
            inside = vm.arithmetic("max", [inside, least])
        assert isinstance(inside, DataNumber)
        made = SymbolicNumber(vm.size_symbol(inside.var, 0), None)
        for known in (vm.compare("<=", made, size), vm.compare("<=", least, made)):
            if isinstance(known, SymbolicNumber):
                vm.facts.assume(expression_of(known.number), True)
        found[place] = least = made
    return SliceValue(found[0], found[1], found[2])


def _within(vm: ControlMachine, bound: Value, size: Value) -> Value:
    """Where a bound falls: 0 to `size`."""
    least = vm.arithmetic("min", [bound, size])  # first, so that no sum leaves the range of ints
    counted = vm.arithmetic("max", [vm.binary("+", least, size), ConstantValue(0)])
    negative = vm.compare("<", least, ConstantValue(0))
    return computed(vm, "select", [negative, counted, least], NumberKind.INT)


def _selected(
    vm: ControlMachine, base: TensorValue, parts: list[Value]
) -> tuple[TensorValue, list[Value]]:
    """The tensor with the rows picked that numbers of the key name, and the other parts."""
    rank = base.fake.dim()
    taken = sum(_dimensions(part) for part in parts)
    if taken > rank:
        if rank == 0:
            raise vm.exception(
                IndexError,
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number",
            )
        raise vm.exception(IndexError, f"too many indices for tensor of dimension {rank}")
    rest: list[Value] = []
    dim = 0
    for place, part in enumerate(parts):
        if _takes_all(part):
            dim += rank - taken
            rest.append(part)
        elif isinstance(part, (DataNumber, SymbolicNumber)) and part.cls is int:
            index = _valid(vm, base, dim, part, place)
            found = vm.torch_call("call_method", "select", [base, ConstantValue(dim), index], {})
            assert isinstance(found, TensorValue)
            base = found
        else:
            dim += _dimensions(part)
            rest.append(part)
    return base, rest


def _dimensions(part: Value) -> int:
    """How many dimensions of the tensor a part of the key is about."""
    if isinstance(part, ConstantValue) and (
        part.value is None or part.value is Ellipsis or isinstance(part.value, bool)
    ):
        return 0
    if isinstance(part, DataNumber) and part.cls is bool:
        return 0
    if isinstance(part, TensorValue) and part.fake.dtype in _MASKS:
        return part.fake.dim()
    if isinstance(part, ListValue) and part.items:
        nested = [item for item in part.items if isinstance(item, ListValue)]
        flags = all(item.cls is bool for item in part.items)
        return 1 + max(map(_dimensions, nested), default=0) if flags else 1
    return 1


def _valid(
    vm: ControlMachine, base: TensorValue, dim: int, part: DataNumber | SymbolicNumber, place: int
) -> Value:
    """The number as an index from the front; raises IndexError where there is no such row."""
    size = vm.size_value(base, dim)
    index = _from_front(vm, part, size)
    if isinstance(index, DataNumber):
        # One test, so that there is one view for all that goes on
        inside = vm.binary(
            "&", vm.compare(">=", index, ConstantValue(0)), vm.compare("<", index, size)
        )
        if vm.truth(inside):
            made = vm.size_symbol(index.var, 0)
            known = vm.compare("<", SymbolicNumber(made, None), size)
            if isinstance(known, SymbolicNumber):
                vm.facts.assume(expression_of(known.number), True)
            return SymbolicNumber(made, None)
    elif vm.truth(vm.compare(">=", index, ConstantValue(0))) and vm.truth(
        vm.compare("<", index, size)
    ):
        return index
    shown = [vm.join_text([vm.str(value)]) for value in (part, size)]
    text = vm.join_text(
        [
            ConstantValue("index "), shown[0],
            ConstantValue(f" is out of bounds for dimension {place} with size "), shown[1],
        ]
    )  # fmt: skip
    raise vm.raised(IndexError, [text])


def _from_front(vm: ControlMachine, part: DataNumber | SymbolicNumber, size: Value) -> Value:
    if isinstance(part, SymbolicNumber):
        negative = vm.truth(vm.compare("<", part, ConstantValue(0)))
        return vm.binary("+", part, size) if negative else part
    negative = vm.compare("<", part, ConstantValue(0))
    return computed(vm, "select", [negative, vm.binary("+", part, size), part], NumberKind.INT)
