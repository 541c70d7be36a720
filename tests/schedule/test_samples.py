"""The first sample row of every operator through the whole schedule, compared with eager."""

from __future__ import annotations

import pytest
from torch._ops import OpOverload

from ptc.loops import interpreter
from ptc.ops import registry
from ptc.schedule import Options, lower, schedule
from tests.ops import sampling
from tests.ops.arrays import to_numpy, to_torch

OPERATORS = [
    (op, rows[0])
    for op, rows in registry.all_samples().items()
    if rows and registry.lowering(op) is not None
]


@pytest.mark.parametrize(("op", "row"), OPERATORS, ids=[str(op) for op, _ in OPERATORS])
def test_operator(op: OpOverload, row: object) -> None:
    arguments = sampling.draw(row)
    program = sampling.single_call(op, arguments)
    loops = schedule(lower(program), Options(verify=True))
    tensors = sampling.tensors_of(arguments)
    inputs = {n: to_numpy(t) for n, t in zip(loops.inputs, tensors, strict=True)}
    results = interpreter.run(loops, inputs)
    types = [n.dtype for n in program.graph.graph.output_node().meta["val"]]
    got = [to_torch(r, t) for r, t in zip(results, types, strict=True)]
    problem = sampling.mismatch(row, sampling.reference(op, arguments), got)
    assert problem is None, problem
