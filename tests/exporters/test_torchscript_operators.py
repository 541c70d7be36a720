"""Every operator with sample rows, as TorchScript, against eager.

The default run takes the first row of the operators that have another name there, and of every
tenth that keeps its own; `-m slow` takes all rows, with fixed and with symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from torch._ops import OpOverload

from ptc.exporters.formats import ExportOptions
from ptc.exporters.torchscript.straight import run_straight, write_straight
from ptc.graph.program import Leaf, Node
from ptc.ops.protocol import Sample
from ptc.ops.registry import all_samples
from ptc.support.diagnostics import CompileError
from tests.ops import sampling

#: Operators that TorchScript cannot say, with the reason.
REFUSED = {
    "ptc.random_seeded.default": "no operator of torch draws from a state",
    "ptc.random_uniform.default": "no operator of torch draws from a state",
    "ptc.random_normal.default": "no operator of torch draws from a state",
    "ptc.random_exponential.default": "no operator of torch draws from a state",
    "ptc.random_integers.default": "no operator of torch draws from a state",
    "ptc.random_permutation.default": "no operator of torch draws from a state",
}


def _rows(first_only: bool) -> Iterator[Any]:
    for place, (op, samples) in enumerate(all_samples().items()):
        if first_only and op.namespace == "aten" and place % 10:
            continue
        for number, row in enumerate(samples[:1] if first_only else samples):
            yield pytest.param(op, row, id=sampling.sample_id(op, number, row))


def _check(op: OpOverload, row: Sample, *, dynamic: bool) -> None:
    arguments = sampling.draw(row)
    try:
        program = sampling.single_call(op, arguments, dynamic=dynamic)
    except RuntimeError:
        assert dynamic, "torch refuses some operators only on symbolic sizes"
        pytest.skip("torch has no symbolic form")
    given = tuple(Leaf(n) for n in range(len(program.inputs)))
    program.arguments = Node("tuple", (Node("tuple", given), Node("dict", ())))
    program.result = Node("tuple", tuple(Leaf(n) for n in range(len(program.outputs))))
    try:
        script, method = write_straight(program, ExportOptions())
    except CompileError as error:
        assert str(op) in REFUSED, error
        return
    results = run_straight(program, script, method.paths)(sampling.tensors_of(arguments))
    wrong = sampling.mismatch(row, sampling.reference(op, arguments), results)
    assert wrong is None, wrong


@pytest.mark.parametrize(("op", "row"), list(_rows(first_only=True)))
def test_operator(op: OpOverload, row: Sample) -> None:
    _check(op, row, dynamic=False)


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize(("op", "row"), list(_rows(first_only=False)))
def test_operator_on_every_row(op: OpOverload, row: Sample, dynamic: bool) -> None:
    _check(op, row, dynamic=dynamic)


def test_refusals_are_of_operators() -> None:
    assert {str(op) for op in all_samples()} >= set(REFUSED)
