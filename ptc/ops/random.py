"""Random numbers: the operators of `ptc.graph.random_operators`, drawn by the runtime."""

from __future__ import annotations

from collections.abc import Sequence

from ptc.graph.random_operators import OPERATORS as opaque
from ptc.graph.random_operators import STATE_WORDS
from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.protocol import LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples

Drawn = tuple[TensorValue, TensorValue]


def _drawn(
    ctx: LoweringContext,
    routine: str,
    size: Sequence[int | Index],
    dtype: DType,
    *inputs: TensorValue,
) -> Drawn:
    """What `routine` draws from the state `inputs[0]`, and the state after it."""
    values = ctx.empty([ctx.size(extent) for extent in size], dtype)
    state = ctx.empty(inputs[0].shape, DType.I32)
    ctx.extern(routine, inputs, [values, state])
    return values, state


def _float(wide: bool) -> DType:
    return DType.F64 if wide else DType.F32


@lowers(opaque.random_seeded.default)
def lower_seeded(ctx: LoweringContext, seed: TensorValue) -> TensorValue:
    """The state of a generator with a seed."""
    state = ctx.empty([ctx.size(STATE_WORDS)], DType.I32)
    ctx.extern("random_seeded", [seed], [state])
    return state


@lowers(opaque.random_uniform.default)
def lower_uniform(
    ctx: LoweringContext,
    state: TensorValue,
    size: Sequence[int | Index],
    low: TensorValue,
    high: TensorValue,
    wide: bool,
) -> Drawn:
    """Uniform in [low, high)."""
    return _drawn(ctx, "random_uniform", size, _float(wide), state, low, high)


@lowers(opaque.random_normal.default)
def lower_normal(
    ctx: LoweringContext,
    state: TensorValue,
    size: Sequence[int | Index],
    mean: TensorValue,
    std: TensorValue,
    wide: bool,
) -> Drawn:
    """Normal of a mean and a deviation."""
    return _drawn(ctx, "random_normal", size, _float(wide), state, mean, std)


@lowers(opaque.random_exponential.default)
def lower_exponential(
    ctx: LoweringContext,
    state: TensorValue,
    size: Sequence[int | Index],
    rate: TensorValue,
    wide: bool,
) -> Drawn:
    """Exponential of a rate."""
    return _drawn(ctx, "random_exponential", size, _float(wide), state, rate)


@lowers(opaque.random_integers.default)
def lower_integers(
    ctx: LoweringContext,
    state: TensorValue,
    size: Sequence[int | Index],
    low: TensorValue,
    high: TensorValue,
) -> Drawn:
    """Integers in [low, high)."""
    return _drawn(ctx, "random_integers", size, DType.I64, state, low, high)


@lowers(opaque.random_permutation.default)
def lower_permutation(ctx: LoweringContext, state: TensorValue, n: int | Index) -> Drawn:
    """0 .. n - 1 in an order of chance."""
    return _drawn(ctx, "random_permutation", [n], DType.I64, state)


# Words of 1 and 2 are a state, too: one of the first positions, and a number waits.
_STATE = T(f"i32[{STATE_WORDS}]", low=1, high=3)
_TENTH, _TWO = T("f64[]", low=0.1, high=0.2), T("f64[]", low=2.0, high=3.0)

samples(
    opaque.random_seeded.default,
    sample(T("i64[]", low=0, high=1 << 40), exact=True),
    sample(T("i64[]", low=-9, high=-1), exact=True),
)
samples(
    opaque.random_uniform.default,
    sample(_STATE, [3, 300], _TENTH, _TWO, False, exact=True),
    sample(_STATE, [700], _TENTH, _TWO, True),
    sample(_STATE, [0], _TENTH, _TWO, True, exact=True),
)
samples(
    opaque.random_normal.default,
    *[sample(_STATE, [n], _TENTH, _TWO, False) for n in (0, 3, 15, 16, 33, 1400)],
    *[sample(_STATE, [n], _TENTH, _TWO, True) for n in (0, 3, 15, 16, 33, 700)],
)
samples(
    opaque.random_exponential.default,
    sample(_STATE, [20], _TWO, False),
    sample(_STATE, [2, 400], _TWO, True),
)
samples(
    opaque.random_integers.default,
    sample(_STATE, [50], T("i64[]", low=-9, high=0), T("i64[]", low=1, high=9), exact=True),
    sample(
        _STATE, [50], T("i64[]", low=-9, high=0), T("i64[]", low=1 << 40, high=1 << 41), exact=True
    ),
)
samples(
    opaque.random_permutation.default,
    *[sample(_STATE, n, exact=True) for n in (0, 1, 2, 77)],
)
