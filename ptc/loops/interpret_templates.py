"""The reference semantics of template kernels, in NumPy.

Operands are evaluated to whole arrays over their index variables, the contraction is one NumPy
expression, and the epilogue runs as statements over the output variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ptc.loops import scalar_numpy as sn
from ptc.loops.interpret_statements import Axis, Scope, evaluate, evaluate_index, execute
from ptc.loops.nodes import TemplateKernel
from ptc.loops.scalar_numpy import Array
from ptc.loops.templates import TEMPLATES


def run_template(kernel: TemplateKernel, scope: Scope) -> None:
    """Compute the contraction and run the epilogue for every output element."""
    template = TEMPLATES[kernel.template]
    extents = {v: int(evaluate_index(e, scope.values)) for v, e in kernel.extents.items()}
    operands: dict[str, Array] = {}
    for name, operand in kernel.operands.items():
        formal = template.operands[name]
        shape = [extents[v] for v in formal]
        lanes = _with_axes(scope, operand.vars, shape)
        if 0 in shape:
            operands[name] = np.zeros(shape, sn.VALUE_TYPES[kernel.dtype])
            continue
        value = np.broadcast_to(evaluate(operand.value, lanes), lanes.shape())
        # Axis 0 of the scope is the last axis of the value.
        value = value.transpose(*reversed(range(value.ndim)))
        operands[name] = sn.cast(value, operand.value.dtype, kernel.dtype)
    if kernel.template == "gemm":
        result = np.matmul(operands["a"], operands["b"])
    elif kernel.template == "attention":
        result = _attention(operands, kernel.attrs)
    else:
        result = _conv(operands["x"], operands["w"], extents, kernel.attrs)
    out = [extents[v] for v in template.out]
    if 0 in out:
        return
    result = np.ascontiguousarray(result, sn.VALUE_TYPES[kernel.dtype])
    _run_epilogue(kernel, template.out, out, result, scope)


def _with_axes(scope: Scope, names: Sequence[str], shape: Sequence[int]) -> Scope:
    axes = [Axis(v, 0, n) for v, n in zip(names, shape, strict=True)]
    values: dict[str, Any] = dict(scope.values)
    for depth, axis in enumerate(axes):
        values[axis.var] = np.arange(axis.stop, dtype=np.int64).reshape(-1, *[1] * depth)
    return Scope(scope.memory, scope.buffers, values, axes)


def _run_epilogue(
    kernel: TemplateKernel, names: Sequence[str], shape: Sequence[int], acc: Array, scope: Scope
) -> None:
    lanes = _with_axes(scope, names, shape)
    lanes.values["acc"] = acc.transpose(*reversed(range(acc.ndim)))
    execute(kernel.epilogue, lanes)


def _attention(operands: dict[str, Array], attrs: Any) -> Array:
    q, k, v = operands["q"], operands["k"], operands["v"]
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * np.asarray(attrs["scale"], q.dtype)
    if attrs.get("causal"):
        allowed = np.arange(q.shape[2])[:, None] >= np.arange(k.shape[2])[None, :]
        scores = np.where(allowed, scores, -np.inf)
    if "mask" in operands:
        scores = scores + operands["mask"]
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(top == -np.inf, 0, top))
    # rows that are masked entirely sum to 0 and stay 0
    weights = weights / np.where(top == -np.inf, 1, weights.sum(-1, keepdims=True))
    return np.matmul(weights.astype(q.dtype), v)


def _conv(x: Array, w: Array, extents: dict[str, int], attrs: Any) -> Array:
    """Sum over kernel positions of a channel contraction on a shifted (and strided) image."""
    rank = x.ndim - 2
    groups = int(attrs["groups"])
    out_shape = [extents[f"y{d}"] for d in range(rank)]
    result = np.zeros((x.shape[0], extents["o"], *out_shape), x.dtype)
    xs = x.reshape(x.shape[0], groups, extents["c"], *x.shape[2:])
    ws = w.reshape(groups, extents["o"] // groups, *w.shape[1:])
    grouped = result.reshape(x.shape[0], groups, extents["o"] // groups, *out_shape)
    for position in product(*[range(n) for n in w.shape[2:]]):
        shift = [
            k * _dim(attrs["dilation"], d) - _dim(attrs["padding"], d)
            for d, k in enumerate(position)
        ]
        strides = [_dim(attrs["stride"], d) for d in range(rank)]
        windows = [
            (_transposed_window if attrs.get("transposed") else _window)(y, p, s, stride)
            for y, p, s, stride in zip(out_shape, x.shape[2:], shift, strides, strict=True)
        ]
        if any(window is None for window in windows):
            continue
        sources = tuple(window[0] for window in windows if window is not None)
        targets = tuple(window[1] for window in windows if window is not None)
        image = xs[(slice(None), slice(None), slice(None), *sources)]
        kernel = ws[(slice(None), slice(None), slice(None), *position)]
        flat = image.reshape(*image.shape[:3], -1)
        part = np.matmul(kernel[None], flat).reshape(*grouped.shape[:3], *image.shape[3:])
        grouped[(slice(None), slice(None), slice(None), *targets)] += part
    return grouped.reshape(result.shape)


def _dim(values: Any, d: int) -> int:
    return int(values[d])


def _window(out: int, size: int, shift: int, stride: int) -> tuple[slice, slice] | None:
    """Input and output positions with input = output * stride + shift inside the image."""
    first = max(0, -(shift // stride))
    last = min(out - 1, (size - 1 - shift) // stride)
    if first > last:
        return None
    start = first * stride + shift
    return slice(start, last * stride + shift + 1, stride), slice(first, last + 1)


def _transposed_window(out: int, size: int, shift: int, stride: int) -> tuple[slice, slice] | None:
    """Input and output positions with output = input * stride + shift inside the result."""
    window = _window(size, out, shift, stride)
    return None if window is None else (window[1], window[0])
