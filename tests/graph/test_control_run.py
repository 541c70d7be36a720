"""The reference interpreter against the Python that each program stands for."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from ptc.graph.control import ControlProgram, Formatted, ListVar, NumberKind, NumberVar
from ptc.graph.control_coverage import Coverage
from ptc.graph.control_run import IntegerOverflow, run
from ptc.support.diagnostics import CompileError, InternalError
from tests.graph.control_building import ControlBuilder
from tests.graph.control_samples import SAMPLES, Inputs
from tests.graph.structured import run_structured


def outcome(call: Any, inputs: Inputs, state: dict[str, Any]) -> dict[str, Any]:
    """All that can be seen of one call."""
    inputs = copy.deepcopy(inputs)
    emitted: list[tuple[str, str, str]] = []
    raised, results = None, None
    try:
        results = call(inputs, state, lambda *parts: emitted.append(parts))
    except ValueError as error:
        raised = (type(error), str(error))
    return {
        "results": results,
        "raised": repr(raised),
        "emitted": emitted,
        "inputs": inputs,
        "state": copy.deepcopy(state),
    }


@pytest.mark.parametrize("name", list(SAMPLES))
def test_samples_do_what_python_does(name: str) -> None:
    sample = SAMPLES[name]
    program = sample.build()
    coverage = Coverage(program)
    eager_state: dict[str, Any] = {}
    own_state: dict[str, Any] = {}

    def interpreted(inputs: Inputs, state: dict[str, Any], emit: Any) -> list[Any]:
        return run(program, inputs, state, emit=emit, coverage=coverage)

    for inputs in sample.calls():
        expected = outcome(sample.eager, inputs, eager_state)
        actual = outcome(interpreted, inputs, own_state)
        assert_same(actual, expected)
    assert coverage.unreached() == ()


def assert_same(actual: Any, expected: Any) -> None:
    """Equal to the bit, types included. A result that the variant does not use may be anything."""
    if expected is None:
        return
    assert type(actual) is type(expected)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(actual[key], value)
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other)
    else:
        assert actual == expected


def one(program: ControlProgram, **inputs: Any) -> Any:
    return run_structured(program, inputs, {})


def test_numbers_of_every_kind_in_a_segment() -> None:
    """As operands, and raw in arguments."""
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(2))
    numbers = [b.scalar(kind.value, kind) for kind in NumberKind]
    i, f, _ = (b.symbol_of(number) for number in numbers)
    (y,) = b.segment(
        lambda x, n, r, flag: x * n + r + (f * 2 + 1) - torch.full((2,), i + 3), [x, *numbers], "y"
    )
    program = b.finish(y)
    got = one(program, x=torch.ones(2), int=4, float=0.25, bool=True)
    assert got.tolist() == [4 + 0.25 + 1.5 - 7] * 2
    with pytest.raises(InternalError, match="`float` is 4, expected"):
        one(program, x=torch.ones(2), int=4, float=4, bool=True)


def test_inputs_that_do_not_fit() -> None:
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(3, 2), {0: ("n", 2, 5)})
    program = b.finish(x)
    for given, words in (
        ({}, "`x` is not given"),
        ({"x": torch.zeros(6, 2)}, "is 6, `n` must be 2..5"),
        ({"x": torch.zeros(3, 3)}, "dim 1 of input `x` is 3, expected 2"),
        ({"x": torch.zeros(3, 2, dtype=torch.int64)}, r"`x` is i64\[3, 2\], expected f32"),
        ({"x": 3}, "`x` is int 3, expected f32"),
    ):
        with pytest.raises(CompileError, match=words):
            one(program, **given)


def test_an_int_that_does_not_fit_64_bits() -> None:
    b = ControlBuilder()
    n = b.scalar("n", NumberKind.INT)
    program = b.finish(b.compute("m", NumberKind.INT, "mul", n, 2))
    assert one(program, n=-(2**62)) == -(2**63)
    with pytest.raises(IntegerOverflow, match="integer overflow in mul"):
        one(program, n=2**62)


@pytest.mark.parametrize(
    ("name", "made"),
    [("KeyError", KeyError), ("ZeroDivisionError", ZeroDivisionError), ("SystemExit", SystemExit)],
)
def test_builtin_exceptions_read_as_their_message(name: str, made: type[BaseException]) -> None:
    b = ControlBuilder()
    n = b.scalar("n", NumberKind.INT)
    b.fail(name, "no ", Formatted(n))
    with pytest.raises(made) as caught:
        one(b.finish(), n=3)
    assert type(caught.value) is made
    assert str(caught.value) == "no 3"


@pytest.mark.parametrize("name", ["models.faults.OutOfRange", "UnicodeDecodeError", "print"])
def test_other_exceptions_are_named(name: str) -> None:
    b = ControlBuilder()
    b.fail(name, "no")
    with pytest.raises(Exception, match="no") as caught:
        one(b.finish())
    assert type(caught.value).__name__ not in ("UnicodeDecodeError", "InternalError")
    assert name in repr(vars(caught.value))


def test_tensors_and_lists_in_text() -> None:
    """`format` of a tensor of one element is that of its number; `str` shows the tensor."""
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(()))
    numbers = ListVar("numbers", NumberKind.FLOAT)
    b.list_item("new", numbers, 0.1, -2.0)
    tensors = ListVar("tensors", x.fake)
    b.list_item("new", tensors, x, x)
    b.emit("stdout", Formatted(x, "", "format"), "|", Formatted(x, ".1f", "format"), "|")
    b.emit("stdout", Formatted(x), "|", Formatted(numbers), "|", Formatted(tensors))
    said: list[str] = []
    run(b.finish(), {"x": torch.tensor(1.25)}, {}, emit=lambda *parts: said.append(parts[2]))
    values = "[0.1, -2.0]|[tensor(1.2500), tensor(1.2500)]"
    assert said == ["1.25|1.2|", f"tensor(1.2500)|{values}"]


def test_a_program_that_is_not_what_it_says() -> None:
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(4))
    count = b.size("count", 0, 3)
    found = b.variable("found", torch.int64, count, 1)
    b.data_sized("nonzero", [found], x)
    b.bind_dim(count, found)
    program = b.finish(found)
    assert one(program, x=torch.tensor([0.0, 1, 1, 0])).tolist() == [[1], [2]]
    with pytest.raises(InternalError, match="`count` .* is 4, out of its range"):
        one(program, x=torch.ones(4))
    items = ListVar("items", NumberKind.INT)
    b = ControlBuilder()
    n = b.scalar("n", NumberKind.INT)
    b.list_item("new", items, 1, 2)
    b.list_item("get", NumberVar("k", NumberKind.INT), items, n)
    program = b.finish(NumberVar("k", NumberKind.INT))
    assert one(program, n=1) == 2
    for bad in (-1, 2):
        with pytest.raises(InternalError, match=f"get at {bad} of a list of 2"):
            one(program, n=bad)


def test_arms_that_no_input_reached() -> None:
    program = SAMPLES["nested"].build()
    coverage = Coverage(program)
    x = torch.tensor([0.1, 0.2, -0.5])
    run(program, {"x": x, "k": 0}, {}, coverage=coverage)
    assert [str(arm) for arm in coverage.unreached()] == [
        "no input reached the `for` side where the condition holds, model.py:2"
    ]
    run(program, {"x": x, "k": 1}, {}, coverage=coverage)
    assert [str(arm) for arm in coverage.unreached()] == [
        "no input reached the `if` side where the condition fails, model.py:6",
        "no input reached a second iteration of the `for` loop, model.py:2",
    ]
    run(program, {"x": x, "k": 5}, {}, coverage=coverage)
    assert coverage.unreached() == ()


def test_structured_results() -> None:
    program = SAMPLES["variants"].build()
    (value, total) = (one(program, x=torch.tensor(v)) for v in ([1.0, 2, 3], [-1, 5.75, 3]))
    torch.testing.assert_close(value, torch.tensor([1.0, 2, 3]).cos(), rtol=0, atol=0)
    assert (float(total["total"]), total["n"]) == (7.75, 5)


def _shared(read: bool, view: Any) -> ControlProgram:
    """A segment writes to `h`, which is `f` or a view of it; the segment may read `f` too."""
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(2, 2))
    (f,) = b.segment(lambda x: x + 1, [x], "f")
    (h,) = b.segment(view, [f], "h")
    if read:
        (y,) = b.segment(lambda h, f: (h.mul_(2), f + 1)[1], [h, f], "y")
    else:
        b.segment(lambda h: h.mul_(2), [h])
        (y,) = b.segment(lambda f: f + 1, [f], "y")
    return b.finish(y)


def test_writes_are_seen_through_the_same_tensor_only() -> None:
    """Where a compiled program could not do what eager does, the interpreter says so."""
    x = torch.ones(2, 2)
    assert one(_shared(False, lambda f: f.view(2, 2)), x=x).tolist() == [[5, 5], [5, 5]]
    assert one(_shared(True, lambda f: f.clone()), x=x).tolist() == [[3, 3], [3, 3]]
    for view in (lambda f: f.t(), lambda f: f.view(4), lambda f: f[0]):
        with pytest.raises(InternalError, match="`f` is a view of `h` and read after a write"):
            one(_shared(False, view), x=x)
    with pytest.raises(InternalError, match="reads as another input, too"):
        one(_shared(True, lambda f: f.view(2, 2)), x=x)


def test_reading_what_is_written_with_equal_results() -> None:
    """`h.add_(f)` where both are one tensor is the same, told apart or not."""
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(2))
    (f,) = b.segment(lambda x: x + 1, [x], "f")
    h = b.variable("h", torch.float32, 2)
    b.assign(h, f)
    (y,) = b.segment(lambda h, f: h.add_(f) + 1, [h, f], "y")
    (z,) = b.segment(lambda f: f * 10, [f], "z")
    y, z = one(b.finish(y, z), x=torch.tensor([1.0, 2.0]))
    assert (y.tolist(), z.tolist()) == ([5, 7], [40, 60])
