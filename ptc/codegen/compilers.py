"""Compiler processes that end with the build that started them.

An interrupted or failed build must not leave compilers running, nor wait for those that have not
started. Knows nothing of what is compiled.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class Compilers:
    """The processes of one build."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(
        self, command: Sequence[str], folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one, in `folder` if given, to its end, with its output captured."""
        with self._lock:
            if self._stopped:
                raise InterruptedError("the build was stopped")
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            self._running.add(process)
        try:
            output, errors = process.communicate()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            with self._lock:
                self._running.discard(process)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def stop(self) -> None:
        """End what runs and start nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                # The driver removes its temporary files and ends its children on this signal.
                process.terminate()

    def map(
        self, function: Callable[[_Task], _Result], tasks: Iterable[_Task], jobs: int
    ) -> list[_Result]:
        """`function` of every task in threads, `jobs` at once. The first failure, or an interrupt,
        stops the others."""
        with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
            futures = [pool.submit(function, task) for task in tasks]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
                for future in futures:
                    if future.done():
                        future.result()
            except BaseException:
                for future in futures:
                    future.cancel()
                self.stop()
                raise
            return [future.result() for future in futures]
