"""Capture of a whole program with control flow."""

from __future__ import annotations

import types
from typing import Any

from ptc.capture import alias_guards
from ptc.capture.control.finish import finish
from ptc.capture.control.forks import Dead
from ptc.capture.control.kept import Kept
from ptc.capture.control.machine import ControlMachine
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.interpreter.frame import Frame
from ptc.capture.program_structure import CallArguments
from ptc.capture.segments import enter
from ptc.capture.torch_wrapping import guard_ambient
from ptc.capture.values.base import Value
from ptc.graph.control import ControlProgram


def capture_control(
    function: types.FunctionType,
    bound: dict[str, Any],
    *,
    names: dict[str, str],
    count: int,
    keywords: dict[str, Any],
    is_method: bool,
    dynamic: Any,
    name: str,
) -> ControlProgram:
    """The program of one call. Raises GraphBreak for what needs Python."""
    kept = Kept()
    for _ in range(_MOST_CAPTURES):
        vm = ControlMachine(dynamic=dynamic, kept=kept)
        size = kept.size()
        try:
            guard_ambient(vm)
            vm.builder.argument_names = names
            frame = enter(vm, function, bound)
            call = CallArguments.of(vm, frame, count, keywords, is_method)
            call.declare(vm)
            try:
                result = _result(vm, frame)
            except GraphBreak:
                kept = vm.state.finished()
                if kept.size() == size:
                    raise
                continue
            kept = vm.state.finished()
            if kept.size() > size:
                continue
            alias_guards.add(vm)
            return finish(vm, frame, result, call, name)
        finally:
            vm.close()
    raise GraphBreak("PTC-B003", "the values that an attribute keeps from call to call have no end")


_MOST_CAPTURES = 12


def _result(vm: ControlMachine, frame: Frame) -> Value | None:
    """What the program returns; None if no path returns."""
    try:
        return vm.run(frame)
    except Raised as raised:
        vm.emit_raise(raised)
    except Dead:
        pass
    return None
