"""ONNX rules of resizing images: nearest, linear and cubic interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ptc.loops.nodes import DType
from ptc.ops.onnx_elementwise import compute_type
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx

aten = torch.ops.aten


def _resized(
    b: OnnxBuilder, x: OnnxTensor, scales: Sequence[float | None], **options: Any
) -> OnnxTensor:
    """By the scales when all are given, since they then decide where samples are taken; else by the
    sizes of the result."""
    wide = compute_type(x.dtype)
    value = b.cast(x, wide)
    if scales and all(scale is not None for scale in scales):
        factors = b.constant([1.0, 1.0, *(float(scale or 1.0) for scale in scales)], DType.F32)
        result = b.op("Resize", value, None, factors, **options)
    else:
        result = b.op("Resize", value, None, None, b.sizes(b.shape), **options)
    return b.cast(result, b.dtype)


def _nearest(transformation: str, rounding: str) -> Any:
    def rule(b: OnnxBuilder, x: OnnxTensor, size: Any, *scales: float | None) -> OnnxTensor:
        return _resized(
            b, x, scales, mode="nearest", coordinate_transformation_mode=transformation,
            nearest_mode=rounding,
        )  # fmt: skip

    return rule


def _smooth(mode: str) -> Any:
    def rule(
        b: OnnxBuilder, x: OnnxTensor, size: Any, align_corners: bool, *scales: float | None
    ) -> OnnxTensor:
        transformation = "align_corners" if align_corners else "half_pixel"
        options: dict[str, Any] = {"cubic_coeff_a": -0.75} if mode == "cubic" else {}
        given = () if align_corners else scales
        return _resized(
            b, x, given, mode=mode, coordinate_transformation_mode=transformation, **options
        )

    return rule


def _from_list(rule: Any) -> Any:
    """The overloads that take scales as one list, or sizes alone."""

    def listed(b: OnnxBuilder, x: OnnxTensor, size: Any, *rest: Any) -> OnnxTensor:
        *flags, scales = rest
        return rule(b, x, size, *flags, *(scales or ()))

    return listed


onnx(
    aten.upsample_nearest1d.default,
    aten.upsample_nearest2d.default,
    aten.upsample_nearest3d.default,
)(_nearest("asymmetric", "floor"))
onnx(
    aten._upsample_nearest_exact1d.default,
    aten._upsample_nearest_exact2d.default,
    aten._upsample_nearest_exact3d.default,
)(_nearest("half_pixel", "round_prefer_ceil"))
onnx(
    aten.upsample_linear1d.default,
    aten.upsample_bilinear2d.default,
    aten.upsample_trilinear3d.default,
)(_smooth("linear"))
onnx(aten.upsample_bicubic2d.default)(_smooth("cubic"))
onnx(aten.upsample_nearest1d.vec, aten.upsample_nearest2d.vec, aten.upsample_nearest3d.vec)(
    _from_list(_nearest("asymmetric", "floor"))
)
onnx(
    aten._upsample_nearest_exact1d.vec,
    aten._upsample_nearest_exact2d.vec,
    aten._upsample_nearest_exact3d.vec,
)(_from_list(_nearest("half_pixel", "round_prefer_ceil")))
onnx(aten.upsample_linear1d.vec, aten.upsample_bilinear2d.vec, aten.upsample_trilinear3d.vec)(
    _from_list(_smooth("linear"))
)
onnx(aten.upsample_bicubic2d.vec)(_from_list(_smooth("cubic")))

_SAMPLING = ("linear", "nearest", "cubic")
_BORDERS = ("zeros", "border", "reflection")


@onnx(aten.grid_sampler_2d.default)
def grid_sampler(
    b: OnnxBuilder, x: OnnxTensor, grid: OnnxTensor, mode: int, padding: int, align_corners: bool
) -> OnnxTensor:
    """Samples of an image at the places that a grid names."""
    wide = compute_type(x.dtype)
    result = b.op(
        "GridSample", b.cast(x, wide), b.cast(grid, wide), mode=_SAMPLING[mode],
        padding_mode=_BORDERS[padding], align_corners=int(align_corners),
    )  # fmt: skip
    return b.cast(result, b.dtype)
