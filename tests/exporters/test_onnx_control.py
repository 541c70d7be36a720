"""ONNX export of programs with control flow, in ONNX Runtime against eager."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch import Tensor, nn

import ptc
from ptc.autograd.control import FunctionalControl, functionalise_control
from ptc.capture.api import capture_program
from ptc.exporters.formats import ControlRunner, ExportOptions
from ptc.exporters.onnx import run
from ptc.exporters.onnx.format import FORMAT
from ptc.graph.control import ControlProgram
from ptc.graph.structure import flatten, unflatten
from ptc.support.diagnostics import CompileError
from tests.zoo import harness
from tests.zoo.catalog import cases
from tests.zoo.harness import clone

pytestmark = pytest.mark.skipif(not run.is_available(), reason="ONNX Runtime is not installed")


class Exported:
    """A program's file as a callable."""

    def __init__(self, model: Any, args: tuple[Any, ...], folder: Path) -> None:
        program = capture_program(model, clone(args))
        assert isinstance(program, ControlProgram)
        self._write(program, folder)

    @classmethod
    def of(cls, program: ControlProgram, folder: Path) -> Exported:
        """A captured program."""
        made = cls.__new__(cls)
        made._write(program, folder)
        return made

    def _write(self, program: ControlProgram, folder: Path) -> None:
        functional: FunctionalControl = functionalise_control(program)
        self.path = folder / "m.onnx"
        self.written = FORMAT.write_control(functional, self.path, ExportOptions())
        self.program = program
        self.run: ControlRunner = FORMAT.load_control(functional, self.path)

    def __call__(self, *args: Any) -> Any:
        assert self.program.arguments is not None
        given = flatten(self.program.arguments, (args, {}), "arguments")
        outputs, variant = self.run([given[n] for n in sorted(given)], lambda *_: None)
        structure = (self.program.variants or (self.program.result,))[variant]
        assert structure is not None
        return unflatten(structure, outputs)

    def kinds(self) -> set[str]:
        """The operators of the file, in inner graphs too."""
        found: set[str] = set()

        def visit(graph: onnx.GraphProto) -> None:
            for node in graph.node:
                found.add(node.op_type)
                for attribute in node.attribute:
                    if attribute.type == onnx.AttributeProto.GRAPH:
                        visit(attribute.g)

        visit(onnx.load(self.path).graph)
        return found


def same(actual: Any, expected: Any) -> None:
    if isinstance(expected, Tensor):
        torch.testing.assert_close(actual, expected)
    elif isinstance(expected, (list, tuple)):
        assert type(actual) is type(expected) and len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            same(one, other)
    else:
        assert type(actual) is type(expected)
        assert actual == pytest.approx(expected, rel=1e-12, abs=0, nan_ok=True)


def check(model: Any, calls: Sequence[tuple[Any, ...]], folder: Path) -> Exported:
    made = Exported(model, calls[0], folder)
    for call in calls:
        own = clone(call)
        actual = made(*own)
        expected_args = clone(call)
        same(actual, model(*expected_args))
        same(own, expected_args)
    return made


def tensors(*rows: Sequence[float]) -> list[tuple[Tensor]]:
    return [(torch.tensor(row),) for row in rows]


def test_branches_with_results_of_each_kind(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Any:
        if x.sum() > 0:
            y, n, ok = x * 2, 1, True
        elif x.sum() < -5:
            y, n, ok = x.abs(), 2, False
        else:
            y, n, ok = x, 0, False
        return y + n, n, ok, n * 0.5

    made = check(fn, tensors([1.0, 2.0], [-4.0, -2.0], [-1.0, 0.0]), tmp_path)
    assert "If" in made.kinds() and "Loop" not in made.kinds()


def test_loops_in_loops(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Any:
        steps = 0
        while x.sum() > 1:
            x = x / 2
            k = 0
            while k < x[0]:
                x = x + 0.25
                k += 1
                steps += k
            steps += 1
        return x, steps

    made = check(fn, tensors([9.0, 3.0], [0.5, 0.1], [-1.0, 30.0]), tmp_path)
    assert "Loop" in made.kinds()


def test_results_of_another_shape_each_time(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Any:
        y = x
        while y.sum() < 10:
            y = torch.cat([y, x])
        return y, y.shape[0]

    check(fn, tensors([1.0, 2.0], [4.0, 7.0], [5.0, 0.5]), tmp_path)


def numbers(op: Callable[[Any, Any], Any]) -> Callable[[Tensor, Tensor], Any]:
    def fn(x: Tensor, y: Tensor) -> Any:
        return op(x.item(), y.item())

    return fn


INTS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (0, 5), (-1, 9)]
FLOATS = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-0.0, 3.0), (1e15, 7.0), (0.1, 0.3)]


@pytest.mark.parametrize("pairs", [INTS, FLOATS], ids=["int", "float"])
@pytest.mark.parametrize(
    "op",
    [
        lambda a, b: (a + b, a - b, a * b, a / b),
        lambda a, b: (a // b, a % b),
        lambda a, b: (min(a, b), max(a, b), abs(a), -a, a if a < b else b),
        lambda a, b: (a == b, a != b, a < b, a <= b, not a, bool(b), int(a), float(b)),
    ],
    ids=["arithmetic", "division", "choice", "comparison"],
)
def test_numbers(op: Any, pairs: Any, tmp_path: Path) -> None:
    dtype = torch.int64 if pairs is INTS else torch.float64
    calls = [tuple(torch.tensor(v, dtype=dtype) for v in pair) for pair in pairs]
    check(numbers(op), calls, tmp_path)


def test_powers_shifts_and_bits(tmp_path: Path) -> None:
    def op(a: Any, b: Any) -> Any:
        return a**3, a << b, a >> b, a & b, a | b, a ^ b, ~a

    pairs = [(7, 2), (-7, 2), (-1, 62), (3, 0), (-9, 5)]
    calls = [tuple(torch.tensor(v) for v in pair) for pair in pairs]
    check(numbers(op), calls, tmp_path)


def test_floats_are_rounded_as_python_does(tmp_path: Path) -> None:
    def op(a: Any, b: Any) -> Any:
        return round(a, 2), round(a), round(b, 1)

    values = [2.675, 0.125, -0.375, 1.005, 0.15, 0.25, 0.35, 12345.675, -2.5, 1e17]
    calls = [(torch.tensor(v).double(), torch.tensor(-v).double()) for v in values]
    calls += [(torch.rand((), dtype=torch.float64) * 10,) * 2 for _ in range(50)]
    check(numbers(op), calls, tmp_path)


def test_lists_of_numbers(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Any:
        found: list[float] = []
        total = 0
        for v in x:
            if v > 0:
                found.append(v.item())
            elif len(found) > 1:
                total += len(found)
                found.pop()
                found[0] = 0.5
        return found, total

    check(
        fn,
        tensors([1.0, 2.0, -1.0, 3.0], [-1.0, -1.0, -2.0, -3.0], [4.0, 1.0, 2.0, -1.0]),
        tmp_path,
    )


def test_lists_of_tensors(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Any:
        rows: list[Tensor] = []
        for row in x:
            if row.sum() > 0:
                rows.append(row * 2)
        if not rows:
            return x
        return torch.stack(rows)

    first = torch.tensor([[1.0, 2.0], [-3.0, 1.0], [0.5, 0.0]])
    made = check(fn, [(first,), (-first,), (first.abs(),)], tmp_path)
    assert "SequenceInsert" in made.kinds()


class Counter(nn.Module):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x: Tensor) -> Any:
        self.calls += 1
        if x.sum() > 0:
            self.mean.mul_(0.5).add_(x)
        return x - self.mean, self.calls


def test_what_is_kept_is_an_input_and_an_output(tmp_path: Path) -> None:
    made = Exported(Counter(), (torch.ones(2),), tmp_path)
    model = Counter()
    for scale in (1.0, -1.0, 3.0):
        same(made(torch.ones(2) * scale), model(torch.ones(2) * scale))
    graph = onnx.load(made.path).graph
    assert [value.name for value in graph.input] == ["x", "mean", "calls"]
    assert [value.name for value in graph.output][-2:] == ["mean_out", "calls_out"]


def test_a_written_input(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Tensor:
        if x.sum() > 0:
            x.add_(1)
        return x * 2

    check(fn, tensors([1.0, 2.0], [-1.0, -2.0]), tmp_path)


def test_prints_and_exceptions_are_left_out_with_a_note(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Tensor:
        if x.sum() < 0:
            raise ValueError(f"negative: {x.sum().item()}")
        while x.sum() > 1:
            print("halving")
            x = x / 2
        return x

    report = ptc.export(fn, (torch.ones(3),), format="onnx", output=tmp_path / "m.onnx")
    notes = "\n".join(report.notes)
    assert "the exception ValueError of" in notes and "the print of" in notes
    assert "test_onnx_control.py" in notes
    assert report.errors and all(row.passed for row in report.errors)


@pytest.mark.parametrize("branches", [False, True])
def test_arguments_given_by_keyword(tmp_path: Path, branches: bool) -> None:
    def fn(x: Tensor, scale: Tensor | None = None) -> Tensor:
        assert scale is not None
        return x * scale if not branches or x.sum() > 0 else x - scale

    report = ptc.export(
        fn,
        (),
        {"scale": torch.tensor(2.0), "x": torch.randn(3, 2)},
        format="onnx",
        output=tmp_path / "m.onnx",
        dynamic={"x": {0: "batch"}},
    )
    assert report.errors and all(row.passed and row.sets > 1 for row in report.errors)


def test_a_loop_behind_what_raises_ends(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Tensor:
        n = 0
        while x.sum() > 1:
            if n > 3:
                raise RuntimeError("too many")
            n += 1
            x = x * 2
        return x

    made = Exported(fn, (torch.ones(2),), tmp_path)
    made(torch.ones(2))  # gives something, and comes to an end
    same(made(-torch.ones(2)), fn(-torch.ones(2)))


def test_what_onnx_cannot_say_is_named_with_its_line(tmp_path: Path) -> None:
    def fn(x: Tensor) -> Any:
        text = f"{x.sum().item():.2f}" if x.sum() > 3 else "few"
        return x, text

    with pytest.raises(CompileError, match=r"test_onnx_control\.py") as info:
        Exported(fn, (torch.ones(2),), tmp_path)
    assert info.value.code == "PTC-E025"


#: Models of the zoo that ONNX cannot say, with the rule.
REFUSED = {
    **dict.fromkeys(
        ("clock_arithmetic", "try_except", "fixed_point_restart", "report_table"), "PTC-E025"
    ),
    **dict.fromkeys(("collatz", "alias_or_copy", "topk_budget", "bigrams_once"), "PTC-E007"),
    **dict.fromkeys(("extended_kalman", "gaussian_process", "homographies"), "PTC-E020"),
}


#: Calls in which equal values decide the order: torch's `topk` has one of its own for them.
TIES = {"beam_step": 3}


def check_zoo(name: str, folder: Path) -> None:
    case = cases()[name]
    inputs = tuple(given for n, given in enumerate(case.inputs) if n != TIES.get(name))
    case = dataclasses.replace(case, inputs=inputs)
    with harness.logging_at(logging.INFO):
        program = harness.captured(case, branch_on_sizes=True)
    made = Exported.of(program, folder)
    leaves = bool(program.state or program.references) or bool(program.written)
    for expected, inputs in zip(harness.eager(case), case.inputs, strict=True):
        if expected.raised is not None:
            if leaves:
                return
            continue
        alone = dataclasses.replace(case, inputs=(inputs,))
        observed = harness.observe(alone, made, lambda: None, harness.name_of_reported)
        quiet: dict[str, Any] = {"printed": "", "warned": [], "logged": [], "state": None}
        harness.compare([dataclasses.replace(expected, **quiet)], observed)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(cases()))
def test_the_zoo(name: str, tmp_path: Path) -> None:
    if name not in REFUSED:
        check_zoo(name, tmp_path)
        return
    with pytest.raises(CompileError) as info:
        check_zoo(name, tmp_path)
    assert info.value.code == REFUSED[name]


def test_a_size_of_1_is_squeezed_where_it_is_1(tmp_path: Path) -> None:
    """The check draws sizes of both kinds, and refuses a file that keeps the dimension."""
    report = ptc.export(
        lambda x: x.squeeze(0),
        (torch.randn(4, 3),),
        format="onnx",
        output=tmp_path / "m.onnx",
        dynamic={"x": {0: "n[1..8]"}},
    )
    assert report.worst_error == 0.0
    assert not any("sizes from 2 on" in note for note in report.notes)
