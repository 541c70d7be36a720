"""Runs models in processes of their own, so that a crash or an endless loop costs one model only.

A worker takes names on its standard input and answers with one line of JSON each; it is replaced
when it dies or takes too long.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence

from tests.zoo.attempts import Outcome, attempt
from tests.zoo.catalog import cases

_READY = "ready"


def outcomes(
    names: Sequence[str],
    way: str,
    *,
    jobs: int = 1,
    seconds: float = 120.0,
    report: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """What becomes of each model, in the order of `names`; `report` is called as they finish."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        todo.put(name)
    found: dict[str, Outcome] = {}
    lock = threading.Lock()

    def work() -> None:
        worker = _Worker(way, seconds)
        while True:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                worker.close()
                return
            outcome = worker.run(name)
            with lock:
                found[name] = outcome
                if report is not None:
                    report(outcome)

    threads = [threading.Thread(target=work) for _ in range(max(1, min(jobs, len(names))))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[name] for name in names]


class _Worker:
    """One process at a time, started when there is something to do."""

    def __init__(self, way: str, seconds: float) -> None:
        self._way = way
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None

    def run(self, name: str) -> Outcome:
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        started = time.monotonic()
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._seconds, stop)
        timer.start()
        try:
            process.stdin.write(name + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        taken = time.monotonic() - started
        if line:
            return Outcome(**{**json.loads(line), "seconds": taken})
        self._process = None
        status = process.wait()
        if late.is_set():
            return Outcome(name, "timeout", detail=f"no end after {self._seconds:.0f} s")
        return Outcome(name, "crashed", detail=f"exit status {status}", seconds=taken)

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()

    def _start(self) -> subprocess.Popen[str]:
        """A process that has imported everything: that time belongs to no model."""
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.zoo.workers", self._way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        ready = process.stdout.readline().strip()
        if ready != _READY:
            raise RuntimeError(f"a worker does not start: {process.wait()}")
        self._process = process
        return process


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("way")
    way = parser.parse_args().way
    warnings.simplefilter("ignore")
    # Models print; the answers have a channel of their own.
    with open(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        known = cases()
        print(_READY, file=answers, flush=True)
        for line in sys.stdin:
            outcome = attempt(known[line.strip()], way)
            print(json.dumps(outcome.as_json()), file=answers, flush=True)


if __name__ == "__main__":
    main()
