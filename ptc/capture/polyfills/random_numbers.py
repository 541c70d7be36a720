"""What torch draws from a generator on the CPU, in Python. Only ever traced.

`generator` is the tensor that holds its state (`ptc.graph.random_operators`), which every draw
replaces. Uniform and normal numbers, integers and permutations are operators; the rest is made of
them as torch makes it, in the same order of draws.
"""

from __future__ import annotations

from typing import Any

import torch

from ptc.graph.random_operators import OPERATORS

_SEEDED = OPERATORS.random_seeded.default
_DRAW_UNIFORM = OPERATORS.random_uniform.default
_DRAW_NORMAL = OPERATORS.random_normal.default
_DRAW_EXPONENTIAL = OPERATORS.random_exponential.default
_DRAW_INTEGERS = OPERATORS.random_integers.default
_DRAW_PERMUTATION = OPERATORS.random_permutation.default
# Beyond, torch draws permutations by another rule.
_LONGEST_PERMUTATION = 214_748_363
_INVALID = "probability tensor contains either `inf`, `nan` or element < 0"
_NOT_A_PROBABILITY = (
    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
    "improved?  If so, please report an enhancement request to PyTorch.)"
)


def require(condition: Any, what: str) -> None:
    """Refuse to capture a call unless it is known that `condition` holds."""
    raise AssertionError


def _is_wide(dtype: Any) -> Any:
    if dtype is None:
        dtype = torch.get_default_dtype()
    require(dtype in (torch.float32, torch.float64), f"random numbers of {dtype}")
    return dtype == torch.float64


def _shape(sizes: Any, size: Any) -> Any:
    """Sizes are given one by one, in one sequence, or by name."""
    if size is not None:
        return size
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return sizes[0]
    return sizes


def _floating(number: Any) -> Any:
    return torch.full((), number, dtype=torch.float64)


def _integral(number: Any) -> Any:
    return torch.full((), number, dtype=torch.int64)


def _kept(generator: Any, drawn: Any) -> Any:
    generator.copy_(drawn[1])
    return drawn[0]


def seed(generator: Any, number: Any) -> None:
    generator.copy_(_SEEDED(_integral(number)))


def seeded(number: Any) -> Any:
    return _SEEDED(_integral(number))


def _uniform(generator: Any, size: Any, low: Any, high: Any, wide: Any) -> Any:
    low, high = _floating(low), _floating(high)
    return _kept(generator, _DRAW_UNIFORM(generator, size, low, high, wide))


def _normal(generator: Any, size: Any, mean: Any, std: Any, wide: Any) -> Any:
    mean, std = _floating(mean), _floating(std)
    return _kept(generator, _DRAW_NORMAL(generator, size, mean, std, wide))


def _exponential(generator: Any, size: Any, rate: Any, wide: Any) -> Any:
    drawn = _DRAW_EXPONENTIAL(generator, size, _floating(rate), wide)
    return _kept(generator, drawn)


def _integers(generator: Any, size: Any, low: Any, high: Any) -> Any:
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    low, high = _integral(low), _integral(high)
    return _kept(generator, _DRAW_INTEGERS(generator, size, low, high))


# -- functions ------------------------------------------------------------------------------------


def rand(
    *sizes: Any, generator: Any, size: Any = None, dtype: Any = None, device: Any = None,
    layout: Any = None, requires_grad: Any = False, pin_memory: Any = False,
) -> Any:  # fmt: skip
    require_plain(device, layout, requires_grad)
    return _uniform(generator, _shape(sizes, size), 0.0, 1.0, _is_wide(dtype))


def randn(
    *sizes: Any, generator: Any, size: Any = None, dtype: Any = None, device: Any = None,
    layout: Any = None, requires_grad: Any = False, pin_memory: Any = False,
) -> Any:  # fmt: skip
    require_plain(device, layout, requires_grad)
    return _normal(generator, _shape(sizes, size), 0.0, 1.0, _is_wide(dtype))


def rand_like(
    input: Any, *, generator: Any, dtype: Any = None, device: Any = None, layout: Any = None,
    requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    require_plain(device, layout, requires_grad)
    return _uniform(generator, input.shape, 0.0, 1.0, _is_wide_like(input, dtype))


def randn_like(
    input: Any, *, generator: Any, dtype: Any = None, device: Any = None, layout: Any = None,
    requires_grad: Any = False, pin_memory: Any = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    require_plain(device, layout, requires_grad)
    return _normal(generator, input.shape, 0.0, 1.0, _is_wide_like(input, dtype))


def _is_wide_like(input: Any, dtype: Any) -> bool:
    require_dense(input)
    return _is_wide(input.dtype if dtype is None else dtype)


def require_plain(device: Any, layout: Any, requires_grad: Any) -> None:
    require(
        (device is None or torch.device(device).type == "cpu")
        and (layout is None or layout == torch.strided)
        and not requires_grad,
        "random numbers on another device, in another layout, or with gradients",
    )


def require_dense(tensor: Any) -> None:
    require(
        tensor.is_contiguous(), "random numbers in the memory order of a tensor that is not dense"
    )


def _as(values: Any, low: Any, high: Any, dtype: Any) -> Any:
    """Integers as another type, which holds all of them."""
    if dtype is None or dtype == torch.int64:
        return values
    if dtype.is_floating_point:
        first = last = 1 << (53 if dtype == torch.float64 else 24 if dtype == torch.float32 else 8)
    elif dtype == torch.bool:
        first, last = 0, 1
    else:
        first, last = -torch.iinfo(dtype).min, torch.iinfo(dtype).max
    require(-first <= low and high - 1 <= last, f"random integers beyond the bounds of {dtype}")
    return values.to(dtype)


def randint(
    *args: Any, generator: Any, low: Any = None, high: Any = None, size: Any = None,
    dtype: Any = None, device: Any = None, layout: Any = None, requires_grad: Any = False,
    pin_memory: Any = False,
) -> Any:  # fmt: skip
    require_plain(device, layout, requires_grad)
    if args and isinstance(args[-1], (tuple, list)):
        args, size = args[:-1], args[-1]
    if len(args) == 2:
        low, high = args
    elif len(args) == 1 and high is None:
        high = args[0]
    elif len(args) == 1:
        low = args[0]
    if low is None:
        low = 0
    return _as(_integers(generator, size, low, high), low, high, dtype)


def randperm(
    n: Any, *, generator: Any, dtype: Any = None, device: Any = None, layout: Any = None,
    requires_grad: Any = False, pin_memory: Any = False,
) -> Any:  # fmt: skip
    require_plain(device, layout, requires_grad)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if n > _LONGEST_PERMUTATION:
        raise NotImplementedError("a permutation of 214748364 and more is not drawn")
    order = _kept(generator, _DRAW_PERMUTATION(generator, n))
    return order if dtype is None or dtype == torch.int64 else order.to(dtype)


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any, dtype: Any = None,
    device: Any = None, layout: Any = None, requires_grad: Any = False, pin_memory: Any = False,
) -> Any:  # fmt: skip
    require_plain(device, layout, requires_grad)
    if isinstance(std, torch.Tensor):
        if std.numel() > 0 and std.min() < 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
        if not isinstance(mean, torch.Tensor):
            require_dense(std)
            return _normal(generator, std.shape, 0.0, 1.0, _is_wide(std.dtype)) * std + mean
        require_dense(mean)
        require_dense(std)
        shape = torch.broadcast_shapes(mean.shape, std.shape)
        return _normal(generator, shape, 0.0, 1.0, _is_wide(mean.dtype)) * std + mean
    _require_deviation(std)
    if isinstance(mean, torch.Tensor):
        require_dense(mean)
        return _normal(generator, mean.shape, 0.0, std, _is_wide(mean.dtype)) + mean
    return _normal(generator, size, mean, std, _is_wide(dtype))


def _require_deviation(std: Any) -> None:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def bernoulli(input: Any, p: Any = None, *, generator: Any) -> Any:
    require_dense(input)
    if p is not None:
        return _chances(generator, input.shape, p).to(input.dtype)
    return _decided(generator, input).to(input.dtype)


def _decided(generator: Any, chances: Any) -> Any:
    """Whether uniform numbers are below `chances`, for each of them."""
    if not ((chances >= 0) & (chances <= 1)).all():
        raise RuntimeError(_NOT_A_PROBABILITY)
    return _uniform(generator, chances.shape, 0.0, 1.0, _is_wide(chances.dtype)) < chances


def _chances(generator: Any, shape: Any, p: Any) -> Any:
    """The same with one chance, in double precision."""
    if not (p >= 0 and p <= 1):
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return _uniform(generator, shape, 0.0, 1.0, True) < p


def multinomial(input: Any, num_samples: Any, replacement: Any = False, *, generator: Any) -> Any:
    if input.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    wide = _is_wide(input.dtype)
    require_dense(input)
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.size(-1):
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if replacement and num_samples != 1:
        return _with_replacement(generator, input, num_samples)
    if not (torch.isfinite(input) & (input >= 0)).all():
        raise RuntimeError(_INVALID)
    if (input.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    weighed = input / _exponential(generator, input.shape, 1.0, wide)
    if num_samples == 1:
        return weighed.argmax(-1, keepdim=True)
    return weighed.topk(num_samples).indices


def _with_replacement(generator: Any, input: Any, num_samples: Any) -> Any:
    """Each sample is the first position up to which the chances add up to a uniform number."""
    if not (input >= 0).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not torch.isfinite(input).all():
        raise RuntimeError(
            "invalid multinomial distribution (encountering probability entry = infinity or NaN)"
        )
    sums = input.cumsum(-1)
    if (sums[..., -1] <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    bounds = (sums / sums[..., -1:])[..., :-1].to(torch.float64)
    drawn = _uniform(generator, (*input.shape[:-1], num_samples), 0.0, 1.0, True)
    return (bounds.unsqueeze(-2) < drawn.unsqueeze(-1)).sum(-1)


def gumbel_softmax(
    logits: Any, tau: Any = 1, hard: Any = False, eps: Any = 1e-10, dim: Any = -1, *, generator: Any
) -> Any:
    require_dense(logits)
    noise = -_exponential(generator, logits.shape, 1.0, _is_wide(logits.dtype)).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    return torch.zeros_like(logits).scatter(dim, chosen, 1.0) - soft + soft


def dropout(input: Any, p: Any, inplace: Any, generator: Any) -> Any:
    """In training. What is kept is divided by the chance that it is."""
    if not (p >= 0 and p <= 1):
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    require_dense(input)
    if p == 0:
        return input
    if p == 1:
        result = input * torch.zeros((), dtype=input.dtype)
    else:
        kept = _chances(generator, input.shape, 1 - p).to(input.dtype)
        result = input * (kept / (1 - p))
    return input.copy_(result) if inplace else result


# -- methods that write their tensor --------------------------------------------------------------


def uniform_(self: Any, low: Any = 0.0, to: Any = 1.0, *, generator: Any, **given: Any) -> Any:
    """`from` is a word of Python's, so that it comes among the rest."""
    low = given.get("from", low)
    require_dense(self)
    if low > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={to:g}"
        )
    return self.copy_(_uniform(generator, self.shape, low, to, _is_wide(self.dtype)))


def normal_(self: Any, mean: Any = 0.0, std: Any = 1.0, *, generator: Any) -> Any:
    require_dense(self)
    _require_deviation(std)
    return self.copy_(_normal(generator, self.shape, mean, std, _is_wide(self.dtype)))


def exponential_(self: Any, lambd: Any = 1.0, *, generator: Any) -> Any:
    require_dense(self)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return self.copy_(_exponential(generator, self.shape, lambd, _is_wide(self.dtype)))


def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any) -> Any:
    require_dense(self)
    if isinstance(p, torch.Tensor):
        return self.copy_(_decided(generator, p.expand(self.shape)))
    return self.copy_(_chances(generator, self.shape, p))


def random_(self: Any, *bounds: Any, generator: Any, to: Any = None, **given: Any) -> Any:
    require_dense(self)
    low = given.get("from", 0)
    if len(bounds) == 2:
        low, to = bounds
    elif len(bounds) == 1 and to is None:
        to = bounds[0]
    elif len(bounds) == 1:
        low = bounds[0]
    require(to is not None, "random integers of the whole range of a type")
    return self.copy_(_as(_integers(generator, self.shape, low, to), low, to, self.dtype))
