"""Inputs as compact memory: NumPy arrays, and torch tensors where torch is loaded.

torch is never imported here. A tensor can only be given where the caller has imported torch, and
then it is found in `sys.modules`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptc.hosting.dtypes import ElementType, array_accepts, array_type_name, element_type
from ptc.hosting.manifest import TensorInfo
from ptc.support.diagnostics import CompileError


@dataclass(slots=True)
class Operand:
    """A compact row-major tensor ready for the library.

    `owner` keeps the memory alive. `write_to` is the caller's own array where `owner` is a copy of
    it that the library may have changed.
    """

    pointer: int
    shape: tuple[int, ...]
    type: ElementType
    owner: Any
    write_to: Any = None

    def write_back(self) -> None:
        """Give the caller's array what the library wrote into the copy."""
        if self.write_to is not None:
            if is_torch_tensor(self.write_to):
                self.write_to.copy_(self.owner)
            else:
                np.copyto(self.write_to, self.owner)


def check_apart(values: Sequence[Any], names: Sequence[str], written: Sequence[int]) -> None:
    """That no input at the positions `written`, which a program writes to, shares memory with
    another one: programs are made for inputs that are different tensors. Raises PTC-R016."""
    spans = [_span(value) for value in values]
    for position in written:
        for other, (start, stop) in enumerate(spans):
            own = spans[position]
            if other != position and start < own[1] and own[0] < stop:
                raise CompileError(
                    "PTC-R016",
                    f"the inputs `{names[position]}` and `{names[other]}` share memory, and the "
                    f"model writes to `{names[position]}`",
                    hint="pass a copy (`.clone()`, `.copy()`)",
                )


def _span(value: Any) -> tuple[int, int]:
    """The addresses between which the elements of an array or tensor lie."""
    if is_torch_tensor(value):
        start, size = value.data_ptr(), value.element_size()
        steps = [stride * size for stride in value.stride()]
        shape = tuple(value.shape)
    elif isinstance(value, np.ndarray):
        start, size = value.__array_interface__["data"][0], value.itemsize
        shape, steps = value.shape, value.strides
    else:
        return (0, 0)
    if 0 in shape:
        return (0, 0)
    reach = [(count - 1) * step for count, step in zip(shape, steps, strict=True)]
    return (
        start + sum(r for r in reach if r < 0),
        start + sum(r for r in reach if r > 0) + size,
    )


def is_torch_tensor(value: Any) -> bool:
    """Whether `value` is a tensor of the torch that this process has imported, if it has."""
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def operand(value: Any, info: TensorInfo) -> Operand:
    """`value` for the input `info`, whatever it is, copied where it is not compact. Element type
    and device are checked here, the shape is not.

    Raises CompileError PTC-R011 (element type), PTC-R013 (device or layout), PTC-R010 (no tensor).
    """
    if is_torch_tensor(value):
        return _torch_operand(value, info)
    return _numpy_operand(_as_array(value, info), info)


def _as_array(value: Any, info: TensorInfo) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bool, int, float, complex)):
        return _number(value, info)
    if not isinstance(value, (np.generic, list, tuple)) and hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (TypeError, RuntimeError, BufferError) as error:
            raise CompileError(
                "PTC-R013", f"the input `{info.name}` cannot be read on the CPU: {error}"
            ) from None
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "USV":
        raise CompileError(
            "PTC-R010",
            f"the input `{info.name}` is a {type(value).__name__}, "
            f"expected an array of {info.dtype}",
        )
    return array


def _number(value: complex, info: TensorInfo) -> np.ndarray[Any, Any]:
    """A Python number takes the input's type, unless that would change its value's kind."""
    kind = info.type
    fits = (
        isinstance(value, bool)
        if kind.name == "bool"
        else isinstance(value, int)
        if kind.is_integer
        else not isinstance(value, complex) or not (kind.is_float)
    )
    if not fits:
        raise _wrong_type(info, type(value).__name__)
    try:
        return np.array(value, dtype=kind.numpy)
    except OverflowError:
        raise CompileError(
            "PTC-R011", f"the input `{info.name}` is {value}, which {info.dtype} cannot hold"
        ) from None


def _numpy_operand(array: np.ndarray[Any, Any], info: TensorInfo) -> Operand:
    kind = info.type
    if not array.dtype.isnative:
        raise CompileError(
            "PTC-R013",
            f"the input `{info.name}` has the byte order of another machine",
            hint="convert it with `array.astype(array.dtype.newbyteorder('='))`",
        )
    if not array_accepts(kind, array):
        raise _wrong_type(info, array_type_name(array))
    if info.mutated and not array.flags.writeable:
        raise CompileError(
            "PTC-R013", f"the input `{info.name}` is read-only, but the model writes to it"
        )
    compact = (
        array if array.flags.c_contiguous and array.flags.aligned else np.array(array, order="C")
    )
    copied = compact is not array
    return Operand(
        compact.ctypes.data, array.shape, kind, compact, array if copied and info.mutated else None
    )


def _torch_operand(tensor: Any, info: TensorInfo) -> Operand:
    kind = info.type
    given = str(tensor.dtype).removeprefix("torch.")
    if given != kind.long_name:
        short = element_type(given)
        raise _wrong_type(info, short.name if short else given)
    if tensor.device.type != "cpu" or not str(tensor.layout).endswith("strided"):
        raise CompileError(
            "PTC-R013",
            f"the input `{info.name}` is on {tensor.device} with layout {tensor.layout}, "
            "expected a dense tensor on the CPU",
            hint="move it with `.cpu()`",
        )
    plain = tensor.detach().resolve_conj().resolve_neg()
    compact = plain.contiguous()
    copied = compact.data_ptr() != tensor.data_ptr()
    return Operand(
        compact.data_ptr(),
        tuple(tensor.shape),
        kind,
        compact,
        tensor.detach() if copied and info.mutated else None,
    )


def _wrong_type(info: TensorInfo, given: str) -> CompileError:
    return CompileError(
        "PTC-R011",
        f"the input `{info.name}` has element type {given}, expected {info.dtype}",
        hint=f"convert it, for example with `.astype('{info.type.long_name}')`",
    )
