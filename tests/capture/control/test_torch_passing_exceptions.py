"""Exceptions that data decides, of functions that operators and library functions call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from ptc.capture.api import capture_program
from ptc.graph.control import ControlProgram
from ptc.graph.control_printer import print_control
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

ROWS = [torch.tensor(r) for r in ([1.0, 2.0], [3.0, 0.5], [0.0, 1.0], [-2.0, -1.0], [2.0, 1.0])]
Row = torch.Tensor


class Scale:
    """Raises in what operators ask of it."""

    def __init__(self, value: float) -> None:
        self.number = value

    @property
    def positive(self) -> float:
        if self.number < 0:
            raise ValueError(f"negative {self.number}")
        return self.number

    @positive.setter
    def positive(self, value: float) -> None:
        if value > 4:
            raise OverflowError("large")
        self.number = value

    def __add__(self, other: float) -> float:
        if self.number > 2:
            raise ArithmeticError("add", self.number)
        print("adding", other)
        return self.number + other

    def __getitem__(self, place: int) -> float:
        if self.number < place:
            raise IndexError(f"no {place}")
        return self.number * place

    def __lt__(self, other: Scale) -> bool:
        if self.number + other.number < 0:
            raise TypeError("below")
        return self.number < other.number

    def __bool__(self) -> bool:
        if self.number == 0:
            raise ZeroDivisionError("nothing")
        return self.number > 0

    def __iadd__(self, other: float) -> Scale:
        self.number += other
        if self.number > 3:
            raise OverflowError(f"{self.number} is more than 3")
        return self


def of_a_property(x: Row) -> Any:
    scale = Scale(x[0].item())
    try:
        found = scale.positive + 1
        print("found", found)
    except ValueError as error:
        print("caught", error)
        found = -1.0
    return found, x * found


def of_operators(x: Row) -> Any:
    scale = Scale(x[0].item())
    found = []
    try:
        found.append(scale + x[1].item())
        found.append(scale[1])
        found.append(scale[2])
        found.append(7.0)
    except (ArithmeticError, LookupError) as error:
        print(type(error).__name__, error.args)
        if isinstance(error, IndexError):
            raise RuntimeError("wrapped") from error
    finally:
        print("so far", len(found))
    return found


def of_comparisons(x: Row) -> Any:
    scales = [Scale(v) for v in x.tolist()]
    try:
        smaller = scales[0] < scales[1]
        kind = "yes" if scales[0] else "no"
    except Exception as error:
        return str(error)
    return smaller, kind


def in_place(x: Row) -> Any:
    scale = Scale(x[0].item())
    try:
        scale += x[1].item()
        scale.positive = scale.number * 2
    except OverflowError as error:
        print(error)
    return scale.number


def checked(v: float) -> float:
    if v > 2.5:
        raise ValueError(f"{v} is too large")
    return v * 2


def of_library_calls(x: Row) -> Any:
    values = x.tolist()
    done = []

    def key(v: float) -> float:
        done.append(v)
        if v == 0:
            raise KeyError("zero")
        return -v

    try:
        total = sum(map(checked, values))
        ordered = sorted(values, key=key)
    except ValueError as error:
        return str(error), done
    except KeyError as error:
        return error.args, done
    return total, ordered, done


def twice_in_an_instruction(x: Row) -> Any:
    try:
        found = list(map(checked, x.repeat(2).tolist()))
    except ValueError as error:
        found = [str(error)]
    return found


@contextlib.contextmanager
def noted(log: list[str]) -> Iterator[None]:
    log.append("in")
    try:
        yield
    finally:
        log.append("out")


def under_managers(x: Row) -> Any:
    log: list[str] = []
    scale = Scale(x[0].item())
    try:
        with torch.no_grad(), noted(log):
            y = x * scale.positive
        log.append("kept")
    except ValueError:
        y = x + scale[-9]
    with contextlib.suppress(IndexError):
        log.append(str(scale[1]))
    print(log)
    return y


@torch.no_grad()
def of_an_index(x: Row) -> Any:
    table = torch.arange(4.0)
    return table[[int(v) for v in x.tolist()]] + x


def in_a_loop(x: Row) -> Any:
    scale = Scale(x[0].item())
    steps = 0
    while x.sum() < 20:
        try:
            steps += 1
            x = x + scale.positive + 1
            scale.number += scale[1]
        except ValueError:
            scale.number = -scale.number
        except IndexError as error:
            print(steps, error)
            scale.number = scale.number + 1
    return steps, x


class Failing:
    def __init__(self, x: Row) -> None:
        self.x = x

    @property
    def value(self) -> float:
        if self.x[0] > 1:
            raise KeyError("property")
        raise OverflowError("property")


def raised_on_all_ways(x: Row) -> Any:
    def fails() -> float:
        if x[0] > 1:
            raise ValueError("one")
        raise KeyError("other")

    try:
        fails()
    except (ValueError, KeyError) as error:
        print(type(error).__name__)
    try:
        return Failing(x).value
    except KeyError:
        return x


def of_a_generator(x: Row) -> Any:
    def numbers() -> Iterator[float]:
        yield 1.0
        if x[0] > 2:
            raise ValueError("generator")
        yield x[0].item()

    made = numbers()
    found = []
    for _ in range(3):
        try:
            found.append(next(made, -5.0))
        except ValueError as error:
            found.append(-1.0)
            print(error)
    return found


def with_its_handler(x: Row) -> Any:
    scale = Scale(x[0].item())
    try:
        try:
            if x[1] > 0.75:
                raise KeyError("first")
        except KeyError:
            scale.positive = scale.positive + 1
            print("handled")
    except ValueError as error:
        print(repr(error.__context__))
    try:
        raise
    except RuntimeError as error:
        return str(error), scale.number


PROGRAMS = [
    of_a_property, of_operators, of_comparisons, in_place, of_library_calls,
    twice_in_an_instruction, under_managers, of_an_index, in_a_loop, raised_on_all_ways,
    of_a_generator, with_its_handler,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_operators_and_library_functions_call(program: Any) -> None:
    check(program, *ROWS)


class Solved(nn.Module):
    """A parameter that is computed, by what may fail, where the module's attributes are read."""

    def __init__(self) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.tensor([[2.0, 1.0], [0.0, 1.0]]))
        self.shift = 0.0

    @property
    def weight(self) -> Row:
        return torch.linalg.solve(self.raw + self.shift, self.raw)

    def forward(self, x: Row) -> Any:
        self.shift = x[0].item()
        try:
            return x @ self.weight
        except RuntimeError:
            print("singular")
            return x
        finally:
            self.shift = 0.0


def test_a_property_of_a_module() -> None:
    module = Solved()
    check(module, torch.tensor([1.0, 2.0]), torch.tensor([-1.0, 2.0]), torch.tensor([0.5, 0.0]))


class Countdown:
    def __init__(self, start: float) -> None:
        self.left = start

    def __iter__(self) -> Countdown:
        return self

    def __next__(self) -> float:
        if self.left <= 0:
            raise StopIteration
        self.left -= 1
        return self.left

    @property
    def last(self) -> float:
        if self.left > 1:
            raise AttributeError("not yet")
        return self.left


def goes_through_an_object(x: Row) -> Any:
    return [v for v in Countdown(x[0].item())]  # noqa: C416


def asks_for_an_attribute(x: Row) -> Any:
    return hasattr(Countdown(x[0].item()), "last")


@pytest.mark.parametrize("program", [goes_through_an_object, asks_for_an_attribute])
def test_what_a_library_function_handles_itself_is_refused(program: Any) -> None:
    with pytest.raises(CompileError, match="operator handles (StopIteration|AttributeError)"):
        check(program, *ROWS)


class Diverged(Exception):
    pass


def _solved(x: torch.Tensor, factor: float) -> tuple[torch.Tensor, int]:
    for n in range(1, 5):
        x = x * factor
        if x.abs().max() < 0.1:
            return x, n
        if x.abs().max() > 50:
            raise Diverged(f"{x.abs().max().item():.1f} after {n}")
    raise Diverged(f"{x.sum().item():.1f} at the end")


def attempts(x: torch.Tensor) -> Any:
    """A handler inside of another one, which handles one of several exceptions."""
    try:
        return _solved(x, x[0].item())
    except Diverged as first:
        for factor in (0.9, 0.3):
            try:
                z, n = _solved(x, factor)
                break
            except Diverged:
                continue
        else:
            raise RuntimeError(f"none; first: {first}") from first
    return z, n


def test_a_handler_inside_of_one_for_one_of_several_exceptions() -> None:
    rows = ([0.1, 2.0], [1.5, 2.0], [3.0, 20.0], [0.95, 200.0], [0.2, 1.0])
    check(attempts, *map(torch.tensor, rows))


@torch.no_grad()
def leaves_a_mode(x: Row) -> Any:
    """Nothing catches what is raised: the modes that it leaves are no handlers."""
    with torch.inference_mode(), contextlib.nullcontext():
        values = x.tolist()
        return [checked(v) for v in values], values[int(x[0])]


def caught_behind_a_mode(x: Row) -> Any:
    try:
        with torch.no_grad():
            return checked(x[0].item())
    except ValueError as found:
        return str(found)


@contextlib.contextmanager
def let_go() -> Iterator[None]:
    try:
        yield
    except ValueError as found:
        print("let go", found)


def let_go_behind_a_mode(x: Row) -> Any:
    with let_go(), torch.no_grad():
        return checked(x[0].item())
    return "nothing"


@pytest.mark.parametrize("program", [leaves_a_mode, caught_behind_a_mode, let_go_behind_a_mode])
def test_exceptions_that_leave_a_mode_of_torch(program: Any) -> None:
    check(program, *map(torch.tensor, ([1.0, 2.0], [-1.0, 2.0], [5.0, 1.0], [0.5, -2.0])))


def _leaves_at_many_places(count: int) -> str:
    @torch.no_grad()
    def many(x: Row) -> Any:
        found = []
        for n, v in enumerate(x.tolist()):
            if v > n:
                raise ValueError(f"{n}: {v}")
            if v < -n:
                raise IndexError(str(n))
            found.append(v)
        return found

    program = capture_program(many, (torch.zeros(count),))
    assert isinstance(program, ControlProgram)
    return print_control(program)


def test_places_that_raise_are_not_followed_together() -> None:
    assert len(_leaves_at_many_places(24)) < 2.5 * len(_leaves_at_many_places(12))
