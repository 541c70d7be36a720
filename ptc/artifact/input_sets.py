"""The calls with which a library is compared with eager, and what becomes of those it cannot run.

Takes a request and the ranges of its sizes; gives the example, fresh values, other sizes, and the
ends of the ranges. What was drawn may not fit the model (indices drawn for ten rows, and three
rows): then others take its place. How a variant of a call is made is the loader's business.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any, TypeVar

import torch
from torch.utils import _pytree as pytree

from ptc.loader.arguments import named_tensors
from ptc.loader.model import Arguments, EntryRequest
from ptc.loader.tracebacks import user_error
from ptc.loader.variants import variant_of

#: Seconds and elements of the inputs that a comparison at the upper end of a range may take.
_SECONDS = 2.0
_ELEMENTS = 1 << 24
_MOST_CHOICES = 9

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SizeRange:
    """A symbolic size: the user's name, and the sizes for which the library is made."""

    name: str
    lower: int
    upper: int | None


@dataclass(frozen=True, slots=True)
class InputSet:
    """One call. `sizes`: the sizes that were chosen for it. `end`: it stands at an end of a range,
    where the model itself may fail. `others`: the calls that may take its place where eager raises;
    None for the example, which nothing replaces, and at an end."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    end: bool = False
    others: Callable[[], Iterator[InputSet]] | None = None


class EagerRaises(Exception):
    """Eager raises on an input set, so that it says nothing of a library."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def on_one_that_runs(
    given: InputSet, attempt: Callable[[InputSet], T], name: str, notes: list[str]
) -> T | None:
    """What `attempt`, which runs eager, gives for the set or for the first of those in its place.

    None, and a note, where it raises EagerRaises for all. Raises CompileError PTC-L060 where it
    does so for the example of the entry `name`.
    """
    failures: list[Exception] = []
    for candidate in itertools.chain([given], given.others() if given.others else ()):
        try:
            return attempt(candidate)
        except EagerRaises as failure:
            failures.append(failure.error)
    if not given.end and given.others is None:
        raise user_error(
            "PTC-L060",
            f"calling `{name}` on its example inputs",
            failures[0],
            hint="the model raises this in plain Python too; check the inputs that were given",
        ) from failures[0]
    note = _not_compared(given, failures[0])
    if note not in notes:
        notes.append(note)
    return None


def _not_compared(given: InputSet, error: Exception) -> str:
    sizes = ", ".join(f"`{name}` = {size}" for name, size in given.sizes.items())
    kind, reason = type(error).__name__, str(error).strip().partition("\n")[0]
    if given.end:
        return f"not compared at {sizes}: the model itself fails, {kind}: {reason}"
    if given.sizes:
        return f"checked at the example's sizes only: eager raises {kind} at {sizes}: {reason}"
    return f"checked with the example's values only: eager raises {kind} on others: {reason}"


def input_sets(request: EntryRequest, ranges: Sequence[SizeRange]) -> Iterator[InputSet]:
    """The example, a fresh draw, a fresh draw at other sizes; then both ends of the ranges, and, of
    sizes that may be 0 or 1, those beside other sizes of the rest.

    Made one by one: the time between two of them tells what a comparison costs, and the upper end
    is brought nearer where it would cost too much.
    """
    example: Arguments = (request.args, dict(request.kwargs))
    vary = request.variant or partial(variant_of, request.function, example, request.dynamic)
    yield InputSet(*example)
    fresh = partial(_fresh, example, vary)
    start = time.perf_counter()
    yield InputSet(*vary(1, {}), others=partial(fresh, 10))
    seconds = time.perf_counter() - start
    tensors = named_tensors(request.function, example)
    usual = _example_sizes(request, tensors)
    other = {r.name: _other_size(r) for r in ranges}
    seen = [usual, other]

    def larger() -> Iterator[InputSet]:
        nonlocal other
        for seed, sizes in enumerate(_larger(ranges, usual, other), start=30):
            elements = _elements(request, tensors, sizes)
            if elements <= max(_ELEMENTS, 2 * _elements(request, tensors, {})):
                other = sizes
                seen.append(sizes)
                yield InputSet(*vary(seed, sizes), sizes)
        other = {**other, **usual}

    yield InputSet(*vary(2, other), other, others=larger if other else partial(fresh, 20))
    lower = {r.name: r.lower for r in ranges}
    upper = _affordable(request, ranges, tensors, seconds)
    for seed, sizes in enumerate((lower, upper, *_mixed(ranges, other)), start=3):
        if sizes not in seen:
            seen.append(sizes)
            yield InputSet(*vary(seed, sizes), sizes, end=True)


def _fresh(
    example: Arguments, vary: Callable[[int, Mapping[str, int]], Arguments], seed: int
) -> Iterator[InputSet]:
    """Other values at the example's sizes; last with its integers, whose order may mean something
    (where bags of an embedding begin)."""
    for number in range(seed, seed + 3):
        yield InputSet(*vary(number, {}))
    drawn = vary(seed, {})
    yield InputSet(*pytree.tree_map(_unless_integer, drawn, example))


def _unless_integer(drawn: Any, own: Any) -> Any:
    integer = isinstance(own, torch.Tensor) and not (own.is_floating_point() or own.is_complex())
    return own if integer else drawn


def _larger(
    ranges: Sequence[SizeRange], usual: Mapping[str, int], other: Mapping[str, int]
) -> Iterator[dict[str, int]]:
    """Sizes in place of `other` ones at which eager raises: all a little and much larger than the
    example's, then one at a time, those of the rest as in the example."""
    seen = [{**other, **usual}, dict(other)]
    grown = [
        {r.name: _within(r, grow(usual.get(r.name, other[r.name]))) for r in ranges}
        for grow in (lambda size: size + 1, lambda size: size * 2)
    ]
    alone = [
        {**seen[0], r.name: sizes[r.name]} for r in ranges for sizes in (*grown, other)
    ]  # fmt: skip
    for sizes in (*grown, *alone):
        if sizes not in seen:
            seen.append(sizes)
            yield sizes


def _within(size: SizeRange, wanted: int) -> int:
    wanted = max(size.lower, wanted)
    return wanted if size.upper is None else min(wanted, size.upper)


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
    return _within(size, 3)


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
