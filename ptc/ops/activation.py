"""Activation functions. Each is one pointwise kernel; 16-bit floats are computed in f32.

Activations not listed here (selu, celu, hardshrink, glu...) come apart into these and arithmetic by
torch's decompositions.
"""

from __future__ import annotations

import math

import torch

from ptc.loops import build as b
from ptc.loops.nodes import Expr
from ptc.ops.elementwise import elementwise, number, scalar, unary
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples, samples_for
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

Number = float | int | bool

_SQRT_HALF = math.sqrt(0.5)
_TANH_SCALE = math.sqrt(2.0 / math.pi)


@lowers(aten.relu.default)
def lower_relu(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """max(x, 0)."""
    return unary(ctx, x, lambda v: b.max_(v, 0))


@lowers(aten.hardtanh.default)
def lower_hardtanh(ctx: LoweringContext, x: TensorValue, low: Number, high: Number) -> TensorValue:
    """x clamped to [low, high], in the type of x."""
    dtype = x.dtype
    return unary(ctx, x, lambda v: b.min_(b.max_(v, scalar(low, dtype)), scalar(high, dtype)))


@lowers(aten.relu6.default)
def lower_relu6(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """x clamped to [0, 6]."""
    return lower_hardtanh(ctx, x, 0, 6)


@lowers(aten.leaky_relu.default)
def lower_leaky_relu(ctx: LoweringContext, x: TensorValue, slope: Number) -> TensorValue:
    """x where positive, else slope * x."""
    return unary(ctx, x, lambda v: b.where(b.gt(v, 0.0), v, b.mul(v, number(slope, v))))


@lowers(aten.softshrink.default)
def lower_softshrink(ctx: LoweringContext, x: TensorValue, lambd: Number) -> TensorValue:
    """x moved towards 0 by lambd, 0 where it is within; NaN stays. Eager compares 16-bit floats in
    f32 with a limit that is not rounded to them, which torch's decomposition does."""

    def shrink(v: Expr) -> Expr:
        limit = number(lambd, v)
        below = b.where(b.lt(v, b.neg(limit)), b.add(v, limit), b.mul(v, 0.0))
        return b.where(b.gt(v, limit), b.sub(v, limit), below)

    return unary(ctx, x, shrink)


@lowers(aten.rrelu_with_noise_functional.default)
def lower_rrelu(
    ctx: LoweringContext,
    x: TensorValue,
    noise: TensorValue,
    low: Number,
    high: Number,
    training: bool,
    generator: object,
) -> tuple[TensorValue, TensorValue]:
    """In evaluation, leaky_relu with the mean slope; in training it draws random slopes."""
    if training:
        raise CompileError(
            "PTC-O002", "rrelu in training mode draws random numbers", hint="call model.eval()"
        )
    return lower_leaky_relu(ctx, x, (float(low) + float(high)) / 2), noise


@lowers(aten._prelu_kernel.default)
def lower_prelu(ctx: LoweringContext, x: TensorValue, weight: TensorValue) -> TensorValue:
    """x where positive, else weight * x; `weight` is broadcastable already."""
    return elementwise(ctx, [x, weight], lambda v, w: b.where(b.gt(v, 0.0), v, b.mul(w, v)))


@lowers(aten.gelu.default)
def lower_gelu(ctx: LoweringContext, x: TensorValue, approximate: str) -> TensorValue:
    """x * Phi(x), exact by erf or in the tanh approximation (Hendrycks and Gimpel, 2016)."""
    return unary(ctx, x, _gelu_tanh if approximate == "tanh" else _gelu_erf)


def _gelu_erf(v: Expr) -> Expr:
    return b.mul(b.mul(v, 0.5), b.add(b.erf(b.mul(v, _SQRT_HALF)), 1.0))


def _gelu_tanh(v: Expr) -> Expr:
    cubic = b.add(v, b.mul(b.mul(b.mul(v, v), v), 0.044715))
    return b.mul(b.mul(v, 0.5), b.add(b.tanh(b.mul(cubic, _TANH_SCALE)), 1.0))


@lowers(aten.silu.default)
def lower_silu(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """x * sigmoid(x)."""
    return unary(ctx, x, lambda v: b.mul(v, b.sigmoid(v)))


@lowers(aten.hardsigmoid.default)
def lower_hardsigmoid(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """clamp(x + 3, 0, 6) / 6."""
    return unary(ctx, x, lambda v: b.div(_clamped_plus_three(v), 6.0))


@lowers(aten.hardswish.default)
def lower_hardswish(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """x * clamp(x + 3, 0, 6) / 6."""
    return unary(ctx, x, lambda v: b.div(b.mul(v, _clamped_plus_three(v)), 6.0))


def _clamped_plus_three(v: Expr) -> Expr:
    return b.min_(b.max_(b.add(v, 3.0), 0.0), 6.0)


@lowers(aten.elu.default)
def lower_elu(
    ctx: LoweringContext, x: TensorValue, alpha: Number, scale: Number, input_scale: Number
) -> TensorValue:
    """scale * x where positive, else scale * alpha * (exp(input_scale * x) - 1)."""

    def body(v: Expr) -> Expr:
        below = b.apply("expm1", b.mul(v, number(input_scale, v)))
        return b.where(
            b.le(v, 0.0),
            b.mul(below, b.mul(number(alpha, v), number(scale, v))),
            b.mul(v, number(scale, v)),
        )

    return unary(ctx, x, body)


@lowers(aten.softplus.default)
def lower_softplus(
    ctx: LoweringContext, x: TensorValue, beta: Number, threshold: Number
) -> TensorValue:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x exceeds the threshold."""

    def body(v: Expr) -> Expr:
        scaled = b.mul(v, number(beta, v))
        soft = b.div(b.apply("log1p", b.exp(scaled)), number(beta, v))
        return b.where(b.gt(scaled, number(threshold, v)), v, soft)

    return unary(ctx, x, body)


@lowers(aten.mish.default)
def lower_mish(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """x * tanh(log(1 + exp(x)))."""
    return unary(ctx, x, lambda v: b.mul(v, b.tanh(_softplus(v))))


def _softplus(v: Expr) -> Expr:
    return b.add(b.max_(v, 0.0), b.apply("log1p", b.exp(b.neg(b.abs_(v)))))


@lowers(aten.log_sigmoid.default)
def lower_log_sigmoid(ctx: LoweringContext, x: TensorValue) -> TensorValue:
    """log(sigmoid(x)), without overflow on either side."""
    return unary(ctx, x, _log_sigmoid)


@lowers(aten.log_sigmoid_forward.default)
def lower_log_sigmoid_forward(
    ctx: LoweringContext, x: TensorValue
) -> tuple[TensorValue, TensorValue]:
    """log_sigmoid and the buffer that its CPU backward pass reads, exp(-|x|)."""
    saved = unary(ctx, x, lambda v: b.exp(b.neg(b.abs_(v))))
    return unary(ctx, x, _log_sigmoid), saved


def _log_sigmoid(v: Expr) -> Expr:
    return b.sub(b.min_(v, 0.0), b.apply("log1p", b.exp(b.neg(b.abs_(v)))))


# --- samples ------------------------------------------------------------------------------------

_FLOATS = (
    sample(T("f32[3,7]"), tolerance=2.0),
    sample(T("f32[50]", low=-40.0, high=40.0), tolerance=2.0),
    sample(T("f32[40]", special=True), tolerance=2.0),
    sample(T("f32[]"), tolerance=2.0),
    sample(T("f32[0,3]")),
    sample(T("f64[5]"), tolerance=4.0),
    sample(T("f16[9]")),
    sample(T("bf16[9,2]", layout="transposed")),
)
# Eager's gelu gives NaN for +inf in long tensors only, so special values have no one answer there.
samples_for((aten.gelu.default,), *(row for row in _FLOATS if not row.args[0].special))
samples_for(
    (
        aten.relu.default,
        aten.hardtanh.default,
        aten.relu6.default,
        aten.leaky_relu.default,
        aten.silu.default,
        aten.hardsigmoid.default,
        aten.hardswish.default,
        aten.elu.default,
        aten.softplus.default,
        aten.mish.default,
        aten.log_sigmoid.default,
    ),
    *_FLOATS,
)
samples(aten.relu.default, sample(T("i64[5]")), sample(T("i32[5]")))
samples(aten.hardtanh.default, sample(T("f32[9]"), -0.3, 0.7), sample(T("bf16[9]"), -0.3, 0.7))
samples(
    aten.softshrink.default,
    sample(T("f32[9]", special=True)),
    sample(T("f64[9]"), 0.3),
    sample(T("bf16[64]", low=0.29, high=0.31), 0.3, exact=True),
    sample(T("f16[9]"), 0.3),
)
samples(aten.leaky_relu.default, sample(T("f32[9]"), 0.2), sample(T("bf16[9]"), 0.2))
samples(
    aten._prelu_kernel.default,
    sample(T("f32[2,3,4]"), T("f32[1,3,1]")),
    sample(T("bf16[2,3]"), T("bf16[1,1]")),
)
for _row in _FLOATS:
    samples(
        aten.gelu.default,
        sample(*_row.args, approximate="tanh", tolerance=_row.tolerance),
    )
samples(
    aten.elu.default,
    sample(T("f32[9]"), 1.67, 1.05, tolerance=2.0),
    sample(T("f32[9]"), 0.5, 1.0, 2.0, tolerance=2.0),
)
samples(aten.softplus.default, sample(T("f32[30]", low=-20.0, high=20.0), 2.0, 5.0, tolerance=2.0))
# The second result is scratch space whose content eager leaves to the device.
samples(aten.log_sigmoid_forward.default, sample(T("f32[9]"), tolerance=2.0))
samples(
    aten.rrelu_with_noise_functional.default,
    sample(T("f32[9]"), T("f32[9]"), 0.125, 0.3, False),
)
samples_for(
    (aten.gelu.default, aten.silu.default, aten.hardswish.default, aten.relu.default),
    sample(T("f32[3,131]"), tolerance=2.0),
    sample(T("bf16[3,131]")),
)
