"""Programs with control flow as values and regions: the zoo's models, evaluated, against eager."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from ptc.autograd.control import functionalise_control
from ptc.capture.api import capture_program
from ptc.exporters.regions import Branch, Call, Loop, Primitive, RegionProgram, walk
from ptc.exporters.regions_build import build_regions
from ptc.graph.control import ControlProgram
from ptc.graph.program import InputKind
from ptc.graph.structure import unflatten
from ptc.support.diagnostics import CompileError
from tests.exporters.region_run import run_regions
from tests.zoo import harness
from tests.zoo.case import Case
from tests.zoo.catalog import cases


def regions_of(fn: Any, *args: Any) -> RegionProgram:
    program = capture_program(fn, args)
    assert isinstance(program, ControlProgram)
    return build_regions(functionalise_control(program))


def check_case(case: Case) -> None:
    """Every call that does not raise, up to the first that does if calls leave anything behind."""
    program = harness.captured(case, branch_on_sizes=True)
    made = build_regions(functionalise_control(program))
    names = [i.name for i in program.inputs if i.kind in (InputKind.USER, InputKind.SCALAR)]
    kept: dict[str, Any] = {}

    def call(*args: Any) -> Any:
        outputs, variant = run_regions(made, dict(zip(names, args, strict=True)), kept)
        structure = program.variants[variant] if program.variants else program.result
        return None if structure is None else unflatten(structure, outputs)

    leaves = bool(made.state) or any(described.live is not None for described, _ in made.written)
    for expected, inputs in zip(harness.eager(case), case.inputs, strict=True):
        if expected.raised is not None:
            if leaves:
                return
            continue
        alone = dataclasses.replace(case, inputs=(inputs,))
        observed = harness.observe(alone, call, lambda: None, harness.name_of_reported)
        quiet: Mapping[str, Any] = {"printed": "", "warned": [], "logged": [], "state": None}
        harness.compare([dataclasses.replace(expected, **quiet)], observed)


SOME = ("nested_loops", "beam_search", "halve_until_small")


@pytest.mark.parametrize("name", [name for name in cases() if name in SOME])
def test_a_model(name: str) -> None:
    check_case(cases()[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", list(cases()))
def test_every_model(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(CompileError, match="hangs on data"):
            check_case(cases()[name])
    else:
        check_case(cases()[name])


#: Where it hangs on data what is written to.
REFUSED = frozenset({"collatz", "alias_or_copy", "topk_budget", "bigrams_once"})


def test_only_what_is_needed_is_carried() -> None:
    def halve(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        unused = y
        while x.sum() > 1:
            x = x / 2
            unused = unused + 1
        return x + y

    made = regions_of(halve, torch.ones(3), torch.ones(3))
    (loop,) = (operation for operation in walk(made.body) if isinstance(operation, Loop))
    assert len(loop.results) == 1
    assert len(loop.body.params) == len(loop.initial) == len(loop.body.results) == 1


def test_a_write_is_seen_by_what_refers_to_the_tensor() -> None:
    def both(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        z = y
        if x.sum() > 0:
            z.mul_(2)
        return y

    made = regions_of(both, torch.ones(2))
    for x in (torch.ones(2), -torch.ones(2)):
        assert torch.equal(run_regions(made, {"x": x}, {})[0][0], both(x))


def test_what_always_raises_leaves_no_branch() -> None:
    def checked(x: torch.Tensor) -> torch.Tensor:
        if x.sum() < 0:
            raise ValueError("negative")
        return x + 1

    made = regions_of(checked, torch.ones(2))
    assert not any(isinstance(operation, Branch | Primitive) for operation in walk(made.body))
    assert sum(isinstance(operation, Call) for operation in walk(made.body)) == 1
    assert "exception ValueError" in made.notes[0] and "test_regions.py" in made.notes[0]


def test_a_program_that_always_raises_is_refused() -> None:
    def never(x: torch.Tensor) -> torch.Tensor:
        if x.sum() < 0:
            raise ValueError("negative")
        raise KeyError("other")

    with pytest.raises(CompileError) as info:
        regions_of(never, torch.ones(2))
    assert info.value.code == "PTC-E008"
