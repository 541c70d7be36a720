"""Inputs that are not plain tensors in the CPU's memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ptc


def _double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def _complex() -> torch.Tensor:
    return torch.tensor([1 + 2j, 3 - 1j])


_TENSORS: dict[str, Any] = {
    "lazily negated": lambda: _complex().conj().imag,
    "lazily conjugated": lambda: _complex().conj(),
    "sparse": lambda: torch.eye(2).to_sparse(),
    "mkldnn": lambda: torch.ones(2).to_mkldnn(),
    "eight bits": lambda: torch.ones(2).to(torch.float8_e4m3fn).float(),
}


@pytest.mark.parametrize("plain_first", [False, True])
@pytest.mark.parametrize("name", _TENSORS)
def test_tensors_of_other_kinds(name, plain_first):
    given = _TENSORS[name]()
    plain = torch.ones(given.shape, dtype=given.dtype)
    compiled = ptc.compile(_double)
    for x in (plain, given, plain) if plain_first else (given, plain, given):
        expected, got = _double(x), compiled(x)
        assert got.layout == expected.layout
        torch.testing.assert_close(
            got.to_dense() if got.layout != torch.strided else got,
            expected.to_dense() if expected.layout != torch.strided else expected,
        )


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_devices_run_in_eager():
    got = ptc.compile(_double)(torch.ones(2, device="meta"))
    assert got.device.type == "meta"
    assert got.shape == (2,)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_complex_number():
    x = torch.randn(3)
    compiled = ptc.compile(lambda x, n: x * n)
    for number in (2, 1 + 2j, 0.5):
        torch.testing.assert_close(compiled(x, number), x * number)


@pytest.mark.parametrize("plain_first", [False, True])
def test_write_to_elements_that_share_memory(plain_first):
    compiled = ptc.compile(lambda x: x.mul_(2))
    if plain_first:
        compiled(torch.ones(4, 6))
    with pytest.raises(RuntimeError, match="single memory location"):
        compiled(torch.ones(1, 6).expand(4, 6))
