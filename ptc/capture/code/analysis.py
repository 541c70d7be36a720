"""Facts about every instruction boundary: the stack, bound and live variables, handlers.

Owns the data-flow analyses over decoded code, exception edges included. It must not know how code is
generated. All facts hold *before* the instruction of the given index runs.
"""

from __future__ import annotations

import dataclasses
import enum
from types import CodeType

from ptc.capture.code.decode import Handler


class ItemKind(enum.Flag):
    """What a stack item may be; several bits where paths disagree or CPython decides at run time."""

    VALUE = enum.auto()  # an ordinary object: values, iterators, bound __exit__ methods, exceptions
    NULL = enum.auto()  # the NULL of a call, or the saved value of a variable that was unbound
    CELL = enum.auto()  # a cell object taken from a slot
    PREVIOUS = enum.auto()  # pushed by PUSH_EXC_INFO, for POP_EXCEPT: an exception is being handled
    LASTI = enum.auto()  # the instruction offset that RERAISE restores


@dataclasses.dataclass(frozen=True, slots=True)
class Analysis:
    """Per-instruction facts of one code object."""

    code: CodeType

    def reachable(self, index: int) -> bool:
        """Can control reach the instruction at all? The other queries need it to be reachable."""
        raise NotImplementedError

    def depth(self, index: int) -> int:
        """Number of stack items."""
        raise NotImplementedError

    def stack(self, index: int) -> tuple[ItemKind, ...]:
        """Kind of each stack item, bottom first."""
        raise NotImplementedError

    def live(self, index: int) -> frozenset[str]:
        """Names of variables whose value may be read later: locals and cells, not free variables.

        Everything is live in a function that may look at its own frame (`locals()`, `eval`, ...).
        """
        raise NotImplementedError

    def definitely_bound(self, index: int) -> frozenset[str]:
        """Locals that have a value on every path; CPython may read them without a check."""
        raise NotImplementedError

    def cells(self, index: int) -> frozenset[str]:
        """Names whose slot holds a cell at this point (free variables included)."""
        raise NotImplementedError

    def handlers(self, index: int) -> tuple[Handler, ...]:
        """Exception handlers around the instruction, innermost first: where an exception raised here
        goes, then where one raised by that handler would go, and so on."""
        raise NotImplementedError


def analyse(code: CodeType) -> Analysis:
    """Analyse `code`. The result is cached for as long as the code object lives."""
    raise NotImplementedError
