"""What one `ptc.compile(...)` asked for, and what happened to it so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ptc.backends.registry import Backend, BackendOptions
from ptc.support.diagnostics import Diagnostic

#: Captures of one code object before further signatures run in plain Python.
DEFAULT_ENTRY_LIMIT = 16


@dataclass(frozen=True, slots=True)
class CompileConfig:
    """The arguments of `ptc.compile`, checked.

    `dynamic`: True makes every size but 0 and 1 symbolic, False none, None those seen to change.
    `control_flow`: a call whose control flow data decides is one program.
    """

    backend: Backend
    backend_name: str
    backend_options: BackendOptions
    fullgraph: bool = False
    dynamic: bool | None = None
    entry_limit: int = DEFAULT_ENTRY_LIMIT
    control_flow: bool = False


@dataclass(slots=True)
class Statistics:
    """Counts since process start or `ptc.reset()`.

    graphs       graphs compiled            kernels      kernels in them
    breaks       graph breaks found         recompiles   captures beyond a code object's first
    fallbacks    graphs that run in eager because they could not be lowered
    """

    graphs: int = 0
    kernels: int = 0
    breaks: int = 0
    recompiles: int = 0
    fallbacks: int = 0
    operators: Counter[str] = field(default_factory=Counter[str])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])


STATISTICS = Statistics()


def reset_statistics() -> None:
    """Set every counter back to zero."""
    fresh = Statistics()
    for name in Statistics.__slots__:
        setattr(STATISTICS, name, getattr(fresh, name))
