"""Graphs with frozen weights: what they took is compared with what a call finds.

`freeze=True` packs and folds the weights as they are when a graph is compiled. At each call the
graph looks whether they are still the same tensors, with the same memory and version; if not, it is
built anew with what they are now, and one that changes again is read live from then on. So writes
by the module itself, optimizers, `load_state_dict` and new parameters are seen. Writes that change
neither version nor memory (through `.data` or NumPy) cannot be: they need `refresh()`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ptc.backends.registry import CompiledGraph
from ptc.graph.program import CapturedProgram

#: A weight that changed this often is read at each call.
_CHANGES_UNTIL_LIVE = 2


@dataclass(frozen=True, slots=True)
class Taken:
    """A weight as a graph took it. `version` is None for tensors that count none."""

    tensor: torch.Tensor
    version: int | None
    address: int

    @staticmethod
    def of(tensor: torch.Tensor) -> Taken:
        version = None if tensor.is_inference() else tensor._version
        return Taken(tensor, version, tensor.data_ptr())

    def still(self, found: Any) -> bool:
        """Whether `found` is what was taken."""
        if found is not self.tensor or found.data_ptr() != self.address:
            return False
        return self.version is None or found._version == self.version


@dataclass(frozen=True, slots=True)
class FrozenRun:
    """A built graph: `call`, which hands over to another where a weight in `taken` (by position of
    the input) has changed. `written`: the inputs that it writes into."""

    call: CompiledGraph
    taken: Mapping[int, Taken]
    written: Sequence[int]


#: Builds a graph: the program, the positions to read live, what to call when a weight has changed.
Build = Callable[[CapturedProgram, frozenset[int], CompiledGraph], FrozenRun]


class FrozenGraph:
    """A graph that is built anew where its weights have changed."""

    def __init__(self, program: CapturedProgram, build: Build) -> None:
        self._program = program
        self._build = build
        self._changes: Counter[int] = Counter()
        self._lock = threading.RLock()
        self._run = self._built()

    def call(self, *inputs: Any) -> tuple[Any, ...]:
        """The graph of these flat inputs."""
        return self._run.call(*inputs)

    @property
    def written(self) -> Sequence[int]:
        """Positions of the inputs that the graph writes into."""
        return self._run.written

    def _built(self) -> FrozenRun:
        often = {i for i, count in self._changes.items() if count >= _CHANGES_UNTIL_LIVE}
        return self._build(self._program, frozenset(often), self._changed)

    def _changed(self, *inputs: Any) -> tuple[Any, ...]:
        with self._lock:
            # Another thread may have built it anew while this one waited.
            stale = [i for i, was in self._run.taken.items() if not was.still(inputs[i])]
            if stale:
                self._changes.update(stale)
                described = list(self._program.inputs)
                for i in stale:
                    described[i] = replace(described[i], live=inputs[i])
                self._program = replace(self._program, inputs=tuple(described))
                self._run = self._built()
            run = self._run
        return run.call(*inputs)
