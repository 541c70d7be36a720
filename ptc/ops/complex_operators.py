"""The opaque operators for complex numbers: parts of a tensor, and Fourier transforms of parts.

Each is declared with a fake implementation that is safe for symbolic sizes and an eager one that
calls torch. Transforms are along the last dimension; `normalization` is aten's: 0 none, 1 by the
root of the length, 2 by the length. `mirror` completes the transform of real numbers, one part of
it, from its first half. Knows nothing of lowering: see `complex_parts`, `fourier`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ptc.ops import opaque

_SCHEMAS: Mapping[str, str] = {
    "real": "(Tensor x) -> Tensor",
    "imag": "(Tensor x) -> Tensor",
    "fft": "(Tensor re, Tensor im, bool forward, int normalization) -> (Tensor, Tensor)",
    "rfft": "(Tensor x, int normalization) -> (Tensor, Tensor)",
    "irfft": "(Tensor re, Tensor im, SymInt n, int normalization) -> Tensor",
    "mirror": "(Tensor half, SymInt n, bool negated) -> Tensor",
}


def _eager_real(x: Tensor) -> Tensor:
    return x.real.clone()


def _eager_imag(x: Tensor) -> Tensor:
    return x.resolve_conj().imag.clone()


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.real.contiguous(), x.imag.contiguous()


def _eager_fft(re: Tensor, im: Tensor, forward: bool, normalization: int) -> tuple[Tensor, Tensor]:
    return _parts(
        torch.ops.aten._fft_c2c(torch.complex(re, im), [re.dim() - 1], normalization, forward)
    )


def _eager_rfft(x: Tensor, normalization: int) -> tuple[Tensor, Tensor]:
    return _parts(torch.ops.aten._fft_r2c(x, [x.dim() - 1], normalization, True))


def _eager_irfft(re: Tensor, im: Tensor, n: int, normalization: int) -> Tensor:
    return torch.ops.aten._fft_c2r(
        torch.complex(re, im), [re.dim() - 1], normalization, n
    ).contiguous()


def _eager_mirror(half: Tensor, n: int, negated: bool) -> Tensor:
    rest = half[..., 1 : n - half.shape[-1] + 1].flip(-1)
    return torch.cat([half, -rest if negated else rest], -1)


def _fake_part(x: Tensor) -> Tensor:
    return x.new_empty(x.shape, dtype=x.dtype.to_real())


def _fake_fft(re: Tensor, im: Tensor, forward: bool, normalization: int) -> tuple[Tensor, Tensor]:
    return re.new_empty(re.shape), re.new_empty(re.shape)


def _fake_rfft(x: Tensor, normalization: int) -> tuple[Tensor, Tensor]:
    shape = (*x.shape[:-1], x.shape[-1] // 2 + 1)
    return x.new_empty(shape), x.new_empty(shape)


def _fake_irfft(re: Tensor, im: Tensor, n: int, normalization: int) -> Tensor:
    return re.new_empty((*re.shape[:-1], n))


def _fake_mirror(half: Tensor, n: int, negated: bool) -> Tensor:
    return half.new_empty((*half.shape[:-1], n))


#: What each operator computes, in operators of torch's own.
EAGER: Mapping[str, Callable[..., Any]] = {
    "real": _eager_real,
    "imag": _eager_imag,
    "fft": _eager_fft,
    "rfft": _eager_rfft,
    "irfft": _eager_irfft,
    "mirror": _eager_mirror,
}
_FAKE: Mapping[str, Callable[..., Any]] = {
    "real": _fake_part,
    "imag": _fake_part,
    "fft": _fake_fft,
    "rfft": _fake_rfft,
    "irfft": _fake_irfft,
    "mirror": _fake_mirror,
}


def _register() -> torch.library.Library | None:
    """Declare the operators, once in a process: a second copy of this module finds them there."""
    if hasattr(opaque.OPERATORS, "rfft"):
        return None
    library = torch.library.Library(opaque.NAMESPACE, "FRAGMENT")
    for name, schema in _SCHEMAS.items():
        library.define(name + schema)
        library.impl(name, EAGER[name], "CompositeExplicitAutograd")
        torch.library.register_fake(f"{opaque.NAMESPACE}::{name}", _FAKE[name], lib=library)
    return library


# The library object owns the registrations: they go when it is collected.
_LIBRARY = _register()

# Where rules find them: importing the name makes sure that they are declared.
OPERATORS = torch.ops.ptc
