"""Inputs that the check drew and on which eager itself raises: others take their place, or a note
says what was not checked. The example is always checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import ptc
from ptc.artifact import subjects
from ptc.artifact.input_sets import SizeRange, input_sets
from ptc.artifact.live_state import LiveState
from ptc.artifact.observe import Observed, observe_library
from ptc.artifact.vectors import as_compiled
from ptc.artifact.verify import Verification, verify_entry
from ptc.loader.model import DynamicDim, EntryRequest
from ptc.support.diagnostics import CompileError

X, INDEX = torch.arange(10.0) / 4, torch.tensor([9, 0, 4])
FAILS_AT_1 = (
    "not compared at `n` = 1: the model itself fails, IndexError: index 9 is out of bounds for "
    "dimension 0 with size 1"
)


def rows(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return x[index]


def rows_or_less(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return x[index] if x.sum() > 0 else x[index] - 1


def test_indices_drawn_for_the_example_are_tried_with_larger_sizes(tmp_path: Path) -> None:
    artifact = ptc.build(rows, (X, INDEX), dynamic={"x": {0: "n"}}, output=tmp_path)
    # The example, fresh values, and n = 11 in place of n = 3.
    assert artifact.report.entries[0].checked == 3
    (note,) = artifact.report.notes
    assert note.startswith("not compared at `n` = 1: the model itself fails, IndexError: index ")
    assert artifact.load()(X, INDEX).tolist() == [2.25, 0.0, 1.0]


def test_the_same_of_a_program_with_control_flow(tmp_path: Path) -> None:
    artifact = ptc.build(rows_or_less, (X, INDEX), dynamic={"x": {0: "n[2..40]"}}, output=tmp_path)
    report = artifact.report
    assert report.entries[0].checked >= 4
    assert [note for note in report.notes if "`n` = 2: the model itself fails, " in note]
    assert not [note for note in report.notes if "`n` = 3" in note]
    loaded = artifact.load()
    assert loaded(X, INDEX).tolist() == [2.25, 0.0, 1.0]
    assert loaded(-X, INDEX).tolist() == [-3.25, -1.0, -2.0]


@pytest.mark.parametrize("format", ["onnx", "ptir"])
def test_the_same_of_exports(tmp_path: Path, format: str) -> None:
    report = ptc.export(
        rows, (X, INDEX), dynamic={"x": {0: "n"}}, format=format, output=tmp_path / f"m.{format}"
    )
    assert report.worst_error == 0.0
    assert [row.sets for row in report.errors] == [3] and report.notes == ()


def verified(function: Any, artifact: Any, args: tuple[Any, ...], *sizes: SizeRange) -> Any:
    spec = {"x": {0: DynamicDim("n")}} if sizes else None
    request = EntryRequest("forward", function, args, dynamic=spec)
    return verify_entry(function, artifact, input_sets(request, sizes), LiveState.of((), ()))


def only(allowed: set[int]) -> Any:
    def run(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] not in allowed:
            raise IndexError(f"no {x.shape[0]}")
        return x + 1

    return run


@pytest.mark.parametrize(
    ("allowed", "checked", "note"),
    [
        ({3, 4, 8, 1, 5}, 4, None),
        ({4, 5, 1}, 4, None),
        ({4, 8, 1}, 4, None),
        ({4}, 2, "checked at the example's sizes only: eager raises IndexError at `n` = 3: no 3"),
    ],
)
def test_which_sizes_are_tried(allowed: set[int], checked: int, note: str | None) -> None:
    whole = SizeRange("n", 1, None)
    found: Verification = verified(only(allowed), lambda x: x + 1, (torch.arange(4.0),), whole)
    assert found.passed and found.input_sets == checked
    assert (note in found.notes) is (note is not None)


def test_a_wrong_library_fails_on_the_example_and_on_replacements() -> None:
    whole = SizeRange("n", 2, None)
    args = (torch.arange(4.0),)
    assert not verified(only({4}), lambda x: x + 2, args, whole).passed
    wrong = lambda x: x + 1 if len(x) == 4 else x + 2  # noqa: E731
    found: Verification = verified(only({4, 8}), wrong, args, whole)
    assert [check.passed for check in found.checks] == [True, True, False]


def test_values_that_mean_something_in_their_order_are_kept() -> None:
    seen: list[list[int]] = []

    def bags(x: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        if starts.tolist() != [0, 7, 7, 90]:
            raise ValueError("starts do not grow")
        seen.append(starts.tolist())
        return x * 2

    args = (torch.tensor([1.0, 2.5]), torch.tensor([0, 7, 7, 90]))
    found: Verification = verified(bags, lambda x, starts: x * 2, args)
    assert found.passed and found.input_sets == 3 and found.notes == ()
    assert len(seen) >= 3

    def fixed(x: torch.Tensor) -> torch.Tensor:
        if x.tolist() != (torch.arange(40.0) ** 1.5).tolist():
            raise ValueError("other numbers\nand more")
        return x * 2

    found = verified(fixed, lambda x: x * 2, (torch.arange(40.0) ** 1.5,))
    assert found.passed and found.input_sets == 1
    (note,) = found.notes
    text = "checked with the example's values only: eager raises ValueError on others: "
    assert note == text + "other numbers"


def test_an_example_on_which_eager_raises_is_the_users(tmp_path: Path) -> None:
    text = "on its example inputs raised IndexError: index 7 is out of bounds"
    calls = [
        lambda: ptc.build(rows, (X[:3], INDEX - 2), output=tmp_path),
        lambda: ptc.build(rows_or_less, (X[:3], INDEX - 2), output=tmp_path),
        lambda: ptc.export(rows, (X[:3], INDEX - 2), format="onnx", output=tmp_path / "m.onnx"),
    ]
    for call in calls:
        with pytest.raises(CompileError) as caught:
            call()
        assert caught.value.code == "PTC-L060" and text in caught.value.diagnostic.message
        assert caught.value.diagnostic.hint
    assert not list(tmp_path.iterdir())


def guarded(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    if index.max() >= x.shape[0]:
        raise IndexError(f"{int(index.max())} is too many")
    return x[index]


def test_exceptions_by_design_are_compared(tmp_path: Path, monkeypatch: Any) -> None:
    dynamic = {"x": {0: "n[2..40]"}}
    artifact = ptc.build(guarded, (X, INDEX), dynamic=dynamic, output=tmp_path)
    # The example, fresh values, n = 3 and both ends: at two of them both raise.
    assert artifact.report.entries[0].checked == 5 and artifact.report.notes == ()

    def silent(*args: Any) -> Observed:
        observed = observe_library(*args)
        if observed.raised is not None:
            observed.raised, observed.leaves = None, {"": torch.zeros(3)}
        return observed

    monkeypatch.setattr(subjects, "observe_library", silent)
    with pytest.raises(CompileError, match=r"PTC-A030.*raises nothing, eager IndexError: 9 is too"):
        ptc.build(guarded, (X, INDEX), dynamic=dynamic, output=tmp_path / "silent")


def test_a_weight_is_no_eigenvector() -> None:
    def graph(target: str) -> torch.fx.GraphModule:
        found = torch.fx.Graph()
        found.output(found.placeholder(target))
        return torch.fx.GraphModule({}, found)

    with as_compiled([graph("linear_weight")]) as mode:
        assert mode is None
    eigen = torch.fx.symbolic_trace(lambda x: torch.ops.aten._linalg_eigh.default(x, "L", True))
    with as_compiled([eigen]) as mode:
        assert mode is not None
