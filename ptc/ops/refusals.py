"""Operators that are known and not compiled, each with its code, its reason and a way out.

A rule or decomposition elsewhere takes precedence; a test then asks to remove the line here.
"""

from __future__ import annotations

import torch

from ptc.loops import build as b
from ptc.loops.nodes import DType
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, refuses, samples
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

_EVAL = "call model.eval(); libraries draw with torch.rand, torch.randn, torch.bernoulli"

refuses(
    aten.rand.default,
    aten.rand_like.default,
    aten.randn.default,
    aten.randn_like.default,
    aten.randint.default,
    aten.randint.low,
    aten.randint_like.default,
    aten.randint_like.low_dtype,
    aten.randperm.default,
    aten.bernoulli.default,
    aten.bernoulli.p,
    aten.multinomial.default,
    aten.normal.Tensor_Tensor,
    aten.normal.Tensor_float,
    aten.normal.float_Tensor,
    aten.normal_functional.default,
    aten.uniform.default,
    aten.exponential.default,
    aten.geometric.default,
    aten.cauchy.default,
    aten.log_normal.default,
    aten.poisson.default,
    code="PTC-O002",
    reason="draws random numbers",
    hint=_EVAL,
)
refuses(
    aten.nonzero.default,
    aten.masked_select.default,
    aten.unique_consecutive.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.repeat_interleave.Tensor,
    aten.bincount.default,
    code="PTC-O003",
    reason="gives a tensor whose size depends on data",
    hint="use torch.where(mask, x, other), a fixed size, or compute it outside the model",
)
refuses(
    aten._local_scalar_dense.default,
    code="PTC-O003",
    reason="turns tensor data into a Python number",
    hint="keep the value a tensor (drop .item(), int() or float() on it)",
)
refuses(
    aten._adaptive_avg_pool2d_backward.default,
    aten._adaptive_avg_pool3d_backward.default,
    aten.avg_pool2d_backward.default,
    aten.avg_pool3d_backward.default,
    aten.convolution_backward.default,
    aten.max_pool2d_with_indices_backward.default,
    aten.max_pool3d_with_indices_backward.default,
    code="PTC-O006",
    reason="belongs to a backward pass; training is not compiled yet",
    hint="compile the model under torch.no_grad() for inference",
)
refuses(
    aten.linalg_eig.default,
    code="PTC-O004",
    reason="factorises a matrix, which is not compiled yet",
    hint="compute it before the model and pass the result in, or add a rule: see "
    "docs/operators.md; `ptc.compile` runs it in torch",
)
refuses(
    aten.i0.default,
    aten.polygamma.default,
    aten.igamma.default,
    aten.igammac.default,
    aten.special_i0e.default,
    aten.special_i1.default,
    aten.special_i1e.default,
    aten.special_ndtri.default,
    aten.special_erfcx.default,
    aten.special_bessel_j0.default,
    aten.special_bessel_j1.default,
    aten.special_zeta.default,
    code="PTC-O004",
    reason="is a special function that is not compiled yet",
    hint="compute it before the model and pass the result in, or add a rule: see "
    "docs/operators.md; `ptc.compile` runs it in torch",
)
refuses(
    aten.mode.default,
    aten.index_reduce.default,
    aten.grid_sampler_3d.default,
    code="PTC-O004",
    reason="is not compiled yet",
    hint="write it with sort, scatter_reduce or gather, or add a rule: see docs/operators.md; "
    "`ptc.compile` runs it in torch",
)


@lowers(aten.native_dropout.default)
def lower_dropout(
    ctx: LoweringContext, x: TensorValue, p: float, train: bool | None
) -> tuple[TensorValue, TensorValue]:
    """In evaluation, x and a mask of ones; in training it draws random numbers."""
    if train is not False and p != 0.0:
        raise CompileError(
            "PTC-O002", f"dropout with p={p} in training mode draws random numbers", hint=_EVAL
        )
    return x, ctx.pointwise(x.shape, DType.BOOL, lambda _: b.literal(True, DType.BOOL))


samples(
    aten.native_dropout.default,
    sample(T("f32[3,4]"), 0.5, False, exact=True),
    sample(T("bf16[3]"), 0.1, False, exact=True),
)
