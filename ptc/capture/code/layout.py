"""What a break saves, and how new code takes it over: the plan shared by resume and step functions.

In: an instruction boundary and a `Layout`. Out: the arguments and closure of the new function, the
variable that stands for each original slot, and the prologue that puts the stack back. It must not
know what the new function does afterwards.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from types import CellType, CodeType, FunctionType

from ptc.capture.code.analysis import Analysis, analyse
from ptc.capture.code.assemble import Variable
from ptc.capture.code.decode import SlotKind
from ptc.capture.code.emitter import Emitter
from ptc.capture.code.stack_state import FrameState, ItemKind


class ResumeRefused(Exception):
    """The code cannot be entered at that instruction; the message says why in the user's terms."""


class ArgumentKind(enum.Enum):
    """Where the value for an argument of a resume or step function comes from."""

    LOCAL = "local"  # value of the local variable `name`
    CELL = "cell"  # the cell object itself of variable `name`: `self`, where super() needs it
    STACK = "stack"  # the stack item at `position` (0 is the bottom)
    HANDLED = "handled"  # the exception being handled, whose PREVIOUS item is at `position`


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    """One positional argument. `name`: the variable for LOCAL and CELL, else the argument's own
    name."""

    kind: ArgumentKind
    name: str
    position: int = -1


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """What is saved at an instruction boundary.

    `null[i]`: is stack item i NULL? `bound`: the variables that have a value; names of variables in
    cells may be there or not. Of these the live ones are passed on, and those in `keep`: variables
    that nothing reads again but whose objects must live as long as the original's frame would (a
    temporary folder removed by its finaliser).
    """

    null: tuple[bool, ...]
    bound: frozenset[str]
    keep: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class EnteredCode:
    """A code object that takes over a saved state, and what to call it with."""

    code: CodeType
    arguments: tuple[Argument, ...]
    closure: tuple[str, ...]  # names of the cells, in the order of code.co_freevars

    def function(self, like: FunctionType, cells: Callable[[str], CellType]) -> FunctionType:
        """A function over this code with the globals of `like`; `cells` gives the cell of a
        name."""
        closure = tuple(cells(name) for name in self.closure) or None
        return FunctionType(self.code, like.__globals__, self.code.co_name, None, closure)


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """The plan for entering `analysis.code` at instruction `at`."""

    analysis: Analysis
    at: int
    state: FrameState  # with NULLs and unbound variables as they are, not as they may be
    arguments: tuple[Argument, ...]
    own_names: tuple[str, ...]  # what the arguments are called in the new code
    closure: tuple[str, ...]
    slot_names: tuple[str, ...]  # by original slot: what it is called in the new code
    slot_kinds: tuple[SlotKind, ...]  # by original slot: how the new code holds it

    def emitter(self, qualname: str) -> Emitter:
        """An emitter whose function has these arguments; `start` has not been emitted yet."""
        code = self.analysis.code
        emitter = Emitter.plain(
            self.own_names,
            name=code.co_name,
            qualname=qualname,
            filename=code.co_filename,
            line=code.co_firstlineno,
            free=self.closure,
            future_of=code,
        )
        for argument, name in zip(self.arguments, self.own_names, strict=True):
            if argument.kind is ArgumentKind.LOCAL:
                # Not yet in a cell, but a MAKE_CELL of the original may follow.
                emitter.variable(name).kind = self.slot_kinds[self.slot_names.index(name)]
        emitter.at(self.line)
        return emitter

    @property
    def line(self) -> int:
        """Source line of the instruction that is entered."""
        line = self.analysis.decoded.instructions[self.at].position.line
        return self.analysis.code.co_firstlineno if line is None else line

    def variable(self, emitter: Emitter, slot: int) -> Variable:
        """What an original slot is in the emitter's function."""
        return emitter.variable(self.slot_names[slot], self.slot_kinds[slot])

    def start(self, emitter: Emitter) -> None:
        """Put cells, current exceptions and stack items in place."""
        names = dict(zip(self.arguments, self.own_names, strict=True))
        for argument, name in names.items():
            if argument.kind is ArgumentKind.CELL:
                emitter.adopt_cell(name)
        items = {a.position: name for a, name in names.items() if a.position >= 0}
        for position, kind in enumerate(self.state.stack):
            if kind == ItemKind.NULL:
                emitter.push_null()
            elif kind == ItemKind.LASTI:
                # RERAISE only takes the line of this frame from it; any instruction will do.
                emitter.load_const(0)
            elif kind == ItemKind.PREVIOUS:
                emitter.move_local(items[position])
                emitter.push_exc_info()
                emitter.pop()
            else:
                emitter.move_local(items[position])


def canonical(code: CodeType, at: int, layout: Layout) -> Layout:
    """`layout` without the variables that are not handed on, so that breaks which differ in those
    share their code. Raises ResumeRefused if `code` cannot be entered at `at`."""
    analysis = analyse(code)
    _check_place(analysis, at)
    live = frozenset(analysis.live_slots(at))
    needed = {slot.name for slot in analysis.decoded.slots if slot.index in live}
    if "__class__" in code.co_freevars:
        needed.add(analysis.decoded.slots[0].name)
    bound = layout.bound & (needed | layout.keep) - analysis.cells(at)
    return Layout(layout.null, bound, layout.keep - needed)


def plan_entry(code: CodeType, at: int, layout: Layout) -> Entry:
    """Plan how `code` is entered at `at` with a canonical layout."""
    analysis = analyse(code)
    state = _actual_state(analysis, at, layout)
    slots = analysis.decoded.slots
    kept = (slot.index for slot in slots if slot.name in layout.keep)
    passed = {*analysis.live_slots(at), *kept}
    names = _unique_names(analysis)
    kinds: list[SlotKind] = []
    arguments: list[Argument] = []
    own_names: list[str] = []
    closure: list[str] = []
    for slot, kind in zip(slots, state.slots, strict=True):
        first_of_super = slot.index == 0 and "__class__" in code.co_freevars
        name = names[slot.index]
        if slot.kind is SlotKind.FREE or (kind == ItemKind.CELL and not first_of_super):
            wanted = slot.kind is SlotKind.FREE or slot.index in passed
            if wanted:
                closure.append(slot.name)
            kinds.append(SlotKind.FREE if wanted else SlotKind.CELL)
            continue
        kinds.append(slot.kind)
        if kind != ItemKind.NULL and (slot.index in passed or first_of_super):
            argument = ArgumentKind.CELL if kind == ItemKind.CELL else ArgumentKind.LOCAL
            arguments.append(Argument(argument, slot.name))
            own_names.append(name)
    for position, kind in enumerate(state.stack):
        if kind in (ItemKind.NULL, ItemKind.LASTI):
            continue
        handled = kind == ItemKind.PREVIOUS
        own_names.append(_fresh(f"handled_{position}" if handled else f"stack_{position}", names))
        source = ArgumentKind.HANDLED if handled else ArgumentKind.STACK
        arguments.append(Argument(source, own_names[-1], position))
    return Entry(
        analysis,
        at,
        state,
        tuple(arguments),
        tuple(own_names),
        tuple(closure),
        tuple(names),
        tuple(kinds),
    )


def _check_place(analysis: Analysis, at: int) -> None:
    decoded = analysis.decoded
    if decoded.refusal is not None:
        raise ResumeRefused(f"{decoded.refusal}, which cannot be entered in the middle")
    if not analysis.reachable(at):
        raise ResumeRefused(f"no path leads to instruction {at} of `{decoded.code.co_qualname}`")
    if decoded.call_unit(at)[0] != at:
        raise ResumeRefused(f"instruction {at} is in the middle of a call")
    names = [slot.name for slot in decoded.slots]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        # CPython 3.12+: a comprehension's captured variable that shadows a free variable.
        raise ResumeRefused(f"`{', '.join(twice)}` is both a variable and a free variable")


def _actual_state(analysis: Analysis, at: int, layout: Layout) -> FrameState:
    """The analysed state with what the layout knows; disagreement is a fault of the caller, since
    CPython would read a NULL as an object."""
    possible = analysis.state(at)
    if len(layout.null) != len(possible.stack):
        raise ValueError(f"{len(layout.null)} stack items saved, {len(possible.stack)} expected")
    stack = tuple(
        _actual(kind, null, f"stack item {position}")
        for position, (kind, null) in enumerate(zip(possible.stack, layout.null, strict=True))
    )
    slots: list[ItemKind] = []
    # Not `live_slots`: what only a look at the frame could see may have been dropped by a resume
    # function, after the code that looks
    mask = analysis.live_masks[at]
    live = frozenset(i for i in range(len(analysis.decoded.slots)) if mask >> i & 1)
    for slot, kind in zip(analysis.decoded.slots, possible.slots, strict=True):
        if kind == ItemKind.CELL or slot.kind is SlotKind.FREE:
            slots.append(kind)
        elif ItemKind.CELL in kind:
            raise ResumeRefused(f"`{slot.name}` may or may not be captured at this point")
        elif slot.index in live or not kind & ItemKind.NULL:
            dead = slot.index not in live and slot.name not in layout.bound
            unbound = slot.name not in layout.bound
            slots.append(
                ItemKind.NULL if dead else _actual(kind, unbound, f"variable `{slot.name}`")
            )
        else:
            slots.append(ItemKind.VALUE if slot.name in layout.bound else ItemKind.NULL)
    return FrameState(stack, tuple(slots))


def _actual(kind: ItemKind, null: bool, what: str) -> ItemKind:
    actual = kind & ItemKind.NULL if null else kind & ~ItemKind.NULL
    if not actual or actual not in tuple(ItemKind):
        raise ValueError(f"{what} is saved as {'NULL' if null else 'a value'}, but is {kind}")
    return actual


def _unique_names(analysis: Analysis) -> list[str]:
    """Legal and distinct names for all slots: a comprehension's argument is called `.0`."""
    names: list[str] = []
    for slot in analysis.decoded.slots:
        legal = slot.name if slot.name.isidentifier() else f"implicit{slot.name.strip('.')}"
        names.append(legal if legal == slot.name else _fresh(legal, names))
    return names


def _fresh(stem: str, taken: list[str]) -> str:
    name = stem
    while name in taken:
        name = f"_{name}"
    return name
