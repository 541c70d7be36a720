"""What the environment says: the only module that reads `os.environ`.

Goes in: environment variables that start with `PTC_`, and the few of other programs that ptc
follows (`CXX`, `XDG_CACHE_HOME`, `OMP_NUM_THREADS`). Comes out: one frozen `Settings`. Must not
know what the values are used for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ptc.support.diagnostics import CompileError


@dataclass(frozen=True, slots=True)
class Settings:
    """One consistent reading of the environment.

    cache_dir    where object files and libraries are kept between runs
    compiler     C++ compiler command, None to search (`g++`, `clang++`, then ziglang)
    threads      threads that kernels may use, None for one per core that this process may run on
    debug        show ptc's own tracebacks, and verify the program after every pass
    jobs         compiler processes that may run at once
    """

    cache_dir: Path
    compiler: str | None = None
    threads: int | None = None
    debug: bool = False
    jobs: int = 1


VARIABLES: Mapping[str, str] = {
    "PTC_CACHE_DIR": "folder of the object cache (default: $XDG_CACHE_HOME/ptc or ~/.cache/ptc)",
    "PTC_CXX": "C++ compiler, before CXX (default: search g++, clang++, ziglang)",
    "PTC_THREADS": "threads for kernels, before OMP_NUM_THREADS (default: one per core)",
    "PTC_JOBS": "compiler processes run at once (default: one per core)",
    "PTC_DEBUG": "1 shows ptc's own tracebacks and verifies the program after every pass",
}


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from `environ` (default: this process's). A malformed value is a CompileError."""
    env = os.environ if environ is None else environ
    return Settings(
        cache_dir=_cache_dir(env),
        compiler=env.get("PTC_CXX") or env.get("CXX") or None,
        threads=_count(env, "PTC_THREADS") or _openmp_threads(env),
        debug=_flag(env, "PTC_DEBUG"),
        jobs=_count(env, "PTC_JOBS") or available_cores(),
    )


def available_cores() -> int:
    """Cores that this process may run on; a container may get fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def process_environment(**changes: str) -> dict[str, str]:
    """A copy of the environment with `changes` applied, for a child process."""
    return {**os.environ, **changes}


_override: ContextVar[Settings | None] = ContextVar("ptc_settings", default=None)


def current() -> Settings:
    """The settings in force: those of the innermost `overridden`, else the environment's."""
    return _override.get() or read_settings()


@contextmanager
def overridden(**changes: Any) -> Iterator[Settings]:
    """Put `changes` in force for a `with` block, in this context (thread or task) only."""
    settings = replace(current(), **changes)
    token = _override.set(settings)
    try:
        yield settings
    finally:
        _override.reset(token)


def _cache_dir(env: Mapping[str, str]) -> Path:
    if own := env.get("PTC_CACHE_DIR"):
        return Path(own).expanduser()
    base = env.get("XDG_CACHE_HOME")
    # expanduser fails where neither HOME nor a passwd entry exists, as in bare containers.
    try:
        root = Path(base) if base else Path("~/.cache").expanduser()
    except RuntimeError:
        root = Path("/tmp")
    return root / "ptc"


def _openmp_threads(env: Mapping[str, str]) -> int | None:
    """OMP_NUM_THREADS may be a list, one number a nesting level; only one number is followed."""
    value = env.get("OMP_NUM_THREADS", "").strip()
    return int(value) if value.isdecimal() and int(value) > 0 else None


def _count(env: Mapping[str, str], name: str) -> int | None:
    value = env.get(name, "").strip()
    if not value:
        return None
    if not value.isdecimal() or int(value) == 0:
        raise CompileError(
            "PTC-V001",
            f"the environment variable {name} is `{value}`, expected a positive number",
            hint=f"unset {name}, or set it to a number such as 2",
        )
    return int(value)


def _flag(env: Mapping[str, str], name: str) -> bool:
    value = env.get(name, "").strip().lower()
    if value in {"", "0", "false", "no", "off"}:
        return False
    if value in {"1", "true", "yes", "on"}:
        return True
    raise CompileError(
        "PTC-V001",
        f"the environment variable {name} is `{value}`, expected 0 or 1",
        hint=f"unset {name}, or set it to 1",
    )
