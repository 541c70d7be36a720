"""Libraries whose conditions on sizes need a proof, against eager for sizes of every remainder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ptc
from ptc.graph.assumptions import Assumption, undecided
from ptc.graph.program import DimRange
from ptc.graph.symbols import expression_of, fresh_sizes
from ptc.support.diagnostics import CompileError


def windows(x: Tensor) -> Tensor:
    """Attention's windows over a padded image, and back."""
    b, h, w, c = x.shape
    x = F.pad(x, (0, 0, 0, (-w) % 4, 0, (-h) % 4))
    rows, columns = x.shape[1] // 4, x.shape[2] // 4
    parts = x.view(b, rows, 4, columns, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
    y = parts.softmax(1).view(b, rows, columns, 4, 4, c).permute(0, 1, 3, 2, 4, 5)
    return y.reshape(b, 4 * rows, 4 * columns, c)[:, :h, :w].contiguous()


def spectrum_and_back(w: Tensor) -> Tensor:
    window = torch.hann_window(64)
    x = torch.stft(w, 64, hop_length=16, window=window, return_complex=True)
    return torch.istft(x, 64, hop_length=16, window=window, length=w.shape[-1])


def corner(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x[:, : x.shape[0]].contiguous()
    return x + 0, y


def written_corner(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x[:, : x.shape[0]].contiguous()
    y.add_(1)
    return x + 0, y


def corner_of_written(x: Tensor) -> Tensor:
    y = x.clone()
    z = y[:, : x.shape[0]].contiguous()
    y[0].add_(1)
    return z


def built(function: Any, x: Tensor, sizes: dict[int, str], folder: Path) -> Any:
    (name,) = function.__code__.co_varnames[: function.__code__.co_argcount]
    library = folder / "libsizes.so"
    ptc.build(function, (x,), output=library, dynamic={name: sizes})
    return ptc.load(library)


def test_windows_of_an_image_of_any_size(tmp_path: Path) -> None:
    run = built(windows, torch.randn(2, 8, 8, 8), {1: "h", 2: "w"}, tmp_path)
    for h, w in ((8, 8), (5, 5), (5, 12), (7, 9), (13, 6), (10, 11), (16, 31), (33, 8)):
        x = torch.randn(2, h, w, 8)
        torch.testing.assert_close(run(x), windows(x))


def test_a_spectrum_and_back(tmp_path: Path) -> None:
    run = built(spectrum_and_back, torch.randn(2, 400), {1: "n[64..2000]"}, tmp_path)
    for n in (64, 65, 79, 80, 399, 400, 1001, 2000):
        x = torch.randn(2, n)
        torch.testing.assert_close(run(x), spectrum_and_back(x), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("height", [5, 8])
def test_contiguous_of_what_may_be_is_a_copy(height: int, tmp_path: Path) -> None:
    run = built(corner, torch.randn(height, 8), {0: "h[2..8]"}, tmp_path)
    for h in (2, 5, 7, 8):
        x = torch.randn(h, 8)
        torch.testing.assert_close(tuple(run(x)), corner(x))


@pytest.mark.parametrize("function", [written_corner, corner_of_written])
@pytest.mark.parametrize("height", [5, 8])
def test_a_write_to_what_may_be_a_copy_is_refused(
    function: Any, height: int, tmp_path: Path
) -> None:
    """At a height of 8, the write is one to both."""
    with pytest.raises(CompileError) as info:
        built(function, torch.randn(height, 8), {0: "h[2..8]"}, tmp_path)
    assert info.value.code == "PTC-A002"


def test_an_open_question_names_the_users_sizes() -> None:
    described = DimRange("n", 64, 2000)
    _, sizes, ranges = fresh_sizes({"n": described})
    error = undecided(Assumption(expression_of(sizes["n"]) % 2 >= 1), ranges)
    assert "n % 2" in error.diagnostic.message
    assert "`n` is 64..2000; `n` decides that at each call" in error.diagnostic.message


def test_a_write_to_what_is_always_a_copy(tmp_path: Path) -> None:
    def turned(x: Tensor) -> Tensor:
        return x.transpose(0, 1).contiguous().add_(1)

    run = built(turned, torch.randn(5, 8), {0: "h", 1: "w"}, tmp_path)
    x = torch.randn(6, 3)
    torch.testing.assert_close(run(x), turned(x))
