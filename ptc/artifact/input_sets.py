"""The calls with which a library is compared with eager.

Takes a request and the ranges of its sizes; gives the example, fresh values, other sizes, and the
ends of the ranges. How a variant of a call is made is the loader's business.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import torch

from ptc.loader.arguments import named_tensors
from ptc.loader.model import Arguments, EntryRequest
from ptc.loader.variants import variant_of

#: Seconds and elements of the inputs that a comparison at the upper end of a range may take.
_SECONDS = 2.0
_ELEMENTS = 1 << 24
_MOST_CHOICES = 9


@dataclass(frozen=True, slots=True)
class SizeRange:
    """A symbolic size: the user's name, and the sizes for which the library is made."""

    name: str
    lower: int
    upper: int | None


@dataclass(frozen=True, slots=True)
class InputSet:
    """One call. `sizes`: the sizes that were chosen for it. `end`: it stands at an end of a range,
    where the model itself may fail."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    end: bool = False


def input_sets(request: EntryRequest, ranges: Sequence[SizeRange]) -> Iterator[InputSet]:
    """The example, a fresh draw, a fresh draw at other sizes; then both ends of the ranges, and, of
    sizes that may be 0 or 1, those beside other sizes of the rest.

    Made one by one: the time between two of them tells what a comparison costs, and the upper end
    is brought nearer where it would cost too much.
    """
    example: Arguments = (request.args, dict(request.kwargs))
    vary = request.variant or partial(variant_of, request.function, example, request.dynamic)
    yield InputSet(*example)
    start = time.perf_counter()
    yield InputSet(*vary(1, {}))
    seconds = time.perf_counter() - start
    other = {r.name: _other_size(r) for r in ranges}
    yield InputSet(*vary(2, other), other)
    tensors = named_tensors(request.function, example)
    seen = [_example_sizes(request, tensors), other]
    lower = {r.name: r.lower for r in ranges}
    upper = _affordable(request, ranges, tensors, seconds)
    for seed, sizes in enumerate((lower, upper, *_mixed(ranges, other)), start=3):
        if sizes not in seen:
            seen.append(sizes)
            yield InputSet(*vary(seed, sizes), sizes, end=True)


def _mixed(ranges: Sequence[SizeRange], other: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The sizes that torch may treat apart beside other ones: every choice of them, or, where those
    are many, one at a time."""
    small = {r.name: [*range(r.lower, 2), other[r.name]] for r in ranges if r.lower < 2}
    if prod(map(len, small.values())) <= _MOST_CHOICES:
        for sizes in itertools.product(*small.values()):
            yield {**other, **dict(zip(small, sizes, strict=True))}
    else:
        for name, sizes in small.items():
            yield from ({**other, name: size} for size in sizes)


def _other_size(size: SizeRange) -> int:
    """A size in the range that an example is unlikely to have."""
    wanted = max(size.lower, 3)
    return wanted if size.upper is None else min(wanted, size.upper)


def _example_sizes(request: EntryRequest, tensors: Mapping[str, torch.Tensor]) -> dict[str, int]:
    return {
        dim.name: tensors[path].shape[number]
        for path, named in (request.dynamic or {}).items()
        for number, dim in named.items()
    }


def _affordable(
    request: EntryRequest,
    ranges: Sequence[SizeRange],
    tensors: Mapping[str, torch.Tensor],
    seconds: float,
) -> dict[str, int]:
    """The upper ends, halved until a comparison stays within the limits; sizes without an upper
    end stay as in the example."""
    usual = _example_sizes(request, tensors)
    before = max(1, _elements(request, tensors, {}))
    bounded = [r for r in ranges if r.upper is not None]
    for halvings in range(64):
        sizes = dict(usual)
        for r in bounded:
            assert r.upper is not None
            sizes[r.name] = max(r.upper >> halvings, min(usual.get(r.name, r.upper), r.upper))
        elements = _elements(request, tensors, sizes)
        # Between a cost in proportion to the inputs and attention's, which grows with the square.
        cost = seconds * (elements / before) ** 1.5
        if sizes == usual or (elements <= _ELEMENTS and cost <= _SECONDS):
            return sizes
    return usual


def _elements(
    request: EntryRequest, tensors: Mapping[str, torch.Tensor], sizes: Mapping[str, int]
) -> int:
    """Elements of all inputs at these sizes."""
    total = 0
    for path, tensor in tensors.items():
        named = (request.dynamic or {}).get(path, {})
        total += prod(
            sizes.get(named[number].name, size) if number in named else size
            for number, size in enumerate(tensor.shape)
        )
    return total
