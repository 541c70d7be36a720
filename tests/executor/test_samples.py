"""Every sample row of every operator, as a `.ptir` file of one operator, run by the executor and
compared with eager with the tolerance of the other back ends.

Default: the first row of each operator; `-m slow` runs all. `--operator silu` leaves the rows of
operators with that in their name.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.executor.rows import Row, all_rows, verdict

BATCH = 150


def first_rows(rows: list[Row]) -> list[Row]:
    seen: dict[object, Row] = {}
    for row in rows:
        seen.setdefault(row.op, row)
    return list(seen.values())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "batch" not in metafunc.fixturenames:
        return
    rows = all_rows(metafunc.config.getoption("--operator"))
    if metafunc.function is test_first_rows:
        rows = first_rows(rows)
    batches = [rows[i : i + BATCH] for i in range(0, len(rows), BATCH)]
    metafunc.parametrize("batch", batches, ids=map(str, range(len(batches))))


def run_batch(batch: list[Row], folder: Path, *, dynamic: bool = False) -> None:
    problems = [
        f"{row.label}: {problem}"
        for row in batch
        if (problem := verdict(row, folder / "row.ptir", dynamic=dynamic)) is not None
    ]
    assert not problems, "\n".join(problems)


def test_first_rows(batch: list[Row], tmp_path: Path) -> None:
    run_batch(batch, tmp_path)


@pytest.mark.slow
def test_rows(batch: list[Row], tmp_path: Path) -> None:
    run_batch(batch, tmp_path)


@pytest.mark.slow
def test_rows_of_dynamic_sizes(batch: list[Row], tmp_path: Path) -> None:
    run_batch(batch, tmp_path, dynamic=True)
