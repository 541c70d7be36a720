"""From parsed `--input` specifications to values: arrays by default, tensors where the caller asks.

Random values depend on the seed and the input's path only, so that a run can be repeated and one
input's values do not change when another is added.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ptc.hosting.dtypes import Array, ElementType, element_type, from_float32
from ptc.hosting.input_spec import (
    FileSpec,
    InputSpec,
    MappingSpec,
    ScalarSpec,
    SequenceSpec,
    TensorSpec,
    ValueSpec,
)
from ptc.hosting.safetensors_file import read_safetensors
from ptc.support.diagnostics import CompileError

MakeTensor = Callable[[ElementType, Array], Any]
ReadFile = Callable[[Path], Any]

#: Integers without a range take the values 0 and 1: the only ones that are safe for a model which
#: uses them as indices into a table of unknown size.
DEFAULT_INTEGER_BOUND = 2


def _array(_: ElementType, array: Array) -> Array:
    return array


@dataclass(frozen=True, slots=True)
class ValueMaker:
    """Makes the values of inputs.

    make     turns a NumPy array of an element type into the caller's kind of tensor
    readers  further file types by suffix (`.pt`), beyond .npy, .npz and .safetensors
    seed     of all random values
    """

    make: MakeTensor = _array
    readers: Mapping[str, ReadFile] | None = None
    seed: int = 0

    def arguments(self, specs: tuple[InputSpec, ...]) -> tuple[list[Any], dict[str, Any]]:
        """(positional, by path) values. A nameless file of several named arrays gives names."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for number, spec in enumerate(specs):
            if spec.path is not None:
                _add(named, spec.path, self.value(spec.value, spec.path), spec)
            elif isinstance(spec.value, FileSpec) and spec.value.key is None:
                self._spread(self._read(spec.value), positional, named, spec)
            else:
                positional.append(self.value(spec.value, f"#{number}"))
        return positional, named

    def _spread(
        self, content: Any, positional: list[Any], named: dict[str, Any], spec: InputSpec
    ) -> None:
        """Add what a nameless file holds: names become named inputs, a sequence positional ones."""
        if isinstance(content, Mapping) and all(isinstance(key, str) for key in content):
            for key, item in content.items():
                # `numpy.savez(file, a, b)` calls its nameless arrays arr_0 and arr_1.
                if re.fullmatch(r"arr_\d+", key):
                    positional.append(item)
                else:
                    _add(named, key, item, spec)
        elif isinstance(content, (tuple, list)):
            positional.extend(content)
        else:
            positional.append(content)

    def value(self, spec: ValueSpec, path: str) -> Any:
        """The value of one specification. `path` seeds its random numbers."""
        match spec:
            case TensorSpec():
                return self._tensor(spec, path)
            case ScalarSpec():
                return spec.value
            case FileSpec():
                return self._file(spec)
            case SequenceSpec():
                items = [self.value(item, f"{path}[{i}]") for i, item in enumerate(spec.items)]
                return tuple(items) if spec.is_tuple else items
            case MappingSpec():
                return {key: self.value(item, f"{path}.{key}") for key, item in spec.items}

    def _tensor(self, spec: TensorSpec, path: str) -> Any:
        try:
            return self.make(spec.dtype, random_array(spec, self._generator(path)))
        except (ValueError, MemoryError, OverflowError, RuntimeError) as error:
            # More dimensions or bytes than NumPy, torch or this machine can hold.
            shape = ",".join(map(str, spec.shape[:8])) + (",..." if len(spec.shape) > 8 else "")
            reason = str(error).strip().partition("\n")[0]
            raise CompileError(
                "PTC-L020",
                f"cannot make a tensor {spec.dtype.name}[{shape}]: {reason}",
                hint="give smaller sizes",
            ) from None

    def _generator(self, path: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(path.encode())])

    def _file(self, spec: FileSpec) -> Any:
        content = self._read(spec)
        if spec.key is None:
            # An archive of one array stands for the array.
            is_archive = Path(spec.path).suffix in (".npz", ".safetensors")
            return next(iter(content.values())) if is_archive and len(content) == 1 else content
        if not isinstance(content, Mapping) or spec.key not in content:
            keys = ", ".join(map(str, content)) if isinstance(content, Mapping) else ""
            raise CompileError(
                "PTC-L021",
                f"{spec.path} holds no value called `{spec.key}`",
                hint=f"it holds: {keys}" if keys else "leave `#` out: the file holds one value",
            )
        return content[spec.key]

    def _read(self, spec: FileSpec) -> Any:
        path = Path(spec.path).expanduser()
        if not os.path.isfile(path):
            raise CompileError("PTC-L021", f"there is no file {path}", hint=_place_hint(path))
        readers = {**_numpy_readers(self.make), **(self.readers or {})}
        read = readers.get(path.suffix)
        if read is None:
            known = ", ".join(readers)
            raise CompileError(
                "PTC-L021",
                f"cannot read {path}: the file type `{path.suffix}` is not supported here",
                hint=f"supported: {known}",
            )
        return read(path)


def random_array(spec: TensorSpec, generator: np.random.Generator) -> Array:
    """An array as specified: floats are normal, or uniform in a range; integers are uniform."""
    kind, shape = spec.dtype, spec.shape
    if spec.fill is not None:
        if kind.is_float:
            return from_float32(np.full(shape, spec.fill, np.float64), kind)
        if kind.is_integer:
            _require_fit(kind, int(spec.fill), int(spec.fill))
        return np.full(shape, spec.fill).astype(kind.numpy)
    if kind.is_integer:
        upper = DEFAULT_INTEGER_BOUND if spec.upper is None else int(spec.upper)
        low = int(spec.lower or 0)
        high = max(upper, low + DEFAULT_INTEGER_BOUND) if spec.upper is None else upper
        return _integers(generator, low, high, shape, kind)
    if kind.name == "bool":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if not kind.is_float:
        real, imaginary = generator.standard_normal((2, *shape))
        return (real + 1j * imaginary).astype(kind.numpy)
    if spec.upper is None and spec.lower is None:
        values = generator.standard_normal(shape)
    else:
        low = float(spec.lower or 0)
        values = generator.uniform(low, low + 1 if spec.upper is None else spec.upper, shape)
    return from_float32(np.asarray(values), kind)


def _integers(
    generator: np.random.Generator, low: int, high: int, shape: tuple[int, ...], kind: ElementType
) -> Array:
    _require_fit(kind, low, high - 1)
    return generator.integers(low, high, shape, dtype=kind.numpy)


def _require_fit(kind: ElementType, lowest: int, highest: int) -> None:
    """Refuse values that would wrap around in the element type."""
    limits = np.iinfo(kind.numpy)
    if lowest < limits.min or highest > limits.max:
        values = str(lowest) if lowest == highest else f"the range {lowest} to {highest}"
        raise CompileError(
            "PTC-L020",
            f"{values} does not fit the element type {kind.name}",
            hint=f"{kind.name} holds {limits.min} to {limits.max}",
        )


def _place_hint(path: Path) -> str:
    """Why a file was not found, where that can be said."""
    if os.path.isdir(path):
        return f"{path} is a folder"
    return "" if os.path.isdir(path.parent) else f"there is no folder {path.parent} either"


def _numpy_readers(make: MakeTensor) -> dict[str, ReadFile]:
    def checked(path: Path, array: Array) -> Any:
        kind = element_type(array.dtype.name)
        if kind is None:
            raise CompileError(
                "PTC-L021", f"{path} holds elements of type {array.dtype}, which ptc does not know"
            )
        return make(kind, array)

    def numpy_file(path: Path) -> Any:
        try:
            # Pickled objects run code when loaded; a file of plain numbers never needs them.
            content = np.load(path, allow_pickle=False)
            if isinstance(content, np.ndarray):
                return checked(path, content)
            with content:
                return {key: checked(path, content[key]) for key in content.files}
        except (ValueError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise CompileError("PTC-L021", f"cannot read {path}: {error}") from None

    def safetensors_file(path: Path) -> Any:
        return {key: make(t.dtype, t.array) for key, t in read_safetensors(path).items()}

    return {".npy": numpy_file, ".npz": numpy_file, ".safetensors": safetensors_file}


def _add(named: dict[str, Any], path: str, value: Any, spec: InputSpec) -> None:
    if path in named:
        raise CompileError("PTC-L022", f"the input `{path}` is given twice, again in `{spec.text}`")
    named[path] = value
