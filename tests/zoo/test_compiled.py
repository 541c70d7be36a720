"""Models of the zoo through `ptc.compile` with graph breaks; one graph of each: test_libraries.py.

A few in the default run, the rest is slow.
"""

from __future__ import annotations

import pytest

from tests.zoo import harness
from tests.zoo.case import Case
from tests.zoo.catalog import SAMPLE, cases

CASES = [
    pytest.param(case, id=name, marks=() if name in SAMPLE else pytest.mark.slow)
    for name, case in cases().items()
]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("case", CASES)
def test_with_graph_breaks_a_model_does_what_eager_does(case: Case) -> None:
    harness.compare(harness.eager(case), harness.compiled(case, backend="eager"))
