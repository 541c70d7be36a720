"""Every pass keeps what programs compute; plans never overlap; text round-trips."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ptc.loops.interpreter import run
from ptc.loops.nodes import BufferKind, Program
from ptc.loops.parser import parse_program
from ptc.loops.printer import print_program
from ptc.loops.verifier import verify
from ptc.schedule import Options
from ptc.schedule.memory import buffer_bytes, buffer_lifetimes
from ptc.schedule.passes import passes

_spec = importlib.util.spec_from_file_location(
    "random_programs", Path(__file__).with_name("random_programs.py")
)
assert _spec is not None and _spec.loader is not None
random_programs = importlib.util.module_from_spec(_spec)
sys.modules["random_programs"] = random_programs
_spec.loader.exec_module(random_programs)
Case = random_programs.Case


def results(program: Program, case: Case) -> list[np.ndarray]:
    return run(program, case.inputs, sizes={"s0": case.extent})


def assert_same(program: Program, case: Case, expected: list[np.ndarray], where: str) -> None:
    for got, want in zip(results(program, case), expected, strict=True):
        np.testing.assert_allclose(
            got, want, rtol=1e-9, atol=1e-12, err_msg=f"{where}\n{print_program(program)}"
        )


def run_passes(case: Case, options: Options) -> Program:
    verify(case.program)
    expected = [np.array(x) for x in results(case.program, case)]
    program = case.program
    for name, change in passes(options):
        changed = change(program)
        if changed is None:
            continue
        program = changed
        verify(program, name)
        assert_same(program, case, expected, name)
    return program


def assert_plan_is_sound(program: Program, extent: int) -> None:
    """Buffers alive at the same time do not share bytes, unless one took the other's place."""
    sizes = {"s0": extent}
    lifetimes = list(buffer_lifetimes(program).values())
    arena = int(program.arena.evaluate(sizes))
    spans = {}
    for lifetime in lifetimes:
        buffer = program.buffers[lifetime.name]
        start = int(buffer.offset.evaluate(sizes))
        spans[lifetime.name] = start, start + int(buffer_bytes(buffer).evaluate(sizes))
        assert start % 64 == 0 and spans[lifetime.name][1] <= arena
    for k, a in enumerate(lifetimes):
        for b in lifetimes[k + 1 :]:
            together = a.start <= b.stop and b.start <= a.stop
            meet = a.stop == b.start or b.stop == a.start
            handed_over = spans[a.name] == spans[b.name] and meet
            if together and not handed_over:
                low = max(spans[a.name][0], spans[b.name][0])
                assert low >= min(spans[a.name][1], spans[b.name][1]), (a, b)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_programs.cases())
def test_passes_keep_results(case: Case) -> None:
    program = run_passes(case, Options())
    assert_plan_is_sound(program, case.extent)
    text = print_program(program)
    assert parse_program(text) == program


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_programs.cases())
def test_passes_keep_results_of_frozen_programs(case: Case) -> None:
    program = run_passes(case, Options(freeze=True))
    assert all(
        b.kind is BufferKind.PREPARED
        for k in program.prepare
        for n, b in program.buffers.items()
        if any(n == s for s in _written(k))
    )


def _written(kernel: object) -> set[str]:
    from ptc.loops.walk import writes

    return writes(kernel)  # type: ignore[arg-type]


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_programs.cases())
def test_passes_keep_results_long(case: Case) -> None:
    program = run_passes(case, Options(freeze=len(case.steps) % 2 == 0))
    assert_plan_is_sound(program, case.extent)
