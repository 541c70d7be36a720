"""Measurement: interleaved rounds in one process, cold compilation in fresh processes.

`python -m ptc.bench.measure cold MODEL CONTENDER` and `... speed MODEL CONTENDER...` print one line
of JSON; `ptc.bench.compare` starts them, so that every cold time pays every import and finds no
cache.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from ptc.bench.contenders import CONTENDERS
from ptc.bench.suite import make


def _timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def cold(model: str, contender: str) -> dict[str, Any]:
    """Seconds from the module in memory to the first result; the caller empties the caches."""
    module, args, kwargs = make(model)
    with torch.no_grad():
        module(*args, **kwargs)
        start = time.perf_counter()
        call = CONTENDERS[contender](module, args, kwargs)
        call(*args, **kwargs)
        return {"seconds": time.perf_counter() - start}


def speed(model: str, contenders: list[str], *, seconds: float = 8.0) -> dict[str, Any]:
    """Median seconds a call of each contender, rounds interleaved; and each one's worst error
    relative to the largest eager value."""
    module, args, kwargs = make(model)
    with torch.no_grad():
        calls = {name: CONTENDERS[name](module, args, kwargs) for name in contenders}
        reference = _flat(module(*args, **kwargs))
        errors: dict[str, float] = {}
        for name, call in calls.items():
            result = [call(*args, **kwargs) for _ in range(3)][-1]
            errors[name] = _error(_flat(result), reference)
        estimate = sum(_timed(lambda c=call: c(*args, **kwargs)) for call in calls.values())
        rounds = max(5, min(2000, int(seconds / estimate)))
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                times[name].append(_timed(lambda c=call: c(*args, **kwargs)))
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {"medians": medians, "errors": errors, "rounds": rounds}


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _flat(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return []


def _error(values: list[torch.Tensor], reference: list[torch.Tensor]) -> float:
    worst = 0.0
    for value, expected in zip(values, reference, strict=True):
        scale = float(expected.abs().max()) or 1.0
        worst = max(worst, float((value - expected).abs().max()) / scale)
    return worst


def main(argv: list[str]) -> None:
    torch.set_num_threads(1)
    match argv:
        case ["cold", model, contender]:
            result = cold(model, contender)
        case ["speed", model, *contenders]:
            result = speed(model, contenders)
        case _:
            raise SystemExit(
                "usage: python -m ptc.bench.measure cold MODEL CONTENDER | speed MODEL CONTENDER..."
            )
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
