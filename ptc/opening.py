"""`ptc.load`: opens what `ptc compile` and `ptc export` made: libraries, hosted packages, files of
the portable IR. Loads torch only where it is needed: a library runs where torch is not installed.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ptc.hosted.package import is_package
from ptc.hosting import LoadedArtifact
from ptc.hosting import load as load_library
from ptc.hosting.portable import is_portable, portable_manifest
from ptc.support import settings
from ptc.support.diagnostics import CompileError

if TYPE_CHECKING:
    from ptc.exporters.ptir.loaded import InterpretedModel
    from ptc.hosted.model import HostedModel


def load(
    path: str | PathLike[str],
    *,
    threads: int | None = None,
    weights: str | PathLike[str] | None = None,
    verify: bool | None = None,
) -> LoadedArtifact | HostedModel | InterpretedModel:
    """Open the library that `ptc compile` or `ptc.build` made, a hosted package, or a `.ptir` file.

    threads  that kernels may use (default: PTC_THREADS, OMP_NUM_THREADS, else one per core)
    weights  a .safetensors file to use in place of the library's own weights
    verify   compare a library's weights with their hash (default: where they have at most 64 MiB)

    Loading a hosted package runs the Python code in it. A `.ptir` file runs on the executor, or,
    where that is missing or lacks an operator, on torch, with a warning. Raises CompileError
    PTC-R001 to PTC-R008 if a library cannot be used here, PTC-R040 and PTC-R041 for a package,
    PTC-E010 and PTC-R042 for a `.ptir` file.
    """
    found = Path(path)
    if not is_portable(found) and not is_package(found):
        return load_library(path, threads=threads, weights=weights, verify=verify)
    if weights is not None:
        raise CompileError("PTC-R041", f"{found.name} has weights of its own")
    if is_portable(found):
        return _load_portable(found, threads)
    try:
        from ptc.hosted.model import HostedModel  # noqa: PLC0415  # torch is optional
    except ModuleNotFoundError as error:
        raise CompileError(
            "PTC-R041",
            f"a hosted package needs {error.name}, which is not installed",
            hint="install torch, or compile a model that needs no Python to a library",
        ) from None
    return HostedModel(found)


# --- the portable IR ----------------------------------------------------------------------------


def _load_portable(path: Path, threads: int | None) -> LoadedArtifact | InterpretedModel:
    refusal = None
    if find_spec("ptc.executor") is not None:
        try:
            return _executed(path, threads)
        except CompileError as error:
            if error.code not in _REFUSED or find_spec("torch") is None:
                raise
            refusal = error.diagnostic
    elif find_spec("torch") is None:
        raise CompileError(
            "PTC-R041",
            f"{path.name} needs the executor or torch, and neither is installed",
            hint="install torch, or compile the file to a library: `ptc compile FILE.ptir`",
        )
    from ptc.exporters.ptir.loaded import load_interpreted  # noqa: PLC0415  # torch is optional

    model = load_interpreted(path)
    if refusal is not None:
        text = f"{refusal.code}: {refusal.message}; {path.name} runs on torch"
        warnings.warn(text, stacklevel=3)
    return model


#: There is no compiler that makes the executor; the executor does not know an operator or statement
#: of the file, which torch may know.
_REFUSED = ("PTC-C001", "PTC-R042")


def _executed(path: Path, threads: int | None) -> LoadedArtifact:
    executor = import_module("ptc.executor.session")  # it may not be installed
    manifest = portable_manifest(path)
    if threads is None:
        threads = settings.current().threads or 0
    return LoadedArtifact(executor.Model(path, threads=threads), path, manifest)
