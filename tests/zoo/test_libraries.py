"""Every model of the zoo as a library: results, text, exceptions, inputs and state as in eager.

A build takes seconds, so that the default run has one or two models a theme and the rest is slow.
One graph of `ptc.compile` is the same program over the live model: there the largest are slow too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.zoo import harness
from tests.zoo.case import Case
from tests.zoo.catalog import SAMPLE, cases

pytestmark = pytest.mark.filterwarnings("ignore")


LARGE = frozenset({"tiny_generator", "nms", "command_patterns"})


def _parameters(quick: frozenset[str]) -> list[Any]:
    return [
        pytest.param(case, id=name, marks=[] if name in quick else pytest.mark.slow)
        for name, case in cases().items()
    ]


@pytest.mark.parametrize("case", _parameters(SAMPLE))
def test_a_library_does_what_eager_does(case: Case, tmp_path: Path) -> None:
    harness.compare(harness.eager(case), harness.library(case, tmp_path))


@pytest.mark.parametrize("case", _parameters(SAMPLE - LARGE))
def test_one_graph_does_what_eager_does(case: Case) -> None:
    harness.compare(harness.eager(case), harness.compiled(case, control_flow=True))
