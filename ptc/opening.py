"""`ptc.load`: opens what `ptc compile` made, a library or a hosted package. Loads torch for a
package only: a library runs where torch is not installed."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ptc.hosted.package import is_package
from ptc.hosting import LoadedArtifact
from ptc.hosting import load as load_library
from ptc.support.diagnostics import CompileError

if TYPE_CHECKING:
    from ptc.hosted.model import HostedModel


def load(
    path: str | PathLike[str],
    *,
    threads: int | None = None,
    weights: str | PathLike[str] | None = None,
    verify: bool | None = None,
) -> LoadedArtifact | HostedModel:
    """Open the library that `ptc compile` or `ptc.build` made, or a hosted package.

    threads  that a library's kernels may use (default: PTC_THREADS, OMP_NUM_THREADS, else one per
             core)
    weights  a .safetensors file to use in place of the library's own weights
    verify   compare a library's weights with their hash (default: where they have at most 64 MiB)

    Loading a hosted package runs the Python code in it. Raises CompileError PTC-R001 to PTC-R008 if
    a library cannot be used here, PTC-R040 and PTC-R041 for a package.
    """
    if not is_package(Path(path)):
        return load_library(path, threads=threads, weights=weights, verify=verify)
    if weights is not None:
        raise CompileError("PTC-R041", "a hosted package has weights of its own")
    try:
        from ptc.hosted.model import HostedModel  # noqa: PLC0415  # torch is optional
    except ModuleNotFoundError as error:
        raise CompileError(
            "PTC-R041",
            f"a hosted package needs {error.name}, which is not installed",
            hint="install torch, or compile a model that needs no Python to a library",
        ) from None
    return HostedModel(Path(path))
