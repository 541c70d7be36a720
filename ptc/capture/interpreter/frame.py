"""A symbolic frame: position, stack, locals and cells of one function being traced."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import replace
from types import CodeType
from typing import TYPE_CHECKING, Any

from ptc.capture.code import Instruction, SlotKind, decode
from ptc.capture.code.decode import Handler
from ptc.capture.code.per_code import per_code
from ptc.capture.interpreter.opcode_table import handler_for
from ptc.capture.values.base import NULL, Null, Value
from ptc.capture.values.births import now
from ptc.capture.values.callables import CellValue, FunctionValue
from ptc.support.diagnostics import Location

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine

StackItem = Value | Null
SavedFrame = tuple[int, list[StackItem], dict[str, Value], Any]


@per_code
def handlers_of(code: CodeType) -> tuple[Callable[..., Any], ...]:
    """The handler of each instruction of `code`."""
    return tuple(handler_for(ins.opname) for ins in decode(code).instructions)


@per_code
def instructions_of(code: CodeType) -> tuple[Instruction, ...]:
    """The instructions of `code` as a frame runs them: without the handlers of CPython 3.12 and
    later that let every exception out of the frame. One stands around a generator, to change a
    StopIteration that leaves it; who drives a generator does that here. One stands around an
    inlined comprehension, to give back a variable. To anybody else nothing there is in a `try`."""
    instructions = decode(code).instructions

    def lets_out(handler: Handler | None) -> bool:
        if handler is None:
            return True
        for ins in instructions[handler.target :]:
            if ins.opname == "RERAISE":
                return lets_out(ins.handler)
            if ins.opname not in _GIVES_BACK and ins.argval != "INTRINSIC_STOPITERATION_ERROR":
                return False
        return False

    return tuple(
        replace(ins, handler=None) if ins.handler is not None and lets_out(ins.handler) else ins
        for ins in instructions
    )


#: What the end of an inlined comprehension consists of; a handler that was written begins with
#: PUSH_EXC_INFO.
_GIVES_BACK = frozenset({"SWAP", "POP_TOP", "STORE_FAST", "STORE_DEREF", "STORE_FAST_STORE_FAST"})


@per_code
def cell_names(code: CodeType) -> tuple[str, ...]:
    """Variables that the function itself keeps in cells."""
    return tuple(s.name for s in decode(code).slots if s.kind is SlotKind.CELL)


class Frame:
    """State of one activation. `cells` maps names to cells once MAKE_CELL or COPY_FREE_VARS ran."""

    __slots__ = (
        "born",
        "cells",
        "code",
        "function",
        "globals",
        "handled",
        "handlers",
        "instructions",
        "ip",
        "kw_names",
        "library_calls",
        "locals",
        "returned",
        "stack",
    )  # fmt: skip

    def __init__(self, function: FunctionValue, variables: dict[str, Value]) -> None:
        code = function.code
        self.code = code
        self.function = function
        self.instructions: tuple[Instruction, ...] = instructions_of(code)
        self.handlers = handlers_of(code)
        self.ip = 0
        self.stack: list[StackItem] = []
        self.locals = variables
        self.cells: dict[str, CellValue] = {}
        self.globals = function.globals
        self.returned: Value | None = None
        self.kw_names: tuple[str, ...] = ()
        self.library_calls = 0  # that were at work when the frame was entered
        self.born = now()
        self.handled: Value | None = None  # a suspended generator's exception being handled

    # -- the stack -----------------------------------------------------------------------------

    def push(self, value: StackItem) -> None:
        self.stack.append(value)

    def pop(self) -> Value:
        return self.stack.pop()  # type: ignore[return-value]  # callers know it is no NULL

    def pop_many(self, count: int) -> list[Value]:
        """The top `count` values, deepest first."""
        if count == 0:
            return []
        values = self.stack[-count:]
        del self.stack[-count:]
        return values  # type: ignore[return-value]

    # -- saving --------------------------------------------------------------------------------

    def save(self) -> SavedFrame:
        """A shallow copy of the state that is not journalled."""
        rest = (dict(self.cells), self.handled, self.kw_names)
        return (self.ip, list(self.stack), dict(self.locals), rest)

    def restore(self, saved: SavedFrame) -> None:
        self.ip, stack, variables, (cells, self.handled, self.kw_names) = saved
        self.stack[:] = stack
        self.locals.clear()
        self.locals.update(variables)
        self.cells.clear()
        self.cells.update(cells)
        self.returned = None

    # -- where ---------------------------------------------------------------------------------

    def location(self) -> Location:
        """The line of the instruction being executed."""
        return location_of(self.code, self.instructions[max(self.ip - 1, 0)])


def location_of(code: CodeType, instruction: Instruction) -> Location:
    line = instruction.position.line or code.co_firstlineno
    return Location(code.co_filename, line, linecache.getline(code.co_filename, line).strip())


def initial_cells(vm: Machine, frame: Frame) -> None:
    """Free variables get the closure's cells (COPY_FREE_VARS does nothing more)."""
    for name, cell in zip(frame.code.co_freevars, frame.function.closure, strict=True):
        frame.cells[name] = cell


__all__ = ["NULL", "Frame", "SavedFrame", "StackItem", "initial_cells", "location_of"]
