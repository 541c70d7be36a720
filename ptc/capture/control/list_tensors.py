"""Lists whose length data decides, given to functions of torch: `stack`, `cat`, `tensor` also where
they are in other lists, and as keys of tensors.
"""

# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control import list_elements, tensors
from ptc.capture.control.arithmetic import is_number
from ptc.capture.control.element_forms import (
    Form,
    ListForm,
    LongForm,
    NumberForm,
    ObjectForm,
    OneOfForm,
    TensorForm,
    TupleForm,
    text_of,
)
from ptc.capture.control.list_forms import tuple_items
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.tuples import DataTupleValue
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin
from ptc.capture.polyfills import data_pieces, data_tensors
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.data_ranges import DataRange
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import ListItem, NumberKind
from ptc.graph.control_operations import type_of_kind

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
        keyed = data_tensors.get if target is operator.getitem else data_tensors.put
        return vm.call(vm.wrap_fixed(keyed), args)
    if target in (torch.tensor, torch.as_tensor):
        return _tensor_of(vm, args[0] if args else kwargs.get("data"), kwargs)
    if target == "new_tensor" and len(args) == 2 and isinstance(args[0], TensorValue):
        fake = args[0].fake
        like: dict[str, Value] = {
            "dtype": ConstantValue(fake.dtype),
            "device": ConstantValue(fake.device),
        }
        given = {name: value for name, value in kwargs.items() if value.cls is not type(None)}
        return _tensor_of(vm, args[1], {**like, **given})
    polyfill = _TORCH.get(target) if isinstance(target, types.BuiltinFunctionType) else None
    if polyfill is None:
        return None
    options = {_ALIASES.get(name, name): value for name, value in kwargs.items()}
    first, *others = args or [options.pop("tensors", ConstantValue(None))]
    if isinstance(first, DataTupleValue):
        first = first.elements
    if not isinstance(first, DataListValue):
        return None
    if options.keys() - inspect.signature(polyfill).parameters.keys():
        return None
    return vm.call(vm.wrap_fixed(polyfill), [first, *others], options)


#: What torch's functions call an argument too.
_ALIASES = {"axis": "dim"}


# -- tensors of numbers ---------------------------------------------------------------------------


def _tensor_of(vm: ControlMachine, data: Value | None, kwargs: dict[str, Value]) -> Value | None:
    """`torch.tensor(data)` of what no call of the graph takes: sequences in each other whose
    lengths data decides, and numbers that the dtype may not have."""
    dtype = kwargs["dtype"].constant() if "dtype" in kwargs else None
    if data is None or not (_decided(data) or _may_overflow(data, dtype)):
        return None
    options = {name: value for name, value in kwargs.items() if name != "data"}
    if options.keys() - _OPTIONS:
        return None
    if "requires_grad" in options and vm.truth(options.pop("requires_grad")):
        raise GraphBreak(
            "PTC-B016",
            "a tensor made of a list whose length data decides is to have gradients",
            "make it without `requires_grad`, outside of what gradients are asked for",
        )
    return vm.call(vm.wrap_fixed(data_tensors.tensor), [data], options)


_OPTIONS = frozenset({"dtype", "device", "requires_grad"})


def _decided(data: Value) -> bool:
    """Whether data decides the length of a sequence, or the elements of which have several lengths
    or are tensors with dimensions."""
    if isinstance(data, (DataListValue, DataTupleValue, DataRange)):
        return True
    if not isinstance(data, (ListValue, TupleValue)):
        return False
    if any(isinstance(item, TensorValue) and item.fake.dim() for item in data.items):
        return True
    return any(map(_decided, data.items)) or (_is_uneven(data.items) and _holds_data(data))


def _may_overflow(data: Value, dtype: torch.dtype | None) -> bool:
    """Whether there is a number that data decides and that a type may not have."""
    if isinstance(data, (ListValue, TupleValue)):
        return any(_may_overflow(item, dtype) for item in data.items)
    if not isinstance(data, DataNumber):
        return False
    limits = {NumberKind.FLOAT: data_tensors.FLOATS, NumberKind.INT: data_tensors.INTEGERS}
    return dtype in limits.get(data.var.kind, ())


def _is_uneven(items: list[Value]) -> bool:
    sequences = [tuple_items(item) for item in items]
    counts = {None if parts is None else len(parts) for parts in sequences}
    return len(counts) > 1


def _holds_data(data: Value) -> bool:
    if isinstance(data, (ListValue, TupleValue)):
        return any(map(_holds_data, data.items))
    return isinstance(data, (DataNumber, TensorValue))


def _sequence_type(value: Value) -> type | None:
    """The class of a value that is a row of a tensor."""
    sequence = isinstance(value, (ListValue, TupleValue, DataListValue, DataTupleValue, DataRange))
    constant = isinstance(value, ConstantValue) and isinstance(value.value, (tuple, range))
    return value.cls if sequence or constant else None


@builtin(data_tensors.is_sequence)
def _is_sequence(vm: ControlMachine, value: Value) -> bool:
    return _sequence_type(value) is not None


@builtin(data_tensors.holds_sequences)
def _holds_sequences(vm: ControlMachine, values: Value) -> bool:
    form = _form(values)
    if form is None:
        items = tuple_items(values) or ()
        return bool(items) and _sequence_type(items[0]) is not None
    if isinstance(form, OneOfForm) and any(map(_is_row, form.parts)):
        raise GraphBreak(
            "PTC-B011", f"{values.describe()} and holds numbers and sequences is made a tensor"
        )
    return _is_row(form)


def _form(values: Value) -> Form | None:
    """The form of the elements of a list, or tuple, whose length data decides."""
    if isinstance(values, DataTupleValue):
        values = values.elements
    return values.state.form if isinstance(values, DataListValue) else None


def _is_row(form: Form) -> bool:
    return isinstance(form, (TupleForm, LongForm, ListForm))


@builtin(data_tensors.type_of_element)
def _type_of_element(vm: ControlMachine, value: Value) -> Value:
    return ConstantValue(_element_type(value))


@builtin(data_tensors.sure_type)
def _sure_type(vm: ControlMachine, data: Value) -> Value:
    each = list(_types(data))
    sure = each and not any(isinstance(one, tuple) for one in each)
    return ConstantValue(functools.reduce(torch.promote_types, each) if sure else None)


@builtin(data_tensors.possible_types)
def _possible_types(vm: ControlMachine, data: Value) -> Value:
    found = {torch.get_default_dtype()}
    for one in _types(data):
        for dtype in one if isinstance(one, tuple) else (one,):
            found |= {torch.promote_types(dtype, known) for known in found} | {dtype}
    return TupleValue([ConstantValue(dtype) for dtype in sorted(found, key=str)])


def _types(data: Value) -> Iterator[Any]:
    """The dtypes of the elements; in a tuple where each of several may be there or not."""
    form = _form(data)
    if form is not None:
        yield from _types_of_form(form)
    elif isinstance(data, DataRange):
        yield torch.int64
    elif _sequence_type(data) is not None:
        parts = tuple_items(data)
        for part in [ConstantValue(0)] if parts is None else parts:
            yield from _types(part)
    else:
        yield _element_type(data)


def _types_of_form(form: Form) -> Iterator[Any]:
    if isinstance(form, TupleForm):
        for part in form.parts:
            yield from _types_of_form(part)
    elif isinstance(form, ListForm):
        yield from _types_of_form(form.element)
    elif isinstance(form, NumberForm):
        yield tensors.dtype_of(type_of_kind(form.kind))
    elif isinstance(form, TensorForm):
        yield form.dtype
    elif isinstance(form, (OneOfForm, ObjectForm)):
        known = form.known if isinstance(form, OneOfForm) else form.alternatives
        parts = form.parts if isinstance(form, OneOfForm) else ()
        its = [_element_type(one) for one in known]
        yield (*its, *(dtype for part in parts for dtype in _types_of_form(part)))
    else:
        raise _no_numbers(text_of(form))


def _element_type(value: Value) -> torch.dtype:
    if isinstance(value, TensorValue):
        return value.fake.dtype
    if not is_number(value):
        raise _no_numbers(value.describe())
    return tensors.dtype_of(value.cls)


def _no_numbers(described: str) -> GraphBreak:
    return GraphBreak("PTC-B011", f"a tensor is made of a list with {described} in it")


# -- lists of tensors, and of indices -------------------------------------------------------------


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


@builtin(data_tensors.index_type)
def _type_of_indices(vm: ControlMachine, key: Value) -> Value:
    return ConstantValue(_index_type(key))


#: Tensors of these types are indices when they are a key.
_INDICES = (torch.int64, torch.int32, torch.int16, torch.int8)

_TORCH: dict[Any, types.FunctionType] = {
    torch.stack: data_tensors.stack, torch.cat: data_tensors.cat, torch.concat: data_tensors.cat,
    torch.concatenate: data_tensors.cat, torch.vstack: data_pieces.vstack,
    torch.row_stack: data_pieces.vstack, torch.hstack: data_pieces.hstack,
    torch.dstack: data_pieces.dstack, torch.column_stack: data_pieces.column_stack,
    torch._C._nn.pad_sequence: data_pieces.pad_sequence,
}  # fmt: skip


def _tensors(value: Value) -> TensorForm:
    assert isinstance(value, DataListValue)
    form = value.state.form
    if not isinstance(form, TensorForm):
        raise GraphBreak(
            "PTC-B011", f"{value.describe()} and holds no tensors is passed to a torch function"
        )
    return form


@builtin(data_tensors.uneven)
def _uneven(vm: ControlMachine, tensors: Value) -> bool:
    return None in _tensors(tensors).sizes


@builtin(data_tensors.stacked)
def _stacked(vm: ControlMachine, tensors: Value, dim: Value) -> Value:
    if isinstance(tensors, ListValue):
        return vm.torch_call("call_function", torch.stack, [tensors, dim], {})
    return _from_list(vm, "stack", tensors, vm.as_index(dim))


@builtin(data_tensors.concatenated)
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
