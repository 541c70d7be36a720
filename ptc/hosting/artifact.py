"""Calling a compiled model as if it were the Python model: `load(path)(x)`.

Goes in: arrays or tensors in the structure of the original call. Comes out: the original result's
structure, with torch tensors if any input was one, else NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ptc.hosting.calls import EntryCalls
from ptc.hosting.dims import evaluate, shape_text
from ptc.hosting.effects import Emit, emit_here
from ptc.hosting.entries import WithEntries
from ptc.hosting.library import (
    HASHED_AT_LOAD,
    Library,
    Model,
    Session,
    WithSessions,
    update_weights,
)
from ptc.hosting.manifest import EntryInfo, Manifest, TensorInfo
from ptc.hosting.results import Results
from ptc.hosting.slots import LibraryAllocated, Slot, pointers
from ptc.hosting.tensors import Operand, check_apart
from ptc.support import settings
from ptc.support.diagnostics import CompileError


def load(
    path: str | PathLike[str],
    *,
    threads: int | None = None,
    weights: str | PathLike[str] | None = None,
    verify: bool | None = None,
) -> LoadedArtifact:
    """Open the library that `ptc compile` or `ptc.build` made.

    threads  that kernels may use (default: PTC_THREADS, OMP_NUM_THREADS, else one per core)
    weights  a .safetensors file to use in place of the library's own weights
    verify   compare the weights with their hash (default: where they have at most 64 MiB)

    Raises CompileError PTC-R001 to PTC-R008 if the library cannot be used here.
    """
    library = Library(Path(path))
    if verify or (verify is None and library.weights_bytes <= HASHED_AT_LOAD):
        library.check_weights()
    if threads is None:
        threads = settings.current().threads or 0
    model = Model(library, threads, Path(weights).resolve() if weights is not None else None)
    return LoadedArtifact(model, library.path, library.manifest)


class LoadedArtifact(WithEntries["LoadedEntry"]):
    """A compiled model. Calling it runs its first entry; every entry is also a method.

    Thread-safe: calls take turns. `fork_session` gives another object that shares the weights and
    runs beside this one, with its own copy of the model's mutable state.
    """

    def __init__(self, model: WithSessions, path: Path, manifest: Manifest) -> None:
        self._model = model
        self.path, self.manifest = path, manifest
        self._session = model.new_session()
        self.entries = {
            info.name: LoadedEntry(self._session, self.manifest, info)
            for info in self.manifest.entries
        }

    def fork_session(self) -> LoadedArtifact:
        return LoadedArtifact(self._model, self.path, self.manifest)

    @property
    def raised(self) -> BaseException | None:
        """The exception of the model's own that ended the last run."""
        return self._session.raised

    @property
    def isa(self) -> str:
        """What the kernels that run were compiled for: `native`, `avx2`; one of several versions in
        a library for `+auto`."""
        return (self._model.api.isa() or b"").decode()

    def update_weights(self, path: str | PathLike[str]) -> None:
        """The tensors of a .safetensors file in place of the weights, without building again.

        All sessions of the model see them: a run that has begun ends with the weights that it began
        with, later ones read the new ones. The file must have every parameter and saved buffer
        under its name, with the types and shapes of the build; else CompileError PTC-R007, and
        nothing changes. It is mapped: replace it, do not write to it, while the model is in use.
        Buffers that runs have written keep their values until `reset`.
        """
        update_weights(self._model, Path(path).resolve())

    def reset(self) -> None:
        """Give the model's mutable state the values it was compiled with."""
        with self._session.lock:
            self._session.reset()

    def seed(self, seed: int) -> None:
        """Have random numbers of the model go on as eager's do after `torch.manual_seed(seed)`.

        They begin with the seed that torch had when the model was compiled, 0 for `ptc compile`.
        """
        with self._session.lock:
            self._session.seed(seed)

    def on_emit(self, function: Emit | None) -> None:
        """Have what the model prints, logs and warns of go to `function(channel, label, text)`.

        The channel is `stdout`, `stderr`, `log` (label: `LEVEL:logger`) or `warning` (label: the
        category). None: where Python's own print, logging and warnings go, as without this call.
        """
        self._session.emit = function or emit_here

    def peak_memory(self) -> int:
        """Bytes of working memory (weights not counted) used at most so far."""
        return self._session.peak_memory()

    def __repr__(self) -> str:
        return f"<ptc artifact {self.path.name}: {'; '.join(map(str, self.entries.values()))}>"


class LoadedEntry(EntryCalls):
    """One function of a library, called with the original call's arguments."""

    def __init__(self, session: Session, manifest: Manifest, info: EntryInfo) -> None:
        super().__init__(info)
        self._session = session
        self._number = session.api.entry_index(info.name.encode())
        if self._number < 0:
            raise CompileError(
                "PTC-R006", f"the manifest names the entry `{info.name}`, the library has none"
            )
        if info.control:
            session.listen()
        self._inputs = [Slot(tensor) for tensor in info.inputs]
        self._written = [i for i, tensor in enumerate(info.inputs) if tensor.mutated]
        self._outputs = [Slot(tensor) for tensor in info.outputs]
        self._input_pointers = pointers([slot.descriptor for slot in self._inputs])
        self._output_pointers = pointers([slot.descriptor for slot in self._outputs])
        self._shapes = _Shapes(info)

    def run_variant(self, values: Sequence[Any], *, as_torch: bool) -> tuple[list[Any], int]:
        """The flat outputs, and which variant of the result they are."""
        infos = self.info.inputs
        self.require_count(values)
        operands = [slot.take(value) for slot, value in zip(self._inputs, values, strict=True)]
        shapes = self._output_shapes(operands)
        if self._written:
            check_apart(values, [info.name for info in infos], self._written)
        variant = 0
        try:
            with self._session.lock:
                for slot, given in zip(self._inputs, operands, strict=True):
                    slot.place(given.pointer, given.shape)
                if self.info.control:
                    outputs = self._run_control(as_torch)
                    variant = self._session.variant() if self._variants else 0
                elif None in shapes:
                    outputs = self._run_unsized(shapes, as_torch)
                else:
                    outputs = self._run_sized(shapes, as_torch)
        finally:  # what was written before the model raised stays written
            for given in operands:
                if given.write_to is not None:
                    given.write_back()
        return outputs, variant

    def _run_control(self, as_torch: bool) -> list[Any]:
        results = Results(self.info.outputs)
        self._call(results.pointers)
        return results.take(self._session, as_torch=as_torch)

    def _run_sized(self, shapes: Sequence[tuple[int, ...] | None], as_torch: bool) -> list[Any]:
        """Every output into memory made here."""
        outputs: list[Any] = []
        for slot, shape in zip(self._outputs, shapes, strict=True):
            assert shape is not None
            made = slot.new(shape, as_torch=as_torch)
            slot.place(made.pointer, shape)
            outputs.append(made.owner)
        self._call(self._output_pointers)
        return outputs

    def _run_unsized(self, shapes: Sequence[tuple[int, ...] | None], as_torch: bool) -> list[Any]:
        """Outputs whose size is known only after the run come from the library and are copied."""
        places: list[Slot | LibraryAllocated] = []
        made: list[Any] = []
        for slot, shape in zip(self._outputs, shapes, strict=True):
            if shape is None:
                places.append(LibraryAllocated(slot.info))
                made.append(None)
            else:
                memory = slot.new(shape, as_torch=as_torch)
                slot.place(memory.pointer, shape)
                places.append(slot)
                made.append(memory.owner)
        self._call(pointers([place.descriptor for place in places]))
        for i, place in enumerate(places):
            if isinstance(place, LibraryAllocated):
                made[i] = place.copy(as_torch=as_torch)
                self._session.release(place.descriptor)
        return made

    def _call(self, outputs: Any) -> None:
        inputs = len(self._inputs)
        self._session.run(self._number, self._input_pointers, inputs, outputs, len(self._outputs))

    def _output_shapes(self, operands: Sequence[Operand]) -> Sequence[tuple[int, ...] | None]:
        """Compare every input's shape; gives the outputs' shapes, None where the run decides."""
        plan = self._shapes
        if plan.static_inputs is not None:
            for given, expected, info in zip(
                operands, plan.static_inputs, self.info.inputs, strict=True
            ):
                if given.shape != expected:
                    raise self._wrong_shape(info, given)
            return plan.static_outputs
        for given, info in zip(operands, self.info.inputs, strict=True):
            if len(given.shape) != len(info.shape):
                raise self._wrong_shape(info, given)
        sizes = self._sizes(operands)
        inputs, outputs = plan.at(sizes)
        for given, expected, info in zip(operands, inputs, self.info.inputs, strict=True):
            if any(e is not None and e != s for e, s in zip(expected, given.shape, strict=True)):
                raise self._wrong_shape(info, given)
        return outputs

    def _sizes(self, operands: Sequence[Operand]) -> dict[str, int]:
        """The values of the size symbols, within their ranges."""
        sizes: dict[str, int] = {}
        for size in self.info.sizes:
            given, info = operands[size.input], self.info.inputs[size.input]
            # A symbolic integer argument is a tensor without dimensions: its value is the size.
            value = given.shape[size.dim] if given.shape else int(given.owner.item())
            if value < size.lower or (size.upper is not None and value > size.upper):
                upper = "" if size.upper is None else str(size.upper)
                raise CompileError(
                    "PTC-R012",
                    f"dimension {size.dim} (`{size.name}`) of the input `{info.name}` is {value}, "
                    f"expected {size.lower}..{upper}",
                )
            sizes[size.symbol] = value
        return sizes

    def _wrong_shape(self, info: TensorInfo, given: Operand) -> CompileError:
        dynamic = self.info.sizes
        return CompileError(
            "PTC-R012",
            f"the input `{info.name}` has shape {list(given.shape)}, "
            f"expected {shape_text(info.shape, self._names)}",
            hint=""
            if dynamic
            else f"for other sizes compile with `--dynamic {info.name}:0=batch`, for example",
        )


_InputShapes = list[tuple[int | None, ...]]
_OutputShapes = list[tuple[int, ...] | None]


class _Shapes:
    """Shapes of an entry's inputs and outputs for given sizes; the last sizes' are remembered."""

    def __init__(self, info: EntryInfo) -> None:
        self.info = info
        # One attribute, so that threads never see sizes of one call with shapes of another.
        self._last: tuple[Mapping[str, int], _InputShapes, _OutputShapes] | None = None
        self.static_inputs: list[tuple[int, ...]] | None = None
        self.static_outputs: _OutputShapes = []
        if not info.sizes:
            inputs, self.static_outputs = self.at({})
            known = [shape for shape in map(_complete, inputs) if shape is not None]
            self.static_inputs = known if len(known) == len(inputs) else None

    def at(self, sizes: Mapping[str, int]) -> tuple[_InputShapes, _OutputShapes]:
        """(inputs, outputs): None for an input dimension that no symbol gives (the library checks
        it) and for an output with such a dimension."""
        last = self._last
        if last is not None and last[0] == sizes:
            return last[1], last[2]
        inputs = [tuple(evaluate(d, sizes) for d in t.shape) for t in self.info.inputs]
        outputs = [_complete(tuple(evaluate(d, sizes) for d in t.shape)) for t in self.info.outputs]
        self._last = dict(sizes), inputs, outputs
        return inputs, outputs


def _complete(shape: tuple[int | None, ...]) -> tuple[int, ...] | None:
    known = tuple(size for size in shape if size is not None)
    return known if len(known) == len(shape) else None
