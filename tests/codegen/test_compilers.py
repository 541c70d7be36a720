"""Compilers end with the build that started them."""

from __future__ import annotations

import time

import pytest

from ptc.codegen.compilers import Compilers


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError])
def test_a_failure_ends_what_runs_and_starts_nothing_more(failure: type[BaseException]) -> None:
    compilers, started = Compilers(), list[int]()

    def task(number: int) -> int:
        started.append(number)
        if number == 1:
            time.sleep(0.2)
            raise failure
        return compilers.run(["sleep", "60"]).returncode

    begin = time.monotonic()
    with pytest.raises(failure):
        compilers.map(task, range(8), 2)
    assert time.monotonic() - begin < 20
    assert len(started) <= 3
    with pytest.raises(InterruptedError):
        compilers.run(["true"])


def test_results_come_in_order() -> None:
    compilers = Compilers()

    def task(text: str) -> str:
        return compilers.run(["echo", text]).stdout.strip()

    assert compilers.map(task, ["a", "b", "c"], 2) == ["a", "b", "c"]
