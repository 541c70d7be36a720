"""The first sample row of every operator through the whole schedule, compared with eager."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch._ops import OpOverload

from ptc.loops import interpreter
from ptc.ops import registry, sampling
from ptc.schedule import Options, lower, schedule

OPERATORS = [
    (op, rows[0])
    for op, rows in registry.all_samples().items()
    if rows and registry.lowering(op) is not None
]


def to_numpy(x: torch.Tensor) -> np.ndarray:
    if x.dtype is torch.bfloat16:
        return x.contiguous().view(torch.uint16).numpy()
    return x.numpy()


def to_torch(array: object, dtype: torch.dtype) -> torch.Tensor:
    values = np.array(array, order="C")
    if dtype is torch.bfloat16:
        return torch.from_numpy(values.astype(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(values)


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
