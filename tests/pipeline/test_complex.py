"""Models with complex numbers and Fourier transforms, as libraries and with ptc.compile."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ptc


def compare(
    model: nn.Module, library: Any, *calls: tuple[Any, ...], tolerance: float = 2e-5
) -> None:
    """Values, types and shapes are eager's at every call."""
    for args in calls:
        expected, found = model(*args), library(*args)
        if not isinstance(expected, tuple):
            expected, found = (expected,), (found,)
        for want, got in zip(expected, found, strict=True):
            torch.testing.assert_close(torch.as_tensor(got), want, rtol=tolerance, atol=tolerance)


def built(model: nn.Module, folder: Path, *args: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    path = folder / "libmodel.so"
    ptc.build(model, args, output=path, **options)
    return ptc.load(path)


class Boundary(nn.Module):
    """Complex inputs, parameters, buffers and results; conjugates given and returned."""

    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 5, dtype=torch.cfloat))
        self.register_buffer("count", torch.zeros(5, dtype=torch.cdouble))

    def forward(self, x: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        y = torch.complex(x, 2 * x) @ self.weight
        self.count += y.mean(0)
        return y, z.conj(), (z * 1j).imag, z, self.count * 2, z.abs() + z.angle()


def test_complex_tensors_at_the_boundary(tmp_path: Path) -> None:
    model = Boundary()
    z = torch.randn(2, 3, dtype=torch.cfloat)
    x = torch.randn(3, 4)
    library = built(model, tmp_path, x, z)
    model = copy.deepcopy(model)
    compare(model, library, (x, z), (x, z.conj()), (x, torch.view_as_complex(torch.randn(2, 3, 2))))
    named = {t.name: t.dtype for t in library.entry("forward").info.inputs}
    assert named == {"x": "f32", "z": "c64"}


class Llama(nn.Module):
    """The rotary embedding of Meta's Llama."""

    def __init__(self) -> None:
        super().__init__()
        inverse = 1.0 / (10000.0 ** (torch.arange(0, 8, 2).float() / 8))
        angles = torch.outer(torch.arange(16).float(), inverse)
        self.freqs_cis = torch.polar(torch.ones_like(angles), angles)

    def forward(self, xq: Tensor, xk: Tensor) -> tuple[Tensor, Tensor]:
        q = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
        k = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
        freqs = self.freqs_cis[: xq.shape[1]]
        freqs = freqs.view(*[d if i in (1, q.ndim - 1) else 1 for i, d in enumerate(q.shape)])
        turned_q = torch.view_as_real(q * freqs).flatten(3)
        turned_k = torch.view_as_real(k * freqs).flatten(3)
        return turned_q.type_as(xq), turned_k.type_as(xk)


def test_rotary_embedding(tmp_path: Path) -> None:
    model = Llama()
    calls = [(torch.randn(2, n, 2, 8), torch.randn(2, n, 1, 8)) for n in (5, 16, 2)]
    dynamic = {"xq": {1: "n[2..16]"}, "xk": {1: "n[2..16]"}}
    compare(model, built(model, tmp_path, *calls[0], dynamic=dynamic), *calls)


class FNO2d(nn.Module):
    """A layer of a Fourier neural operator: complex weights, written corners of a spectrum."""

    def __init__(self) -> None:
        super().__init__()
        shape = (3, 4, 2, 3)
        self.low = nn.Parameter(torch.randn(shape, dtype=torch.cfloat))
        self.high = nn.Parameter(torch.randn(shape, dtype=torch.cfloat))

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.fft.rfft2(x)
        out = torch.zeros(*x.shape[:1], 4, *spectrum.shape[2:], dtype=torch.cfloat)
        out[:, :, :2, :3] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :2, :3], self.low)
        out[:, :, -2:, :3] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -2:, :3], self.high)
        return torch.fft.irfft2(out, s=x.shape[-2:])


def test_fourier_neural_operator(tmp_path: Path) -> None:
    model = FNO2d()
    x = torch.randn(2, 3, 10, 7)
    compare(model, built(model, tmp_path, x), (x,), (-x,))


class S4D(nn.Module):
    """A diagonal state space model: its kernel of powers of a complex number, convolved by FFT."""

    def __init__(self) -> None:
        super().__init__()
        self.log_dt = nn.Parameter(torch.linspace(-4, -2, 3))
        self.c = nn.Parameter(torch.randn(3, 4, 2))
        self.log_real = nn.Parameter(torch.full((3, 4), math.log(0.5)))
        self.imag = nn.Parameter(math.pi * torch.arange(4).float().repeat(3, 1))

    def forward(self, u: Tensor) -> Tensor:
        n = u.shape[-1]
        rate = -torch.exp(self.log_real) + 1j * self.imag
        step = rate * self.log_dt.exp().unsqueeze(-1)
        powers = torch.exp(step.unsqueeze(-1) * torch.arange(n))
        c = torch.view_as_complex(self.c) * (torch.exp(step) - 1.0) / rate
        kernel = 2 * torch.einsum("hn,hnl->hl", c, powers).real
        product = torch.fft.rfft(kernel, n=2 * n) * torch.fft.rfft(u, n=2 * n)
        return torch.fft.irfft(product, n=2 * n)[..., :n]


def test_state_space_model(tmp_path: Path) -> None:
    model = S4D()
    calls = [(torch.randn(2, 3, n),) for n in (12, 7, 30)]
    compare(model, built(model, tmp_path, *calls[0], dynamic={"u": {2: "n[2..40]"}}), *calls)


class Audio(nn.Module):
    """A spectrogram in mel bands, and the signal back from a masked spectrum."""

    window: Tensor
    bands: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.register_buffer("bands", torch.rand(9, 5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        spectrum = torch.stft(x, 16, 4, window=self.window, return_complex=True)
        mel = (spectrum.abs().square().transpose(1, 2) @ self.bands).clamp_min(1e-5).log()
        masked = spectrum * torch.sigmoid(spectrum.abs())
        return mel, torch.istft(masked, 16, 4, window=self.window, length=x.shape[-1])


def test_spectrogram_and_back(tmp_path: Path) -> None:
    model = Audio()
    x = torch.randn(2, 50)
    compare(model, built(model, tmp_path, x), (x,), (x.flip(0),))


class Windowed(nn.Module):
    def forward(self, spectrum: Tensor, window: Tensor) -> Tensor:
        return torch.istft(spectrum, 8, 4, window=window, center=False)


def test_windows_that_leave_a_gap_raise(tmp_path: Path) -> None:
    model = Windowed()
    spectrum = torch.randn(5, 6, dtype=torch.cfloat)
    library = built(model, tmp_path, spectrum, torch.ones(8))
    compare(model, library, (spectrum, torch.rand(8) + 0.1))
    with pytest.raises(RuntimeError) as expected:
        model(spectrum, torch.hann_window(8))
    with pytest.raises(RuntimeError) as found:
        library(spectrum, torch.hann_window(8))
    assert str(found.value) == str(expected.value)


class Mixed(nn.Module):
    """As FNet mixes tokens; transforms of all kinds, norms, and lengths with large primes."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        mixed = torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real
        line = torch.fft.ifft(torch.complex(x, -x), norm="ortho")
        back = torch.fft.irfftn(torch.fft.rfftn(x), s=x.shape)
        return mixed, line, back, torch.fft.hfft(torch.fft.ihfft(x)), torch.fft.fftshift(x)


# tests/runtime/test_fft.py and the operators' samples have transforms of both types by default.
@pytest.mark.parametrize(
    "dtype", [torch.float32, pytest.param(torch.float64, marks=pytest.mark.slow)]
)
def test_transforms(tmp_path: Path, dtype: torch.dtype) -> None:
    model = Mixed()
    calls = [(torch.randn(b, n, dtype=dtype),) for b, n in ((3, 34), (2, 16), (6, 45), (38, 2))]
    tolerance = 1e-5 if dtype is torch.float32 else 1e-12
    options = {"dynamic": {"x": {0: "b[2..50]", 1: "n[2..50]"}}}
    compare(model, built(model, tmp_path, *calls[0], **options), *calls, tolerance=tolerance)


class Branches(nn.Module):
    """Complex tensors in arms and loops that data decides."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = torch.fft.fft(x)
        z = z * 1j if z.abs().sum() > 10 else z.conj()
        while z.abs().max() > 1:
            z = z * (0.5 + 0.1j)
        return z, z.real.sum()


def test_complex_tensors_across_control_flow(tmp_path: Path) -> None:
    model = Branches()
    calls = [(factor * torch.randn(4),) for factor in (0.01, 1.0, 100.0)]
    compare(model, built(model, tmp_path, calls[0][0]), *calls)


def test_gradients_of_complex_parameters() -> None:
    model = FNO2d()
    again = copy.deepcopy(model)
    x = torch.randn(2, 3, 10, 7)
    ptc.compile(model)(x).square().sum().backward()
    again(x).square().sum().backward()
    torch.testing.assert_close(model.low.grad, again.low.grad)
    torch.testing.assert_close(model.high.grad, again.high.grad)


def test_live_complex_weights() -> None:
    model = Boundary()
    again = copy.deepcopy(model)
    compiled = ptc.compile(model)
    x, z = torch.randn(3, 4), torch.randn(2, 3, dtype=torch.cfloat)
    with torch.no_grad():
        for given in (z, z.conj(), z.mT.contiguous().mT):
            compare(again, compiled, (x, given))
            for m in (model, again):
                m.weight.mul_(1 + 1j)
    torch.testing.assert_close(model.count, again.count, rtol=1e-5, atol=1e-5)


def test_a_product_along_a_dynamic_dimension_is_refused(tmp_path: Path) -> None:
    class Product(nn.Module):
        def forward(self, z: Tensor) -> Tensor:
            return z.cumprod(0)

    with pytest.raises(ptc.CompileError) as refused:
        built(Product(), tmp_path, torch.randn(4, dtype=torch.cfloat), dynamic={"z": {0: "n"}})
    assert refused.value.code == "PTC-A001"
    assert "test_complex.py" in str(refused.value)
