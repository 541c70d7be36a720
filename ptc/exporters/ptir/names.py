"""Operator names of the portable IR: `aten::add.Tensor`, `aten::relu` (for the default overload).

Both directions. Only functional operators of known namespaces are found: a name in a file cannot
reach anything else.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

from ptc.ops import opaque

# Importing `opaque` declares torch.ops.ptc.
NAMESPACES = ("aten", opaque.NAMESPACE, "prims")

#: Arithmetic on sizes whose result is no integer.
SCALAR_OPERATORS: dict[Callable[..., Any], str] = {
    operator.add: "scalar::add",
    operator.mul: "scalar::mul",
    operator.truediv: "scalar::truediv",
    operator.pow: "scalar::pow",
    operator.eq: "scalar::eq",
    operator.ne: "scalar::ne",
    operator.lt: "scalar::lt",
    operator.le: "scalar::le",
    operator.gt: "scalar::gt",
    operator.ge: "scalar::ge",
    operator.and_: "scalar::and",
    operator.or_: "scalar::or",
    torch.sym_max: "scalar::max",
    torch.sym_min: "scalar::min",
    torch.sym_float: "scalar::float",
    torch.sym_not: "scalar::not",
    math.floor: "scalar::floor",
    math.ceil: "scalar::ceil",
    math.trunc: "scalar::trunc",
}

SCALAR_FUNCTIONS: dict[str, Callable[..., Any]] = {n: f for f, n in SCALAR_OPERATORS.items()}


def operator_name(target: OpOverload) -> str:
    """`aten::add.Tensor`; the overload `default` is not written."""
    namespace, _, name = target._schema.name.partition("::")  # pyright: ignore[reportPrivateUsage]
    overload = target._overloadname  # pyright: ignore[reportPrivateUsage]
    suffix = "" if overload == "default" else f".{overload}"
    return f"{namespace}::{name}{suffix}"


def find_operator(name: str) -> OpOverload | None:
    """The operator called `name`, or None if there is none or it mutates its arguments."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    if namespace not in NAMESPACES or not base.isidentifier():
        return None
    packet = getattr(getattr(torch.ops, namespace), base, None)
    found = getattr(packet, overload or "default", None)
    if not isinstance(found, OpOverload):
        return None
    return None if found._schema.is_mutable else found  # pyright: ignore[reportPrivateUsage]
