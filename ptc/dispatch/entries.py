"""Entry caches: for each code object the captured programs, chosen by their guards.

Owns the way from a call to compiled code: look through the entries, on a miss capture anew, within
a budget. Knows nothing of graphs; backends are called through the configuration.
"""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ptc.capture.api import (
    CONTROL_FLOW_CODES,
    CapturedFrame,
    CaptureOptions,
    DynamicSpec,
    capture_call_frame,
    capture_frame,
)
from ptc.capture.binding import bind_call
from ptc.capture.code import forget_all, origin
from ptc.capture.errors import GraphBreak
from ptc.dispatch.config import STATISTICS, CompileConfig, reset_statistics
from ptc.dispatch.control import compile_interpreted, compile_native
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


class TailCall:
    """What a captured part returns at a graph break: the resume function that goes on, for the loop
    in `CodeCache.call` to run. So breaks in a loop do not nest."""

    __slots__ = ("args", "fn")

    def __init__(self, fn: types.FunctionType, *args: Any) -> None:
        self.fn = fn
        self.args = args


def _record(fn: types.FunctionType) -> Callable[..., TailCall]:
    """Given to capture for resume functions. The same for all compilers: the code of steps is
    cached with it and must keep no compiler alive."""
    return functools.partial(TailCall, fn)


#: Every living one, for `reset`.
_COMPILERS: weakref.WeakSet[Compiler] = weakref.WeakSet()


class Compiler:
    """One `ptc.compile`: its configuration and the caches of all code it reaches."""

    def __init__(self, config: CompileConfig, observer: Observer | None = None) -> None:
        self.config = config
        self.observer = observer
        self._caches: dict[types.CodeType, CodeCache] = {}
        self._lock = threading.RLock()
        _COMPILERS.add(self)

    def dispatch(self, fn: types.FunctionType) -> Callable[..., Any]:
        """The compiled counterpart of `fn`: a callable with its signature."""
        return functools.partial(self.cache_of(fn.__code__).call, fn)

    def cache_of(self, code: types.CodeType) -> CodeCache:
        """The entries for functions with this code."""
        cache = self._caches.get(code)
        if cache is None:
            with self._lock:
                cache = self._caches.setdefault(code, CodeCache(self, code))
        return cache

    def dispatch_any(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`dispatch` of a function or bound method; other callables are returned as they are."""
        owner = getattr(function, "__self__", None)
        plain = getattr(function, "__func__", function)
        if not isinstance(plain, types.FunctionType):
            return function
        run = self.dispatch(plain)
        return run if owner is None else functools.partial(run, owner)

    def run_on(self, call: TailCall) -> Any:
        """Run resume functions until one returns a value."""
        result: Any = call
        while type(result) is TailCall:
            fn, args = result.fn, result.args
            result = self.cache_of(fn.__code__).find(fn, args, {})(fn, *args)
        return result

    def frames(self) -> list[CapturedFrame]:
        """What was captured so far."""
        return [entry.frame for cache in self._caches.values() for entry in cache.entries]

    def refresh(self) -> None:
        """Forget every entry, so that the next call captures and packs anew."""
        with self._lock:
            for cache in self._caches.values():  # proxies hold on to their caches
                cache.entries = ()
            self._caches = {
                code: cache for code, cache in self._caches.items() if origin(code) is None
            }

    def compile_graph(self, program: CapturedProgram) -> Any:
        """A captured graph to a callable, by the configured backend."""
        return self.config.backend(program, self.config.backend_options)


def reset() -> None:
    """Forget every compiled graph and all statistics of the process, as if nothing had been called.

    Compiled modules and functions stay usable: their next call captures anew.
    """
    for compiler in list(_COMPILERS):
        compiler.refresh()
    forget_all()
    reset_statistics()


class _LateGraphs:
    """Graphs that are compiled only if the capture that they belong to is used."""

    def __init__(self, compile_graph: Callable[[CapturedProgram], Any]) -> None:
        self._compile_graph = compile_graph
        self._graphs: list[_LateGraph] = []

    def add(self, program: CapturedProgram) -> Callable[..., Any]:
        graph = _LateGraph(program)
        self._graphs.append(graph)
        return graph

    def compile(self) -> None:
        for graph in self._graphs:
            graph.run = self._compile_graph(graph.program)


class _LateGraph:
    __slots__ = ("program", "run")

    def __init__(self, program: CapturedProgram) -> None:
        self.program = program
        self.run: Any = None

    def __call__(self, *inputs: Any) -> Any:
        return self.run(*inputs)


class CodeCache:
    """The entries of one code object, most recently used first."""

    def __init__(self, compiler: Compiler, code: types.CodeType) -> None:
        self.compiler = compiler
        self.code = code
        self.entries: tuple[CacheEntry, ...] = ()
        self._lock = threading.RLock()

    def call(self, fn: types.FunctionType, /, *args: Any, **kwargs: Any) -> Any:
        """Call `fn` through the first entry whose guards hold, and what it hands over to."""
        result = self.find(fn, args, kwargs)(fn, *args, **kwargs)
        if type(result) is TailCall:
            return self.compiler.run_on(result)
        return result

    def find(
        self, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[..., Any]:
        """What runs a call of `fn`: an entry's code, captured now if there is none."""
        try:
            for position, entry in enumerate(self.entries):
                if entry.check(fn, *args, **kwargs):
                    if position:
                        self._prefer(entry)
                    return entry.run
        except TypeError:
            return _run_natively  # the arguments do not bind: the function's own error says so
        return self._miss(fn, args, kwargs)

    def _prefer(self, entry: CacheEntry) -> None:
        with self._lock:
            if entry in self.entries:
                rest = tuple(e for e in self.entries if e is not entry)
                self.entries = (entry, *rest)

    def _miss(
        self, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[..., Any]:
        """Capture for this call and return what runs it."""
        if not self.entries and not _binds(fn, args, kwargs):
            return _run_natively
        with self._lock:
            # Another thread may have captured the same while this one waited.
            for entry in self.entries:
                if entry.check(fn, *args, **kwargs):
                    return entry.run
            config = self.compiler.config
            if len(self.entries) >= config.entry_limit:
                self._notify_limit(fn, args, kwargs)
                return _run_natively
            frame = self._captured(fn, args, kwargs)
            self._account(fn, frame)
            check = frame.guards.check if frame.accepts is None else frame.fits
            entry = CacheEntry(check, frame.code_fn or _run_natively, frame)
            self.entries = (entry, *self.entries)
            return entry.run

    def _captured(
        self, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> CapturedFrame:
        """The call up to its first graph break; or all of it, where the break is one that control
        flow in the program avoids."""
        compiler, options = self.compiler, self._options(fn, args, kwargs)
        late = _LateGraphs(compiler.compile_graph)
        with_regions = compiler.config.control_flow
        frame = capture_frame(
            fn, args, kwargs,
            options=options,
            compile_graph=late.add if with_regions else compiler.compile_graph,
            dispatch=compiler.dispatch,
            tail=_record,
        )  # fmt: skip
        if with_regions and frame.breaks and frame.breaks[0].code in CONTROL_FLOW_CODES:
            whole = self._with_control_flow(fn, args, kwargs, options)
            if whole is not None:
                return whole
        late.compile()
        return frame

    def _with_control_flow(
        self,
        fn: types.FunctionType,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: CaptureOptions,
    ) -> CapturedFrame | None:
        """The call as one program. None, and the user is told, where that cannot be."""
        config = self.compiler.config
        compile_call = compile_interpreted
        if config.backend_name == "native":
            fallback = config.backend_options.options.get("fallback", True) is not False
            compile_call = functools.partial(compile_native, fallback=fallback)
        specs: list[DynamicSpec | None] = [None]
        if options.dynamic is not None and (options.dynamic.dims or options.dynamic.all):
            specs.insert(0, replace(options.dynamic, numbers=frozenset()))
        if options.dynamic is not None and options.dynamic.numbers:
            specs.insert(0, options.dynamic)
        attempts = [CaptureOptions(spec, options.name) for spec in specs]
        refused: Diagnostic | None = None
        for attempt in attempts:
            try:
                return capture_call_frame(
                    fn, args, kwargs, options=attempt, compile_call=compile_call
                )
            except CompileError as error:
                refused = error.diagnostic
            except GraphBreak as stopped:
                refused = Diagnostic(stopped.code, stopped.reason, stopped.location, stopped.hint)
        assert refused is not None
        notify(
            Diagnostic(
                "PTC-D024",
                f"`{self.code.co_qualname}` is compiled around its control flow: {refused.message}",
                refused.location or Location(self.code.co_filename, self.code.co_firstlineno),
                hint=refused.hint,
                notes=(f"because of {refused.code}",),
                severity="warning",
            )
        )
        return None

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


def _binds(fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        bind_call(fn, args, kwargs)
    except TypeError:
        return False
    return True


def _run_natively(fn: types.FunctionType, /, *args: Any, **kwargs: Any) -> Any:
    return fn(*args, **kwargs)
