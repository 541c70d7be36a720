"""The commands' twins in Python: `ptc.build` and `ptc.export`.

They turn Python arguments into the requests that the loader makes from a command line, and call the
pipeline. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from ptc import exporting, pipeline
from ptc.artifact.reports import BuildReport
from ptc.exporters.api import ExportReport
from ptc.hosting import LoadedArtifact, load
from ptc.hosting.input_spec import parse_dynamic
from ptc.loader.dynamic import dynamic_spec
from ptc.loader.model import DynamicSpec, EntryRequest
from ptc.loader.names import identifier
from ptc.loader.variants import variant_of
from ptc.support.diagnostics import InternalError

#: `{"x": {0: "batch"}}` or, with a range, `{"x": {0: "batch[1..64]"}}`.
Dynamic = Mapping[str, Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A library on disk. `report` tells how it was made and how it compared with eager."""

    library: Path
    header: Path
    manifest: Path
    report: BuildReport

    def load(self) -> LoadedArtifact:
        """The library as a callable."""
        return load(self.library)


def build(
    model: nn.Module | Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    output: str | Path | None = None,
    dynamic: Dynamic | None = None,
    target: str = "native",
    name: str | None = None,
    check: bool = True,
) -> Artifact:
    """Compile `model` into a library that needs neither Python nor libtorch.

    args, kwargs  one example call
    output        the library, or a folder; default `libNAME.so` in the current folder
    dynamic       sizes that may change: input name -> dimension -> `"batch"` or `"batch[1..64]"`
    target        `native`, or a platform such as `x86_64-linux-gnu+avx2`
    check         compare with eager on three input sets before anything is written

    Raises CompileError: PTC-Bnnn where the model needs Python, PTC-A030 when the library differs.
    """
    request = _request(model, args, kwargs, dynamic, name)
    options = pipeline.BuildOptions(
        output=output,
        name=name or request.name,
        target=target,
        check=check,
    )
    report = pipeline.build_library([_named_forward(request, model)], options)
    if report is None:
        raise InternalError("build", "the pipeline stopped before the library was written")
    return Artifact(report.library, report.header, report.manifest, report)


def export(
    model: nn.Module | Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    format: str,
    output: str | Path,
    dynamic: Dynamic | None = None,
    check: bool = True,
    settings: Mapping[str, Any] | None = None,
) -> ExportReport:
    """Write `model` in an exchange format (`onnx`, `pt2`, `ptir`, `torchscript`): the file
    `output`, or `NAME.SUFFIX` in a folder. Other arguments as for `build`. `settings` has what only
    a format understands (onnx: `opset`, `input_names`, `output_names`, `external`).

    Every output is compared with eager before the file appears. Raises CompileError PTC-Ennn.
    """
    request = _request(model, args, kwargs, dynamic, None)
    return exporting.export_model(
        [request], format=format, output=output, check=check, settings=settings
    )


def _request(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    dynamic: Dynamic | None,
    name: str | None,
) -> EntryRequest:
    if isinstance(model, nn.Module) and model.training:
        model.eval()
    arguments = (tuple(args), dict(kwargs or {}))
    spec: DynamicSpec | None = None
    if dynamic:
        dims = [
            dim
            for path, named in dynamic.items()
            for number, text in named.items()
            for dim in parse_dynamic(f"{path}:{number}={text}")
        ]
        spec = dynamic_spec(model, arguments, dims)
    return EntryRequest(
        name=name or identifier(getattr(model, "__name__", None) or type(model).__name__),
        function=model,
        args=arguments[0],
        kwargs=arguments[1],
        dynamic=spec,
        variant=partial(variant_of, model, arguments, spec),
    )


def _named_forward(request: EntryRequest, model: Any) -> EntryRequest:
    """The entry of a module is called `forward`, as on the command line; a function keeps its
    name."""
    if not isinstance(model, nn.Module):
        return request
    return EntryRequest(
        "forward", request.function, request.args, request.kwargs, request.dynamic, request.variant
    )
