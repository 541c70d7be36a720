"""Arguments of operators by position: all of them, in the order of the operator's schema.

Takes operators of torch and the arguments of a call, gives those of the text, and back. The schema
may be that of another torch than the one which wrote the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

#: Element types by their numbers in schemas, where they are defaults.
_ELEMENT_TYPES = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.float32, torch.float64,
)  # fmt: skip
_MEMORY_FORMATS = (
    torch.contiguous_format,
    torch.preserve_format,
    torch.channels_last,
    torch.channels_last_3d,
)


def by_position(
    target: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The arguments of a call, and defaults for those that it leaves out."""
    found: list[Any] = []
    for number, argument in enumerate(_arguments(target)):
        if number < len(args) and not argument.kwarg_only:
            value = args[number]
        elif argument.name in kwargs:
            value = kwargs[argument.name]
        else:
            value = _default(argument)
        found.append(_as_declared(argument, value))
    return tuple(found)


def as_call(
    target: OpOverload, values: Sequence[Any]
) -> tuple[tuple[Any, ...], dict[str, Any], int]:
    """Positional and named arguments for this torch, and how many values it has no place for; what
    is missing at the end has its default."""
    arguments = _arguments(target)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument, value in zip(arguments, values, strict=False):
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs, max(0, len(values) - len(arguments))


def _arguments(target: OpOverload) -> Sequence[Any]:
    return target._schema.arguments  # pyright: ignore[reportPrivateUsage]


def _default(argument: Any) -> Any:
    """A default; enumerations are numbers in schemas."""
    value = argument.default_value
    if type(value) is int:
        match _stripped(argument):
            case "ScalarType":
                return _ELEMENT_TYPES[value]
            case "MemoryFormat":
                return _MEMORY_FORMATS[value]
            case _:
                return value
    return value


def _stripped(argument: Any) -> str:
    """The type that a schema states, without its being optional."""
    return str(argument.real_type).removeprefix("Optional[").removesuffix("]")


def _as_declared(argument: Any, value: Any) -> Any:
    """A value of the kind that the schema states, where torch takes another one for it."""
    kind = _stripped(argument)
    if kind == "float" and type(value) is int:
        return float(value)
    if kind.startswith("List[") and (_is_size(value) or isinstance(value, float)):
        value = [value] * (argument.N or 1)
    if kind == "List[float" and isinstance(value, (list, tuple)):
        return [float(item) if type(item) is int else item for item in value]
    return value


def _is_size(value: Any) -> bool:
    known = value.meta.get("val") if isinstance(value, Node) else value
    return isinstance(known, (int, torch.SymInt)) and not isinstance(known, bool)
