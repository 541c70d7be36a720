"""Step functions: run one instruction of the original natively, then go on in a resume function.

This is what a graph break calls. The step function takes the state *before* the breaking instruction,
runs it under the user's exception handlers, current exceptions, line number and closure, and for
each outcome (next instruction, jump, the handler of an exception it raised) calls
`dispatch(resume_function)(*state)` and returns its result.
"""

from __future__ import annotations

import dataclasses
from types import CellType, CodeType, FunctionType
from collections.abc import Callable

from ptc.capture.code.resume import Argument, Layout, ResumeCode


@dataclasses.dataclass(frozen=True, slots=True)
class StepCode:
    """A step function's code: arguments and closure as for ResumeCode, and its possible outcomes."""

    code: CodeType
    arguments: tuple[Argument, ...]
    closure: tuple[str, ...]
    outcomes: tuple[ResumeCode, ...]

    def function(self, like: FunctionType, cells: Callable[[str], CellType]) -> FunctionType:
        """A function over this code with the globals of `like`; `cells` gives the cell of a name."""
        raise NotImplementedError


def make_step(
    code: CodeType,
    at: int,
    layout: Layout,
    dispatch: Callable[[FunctionType], Callable[..., object]],
) -> StepCode:
    """The step function for instruction `at` (for a call: any of KW_NAMES, PRECALL, CALL). Cached.

    A method load (`x.f` about to be called) always yields the bound method and a NULL, so that the
    layout after it is known. RETURN_VALUE and RETURN_CONST simply return.
    """
    raise NotImplementedError
