"""Sums and means of embedding rows over bags of indices."""

from __future__ import annotations

import torch
from torch import Tensor

from ptc.ops.protocol import T, sample
from ptc.ops.registry import decomposes, samples_for
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten

# How torch numbers the modes.
_SUM, _MEAN = 0, 1


@decomposes(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def decompose_embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rows are added to the bag whose offset is the last at or before their position.

    The results after the first serve the backward pass: the bag of each index (left empty where a
    sum does not need it), the sizes of the bags, and those again.
    """
    if mode not in (_SUM, _MEAN):
        raise CompileError(
            "PTC-O004",
            "EmbeddingBag in mode `max` is not compiled yet",
            hint="use nn.Embedding and amax over the positions",
        )
    starts = offsets[:-1] if include_last_offset else offsets
    numbers = torch.arange(indices.shape[0], device=indices.device, dtype=offsets.dtype)
    bags = torch.searchsorted(starts, numbers, right=True) - 1
    rows = weight.index_select(0, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    counted = torch.ones_like(indices)
    if padding_idx >= 0:
        kept = indices != padding_idx
        rows = torch.where(kept.unsqueeze(1), rows, torch.zeros_like(rows))
        counted = kept.to(indices.dtype)
    # 16-bit rows are added in f32 and rounded once, as eager does.
    wide = torch.float32 if weight.dtype in (torch.float16, torch.bfloat16) else weight.dtype
    empty = torch.zeros((starts.shape[0], weight.shape[1]), dtype=wide, device=weight.device)
    total = empty.index_add(0, bags, rows.to(wide))
    if mode == _SUM:
        sizes = torch.zeros_like(starts)
        unneeded = weight.dtype is not torch.float64 and padding_idx < 0
        return total.to(weight.dtype), bags[:0] if unneeded else bags, sizes, sizes.clone()
    sizes = torch.zeros_like(starts).index_add(0, bags, counted)
    mean = total / sizes.clamp(min=1).unsqueeze(1)
    return mean.to(weight.dtype), bags, sizes, sizes.clone()


# --- samples ------------------------------------------------------------------------------------

_BAGS = (aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
_INDICES = T("i64[9]", low=0, high=7)
_FIRST = T("i64[1]", low=0, high=1)
samples_for(
    _BAGS,
    sample(T("f32[7,5]"), _INDICES, _FIRST, False, _SUM, tolerance=2.0),
    sample(T("f32[7,5]"), _INDICES, _FIRST, False, _MEAN, tolerance=2.0),
    sample(T("f32[7,5]"), _INDICES, _FIRST, False, _SUM, False, T("f32[9]"), tolerance=2.0),
    sample(T("f32[7,5]"), _INDICES, _FIRST, False, _MEAN, False, None, False, 2, tolerance=2.0),
)
