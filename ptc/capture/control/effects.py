"""Effects on the outside world, in order: text that is printed or logged, and exceptions that end
the program.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from ptc.capture.control.forks import Answer, Attempt, Dead
from ptc.capture.control.questions import Fork, impossible
from ptc.capture.control.text import shown, text_of
from ptc.capture.errors import GraphBreak, Raised
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.exceptions import ExceptionValue
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.texts import joined
from ptc.graph.control import Body, Emit, Formatted, If, NumberKind, Raise, Switch
from ptc.hosting.effects import NOT_SUPPORTED

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def emit_raise(vm: ControlMachine, raised: Raised) -> None:
    """End the program with an exception that nothing catches."""

    def emit() -> None:
        value = vm.settle(raised.value)
        assert isinstance(value, ExceptionValue)
        location = value.raised_at[-1] if value.raised_at else None
        text = text_of(vm, vm.str(value))
        vm.writer.add(Raise(qualified(value.klass), text, location))

    _in_arms(vm, emit, ())


def _in_arms(vm: ControlMachine, emit: Callable[[], None], answers: tuple[Answer, ...]) -> None:
    """Emit something outside of any instruction, in an arm for each answer to what it asks."""
    mark = vm.journal.mark()
    outer, vm.attempt = vm.attempt, Attempt(answers, vm.emitted_effects)
    try:
        emit()
    except Fork as fork:
        question = fork.question
        selector = question.selector(vm)
        vm.writer.flush()
        with vm.keeping_results():
            vm.journal.rollback(mark)
        bodies = [Body() for _ in range(question.count)]
        excluded = impossible(question, vm)
        for answer, body in enumerate(bodies):
            inner = vm.journal.mark()
            if answer not in excluded:
                with vm.writer.inside(body):
                    question.assume(vm, answer)
                    _in_arms(vm, emit, (*answers, (question.key(), answer)))
            vm.journal.rollback(inner)
        stack = vm.stack_locations()
        location = stack[-1] if stack else None
        if selector.kind is NumberKind.BOOL:
            vm.writer.add(If(selector, bodies[0], bodies[1], location, "raise"))
        else:
            vm.writer.add(Switch(selector, tuple(bodies), location, "raise"))
    except Raised as instead:  # by the `__str__` of the exception's class
        emit_raise(vm, instead)
    except Dead:
        pass
    finally:
        vm.attempt = outer


def not_supported(vm: ControlMachine, what: str) -> NoReturn:
    """End this path, whatever handlers are around it: Python would go on, which the captured
    program cannot."""
    stack = vm.stack_locations()
    location = stack[-1] if stack else None
    vm.writer.add(Raise(NOT_SUPPORTED, (what,), location))
    where = f" at {location}" if location is not None else ""
    vm.notes[f"a run ends with {NOT_SUPPORTED} where it meets this{where}: {what}"] = None
    raise Dead


def print_call(vm: ControlMachine, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`print(...)` to stdout or stderr."""
    separator = _option(kwargs, "sep", " ")
    end = _option(kwargs, "end", "\n")
    channel = _channel(kwargs)
    parts: list[str | Formatted] = []
    for number, arg in enumerate(args):
        parts += [separator] if number else []
        parts += text_of(vm, shown(vm, arg))
    text = text_of(vm, joined((*parts, end)))
    vm.writer.add(Emit(channel, text, location=vm.stack_locations()[-1]))
    return ConstantValue(None)


def warn(vm: ControlMachine, message: Value, category: Value | None) -> bool:
    """`warnings.warn(...)`"""
    message = vm.settle(message)
    if isinstance(message, ExceptionValue):
        cls = message.cls
    elif category is None or category.cls is type(None):
        cls = UserWarning
    else:
        cls = vm.settle(category).constant()
    text = text_of(vm, vm.str(message))
    vm.writer.add(Emit("warning", text, qualified(cls), vm.stack_locations()[-1]))
    return True


def log(
    vm: ControlMachine, level: int, logger: str, args: list[Value], kwargs: dict[str, Value]
) -> bool:
    """A record of a logger that is for this level."""
    for name in ("exc_info", "stack_info"):
        given = kwargs.get(name)
        if given is not None and vm.truth(given):
            raise GraphBreak(
                "PTC-B003", "a traceback is logged", "log the exception's text instead"
            )
    text, values = vm.str(args[0]), [vm.settle(value) for value in args[1:]]
    if values:
        single = len(values) == 1 and isinstance(values[0], DictValue)
        text = vm.percent(text, values[0] if single else vm.tuple(values))
    label = f"{logging.getLevelName(level)}:{logger}"
    vm.writer.add(Emit("log", text_of(vm, text), label, vm.stack_locations()[-1]))
    return True


def qualified(cls: type) -> str:
    """A class's name with its module, unless it is a builtin."""
    module = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
    return module + cls.__qualname__


def _option(kwargs: dict[str, Value], name: str, default: str) -> str:
    value = kwargs.get(name)
    if value is None or value.constant() is None:
        return default
    return value.constant()


def _channel(kwargs: dict[str, Value]) -> str:
    file = kwargs.get("file")
    if file is None or (file.is_constant() and file.constant() is None):
        return "stdout"
    real = file.real()
    if real is sys.stdout:
        return "stdout"
    if real is sys.stderr:
        return "stderr"
    raise GraphBreak("PTC-B003", "print to a file of the program's own", "print to stdout")
