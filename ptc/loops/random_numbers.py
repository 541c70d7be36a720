"""Random numbers in NumPy: what the runtime routines of `ptc_random.h` draw.

The state is `i32[628]`: the words of a Mersenne twister, the position of the next one, whether a
second normal number is waiting, and its bits. Uniform numbers are the low 24 or 53 bits of a draw,
of two words for 53, the first of which is the upper half. Normal numbers come in pairs (Box and
Muller). Fewer than 16 are made one pair after the other in double precision, and one that is left
waits for the next call; of 16 and more, all uniform numbers come first, and number i and i + 8 of
16 are a pair. A rest below 16 is drawn anew as the last 16.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ptc.loops.scalar_numpy import Array

_WORDS = 624
_BLOCK = 16
# From this range on, a draw has 64 bits.
_WIDE_RANGE = 1 << 28


class _Twister:
    """A state to draw from."""

    def __init__(self, state: Array) -> None:
        self._bits = np.random.MT19937()
        key = state[:_WORDS].astype(np.uint32)
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": key, "pos": int(state[_WORDS])},
        }
        self._waits = bool(state[_WORDS + 1])
        self._waiting = float(state[_WORDS + 2 :].view(np.float64)[0])

    def store(self, state: Array) -> None:
        inner: Any = self._bits.state["state"]
        state[:_WORDS] = inner["key"].astype(np.int32)
        state[_WORDS] = inner["pos"]
        state[_WORDS + 1] = self._waits
        state[_WORDS + 2 :] = np.array([self._waiting if self._waits else 0.0]).view(np.int32)

    def words(self, n: int) -> Array:
        return self._bits.random_raw(n)

    def long_words(self, n: int) -> Array:
        pairs = self.words(2 * n).reshape(n, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def units(self, n: int, dtype: Any) -> Array:
        """Uniform in [0, 1)."""
        if dtype == np.float32:
            return (self.words(n) & np.uint64(0xFFFFFF)).astype(dtype) * dtype(2.0**-24)
        return (self.long_words(n) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53

    def normal(self) -> float:
        if self._waits:
            self._waits = False
            return self._waiting
        angle, size = self.units(2, np.float64)
        radius = math.sqrt(-2.0 * math.log1p(-size))
        self._waits, self._waiting = True, radius * math.sin(2.0 * math.pi * angle)
        return radius * math.cos(2.0 * math.pi * angle)

    def many_normals(self, n: int, dtype: Any) -> Array:
        values = self.units(n, dtype)
        whole = n // _BLOCK * _BLOCK
        _pair_up(values[:whole].reshape(-1, _BLOCK))
        if whole != n:
            values[n - _BLOCK :] = self.units(_BLOCK, dtype)
            _pair_up(values[n - _BLOCK :].reshape(1, _BLOCK))
        return values


def _pair_up(blocks: Array) -> None:
    one = blocks.dtype.type
    radius = np.sqrt(one(-2) * np.log(one(1) - blocks[:, :8]))
    angle = one(2 * math.pi) * blocks[:, 8:]
    blocks[:, :8], blocks[:, 8:] = radius * np.cos(angle), radius * np.sin(angle)


def _scaled(x: Array, scale: Any, shift: Any) -> Array:
    """x * scale + shift in (nearly always) one rounding."""
    wide = np.float64 if x.dtype == np.float32 else np.longdouble
    return (x.astype(wide) * wide(scale) + wide(shift)).astype(x.dtype)


def seeded(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]) -> None:
    """The state of a generator with seed `inputs[0]`: its lower 32 bits count."""
    word = int(inputs[0]) & 0xFFFFFFFF
    words = [word]
    for i in range(1, _WORDS):
        word = (1812433253 * (word ^ (word >> 30)) + i) & 0xFFFFFFFF
        words.append(word)
    outputs[0][:_WORDS] = np.array(words, np.uint32).astype(np.int32)
    outputs[0][_WORDS:] = [_WORDS, 0, 0, 0]


def uniform(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]) -> None:
    """Uniform in [inputs[1], inputs[2]), and the state after."""
    twister, values = _Twister(inputs[0]), outputs[0]
    number = values.dtype.type
    low, high = number(inputs[1]), number(inputs[2])
    drawn = _scaled(twister.units(values.size, number), high - low, low)
    values[...] = drawn.reshape(values.shape)
    twister.store(outputs[1])


def normal(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]) -> None:
    """Normal of mean inputs[1] and deviation inputs[2], and the state after."""
    twister, values = _Twister(inputs[0]), outputs[0]
    mean, std = float(inputs[1]), float(inputs[2])
    if values.size < _BLOCK:
        drawn = np.array([twister.normal() * std + mean for _ in range(values.size)])
    else:
        number = values.dtype.type
        drawn = _scaled(twister.many_normals(values.size, number), number(std), number(mean))
    values[...] = drawn.reshape(values.shape)
    twister.store(outputs[1])


def exponential(
    inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]
) -> None:
    """Exponential of rate inputs[1], and the state after."""
    twister, values = _Twister(inputs[0]), outputs[0]
    units = twister.units(values.size, np.float64)
    values[...] = (-1.0 / float(inputs[1]) * np.log1p(-units)).reshape(values.shape)
    twister.store(outputs[1])


def integers(inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]) -> None:
    """Integers in [inputs[1], inputs[2]), and the state after."""
    twister, values = _Twister(inputs[0]), outputs[0]
    low, span = int(inputs[1]), int(inputs[2]) - int(inputs[1])
    draw = twister.long_words if span >= _WIDE_RANGE else twister.words
    drawn = draw(values.size) % np.uint64(span) + np.uint64(low & (1 << 64) - 1)
    values[...] = drawn.astype(np.int64).reshape(values.shape)
    twister.store(outputs[1])


def permutation(
    inputs: Sequence[Array], outputs: Sequence[Array], attrs: Mapping[str, Any]
) -> None:
    """0 .. n - 1 in an order of chance (Fisher and Yates), and the state after."""
    twister, values = _Twister(inputs[0]), outputs[0]
    n = values.size
    values[...] = np.arange(n)
    for i, word in enumerate(twister.words(max(n - 1, 0))):
        other = i + int(word) % (n - i)
        values[i], values[other] = int(values[other]), int(values[i])
    twister.store(outputs[1])


ROUTINES = {
    "random_seeded": seeded,
    "random_uniform": uniform,
    "random_normal": normal,
    "random_exponential": exponential,
    "random_integers": integers,
    "random_permutation": permutation,
}
