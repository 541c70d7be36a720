"""Resume functions: the original code, entered in its middle.

A resume function takes the saved stack items and live variables as positional arguments, puts the
stack back and jumps to instruction `at` of the original code, whose exception table it keeps. It is
an ordinary code object: it can be decoded, analysed, traced and resumed again. It must not know who
calls it or how the arguments were obtained.

Arguments, in order: variables (in slot order), then stack items (bottom first, without NULLs).
Variables that live in cells at that point are free variables of the resume function: give their
cell objects as the function's closure, in the order of `ResumeCode.closure`.

Within an `except`, `finally` or `with` clean-up the stack holds PREVIOUS items. The argument for
such an item is the exception *being handled* at that level (not the item itself): the resume
function makes it current again with PUSH_EXC_INFO. LASTI items need no argument.
"""

from __future__ import annotations

import dataclasses
from types import CodeType

from ptc.capture.code import versions
from ptc.capture.code.analysis import falls_through
from ptc.capture.code.assemble import Item, Label, Operation, Protection
from ptc.capture.code.copying import copy_instruction
from ptc.capture.code.decode import DecodedCode, decode
from ptc.capture.code.emitter import Emitter
from ptc.capture.code.layout import Argument, EnteredCode, Entry, Layout, canonical, plan_entry
from ptc.capture.code.per_code import CodeMap


@dataclasses.dataclass(frozen=True, slots=True)
class ResumeCode(EnteredCode):
    """A resume function's code, and what to call it with."""


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """Where a resume function comes from: the code it was made of, the place and layout of entry,
    the instruction there for each of its own (None in the prologue), and the original names of its
    variables."""

    code: CodeType
    at: int
    layout: Layout
    indexes: tuple[int | None, ...]
    names: dict[str, str]


_resumes: CodeMap[ResumeCode] = CodeMap()
_origins: CodeMap[Origin] = CodeMap()


def origin(code: CodeType) -> Origin | None:
    """What `code` is a resume function of; None if it is none."""
    return _origins.get(code)


def make_resume(code: CodeType, at: int, layout: Layout) -> ResumeCode:
    """The resume function for `code` at instruction index `at` (the next to run). Cached.

    A resume of a resume function is traced back to the first original, so that a break in a loop
    needs one resume function, not one an iteration. Raises ResumeRefused for generators and
    coroutines, and between KW_NAMES and its CALL; ValueError if `layout` contradicts what the code
    can have there.
    """
    known = _resumes.get(code, (at, layout))
    if known is not None:
        return known
    asked, layout = layout, canonical(code, at, layout)
    made = _resumes.get(code, (at, layout)) or _make(code, at, layout)
    _resumes.put(code, made, (at, layout))
    return _resumes.put(code, made, (at, asked))


def _make(code: CodeType, at: int, layout: Layout) -> ResumeCode:
    first = traced_back(code, at, layout)
    if first is None:
        return _assemble(code, at, layout)
    original = make_resume(first.code, first.at, first.layout)
    return dataclasses.replace(original, arguments=first.own_arguments(original.arguments))


@dataclasses.dataclass(frozen=True, slots=True)
class TracedBack:
    """A place in a resume function, as a place in its original."""

    code: CodeType
    at: int
    layout: Layout
    names: dict[str, str]  # original name -> name in the resume function

    def own_arguments(self, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        """Arguments of the original's resume, with the names that the resume function uses."""
        return tuple(dataclasses.replace(a, name=self.names.get(a.name, a.name)) for a in arguments)


def traced_back(code: CodeType, at: int, layout: Layout) -> TracedBack | None:
    """The same place in the code that `code` is a resume function of, if there is one."""
    source = origin(code)
    if source is None or (index := source.indexes[at]) is None:
        return None
    bound, keep = (
        frozenset(source.names[name] for name in names if name in source.names)
        for names in (layout.bound, layout.keep)
    )
    own_names = {original: own for own, original in source.names.items()}
    return TracedBack(source.code, index, Layout(layout.null, bound, keep), own_names)


def _assemble(code: CodeType, at: int, layout: Layout) -> ResumeCode:
    entry = plan_entry(code, at, layout)
    emitter = entry.emitter(f"{code.co_qualname}.<resume at line {entry.line}>")
    entry.start(emitter)
    items, place, indexes = _body(entry, emitter)
    emitter.splice(items, place)
    made = emitter.code(stack_size=code.co_stacksize)
    slots = entry.analysis.decoded.slots
    names = dict(zip(entry.slot_names, (slot.name for slot in slots), strict=True))
    prologue: list[int | None] = [None] * (len(decode(made).instructions) - len(indexes))
    _origins.put(made, Origin(code, at, layout, (*prologue, *indexes), names))
    return ResumeCode(made, entry.arguments, entry.closure)


def _body(entry: Entry, emitter: Emitter) -> tuple[list[Item], Label, list[int | None]]:
    """All of the original that can run from the entry on, the place of entry, and the original
    index of each operation (None for the second half of a superinstruction)."""
    decoded = entry.analysis.decoded
    labels: dict[int, Label] = {}
    items: list[Item] = []
    indexes: list[int | None] = []
    reached = _reachable(decoded, entry.at)
    for index in sorted(reached):
        instruction = decoded.instructions[index]
        items.append(labels.setdefault(index, Label()))
        target = protection = None
        if instruction.target is not None:
            target = labels.setdefault(instruction.target, Label())
        if (handler := instruction.handler) is not None:
            label = labels.setdefault(handler.target, Label())
            protection = Protection(label, handler.depth, handler.lasti)
        if instruction.opname in ("RESUME", "COPY_FREE_VARS"):
            # The new function has its own.
            operations = [Operation("NOP", None, instruction.position, protection)]
        else:
            operations = copy_instruction(
                instruction, lambda slot: entry.variable(emitter, slot), target, protection
            )
        if versions.UNWINDS_FROM_WORD_BEFORE_CALL and protection and index - 1 not in reached:
            items.append(Operation("NOP", None, instruction.position, protection))
            indexes.append(None)
        items.extend(operations)
        indexes.extend([index, *[None] * (len(operations) - 1)])
    return items, labels[entry.at], indexes


def _reachable(decoded: DecodedCode, start: int) -> set[int]:
    """Instructions that may run from `start` on, exceptions included."""
    reached: set[int] = set()
    work = [start]
    while work:
        index = work.pop()
        if index in reached:
            continue
        reached.add(index)
        instruction = decoded.instructions[index]
        if instruction.handler is not None:
            work.append(instruction.handler.target)
        if instruction.target is not None:
            work.append(instruction.target)
        if falls_through(instruction):
            work.append(index + 1)
    return reached
