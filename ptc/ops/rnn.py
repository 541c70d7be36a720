"""Recurrent networks: LSTM (with projections), GRU and the plain RNN, any number of layers.

The products with the inputs of all time steps are one matrix product a layer and direction. The
recurrence is one kernel with a serial loop over time; each step reads the state that the one before
wrote, so any sequence length works, symbolic ones too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import DType, Expr, LoopKind
from ptc.ops.concat import lower_cat, write
from ptc.ops.dtypes import compute_type
from ptc.ops.elementwise import load_as
from ptc.ops.matmul import matrix_product
from ptc.ops.nests import loops
from ptc.ops.opaque import OPERATORS as opaque
from ptc.ops.protocol import KernelBuilder, LoweringContext, T, TensorValue, sample
from ptc.ops.registry import lowers, samples
from ptc.ops.shapes import ONE, ZERO, reshape
from ptc.ops.slicing import lower_select, narrow
from ptc.ops.views import lower_transpose


@dataclass(frozen=True, slots=True)
class _Weights:
    """Of one layer and direction: input [g*h, i], hidden [g*h, h], biases [g*h], projection."""

    input: TensorValue
    hidden: TensorValue
    input_bias: TensorValue | None
    hidden_bias: TensorValue | None
    projection: TensorValue | None


@dataclass(frozen=True, slots=True)
class _Step:
    """One layer and direction: where it reads and writes at each step of the serial loop.

    `states` has one row more than the sequence: the initial state lies before the first step's
    (behind it when running backward), so that every step reads a row and writes its neighbour.
    """

    inputs: TensorValue  # [t, b, g*h]: the products with the inputs, input biases added
    weights: _Weights
    states: TensorValue  # [t + 1, b, p]
    length: Index
    backward: bool

    def time(self, step: Index) -> Index:
        """The position in the sequence of step number `step`."""
        return self.length - 1 - step if self.backward else step

    def before(self, step: Index) -> Index:
        """The row of `states` that this step reads."""
        return self.length - step if self.backward else step

    def after(self, step: Index) -> Index:
        """The row of `states` that this step writes."""
        return self.before(step + 1)


def _weights(
    flat: Sequence[TensorValue], has_biases: bool, num_layers: int, bidirectional: bool
) -> Iterator[_Weights]:
    """One for each layer and direction; a fifth tensor (third without biases) projects."""
    each = len(flat) // (num_layers * (2 if bidirectional else 1))
    projected = each > 2 + 2 * has_biases
    for start in range(0, len(flat), each):
        part = flat[start : start + each]
        first, second = (part[2], part[3]) if has_biases else (None, None)
        yield _Weights(part[0], part[1], first, second, part[-1] if projected else None)


def _input_products(ctx: LoweringContext, sequence: TensorValue, weights: _Weights) -> TensorValue:
    """[t, b, i] @ [g*h, i].T + bias."""
    time, batch, width = sequence.shape
    gates = weights.input.shape[0]
    rows = reshape(ctx, sequence, (time * batch, width))
    columns = lower_transpose(ctx, weights.input, 0, 1)
    bias = weights.input_bias
    if bias is None:
        out = matrix_product(ctx, rows, columns)
    else:
        out = matrix_product(
            ctx, rows, columns, lambda i, v: b.add(v, load_as(ctx, bias, i[1:], v.dtype))
        )
    return reshape(ctx, out, (time, batch, gates))


def _state(
    ctx: LoweringContext, s: _Step, step: Index, batch: Index, unit: Index, acc: DType
) -> Expr:
    """The hidden state before this step."""
    return load_as(ctx, s.states, (s.before(step), batch, unit), acc)


def _gates(
    ctx: LoweringContext,
    k: KernelBuilder,
    s: _Step,
    step: Index,
    batch: Index,
    unit: Index,
    count: int,
    acc: DType,
) -> list[tuple[Expr, Expr]]:
    """For each of `count` gates of one unit: its input part and its hidden part."""
    units = s.weights.hidden.shape[0] // count
    sums = [k.accumulator("add", b.literal(0.0, acc), acc, "gate") for _ in range(count)]
    with k.loop(s.weights.hidden.shape[1], LoopKind.REDUCE, "r") as r:
        state = k.let(_state(ctx, s, step, batch, r, acc), "state")
        for gate, total in enumerate(sums):
            weight = load_as(ctx, s.weights.hidden, (units * gate + unit, r), acc)
            k.update(total, b.mul(state, weight))
    parts: list[tuple[Expr, Expr]] = []
    for gate, total in enumerate(sums):
        row = units * gate + unit
        given = load_as(ctx, s.inputs, (s.time(step), batch, row), acc)
        hidden: Expr = total
        if s.weights.hidden_bias is not None:
            hidden = b.add(total, load_as(ctx, s.weights.hidden_bias, (row,), acc))
        parts.append((given, hidden))
    return parts


# --- cells --------------------------------------------------------------------------------------


def _run_lstm(ctx: LoweringContext, s: _Step, c0: TensorValue) -> TensorValue:
    """All steps of one direction; the final cell state [b, h]."""
    batch_size, units = c0.shape
    dtype = s.states.dtype
    acc = compute_type(dtype)
    # The cell state alternates between two rows: a step reads one and writes the other.
    cells = ctx.empty((Index.const(2), batch_size, units), dtype)
    write(ctx, c0, lower_select(ctx, cells, 0, 0))
    raw = ctx.empty((batch_size, units), dtype) if s.weights.projection is not None else None
    with ctx.kernel() as k, k.loop(s.length, LoopKind.SERIAL, "t") as step:
        with loops(k, (batch_size, units)) as (batch, unit):
            parts = _gates(ctx, k, s, step, batch, unit, 4, acc)
            let_in, forget, new, let_out = (b.add(given, hidden) for given, hidden in parts)
            before = load_as(ctx, cells, (step % 2, batch, unit), acc)
            kept = b.mul(b.sigmoid(forget), before)
            cell = k.let(b.add(kept, b.mul(b.sigmoid(let_in), b.tanh(new))), "cell")
            k.store(cells, ((step + 1) % 2, batch, unit), b.cast(cell, dtype))
            value = b.cast(b.mul(b.sigmoid(let_out), b.tanh(cell)), dtype)
            if raw is None:
                k.store(s.states, (s.after(step), batch, unit), value)
            else:
                k.store(raw, (batch, unit), value)
        if raw is not None:
            _project(ctx, k, s, step, raw, acc)
    return lower_select(ctx, cells, 0, s.length % 2)


def _project(
    ctx: LoweringContext,
    k: KernelBuilder,
    s: _Step,
    step: Index,
    raw: TensorValue,
    acc: DType,
) -> None:
    """states[t, b] = raw[b] @ projection.T."""
    weight = s.weights.projection
    assert weight is not None
    with loops(k, (raw.shape[0], weight.shape[0])) as (batch, unit):
        total = k.accumulator("add", b.literal(0.0, acc), acc, "total")
        with k.loop(weight.shape[1], LoopKind.REDUCE, "r") as r:
            left = load_as(ctx, raw, (batch, r), acc)
            k.update(total, b.mul(left, load_as(ctx, weight, (unit, r), acc)))
        k.store(s.states, (s.after(step), batch, unit), b.cast(total, s.states.dtype))


def _run_cell(
    ctx: LoweringContext,
    s: _Step,
    count: int,
    cell: Callable[[list[tuple[Expr, Expr]], Expr], Expr],
) -> None:
    """All steps of a cell whose only state is its output: `cell(gate parts, state)`."""
    _, batch_size, units = s.states.shape
    acc = compute_type(s.states.dtype)
    with (
        ctx.kernel() as k,
        k.loop(s.length, LoopKind.SERIAL, "t") as step,
        loops(k, (batch_size, units)) as (batch, unit),
    ):
        parts = _gates(ctx, k, s, step, batch, unit, count, acc)
        value = cell(parts, _state(ctx, s, step, batch, unit, acc))
        k.store(s.states, (s.after(step), batch, unit), b.cast(value, s.states.dtype))


def _gru_cell(parts: list[tuple[Expr, Expr]], state: Expr) -> Expr:
    reset, update, new = parts
    r = b.sigmoid(b.add(*reset))
    z = b.sigmoid(b.add(*update))
    n = b.tanh(b.add(new[0], b.mul(r, new[1])))
    return b.add(n, b.mul(z, b.sub(state, n)))


def _tanh_cell(parts: list[tuple[Expr, Expr]], state: Expr) -> Expr:
    return b.tanh(b.add(*parts[0]))


def _relu_cell(parts: list[tuple[Expr, Expr]], state: Expr) -> Expr:
    return b.max_(b.add(*parts[0]), 0.0)


# --- layers -------------------------------------------------------------------------------------


def _run_layers(
    ctx: LoweringContext,
    x: TensorValue,
    h0: TensorValue,
    weights: Sequence[_Weights],
    bidirectional: bool,
    batch_first: bool,
    run: Callable[[_Step, int], None],
) -> tuple[TensorValue, TensorValue]:
    """Output and final hidden states; `run(step, number)` does one layer and direction."""
    sequence = lower_transpose(ctx, x, 0, 1) if batch_first else x
    length, batch, _ = sequence.shape
    width = h0.shape[2]
    directions = 2 if bidirectional else 1
    final = ctx.empty(h0.shape, h0.dtype)
    for layer in range(len(weights) // directions):
        parts: list[TensorValue] = []
        for direction in range(directions):
            number = layer * directions + direction
            step = _Step(
                inputs=_input_products(ctx, sequence, weights[number]),
                weights=weights[number],
                states=ctx.empty((length + 1, batch, width), x.dtype),
                length=length,
                backward=direction == 1,
            )
            first = lower_select(ctx, step.states, 0, step.before(ZERO))
            write(ctx, lower_select(ctx, h0, 0, number), first)
            run(step, number)
            last = lower_select(ctx, step.states, 0, step.before(length))
            write(ctx, last, lower_select(ctx, final, 0, number))
            parts.append(narrow(ctx, step.states, 0, ZERO if step.backward else ONE, length))
        sequence = parts[0] if directions == 1 else lower_cat(ctx, parts, 2)
    return (lower_transpose(ctx, sequence, 0, 1) if batch_first else sequence), final


@lowers(opaque.lstm.default)
def lower_lstm(
    ctx: LoweringContext,
    x: TensorValue,
    h0: TensorValue,
    c0: TensorValue,
    weights: Sequence[TensorValue],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[TensorValue, TensorValue, TensorValue]:
    """Output sequence, final hidden and cell states."""
    cells = ctx.empty(c0.shape, c0.dtype)

    def run(step: _Step, number: int) -> None:
        last = _run_lstm(ctx, step, lower_select(ctx, c0, 0, number))
        write(ctx, last, lower_select(ctx, cells, 0, number))

    parts = list(_weights(weights, has_biases, num_layers, bidirectional))
    out, final = _run_layers(ctx, x, h0, parts, bidirectional, batch_first, run)
    return out, final, cells


@lowers(opaque.gru.default)
def lower_gru(
    ctx: LoweringContext,
    x: TensorValue,
    h0: TensorValue,
    weights: Sequence[TensorValue],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[TensorValue, TensorValue]:
    """Output sequence and final hidden states."""
    parts = list(_weights(weights, has_biases, num_layers, bidirectional))
    return _run_layers(
        ctx, x, h0, parts, bidirectional, batch_first,
        lambda step, _: _run_cell(ctx, step, 3, _gru_cell),
    )  # fmt: skip


@lowers(opaque.rnn.default)
def lower_rnn(
    ctx: LoweringContext,
    x: TensorValue,
    h0: TensorValue,
    weights: Sequence[TensorValue],
    nonlinearity: str,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[TensorValue, TensorValue]:
    """Output sequence and final hidden states, with tanh or relu."""
    cell = _relu_cell if nonlinearity == "relu" else _tanh_cell
    parts = list(_weights(weights, has_biases, num_layers, bidirectional))
    return _run_layers(
        ctx, x, h0, parts, bidirectional, batch_first,
        lambda step, _: _run_cell(ctx, step, 1, cell),
    )  # fmt: skip


# --- samples ------------------------------------------------------------------------------------


def _flat(
    gates: int, width: int, units: int, layers: int, directions: int, biases: bool, proj: int = 0
) -> list[T]:
    """Weights in torch's order, small, as initialised."""
    state = proj or units
    result: list[T] = []
    for layer in range(layers):
        given = width if layer == 0 else state * directions
        for _ in range(directions):
            shapes = [f"{gates * units},{given}", f"{gates * units},{state}"]
            shapes += [f"{gates * units}"] * 2 if biases else []
            shapes += [f"{proj},{units}"] if proj else []
            result += [T(f"f32[{s}]", low=-0.5, high=0.5) for s in shapes]
    return result


samples(
    opaque.lstm.default,
    sample(
        T("f32[5,2,3]"), T("f32[1,2,4]"), T("f32[1,2,4]"), _flat(4, 3, 4, 1, 1, True),
        True, 1, False, False, tolerance=4.0,
    ),
    sample(
        T("f32[2,5,3]"), T("f32[4,2,4]"), T("f32[4,2,4]"), _flat(4, 3, 4, 2, 2, True),
        True, 2, True, True, tolerance=4.0,
    ),
    sample(
        T("f32[4,1,3]"), T("f32[2,1,4]"), T("f32[2,1,4]"), _flat(4, 3, 4, 2, 1, False),
        False, 2, False, False, tolerance=4.0,
    ),
    sample(
        T("f32[5,2,3]"), T("f32[2,2,2]"), T("f32[2,2,4]"), _flat(4, 3, 4, 1, 2, True, 2),
        True, 1, True, False, tolerance=4.0,
    ),
)  # fmt: skip
samples(
    opaque.gru.default,
    sample(
        T("f32[5,2,3]"), T("f32[1,2,4]"), _flat(3, 3, 4, 1, 1, True),
        True, 1, False, False, tolerance=4.0,
    ),
    sample(
        T("f32[2,5,3]"), T("f32[4,2,4]"), _flat(3, 3, 4, 2, 2, True),
        True, 2, True, True, tolerance=4.0,
    ),
)  # fmt: skip
samples(
    opaque.rnn.default,
    sample(
        T("f32[5,2,3]"), T("f32[1,2,4]"), _flat(1, 3, 4, 1, 1, True), "tanh",
        True, 1, False, False, tolerance=4.0,
    ),
    sample(
        T("f32[2,5,3]"), T("f32[4,2,4]"), _flat(1, 3, 4, 2, 2, False), "relu",
        False, 2, True, True, tolerance=4.0,
    ),
)  # fmt: skip
samples(
    opaque.lstm.default,
    sample(
        T("f32[6,2,19]"), T("f32[1,2,35]"), T("f32[1,2,35]"), _flat(4, 19, 35, 1, 1, True),
        True, 1, False, False, tolerance=4.0,
    ),
)  # fmt: skip
