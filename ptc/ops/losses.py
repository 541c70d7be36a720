"""Losses that torch's own decompositions get wrong."""

from __future__ import annotations

import torch
from torch import Tensor

from ptc.ops.protocol import T, sample
from ptc.ops.registry import decomposes, samples

aten = torch.ops.aten
_MEAN, _SUM = 1, 2


@decomposes(aten.multilabel_margin_loss_forward.default)
def decompose_multilabel_margin(x: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """Sum over targets t and other classes c of max(0, 1 - x[t] + x[c]), by the number of classes.

    A row's targets end at its first negative one; torch's decomposition counts class 0 once for
    each place after it.
    """
    classes = x.shape[-1]
    valid = (target < 0).cumsum(-1) == 0
    chosen = torch.where(valid, target, 0)
    is_chosen = chosen.unsqueeze(-1) == torch.arange(classes, device=x.device)
    is_target = (is_chosen & valid.unsqueeze(-1)).any(-2)
    margins = (1 - x.gather(-1, chosen).unsqueeze(-1) + x.unsqueeze(-2)).clamp_min(0)
    counted = valid.unsqueeze(-1) & ~is_target.unsqueeze(-2)
    loss = torch.where(counted, margins, 0).sum((-2, -1)) / classes
    if reduction == _MEAN:
        loss = loss.mean()
    elif reduction == _SUM:
        loss = loss.sum()
    return loss, is_target.to(x.dtype)


samples(
    aten.multilabel_margin_loss_forward.default,
    sample(T("f32[3,4]"), T("i64[3,4]", low=-1, high=4), 0),
    sample(T("f32[3,4]"), T("i64[3,4]", low=-1, high=4), 1),
    sample(T("f64[5]"), T("i64[5]", low=-1, high=5), 2),
)
