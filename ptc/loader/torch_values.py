"""Tensors from NumPy arrays and files, and walking through nested arguments.

The only module of the loader that knows how torch's element types are named.
"""

from __future__ import annotations

import dataclasses
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ptc.hosting.dtypes import Array, ElementType, element_type
from ptc.support.diagnostics import CompileError

FLOAT_TYPES = {"f64", "f32", "f16", "bf16"}


def torch_dtype(kind: ElementType) -> torch.dtype:
    """torch's name for an element type."""
    return getattr(torch, kind.long_name)


def short_name(dtype: torch.dtype) -> str:
    """`f32` for torch.float32; torch's own name where ptc has no such type."""
    name = str(dtype).removeprefix("torch.")
    kind = element_type(name)
    return kind.name if kind else name


def float_dtype(name: str) -> torch.dtype:
    """The element type that `--dtype` names."""
    kind = element_type(name)
    if kind is None or kind.name not in FLOAT_TYPES:
        raise CompileError(
            "PTC-L050",
            f"`--dtype {name}` is not a floating element type",
            hint="use one of: f32, bf16, f16, f64",
        )
    return torch_dtype(kind)


def tensor_from_array(kind: ElementType, array: Array) -> torch.Tensor:
    """A tensor with its own storage."""
    if kind.name == "bf16":
        # NumPy's bfloat16, where there is one, is foreign to torch; the bits are not.
        bits = np.ascontiguousarray(array).view(np.int16).copy()
        return torch.from_numpy(bits).view(torch.bfloat16)
    return torch.from_numpy(np.array(array, order="C"))


def read_torch_file(path: Path) -> Any:
    """The tensors and containers in a `.pt` file. Files that hold code are refused."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=False)
    except pickle.UnpicklingError as error:
        # torch's text tells of ways to load it all the same, in colour
        foreign = re.search(r"Unsupported (?:global: GLOBAL|class) (\S+)", str(error))
        reason = f"it holds {foreign[1]}" if foreign else "torch refuses it with `weights_only`"
        raise CompileError(
            "PTC-L043",
            f"{path} holds more than tensors and containers, and loading that would run its code",
            notes=(reason,),
            hint="save tensors only: `torch.save(model.state_dict(), path)`",
        ) from None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CompileError("PTC-L021", f"cannot read {path}: {reason}") from None


def map_tensors(value: Any, change: Callable[[str, torch.Tensor], Any], path: str = "") -> Any:
    """`value` with every tensor in its containers replaced by `change(path, tensor)`.

    Paths are written as a user would index: `x`, `state[0]`, `batch.ids`.
    """
    if isinstance(value, torch.Tensor):
        return change(path, value)
    if isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None)
        steps = [f".{f}" for f in fields] if fields else [f"[{i}]" for i in range(len(value))]
        items = [map_tensors(v, change, path + s) for v, s in zip(value, steps, strict=True)]
        return type(value)(*items) if fields else type(value)(items)
    if isinstance(value, Mapping):
        items = {key: map_tensors(item, change, f"{path}.{key}") for key, item in value.items()}
        return _same_mapping(value, items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value) if f.init]
        changes = {n: map_tensors(getattr(value, n), change, f"{path}.{n}") for n in names}
        return dataclasses.replace(value, **changes)
    return value


def _same_mapping(value: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """A mapping of the same class: a dict subclass may take a dict, or only keywords."""
    try:
        return type(value)(items)  # type: ignore[call-arg]
    except TypeError:
        return type(value)(**items)
