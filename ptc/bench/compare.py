"""`ptc bench`: ratios of ptc to its peers, each model in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ptc.bench.contenders import CONTENDERS
from ptc.bench.suite import SUITE
from ptc.support.diagnostics import CompileError
from ptc.support.settings import process_environment


@dataclass(frozen=True, slots=True)
class Row:
    """One model and contender. Seconds; `ratio` is eager's median over this one's."""

    model: str
    contender: str
    cold: float | None
    median: float | None
    ratio: float | None
    error: float | None


def compare(
    models: Sequence[str], contenders: Sequence[str], *, cold: bool = True, speed: bool = True
) -> Iterator[Row]:
    """Measure and yield one row a model and contender. One thread, caches empty for cold times."""
    _known(models, SUITE, "model")
    _known(contenders, CONTENDERS, "contender")
    for model in models:
        colds = {c: _measure("cold", model, c) for c in contenders if c != "eager"} if cold else {}
        names = ["eager", *(c for c in contenders if c != "eager")]
        warm: dict[str, Any] = _measure("speed", model, *names) if speed else {}
        medians: dict[str, float] = warm.get("medians", {})
        for name in names:
            median = medians.get(name)
            yield Row(
                model,
                name,
                colds.get(name, {}).get("seconds"),
                median,
                medians["eager"] / median if median else None,
                warm.get("errors", {}).get(name),
            )


def _known(names: Sequence[str], table: Any, what: str) -> None:
    for name in names:
        if name not in table:
            raise CompileError(
                "PTC-D010", f"unknown {what} {name!r}", hint=f"choose from {', '.join(table)}"
            )


def _measure(*arguments: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="ptc-bench-") as cache:
        environment = process_environment(
            PTC_CACHE_DIR=f"{cache}/ptc",
            TORCHINDUCTOR_CACHE_DIR=f"{cache}/inductor",
            TRITON_CACHE_DIR=f"{cache}/triton",
            OMP_NUM_THREADS="1",
        )
        done = subprocess.run(
            [sys.executable, "-m", "ptc.bench.measure", *arguments],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        tail = done.stderr.strip().splitlines()[-1:] or ["no output"]
        raise CompileError("PTC-D011", f"measuring {' '.join(arguments)} failed: {tail[0]}")
    return json.loads(done.stdout.splitlines()[-1])
