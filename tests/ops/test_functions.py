"""Torch functions that users call, through functionalisation, decompositions and lowering.

The sample table checks rules one by one; this checks that what torch takes apart arrives at rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map_only

from ptc.autograd.functionalise import functionalise
from ptc.graph.program import CapturedProgram, InputKind, ProgramInput, ProgramOutput
from ptc.loops import interpreter
from ptc.loops.verifier import verify
from ptc.schedule.lower import lower
from tests.ops.arrays import to_numpy


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape) + len(shape)))


def positive(*shape: int) -> torch.Tensor:
    return randn(*shape).abs() + 0.1


def ids(*shape: int, high: int = 5) -> torch.Tensor:
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(3))


X = randn(2, 6)
IMAGE = randn(2, 4, 7, 6)
MASK = randn(2, 6) > 0

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {}


def case(name: str, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    CASES[name] = (fn, args, kwargs)


for _name in [
    "relu",
    "relu6",
    "elu",
    "selu",
    "celu",
    "leaky_relu",
    "gelu",
    "silu",
    "mish",
    "softplus",
    "softsign",
    "tanhshrink",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "hardshrink",
    "softshrink",
    "logsigmoid",
    "glu",
    "sigmoid",
    "tanh",
]:
    case(_name, getattr(F, _name), X)
case("threshold", F.threshold, X, 0.1, 20.0)
case("prelu", F.prelu, IMAGE, positive(4))
case("rrelu_eval", F.rrelu, X)
case("softmax", F.softmax, X, -1)
case("softmax_dtype", F.softmax, X.to(torch.bfloat16), -1, dtype=torch.float32)
case("log_softmax", F.log_softmax, X, 0)
case("softmin", F.softmin, X, 1)
case("normalize", F.normalize, X)
case("cosine_similarity", F.cosine_similarity, X, randn(2, 6) * 2, 1)
case("pairwise_distance", F.pairwise_distance, X, randn(2, 6) * 2)
case("layer_norm", F.layer_norm, X, (6,), randn(6), randn(6))
case("group_norm", F.group_norm, IMAGE, 2, randn(4), randn(4))
case("instance_norm", F.instance_norm, IMAGE)
case("batch_norm", F.batch_norm, IMAGE, randn(4), positive(4), randn(4), randn(4))
case("rms_norm", F.rms_norm, X, (6,), randn(6))
case("local_response_norm", F.local_response_norm, IMAGE, 3)
case("linear", F.linear, X, randn(3, 6), randn(3))
case("bilinear", F.bilinear, X, randn(2, 5), randn(3, 6, 5), randn(3))
case("embedding", F.embedding, ids(2, 3), randn(5, 4))
for _mode in ("sum", "mean"):
    case(
        f"embedding_bag_{_mode}",
        F.embedding_bag,
        ids(9),
        randn(5, 4),
        torch.tensor([0, 2, 2, 7]),
        mode=_mode,
    )
case(
    "embedding_bag_last",
    F.embedding_bag,
    ids(9),
    randn(5, 4),
    torch.tensor([0, 2, 9]),
    mode="mean",
    include_last_offset=True,
    padding_idx=1,
)
case("embedding_bag_rows", F.embedding_bag, ids(3, 4), randn(5, 4), mode="sum")
case("one_hot", F.one_hot, ids(2, 3), 5)
case("conv1d", F.conv1d, randn(2, 4, 9), randn(3, 4, 3), padding="same")
case("conv2d", F.conv2d, IMAGE, randn(8, 2, 3, 3), randn(8), 2, 1, 1, 2)
case("conv2d_unbatched", F.conv2d, IMAGE[0], randn(3, 4, 3, 3))
case("conv3d", F.conv3d, randn(1, 2, 4, 5, 4), randn(3, 2, 2, 2, 2))
case("conv_transpose1d", F.conv_transpose1d, randn(2, 4, 5), randn(4, 3, 3), stride=2)
case("conv_transpose2d", F.conv_transpose2d, IMAGE, randn(4, 3, 2, 2), None, 2)
case("max_pool1d", F.max_pool1d, randn(2, 3, 8), 2)
case("max_pool2d", F.max_pool2d, IMAGE, 3, 2, 1)
case("max_pool2d_indices", F.max_pool2d, IMAGE, 2, return_indices=True)
case("max_pool3d", F.max_pool3d, randn(1, 2, 4, 6, 4), 2)
case("avg_pool1d", F.avg_pool1d, randn(2, 3, 8), 3, 2, 1)
case("avg_pool2d", F.avg_pool2d, IMAGE, 3, 2, 1, True, False)
case("lp_pool2d", F.lp_pool2d, IMAGE.abs(), 2, 3)
case("adaptive_avg_pool1d", F.adaptive_avg_pool1d, randn(2, 3, 8), 3)
case("adaptive_avg_pool2d", F.adaptive_avg_pool2d, IMAGE, (1, 1))
case("adaptive_avg_pool2d_uneven", F.adaptive_avg_pool2d, IMAGE, (3, 4))
case("adaptive_max_pool1d", F.adaptive_max_pool1d, randn(2, 3, 8), 3)
case("adaptive_max_pool2d", F.adaptive_max_pool2d, IMAGE, (3, 4))
case(
    "max_unpool2d",
    lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    randn(1, 2, 6, 6),
)
case("pad_constant", F.pad, IMAGE, (1, 2, 0, 1), "constant", 0.5)
case("pad_reflect", F.pad, IMAGE, (1, 2, 0, 1), "reflect")
case("pad_replicate", F.pad, IMAGE, (1, 2, 0, 1), "replicate")
case("pad_circular", F.pad, IMAGE, (1, 2, 0, 1), "circular")
for _mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
    case(f"interpolate_{_mode}", F.interpolate, IMAGE, scale_factor=2, mode=_mode)
case("interpolate_size", F.interpolate, IMAGE, (5, 9), mode="bilinear", align_corners=True)
case("interpolate_area", F.interpolate, IMAGE, (3, 3), mode="area")
case("pixel_shuffle", F.pixel_shuffle, IMAGE, 2)
case("pixel_unshuffle", F.pixel_unshuffle, randn(1, 2, 6, 4), 2)
case("channel_shuffle", F.channel_shuffle, IMAGE, 2)
case("grid_sample", F.grid_sample, IMAGE, randn(2, 3, 3, 2), align_corners=False)
case("affine_grid", F.affine_grid, randn(2, 2, 3), [2, 3, 4, 5], align_corners=False)
case("unfold", F.unfold, IMAGE, 3, padding=1)
case("fold", F.fold, randn(1, 12, 12), (4, 5), 2)
case("dropout_eval", F.dropout, X, 0.5, False)
case(
    "sdpa", F.scaled_dot_product_attention, randn(1, 2, 4, 8), randn(1, 2, 5, 8), randn(1, 2, 5, 8)
)
case(
    "multi_head_attention",
    lambda x, w, b, wo, bo: F.multi_head_attention_forward(
        x, x, x, 8, 2, w, b, None, None, False, 0.0, wo, bo, training=False
    )[0],
    randn(5, 2, 8), randn(24, 8), randn(24), randn(8, 8), randn(8),
)  # fmt: skip
case("mse_loss", F.mse_loss, X, randn(2, 6) * 2)
case("l1_loss", F.l1_loss, X, randn(2, 6) * 2)
case("smooth_l1_loss", F.smooth_l1_loss, X, randn(2, 6) * 2)
case("huber_loss", F.huber_loss, X, randn(2, 6) * 2)
case("cross_entropy", F.cross_entropy, X, ids(2))
case("cross_entropy_weighted", F.cross_entropy, X, ids(2), positive(6), label_smoothing=0.1)
case("nll_loss", F.nll_loss, X, ids(2))
case("kl_div", F.kl_div, X, positive(2, 6), reduction="batchmean")
case("bce", F.binary_cross_entropy, torch.sigmoid(X), torch.sigmoid(randn(2, 6) * 2))
case("bce_logits", F.binary_cross_entropy_with_logits, X, torch.sigmoid(X))

for _name in [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logit",
    "neg",
    "positive",
    "rad2deg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "signbit",
    "sgn",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "isfinite",
    "isinf",
    "isnan",
    "isreal",
    "isposinf",
    "isneginf",
    "nan_to_num",
    "logical_not",
    "relu",
    "cumsum_0",
]:
    if _name == "cumsum_0":
        case("cumsum", torch.cumsum, X, 0)
    else:
        low = torch.rand(3, 5, generator=torch.Generator().manual_seed(1)) * 0.8 + 0.1
        case(f"torch_{_name}", getattr(torch, _name), low + (1.0 if _name == "acosh" else 0.0))
for _name in [
    "add",
    "sub",
    "mul",
    "div",
    "atan2",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "fmod",
    "remainder",
    "pow",
    "floor_divide",
    "true_divide",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "hypot",
    "copysign",
    "logaddexp",
    "logaddexp2",
    "heaviside",
    "xlogy",
    "float_power",
    "dist",
    "isclose",
]:
    case(f"torch_{_name}", getattr(torch, _name), positive(3, 4), positive(4))
for _name in [
    "sum",
    "mean",
    "amax",
    "amin",
    "max",
    "min",
    "prod",
    "std",
    "var",
    "argmax",
    "argmin",
    "median",
    "norm",
    "logsumexp_1",
    "all",
    "any",
    "count_nonzero",
    "nansum",
    "nanmean",
    "aminmax",
    "var_mean",
    "std_mean",
    "unique_count",
]:
    if _name == "logsumexp_1":
        case("logsumexp", torch.logsumexp, X, 1)
    elif _name != "unique_count":
        case(f"torch_{_name}", getattr(torch, _name), X)
        if _name not in ("nansum",):
            pass
for _name in ("sum", "mean", "amax", "max", "min", "prod", "std", "var", "argmax", "median",
              "kthvalue_2", "mode_skip", "sort", "argsort", "cummax", "cumprod", "logcumsumexp",
              "softmax", "quantile_skip", "all", "any", "norm_skip", "nanmedian"):  # fmt: skip
    if _name == "kthvalue_2":
        case("kthvalue", torch.kthvalue, X, 2, 1)
    elif not _name.endswith("_skip"):
        case(f"torch_{_name}_dim", getattr(torch, _name), X, dim=1)
case("norm_dim", torch.norm, X, p=2, dim=1)
case("linalg_norm", torch.linalg.norm, X)
case("linalg_matrix_norm", torch.linalg.matrix_norm, X)
case("linalg_vecdot", torch.linalg.vecdot, X, randn(2, 6) * 2)
case("cross", torch.cross, randn(4, 3), randn(4, 3) * 2, dim=1)
case("topk", torch.topk, X, 2)
case("quantile", torch.quantile, X, 0.3, dim=1)
case("matmul", torch.matmul, randn(2, 3, 4), randn(4, 5))
case("matmul_broadcast", torch.matmul, randn(2, 1, 3, 4), randn(3, 4, 5))
case("matmul_vec", torch.matmul, randn(3, 4), randn(4))
case("einsum", torch.einsum, "bij,bkj->bik", randn(2, 3, 4), randn(2, 5, 4))
case("einsum_trace", torch.einsum, "ii->i", randn(4, 4))
case("tensordot", torch.tensordot, randn(2, 3, 4), randn(3, 4, 5), 2)
case("outer", torch.outer, randn(3), randn(4))
case("inner", torch.inner, randn(2, 4), randn(3, 4))
case("kron", torch.kron, randn(2, 2), randn(2, 3))
case("addmm", torch.addmm, randn(5), randn(2, 3), randn(3, 5), beta=0.5)
case("baddbmm", torch.baddbmm, randn(2, 3, 5), randn(2, 3, 4), randn(2, 4, 5))
case("addbmm", torch.addbmm, randn(3, 5), randn(2, 3, 4), randn(2, 4, 5))
case("addr", torch.addr, randn(3, 4), randn(3), randn(4))
case("chain_matmul", torch.linalg.multi_dot, [randn(2, 3), randn(3, 4), randn(4, 2)])
case("matrix_power", torch.linalg.matrix_power, randn(3, 3), 3)
case("trace", torch.trace, randn(3, 3))
case("cdist", torch.cdist, randn(3, 4), randn(5, 4))
case("cat", torch.cat, [X, X], 1)
case("stack", torch.stack, [X, X], 1)
case("hstack", torch.hstack, [X, X])
case("chunk", torch.chunk, X, 3, 1)
case("tensor_split", torch.tensor_split, X, 4, 1)
case("unbind", torch.unbind, X, 0)
case("tile", torch.tile, X, (2, 2))
case("repeat_interleave", torch.repeat_interleave, X, 2, 1)
case("roll", torch.roll, X, 2, 1)
case("rot90", torch.rot90, X)
case("flip", torch.flip, X, (0, 1))
case("movedim", torch.movedim, IMAGE, 1, -1)
case("swapaxes", torch.swapaxes, IMAGE, 1, 2)
case("diag", torch.diag, randn(3))
case("diag_embed", torch.diag_embed, X)
case("diagonal", torch.diagonal, IMAGE, 1, 0, 2)
case("tril", torch.tril, randn(4, 4), -1)
case("triu_indices", torch.triu_indices, 3, 4)
case("meshgrid", lambda a, c: torch.meshgrid(a, c, indexing="ij"), randn(3), randn(4))
case("cartesian_prod", torch.cartesian_prod, randn(3), randn(4))
case("gather", torch.gather, X, 1, ids(2, 3, high=6))
case("take_along_dim", torch.take_along_dim, X, ids(2, 3, high=6), 1)
case("take", torch.take, X, ids(4, high=12))
case("index_select", torch.index_select, X, 1, ids(3, high=6))
case("getitem_tensor", lambda x, i: x[:, i], X, ids(4, high=6))
case("getitem_ellipsis", lambda x: x[..., None, 1:3], X)
case("where", torch.where, MASK, X, 0.0)
case("masked_fill", torch.masked_fill, X, MASK, -1.0)
case("scatter", torch.scatter, X, 1, ids(2, 3, high=6), 2.0)
case("scatter_add", torch.scatter_add, X, 1, ids(2, 3, high=6), randn(2, 3))
case("scatter_reduce", torch.scatter_reduce, X, 1, ids(2, 3, high=6), randn(2, 3), "amax")
case("index_add", torch.index_add, X, 1, ids(3, high=6), randn(2, 3))
case("setitem", lambda x, i: x.clone().index_put_((i,), torch.tensor(1.0)), X, ids(2, high=2))
case("setitem_mask", lambda x, m: torch.where(m, x, x * 2), X, MASK)
case("bucketize", torch.bucketize, X, torch.tensor([-1.0, 0.0, 1.0]))
case("searchsorted", torch.searchsorted, torch.tensor([-1.0, 0.0, 1.0]), X)
case("isin", torch.isin, ids(2, 3), torch.tensor([1, 3]))
case("clamp", torch.clamp, X, -0.5, 0.5)
case("lerp", torch.lerp, X, X * 2, 0.3)
case("addcmul", torch.addcmul, X, X, X, value=0.5)
case("addcdiv", torch.addcdiv, X, X, positive(2, 6))
case("bitwise_and", torch.bitwise_and, ids(3), 3)
case("bitwise_shift", lambda x: (x << 2) >> 1, ids(3))
case("arange", torch.arange, 1, 9, 2)
case("linspace", torch.linspace, 0, 1, 5)
case("logspace", torch.logspace, 0, 1, 5)
case("eye", torch.eye, 3)
case("full", torch.full, (2, 3), 0.5)
case("zeros_like", torch.zeros_like, X)
case("hann_window", torch.hann_window, 8)
case("vander", torch.vander, randn(3))
case("polyval", lambda x: x.pow(3) - 2 * x, X)
case("diff", torch.diff, X)
case("trapezoid", torch.trapezoid, X)
case("renorm", torch.renorm, X, 2, 0, 1.0)
case("bincount_free", lambda x: x.to(torch.int32) // 2, X * 5)
case("conv_bf16", F.conv2d, IMAGE.bfloat16(), randn(3, 4, 3, 3).bfloat16())
case("linear_f16", F.linear, X.half(), randn(3, 6).half())


def captured_call(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> CapturedProgram:
    """A captured program of one torch-level call."""
    mode = FakeTensorMode(static_shapes=True)
    graph = torch.fx.Graph()
    inputs: list[ProgramInput] = []

    def place(x: torch.Tensor) -> torch.fx.Node:
        name = f"x{len(inputs)}"
        node = graph.placeholder(name)
        node.meta["val"] = mode.from_tensor(x)
        inputs.append(ProgramInput(name, InputKind.USER, name))
        return node

    placed = tree_map_only(torch.Tensor, place, (args, kwargs))
    call = graph.call_function(fn, tuple(placed[0]), placed[1])
    fake = tree_map_only(torch.fx.Node, lambda n: n.meta["val"], placed)
    with mode:
        call.meta["val"] = fn(*fake[0], **fake[1])
    results: list[torch.fx.Node] = []

    def collect(node: torch.fx.Node, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            results.append(node)
        elif isinstance(value, list | tuple):
            for n, item in enumerate(value):
                part = graph.call_function(__import__("operator").getitem, (node, n))
                part.meta["val"] = item
                collect(part, item)

    collect(call, call.meta["val"])
    graph.output(tuple(results))
    outputs = tuple(ProgramOutput(f"o{n}") for n in range(len(results)))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    return CapturedProgram(module, tuple(inputs), outputs, mode)


@pytest.mark.parametrize("name", CASES)
def test_function(name: str) -> None:
    fn, args, kwargs = CASES[name]
    try:
        captured = captured_call(fn, args, kwargs)
    except DataDependentOutputException:
        pytest.skip("this torch reads the data inside the function")
    loops = lower(functionalise(captured))
    verify(loops)
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    given = {f"x{n}": to_numpy(t) for n, t in enumerate(tensors)}
    results = interpreter.run(loops, given)
    expected = [x for x in tree_leaves(fn(*args, **kwargs)) if isinstance(x, torch.Tensor)]
    assert len(results) == len(expected)
    for got, want in zip(results, expected, strict=True):
        actual = torch.from_numpy(np.array(got, order="C"))
        if want.dtype is torch.bfloat16:
            actual = actual.view(torch.bfloat16)
        assert actual.dtype == want.dtype
        tolerance = 4e-2 if want.dtype in (torch.bfloat16, torch.float16) else 2e-5
        torch.testing.assert_close(actual, want, rtol=tolerance, atol=tolerance, equal_nan=True)
