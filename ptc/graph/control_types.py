"""Types of the variables of programs with control flow: which are the same, what may be assigned.

Takes fake tensors and variables, gives reasons in words (empty: it fits) and the sizes that an
assignment leaves to be bound. Knows nothing of items.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sympy
import torch

from ptc.graph.control import ListVar, NumberKind, NumberVar, TensorVar, Var
from ptc.graph.symbols import SYMBOLIC_TYPES, expression_of, same_size
from ptc.graph.types import type_text

#: Values for symbols at which two strides are compared: layouts that agree at sizes like these
#: are one, however their expressions are written (`s0`, `Max(1, s0)`).
_PROBES = ((3, 5, 7, 11, 13, 17, 19, 23), (29, 2, 31, 37, 41, 43, 47, 53))


def var_type(variable: Var) -> str:
    """`f32[2, s0]`, `int`, `list of f32[3]`."""
    if isinstance(variable, TensorVar):
        return type_text(variable.fake)
    if isinstance(variable, NumberVar):
        return variable.kind.value
    return f"list of {element_type(variable)}"


def element_type(variable: ListVar) -> str:
    element = variable.element
    return element.value if isinstance(element, NumberKind) else type_text(element)


def differs(a: Var, b: Var) -> bool:
    """True if the two cannot be one variable."""
    if isinstance(a, TensorVar) and isinstance(b, TensorVar):
        return tensors_differ(a.fake, b.fake)
    if isinstance(a, ListVar) and isinstance(b, ListVar):
        if isinstance(a.element, torch.Tensor) and isinstance(b.element, torch.Tensor):
            return elements_differ(a.element, b.element)
        return a.element is not b.element
    return a != b


def tensors_differ(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Another dtype, rank, size or layout."""
    same = a.dtype == b.dtype and a.dim() == b.dim() and all(map(same_size, a.shape, b.shape))
    return not same or not _same_layout(a, b, {})


def elements_differ(a: torch.Tensor, b: torch.Tensor) -> bool:
    """As elements of a list: where one has a symbolic size the other may have any."""
    return (
        a.dtype != b.dtype
        or a.dim() != b.dim()
        or any(
            not same_size(one, other) and not isinstance(one, torch.SymInt)
            for one, other in zip(a.shape, b.shape, strict=True)
        )
    )


def loose_sizes(
    target: torch.Tensor, sizes: Sequence[Any], free: Collection[str]
) -> dict[str, Any] | None:
    """The symbols of `target` that a value with these sizes gives another meaning, with the size
    that each stands for; they have to be bound after the assignment. None: the value does not fit.

    `free` has the symbols that may be bound. A size that is None depends on data.
    """
    if target.dim() != len(sizes):
        return None
    found: dict[str, Any] = {}
    for wanted, size in zip(target.shape, sizes, strict=True):
        if size is not None and same_size(wanted, size):
            continue
        symbol = str(expression_of(wanted))
        if symbol not in free or same_size(found.get(symbol, size), size) is False:
            return None
        found[symbol] = size
    return found


def layout_fits(target: torch.Tensor, source: torch.Tensor, loose: Mapping[str, Any]) -> bool:
    """True if the strides are the same, with the sizes of `source` for the loose symbols."""
    return _same_layout(target, source, loose)


def is_dense(fake: torch.Tensor) -> bool:
    """True for a permutation of a row-major tensor."""
    for probe in _PROBES:
        pairs = zip(_at(fake.shape, probe), _at(fake.stride(), probe), strict=True)
        expected = 1
        for size, stride in sorted(pairs, key=lambda pair: (pair[1], pair[0])):
            if size == 1:
                continue
            if size == 0:
                break
            if stride != expected:
                return False
            expected *= size
    return True


def _same_layout(a: torch.Tensor, b: torch.Tensor, loose: Mapping[str, Any]) -> bool:
    for probe in _PROBES:
        sizes = _at(b.shape, probe)
        known = {name: _value(size, probe) for name, size in loose.items() if size is not None}
        ours, theirs = _at(a.stride(), probe, known), _at(b.stride(), probe)
        for size, one, other in zip(sizes, ours, theirs, strict=True):
            if size > 1 and one != other:
                return False
    return True


def _at(
    values: Sequence[Any], probe: Sequence[int], known: Mapping[str, int] | None = None
) -> list[int]:
    return [_value(value, probe, known) for value in values]


def _value(value: Any, probe: Sequence[int], known: Mapping[str, int] | None = None) -> int:
    if not isinstance(value, SYMBOLIC_TYPES):
        return int(value)
    numbers = {
        symbol: sympy.Integer((known or {}).get(str(symbol), _probe(str(symbol), probe)))
        for symbol in expression_of(value).free_symbols
    }
    return int(expression_of(value).xreplace(numbers))


def _probe(symbol: str, probe: Sequence[int]) -> int:
    return probe[sum(symbol.encode()) % len(probe)]


def whole(view: torch.Tensor, base: torch.Tensor) -> bool:
    """True if `view`, which shares the storage of `base`, has all of its elements."""
    counts = (_count(view), _count(base))
    return bool(counts[0] == counts[1]) and same_size(view.storage_offset(), base.storage_offset())


def _count(fake: torch.Tensor) -> Any:
    product: Any = sympy.Integer(1)
    for size in fake.shape:
        product *= expression_of(size)
    return sympy.expand(product)


def kind_of_element(dtype: torch.dtype) -> NumberKind | None:
    """What `item()` gives."""
    if dtype == torch.bool:
        return NumberKind.BOOL
    if dtype.is_complex:
        return None
    return NumberKind.FLOAT if dtype.is_floating_point else NumberKind.INT
