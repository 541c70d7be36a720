"""Every sample row of every operator, compiled and compared with eager.

Rows share libraries, one entry each: a kernel costs a few milliseconds among two hundred others and
forty alone. Default: scheduled programs of fixed sizes; `-m slow` runs dynamic and unscheduled
ones. `--operator silu` leaves the rows of operators with that in their name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from harness import Library, NativeError, compile_entries
from torch._ops import OpOverload

from ptc.codegen.entry import Entry
from ptc.loops.nodes import BufferKind, Program
from ptc.ops import registry
from ptc.ops.complex_registry import all_complex_samples
from ptc.ops.protocol import Sample
from ptc.schedule.lower import lower
from ptc.schedule.passes import schedule
from ptc.support.diagnostics import CompileError
from tests.ops import sampling
from tests.ops.arrays import to_numpy, to_torch
from tests.ops.test_samples import decomposed

BATCH = 150


@dataclass(frozen=True)
class Case:
    label: str
    op: OpOverload
    row: Sample
    split: bool = False  # lowered by way of functionalisation, which takes complex numbers apart


CASES = [
    Case(sampling.sample_id(op, n, row), op, row)
    for op, rows in registry.all_samples().items()
    for n, row in enumerate(rows)
]
CASES += [
    Case(sampling.sample_id(op, n, row), op, row, split=True)
    for op, rows in all_complex_samples().items()
    for n, row in enumerate(rows)
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Batches of all rows, or of those of operators with `--operator` in their name."""
    if "batch" not in metafunc.fixturenames:
        return
    wanted = metafunc.config.getoption("--operator")
    cases = [case for case in CASES if wanted in str(case.op)]
    if not cases:
        raise pytest.UsageError(f"no operator with `{wanted}` in its name has samples")
    batches = [cases[i : i + BATCH] for i in range(0, len(cases), BATCH)]
    metafunc.parametrize("batch", batches, ids=map(str, range(len(batches))))


def compiled_program(case: Case, *, dynamic: bool, scheduled: bool) -> Program | None:
    """The case's program; None where dynamic sizes are refused, by us or by torch's own tracing."""
    arguments = sampling.draw(case.row)
    try:
        call = sampling.single_call(case.op, arguments, dynamic=dynamic)
    except RuntimeError:
        if dynamic:
            return None
        raise
    try:
        loops = lower(decomposed(call) if case.split else call)
    except CompileError:
        if dynamic:
            return None
        raise
    # Strides of strided dynamic inputs are symbols of torch's that no size of an input tells.
    known = {s.symbol for s in loops.sizes}
    if not all(stride.vars <= known for b in loops.buffers.values() for stride in b.strides):
        return None
    return schedule(loops) if scheduled else loops


def verdict(
    library: Library,
    entry: str,
    case: Case,
    *,
    dynamic: bool,
    invoke: Callable[..., int] | None = None,
) -> str | None:
    """Why the compiled case is wrong, or None. `invoke`: see `Library.run`."""
    arguments = sampling.draw(case.row)
    call = sampling.single_call(case.op, arguments, dynamic=dynamic)
    program = library.entries[entry].program
    inputs = {
        name: to_numpy(t)
        for name, t in zip(program.inputs, sampling.tensors_of(arguments), strict=True)
    }
    sizes = sampling.sizes_of(call, arguments)
    try:
        got = library.run(inputs, sizes=sizes, entry=entry, invoke=invoke)
    except NativeError as error:
        return str(error)
    types = [n.dtype for n in call.graph.graph.output_node().meta["val"]]
    tensors = [to_torch(np.asarray(r), t) for r, t in zip(got, types, strict=True)]
    return sampling.mismatch(case.row, sampling.reference(case.op, arguments), tensors)


def run_batch(cases: list[Case], *, dynamic: bool, scheduled: bool) -> None:
    programs = [
        (case, compiled_program(case, dynamic=dynamic, scheduled=scheduled)) for case in cases
    ]
    wanted = [(case, p) for case, p in programs if p is not None]
    entries = [Entry(f"e{n}", p) for n, (_, p) in enumerate(wanted)]
    library = compile_entries(entries, name="samples")
    problems: list[str] = []
    for n, (case, _) in enumerate(wanted):
        problem = verdict(library, f"e{n}", case, dynamic=dynamic)
        if problem is not None:
            problems.append(f"{case.label}: {problem}")
    library.close()
    assert not problems, "\n".join(problems)


def test_scheduled(batch: list[Case]) -> None:
    run_batch(batch, dynamic=False, scheduled=True)


@pytest.mark.slow
def test_dynamic(batch: list[Case]) -> None:
    run_batch(batch, dynamic=True, scheduled=True)


@pytest.mark.slow
def test_unscheduled(batch: list[Case]) -> None:
    run_batch(batch, dynamic=False, scheduled=False)


def test_inputs_are_inputs() -> None:
    """Samples have no weights: every buffer given by the caller is an INPUT."""
    program = compiled_program(CASES[0], dynamic=False, scheduled=True)
    assert program is not None
    assert not [b for b in program.buffers.values() if b.kind is BufferKind.WEIGHT]
