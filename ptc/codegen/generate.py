"""Generating a library: entries to C++ sources.

The table of contents of code generation: kernels are written and deduplicated (`kernels`,
`functions`), each entry gets its call sequence (`program_code`), the host unit ties them together
(`host`). What comes out compiles with `toolchain.build`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ptc.codegen.control_table import control_codes
from ptc.codegen.entry import AnyEntry, ControlEntry, Entry
from ptc.codegen.functions import FunctionTable, identifier
from ptc.codegen.host import (
    Weight,
    WeightFiles,
    host_unit,
    manifest_unit,
    mechanics_unit,
    user_header,
)
from ptc.codegen.kernels import KernelCompiler
from ptc.codegen.prepared_blocks import BlockTable, with_owners_kept
from ptc.codegen.program_code import EntryCode, entry_code
from ptc.codegen.sources import Sources, Unit
from ptc.codegen.target import Target
from ptc.codegen.toolchain import resolve
from ptc.loops.nodes import Buffer, BufferKind
from ptc.support.diagnostics import InternalError

#: The same for every library.
MECHANICS = Unit("ptc_host.cpp", mechanics_unit(), baseline=True, cost=400.0)


@dataclass(frozen=True, slots=True)
class Generated:
    """Sources with what the manifest says about them.

    `weights`: the table that the library looks weights up in (empty with live weights); `kernels`:
    kernel calls by entry; `functions`: distinct functions.
    """

    sources: Sources
    weights: tuple[Weight, ...]
    kernels: Mapping[str, int]
    functions: int


def generate(
    entries: Sequence[AnyEntry],
    *,
    name: str,
    target: Target | None = None,
    live_weights: bool = False,
    weights_file: str | None = None,
    image: bool = False,
    files: WeightFiles | None = None,
    manifest: str = "{}",
    jobs: int = 2,
) -> Generated:
    """C++ for a library called `name`.

    live_weights  weights are read through pointers passed to `run_raw`, after the inputs' order
    weights_file  name of the safetensors file beside the library; None: weights are embedded
    image         embedded weights are in the library's memory (`host.image_unit`), not in a section
    files         what files of new weights hold (default: all weights)
    manifest      what `api->manifest()` returns; see `with_manifest` to set it later
    """
    target = resolve(target or Target())
    symbol = identifier(name)
    segments = [s for e in entries if isinstance(e, ControlEntry) for s in e.segments]
    interfaces = [e.interface if isinstance(e, ControlEntry) else e for e in entries]
    programs = [*interfaces, *[segment.entry for segment in segments]]
    variables = [b for e in entries if isinstance(e, ControlEntry) for b in e.weights]
    weights = () if live_weights else _weight_table(programs, variables)
    table = FunctionTable(symbol)
    written = frozenset(
        [b.name for b in variables] + [back.buffer for p in programs for back in p.write_backs]
    )
    compiler = KernelCompiler(target.lanes, target.threads, live_weights, written)
    names = [w.name for w in weights]
    blocks = BlockTable()
    codes = [
        entry_code(entry, number, table, names, compiler.for_entry(), blocks)
        for number, entry in enumerate(programs)
    ]
    prepared = with_owners_kept([code.prepared for code in codes])
    codes = [replace(code, prepared=rows) for code, rows in zip(codes, prepared, strict=True)]
    weights = _with_uses(weights, codes, files)
    controls = control_codes(entries, names)
    host = host_unit(
        name, programs, len(entries), codes, weights, table.declarations(), target,
        weights_file=weights_file, image=image and bool(weights), controls=controls,
    )  # fmt: skip
    hosts = (Unit(f"{symbol}_host.cpp", host, True, 500.0), MECHANICS)
    results = {n: code.results for n, code in controls.codes.items()}
    header = user_header(name, interfaces, weights_file=weights_file, results=results)
    sources = Sources(symbol, (*table.units(jobs), *hosts), header)
    kernels = dict(zip([e.name for e in entries], [code.kernels for code in codes], strict=False))
    rest = iter(codes[len(entries) :])
    for entry in entries:
        if isinstance(entry, ControlEntry):
            kernels[entry.name] = sum(next(rest).kernels for _ in entry.segments)
    return Generated(with_manifest(sources, name, manifest), weights, kernels, len(table))


def _with_uses(
    weights: Sequence[Weight], codes: Sequence[EntryCode], files: WeightFiles | None
) -> tuple[Weight, ...]:
    """The table with what runs read, and what files of weights have. A constant is always kept:
    new weights are prepared together with it."""
    kept = {name for code in codes for name in code.weights}
    constants = set[str]() if files is None else {w.name for w in weights} - files.saved
    return tuple(
        replace(
            weight,
            is_kept=weight.is_written or weight.name in kept | constants,
            is_saved=weight.name not in constants,
            aliases=tuple(files.aliases.get(weight.name, ())) if files else (),
        )
        for weight in weights
    )


def with_manifest(sources: Sources, name: str, manifest: str) -> Sources:
    """`sources` with `manifest` as the text that the library returns."""
    unit = Unit(f"{sources.name}_manifest.cpp", manifest_unit(name, manifest), True, 1.0)
    return sources.with_unit(unit)


def _weight_table(entries: Sequence[Entry], variables: Sequence[Buffer]) -> tuple[Weight, ...]:
    """Every WEIGHT buffer of any entry, once: first those among a program's inputs, in their
    order. `variables` are those that programs with control flow write."""
    found: dict[str, Buffer] = {}
    written = {back.buffer for entry in entries for back in entry.write_backs}
    written |= {buffer.name for buffer in variables}
    used = [
        entry.program.buffers[name]
        for entry in entries
        for name in dict.fromkeys((*entry.program.inputs, *entry.program.buffers))
    ]
    for buffer in (*used, *variables):
        if buffer.kind is not BufferKind.WEIGHT:
            continue
        known = found.setdefault(buffer.name, buffer)
        if (known.dtype, known.shape) != (buffer.dtype, buffer.shape):
            raise InternalError("codegen", f"weight {buffer.name} differs between entries")
    return tuple(
        Weight(b.name, b.dtype, prod(shape) * b.dtype.itemsize, shape, is_written=b.name in written)
        for b in found.values()
        for shape in (_weight_shape(b),)
    )


def _weight_shape(buffer: Buffer) -> tuple[int, ...]:
    shape = tuple(size.constant for size in buffer.shape if size.constant is not None)
    if len(shape) != len(buffer.shape):
        raise InternalError("codegen", f"weight {buffer.name} has a symbolic shape")
    return shape
