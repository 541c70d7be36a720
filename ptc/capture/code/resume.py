"""Resume functions: the original code, entered in its middle.

A resume function takes the saved stack items and live variables as positional arguments, puts the
stack back and jumps to instruction `at` of the original code, whose exception table it keeps. It is
an ordinary code object: it can be decoded, analysed, traced and resumed again. It must not know who
calls it or how the arguments were obtained.

Arguments, in order: variables (in slot order), then stack items (bottom first, without NULLs).
Variables that live in cells at that point are free variables of the resume function: give their cell
objects as the function's closure, in the order of `ResumeCode.closure`.

Within an `except`, `finally` or `with` clean-up the stack holds PREVIOUS items. The argument for such
an item is the exception *being handled* at that level (not the item itself): the resume function makes
it current again with PUSH_EXC_INFO. LASTI items need no argument.
"""

from __future__ import annotations

import dataclasses
import enum
from types import CellType, CodeType, FunctionType
from collections.abc import Callable, Sequence


class ResumeRefused(Exception):
    """The code cannot be resumed at that instruction; the message says why in the user's terms."""


class ArgumentKind(enum.Enum):
    """Where the value for an argument of a resume or step function comes from."""

    LOCAL = "local"  # value of the local variable `name`
    CELL = "cell"  # the cell object (not its contents) of variable `name`; only for a captured first argument used by super()
    STACK = "stack"  # the stack item at `position` (0 is the bottom)
    HANDLED = "handled"  # the exception being handled, whose PREVIOUS item is at `position`


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    kind: ArgumentKind
    name: str  # the argument's name in the new code; for LOCAL and CELL the variable's name, too
    position: int = -1


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """What is saved. `null[i]`: is stack item i NULL? `bound`: variables that have a value (a superset
    of the live ones is fine; dead ones are dropped)."""

    null: tuple[bool, ...]
    bound: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True)
class ResumeCode:
    """A resume function's code, and what to call it with."""

    code: CodeType
    arguments: tuple[Argument, ...]
    closure: tuple[str, ...]  # names of the cells, in the order of code.co_freevars

    def function(self, like: FunctionType, cells: Callable[[str], CellType]) -> FunctionType:
        """A function over this code with the globals of `like`; `cells` gives the cell of a name."""
        raise NotImplementedError


def make_resume(code: CodeType, at: int, layout: Layout) -> ResumeCode:
    """The resume function for `code` at instruction index `at` (the next to run). Cached.

    A resume of a resume function is traced back to the first original, so that a break in a loop needs
    one resume function, not one an iteration. Raises ResumeRefused for generators and coroutines, and
    between KW_NAMES and its CALL.
    """
    raise NotImplementedError
