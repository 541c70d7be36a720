"""Operators on Python numbers that are known only when the model runs: ints of any sign, floats,
bools."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from ptc.graph.control import NumberKind, Var
from ptc.graph.control_run import run
from tests.codegen.control_library import build
from tests.codegen.test_control import assert_alike
from tests.graph.control_building import ControlBuilder


def _with_item(x: Any, value: Any) -> Any:
    x = x.clone()
    x[1] = value
    return x


#: `x` and `q` are tensors of floats and of ints; `n`, `f` and `p` an int, a float and a bool.
OPERATORS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda x, q, n, f, p: (x + n, x + f, q + n, q + f, x + p, n + x, f - x, n - q),
    "mul": lambda x, q, n, f, p: (x * n, x * f, q * n, q * f, x * p),
    "div": lambda x, q, n, f, p: (x / n, x / f, q / n, n / x, f / x),
    "floordiv": lambda x, q, n, f, p: (x // n, q // n, x % n, q % n, x // f, x % f),
    "pow": lambda x, q, n, f, p: (x**n, x.abs() ** f, n**x, f**x),
    "compare": lambda x, q, n, f, p: (x > n, x < f, q == n, q != n, x >= n, q <= f),
    "clamp": lambda x, q, n, f, p: (x.clamp(min=n), x.clamp(max=f), q.clamp(-n * n, n * n)),
    "full": lambda x, q, n, f, p: (
        torch.full((3,), n), torch.full((3,), f), torch.full((2,), p), torch.full_like(x, n)
    ),
    "where": lambda x, q, n, f, p: (
        torch.where(x > 0, x, n), torch.where(x > 0, f, x), torch.where(q > 0, q, n)
    ),
    "fill": lambda x, q, n, f, p: (
        x.masked_fill(x > 0, n), q.masked_fill(q > 0, n), x.clone().fill_(f), _with_item(q, n)
    ),
    "alpha": lambda x, q, n, f, p: (
        torch.addcmul(x, x, x, value=f), torch.add(x, x, alpha=n), torch.sub(q, q * 2, alpha=n)
    ),
    "bits": lambda x, q, n, f, p: (q & n, q | n, q ^ n),
    "scalar": lambda x, q, n, f, p: (torch.scalar_tensor(n), torch.scalar_tensor(f)),
    "rest": lambda x, q, n, f, p: (torch.rsub(x, n), torch.fmod(x, n), torch.remainder(x, f)),
    "activations": lambda x, q, n, f, p: (
        F.leaky_relu(x, f), F.elu(x, alpha=f), F.softplus(x, beta=f), F.hardtanh(x, -f * f, f * f),
        F.threshold(x, f, n), F.hardshrink(x, f),
    ),
    "arithmetic": lambda x, q, n, f, p: (
        x * (n + 1), x * (f * 2 + 1), x * (n * f), x + (n - 3) * 2, x * (n // 2), x * (n % 3)
    ),
    "rounding": lambda x, q, n, f, p: (
        torch.div(x, f, rounding_mode="floor"), torch.div(q, n, rounding_mode="trunc")
    ),
    "low precision": lambda x, q, n, f, p: (x.half() * f, x.bfloat16() + n),
    "reductions": lambda x, q, n, f, p: (torch.softmax(x * f, 0), x.sum() * n, (x * f).norm()),
    "ranges": lambda x, q, n, f, p: (torch.linspace(0, 1, 5) * f, torch.arange(4) * n),
}  # fmt: skip

# Before 2.13 torch asks whether an exponent is 1, which numbers outside of capture cannot answer.
if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 13):
    del OPERATORS["pow"]

VALUES = ((3, 0.7, True), (-2, 1.5, False), (5, 2.25, True))


def test_operators_take_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    b = ControlBuilder("numbers")
    x, q = b.tensor("x", torch.empty(3)), b.tensor("q", torch.empty(3, dtype=torch.int64))
    n, f = b.scalar("n", NumberKind.INT), b.scalar("f", NumberKind.FLOAT)
    p = b.scalar("p", NumberKind.BOOL)
    outputs: list[Var] = []
    places: list[str] = []
    for name, function in OPERATORS.items():
        count = len(function(torch.ones(3), torch.arange(3), 3, 0.7, True))
        names = [f"{name}_{i}".replace(" ", "_") for i in range(count)]
        outputs += b.segment(function, [x, q, n, f, p], *names)
        places += names
    program = b.finish(*outputs)
    library = build({"forward": program}, tmp_path, monkeypatch)
    for values in VALUES:
        inputs = {
            "x": torch.tensor([1.5, -2.25, 0.75]),
            "q": torch.tensor([7, -3, 2]),
            **dict(zip("nfp", values, strict=True)),
        }
        expected = run(program, copy.deepcopy(inputs), {})
        actual = library.entry().run(list(inputs.values()), as_torch=True)
        for place, one, other in zip(places, actual, expected, strict=True):
            try:
                assert_alike(one, other)
            except AssertionError as error:
                raise AssertionError(f"{place} with {values}: {error}") from None
