"""Step functions: run one instruction of the original natively, then go on in a resume function.

This is what a graph break calls. The step function takes the state *before* the breaking
instruction, runs it under the user's exception handlers, current exceptions, line number and
closure, and for each outcome (next instruction, jump, the handler of an exception it raised) calls
`dispatch(resume_function)(*state)` and returns its result. It must not know why there was a break.

That call is the last thing a step function does, outside all handlers and with the caller's current
exception restored. So a dispatcher that would otherwise nest frames (a break in a loop) may hand
out callables that only record the resume function and its arguments, and run them from an outer
loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import assert_never

from ptc.capture.code import versions
from ptc.capture.code.analysis import falls_through
from ptc.capture.code.assemble import Label
from ptc.capture.code.decode import Instruction, decode
from ptc.capture.code.layout import (
    Argument,
    ArgumentKind,
    EnteredCode,
    Layout,
    canonical,
    plan_entry,
)
from ptc.capture.code.per_code import CodeMap
from ptc.capture.code.resume import ResumeCode, make_resume, traced_back
from ptc.capture.code.stack_state import FrameState, ItemKind, after, null_pair

Dispatch = Callable[[FunctionType], Callable[..., object]]


@dataclasses.dataclass(frozen=True, slots=True)
class StepCode(EnteredCode):
    """A step function's code, what to call it with, and the resume functions it may end in."""

    outcomes: tuple[ResumeCode, ...]


# Current for the length of one instruction, while the real current exception is read.
_PLACEHOLDER = Exception()

_steps: CodeMap[StepCode] = CodeMap()


def make_step(code: CodeType, at: int, layout: Layout, dispatch: Dispatch) -> StepCode:
    """The step function for instruction `at` (for a call: any of KW_NAMES, PRECALL, CALL). Cached.

    A method load (`x.f` about to be called) always yields the bound method and a NULL, so that the
    layout after it is known. RETURN_VALUE and RETURN_CONST simply return. Errors as `make_resume`.
    """
    asked = (at, layout, dispatch)
    known = _steps.get(code, asked)
    if known is not None:
        return known
    at = decode(code).call_unit(at)[0]
    layout = canonical(code, at, layout)
    made = _steps.get(code, (at, layout, dispatch)) or _make(code, at, layout, dispatch)
    _steps.put(code, made, (at, layout, dispatch))
    return _steps.put(code, made, asked)


def _make(code: CodeType, at: int, layout: Layout, dispatch: Dispatch) -> StepCode:
    first = traced_back(code, at, layout)
    if first is None:
        return _Step(code, at, layout, dispatch).build()
    original = make_step(first.code, first.at, first.layout, dispatch)
    return dataclasses.replace(original, arguments=first.own_arguments(original.arguments))


class _Step:
    """Builds one step function."""

    def __init__(self, code: CodeType, at: int, layout: Layout, dispatch: Dispatch) -> None:
        decoded = decode(code)
        self.code = code
        self.dispatch = dispatch
        self.keep = layout.keep
        self.entry = plan_entry(code, at, layout)
        self.unit = decoded.instructions[at : decoded.call_unit(at)[1] + 1]
        self.emitter = self.entry.emitter(f"{code.co_qualname}.<step at line {self.entry.line}>")
        self.outcomes: list[ResumeCode] = []

    def build(self) -> StepCode:
        entry, emitter, last = self.entry, self.emitter, self.unit[-1]
        entry.start(emitter)
        target = None if last.target is None else emitter.label()
        handler = last.handler if last.opname not in versions.NEVER_RAISES else None
        caught = emitter.label()
        if handler is None:
            self._run(target)
        else:
            with emitter.protect(caught, lasti=handler.lasti, depth=handler.depth):
                self._run(target)
        if falls_through(last):
            self._continue(last.index + 1, self._after(jump=False))
        if target is not None:
            self._jumped(last, target)
        if handler is not None:
            emitter.mark(caught)
            self._continue(handler.target, entry.state.raised(handler, entry.state))
        return StepCode(
            emitter.code(), entry.arguments, entry.closure, tuple(dict.fromkeys(self.outcomes))
        )

    def _run(self, target: Label | None) -> None:
        """The instruction itself."""
        entry, emitter = self.entry, self.emitter
        if self.unit[0].opname in ("RESUME", "COPY_FREE_VARS"):
            return  # the step function has its own
        emitter.instruction(
            entry.analysis.decoded,
            self.unit[0].index,
            target,
            lambda slot: entry.variable(emitter, slot),
        )

    def _jumped(self, last: Instruction, target: Label) -> None:
        """Go on at the instruction's jump target."""
        assert last.target is not None
        self.emitter.mark(target)
        if last.opname == "FOR_ITER":
            self.emitter.end_for()
            state = self.entry.state
            exhausted = FrameState(state.stack[:-1], state.slots)
            self._continue(last.target + versions.FOR_ITER_EXIT_SKIP, exhausted)
        else:
            self._continue(last.target, self._after(jump=True))

    def _after(self, *, jump: bool) -> FrameState:
        """The state behind the instruction."""
        state = self.entry.state
        for instruction in self.unit:
            state = after(state, instruction, jump=jump)
            if versions.is_method_load(instruction.opname, instruction.arg):
                state = FrameState((*state.stack[:-2], *null_pair(ItemKind.NULL)), state.slots)
        return state

    def _continue(self, index: int, state: FrameState) -> None:
        """Take the stack down and return what the resume function at `index` returns."""
        emitter = self.emitter
        saved = self._save(state)
        slots = self.entry.analysis.decoded.slots
        names = dict(zip((slot.name for slot in slots), self.entry.slot_names, strict=True))
        bound = frozenset(
            slot.name
            for slot, kind in zip(slots, state.slots, strict=True)
            if kind == ItemKind.VALUE
        )
        null = tuple(kind == ItemKind.NULL for kind in state.stack)
        resume = make_resume(self.code, index, Layout(null, bound, self.keep))
        self.outcomes.append(resume)
        # This frame stays below the resume function's and must not keep values alive: what is
        # handed on is moved, what is left is dropped.
        moved = {a: self._local(a, names, saved) for a in resume.arguments}
        leftover = {names[name] for name in bound} - {*moved.values()}
        for name in sorted(leftover):
            emitter.delete_local(name)
        emitter.load_const(self.dispatch)
        emitter.callee()
        for cell in resume.closure:
            emitter.load_cell(names[cell])
        if resume.closure:
            emitter.build_tuple(len(resume.closure))
        emitter.make_function(resume.code, closure=bool(resume.closure))
        emitter.call(1)
        emitter.callee()
        for argument, name in moved.items():
            if argument.kind is ArgumentKind.CELL:
                emitter.load_cell(name)
            else:
                emitter.move_local(name)
        emitter.call(len(resume.arguments))
        emitter.return_value()

    def _save(self, state: FrameState) -> dict[int, str]:
        """Move the stack into locals, by position. For a PREVIOUS item that is the exception being
        handled at its level; the one before becomes current again."""
        emitter = self.emitter
        saved: dict[int, str] = {}
        for position, kind in reversed(list(enumerate(state.stack))):
            if kind == ItemKind.LASTI:
                emitter.pop()
                continue
            if kind == ItemKind.PREVIOUS:
                # The only instruction that reads the current exception is the one that replaces it.
                emitter.load_const(_PLACEHOLDER)
                emitter.push_exc_info()
                emitter.pop()
            name = emitter.fresh_local("saved")
            emitter.store_local(name)
            if kind == ItemKind.PREVIOUS:
                emitter.pop_except()
            if kind != ItemKind.NULL:
                saved[position] = name
        return saved

    def _local(self, argument: Argument, names: dict[str, str], saved: dict[int, str]) -> str:
        """The variable here that has the argument for a resume function."""
        match argument.kind:
            case ArgumentKind.LOCAL | ArgumentKind.CELL:
                return names[argument.name]
            case ArgumentKind.STACK | ArgumentKind.HANDLED:
                return saved[argument.position]
            case _:
                assert_never(argument.kind)
