"""What single rules do beyond their sample rows: symbolic arguments, checks, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_map_only

from ptc.loops import interpreter
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, BufferKind, DType, Program, Size
from ptc.loops.verifier import verify
from ptc.ops import opaque, registry
from ptc.ops.dtypes import from_torch, promote, to_torch
from ptc.ops.protocol import TensorValue
from ptc.schedule.context import Context, dense_strides
from ptc.support.diagnostics import CompileError

aten = torch.ops.aten


def run(
    op: Any, *args: Any, sizes: dict[str, int] | None = None, outputs: int = 0, **kwargs: Any
) -> np.ndarray:
    """Lower one call with NumPy arrays as inputs and interpret it."""
    known = sizes or {}
    context = Context(dict.fromkeys(known, (1, None)))
    given: dict[str, np.ndarray] = {}

    def place(array: np.ndarray) -> TensorValue:
        name = f"x{len(given)}"
        given[name] = array
        shape = tuple(Index.of(n) for n in array.shape)
        dtype = DType({"float32": "f32", "int64": "i64", "bool": "bool"}[str(array.dtype)])
        return context.add_buffer(
            Buffer(name, dtype, shape, dense_strides(shape), BufferKind.INPUT)
        )

    placed = tree_map_only(np.ndarray, place, (args, kwargs))
    rule = registry.lowering(op)
    assert rule is not None
    result = rule(context, *placed[0], **placed[1])
    value = result if isinstance(result, TensorValue) else result[outputs]
    target = context.add_buffer(
        Buffer("out", value.dtype, value.shape, dense_strides(value.shape), BufferKind.OUTPUT)
    )
    context.copy(value, target)
    program = Program(
        "rule",
        tuple(Size(name, name, 1, None) for name in known),
        context.buffers,
        tuple(given),
        ("out",),
        tuple(context.kernels),
    )
    verify(program)
    return np.asarray(interpreter.run(program, given, sizes=known)[0])


X = np.arange(12, dtype=np.float32).reshape(3, 4)


# --- symbolic ints as arguments -----------------------------------------------------------------


def test_symbolic_scalar_operand() -> None:
    got = run(aten.mul.Tensor, X, Index.var("s0"), sizes={"s0": 5})
    np.testing.assert_array_equal(got, X * 5)


def test_symbolic_divisor_divides_truly() -> None:
    got = run(aten.div.Tensor, X, Index.var("s0"), sizes={"s0": 5})
    np.testing.assert_array_equal(got, X / np.float32(5))


def test_symbolic_select_and_slice() -> None:
    s = Index.var("s0")
    np.testing.assert_array_equal(run(aten.select.int, X, 0, s, sizes={"s0": 2}), X[2])
    np.testing.assert_array_equal(run(aten.select.int, X, 1, -s, sizes={"s0": 3}), X[:, -3])
    got = run(aten.slice.Tensor, X, 1, s - 3, None, sizes={"s0": 1})
    np.testing.assert_array_equal(got, X[:, -2:])


def test_symbolic_range() -> None:
    s = Index.var("s0")
    got = run(aten.arange.start_step, s, s * 3, 2, sizes={"s0": 4})
    np.testing.assert_array_equal(got, np.arange(4, 12, 2))
    got = run(aten.arange.start, 0.0, s, sizes={"s0": 4})
    np.testing.assert_array_equal(got, np.arange(4, dtype=np.float32))
    got = run(aten.arange.start_step, s, 0, -3, sizes={"s0": 8})
    np.testing.assert_array_equal(got, np.arange(8, 0, -3))


def test_symbolic_padding() -> None:
    got = run(aten.constant_pad_nd.default, X, [Index.var("s0"), 1], 7.0, sizes={"s0": 2})
    np.testing.assert_array_equal(got, np.pad(X, ((0, 0), (2, 1)), constant_values=7))


# --- checks at run time -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "args"),
    [
        (aten.embedding.default, (X, np.array([0, 3]))),
        (aten.embedding.default, (X, np.array([-1]))),
        (aten.gather.default, (X, 1, np.array([[4]]))),
        (aten.index.Tensor, (X, [np.array([3])])),
        (aten.index.Tensor, (X, [np.array([-4])])),
        (aten.index_select.default, (X, 0, np.array([5]))),
        (aten.scatter.value, (X, 1, np.array([[9]]), 1.0)),
        (aten.index_put.default, (X, [np.array([3])], np.array(1.0, np.float32))),
    ],
)
def test_positions_out_of_range_fail_the_run(op: Any, args: tuple[Any, ...]) -> None:
    with pytest.raises(interpreter.RunError, match="out of range"):
        run(op, *args)


@pytest.mark.parametrize("op", [aten.floor_divide.default, aten.remainder.Tensor, aten.fmod.Tensor])
def test_integer_division_by_zero_fails_the_run(op: Any) -> None:
    with pytest.raises(interpreter.RunError, match="division by zero"):
        run(op, np.array([4, 5]), np.array([2, 0]))


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "op", "args"),
    [
        ("PTC-O003", aten.index.Tensor, (X, [X > 3])),
        ("PTC-O002", opaque.OPERATORS.sdpa.default, (X, X, X, None, 0.5)),
        ("PTC-O002", aten.native_dropout.default, (X, 0.5, True)),
        ("PTC-O003", aten.split.Tensor, (X, Index.var("s0"))),
        ("PTC-O005", aten.floor_divide.default, (X > 3, X > 4)),
        ("PTC-O003", aten.arange.start, (0.5, Index.var("s0"))),
    ],
)
def test_refusals(code: str, op: Any, args: tuple[Any, ...]) -> None:
    with pytest.raises(CompileError) as caught:
        run(op, *args, sizes={"s0": 2})
    assert caught.value.code == code


# --- promotion ----------------------------------------------------------------------------------


def test_promotion_is_torchs() -> None:
    types = (torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16,
             torch.float32, torch.float64)  # fmt: skip
    numbers: tuple[Any, ...] = (True, 3, 0.5)
    values = [torch.zeros(s, dtype=t) for t in types for s in ((2,), ())] + list(numbers)
    for a in values:
        for c in values:
            if not isinstance(a, torch.Tensor) and not isinstance(c, torch.Tensor):
                continue
            own = promote([_operand(a), _operand(c)])
            assert to_torch(own) is torch.result_type(a, c), (a, c)


def _operand(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    shape = tuple(Index.of(n) for n in value.shape)
    return TensorValue("x", from_torch(value.dtype), shape)


# --- opaque operators ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_recurrent_replacements_agree_with_torch(name: str) -> None:
    gates = {"lstm": 4, "gru": 3}.get(name, 1)
    x, h = torch.randn(5, 2, 3), torch.randn(2, 2, 4)
    weights = [
        torch.randn(s) * 0.3
        for _ in range(2)
        for s in ((gates * 4, 3), (gates * 4, 4), (gates * 4,), (gates * 4,))
    ]
    hidden: Any = (h, torch.randn(2, 2, 4)) if name == "lstm" else h
    call = (x, hidden, weights, True, 1, 0.0, False, True, False)
    original: Callable[..., Any] = getattr(torch, name)
    for got, want in zip(opaque.replacements()[original](*call), original(*call), strict=True):
        torch.testing.assert_close(got, want)


def test_one_hot_replacement() -> None:
    ids = torch.tensor([[1, 0], [2, 2]])
    replaced = opaque.replacements()[torch.nn.functional.one_hot]
    assert torch.equal(replaced(ids, 4), torch.nn.functional.one_hot(ids, 4))
    assert torch.equal(replaced(ids), torch.nn.functional.one_hot(ids))
