"""ptc: captures an unmodified PyTorch model and compiles it to a small native library.

The public names. Importing this package loads neither torch nor a compiler stage: each name loads
its module when it is first used, so that `ptc.load` works where torch is not installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ptc.support.diagnostics import CompileError, Diagnostic, InternalError
from ptc.support.version import VERSION as __version__

if TYPE_CHECKING:
    from ptc.api import Artifact, build, export
    from ptc.dispatch.entries import reset
    from ptc.dispatch.proxy import compile
    from ptc.hosting import LoadedArtifact
    from ptc.hosting.effects import NotSupported, UsersException
    from ptc.opening import load
    from ptc.report.inspect import inspect

__all__ = [
    "Artifact",
    "CompileError",
    "Diagnostic",
    "InternalError",
    "LoadedArtifact",
    "NotSupported",
    "UsersException",
    "__version__",
    "build",
    "compile",
    "export",
    "inspect",
    "load",
    "reset",
]

#: Public name -> the module that defines it.
_PUBLIC = {
    "Artifact": "ptc.api",
    "LoadedArtifact": "ptc.hosting",
    "NotSupported": "ptc.hosting.effects",
    "UsersException": "ptc.hosting.effects",
    "build": "ptc.api",
    "compile": "ptc.dispatch.proxy",
    "export": "ptc.api",
    "inspect": "ptc.report.inspect",
    "load": "ptc.opening",
    "reset": "ptc.dispatch.entries",
}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'ptc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
