"""Models of the zoo as files run by the executor: results, text, exceptions, inputs and state from
call to call as in eager."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import ptc
from ptc.hosting.artifact import LoadedArtifact
from tests.zoo import harness
from tests.zoo.case import Case
from tests.zoo.catalog import cases

pytestmark = pytest.mark.filterwarnings("ignore")

#: In the default run: a loop, texts and an exception, state, sets, sizes that data decides.
QUICK = frozenset(
    {"repeat_int", "try_except", "circuit_breaker", "set_membership", "sizes_from_data"}
)


def _zoo() -> list[Any]:
    return [
        pytest.param(case, id=name, marks=[] if name in QUICK else pytest.mark.slow)
        for name, case in cases().items()
    ]


@pytest.mark.parametrize("case", _zoo())
def test_the_executor_does_what_eager_does(case: Case, tmp_path: Path) -> None:
    path = tmp_path / f"{case.name}.ptir"
    with harness.logging_at(logging.INFO):
        ptc.export(
            case.make(), harness.clone(case.inputs[0]), format="ptir", output=path,
            dynamic=case.dynamic, check=False,
        )  # fmt: skip
    model = ptc.load(path)
    assert isinstance(model, LoadedArtifact), "run by torch"
    found = harness.observe(case, model, lambda: None, harness.name_of_reported)
    harness.compare(harness.eager(case), found)
