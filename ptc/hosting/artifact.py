"""Calling a compiled model as if it were the Python model: `load(path)(x)`.

Goes in: arrays or tensors in the structure of the original call. Comes out: the original result's
structure, with torch tensors if any input was one, else NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ptc.hosting import structure as structures
from ptc.hosting.binding import bind
from ptc.hosting.dims import evaluate, shape_text
from ptc.hosting.library import HASHED_AT_LOAD, Library, Model, Session
from ptc.hosting.manifest import EntryInfo, Manifest, TensorInfo
from ptc.hosting.tensors import Operand, copy_out, describe, is_torch_tensor, new_array, operand
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
    if verify or (verify is None and library.manifest.weights.bytes <= HASHED_AT_LOAD):
        library.check_weights()
    if threads is None:
        threads = settings.current().threads or 0
    model = Model(library, threads, Path(weights).resolve() if weights is not None else None)
    return LoadedArtifact(model)


class LoadedArtifact:
    """A compiled model. Calling it runs its first entry; every entry is also a method.

    Thread-safe: calls take turns. `fork_session` gives another object that shares the weights and
    runs beside this one, with its own copy of the model's mutable state.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._session = Session(model)
        self.entries: dict[str, LoadedEntry] = {
            info.name: LoadedEntry(self._session, self.manifest, info)
            for info in self.manifest.entries
        }

    @property
    def manifest(self) -> Manifest:
        return self._model.library.manifest

    @property
    def path(self) -> Path:
        return self._model.library.path

    def entry(self, name: str | None = None) -> LoadedEntry:
        """The entry called `name`, by default the first. Raises CompileError PTC-R015."""
        if name is None:
            return next(iter(self.entries.values()))
        if name not in self.entries:
            raise CompileError(
                "PTC-R015",
                f"{self.path.name} has no entry `{name}`",
                hint=f"its entries: {', '.join(self.entries)}",
            )
        return self.entries[name]

    def fork_session(self) -> LoadedArtifact:
        return LoadedArtifact(self._model)

    def peak_memory(self) -> int:
        """Bytes of working memory (weights not counted) used at most so far."""
        return self._session.peak_memory()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.entry()(*args, **kwargs)

    def __getattr__(self, name: str) -> LoadedEntry:
        entries = self.__dict__.get("entries", {})
        if name in entries:
            return entries[name]
        raise AttributeError(f"no entry or attribute `{name}`; the entries are {list(entries)}")

    def __repr__(self) -> str:
        return f"<ptc artifact {self.path.name}: {'; '.join(map(str, self.entries.values()))}>"


class LoadedEntry:
    """One function of a library, called with the original call's arguments."""

    def __init__(self, session: Session, manifest: Manifest, info: EntryInfo) -> None:
        self.info = info
        self._session = session
        self._number = session.api.entry_index(info.name.encode())
        if self._number < 0:
            raise CompileError(
                "PTC-R006", f"the manifest names the entry `{info.name}`, the library has none"
            )
        self._names = {size.symbol: size.name for size in info.sizes}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._flat_arguments(args, kwargs)
        as_torch = any(is_torch_tensor(value) for value in values)
        outputs = self.run(values, as_torch=as_torch)
        if self.info.result is None:
            return tuple(outputs)
        return structures.build(self.info.result, outputs)

    def __str__(self) -> str:
        inputs = ", ".join(f"{t.name}: {self.text(t)}" for t in self.info.inputs)
        outputs = ", ".join(self.text(t) for t in self.info.outputs)
        return f"{self.info.name}({inputs}) -> {outputs}"

    def text(self, tensor: TensorInfo) -> str:
        """`f32[batch, 10]`."""
        return f"{tensor.dtype}{shape_text(tensor.shape, self._names)}"

    def run(self, values: Sequence[Any], *, as_torch: bool = False) -> list[Any]:
        """Run on flat inputs in the manifest's order; gives flat outputs in its order."""
        infos = self.info.inputs
        if len(values) != len(infos):
            raise CompileError(
                "PTC-R010",
                f"`{self.info.name}` takes {len(infos)} inputs, {len(values)} were given",
                hint=f"inputs: {', '.join(i.name for i in infos)}",
            )
        operands = [operand(v, info) for v, info in zip(values, infos, strict=True)]
        sizes = self._check_shapes(operands)
        results = [self._output_memory(info, sizes, as_torch) for info in self.info.outputs]
        targets = [
            result.descriptor() if result else describe(None, (), info.type)
            for result, info in zip(results, self.info.outputs, strict=True)
        ]
        with self._session.lock:
            self._session.run(self._number, [o.descriptor() for o in operands], targets)
            outputs: list[Any] = []
            for result, target, info in zip(results, targets, self.info.outputs, strict=True):
                if result is None:
                    outputs.append(copy_out(target, info.type, as_torch=as_torch))
                    self._session.release(target)
                else:
                    outputs.append(result.owner)
        for given in operands:
            given.write_back()
        return outputs

    def run_named(self, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Run on inputs given by the manifest's names, the rest by position; outputs by name."""
        names = [info.name for info in self.info.inputs]
        unknown = [name for name in named if name not in names]
        if unknown:
            raise CompileError(
                "PTC-R010",
                f"there is no input `{unknown[0]}`",
                hint=f"inputs: {', '.join(names)}" if names else "the model takes no inputs",
            )
        open_names = [name for name in names if name not in named]
        if len(positional) > len(open_names):
            raise CompileError(
                "PTC-R010",
                f"{len(named) + len(positional)} inputs were given, expected {len(names)}",
            )
        given = {**named, **dict(zip(open_names, positional, strict=False))}
        missing = [info for info in self.info.inputs if info.name not in given]
        if missing:
            raise CompileError(
                "PTC-R010",
                f"the input `{missing[0].name}` is missing",
                hint=f"it is {self.text(missing[0])}",
            )
        outputs = self.run([given[name] for name in names])
        return {info.name: value for info, value in zip(self.info.outputs, outputs, strict=True)}

    def _flat_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if self.info.arguments is None:
            if kwargs:
                raise CompileError("PTC-R010", f"`{self.info.name}` takes its inputs by position")
            return list(args)
        found: dict[int, Any] = {}
        names = [info.name for info in self.info.inputs]
        for part in bind(self.info.arguments, names, args, kwargs, self.info.name):
            structures.flatten(part.structure, part.value, part.name, found)
        return [found[i] for i in range(len(names))]

    def _check_shapes(self, operands: Sequence[Operand]) -> dict[str, int]:
        """Compare every dimension; gives the values of the size symbols."""
        for given, info in zip(operands, self.info.inputs, strict=True):
            if len(given.shape) != len(info.shape):
                raise self._wrong_shape(info, given)
        sizes: dict[str, int] = {}
        for size in self.info.sizes:
            given, info = operands[size.input], self.info.inputs[size.input]
            # A symbolic integer argument is a tensor without dimensions: its value is the size.
            value = given.shape[size.dim] if given.shape else int(_item(given.owner))
            if value < size.lower or (size.upper is not None and value > size.upper):
                upper = "" if size.upper is None else str(size.upper)
                raise CompileError(
                    "PTC-R012",
                    f"dimension {size.dim} (`{size.name}`) of the input `{info.name}` is {value}, "
                    f"expected {size.lower}..{upper}",
                )
            sizes[size.symbol] = value
        for given, info in zip(operands, self.info.inputs, strict=True):
            expected = [evaluate(dim, sizes) for dim in info.shape]
            if any(e is not None and e != s for e, s in zip(expected, given.shape, strict=True)):
                raise self._wrong_shape(info, given)
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

    def _output_memory(
        self, info: TensorInfo, sizes: Mapping[str, int], as_torch: bool
    ) -> Operand | None:
        """Memory for an output, or None if its size is known only after the run."""
        shape = [evaluate(dim, sizes) for dim in info.shape]
        known = tuple(size for size in shape if size is not None)
        if len(known) != len(shape):
            return None
        return new_array(known, info.type, as_torch=as_torch)


def _item(owner: Any) -> int:
    return owner.item()
