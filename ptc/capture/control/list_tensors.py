"""Lists whose length data decides, given to functions of torch: `stack`, `cat`, `tensor`, and as
keys of tensors.
"""

from __future__ import annotations

import operator
import types
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control import list_elements
from ptc.capture.control.list_forms import NumberForm, TensorForm
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.tuples import DataTupleValue
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.polyfills import data_lists
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import ListItem, NumberKind

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def torch_call(
    vm: ControlMachine, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """`torch.stack`, `cat` and `tensor` of such a list, and one as a key of a tensor; None for all
    other calls."""
    if target in (operator.getitem, operator.setitem) and isinstance(args[0], TensorValue):
        if not _has_indices(args[1]):
            return None
        keyed = data_lists.get if target is operator.getitem else data_lists.put
        return vm.call(vm.wrap_fixed(keyed), args)
    polyfill = _TORCH.get(target) if isinstance(target, types.BuiltinFunctionType) else None
    if polyfill is None:
        return None
    first = args[0] if args else kwargs.get("data" if polyfill is data_lists.tensor else "tensors")
    if isinstance(first, DataTupleValue):
        args = [first.elements, *args[1:]]
    elif polyfill is data_lists.tensor and _has_rows(first):
        polyfill = data_lists.tensor_of_rows
    elif not isinstance(first, DataListValue):
        return None
    return vm.call(vm.wrap_fixed(polyfill), args, kwargs)


def _has_rows(value: Value | None) -> bool:
    """Whether a list of known length has lists in it whose length data decides."""
    parts = value.items if isinstance(value, (ListValue, TupleValue)) else ()
    return any(
        isinstance(part, (DataListValue, DataTupleValue)) or _has_rows(part) for part in parts
    )


def _has_indices(key: Value) -> bool:
    """Whether there are lists of numbers in the key of a tensor."""
    if isinstance(key, TupleValue):
        return any(map(_has_indices, key.items))
    return _index_type(key) is not None


def _index_type(key: Value) -> torch.dtype | None:
    if not isinstance(key, DataListValue):
        return None
    form = key.state.form
    if isinstance(form, TensorForm):
        return form.dtype if form.dtype in _INDICES and not form.sizes else None
    if not isinstance(form, NumberForm) or form.kind is NumberKind.FLOAT:
        return None
    return torch.bool if form.kind is NumberKind.BOOL else torch.int64


@builtin(data_lists.index_type)
def _type_of_indices(vm: ControlMachine, key: Value) -> Value:
    return ConstantValue(_index_type(key))


#: Tensors of these types are indices when they are a key.
_INDICES = (torch.int64, torch.int32, torch.int16, torch.int8)

_TORCH: dict[Any, types.FunctionType] = {
    torch.stack: data_lists.stack, torch.cat: data_lists.cat, torch.concat: data_lists.cat,
    torch.concatenate: data_lists.cat, torch.tensor: data_lists.tensor,
    torch.as_tensor: data_lists.tensor,
}  # fmt: skip


def _tensors(value: Value) -> TensorForm:
    assert isinstance(value, DataListValue)
    form = value.state.form
    if not isinstance(form, TensorForm):
        raise GraphBreak(
            "PTC-B011", f"{value.describe()} and holds no tensors is passed to a torch function"
        )
    return form


@builtin(data_lists.uneven)
def _uneven(vm: ControlMachine, tensors: Value) -> bool:
    return None in _tensors(tensors).sizes


@builtin(data_lists.stacked)
def _stacked(vm: ControlMachine, tensors: Value, dim: Value) -> Value:
    return _from_list(vm, "stack", tensors, vm.as_index(dim))


@builtin(data_lists.concatenated)
def _concatenated(vm: ControlMachine, tensors: Value, dim: Value) -> Value:
    return _from_list(vm, "cat", tensors, vm.as_index(dim))


def _from_list(vm: ControlMachine, op: str, owner: Any, dim: int) -> Value:
    """All elements as one tensor, with sizes that are read off the result."""
    form = _tensors(owner)
    rank = len(form.sizes) + (op == "stack")
    if not -rank <= dim < rank:
        text = f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but "
        raise vm.exception(IndexError, text + f"got {dim})")
    dim %= rank
    sizes: list[Any] = list(form.sizes)
    sizes[dim : dim + (op == "cat")] = [None]
    shape = [list_elements.own_size(vm) if size is None else size for size in sizes]
    result = vm.new_tensor(shape, form.dtype, form.device)
    vm.writer.add(ListItem(op, vm.variable(result), (owner.state.vars[0], dim)))
    list_elements.bind_sizes(vm, result)
    return result
