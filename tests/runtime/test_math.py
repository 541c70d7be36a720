"""ptc_math.h against float64 references over all of float32.

Errors in units in the last place, special values, equality of scalar and vector forms.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime import native
from tests.runtime.conftest import Builder
from tests.runtime.native import Array, Guarded, long

# Name, reference in float64, bound in units in the last place.
Reference = Callable[..., Any]
UNARY: dict[str, tuple[Reference, float]] = {
    "exp": (np.exp, 1.1),
    "exp2": (np.exp2, 1.1),
    "expm1": (np.expm1, 1.7),
    "log": (np.log, 0.9),
    "log1p": (np.log1p, 1.5),
    "log2": (np.log2, 1.9),
    "log10": (np.log10, 1.9),
    "sin": (np.sin, 1.6),
    "cos": (np.cos, 1.6),
    "tan": (np.tan, 3.4),
    "asin": (np.arcsin, 2.4),
    "acos": (np.arccos, 1.2),
    "atan": (np.arctan, 1.5),
    "sinh": (np.sinh, 2.4),
    "cosh": (np.cosh, 2.4),
    "tanh": (np.tanh, 2.5),
    "asinh": (np.arcsinh, 1.9),
    "acosh": (np.arccosh, 2.1),
    "atanh": (np.arctanh, 2.2),
    "sqrt": (np.sqrt, 0.5),
    "rsqrt": (lambda v: 1 / np.sqrt(v), 1.5),
    "reciprocal": (lambda v: 1 / v, 0.5),
    "floor": (np.floor, 0.0),
    "ceil": (np.ceil, 0.0),
    "trunc": (np.trunc, 0.0),
    "rint": (np.rint, 0.0),
    "abs": (np.abs, 0.0),
    "erf": (np.vectorize(math.erf, otypes=[np.float64]), 3.2),
    "erfc": (np.vectorize(math.erfc, otypes=[np.float64]), 3.0),
}
BINARY: dict[str, tuple[Reference, float]] = {
    "pow": (np.power, 0.51),
    "fmod": (np.fmod, 0.0),
    "atan2": (np.arctan2, 1.5),
    "hypot": (np.hypot, 1.0),
    "copysign": (np.copysign, 0.0),
    "maximum": (np.maximum, 0.0),
    "minimum": (np.minimum, 0.0),
    "fmax": (np.fmax, 0.0),
    "fmin": (np.fmin, 0.0),
}
# Compared only where the reference says so: see the tests.
OTHERS = ("sigmoid", "silu", "gelu_erf", "gelu_tanh")

SPECIAL = np.array(
    [
        *(
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            1,
            -1,
            2,
            -2,
            0.5,
            -0.5,
            3,
            -3,
            1e-45,
            -1e-45,
            1.2e-38,
        ),
        *(3.4e38, -3.4e38, 88.7228, 88.73, -87.3, -103.9, -104.5, 128, 127.99, -149, -150),
        *(8388608, 8388607.5, 0.5 + 2**-24, 16777216, -8388609, 2.5, 3.5, -2.5),
        *(29999.9, 30000.1, 1e9, 1e30),
    ],
    np.float32,
)

SOURCE = native.text("maths.cpp")


def source() -> str:
    """Both forms of every function, for float and double."""
    lines = [SOURCE]
    for name in (*UNARY, *OTHERS, *BINARY, "remainder", "floor_divide", "trunc_divide"):
        binary = name in BINARY or name in ("remainder", "floor_divide", "trunc_divide")
        body = f"[](auto a, auto b) {{ (void)b; return ptc::{name}({'a, b' if binary else 'a'}); }}"
        for form in ("vector", "scalar"):
            for kind in ("float", "double"):
                lines.append(
                    f'extern "C" void {form}_{kind}_{name}'
                    f"({kind}* o, const {kind}* x, const {kind}* y, long n)"
                    f" {{ {form}_form(o, x, y, n, {body}); }}"
                )
    return "\n".join(lines)


@pytest.fixture(scope="module")
def maths(build: Builder) -> ctypes.CDLL:
    return build(source())


def apply(lib: ctypes.CDLL, form: str, name: str, x: Array, y: Array | None = None) -> Array:
    kind = "float" if x.dtype == np.float32 else "double"
    out = Guarded(x.size, x.dtype)
    a, b = Guarded.of(x), Guarded.of(x if y is None else y)
    getattr(lib, f"{form}_{kind}_{name}")(out.pointer, a.pointer, b.pointer, long(x.size))
    return out.array.copy()


def ulp_error(got: Array, want: Array) -> Array:
    """Distance in units in the last place of float32; inf where one side alone is NaN or inf."""
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        unit = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, np.float32(3.4e38))))
        error = np.abs(got.astype(np.float64) - want) / unit.astype(np.float64)
    equal = (got == rounded) | (np.isnan(got) & np.isnan(want))
    error = np.where(equal & ~np.isfinite(rounded), 0.0, error)
    at_edge = np.isinf(got) & (np.abs(want) > 3.4028233e38)
    error = np.where(at_edge, 0.0, np.where(np.isfinite(rounded) | equal, error, np.inf))
    return np.where(np.isnan(error), np.inf, error)


def all_floats(step: int) -> Array:
    bits = np.arange(0, 2**32, step, dtype=np.uint64).astype(np.uint32)
    rng = np.random.default_rng(0)
    parts = [bits.view(np.float32), SPECIAL, rng.normal(size=20011) * 4, rng.uniform(-1, 1, 20011)]
    parts.append(np.arange(1, 19000) * (np.pi / 2))
    return np.concatenate([p.astype(np.float32) for p in parts])


@pytest.mark.parametrize("name", UNARY)
def test_unary_error_and_specials(maths: ctypes.CDLL, name: str) -> None:
    reference, bound = UNARY[name]
    x = all_floats(400009 if name in ("erf", "erfc", "sin", "cos", "tan") else 40009)
    with np.errstate(all="ignore"):
        want = np.asarray(reference(x.astype(np.float64)))
    got = apply(maths, "vector", name, x)
    error = ulp_error(got, want)
    worst = int(np.argmax(error))
    assert error[worst] <= bound, (x[worst], got[worst], want[worst], error[worst])
    with np.errstate(all="ignore"):
        signs = np.signbit(got) != np.signbit(want.astype(np.float32))
    assert not (signs & ~np.isnan(want)).any(), x[signs & ~np.isnan(want)][:4]


@pytest.mark.parametrize("name", [*UNARY, *OTHERS])
def test_scalar_form_agrees_with_vector_form(maths: ctypes.CDLL, name: str) -> None:
    x = all_floats(400009)
    vector, scalar = apply(maths, "vector", name, x), apply(maths, "scalar", name, x)
    # asinh and acosh may contract differently.
    np.testing.assert_array_max_ulp(vector[~np.isnan(vector)], scalar[~np.isnan(vector)], 2)
    assert np.array_equal(np.isnan(vector), np.isnan(scalar))


def pairs() -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    x = [np.repeat(SPECIAL, SPECIAL.size), rng.uniform(0, 4, 20000), rng.integers(-20, 20, 20000)]
    y = [np.tile(SPECIAL, SPECIAL.size), rng.uniform(-30, 30, 20000), rng.integers(-20, 20, 20000)]
    bits = rng.integers(0, 2**32, (2, 20000), dtype=np.uint32).view(np.float32)
    return (
        np.concatenate([*(p.astype(np.float32) for p in x), bits[0]]),
        np.concatenate([*(p.astype(np.float32) for p in y), bits[1]]),
    )


@pytest.mark.parametrize("name", BINARY)
def test_binary_error_and_specials(maths: ctypes.CDLL, name: str) -> None:
    reference, bound = BINARY[name]
    x, y = pairs()
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.float64), y.astype(np.float64))
    for form in ("vector", "scalar"):
        got = apply(maths, form, name, x, y)
        error = ulp_error(got, want)
        worst = int(np.argmax(error))
        assert error[worst] <= bound, (form, x[worst], y[worst], got[worst], want[worst])


def test_python_division(maths: ctypes.CDLL) -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.integers(-40, 40, 4000), rng.normal(size=4000) * 9]).astype(np.float32)
    y = np.concatenate([rng.integers(1, 9, 4000), rng.normal(size=4000)]).astype(np.float32)
    y[::3] *= -1
    exact = [float(a) % float(b) for a, b in zip(x, y, strict=True)]
    got = apply(maths, "vector", "remainder", x, y)
    # fmod is exact; adding the divisor rounds once.
    np.testing.assert_array_max_ulp(got, np.array(exact, np.float32), 1)
    down = np.array([float(a) // float(b) for a, b in zip(x, y, strict=True)], np.float32)
    assert np.array_equal(apply(maths, "vector", "floor_divide", x, y), down)
    zero = np.zeros(3, np.float32)
    top = np.array([1, -1, 0], np.float32)
    assert np.array_equal(
        apply(maths, "vector", "floor_divide", top, zero), [np.inf, -np.inf, np.nan], equal_nan=True
    )


@pytest.mark.parametrize("name", OTHERS)
def test_activations(maths: ctypes.CDLL, name: str) -> None:
    x = np.concatenate([np.linspace(-40, 40, 20001), [0.0, -0.0, np.nan, 100, -100, 1e30, -1e30]])
    x = x.astype(np.float32)
    v = x.astype(np.float64)
    erf = np.vectorize(math.erf, otypes=[np.float64])
    with np.errstate(all="ignore"):
        want = {
            "sigmoid": lambda: 1 / (1 + np.exp(-v)),
            "silu": lambda: v / (1 + np.exp(-v)),
            "gelu_erf": lambda: 0.5 * v * (1 + erf(v / math.sqrt(2))),
            "gelu_tanh": lambda: (
                0.5 * v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
            ),
        }[name]()
    got = apply(maths, "vector", name, x)
    np.testing.assert_allclose(got, want, rtol=3e-6 if name == "sigmoid" else 0, atol=6e-7 * 4)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "floor", "sqrt", "sin"])
def test_double(maths: ctypes.CDLL, name: str) -> None:
    x = np.concatenate([np.linspace(-30, 30, 1003), SPECIAL.astype(np.float64)])
    with np.errstate(all="ignore"):
        want = UNARY[name][0](x)
    for form in ("vector", "scalar"):
        np.testing.assert_allclose(apply(maths, form, name, x), want, rtol=1e-15, atol=1e-300)
