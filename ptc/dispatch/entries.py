"""Entry caches: for each code object the captured programs, chosen by their guards.

Owns the way from a call to compiled code: look through the entries, on a miss capture anew, within
a budget. Knows nothing of graphs; backends are called through the configuration.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ptc.capture.api import CapturedFrame, CaptureOptions, DynamicSpec, capture_frame
from ptc.dispatch.config import STATISTICS, CompileConfig
from ptc.dispatch.notices import notify
from ptc.dispatch.promotion import promoted
from ptc.graph.program import CapturedProgram
from ptc.support.diagnostics import CompileError, Diagnostic, Location

#: Called with every captured frame: inspection listens here.
Observer = Callable[[types.FunctionType, CapturedFrame], None]


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """What one capture gave: `check(fn, *args, **kwargs)` decides whether `run` may be used."""

    check: Callable[..., bool]
    run: Callable[..., Any]
    frame: CapturedFrame


class Compiler:
    """One `ptc.compile`: its configuration and the caches of all code it reaches."""

    def __init__(self, config: CompileConfig, observer: Observer | None = None) -> None:
        self.config = config
        self.observer = observer
        self._caches: dict[types.CodeType, CodeCache] = {}
        self._lock = threading.RLock()

    def dispatch(self, fn: types.FunctionType) -> Callable[..., Any]:
        """The compiled counterpart of `fn`: a callable with its signature."""
        code = fn.__code__
        cache = self._caches.get(code)
        if cache is None:
            with self._lock:
                cache = self._caches.setdefault(code, CodeCache(self, code))
        return functools.partial(cache.call, fn)

    def dispatch_any(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`dispatch` of a function or bound method; other callables are returned as they are."""
        owner = getattr(function, "__self__", None)
        plain = getattr(function, "__func__", function)
        if not isinstance(plain, types.FunctionType):
            return function
        run = self.dispatch(plain)
        return run if owner is None else functools.partial(run, owner)

    def refresh(self) -> None:
        """Forget every entry, so that the next call captures and packs anew."""
        with self._lock:
            self._caches.clear()

    def compile_graph(self, program: CapturedProgram) -> Any:
        """A captured graph to a callable, by the configured backend."""
        return self.config.backend(program, self.config.backend_options)


class CodeCache:
    """The entries of one code object, most recently used first."""

    def __init__(self, compiler: Compiler, code: types.CodeType) -> None:
        self.compiler = compiler
        self.code = code
        self.entries: tuple[CacheEntry, ...] = ()
        self._lock = threading.RLock()

    def call(self, fn: types.FunctionType, /, *args: Any, **kwargs: Any) -> Any:
        """Call `fn` through the first entry whose guards hold."""
        entries = self.entries
        for position, entry in enumerate(entries):
            if entry.check(fn, *args, **kwargs):
                if position:
                    self._prefer(entry)
                return entry.run(fn, *args, **kwargs)
        return self._miss(fn, args, kwargs)(fn, *args, **kwargs)

    def _prefer(self, entry: CacheEntry) -> None:
        with self._lock:
            if entry in self.entries:
                rest = tuple(e for e in self.entries if e is not entry)
                self.entries = (entry, *rest)

    def _miss(
        self, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[..., Any]:
        """Capture for this call and return what runs it."""
        with self._lock:
            # Another thread may have captured the same while this one waited.
            for entry in self.entries:
                if entry.check(fn, *args, **kwargs):
                    return entry.run
            config = self.compiler.config
            if len(self.entries) >= config.entry_limit:
                self._notify_limit(fn, args, kwargs)
                return _run_natively
            frame = capture_frame(
                fn, args, kwargs,
                options=self._options(fn, args, kwargs),
                compile_graph=self.compiler.compile_graph,
                dispatch=self.compiler.dispatch,
            )  # fmt: skip
            self._account(fn, frame)
            entry = CacheEntry(frame.guards.check, frame.code_fn or _run_natively, frame)
            self.entries = (entry, *self.entries)
            return entry.run

    def _options(
        self, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> CaptureOptions:
        dynamic = self.compiler.config.dynamic
        spec: DynamicSpec | None = None
        if dynamic is not False:
            frames = [entry.frame for entry in self.entries]
            spec = promoted(frames, fn, args, kwargs, all_sizes=bool(dynamic))
        return CaptureOptions(dynamic=spec, name=self.code.co_name)

    def _account(self, fn: types.FunctionType, frame: CapturedFrame) -> None:
        STATISTICS.recompiles += bool(self.entries)
        STATISTICS.breaks += len(frame.breaks)
        if self.compiler.observer is not None:
            self.compiler.observer(fn, frame)
        if frame.breaks and self.compiler.config.fullgraph:
            found = frame.breaks[0]
            raise CompileError(
                found.code,
                found.reason,
                location=found.location,
                hint=found.hint,
                notes=("graph break, and fullgraph=True allows none",),
            )

    def _notify_limit(
        self, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        reasons = [entry.frame.guards.explain_failure(fn, args, kwargs) for entry in self.entries]
        first = next((reason for reason in reasons if reason), "")
        notify(
            Diagnostic(
                "PTC-D022",
                f"`{self.code.co_qualname}` was captured {len(self.entries)} times; further kinds "
                "of calls run in plain Python",
                Location(self.code.co_filename, self.code.co_firstlineno),
                hint="make the value that changes a tensor, or pass dynamic=True",
                notes=(f"the last capture needs: {first}",) if first else (),
                severity="warning",
            )
        )


def _run_natively(fn: types.FunctionType, /, *args: Any, **kwargs: Any) -> Any:
    return fn(*args, **kwargs)
