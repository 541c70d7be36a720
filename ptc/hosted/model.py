"""A hosted package as a callable: unpacked, its source imported, captured anew by `ptc.compile`.

Loading runs the package's Python code. What was compiled when the package was made is found in the
object cache that lies in it.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ptc.dispatch.proxy import compile as compile_model
from ptc.graph.structure import describe
from ptc.hosted.build import load_request
from ptc.hosted.package import read_package, remove, unpack
from ptc.hosting.entries import WithEntries
from ptc.hosting.manifest import EntryInfo, TensorInfo
from ptc.loader import EntryRequest
from ptc.loader import load as load_model
from ptc.loader.arguments import map_arguments, named_tensors
from ptc.loader.torch_values import short_name
from ptc.support import settings
from ptc.support.diagnostics import CompileError


class HostedModel(WithEntries["HostedEntry"]):
    """A model in a hosted package. Calling it runs its first entry; every entry is also a method.

    Takes torch tensors or NumPy arrays, gives tensors if any input was one, else arrays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        package = read_package(path)
        self.manifest = package.manifest
        folder = Path(tempfile.mkdtemp(prefix="ptc-hosted-"))
        self._remove = weakref.finalize(self, remove, folder)
        unpack(package, folder)
        loaded = load_model(load_request(package.manifest, folder))
        self.module = loaded.module
        self.raised: BaseException | None = None
        self._cache = folder / "cache"
        self.entries = {entry.name: HostedEntry(self, entry) for entry in loaded.entries}

    def seed(self, seed: int) -> None:
        """Have what the model draws from torch's own generator begin with this seed."""
        torch.manual_seed(seed)

    def peak_memory(self) -> int:
        """Working memory is not counted: torch allocates it."""
        return 0

    def run(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """One call, with the package's own objects."""
        self.raised = None
        try:
            with settings.overridden(cache_dir=self._cache), torch.no_grad():
                return function(*args, **kwargs)
        except CompileError:
            raise
        except Exception as error:
            self.raised = error
            raise


class HostedEntry:
    """One function of a package. `info.outputs` is known after the first run by name."""

    def __init__(self, model: HostedModel, entry: EntryRequest) -> None:
        self._model = model
        self._entry = entry
        self._compiled = compile_model(entry.function, control_flow=True)
        self._example = (entry.args, entry.kwargs)
        inputs = tuple(
            _info(name, tensor)
            for name, tensor in named_tensors(entry.function, self._example).items()
        )
        self.info = EntryInfo(entry.name, inputs, ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        as_torch = any(isinstance(value, torch.Tensor) for value in given)
        args = tuple(map(_tensor, args))
        named = {name: _tensor(value) for name, value in kwargs.items()}
        result = self._model.run(self._compiled, args, named)
        return result if as_torch else _arrays(result)

    def run_named(self, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Run on inputs given by name, the rest by position; outputs by name, as arrays."""
        names = [info.name for info in self.info.inputs]
        unknown = [name for name in named if name not in names]
        open_names = [name for name in names if name not in named]
        if unknown or len(positional) != len(open_names):
            what = f"there is no input `{unknown[0]}`" if unknown else (
                f"{len(named) + len(positional)} inputs were given, expected {len(names)}"
            )  # fmt: skip
            raise CompileError("PTC-R010", what, hint=f"inputs: {', '.join(names)}")
        given = {**named, **dict(zip(open_names, positional, strict=True))}
        args, kwargs = map_arguments(
            self._entry.function, self._example, lambda path, _: _tensor(given[path])
        )
        result = self._model.run(self._compiled, args, kwargs)
        outputs = dict(_leaves(result))
        infos = tuple(_info(name, value) for name, value in outputs.items())
        self.info = replace(self.info, outputs=infos)
        return {name: _arrays(value) for name, value in outputs.items()}


def _tensor(value: Any) -> Any:
    """An array as a tensor; everything else as it is."""
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "__array__"):
        return torch.as_tensor(value)
    return value


def _arrays(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_arrays, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_arrays, value))
    if type(value) is dict:
        return {key: _arrays(item) for key, item in value.items()}
    return value


def _leaves(result: Any) -> list[tuple[str, Any]]:
    """Tensors and numbers of a result with their places as names."""

    def is_leaf(value: Any) -> bool:
        return isinstance(value, (torch.Tensor, bool, int, float))

    _, leaves = describe(result, is_leaf)
    if len(leaves) == 1:
        return [("output", leaves[0])]
    return [(f"output{number}", leaf) for number, leaf in enumerate(leaves)]


def _info(name: str, value: Any) -> TensorInfo:
    if isinstance(value, torch.Tensor):
        return TensorInfo(name, short_name(value.dtype), tuple(value.shape))
    kind = "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f64"
    return TensorInfo(name, kind, (), kind="number")
