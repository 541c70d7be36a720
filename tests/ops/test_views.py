"""Index maps against NumPy: reshapes of every shape of some sizes, slices with symbolic bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ptc.loops.index import Index
from ptc.ops.shapes import broadcast_shapes, reshape_groups, reshape_map, unravel
from ptc.ops.slicing import from_front, slice_bounds


class Sizes:
    """The part of a lowering context that slice bounds need."""

    def size(self, value: int | Index) -> Index:
        return Index.of(value)

    def counts_sizes(self, index: Index) -> bool:
        return True


def shapes_of(size: int) -> list[tuple[int, ...]]:
    """All shapes of up to three dims with `size` elements."""
    sides = [n for n in range(1, size + 1) if size % n == 0]
    return [s for r in (1, 2, 3) for s in itertools.product(sides, repeat=r) if np.prod(s) == size]


@pytest.mark.parametrize("size", [1, 6, 8, 12])
def test_reshape_maps(size: int) -> None:
    for old, new in itertools.product(shapes_of(size), repeat=2):
        remap = reshape_map([Index.of(n) for n in old], [Index.of(n) for n in new])
        array = np.arange(size).reshape(old)
        expected = array.reshape(new)
        for place in itertools.product(*map(range, new)):
            source = tuple(int(i) for i in remap(tuple(Index.of(i) for i in place)))
            assert array[source] == expected[place], (old, new, place)


def test_symbolic_reshape_splits_no_more_than_it_must() -> None:
    batch, length = Index.var("s0"), Index.var("s1")
    old = (batch, length, Index.of(12))
    new = (batch, length, Index.of(3), Index.of(4))
    groups = reshape_groups(old, new)
    assert [(g.old_end - g.old, g.new_end - g.new) for g in groups] == [(1, 1), (1, 1), (1, 2)]
    merged = reshape_groups((batch, length, Index.of(12)), (batch * length, Index.of(12)))
    assert [(g.old_end - g.old, g.new_end - g.new) for g in merged] == [(2, 1), (1, 1)]


def test_unravel_is_the_inverse_of_raveling() -> None:
    shape = (3, 4, 5)
    for n in range(60):
        index = unravel(Index.of(n), [Index.of(s) for s in shape])
        assert tuple(int(i) for i in index) == tuple(np.unravel_index(n, shape))


def test_broadcast_shapes_keep_constants() -> None:
    s = Index.var("s0")
    one = Index.of(1)
    assert broadcast_shapes((s, one), (one, Index.of(4))) == (s, Index.of(4))
    assert broadcast_shapes((Index.of(3),), (Index.of(2), one)) == (Index.of(2), Index.of(3))


@pytest.mark.parametrize("step", [1, 2, 3])
def test_slice_bounds(step: int) -> None:
    numbers = [None, -7, -5, -2, 0, 1, 3, 5, 9]
    for size, start, end in itertools.product((0, 1, 5), numbers, numbers):
        first, length = slice_bounds(Sizes(), Index.of(size), start, end, step)  # type: ignore[arg-type]
        expected = range(size)[start:end:step]
        assert int(length) == len(expected)
        if len(expected):
            assert int(first) == expected[0]


def test_slice_bounds_with_a_symbolic_size() -> None:
    size = Index.var("s0")
    for start, end in itertools.product([None, -7, -2, 0, 1, 6], repeat=2):
        first, length = slice_bounds(Sizes(), size, start, end, 1)  # type: ignore[arg-type]
        for n in (1, 4, 7, 9):
            expected = range(n)[start:end]
            assert length.evaluate({"s0": n}) == len(expected), (start, end, n)
            if len(expected):
                assert first.evaluate({"s0": n}) == expected[0]


def test_bounds_of_unclear_sign() -> None:
    a, size = Index.var("s0"), Index.var("s1")
    place = from_front(Sizes(), a - 5, size)  # type: ignore[arg-type]
    for n in (1, 4, 5, 9):
        expected = n - 5 if n >= 5 else n - 5 + 20
        assert place.evaluate({"s0": n, "s1": 20}) == expected
