"""Builds programs and runs the library through ctypes, with poisoned memory and guard bands.

Inputs, weights and outputs lie one element behind a boundary of 64 bytes, as `x[1:]` may.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ptc.codegen.entry import Entry
from ptc.codegen.generate import Generated, generate
from ptc.codegen.sources import Sources, Unit
from ptc.codegen.target import Target
from ptc.codegen.toolchain import build, resolve
from ptc.hosting.abi import Api, OpenOptions
from ptc.loops import interpreter
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, BufferKind, DType, Program
from ptc.loops.parser import parse_program
from ptc.loops.scalar_numpy import STORAGE_TYPES

GUARD = 256


class NativeError(Exception):
    """A run that ended with a status other than 0."""


@dataclass
class Library:
    """A loaded library with one model and one session."""

    generated: Generated
    path: Path
    api: Any
    model: ctypes.c_void_p
    session: ctypes.c_void_p
    entries: dict[str, Entry]
    live: bool
    keep: Any
    weights: Mapping[str, np.ndarray]

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        weights: Mapping[str, np.ndarray] | None = None,
        sizes: Mapping[str, int] | None = None,
        entry: str = "forward",
        invoke: Callable[..., int] | None = None,
    ) -> list[Any]:
        """Outputs of `run_raw`, after checking that nothing outside of them was written.

        `invoke` calls it in some other way, with the same arguments.
        """
        program = self.entries[entry].program
        given = {**inputs, **(weights or {})}
        known = interpreter.bind_sizes(program, given, sizes or {})
        pointers: list[int] = []
        laid_out: list[np.ndarray] = []
        for name in program.inputs:
            if self.live or program.buffers[name].kind is BufferKind.INPUT:
                laid_out.append(in_memory(program.buffers[name], given[name], known))
                pointers.append(laid_out[-1].ctypes.data)
        blocks: list[tuple[np.ndarray, int]] = []
        shapes: list[tuple[tuple[int, ...], DType]] = []
        for output in program.outputs:
            dtype = DType.I64 if isinstance(output, Index) else program.buffers[output].dtype
            shape = (
                ()
                if isinstance(output, Index)
                else tuple(int(d.evaluate(known)) for d in program.buffers[output].shape)
            )
            size = int(np.prod(shape)) * dtype.itemsize
            block = odd_bytes(size + 2 * GUARD, dtype.itemsize)
            blocks.append((block, size))
            shapes.append((shape, dtype))
            pointers.append(block.ctypes.data + GUARD)
        array = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        values = [known[s.symbol] for s in program.sizes]
        size_array = (ctypes.c_int64 * max(len(values), 1))(*values)
        index = self.api.entry_index(entry.encode())
        status = (invoke or self.api.run_raw)(self.session, index, array, size_array)
        if status:
            raise NativeError(f"{status}: {self.api.last_error(self.session).decode()}")
        results: list[Any] = []
        for output, (block, size), (shape, dtype) in zip(
            program.outputs, blocks, shapes, strict=True
        ):
            assert (block[:GUARD] == 0xFF).all(), "written before the output"
            assert (block[GUARD + size :] == 0xFF).all(), "written behind the output"
            data = block[GUARD : GUARD + size].tobytes()
            flat = np.frombuffer(data, STORAGE_TYPES[dtype])
            if isinstance(output, str):
                strides = [int(s.evaluate(known)) * dtype.itemsize
                           for s in program.buffers[output].strides]  # fmt: skip
                results.append(np.lib.stride_tricks.as_strided(flat, shape, strides))
            else:
                results.append(flat.reshape(shape))
        return results

    def close(self) -> None:
        self.api.session_free(self.session)
        self.api.close(self.model)


def odd_bytes(size: int, itemsize: int) -> np.ndarray:
    """`size` bytes of 0xFF, `itemsize` behind a boundary of 64 bytes."""
    block = np.full(size + 128, 0xFF, np.uint8)
    start = -block.ctypes.data % 64 + itemsize
    return block[start : start + size]


def in_memory(buffer: Buffer, values: np.ndarray, sizes: Mapping[str, int]) -> np.ndarray:
    """`values` laid out with the buffer's strides; memory between elements is poison."""
    shape = [int(d.evaluate(sizes)) for d in buffer.shape]
    strides = [int(s.evaluate(sizes)) for s in buffer.strides]
    span = (
        1 + sum(s * (d - 1) for s, d in zip(strides, shape, strict=True)) if 0 not in shape else 1
    )
    block = odd_bytes(span * buffer.dtype.itemsize, buffer.dtype.itemsize).view(values.dtype)
    view = np.lib.stride_tricks.as_strided(
        block, shape, [s * values.dtype.itemsize for s in strides], writeable=True
    )
    view[...] = values
    return block


def poisoned(sources: Sources) -> Sources:
    """The same sources, but each run begins with an arena full of NaN."""
    units: list[Unit] = []
    for unit in sources.units:
        text = unit.text
        if unit.baseline:
            text = "#define PTC_POISON\n" + text
        units.append(Unit(unit.name, text, unit.baseline, unit.cost))
    return Sources(sources.name, tuple(units), sources.header)


def load(path: Path, name: str) -> Any:
    library = ctypes.CDLL(str(path))
    function = getattr(library, f"{name}_ptc_api")
    function.restype = ctypes.POINTER(Api)
    return function().contents


def compile_entries(
    entries: Sequence[Entry],
    *,
    live: bool = True,
    weights: Mapping[str, np.ndarray] | None = None,
    target: Target | None = None,
    threads: int = 1,
    name: str = "sample",
    optimise: str = "-O2",
) -> Library:
    """Generate, build, open. Without `live`, weights are passed by address when opening."""
    target = resolve(target or Target())
    generated = generate(entries, name=name, target=target, live_weights=live)
    result = build(poisoned(generated.sources), target, optimise=optimise)
    api = load(result.library, name)
    options = OpenOptions(ctypes.sizeof(OpenOptions), threads, None, None)
    keep: list[Any] = []
    if not live and generated.weights:
        buffers = {n: b for e in entries for n, b in e.program.buffers.items()}
        arrays = [
            in_memory(buffers[w.name], (weights or {})[w.name], {}) for w in generated.weights
        ]
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        keep = [arrays, pointers]
        options.weight_pointers = ctypes.cast(pointers, ctypes.POINTER(ctypes.c_void_p))
    model, session = ctypes.c_void_p(), ctypes.c_void_p()
    message = ctypes.create_string_buffer(512)
    status = api.open(ctypes.byref(options), ctypes.byref(model), message, 512)
    if status:
        raise NativeError(f"open: {status}: {message.value.decode()}")
    assert api.session_new(model, ctypes.byref(session)) == 0
    return Library(
        generated,
        result.library,
        api,
        model,
        session,
        {e.name: e for e in entries},
        live,
        keep,
        weights or {},
    )


def program(text: str) -> Program:
    """A program from text, indented as convenient."""
    import textwrap

    return parse_program(textwrap.dedent(text).strip("\n") + "\n")


def draw(rng: np.random.Generator, dtype: DType, shape: Sequence[int]) -> np.ndarray:
    """Random elements of a storage type."""
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_int:
        low = 0 if dtype is DType.U8 else -50
        return rng.integers(low, 50, shape).astype(STORAGE_TYPES[dtype])
    values = rng.standard_normal(shape) * 2
    if dtype is DType.BF16:
        bits = np.asarray(values, np.float32).view(np.uint32)
        return (bits >> 16).astype(np.uint16).reshape(shape)
    if dtype in (DType.C64, DType.C128):
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(STORAGE_TYPES[dtype])


def random_inputs(
    p: Program, rng: np.random.Generator, sizes: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """Arrays for every INPUT and WEIGHT buffer."""
    result: dict[str, np.ndarray] = {}
    for buffer in p.buffers.values():
        if buffer.kind in (BufferKind.INPUT, BufferKind.WEIGHT):
            shape = [int(d.evaluate(sizes or {})) for d in buffer.shape]
            values = draw(rng, buffer.dtype, shape)
            for axis, stride in enumerate(buffer.strides):
                if stride == 0:  # one element in memory for the whole axis
                    values = values.take([0], axis).repeat(shape[axis], axis)
            result[buffer.name] = values
    return result


def close_enough(got: np.ndarray, expected: np.ndarray, dtype: DType, factor: float = 1.0) -> bool:
    """Equal for integers; a few units in the last place of the largest value for floats."""
    if dtype is DType.BF16:
        got = (got.astype(np.uint32) << 16).view(np.float32)
        expected = (expected.astype(np.uint32) << 16).view(np.float32)
    if not (dtype.is_float or dtype in (DType.C64, DType.C128)):
        return bool(np.array_equal(got, expected))
    eps = {DType.BF16: 2**-7, DType.F16: 2**-9, DType.F32: 4e-6, DType.C64: 4e-6}.get(dtype, 1e-12)
    return bool(np.allclose(got, expected, rtol=eps * factor, atol=eps * factor, equal_nan=True))


def check(
    p: Program,
    inputs: Mapping[str, np.ndarray] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    factor: float = 1.0,
    seed: int = 0,
    **options: Any,
) -> Library:
    """Compile `p`, run it, compare with the interpreter."""
    rng = np.random.default_rng(seed)
    given = dict(inputs) if inputs is not None else random_inputs(p, rng, sizes)
    library = compile_entries([Entry("forward", p)], weights=given, **options)
    compare(library, p, given, sizes, factor)
    return library


def compare(
    library: Library,
    p: Program,
    given: Mapping[str, np.ndarray],
    sizes: Mapping[str, int] | None = None,
    factor: float = 1.0,
    entry: str = "forward",
) -> None:
    """Run both and compare every output."""
    expected = interpreter.run(p, dict(given), sizes=sizes)
    got = library.run(given, sizes=sizes, entry=entry)
    for name, a, b in zip(p.outputs, got, expected, strict=True):
        dtype = DType.I64 if isinstance(name, Index) else p.buffers[name].dtype
        b = np.asarray(b)
        assert close_enough(np.asarray(a), b, dtype, factor), difference(name, np.asarray(a), b)


def difference(name: object, got: np.ndarray, expected: np.ndarray) -> str:
    """Where the first wrong element is, and what it should be."""
    for at in np.ndindex(got.shape):
        a, b = got[at], expected[at]
        if a != b and not (a != a and b != b) and not abs(a - b) <= 1e-5 * abs(b):
            return f"{name}{list(at)} is {a}, expected {b}; all: {got.ravel()[:8]}"
    return f"{name}: small differences"
