"""A toy dispatcher over `capture_frame`: guarded entries by code object, graphs run by torch."""

from __future__ import annotations

import types
from typing import Any

from ptc.capture.api import CapturedFrame, CaptureOptions, DynamicSpec, capture_frame
from ptc.graph.program import CapturedProgram


class TorchDispatcher:
    """Caches entries by code object and checks their guards, as ptc.dispatch does."""

    def __init__(self, dynamic: DynamicSpec | None = None) -> None:
        self.entries: dict[types.CodeType, list[CapturedFrame]] = {}
        self.options = CaptureOptions(dynamic=dynamic)
        self.graphs_run = 0

    def compile_graph(self, program: CapturedProgram) -> Any:
        program.graph.graph.lint()

        def run(*inputs: Any) -> Any:
            self.graphs_run += 1
            return program.graph(*inputs)

        return run

    def __call__(self, fn: types.FunctionType) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            frame = self.frame(fn, args, kwargs)
            if frame.code_fn is None:
                return fn(*args, **kwargs)
            return frame.code_fn(fn, *args, **kwargs)

        return run

    def frame(self, fn: types.FunctionType, args: Any, kwargs: Any) -> CapturedFrame:
        known = self.entries.setdefault(fn.__code__, [])
        for entry in known:
            if entry.guards.check(fn, *args, **kwargs):
                return entry
        entry = capture_frame(
            fn,
            args,
            kwargs,
            options=self.options,
            compile_graph=self.compile_graph,
            dispatch=self,
        )
        failed = entry.guards.explain_failure(fn, args, kwargs)
        assert failed is None, failed
        assert entry.guards.check(fn, *args, **kwargs)
        known.append(entry)
        return entry

    @property
    def breaks(self) -> list[Any]:
        return [b for entries in self.entries.values() for e in entries for b in e.breaks]

    @property
    def captures(self) -> int:
        return sum(len(entries) for entries in self.entries.values())
