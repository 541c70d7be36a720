"""Operators that draw random numbers from a state that is a tensor: `torch.ops.ptc.random_*`.

A state is `i32[628]`: the 624 words of a Mersenne twister, the position of the next word (624: all
are used up), whether a second normal number is waiting, and that number's 64 bits. Each operator
takes a state and gives what it drew and the state after it, so that the order of draws is an order
of data. Bounds and the like are tensors of one element, f64 or i64. What they draw is what
`torch.Generator` in that state would. Numbers in eager torch come from such a generator.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

STATE_WORDS = 628
_WORDS = 624
# What `Generator.get_state` gives: seed, words left and whether seeded, the next word's place; the
# words, 64 bits each; three numbers of which the second waits, and whether it does; padding.
_HEAD = struct.Struct("<QiiQ")
_TAIL = struct.Struct("<dddi12x")

_DRAWN = "-> (Tensor, Tensor)"
_SCHEMAS: Mapping[str, str] = {
    "random_seeded": "(Tensor seed) -> Tensor",
    "random_uniform": f"(Tensor state, SymInt[] size, Tensor low, Tensor high, bool wide) {_DRAWN}",
    "random_normal": f"(Tensor state, SymInt[] size, Tensor mean, Tensor std, bool wide) {_DRAWN}",
    "random_exponential": f"(Tensor state, SymInt[] size, Tensor rate, bool wide) {_DRAWN}",
    "random_integers": f"(Tensor state, SymInt[] size, Tensor low, Tensor high) {_DRAWN}",
    "random_permutation": f"(Tensor state, SymInt n) {_DRAWN}",
}


def generator_of(state: Tensor) -> torch.Generator:
    """A generator in `state`."""
    words = state.tolist()
    place, waits, low, high = words[_WORDS:]
    waiting = struct.unpack("<d", struct.pack("<ii", low, high))[0]
    head = _HEAD.pack(0, 1 if place == _WORDS else _WORDS + 1 - place, 1, place % _WORDS)
    body = struct.pack(f"<{_WORDS}Q", *(word & 0xFFFFFFFF for word in words[:_WORDS]))
    packed = bytearray(head + body + _TAIL.pack(0.0, waiting, 0.0, waits != 0))
    return torch.Generator().set_state(torch.frombuffer(packed, dtype=torch.uint8))


def state_of(generator: torch.Generator) -> Tensor:
    """The state that a generator is in."""
    packed = bytes(generator.get_state().tolist())
    _, left, _, place = _HEAD.unpack_from(packed)
    words = struct.unpack_from(f"<{_WORDS}Q", packed, _HEAD.size)
    _, waiting, _, waits = _TAIL.unpack_from(packed, _HEAD.size + 8 * _WORDS)
    tail = [_WORDS if left == 1 else place, int(waits != 0)]
    tail += struct.unpack("<ii", struct.pack("<d", waiting if waits else 0.0))
    signed = struct.unpack(f"<{_WORDS}i", struct.pack(f"<{_WORDS}I", *words))
    return torch.tensor([*signed, *tail], dtype=torch.int32)


# -- generators of live objects -------------------------------------------------------------------

# Generators and the tensors that stand for their states in programs, by id of the tensor
_MIRRORS: dict[int, tuple[Tensor, torch.Generator]] = {}


def mirror_of(generator: torch.Generator) -> Tensor:
    """The tensor that stands for a generator in programs, with the state that programs begin with:
    the generator's, or for torch's own the state right after `torch.manual_seed`."""
    is_own = generator is torch.default_generator
    state = _seeded(torch.tensor(_signed(torch.initial_seed()))) if is_own else state_of(generator)
    for mirror, owner in _MIRRORS.values():
        if owner is generator:
            return mirror.copy_(state)
    _MIRRORS[id(state)] = state, generator
    return state


def mirrored_by(tensor: Tensor) -> torch.Generator | None:
    """The generator that a tensor stands for."""
    found = _MIRRORS.get(id(tensor))
    return None if found is None else found[1]


def _signed(seed: int) -> int:
    return seed - 2**64 if seed >= 2**63 else seed


# -- operators ------------------------------------------------------------------------------------


def _drawn(state: Tensor, draw: Callable[[torch.Generator], Tensor]) -> tuple[Tensor, Tensor]:
    generator = generator_of(state)
    values = draw(generator)
    return values, state_of(generator)


def _float(wide: bool) -> torch.dtype:
    return torch.float64 if wide else torch.float32


def _seeded(seed: Tensor) -> Tensor:
    return state_of(torch.Generator().manual_seed(int(seed)))


def _uniform(
    state: Tensor, size: Sequence[int], low: Tensor, high: Tensor, wide: bool
) -> tuple[Tensor, Tensor]:
    empty = torch.empty(size, dtype=_float(wide))
    return _drawn(state, lambda g: empty.uniform_(float(low), float(high), generator=g))


def _normal(
    state: Tensor, size: Sequence[int], mean: Tensor, std: Tensor, wide: bool
) -> tuple[Tensor, Tensor]:
    empty = torch.empty(size, dtype=_float(wide))
    return _drawn(state, lambda g: empty.normal_(float(mean), float(std), generator=g))


def _exponential(
    state: Tensor, size: Sequence[int], rate: Tensor, wide: bool
) -> tuple[Tensor, Tensor]:
    empty = torch.empty(size, dtype=_float(wide))
    return _drawn(state, lambda g: empty.exponential_(float(rate), generator=g))


def _integers(
    state: Tensor, size: Sequence[int], low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor]:
    return _drawn(state, lambda g: torch.randint(int(low), int(high), size, generator=g))


def _permutation(state: Tensor, n: int) -> tuple[Tensor, Tensor]:
    return _drawn(state, lambda g: torch.randperm(n, generator=g))


def _fake_seeded(seed: Tensor) -> Tensor:
    return seed.new_empty((STATE_WORDS,), dtype=torch.int32)


def _fake_floats(
    state: Tensor, size: Sequence[int], first: Tensor, second: Tensor, wide: bool
) -> tuple[Tensor, Tensor]:
    return state.new_empty(size, dtype=_float(wide)), torch.empty_like(state)


def _fake_exponential(
    state: Tensor, size: Sequence[int], rate: Tensor, wide: bool
) -> tuple[Tensor, Tensor]:
    return state.new_empty(size, dtype=_float(wide)), torch.empty_like(state)


def _fake_integers(
    state: Tensor, size: Sequence[int], low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor]:
    return state.new_empty(size, dtype=torch.int64), torch.empty_like(state)


def _fake_permutation(state: Tensor, n: int) -> tuple[Tensor, Tensor]:
    return state.new_empty((n,), dtype=torch.int64), torch.empty_like(state)


_IMPLEMENTATIONS: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "random_seeded": (_seeded, _fake_seeded),
    "random_uniform": (_uniform, _fake_floats),
    "random_normal": (_normal, _fake_floats),
    "random_exponential": (_exponential, _fake_exponential),
    "random_integers": (_integers, _fake_integers),
    "random_permutation": (_permutation, _fake_permutation),
}


def _register() -> torch.library.Library | None:
    """Declare the operators, once in a process: a second copy of this module finds them there."""
    if hasattr(torch.ops.ptc, "random_seeded"):
        return None
    library = torch.library.Library("ptc", "FRAGMENT")
    for name, schema in _SCHEMAS.items():
        eager, fake = _IMPLEMENTATIONS[name]
        library.define(name + schema)
        library.impl(name, eager, "CompositeExplicitAutograd")
        torch.library.register_fake(f"ptc::{name}", fake, lib=library)
    return library


# The library object owns the registrations: they go when it is collected.
_LIBRARY = _register()
OPERATORS = torch.ops.ptc
