"""Runs a plain Python function through capture with neither torch nor graph, and natively."""

from __future__ import annotations

import types
from typing import Any

from ptc.capture.builtins_table import all_tables
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.machine import Machine
from ptc.capture.segments import Segment, SegmentCapture

assert all_tables is not None


class BreakingMachine(Machine):
    """Breaks the graph before a chosen instruction of a chosen code object."""

    def __init__(self, code: types.CodeType | None, index: int) -> None:
        super().__init__(whole_program=False)
        self.where = (code, index)

    def entered(self, frame: Frame) -> None:
        code, index = self.where
        if frame.code is code:
            handlers = list(frame.handlers)
            handlers[index] = self.stop
            frame.handlers = tuple(handlers)

    @staticmethod
    def stop(vm: Any, frame: Any, ins: Any) -> None:
        raise GraphBreak("PTC-B006", "as the test asked")


class Dispatcher:
    """A toy dispatcher: captures each function once a call, checks its own guards, and runs it."""

    def __init__(self, code: types.CodeType | None = None, index: int = -1) -> None:
        self.segments: list[Segment] = []
        self.native: list[Segment] = []
        self.where = (code, index)

    def __call__(self, fn: types.FunctionType) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            segment = self.capture(fn, args, kwargs)
            if segment.run is None:
                self.native.append(segment)
                return fn(*args, **kwargs)
            return segment.run(fn, *args, **kwargs)

        return run

    def capture(self, fn: types.FunctionType, args: Any, kwargs: Any) -> Segment:
        vm = BreakingMachine(*self.where)
        segment = SegmentCapture(vm, fn, self, lambda outputs: None).capture(args, kwargs)
        self.segments.append(segment)
        assert segment.guards.check(fn, *args, **kwargs), segment.guards.explain_failure(
            fn, args, kwargs
        )
        return segment
