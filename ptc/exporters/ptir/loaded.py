"""A `.ptir` file as a callable, on torch: what `ptc.load` gives where the executor cannot run it.

Has the interface of a loaded library. What runs is `running`'s business.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ptc.exporters.ptir.format import read_program
from ptc.exporters.ptir.running import runner_of
from ptc.graph.control import ControlProgram
from ptc.graph.program import AtenProgram
from ptc.hosting.calls import EntryCalls
from ptc.hosting.dtypes import element_type
from ptc.hosting.effects import Emit, emit_here
from ptc.hosting.entries import WithEntries
from ptc.hosting.manifest import EntryInfo, Manifest, TensorInfo
from ptc.hosting.portable import portable_manifest
from ptc.hosting.tensors import Operand, check_apart, operand
from ptc.support.diagnostics import CompileError

_PLAIN = {"i64": int, "f64": float, "bool": bool}


def load_interpreted(path: Path) -> InterpretedModel:
    """The program of a file. Raises CompileError PTC-E010 for a damaged one."""
    return InterpretedModel(path, portable_manifest(path), read_program(path))


class InterpretedModel(WithEntries["InterpretedEntry"]):
    """A program run by torch, operator by operator."""

    def __init__(
        self, path: Path, manifest: Manifest, program: AtenProgram | ControlProgram
    ) -> None:
        self.path, self.manifest, self._program = path, manifest, program
        self.raised: BaseException | None = None
        self.emit: Emit = emit_here
        self.lock = threading.Lock()
        self.runner = runner_of(program)
        self.entries = {info.name: InterpretedEntry(self, info) for info in manifest.entries}

    def fork_session(self) -> InterpretedModel:
        """Another object with the same weights and state of its own."""
        return InterpretedModel(self.path, self.manifest, self._program)

    def reset(self) -> None:
        """Give the model's mutable state the values that the file has."""
        with self.lock:
            self.runner.reset()

    def seed(self, seed: int) -> None:
        """Have random numbers go on as eager's do after `torch.manual_seed(seed)`."""
        with self.lock:
            self.runner.seed(seed)

    def on_emit(self, function: Emit | None) -> None:
        """As of a loaded library."""
        self.emit = function or emit_here

    def peak_memory(self) -> int:
        """Working memory is not counted: torch allocates it."""
        return 0

    def __repr__(self) -> str:
        return f"<ptc program {self.path.name}: {'; '.join(map(str, self.entries.values()))}>"


class InterpretedEntry(EntryCalls):
    """The function that a file holds."""

    def __init__(self, model: InterpretedModel, info: EntryInfo) -> None:
        super().__init__(info)
        self._model = model
        self._written = [i for i, tensor in enumerate(info.inputs) if tensor.mutated]

    def run_variant(self, values: Sequence[Any], *, as_torch: bool) -> tuple[list[Any], int]:
        infos = self.info.inputs
        self.require_count(values)
        given = [operand(value, info) for value, info in zip(values, infos, strict=True)]
        if self._written:
            check_apart(values, [info.name for info in infos], self._written)
        tensors = [_value(item, info) for item, info in zip(given, infos, strict=True)]
        model = self._model
        model.raised = None
        try:
            with model.lock:
                outputs, variant = model.runner(tensors, model.emit)
        except CompileError:
            raise
        except Exception as error:
            model.raised = error
            raise
        finally:  # what was written before the model raised stays written
            for item in given:
                item.write_back()
        return [_result(value, as_torch=as_torch) for value in outputs], variant


def _value(given: Operand, info: TensorInfo) -> Any:
    """An input as torch has it; it shares memory with the array that was given."""
    owner = given.owner
    if info.kind == "number":
        return _PLAIN[info.dtype](owner.item())
    if isinstance(owner, torch.Tensor):
        return owner
    if info.dtype == "bf16":
        return torch.from_numpy(owner.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(owner)


def _result(value: Any, *, as_torch: bool) -> Any:
    """An output as the caller has its inputs: numbers and texts are Python's."""
    if isinstance(value, list):
        return [_result(item, as_torch=as_torch) for item in value]
    if as_torch or not isinstance(value, torch.Tensor):
        return value.detach().clone() if isinstance(value, torch.Tensor) else value
    dense = value.detach().contiguous().clone()
    if dense.dtype == torch.bfloat16:
        kind = element_type("bf16")
        assert kind is not None
        return dense.view(torch.int16).numpy().view(kind.numpy)
    return dense.numpy()
