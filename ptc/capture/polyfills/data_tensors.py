"""What torch functions do with lists whose length data decides, in Python. Only ever traced: loops
become loops of the program.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from ptc.capture.polyfills.host_errors import raised

_STACK_ERROR, _NOTHING_TO_STACK = raised(torch.stack, [])
_CAT_ERROR, _NOTHING_TO_JOIN = raised(torch.cat, [])
_NO_INDEX = raised(torch.tensor, [torch.tensor(1.5)], dtype=torch.int64)[1]
_NO_INTEGER = "'{}' object cannot be interpreted as an integer"
_SEVERAL_ERROR, _SEVERAL = raised(torch.tensor, [torch.zeros(2)])
#: The least and the greatest number of a type. Torch takes the int -1 for 255, and 2.0**63.
INTEGERS = {
    torch.uint8: (-(2**8) + 1, 2**8 - 1),
    torch.int8: (-(2**7), 2**7 - 1),
    torch.int16: (-(2**15), 2**15 - 1),
    torch.int32: (-(2**31), 2**31 - 1),
}
FLOATS = {**INTEGERS, torch.uint8: (0, 2**8 - 1), torch.int64: (-(2.0**63), 2.0**63)}
_OVERFLOWS = {dtype: raised(torch.tensor, [math.nan], dtype=dtype)[1] for dtype in FLOATS}


def stacked(tensors: Any, dim: int) -> Any:
    """`torch.stack` of tensors that fit together: a mark for the capture."""
    raise AssertionError("never runs")


def concatenated(tensors: Any, dim: int) -> Any:
    """`torch.cat` of tensors that fit together: a mark for the capture."""
    raise AssertionError("never runs")


def uneven(tensors: Any) -> bool:
    """Whether the tensors' sizes may differ: known at capture."""
    raise AssertionError("never runs")


def stack(tensors: Any, dim: int = 0) -> Any:
    if not tensors:
        raise _STACK_ERROR(_NOTHING_TO_STACK)
    if uneven(tensors):
        first = tensors[0].shape
        for i, tensor in enumerate(tensors):
            for mine, its in zip(first, tensor.shape, strict=True):
                if mine != its:
                    raise RuntimeError(
                        "stack expects each tensor to be equal size, but got "
                        f"{list(first)} at entry 0 and {list(tensor.shape)} at entry {i}"
                    )
    return stacked(tensors, dim)


def cat(tensors: Any, dim: int = 0) -> Any:
    if not tensors:
        raise _CAT_ERROR(_NOTHING_TO_JOIN)
    first = tensors[0].shape
    rank = len(first)
    if uneven(tensors) and rank > 1:
        along = dim + rank if dim < 0 else dim
        for i, tensor in enumerate(tensors):
            for d in range(rank):
                if d != along and first[d] != tensor.shape[d]:
                    raise RuntimeError(
                        f"Sizes of tensors must match except in dimension {along}. Expected size "
                        f"{first[d]} but got size {tensor.shape[d]} for tensor number {i} in the "
                        "list."
                    )
    return concatenated(tensors, dim)


def tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """`torch.tensor(data)` of lists and tuples in each other, or of a number with a dtype"""
    if not is_sequence(data):
        return _element(data, dtype, device)
    return _made_from(data, data, (), dtype, device)


def _made_from(data: Any, first: Any, sizes: Any, dtype: Any, device: Any) -> Any:
    """Torch takes the sizes from the first elements. On the ways where one of them is empty the
    tensor has fewer dimensions."""
    count = len(first)
    if holds_sequences(first) and count:
        return _made_from(data, first[0], (*sizes, count), dtype, device)
    return _made(data, (*sizes, count), dtype, device)


def _made(data: Any, sizes: Any, dtype: Any, device: Any) -> Any:
    if not sizes[-1]:
        return _empty(data, sizes, dtype, device)
    known = sure_type(data) if dtype is None else dtype
    if known is not None:
        return _filled(data, sizes, 0, known, device)
    return _filled_with(_type_of(data), possible_types(data), data, sizes, device)


def _filled_with(dtype: Any, types: Any, data: Any, sizes: Any, device: Any) -> Any:
    """With a type that is one of several. Recursive, so that each is known where it is used."""
    if len(types) == 1 or dtype is types[0]:
        return _filled(data, sizes, 0, types[0], device)
    return _filled_with(dtype, types[1:], data, sizes, device)


def is_sequence(value: Any) -> bool:
    """Whether a value is a row of a tensor, and no element: known at capture."""
    raise AssertionError("never runs")


def holds_sequences(values: Any) -> bool:
    """Whether the first element of a sequence is one, if there is one: known at capture."""
    raise AssertionError("never runs")


def sure_type(data: Any) -> Any:
    """The dtype of data without empty sequences in it, None where it depends on the elements:
    known at capture."""
    raise AssertionError("never runs")


def possible_types(data: Any) -> Any:
    """The dtypes that data may have: known at capture."""
    raise AssertionError("never runs")


def type_of_element(value: Any) -> Any:
    """The dtype of a number or a tensor: known at capture."""
    raise AssertionError("never runs")


def _empty(data: Any, sizes: Any, dtype: Any, device: Any) -> Any:
    """Of data with an empty sequence in it."""
    if dtype is not None:
        return torch.zeros(sizes, dtype=dtype, device=device)
    default = torch.get_default_dtype()
    known = sure_type(data)
    if known is not None and torch.promote_types(known, default) is default:
        return torch.zeros(sizes, device=device)
    return _empty_with(_type_of(data), possible_types(data), sizes, device)


def _empty_with(dtype: Any, types: Any, sizes: Any, device: Any) -> Any:
    if len(types) == 1 or dtype is types[0]:
        return torch.zeros(sizes, dtype=types[0], device=device)
    return _empty_with(dtype, types[1:], sizes, device)


def _type_of(data: Any) -> Any:
    if not is_sequence(data):
        return type_of_element(data)
    found = None
    for value in data:
        its = _type_of(value)
        found = its if found is None else torch.promote_types(found, its)
    return torch.get_default_dtype() if found is None else found


def _filled(data: Any, sizes: Any, dim: int, dtype: Any, device: Any) -> Any:
    """The tensor of the data from a dimension on."""
    if dim == len(sizes):
        return _element(data, dtype, device)
    if not is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})")
    parts = []
    for value in data:
        parts.append(_filled(value, sizes, dim + 1, dtype, device))
    return stacked(parts, 0)


def _element(value: Any, dtype: Any, device: Any) -> Any:
    if is_sequence(value):
        text = "must be real number, not {}" if dtype.is_floating_point else _NO_INTEGER
        raise TypeError(text.format(type(value).__name__))
    if isinstance(value, torch.Tensor):
        return _tensor_element(value, dtype, device)
    return _number(value, dtype, device)


def _tensor_element(value: Any, dtype: Any, device: Any) -> Any:
    if value.numel() != 1:
        if dtype.is_floating_point:
            raise _SEVERAL_ERROR(_SEVERAL)
        raise TypeError(_NO_INDEX)
    if value.dtype is dtype:
        return value.detach().reshape(())
    if value.is_floating_point() and not dtype.is_floating_point:
        raise TypeError(_NO_INDEX)
    return _number(value.item(), dtype, device)


def _number(value: Any, dtype: Any, device: Any) -> Any:
    limits = (FLOATS if isinstance(value, float) else INTEGERS).get(dtype)
    if limits is not None and not limits[0] <= value <= limits[1]:
        raise RuntimeError(_OVERFLOWS[dtype])
    if isinstance(value, float) and dtype is torch.float32:  # to infinity: `full` would raise
        return torch.full((), value, dtype=torch.float64, device=device).to(dtype)
    return torch.full((), value, dtype=dtype, device=device)


def index_type(key: Any) -> Any:
    """The dtype of a list of numbers as the index of a tensor, None for all else: known at
    capture."""
    raise AssertionError("never runs")


def _indices(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple([_indices(part) for part in key])
    dtype = index_type(key)
    return key if dtype is None else tensor(key, dtype=dtype)


def get(values: Any, key: Any) -> Any:
    """`tensor[key]` with lists of numbers in the key"""
    key = _indices(key)
    return values[key]


def put(values: Any, key: Any, value: Any) -> None:
    """`tensor[key] = value`"""
    key = _indices(key)
    values[key] = value


def rows(values: Any) -> Any:
    """`tensor.tolist()`"""
    result: list[Any] = []
    for i in range(values.shape[0]):
        row = values[i]
        result.append(rows(row) if row.dim() else row.item())
    return result
