"""Sample rows as `.ptir` files: one operator each, run by the executor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch._ops import OpOverload

from ptc.executor.session import Model, Session
from ptc.exporters.ptir.container import write_package
from ptc.exporters.ptir.extract import extract
from ptc.exporters.ptir.printer import print_module
from ptc.graph.program import AtenProgram
from ptc.ops import registry
from ptc.ops.protocol import Sample
from ptc.support.diagnostics import CompileError
from tests.ops import sampling
from tests.ops.arrays import to_torch


@dataclass(frozen=True)
class Row:
    label: str
    op: OpOverload
    row: Sample


def all_rows(wanted: str = "") -> list[Row]:
    return [
        Row(sampling.sample_id(op, n, row), op, row)
        for op, rows in registry.all_samples().items()
        if wanted in str(op)
        for n, row in enumerate(rows)
    ]


def write_program(program: AtenProgram, path: Path) -> None:
    module, literals = extract(program)
    write_package(path, print_module(module), {"format": "ptir", "schema": 2}, literals)


def as_array(x: torch.Tensor) -> np.ndarray:
    """The tensor's memory as it lies, bf16 as its bits."""
    return x.view(torch.uint16).numpy() if x.dtype is torch.bfloat16 else x.resolve_conj().numpy()


def as_bits(array: np.ndarray) -> np.ndarray:
    """bf16 as its bits, also where NumPy has a type for it."""
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else np.asarray(array)


def verdict(row: Row, path: Path, *, dynamic: bool = False) -> str | None:
    """Why the executor's answer for the row is wrong, or None; None, too, where torch's own tracing
    refuses dynamic sizes."""
    arguments = sampling.draw(row.row)
    try:
        program = sampling.single_call(row.op, arguments, dynamic=dynamic)
    except RuntimeError:
        if dynamic:
            return None
        raise
    types = [value.dtype for value in program.graph.graph.output_node().meta["val"]]
    try:
        write_program(program, path)
        session = Session(Model(path, threads=1))
        got = session.run([as_array(t) for t in sampling.tensors_of(arguments)])
    except CompileError as error:
        return error.diagnostic.message
    tensors = [to_torch(as_bits(r), t) for r, t in zip(got, types, strict=True)]
    return sampling.mismatch(row.row, sampling.reference(row.op, arguments), tensors)
