"""Which lines and which branches of a model's own code a case's inputs drive.

Own code is the model's function or class, in the file that defines it, with all that it refers to
there. Every line must run, and every condition must once be true and once be false: that of an
`if`, of a `while`, of a conditional expression, and each part of `and`, `or` and chained
comparisons. What the inputs cannot decide (matching exception classes, leaving `with`) is left out.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from tests.zoo import harness
from tests.zoo.case import Case

Place = tuple[int, int, int, int]  # line, column, end line, end column


@dataclass(slots=True)
class _Seen:
    lines: set[int] = field(default_factory=set)
    outcomes: set[tuple[Place, bool]] = field(default_factory=set)


def missed(case: Case) -> list[str]:
    """What the inputs do not drive, in words; empty if they drive everything."""
    model = case.make()
    own = _own_code(model)
    seen = _trace(case, {code: _conditions(code) for code in own})
    lines = set().union(*(_lines(code) for code in own))
    words = [f"line {line} never runs" for line in sorted(lines - seen.lines)]
    places = {place for code in own for place, _ in _conditions(code).values()}
    for place in sorted(places):
        for outcome in (True, False):
            if (place, outcome) not in seen.outcomes:
                words.append(f"the condition at {place[0]}:{place[1]} is never {outcome}")
    return words


def _trace(case: Case, conditions: dict[types.CodeType, Any]) -> _Seen:
    seen = _Seen()
    last: dict[types.FrameType, int] = {}

    def local(frame: types.FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.lines.add(frame.f_lineno)
        elif event == "opcode":
            jump = conditions[frame.f_code].get(last.get(frame, -1))
            if jump is not None:
                place, (target, jumps_if) = jump
                seen.outcomes.add((place, jumps_if if frame.f_lasti == target else not jumps_if))
            last[frame] = frame.f_lasti
        elif event == "return":
            last.pop(frame, None)
        return local

    def start(frame: types.FrameType, *_: Any) -> Any:
        if frame.f_code not in conditions:
            return None
        frame.f_trace_opcodes = True
        return local

    before = sys.gettrace()
    # CPython 3.12 reports opcodes only where a frame had asked for them when tracing was turned on
    sys._getframe().f_trace_opcodes = True
    sys.settrace(start)
    try:
        harness.eager(case)
    finally:
        sys.settrace(before)
    return seen


def _conditions(code: types.CodeType) -> dict[int, tuple[Place, tuple[int, bool]]]:
    """Offset of each conditional jump -> its place, its target and the truth that jumps."""
    found: dict[int, tuple[Place, tuple[int, bool]]] = {}
    previous = ""
    for instruction in dis.get_instructions(code):
        name, where = instruction.opname, instruction.positions
        skipped = previous in ("CHECK_EXC_MATCH", "WITH_EXCEPT_START")
        previous = name if name not in ("NOP", "TO_BOOL") else previous
        truth = _truth(name)
        if truth is None or skipped or where is None or where.lineno is None:
            continue
        place = (where.lineno, where.col_offset, where.end_lineno, where.end_col_offset)
        found[instruction.offset] = (place, (instruction.argval, truth))  # type: ignore[assignment]
    return found


def _truth(name: str) -> bool | None:
    """What makes a jump of this name happen; None of a value counts as true of `is None`."""
    if "JUMP" not in name:
        return None
    if "IF_NOT_NONE" in name or "IF_FALSE" in name:
        return False
    return True if "IF_TRUE" in name or "IF_NONE" in name else None


def _lines(code: types.CodeType) -> set[int]:
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return lines - {code.co_firstlineno}


def _own_code(model: Any) -> set[types.CodeType]:
    """Code objects of the model and of what it refers to in the file that defines it."""
    kind = type(model) if isinstance(model, nn.Module) else model
    module = sys.modules[kind.__module__]
    found: set[types.CodeType] = set()
    pending: list[Any] = [kind]
    while pending:
        value = pending.pop()
        for code in _code_of(value):
            if code in found or code.co_filename != module.__file__:
                continue
            found.add(code)
            names = (*code.co_names, *code.co_freevars)
            pending += [getattr(module, name, None) for name in names]
            pending += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    if isinstance(model, nn.Module):
        pending = [type(child) for child in model.modules()]
        found.update(
            code
            for child in pending
            for code in _code_of(child)
            if code.co_filename == module.__file__
        )
    return found


def _code_of(value: Any) -> Iterator[types.CodeType]:
    """The code of a function, or of a class's methods but for those that run before calls."""
    if isinstance(value, types.CodeType):
        yield value
    elif isinstance(value, functools.partial):
        yield from _code_of(value.func)
    elif isinstance(value, types.FunctionType):
        yield value.__code__
    elif isinstance(value, type):
        for base in value.__mro__:
            for name, member in vars(base).items():
                inner = getattr(member, "__func__", getattr(member, "fget", member))
                generated = (
                    getattr(getattr(inner, "__code__", None), "co_filename", "") == "<string>"
                )
                if isinstance(inner, types.FunctionType) and name != "__init__" and not generated:
                    yield inner.__code__
