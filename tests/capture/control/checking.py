"""Small programs with control flow, captured and interpreted or in libraries, against eager."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ptc import pipeline
from ptc.graph.control import ControlProgram
from ptc.hosting import load
from ptc.loader.model import EntryRequest
from tests.zoo.case import Case
from tests.zoo.harness import (
    captured,
    clone,
    compare,
    eager,
    interpreted,
    name_of_reported,
    observe,
)

Function = Callable[..., Any]


def check(function: Function, *inputs: Any) -> None:
    """The program captured from the first input does what eager does, for each input in turn. An
    input that is no tuple is the only argument."""
    case = _case(function, inputs)
    compare(eager(case), interpreted(case))


def run(function: Function, *inputs: Any) -> None:
    """Run the program captured from the first input; for what eager does otherwise."""
    for call in interpreted(_case(function, inputs)):
        if call.raised is not None:
            raise AssertionError(call.raised)


def _case(function: Function, inputs: Iterable[Any]) -> Case:
    given = tuple(args if isinstance(args, tuple) else (args,) for args in inputs)
    name = getattr(function, "__name__", type(function).__name__)
    return Case(name, lambda: function, given)


class Together:
    """Functions captured once each, and built as the entries of one library.

    What libraries have in common takes longest to compile. Each check opens the library anew, so
    that no entry sees what another one left. Functions only: entries share weights by their names.
    """

    def __init__(self, programs: Iterable[tuple[Function, Iterable[Any]]]) -> None:
        self._cases = {function: _case(function, inputs) for function, inputs in programs}
        self._programs: dict[str, ControlProgram] = {}
        self._library: Path | None = None

    @classmethod
    def of(cls, functions: Iterable[Function], *inputs: Any) -> Together:
        """Functions that are all called with the same inputs."""
        return cls((function, inputs) for function in functions)

    def check(self, function: Function) -> None:
        """As `check` above."""
        case = self._cases[function]
        compare(eager(case), interpreted(case, self._program(case)))

    def check_library(self, function: Function, folder: Path) -> None:
        """The function's entry does what eager does, for each input in turn. The first such check
        builds the library in `folder`."""
        case = self._cases[function]
        if self._library is None:
            self._library = self._built(folder)
        entry = load(self._library).entry(case.name)
        compare(eager(case), observe(case, entry, lambda: None, name_of_reported))

    def _program(self, case: Case) -> ControlProgram:
        if case.name not in self._programs:
            self._programs[case.name] = captured(case)
        return self._programs[case.name]

    def _built(self, folder: Path) -> Path:
        programs = {case.name: self._program(case) for case in self._cases.values()}
        requests = [
            EntryRequest(case.name, case.make(), clone(case.inputs[0]))
            for case in self._cases.values()
        ]
        options = pipeline.BuildOptions(output=folder, name="together", check=False)
        with patch.object(pipeline, "capture_entry", lambda request, notes: programs[request.name]):
            report = pipeline.build_library(requests, options)
        assert report is not None
        return report.library
