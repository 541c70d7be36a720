"""Making a hosted package: the model runs once through `ptc.compile`; what that needs is packed.

Takes a loaded model and the request that it was loaded by. Raises what running the model raises.
"""

from __future__ import annotations

import platform
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ptc.artifact.weights import write_image
from ptc.capture.api import GraphBreakReport
from ptc.dispatch.proxy import compile as compile_model
from ptc.dispatch.proxy import compiler_of
from ptc.hosted.package import SUFFIX, write_package
from ptc.hosted.sources import source_files
from ptc.loader import LoadedModel, LoadRequest
from ptc.loader.arguments import named_tensors
from ptc.loader.target import parse_target
from ptc.loader.torch_values import short_name
from ptc.support import settings
from ptc.support.diagnostics import CompileError
from ptc.support.landing import is_folder
from ptc.support.version import VERSION

#: Where things lie in the package.
SOURCE, WEIGHTS, OBJECTS = "source", "weights.safetensors", "cache/objects"


@dataclass(frozen=True, slots=True)
class HostedReport:
    """What was packed. `needs` says why Python stays: the graph breaks that the example met."""

    package: Path
    size: int
    sources: tuple[str, ...]
    graphs: int
    needs: tuple[str, ...]


def build_hosted(
    request: LoadRequest,
    model: LoadedModel,
    *,
    output: str | Path | None,
    name: str,
    include: Sequence[Path] = (),
) -> HostedReport:
    """Write the package. `include`: further files, below the folder of the model's file."""
    if model.source is None:
        raise CompileError("PTC-L002", "the model has no file whose source could be packed")
    root, sources = source_files(model.source)
    files = {f"{SOURCE}/{_below(file, root)}": file for file in (*sources, *include)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        weights = _write_weights(model, folder / WEIGHTS)
        if weights:
            files[WEIGHTS] = folder / WEIGHTS
        graphs, needs = _run_example(model, folder, sources)
        for path in sorted((folder / OBJECTS).glob("??/*")):
            files[f"{OBJECTS}/{path.parent.name}/{path.name}"] = path
        manifest = {
            "ptc": VERSION, "torch": torch.__version__, "python": platform.python_version(),
            "note": "loading this package runs the Python code in it",
            "name": name,
            "file": f"{SOURCE}/{_below(model.source, root)}",
            "request": _request(request, model),
            "entries": [_described(entry) for entry in model.entries],
            "needs_python": list(needs),
        }  # fmt: skip
        path = _package_path(output, name)
        size = write_package(path, manifest, files)
    shown = tuple(key.removeprefix(f"{SOURCE}/") for key in files if key.startswith(f"{SOURCE}/"))
    return HostedReport(path, size, shown, graphs, needs)


def _below(file: Path, root: Path) -> str:
    try:
        return file.resolve().relative_to(root).as_posix()
    except ValueError:
        raise CompileError(
            "PTC-U008",
            f"{file} is not in the folder {root}, whose files are packed",
            hint="move it there; `--include` keeps its place relative to the model's file",
        ) from None


def _package_path(output: str | Path | None, name: str) -> Path:
    if output is None:
        return Path(f"{name}{SUFFIX}")
    path = Path(output)
    is_file = path.name.endswith(".zip") and not is_folder(output)
    return path if is_file else path / f"{name}{SUFFIX}"


def _write_weights(model: LoadedModel, path: Path) -> bool:
    """The model's state by name; False if it has none."""
    if model.module is None:
        return False
    state = {
        name: value.detach().contiguous()
        for name, value in model.module.state_dict().items()
        if isinstance(value, torch.Tensor)
    }
    if not state:
        return False
    write_image(path, [(name, short_name(value.dtype)) for name, value in state.items()], state)
    return True


def _run_example(
    model: LoadedModel, folder: Path, sources: Sequence[Path]
) -> tuple[int, tuple[str, ...]]:
    """Run every entry once with an object cache of its own; gives the number of graphs and the
    breaks between them."""
    needs: dict[str, None] = {}
    graphs = 0
    with settings.overridden(cache_dir=folder / "cache"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in model.entries:
            compiled = compile_model(entry.function, control_flow=True)
            with torch.no_grad():
                compiled(*entry.args, **entry.kwargs)
            for frame in compiler_of(compiled).frames():
                graphs += frame.program is not None
                needs.update(dict.fromkeys(_reason(found, sources) for found in frame.breaks))
    return graphs, tuple(reason for reason in needs if reason)


def _reason(found: GraphBreakReport, sources: Sequence[Path]) -> str:
    """Why a graph ends, with the line in the model's own files; empty for a break inside a library
    that one of those lines called."""
    own = {str(file) for file in sources}
    lines = [place for place in (*found.stack, found.location) if place and place.file in own]
    return f"{lines[-1]}: {found.reason} ({found.code})" if lines else ""


def _request(request: LoadRequest, model: LoadedModel) -> dict[str, Any]:
    """What loads the model again from its file; inputs from files of this machine are described
    by their types."""
    inputs = list(request.inputs)
    if any("@" in text for text in inputs):
        inputs = [
            f"{name}={kind}[{','.join(map(str, shape))}]"
            for entry in model.entries
            for name, kind, shape in _described(entry)["inputs"]
        ]
    return {
        "attribute": parse_target(request.target).name,
        "init": None if request.init is None else dict(request.init),
        "inputs": inputs,
        "dtype": request.dtype,
        "entries": list(request.entries),
        "seed": request.seed,
    }


def _described(entry: Any) -> dict[str, Any]:
    tensors = named_tensors(entry.function, (entry.args, entry.kwargs))
    return {
        "name": entry.name,
        "inputs": [[n, short_name(t.dtype), list(t.shape)] for n, t in tensors.items()],
    }


def load_request(manifest: Any, folder: Path) -> LoadRequest:
    """The request that loads an unpacked package. Raises CompileError PTC-R040 for one that is
    not of this form."""
    try:
        wish = manifest["request"]
        attribute = wish["attribute"]
        target = str(folder / str(manifest["file"])) + (f":{attribute}" if attribute else "")
        request = LoadRequest(
            target=target,
            init=wish["init"],
            inputs=tuple(map(str, wish["inputs"])),
            dtype=wish["dtype"],
            entries=tuple(map(str, wish["entries"])),
            seed=int(wish["seed"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CompileError(
            "PTC-R040", f"the manifest of the hosted package is not complete: {error!r}"
        ) from None
    weights = folder / WEIGHTS
    return replace(request, weights=weights) if weights.is_file() else request
