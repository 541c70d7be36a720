"""Runs a plain Python function through capture with neither torch nor graph, and natively."""

from __future__ import annotations

import types
from typing import Any

from ptc.capture.builtins_table import all_tables
from ptc.capture.interpreter.machine import Machine
from ptc.capture.segments import Segment, SegmentCapture

assert all_tables is not None


class Dispatcher:
    """A toy dispatcher: captures each function once a call, checks its own guards, and runs it."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.native: list[Segment] = []

    def __call__(self, fn: types.FunctionType) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            segment = self.capture(fn, args, kwargs)
            if segment.run is None:
                self.native.append(segment)
                return fn(*args, **kwargs)
            return segment.run(fn, *args, **kwargs)

        return run

    def capture(self, fn: types.FunctionType, args: Any, kwargs: Any) -> Segment:
        vm = Machine(whole_program=False)
        segment = SegmentCapture(vm, fn, self, lambda outputs: None).capture(args, kwargs)
        self.segments.append(segment)
        assert segment.guards.check(fn, *args, **kwargs), segment.guards.explain_failure(
            fn, args, kwargs
        )
        return segment
