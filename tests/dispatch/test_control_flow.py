"""`ptc.compile(control_flow=True)`: what data decides in one graph, over live objects."""

from __future__ import annotations

import contextlib
import io
import logging
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import ptc
from ptc.dispatch.notices import CompileNotice
from ptc.dispatch.proxy import compiler_of
from ptc.graph.control import ControlProgram

BACKENDS = ["native", "eager"]


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


class TooLarge(ValueError):
    """An exception of the user's."""


class Counting(nn.Module):
    """Branches, prints, kept numbers, buffers written and replaced, exceptions."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("last", torch.zeros(4))
        self.calls = 0
        self.path = "none"

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        self.calls += 1
        y = self.linear(x)
        self.total.add_(y)
        if y.sum() > 0:
            self.path = "up"
            print("up", self.calls)
            self.last = torch.relu(y)
        else:
            self.path = "down"
            print("down", self.calls)
        if y.abs().max() > 50:
            raise TooLarge(f"{self.calls} calls")
        return {"y": y, "calls": self.calls}


def programs(compiled: Any) -> list[Any]:
    """What each entry of a compiled module holds."""
    caches = compiler_of(compiled)._caches.values()  # pyright: ignore[reportPrivateUsage]
    return [entry.frame.program for cache in caches for entry in cache.entries]


def buffers(model: Counting) -> list[torch.Tensor]:
    return [model.total.clone(), model.last.clone()]


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_prints_and_exceptions_are_those_of_eager(backend: str) -> None:
    torch.manual_seed(0)
    plain, model = Counting(), Counting()
    model.load_state_dict(plain.state_dict())
    fast = ptc.compile(model, control_flow=True, backend=backend)
    for scale in (1.0, -1.0, 2.0, 1000.0, -3.0):
        x = torch.arange(1.0, 5) * scale
        texts, results = [], []
        for run in (plain, fast):
            with contextlib.redirect_stdout(io.StringIO()) as text:
                try:
                    results.append(run(x))
                except TooLarge as error:
                    results.append({"y": torch.zeros(0), "calls": int(str(error).split()[0])})
                    lines = traceback.format_tb(error.__traceback__)
                    assert 'raise TooLarge(f"{self.calls} calls")' in lines[-1]
            texts.append(text.getvalue())
        assert texts[0] == texts[1] != ""
        torch.testing.assert_close(results[0], results[1])
        assert (plain.calls, plain.path) == (model.calls, model.path)
        torch.testing.assert_close(buffers(plain), buffers(model))
    assert [type(program) for program in programs(fast)] == [ControlProgram]


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_and_attributes_are_live(backend: str) -> None:
    torch.manual_seed(0)
    model = Counting()
    fast = ptc.compile(model, control_flow=True, backend=backend)
    x = torch.ones(4)
    fast(x)
    before = model.last
    model.linear.weight.data.mul_(-1.0)
    model.linear.bias.copy_(torch.full((4,), 0.25))
    model.calls = 100
    model.total.zero_()
    expected = model.linear(x)
    result = fast(x)
    torch.testing.assert_close(result["y"], expected)
    assert result["calls"] == model.calls == 101
    torch.testing.assert_close(model.total, expected)
    if expected.sum() <= 0:
        assert model.last is before
    assert len(programs(fast)) == 1


def test_a_replaced_buffer_is_another_tensor() -> None:
    model = Counting()
    fast = ptc.compile(model, control_flow=True)
    model.linear.weight.fill_(1.0)
    old, total = model.last, model.total
    fast(torch.ones(4))
    assert model.last is not old and float(old.sum()) == 0.0
    assert model.total is total  # written in place


class OneFromNowOn(nn.Module):
    """Two buffers may become one tensor, which a later call writes to."""

    def __init__(self) -> None:
        super().__init__()
        self.p, self.q = nn.Buffer(torch.zeros(3)), nn.Buffer(torch.ones(3))

    def forward(self, x: torch.Tensor) -> Any:
        if x[0] > 0:
            self.p = self.q
        self.q.add_(x)
        self.p.mul_(2)
        return self.p + self.q


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", BACKENDS)
def test_buffers_that_become_one_stay_one(backend: str) -> None:
    model, eager = OneFromNowOn(), OneFromNowOn()
    compiled = ptc.compile(model, control_flow=True, backend=backend)
    for sign in (-1.0, 1.0, 2.0, -3.0):
        x = torch.full((3,), sign)
        assert torch.equal(compiled(x), eager(x))
        assert torch.equal(model.p, eager.p) and torch.equal(model.q, eager.q)


@pytest.mark.parametrize("backend", BACKENDS)
def test_warnings_and_log_records_come_from_the_users_line(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    def speak(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            warnings.warn("large", RuntimeWarning, stacklevel=1)
            logging.getLogger("zoo.speak").warning("sum %.1f", x.sum().item())
        return x * 2

    fast = ptc.compile(speak, control_flow=True, backend=backend)
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.WARNING):
        warnings.simplefilter("always")
        fast(torch.ones(3))
    (found,) = [w for w in caught if not issubclass(w.category, CompileNotice)]
    assert (found.category, str(found.message)) == (RuntimeWarning, "large")
    assert found.filename == __file__ and found.lineno == speak.__code__.co_firstlineno + 2
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == (
        "zoo.speak", "WARNING", "sum 3.0",
    )  # fmt: skip


def test_what_needs_python_is_compiled_around_and_said_once() -> None:
    seen: list[float] = []

    def keep(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            seen.append(x.sum().item())
        return x * 2

    fast = ptc.compile(keep, control_flow=True)
    ptc.reset()
    with pytest.warns(CompileNotice, match="PTC-D024"):
        torch.testing.assert_close(fast(torch.ones(3)), torch.full((3,), 2.0))
    assert seen == [3.0]


def test_calls_that_record_gradients_have_them() -> None:
    layer = nn.Linear(3, 3)

    def choose(x: torch.Tensor) -> torch.Tensor:
        y = layer(x)
        return torch.relu(y) if y.sum() > 0 else -y

    fast = ptc.compile(choose, control_flow=True)
    ptc.reset()
    with torch.enable_grad(), pytest.warns(CompileNotice, match="gradients"):
        fast(torch.ones(3)).sum().backward()
    assert layer.weight.grad is not None
    torch.testing.assert_close(fast(torch.ones(3)), choose(torch.ones(3)))


def test_sizes_that_change_become_dynamic() -> None:
    def step(x: torch.Tensor) -> torch.Tensor:
        while x.norm() > 1:
            x = x / 2
        return x

    fast = ptc.compile(step, control_flow=True)
    for size in (3, 4, 5, 6, 7):
        x = torch.arange(float(size))
        torch.testing.assert_close(fast(x), step(x))
    assert len(programs(fast)) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_missing_key_is_the_argument_of_its_exception(backend: str) -> None:
    def look(x: torch.Tensor) -> int:
        return {"small": 1}["large" if x.sum() > 0 else "small"]

    fast = ptc.compile(look, control_flow=True, backend=backend)
    assert fast(-torch.ones(2)) == 1
    with pytest.raises(KeyError) as raised:
        fast(torch.ones(2))
    assert raised.value.args == ("large",)


def test_ints_that_change_make_further_entries() -> None:
    def pick(x: torch.Tensor, row: int) -> torch.Tensor:
        if x.sum() > 0:
            return x[row] * 2
        return x[0]

    fast = ptc.compile(pick, control_flow=True)
    x = torch.arange(6.0).reshape(3, 2)
    for row in (0, 1, 2, 0):
        torch.testing.assert_close(fast(x, row), pick(x, row))


def test_a_result_that_is_the_argument_is_the_argument() -> None:
    def same(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            print(end="")
        return x

    x = torch.ones(3)
    assert ptc.compile(same, control_flow=True)(x) is x


def test_inputs_that_are_not_contiguous_are_written_in_place() -> None:
    def write(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            x[0] = 7.0
        return x.sum()

    x, y = torch.ones(3, 2).t(), torch.ones(3, 2).t()
    version = y._version
    torch.testing.assert_close(ptc.compile(write, control_flow=True)(y), write(x))
    torch.testing.assert_close(x, y)
    assert y._version > version


def test_a_program_may_run_while_it_prints() -> None:
    def speak(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            print(x.sum().item())
        return x + 1

    fast = ptc.compile(speak, control_flow=True)
    inner: list[torch.Tensor] = []

    class Calling(io.StringIO):
        def write(self, text: str) -> int:
            if not inner:
                inner.append(torch.zeros(0))
                inner[0] = fast(torch.full((2,), 5.0))
            return super().write(text)

    with contextlib.redirect_stdout(Calling()) as text:
        result = fast(torch.ones(2))
    assert text.getvalue() == "10.0\n2.0\n"
    torch.testing.assert_close(result, torch.full((2,), 2.0))
    torch.testing.assert_close(inner[0], torch.full((2,), 6.0))
