"""Operators by their names in `torch.ops`, custom ones, and torch's control-flow operators; the
answer to `torch.compiler.is_compiling()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import ptc
from ptc.capture.api import capture_program
from ptc.graph.program import CapturedProgram
from ptc.support.diagnostics import CompileError
from tests.capture.control.checking import check

ROWS = [torch.tensor(row) for row in ([1.5, 2.25, -0.5, 4.0], [-3.0, 0.5, -7.0, -1.0], [0.0] * 4)]
Row = torch.Tensor


@torch.library.custom_op("ptc_tests::places", mutates_args=())
def places(x: torch.Tensor, factor: int = 2) -> torch.Tensor:
    out = torch.zeros_like(x)
    for place, number in enumerate(x.long().tolist()):
        if number > 0:
            out[place] = number * factor
    return out


@torch.library.custom_op("ptc_tests::raise_by_one", mutates_args={"x"})
def raise_by_one(x: torch.Tensor) -> None:
    x.add_(1)


@torch.library.custom_op("ptc_tests::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2


halved.register_autograd(lambda ctx, grad: grad * 10)
_library = torch.library.Library("ptc_tests", "FRAGMENT")
_library.define("opaque(Tensor x) -> Tensor")
_library.impl("opaque", lambda x: x + 1, "CPU")


def by_name(x: Row) -> Any:
    return torch.ops.aten.relu(x), torch.ops.aten.add.Tensor(x, x, alpha=3)


def custom(x: Row) -> Any:
    return torch.ops.ptc_tests.places(x), places(x, factor=5), torch.ops.ptc_tests.places.default(x)


def mutating(x: Row) -> Any:
    y = x.clone()
    torch.ops.ptc_tests.raise_by_one(y)
    raise_by_one(y)
    return y


def conditional(x: Row) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (x,))


def looping(x: Row) -> Any:
    start = torch.tensor(0)
    return while_loop(
        lambda i, y: i < y.abs().sum().long(), lambda i, y: (i + 1, y * 0.9), (start, x)
    )


def scanned(x: Row) -> Any:
    return (
        scan(lambda carry, one: (carry + one, carry * 2), torch.zeros(()), x),
        scan(lambda carry, one: (carry * one, carry - 1), torch.ones(()), x, reverse=True),
    )


def mapped(x: Row) -> Any:
    return map_rows(lambda one, factor: one * factor, x.reshape(2, 2), torch.tensor(3.0))


def sizes_as_text(x: Row) -> Any:
    y = x[x > 0]
    print(y.shape, f"{y.size()}", [y.shape], str(x.shape))
    return y.sum()


class OtherWay(torch.nn.Module):
    """Its way for compilers asks for what cannot be captured, or fails."""

    def __init__(self, fails: bool) -> None:
        super().__init__()
        self.fails = fails

    def forward(self, x: Row) -> Any:
        if torch.compiler.is_compiling():
            if self.fails:
                raise TypeError("not for compilers")
            return torch.ops.ptc_tests.opaque(x)
        return x + 1


BRANCHING: list[Callable[..., Any]] = [custom, conditional, looping, sizes_as_text]
STRAIGHT: list[Callable[..., Any]] = [by_name, mutating, scanned, mapped]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", BRANCHING, ids=lambda program: program.__name__)
def test_operators_do_what_eager_does(program: Callable[..., Any]) -> None:
    check(program, *[(row,) for row in ROWS])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", STRAIGHT, ids=lambda program: program.__name__)
def test_operators_in_one_graph_give_what_eager_gives(program: Callable[..., Any]) -> None:
    compiled = ptc.compile(program, backend="eager", fullgraph=True)
    with torch.no_grad():
        for row in ROWS:
            torch.testing.assert_close(compiled(row), program(row))


@pytest.mark.parametrize("fails", [True, False])
def test_a_way_for_compilers_that_cannot_be_captured_is_not_taken(fails: bool) -> None:
    model = OtherWay(fails)
    captured = capture_program(model, (ROWS[0],))
    assert any("is_compiling" in note for note in captured.notes)
    assert isinstance(captured, CapturedProgram)
    (result,) = captured.graph(ROWS[1])
    assert torch.equal(result, ROWS[1] + 1)


def test_an_operator_that_is_not_written_in_python_is_refused_by_name() -> None:
    with pytest.raises(CompileError) as refused:
        capture_program(lambda x: torch.ops.ptc_tests.opaque(x), (ROWS[0],))
    assert refused.value.code == "PTC-B004"
    assert "ptc_tests.opaque" in refused.value.diagnostic.message


def test_an_operators_own_backward_is_kept() -> None:
    x = torch.ones(2, requires_grad=True)
    ptc.compile(lambda x: halved(x * 1.0) * 2, backend="eager")(x).sum().backward()
    assert torch.equal(x.grad, torch.full((2,), 20.0))  # type: ignore[arg-type]
