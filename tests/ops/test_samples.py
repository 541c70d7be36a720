"""Every sample row of every operator: lowered, verified, interpreted, compared with eager."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ptc.loops import interpreter
from ptc.loops.verifier import verify
from ptc.ops import registry, sampling
from ptc.ops.protocol import Sample
from ptc.schedule.lower import lower
from torch._ops import OpOverload

_ROWS = [
    (op, n, row) for op, rows in registry.all_samples().items() for n, row in enumerate(rows)
]
_IDS = [sampling.sample_id(op, n, row) for op, n, row in _ROWS]


def to_numpy(x: torch.Tensor) -> np.ndarray:
    if x.dtype is torch.bfloat16:
        return x.contiguous().view(torch.uint16).numpy()
    return x.numpy()


def to_torch(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    array = np.array(array, order="C")
    if dtype is torch.bfloat16:
        return torch.from_numpy(array.astype(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def interpret(op: OpOverload, arguments: sampling.Arguments, dynamic: bool) -> list[torch.Tensor]:
    program = sampling.single_call(op, arguments, dynamic=dynamic)
    sizes = sampling.sizes_of(program, arguments)
    loops = lower(program)
    verify(loops)
    inputs = {
        name: to_numpy(t)
        for name, t in zip(loops.inputs, sampling.tensors_of(arguments), strict=True)
    }
    results = interpreter.run(loops, inputs, sizes=sizes)
    types = [n.dtype for n in program.graph.graph.output_node().meta["val"]]
    return [to_torch(np.asarray(r), t) for r, t in zip(results, types, strict=True)]


def check(op: OpOverload, row: Sample, *, dynamic: bool) -> None:
    arguments = sampling.draw(row)
    expected = sampling.reference(op, arguments)
    problem = sampling.mismatch(row, expected, interpret(op, arguments, dynamic))
    assert problem is None, problem


@pytest.mark.parametrize(("op", "number", "row"), _ROWS, ids=_IDS)
def test_sample(op: OpOverload, number: int, row: Sample) -> None:
    check(op, row, dynamic=False)
