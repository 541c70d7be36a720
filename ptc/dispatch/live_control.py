"""Programs with control flow over the real objects of a call, for `ptc.compile`.

A captured program has weights of its own and sessions that keep state. Here it is given the live
ones: every weight becomes an input, which is read and written where it lies. What it prints, logs,
warns of and raises comes back with the place and the class that it had in the user's code.
"""

from __future__ import annotations

import ast
import builtins
import logging
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ptc.capture.api import CapturedCall
from ptc.capture.control.entry import replaced_inputs
from ptc.capture.values.exceptions import new_exception
from ptc.graph.control import (
    Body,
    ControlProgram,
    Emit,
    If,
    Item,
    Raise,
    Segment,
    Switch,
    While,
)
from ptc.graph.program import InputKind, Node, ProgramInput, Structure
from ptc.graph.structure import named_type, unflatten
from ptc.hosting.effects import NOT_SUPPORTED, NotSupported, UsersException, exception_of
from ptc.support.diagnostics import Location
from ptc.support.tracebacks import traceback_at


@dataclass(slots=True)
class LiveProgram:
    """A program whose inputs are all given at the call, but for the buffers that it replaces.
    `marks` are its effects: the texts of the program's own labels and names count them."""

    program: ControlProgram
    replaced: tuple[str, ...]
    marks: list[Emit | Raise]
    classes: Mapping[str, type]
    registries: dict[str, dict[Any, Any]] = field(default_factory=dict[str, dict[Any, Any]])

    # -- effects -------------------------------------------------------------------------------

    def emit(self, channel: str, label: str, text: str) -> None:
        """Do what the user's line does with its text."""
        if not label.isdecimal():
            (sys.stderr if channel == "stderr" else sys.stdout).write(text)
            return
        mark = self.marks[int(label)]
        assert isinstance(mark, Emit)
        place = mark.location or Location("<captured>", 0)
        if channel == "log":
            _log(mark.label, text, place)
        elif channel == "warning":
            category: Any = self.classes[mark.label]
            warnings.warn_explicit(
                text, category, place.file, place.line, registry=self._registry(place.file)
            )
        else:
            (sys.stderr if channel == "stderr" else sys.stdout).write(text)

    def _registry(self, file: str) -> dict[Any, Any]:
        """Where Python notes which warnings of this file were shown."""
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == file:
                return vars(module).setdefault("__warningregistry__", {})
        return self.registries.setdefault(file, {})

    def exception(self, name: str, message: str) -> BaseException:
        """The exception that the mark of this number raises, with the user's line."""
        if not name.isdecimal():
            return exception_of(name, message)
        mark = self.marks[int(name)]
        assert isinstance(mark, Raise)
        if mark.type_name == NOT_SUPPORTED:
            error: BaseException = NotSupported(message)
            error.add_note("without control_flow=True, ptc.compile leaves this to Python")
        else:
            error = _raised(self.classes[mark.type_name], mark.type_name, message)
        return error.with_traceback(traceback_at((mark.location,) if mark.location else ()))

    # -- results -------------------------------------------------------------------------------

    def result(self, outputs: list[Any], variant: int) -> Any:
        program = self.program
        structure = program.variants[variant] if program.variants else program.result
        return None if structure is None else unflatten(structure, outputs)


def live_program(call: CapturedCall) -> LiveProgram:
    """Raises CompileError for a result or a category of warnings whose class has no name."""
    program = call.program
    replaced = replaced_inputs(program)
    for structure in (*program.variants, *([program.result] if program.result else [])):
        _require_classes(structure)
    rewriter = _Rewriter(frozenset(replaced))
    body = rewriter.body(program.body)
    inputs = tuple(rewriter.input(described) for described in program.inputs)
    classes: dict[str, type] = dict(call.exceptions)
    for mark in rewriter.marks:
        if isinstance(mark, Raise) and mark.type_name not in classes:
            if mark.type_name != NOT_SUPPORTED:
                classes[mark.type_name] = _class_of(mark.type_name)
        elif isinstance(mark, Emit) and mark.channel == "warning":
            classes[mark.label] = _class_of(mark.label)
    live = replace(program, body=body, inputs=inputs)
    return LiveProgram(live, replaced, rewriter.marks, classes)


def _class_of(name: str) -> type:
    return named_type(name) if "." in name else getattr(builtins, name)


def _require_classes(structure: Structure) -> None:
    if isinstance(structure, Node):
        if structure.type_name:
            named_type(structure.type_name)
        for child in structure.children:
            _require_classes(child)


def _raised(cls: type, name: str, message: str) -> BaseException:
    if issubclass(cls, KeyError):  # shows the repr of its key
        with suppress(ValueError, SyntaxError):
            key = ast.literal_eval(message)
            if repr(key) == message:
                return new_exception(cls, key)
    if cls.__module__ == "builtins":
        return exception_of(name, message)
    error = new_exception(cls, message) if message else new_exception(cls)
    if str(error) != message:
        return UsersException(name, message)
    return error


def _log(label: str, text: str, place: Location) -> None:
    level, _, name = label.partition(":")
    number = logging.getLevelNamesMapping().get(level, logging.INFO)
    logger = logging.getLogger(None if name in ("", "root") else name)
    if logger.isEnabledFor(number):
        record = logger.makeRecord(
            logger.name, number, place.file, place.line, "%s", (text,), None, "forward"
        )
        logger.handle(record)


class _Rewriter:
    """Copies a tree: effects get numbers, weights become inputs."""

    def __init__(self, replaced: frozenset[str]) -> None:
        self.marks: list[Emit | Raise] = []
        self._replaced = replaced
        self._segments: dict[int, Segment] = {}

    def input(self, described: ProgramInput) -> ProgramInput:
        if described.live is None or described.name in self._replaced:
            return described
        return replace(described, kind=InputKind.USER, live=None)

    def body(self, body: Body) -> Body:
        return Body([self._item(item) for item in body.items])

    def _item(self, item: Item) -> Item:
        match item:
            case Segment():
                return self._segment(item)
            case If():
                return replace(item, then=self.body(item.then), orelse=self.body(item.orelse))
            case Switch():
                return replace(item, arms=tuple(self.body(arm) for arm in item.arms))
            case While():
                return replace(item, body=self.body(item.body))
            case Emit() if item.channel in ("log", "warning"):
                return replace(item, label=self._mark(item))
            case Raise():
                return replace(item, type_name=self._mark(item))
            case _:
                return item

    def _mark(self, item: Emit | Raise) -> str:
        self.marks.append(item)
        return str(len(self.marks) - 1)

    def _segment(self, item: Segment) -> Segment:
        known = self._segments.get(id(item))
        if known is None:
            inputs = tuple(self.input(described) for described in item.program.inputs)
            known = Segment(replace(item.program, inputs=inputs))
            self._segments[id(item)] = known
        return known
