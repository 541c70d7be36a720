"""Scalar operations and casts of the interpreter against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ptc.loops import build as b
from ptc.loops import scalar_numpy as sn
from ptc.loops.nodes import DType
from ptc.loops.scalar import OPS, type_error

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 80.0, -80.0, 1e-40]
SPECIAL += [float("inf"), float("-inf"), float("nan"), 1e30, -1e30, 0.999, -0.999]

UNARY = {
    "neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt, "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1,
    "log": torch.log, "log1p": torch.log1p, "log2": torch.log2, "log10": torch.log10,
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos,
    "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh,
    "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh, "erf": torch.erf,
    "erfc": torch.erfc, "erfinv": torch.erfinv, "lgamma": torch.lgamma, "digamma": torch.digamma,
    "sigmoid": torch.sigmoid, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
    "round": torch.round, "isnan": torch.isnan, "isinf": torch.isinf,
}  # fmt: skip
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "fmod": torch.fmod,
    "mod": torch.remainder, "floordiv": torch.floor_divide, "pow": torch.pow,
    "min": torch.minimum, "max": torch.maximum, "atan2": torch.atan2, "hypot": torch.hypot,
    "copysign": torch.copysign, "nextafter": torch.nextafter, "eq": torch.eq, "ne": torch.ne,
    "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
}  # fmt: skip
INTEGER = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "fmod": torch.fmod,
    "mod": torch.remainder, "floordiv": torch.floor_divide, "min": torch.minimum,
    "max": torch.maximum, "and": torch.bitwise_and, "or": torch.bitwise_or,
    "xor": torch.bitwise_xor, "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift,
    "truncdiv": lambda x, y: torch.div(x, y, rounding_mode="trunc"), "pow": torch.pow,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name: str) -> None:
    x = torch.tensor([*SPECIAL, *torch.randn(50, dtype=torch.float64).tolist()])
    expected = UNARY[name](x)
    if name == "digamma":
        # Too steep between its poles for float32, and eager loses digits near its root.
        x = x.abs()
        expected = UNARY[name](x.double()).to(x.dtype)
    with np.errstate(all="ignore"):
        got = sn.FUNCTIONS[name](x.numpy())
    np.testing.assert_allclose(got, expected.numpy(), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary(name: str) -> None:
    values = torch.tensor(SPECIAL)
    if name in ("fmod", "mod"):
        # torch's vector code gives NaN where the quotient does not fit the significand
        values = values[(values.abs() < 1e20) & ((values == 0) | (values.abs() > 1e-20))]
    x, y = (t.reshape(-1) for t in torch.meshgrid(values, values, indexing="ij"))
    with np.errstate(all="ignore"):
        got = sn.FUNCTIONS[name](x.numpy(), y.numpy())
    np.testing.assert_allclose(got, BINARY[name](x, y).numpy(), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", sorted(INTEGER))
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8])
def test_integers(name: str, dtype: torch.dtype) -> None:
    x = torch.tensor([-7, -6, -1, 0, 1, 5, 6, 7, 100, -100], dtype=dtype)
    y = torch.tensor([1, 2, 3, 5, -2, -3], dtype=dtype)
    if name in ("shl", "shr", "pow"):
        y = y.abs() % 4
    if name in ("truncdiv", "floordiv", "mod", "fmod"):
        y = y[y != 0]
    x, y = (t.reshape(-1) for t in torch.meshgrid(x, y, indexing="ij"))
    with np.errstate(all="ignore"):
        got = sn.FUNCTIONS[name](x.numpy(), y.numpy())
    np.testing.assert_array_equal(got, INTEGER[name](x, y).numpy())
    assert got.dtype == x.numpy().dtype


def test_every_operation_has_a_meaning() -> None:
    assert set(OPS) - {"cast", "bitcast"} == set(sn.FUNCTIONS)


TORCH = {
    DType.F64: torch.float64, DType.F32: torch.float32, DType.F16: torch.float16,
    DType.BF16: torch.bfloat16, DType.I64: torch.int64, DType.I32: torch.int32,
    DType.I8: torch.int8, DType.U8: torch.uint8, DType.BOOL: torch.bool,
}  # fmt: skip


def _values(x: torch.Tensor, dtype: DType) -> np.ndarray:
    return x.float().numpy() if dtype is DType.BF16 else x.numpy()


@pytest.mark.parametrize("source", list(TORCH))
@pytest.mark.parametrize("target", list(TORCH))
def test_casts(source: DType, target: DType) -> None:
    x = torch.tensor([0, 1, 2, 3, 100, 127.0]).to(TORCH[source])
    if source.is_float:
        more = torch.tensor([0.1, 1.7, 2.5, 3.14159, 1e-8, 65504.0 if not target.is_int else 9.9])
        x = torch.cat([x, more.to(TORCH[source])])
    if source in (DType.F64, DType.F32, DType.I64, DType.I32) and not target.is_int:
        x = torch.cat([x, torch.tensor([-3, 70001, 16777217]).to(TORCH[source])])
    with np.errstate(all="ignore"):
        got = sn.cast(_values(x, source), source, target)
    want = _values(x.to(TORCH[target]), target)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == sn.VALUE_TYPES[target]


def test_bf16_rounding_is_half_to_even_and_keeps_nan() -> None:
    x = torch.cat([torch.randn(2000) * 10.0**k for k in (-30, 0, 30)])
    x = torch.cat([x, torch.tensor([float("nan"), float("inf"), -0.0, 3.4e38])])
    np.testing.assert_array_equal(sn.round_bf16(x.numpy()), x.bfloat16().float().numpy())


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
def test_literals_are_rounded_when_made(dtype: DType) -> None:
    for value in [0.1, 1 / 3, 65519.0, 1e-7, 3.4028236e38, -(2.0**-149), 1e300]:
        wanted = torch.tensor(value, dtype=torch.float32).to(TORCH[dtype]).double().item()
        if dtype is DType.F32:
            wanted = torch.tensor(value, dtype=torch.float64).float().double().item()
        assert b.literal(value, dtype).value == wanted


def test_folding_is_exact() -> None:
    x = b.Load("x", (), DType.F32)
    assert b.mul(x, 1.0) is x
    assert b.add(x, 0.0) is not x  # -0.0 + 0.0 is 0.0
    assert b.cast(b.literal(0.1, DType.F32), DType.F64).value == float(np.float32(0.1))
    assert (
        b.cast(b.cast(b.Load("h", (), DType.BF16), DType.F32), DType.F16).args[0].dtype
        is DType.BF16
    )
    assert b.and_(b.literal(True, DType.BOOL), b.gt(x, 0.0)) == b.gt(x, 0.0)
    with pytest.raises(TypeError):
        b.add(x, b.Load("y", (), DType.F64))
    with pytest.raises(TypeError):
        b.exp(b.Load("h", (), DType.BF16))
    assert type_error("add", [DType.BOOL, DType.BOOL], DType.BOOL) is not None
