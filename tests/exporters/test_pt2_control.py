"""Exported programs of torch with branches and loops: against eager, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export.graph_signature import OutputKind

from ptc.exporters.api import ExportReport
from ptc.exporting import export_model
from ptc.loader.model import EntryRequest
from ptc.support.diagnostics import CompileError


def export(model: Any, *args: Any, path: Path, check: bool = True) -> tuple[Any, ExportReport]:
    """The file's module, and the report."""
    request = EntryRequest(name="model", function=model, args=args)
    report = export_model([request], format="pt2", output=path / "m.pt2", check=check)
    exported = torch.export.load(path / "m.pt2")
    exported.validate()
    return exported, report


class Counting(nn.Module):
    """A branch, a buffer that one arm writes, a number that is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.linear = nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, int]:
        self.steps += 1
        if x.sum() > 0:
            self.seen += x
            y = self.linear(x)
        else:
            y = x
        return y * self.steps, self.seen, self.steps


def test_a_branch_and_what_is_kept_from_call_to_call(tmp_path: Path) -> None:
    exported, report = export(Counting().eval(), torch.ones(3), path=tmp_path)
    assert report.worst_error is not None and report.worst_error < 1e-6
    targets = [str(n.target) for n in exported.graph.nodes if n.op == "call_function"]
    assert "cond" in targets and not any("copy_" in target for target in targets)
    kinds = [spec.kind for spec in exported.graph_signature.output_specs]
    assert kinds.count(OutputKind.BUFFER_MUTATION) == 2
    assert set(exported.state_dict) == {"linear.weight", "linear.bias", "seen"}
    model, loaded = Counting().eval(), exported.module()
    model.load_state_dict(dict(exported.state_dict))
    for x in (torch.ones(3), -torch.ones(3), torch.tensor([0.5, -0.25, 1.0])):
        expected, found = model(x), loaded(x)
        torch.testing.assert_close(found[:2], expected[:2])
        assert found[2] == expected[2]


def numbers(x: Tensor, limit: Tensor) -> dict[str, Any]:
    """A loop that carries a tensor, an int and a float; operations on numbers."""
    count, scale = 0, 0.5
    bound = int(limit)
    while x.sum() < bound and count < 20:
        x = x * 2 + scale
        count += 1
        scale = scale * 1.5 + count % 3
    mean = float(x.mean())
    kind = -1 if mean < 0 else (0 if mean == 0 else 1)
    root = math.sqrt(abs(mean)) + bound // 3 - (7 - bound) / 2
    return {"x": x + count, "count": count, "scale": scale, "kind": kind, "root": root,
            "many": count > 3, "ints": x.int() * scale}  # fmt: skip


def test_loops_and_numbers(tmp_path: Path) -> None:
    exported, report = export(numbers, torch.ones(3), torch.tensor(10), path=tmp_path)
    assert "while_loop" in str(exported.graph) and report.worst_error is not None
    loaded = exported.module()
    for x, limit in ((torch.ones(3), 40), (-torch.ones(3), 8), (torch.zeros(3), -3)):
        expected, found = numbers(x, torch.tensor(limit)), loaded(x, torch.tensor(limit))
        for name in ("x", "ints"):
            torch.testing.assert_close(found[name], expected[name])
        assert (found["count"], found["kind"]) == (expected["count"], expected["kind"])
        assert found["scale"] == pytest.approx(expected["scale"])
        assert found["root"] == pytest.approx(expected["root"])
        assert bool(found["many"]) is expected["many"]


def sized(x: Tensor, n: Tensor) -> tuple[Tensor, Tensor, int]:
    """Sizes that data decides."""
    places = (x > 0).nonzero().squeeze(-1)
    steps = torch.arange(int(n)) * 2.5
    return x[places] + 1, steps, len(places)


def test_sizes_that_data_decides(tmp_path: Path) -> None:
    exported, _ = export(sized, torch.tensor([1.0, -1.0, 2.0]), torch.tensor(4), path=tmp_path)
    loaded = exported.module()
    for x, n in (([-1.0, 5.0, -2.0], 1), ([1.0, 2.0, 3.0], 7), ([-1.0, -1.0, -1.0], 0)):
        given = (torch.tensor(x), torch.tensor(n))
        torch.testing.assert_close(loaded(*given), sized(*given))


def in_place(x: Tensor, y: Tensor) -> Tensor:
    """An argument that one way writes, read before and after."""
    before = x + 0
    if y.sum() > 0:
        x.mul_(y)
    return before - x


def test_an_argument_that_a_branch_writes(tmp_path: Path) -> None:
    exported, _ = export(in_place, torch.ones(2), torch.ones(2), path=tmp_path)
    for y in (torch.tensor([3.0, 2.0]), torch.tensor([-3.0, 2.0])):
        mine, its = torch.tensor([1.0, 5.0]), torch.tensor([1.0, 5.0])
        torch.testing.assert_close(exported.module()(its, y), in_place(mine, y))
        assert its.tolist() == mine.tolist()


def loud(x: Tensor) -> Tensor:
    if x.sum() > 100:
        raise ValueError("too much")
    print("sum", float(x.sum()))
    return x * 2


def test_prints_and_exceptions_are_left_out_with_notes(tmp_path: Path) -> None:
    exported, report = export(loud, torch.ones(2), path=tmp_path)
    assert any("exception ValueError" in note and "test_pt2_control.py" in note
               for note in report.notes)  # fmt: skip
    assert any("the print of" in note for note in report.notes)
    assert exported.module()(torch.ones(2)).tolist() == [2, 2]


def one_of_three(x: Tensor, layer: Tensor) -> Tensor:
    return [torch.sin, torch.cos, torch.tanh][int(layer)](x)


def test_one_of_several_by_number(tmp_path: Path) -> None:
    exported, _ = export(one_of_three, torch.ones(2), torch.tensor(0), path=tmp_path)
    for number in range(3):
        given = (torch.tensor([0.5, -1.0]), torch.tensor(number))
        torch.testing.assert_close(exported.module()(*given), one_of_three(*given))


def growing(x: Tensor) -> Tensor:
    while x.sum() < 10:
        x = torch.cat([x, x[:1] + 1])
    return x


def as_list(x: Tensor) -> Tensor:
    rows = [row for row in x if row.sum() > 0]
    return torch.stack(rows) if rows else x


def two_structures(x: Tensor) -> Any:
    return (x, x + 1) if x.sum() > 0 else x


def decimals(x: Tensor) -> Tensor:
    return x * round(float(x.sum()), 2)


@pytest.mark.parametrize(
    ("function", "code", "line"),
    [(growing, "PTC-E055", ""), (as_list, "PTC-E054", "rows"),
     (two_structures, "PTC-E050", ""), (decimals, "PTC-E056", "round")],
)  # fmt: skip
def test_what_torch_cannot_say_is_refused_with_its_line(
    function: Callable[..., Any], code: str, line: str, tmp_path: Path
) -> None:
    with pytest.raises(CompileError) as refused:
        export(function, torch.ones(2, 2) if function is as_list else torch.ones(2), path=tmp_path)
    found = refused.value.diagnostic
    assert found.code == code and found.location is not None
    assert found.location.file == __file__ and line in found.location.text
    assert not list(tmp_path.iterdir())
