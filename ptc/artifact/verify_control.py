"""Does a library with control flow do what eager does? Results, texts, exceptions and state.

Each input set is run twice in a row where the program keeps state. The reference interpreter tells
which arms no input exercised; where there are such, changed inputs are tried. How tensors are
judged is `verify`'s business.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch

from ptc.artifact.input_sets import EagerRaises, InputSet, on_one_that_runs
from ptc.artifact.live_state import LiveState, Session
from ptc.artifact.observe import (
    Emitted,
    Observed,
    exception_text,
    observe_eager,
)
from ptc.artifact.subjects import Subject
from ptc.artifact.verify import (
    OutputCheck,
    Verification,
    beside_near,
    changed,
    compare_output,
    double_reference,
    near_inputs,
)
from ptc.graph.control import ControlProgram, Raise, Text, walk
from ptc.graph.control_coverage import Coverage
from ptc.graph.control_run import run
from ptc.hosting.effects import NOT_SUPPORTED
from ptc.support.diagnostics import CompileError, InternalError

#: Eager further than this from its float64 run took another path, or amplifies rounding: then the
#: float64 run says nothing.
_MAX_EAGER_ERROR = 1e-3
#: What numbers of the size of one that float32 has are rounded by in a few operations.
_ROUNDING = 1e-6
#: How far numbers within texts may differ, relative to each.
_TEXT_TOLERANCE = 2e-3
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def verify_control_entry(
    function: Callable[..., Any],
    subject: Subject,
    entry: str,
    program: ControlProgram,
    sets: Iterable[InputSet],
    state: LiveState,
) -> Verification:
    """Run the subject and eager `function` on every input set and compare all that can be seen.
    `state`, what the function changes, is put back; `entry` is the subject's name in messages.

    Exceptions that the program raises itself are compared. Where eager raises another one (an index
    out of range, in an operator) and the library not the same, drawn inputs do not fit the model:
    others take their place. Raises CompileError PTC-L060 where that happens on the example.
    """
    comparison = _Comparison(function, subject, program, state)
    first: InputSet | None = None
    for given in sets:
        first = first or given
        on_one_that_runs(given, comparison.compare, entry, comparison.notes)
    for change in _CHANGES if first is not None else ():
        if not comparison.coverage.unreached():
            break
        assert first is not None
        comparison.compare(changed(first, change), tentative=True)
    notes = [*comparison.notes, *map(str, comparison.coverage.unreached())]
    return Verification(tuple(comparison.checks), comparison.compared, tuple(notes))


class _Comparison:
    """Eager, its float64 run, the interpreter and the library, each with state of its own, call by
    call."""

    def __init__(
        self,
        function: Callable[..., Any],
        subject: Subject,
        program: ControlProgram,
        state: LiveState,
    ) -> None:
        self.subject, self.program = subject, program
        self.function, self.live_state = function, state
        self.coverage = Coverage(program)
        self.raises = [item for item in walk(program.body) if isinstance(item, Raise)]
        self.checks: list[OutputCheck] = []
        self.notes: list[str] = []
        self.compared = 0
        self.start_anew()

    def start_anew(self) -> None:
        """Forget what calls left: one that was not compared may have left different things."""
        self.eager_session, self.exact_session = Session(self.live_state), Session(self.live_state)
        self.exact_call = double_reference(self.function)
        self.state: dict[str, Any] = {}  # the interpreter's
        self.subject.reset()

    def compare(self, given: InputSet, *, tentative: bool = False) -> None:
        """Compare one input set. A `tentative` one may not fit the model: then nothing is said.
        Raises EagerRaises where another one does not."""
        keeps_state = bool(self.program.state or self.program.written)
        before = len(self.checks)
        for _ in range(2 if keeps_state else 1):
            try:
                judged = self.call(given, tentative=tentative)
            except EagerRaises:
                del self.checks[before:]
                self.start_anew()
                raise
            if not judged:
                self.start_anew()
                return
        self.compared += 1

    def call(self, given: InputSet, *, tentative: bool) -> bool:
        """Compare one call; False if there was nothing to compare."""
        number, session = self.compared, self.eager_session.fork()
        eager = self.eager(given, self.eager_session)
        exact = None
        if self.exact_call is not None:
            exact = observe_eager(self.exact_call, given.args, given.kwargs, self.exact_session)
        actual = self.subject.observe(given.args, given.kwargs)
        fails = eager.raised is not None and actual.raised is None
        if tentative and (actual.failure or fails):
            return False
        if eager.raised is not None and "exceptions" in self.subject.omits:
            if not tentative:
                self.notes.append(f"input set {number} ends with an exception, and is not compared")
            return False
        if (given.end and fails) or not self.is_by_design(eager, actual):
            assert eager.error is not None
            raise EagerRaises(eager.error)
        if number and actual.raised is not None and actual.raised[0] == NOT_SUPPORTED:
            if not tentative:
                what = actual.raised[1]
                self.notes.append(f"input set {number} ends with {NOT_SUPPORTED}: {what}")
            return False
        if "texts" in self.subject.omits:
            actual.texts = eager.texts
        found = _compared(number, actual, eager, exact)
        near = [] if all(check.passed for check in found) else self.near(given, eager, session)
        if any(not _all_passed(_compared(0, other, eager, None)) for other in near):
            self.notes.append(
                f"input set {number} is not judged: eager's own result is another one when its "
                "inputs change in their last digits"
            )
            return False
        found = beside_near(found, [_compared(number, other, eager, exact) for other in near])
        passed = _all_passed(found)
        sizes = given.sizes if given.end else {}
        self.checks += [replace(check, sizes=sizes) for check in found]
        if passed:
            self.cover(given, eager)
        return True

    def is_by_design(self, eager: Observed, actual: Observed) -> bool:
        """Whether what eager raises, if it does, is what the library or the program raises."""
        if eager.raised is None or _same_exception(actual.raised, eager.raised):
            return True
        kind, message = eager.raised
        return any(
            item.type_name == kind and re.fullmatch(_pattern(item.message), message, re.DOTALL)
            for item in self.raises
        )

    def eager(self, given: InputSet, session: Session) -> Observed:
        return observe_eager(self.function, given.args, given.kwargs, session)

    def cover(self, given: InputSet, eager: Observed) -> None:
        """Count the arms of one call. Raises InternalError where the interpreter fails and eager
        does not: then the program is not what it says."""
        args, kwargs = copy.deepcopy((given.args, dict(given.kwargs)))
        inputs = self.subject.inputs(args, kwargs)
        try:
            run(self.program, inputs, self.state, emit=_silent, coverage=self.coverage)
        except (InternalError, CompileError):
            raise
        except Exception as error:
            found = exception_text(error)
            if eager.raised is None or eager.raised[0] != found[0]:
                raise InternalError(
                    "check",
                    f"the reference interpreter raises {_shown(found)}, "
                    f"eager {_shown(eager.raised)}",
                ) from error

    def near(self, given: InputSet, eager: Observed, session: Session) -> list[Observed]:
        """What eager does when inputs change by rounding, each time from the same state. That it
        differs as a library must not is a count of iterations, a chaotic sequence; a little, a
        solution of an ill-conditioned system."""
        found: list[Observed] = []
        for near in near_inputs(given):
            found.append(self.eager(near, session.fork()))
            found[-1].arguments = eager.arguments
        return found


def _pattern(text: Text) -> str:
    """What texts that a template gives look like."""
    return "".join(re.escape(part) if isinstance(part, str) else ".*" for part in text)


#: What may take a model to arms that other inputs do not reach.
_CHANGES: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    torch.neg,
    torch.zeros_like,
    lambda x: x * 16,
    lambda x: x / 16,
    lambda x: x * -16,
    lambda x: x + 1,
)


def _silent(*_: str) -> None:
    """What the interpreter writes has been seen from eager."""


def _compared(
    number: int, actual: Observed, eager: Observed, exact: Observed | None
) -> list[OutputCheck]:
    def fail(reason: str) -> OutputCheck:
        return OutputCheck(-1, number, float("inf"), None, False, reason)

    if actual.failure:
        return [fail(f"the library fails, {actual.failure}")]
    checks: list[OutputCheck] = []
    if not _same_exception(actual.raised, eager.raised):
        return [fail(f"it raises {_shown(actual.raised)}, eager {_shown(eager.raised)}")]
    if not _same_texts(actual.texts, eager.texts):
        checks.append(fail(f"it writes {actual.texts!r}, eager {eager.texts!r}"))
    pairs = ((actual.leaves, eager.leaves), (actual.arguments, eager.arguments))
    for (own, wanted), what in zip(pairs, ("result", "argument"), strict=True):
        if own.keys() != wanted.keys():
            checks.append(fail(f"the {what} has the parts {list(own)}, eager {list(wanted)}"))
            continue
        wide = {} if exact is None else (exact.leaves if what == "result" else exact.arguments)
        rounding = _rounding(wanted, wide)
        for position, (path, value) in enumerate(wanted.items()):
            off = rounding.get(_kind(path), 0.0)
            found = _leaf(position, number, own[path], value, wide.get(path), off)
            if found is not None:
                checks.append(found)
    return checks


def _kind(path: str) -> str:
    """What the numbers at one place of several elements of a list have in common."""
    return re.sub(r"\[\d+\]", "[]", path)


def _rounding(eager: Mapping[str, Any], exact: Mapping[str, Any]) -> dict[str, float]:
    """How far eager is off at most in the numbers of each kind."""
    found: dict[str, float] = {}
    for path, value in eager.items():
        wide = exact.get(path)
        if isinstance(value, float) and isinstance(wide, float):
            found[_kind(path)] = max(found.get(_kind(path), 0.0), abs(value - wide))
    return found


def _leaf(
    position: int, number: int, actual: Any, eager: Any, exact: Any, rounding: float
) -> OutputCheck | None:
    """The check of a tensor or number; of other values only where they differ. `rounding`: how far
    eager is off in numbers of this kind."""
    if isinstance(eager, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            reason = f"a {type(actual).__name__}, eager a tensor"
            return OutputCheck(position, number, float("inf"), None, False, reason)
        exact = exact if isinstance(exact, torch.Tensor) else None
        return _tensor(position, number, actual, eager, exact)
    if isinstance(eager, float) and isinstance(actual, float):
        # Numbers come from float32 tensors more often than not: they are judged as such.
        wide = torch.tensor(exact) if isinstance(exact, float) else None
        found = _tensor(position, number, torch.tensor(actual), torch.tensor(eager), wide)
        rounded = isinstance(exact, float) and is_rounded(actual, exact, rounding)
        return replace(found, passed=True) if rounded and not found.passed else found
    same = type(actual) is type(eager) and actual == eager
    if same or not isinstance(eager, (int, str, bool, type(None))):
        return None
    reason = f"{actual!r}, eager {eager!r}"
    return OutputCheck(position, number, float("inf"), None, False, reason)


def is_rounded(actual: float, exact: float, rounding: float) -> bool:
    """Whether a number is off by no more than what eager makes of numbers of its kind: rounding of
    larger ones that cancelled."""
    return rounding <= _ROUNDING and abs(actual - exact) <= 4 * rounding


def _tensor(
    position: int,
    number: int,
    actual: torch.Tensor,
    eager: torch.Tensor,
    exact: torch.Tensor | None,
) -> OutputCheck:
    check = compare_output(position, number, actual, eager, exact)
    if check.eager_error is not None and not check.eager_error <= _MAX_EAGER_ERROR:
        return compare_output(position, number, actual, eager, None)
    return check


def _all_passed(checks: Iterable[OutputCheck]) -> bool:
    return all(check.passed for check in checks)


def _same_exception(a: tuple[str, str] | None, b: tuple[str, str] | None) -> bool:
    if a is None or b is None:
        return a is b
    return a[0] == b[0] and same_text(a[1], b[1])


def _shown(raised: tuple[str, str] | None) -> str:
    return "nothing" if raised is None else f"{raised[0]}: {raised[1]}"


def _same_texts(a: list[Emitted], b: list[Emitted]) -> bool:
    return len(a) == len(b) and all(
        x[:2] == y[:2] and same_text(x[2], y[2]) for x, y in zip(a, b, strict=True)
    )


def same_text(a: str, b: str) -> bool:
    """Whether two texts read the same, but for last digits of numbers with a point."""
    if a == b:
        return True
    if _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return False
    return all(
        x == y or (("." in x or "e" in x) and _near(float(x), float(y)))
        for x, y in zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    )


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= _TEXT_TOLERANCE * max(abs(a), abs(b), 1e-6)
