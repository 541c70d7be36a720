"""Functions of torch on spectra that read data, in Python. Only ever traced."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F


def istft(
    input: Any,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Any = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    """`torch.istft`: each frame back, times the window; their sums over the sum of squared windows.
    Raises where windows leave a gap."""
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    call = (
        f"istft({described(input)}, n_fft={n_fft}, hop_length={hop}, win_length={size}, "
        f"window={described_window(window)}, center={int(center)}, normalized={int(normalized)}, "
        f"onesided={None if onesided is None else int(onesided)}, length={length}, "
        f"return_complex={int(return_complex)}) "
    )
    require_fitting(call, input, n_fft, hop, size, window, onesided)
    whole = window if window is not None else torch.ones(size, dtype=input.real.dtype)
    left = (n_fft - size) // 2
    if size != n_fft:
        whole = F.pad(whole, [left, n_fft - size - left])
    frames = (input.unsqueeze(0) if input.dim() == 2 else input).transpose(1, 2)
    count = frames.shape[1]
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = torch.fft.ifft(frames, dim=-1, norm=norm) * whole
    else:
        half = frames[..., : n_fft // 2 + 1]
        frames = torch.fft.irfft(half, n=n_fft, dim=-1, norm=norm) * whole
    total = n_fft + hop * (count - 1)
    square = (whole * whole.conj() if whole.is_complex() else whole * whole).expand(1, count, n_fft)
    start = n_fft // 2 if center else 0
    if length is not None:
        end = start + length
    else:
        end = total - n_fft // 2 if center else total
    envelope = overlapped(square, total, hop)[:, start:end]
    if not envelope.abs().min() > 1e-11:
        raise RuntimeError(f"{call}window overlap add min: 1\n[ CPUBoolType{{}} ]")
    result = overlapped(frames, total, hop)[:, start:end] / envelope
    if input.dim() == 2:
        result = result.squeeze(0)
    if end > total:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded "
            "with zeros in the tail. Please check your center and hop_length settings.",
            stacklevel=2,
        )
        result = F.pad(result, [0, end - total])
    return result


def require_fitting(
    call: str, input: Any, n_fft: int, hop: int, size: int, window: Any, onesided: Any
) -> None:
    """Raise what torch does where the numbers do not go together."""
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"{call}: expected a tensor with 3 or 4 dimensions, but got {input.dim() + 1}"
        )
    count = input.shape[-2]
    half = onesided if onesided is not None else count != n_fft
    if half and n_fft // 2 + 1 != count:
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft / 2 + 1 when onesided=True, but got {count}"
        )
    if not half and n_fft != count:
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft when onesided=False, but got {count}"
        )
    if not 0 < hop <= size:
        raise RuntimeError(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and (window.dim() != 1 or window.shape[0] != size):
        raise RuntimeError(
            f"{call}: Invalid window shape. window has to be 1D and length of `win_length`"
        )


def overlapped(frames: Any, total: int, hop: int) -> Any:
    """The sums of frames [batch, count, size] laid `hop` apart: [batch, total]."""
    if frames.is_complex():
        return torch.complex(
            overlapped(frames.real, total, hop), overlapped(frames.imag, total, hop)
        )
    columns = frames.transpose(1, 2)
    return F.fold(columns, (1, total), (1, frames.shape[2]), stride=(1, hop)).flatten(1)


def described(input: Any) -> str:
    """A tensor of complex numbers as torch's messages have it."""
    kind = "CPUComplexDoubleType" if input.dtype == torch.complex128 else "CPUComplexFloatType"
    return f"{kind}[{', '.join([str(n) for n in input.shape])}]"


def described_window(window: Any) -> str:
    """A window as torch's messages have it."""
    if window is None:
        return "None"
    kind = "Double" if window.dtype == torch.float64 else "Float"
    return f"torch.{kind}Tensor{{[{window.shape[0]}]}}"
