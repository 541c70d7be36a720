"""How much of a program capture follows: what must not multiply, and where it gives up. Calls that
are alike are told from those that are not."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import heapq
from pathlib import Path
from typing import Any

import pytest
import sympy
import torch
from torch import Tensor

from ptc.capture.api import capture_program
from ptc.capture.control import work
from ptc.capture.control.facts import Facts
from ptc.capture.fakes import Fakes
from ptc.capture.journal import Journal
from ptc.graph.control import ControlProgram, If, walk
from ptc.graph.symbols import expression_of
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check


def moved_about(x: Tensor) -> Any:
    numbers = x.tolist()
    heap = [(numbers[0], 0), (numbers[1], 1), (numbers[2], 2)]
    at = 2
    while at > 0:
        parent = (at - 1) >> 1
        if not heap[at] < heap[parent]:
            break
        heap[at], heap[parent] = heap[parent], heap[at]
        at = parent
    return heap


def pushed(x: Tensor) -> Any:
    heap = [(float(x[0]), 7), (float(x[1]) + 10, 8)]
    heapq.heappush(heap, (float(x[2]), 9))
    return heap


@pytest.mark.parametrize("program", [moved_about, pushed])
def test_elements_that_a_loop_moves_about_are_no_choices_of_choices(program: Any) -> None:
    check(program, torch.tensor([1.0, 2, 3]), torch.tensor([3.0, 2, 1]), torch.tensor([2.0, 1, 2]))


def counted(x: Tensor) -> Any:
    cells = x.int().tolist()
    return cells.count(1), cells.count(cells[0]), tuple(cells).count(0), [*cells, None].count(None)


def test_counting_known_elements_does_not_branch() -> None:
    x = torch.tensor([1.0, 0, -1, 1, 1, 0, 0, -1, 1, 0, 0, 1])
    check(counted, x, x - 1, -x)
    program = capture_program(lambda x: x.int().tolist().count(1), (x,))
    assert isinstance(program, ControlProgram)
    assert not any(isinstance(item, If) for item in walk(program.body))


def joined(x: Tensor) -> str:
    return "/".join(("even" if n % 2 == 0 else "odd") + "!" for n in x.int().tolist())


def test_strings_that_are_one_of_few_are_joined_in_few_ways() -> None:
    check(joined, torch.arange(12.0), -torch.arange(12.0) * 3)


def test_a_program_with_too_many_ways_is_refused_at_its_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def program(x: Tensor) -> Tensor:
        for row in range(3):
            while x[row] > 0:
                x = x - 1
        return x

    monkeypatch.setattr(work, "_MOST", 40)
    with pytest.raises(CompileError) as refused:
        capture_program(program, (torch.ones(3),))
    assert refused.value.code == "PTC-B017"
    location = refused.value.diagnostic.location
    assert location is not None and location.file == __file__
    monkeypatch.undo()
    check(program, torch.ones(3), torch.arange(3.0))


# -- calls that are alike -------------------------------------------------------------------------


def _fakes() -> tuple[Fakes, Facts]:
    def ask(condition: sympy.Basic, _: bool | None) -> bool:
        truth = facts.truth(condition)
        assert truth is not None, condition
        return truth

    fakes = Fakes(ask)
    facts = Facts(fakes, Journal())
    fakes.answer_from(facts.truth, facts.value)
    return fakes, facts


def test_a_call_alike_gives_the_same_without_running() -> None:
    fakes, _ = _fakes()
    n = fakes.data_size("n", 2)
    ran: list[int] = []

    def add(x: Any, y: Any) -> Any:
        ran.append(1)
        return x + y

    x = fakes.empty((n, 3), torch.float32, torch.device("cpu"))
    y = fakes.empty((3,), torch.float64, torch.device("cpu"))
    first, again = (fakes.run(add, [x, y], {}, add) for _ in range(2))
    other = fakes.run(add, [x, x], {}, add)
    assert len(ran) == 2 and first is not again
    assert (again.dtype, again.stride()) == (torch.float64, (3, 1))
    assert expression_of(again.shape[0]) == expression_of(n) and other.dtype is torch.float32


def test_a_write_and_a_view_alike_change_the_same_tensor() -> None:
    fakes, _ = _fakes()
    x = fakes.empty((4, 3), torch.float32, torch.device("cpu"))
    views = [fakes.run("t", [x], {}, torch.Tensor.t) for _ in range(2)]
    assert all(view.untyped_storage()._cdata == x.untyped_storage()._cdata for view in views)
    assert views[1].stride() == (1, 3)
    for _ in range(2):
        version = x._version
        assert fakes.run("zero_", [x], {}, torch.Tensor.zero_) is x
        assert x._version > version


def test_a_path_that_answers_otherwise_has_a_result_of_its_own() -> None:
    fakes, facts = _fakes()
    n = fakes.data_size("n")
    x = fakes.empty((n,), torch.float32, torch.device("cpu"))
    y = fakes.empty((3,), torch.float32, torch.device("cpu"))
    one, three = (sympy.Eq(expression_of(n), size) for size in (1, 3))
    shapes: list[Any] = []
    for holds in (True, False, True, False):
        facts.table.clear()
        facts.assume(one, holds)
        facts.assume(three, not holds)
        result = fakes.run(torch.add, [x, y], {}, torch.add)
        shapes.append(facts.value(expression_of(result.shape[0])))
    assert shapes == [3, 3, 3, 3]


def test_branches_that_lie_too_deep_in_each_other_are_refused(tmp_path: Path) -> None:
    checks = "".join(f"    if x[{i}] < 0: return x + {i}\n" for i in range(210))
    path = tmp_path / "deep.py"
    path.write_text(f"def deep(x):\n{checks}    return x\n")
    made: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), made)
    with pytest.raises(CompileError, match="PTC-B017.*200 branches"):
        capture_program(made["deep"], (torch.ones(210),))


def test_ints_of_a_list_are_values_whatever_their_signs() -> None:
    """A tensor of many ints that data decides asks for none of them."""

    def of_ints(x: torch.Tensor) -> torch.Tensor:
        return torch.tensor([int(v) * 100 for v in x.tolist()], dtype=torch.int16)

    check(of_ints, torch.arange(-12.0, 12.0), torch.zeros(24))
