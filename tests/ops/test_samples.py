"""Every sample row of every operator: lowered, verified, interpreted, compared with eager."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch._ops import OpOverload

from ptc.autograd.functionalise import functionalise
from ptc.graph.program import AtenProgram, CapturedProgram
from ptc.loops import interpreter
from ptc.loops.verifier import verify
from ptc.ops import registry
from ptc.ops.complex_registry import all_complex_samples
from ptc.ops.protocol import Sample
from ptc.schedule.lower import lower
from ptc.support.diagnostics import CompileError
from tests.ops import sampling
from tests.ops.arrays import to_numpy, to_torch

_ROWS = [
    (op, n, row)
    for op, rows in {**registry.all_samples(), **registry.decomposition_samples()}.items()
    for n, row in enumerate(rows)
]
_COMPLEX = [
    (op, n, row) for op, rows in all_complex_samples().items() for n, row in enumerate(rows)
]
_IDS = [sampling.sample_id(op, n, row) for op, n, row in _ROWS]


def decomposed(program: AtenProgram) -> AtenProgram:
    """The program after functionalisation, which takes decompositions from the registry."""
    for node in program.graph.graph.nodes:
        node.meta.setdefault("val", None)
    return functionalise(
        CapturedProgram(
            program.graph, program.inputs, program.outputs, program.fake_mode, program.dims
        )
    )


def interpret(
    op: OpOverload, arguments: sampling.Arguments, dynamic: bool, split: bool
) -> list[torch.Tensor]:
    program = sampling.single_call(op, arguments, dynamic=dynamic)
    types = [n.dtype for n in program.graph.graph.output_node().meta["val"]]
    if split or registry.lowering(op) is None:
        program = decomposed(program)
    sizes = sampling.sizes_of(program, arguments)
    loops = lower(program)
    verify(loops)
    inputs = {
        name: to_numpy(t)
        for name, t in zip(loops.inputs, sampling.tensors_of(arguments), strict=True)
    }
    results = interpreter.run(loops, inputs, sizes=sizes)
    return [to_torch(np.asarray(r), t) for r, t in zip(results, types, strict=True)]


def check(op: OpOverload, row: Sample, *, dynamic: bool, split: bool = False) -> None:
    """`split`: by way of functionalisation, which takes complex numbers apart."""
    arguments = sampling.draw(row)
    expected = sampling.reference(op, arguments)
    problem = sampling.mismatch(row, expected, interpret(op, arguments, dynamic, split))
    assert problem is None, problem


@pytest.mark.parametrize(("op", "number", "row"), _ROWS, ids=_IDS)
def test_sample(op: OpOverload, number: int, row: Sample) -> None:
    check(op, row, dynamic=False)


@pytest.mark.parametrize(
    ("op", "row"),
    [(op, row) for op, _, row in _COMPLEX],
    ids=[sampling.sample_id(op, n, row) for op, n, row in _COMPLEX],
)
def test_complex_sample(op: OpOverload, row: Sample) -> None:
    check(op, row, dynamic=False, split=True)


# Dynamic runs are ten times as slow (torch's symbolic shapes), so the default run takes one row of
# the operators whose rules do arithmetic on sizes.
_SIZE_RULES = [
    "add.Tensor",
    "arange.start_step",
    "cat",
    "stack",
    "view",
    "repeat",
    "roll",
    "slice.Tensor",
    "select.int",
    "permute",
    "expand",
    "unfold",
    "diagonal",
    "split_with_sizes",
    "flip",
    "constant_pad_nd",
    "reflection_pad2d",
    "sum.dim_IntList",
    "mean.dim",
    "var.correction",
    "_softmax",
    "native_layer_norm",
    "native_group_norm",
    "bmm",
    "addmm",
    "linear",
    "convolution",
    "max_pool2d_with_indices",
    "avg_pool2d",
    "_adaptive_avg_pool2d",
    "embedding",
    "index.Tensor",
    "gather",
    "scatter_add",
    "slice_scatter",
    "cumsum",
    "topk",
    "upsample_nearest2d",
    "upsample_bilinear2d",
    "lstm",
    "gru",
    "tril",
]
_SMALL = [
    i
    for i, (op, n, _) in enumerate(_ROWS)
    if n == 0
    and op._schema.name.split("::")[1]
    + (f".{op._overloadname}" if op._overloadname != "default" else "")
    in _SIZE_RULES
]


def check_dynamic(op: OpOverload, row: Sample) -> None:
    try:
        check(op, row, dynamic=True)
    except CompileError as refused:
        if refused.code != "PTC-O003":
            raise
        pytest.skip(str(refused))


@pytest.mark.parametrize(
    ("op", "number", "row"), [_ROWS[i] for i in _SMALL], ids=[_IDS[i] for i in _SMALL]
)
def test_dynamic(op: OpOverload, number: int, row: Sample) -> None:
    check_dynamic(op, row)


@pytest.mark.slow
@pytest.mark.parametrize(("op", "number", "row"), _ROWS, ids=_IDS)
def test_dynamic_all(op: OpOverload, number: int, row: Sample) -> None:
    try:
        check_dynamic(op, row)
    except RuntimeError as error:
        # torch's own fake run of some operators asks for concrete sizes
        pytest.skip(f"torch: {error}")
