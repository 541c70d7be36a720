"""Tensors taken apart: `split`, `chunk` and `unbind` where data decides how many parts there are.
They become a tuple whose length data decides, where torch wants to know the number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ptc.capture.control import reading
from ptc.capture.control.lists import DataListValue
from ptc.capture.control.tuples import DataTupleValue
from ptc.capture.errors import GraphBreak
from ptc.capture.polyfills import data_pieces
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

#: Function -> what it is in Python, and what its second argument may be called.
_APART: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "split": (data_pieces.split, ("split_size", "split_size_or_sections")),
    "split_with_sizes": (data_pieces.split_by, ("split_sizes",)),
    "chunk": (data_pieces.chunk, ("chunks",)),
    "unbind": (data_pieces.unbind, ()),
}


def torch_call(
    vm: ControlMachine,
    target: Any,
    call: reading.Call,
    args: list[Value],
    kwargs: dict[str, Value],
) -> Value:
    """The call, or what stands for it where data decides how many parts it gives."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    entry = _APART.get(name)
    if entry is None or not args or not isinstance(args[0], TensorValue):
        return reading.reading_numbers(vm, call, args, kwargs)
    function, names = entry
    given = list(args)
    for known in names:
        given += [kwargs[known]] if known in kwargs else []
    dim = kwargs.get("dim", kwargs.get("axis"))
    rest = {} if dim is None else {"dim": dim}
    if len(given) > 1 and isinstance(given[1], (DataListValue, DataTupleValue)):
        return vm.call(vm.wrap_fixed(data_pieces.split_by), given, rest)
    try:
        if function is not data_pieces.split or not _is_nothing(vm, given):
            return reading.reading_numbers(vm, call, args, kwargs)
    except GraphBreak as refused:
        if refused.code != "PTC-B009":
            raise
    return vm.call(vm.wrap_fixed(function), given, rest)


def _is_nothing(vm: ControlMachine, given: list[Value]) -> bool:
    """Whether parts have the size 0 that data decides: what that raises differs on fake tensors."""
    size = given[1] if len(given) > 1 else None
    by_data = isinstance(size, (DataNumber, SymbolicNumber))
    return by_data and vm.truth(vm.compare("==", size, ConstantValue(0)))
