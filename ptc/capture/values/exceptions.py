"""Exception objects of the captured program."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import NotConstant
from ptc.capture.sources import Source
from ptc.capture.values.base import Value
from ptc.capture.values.objects import NO_OBJECT, Instance
from ptc.support.diagnostics import Location
from ptc.support.tracebacks import traceback_at

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder


class ExceptionValue(Instance):
    """An exception. `raised_at` is the user's stack when it was raised first. `native` is the real
    exception if one occurred while capture evaluated a library call."""

    __slots__ = ("args", "cause", "context", "native", "raised_at", "suppress_context")

    def __init__(
        self, klass: type, args: list[Value], source: Source | None = None, native: Any = None
    ) -> None:
        super().__init__(klass, source)
        self.args = args
        self.cause: Value | None = None
        self.context: Value | None = None
        self.suppress_context = False
        self.raised_at: tuple[Location, ...] = ()
        self.native: BaseException | None = native

    def describe(self) -> str:
        return f"an exception {self.message()}"

    def message(self) -> str:
        """`ValueError: text`, as far as it is known."""
        texts: list[str] = []
        for arg in self.args:
            try:
                texts.append(str(arg.constant()))
            except NotConstant:
                texts.append(f"<{arg.cls.__name__}>")
        text = ", ".join(texts)
        return f"{self.klass.__name__}: {text}" if text else self.klass.__name__

    def to_python(self) -> BaseException:
        """A real exception of the same class and arguments, to raise out of capture."""
        if self.native is not None:
            return self.native
        return self.klass(*(arg.constant() for arg in self.args))

    def attribute(self, vm: Machine, name: str) -> Value | None:
        if name == "args":
            return vm.tuple(list(self.args))
        if name == "__cause__":
            return self.cause or vm.const(None)
        if name == "__context__":
            return self.context or vm.const(None)
        if name == "__suppress_context__":
            return vm.const(self.suppress_context)
        if name == "__traceback__":
            return vm.const(None)
        if name == "value" and issubclass(self.klass, StopIteration):
            return self.args[0] if self.args else vm.const(None)
        if name in ("msg", "name", "path") and issubclass(self.klass, ImportError):
            return super().attribute(vm, name) or vm.const(None)
        return super().attribute(vm, name)

    def set_attribute(self, vm: Machine, name: str, value: Value) -> None:
        if name == "args":
            vm.journal.assign(self, "args", vm.unpack(value))
        elif name == "__cause__":
            vm.journal.assign(self, "cause", value)
            vm.journal.assign(self, "suppress_context", True)
        elif name == "__context__":
            vm.journal.assign(self, "context", value)
        elif name == "__suppress_context__":
            vm.journal.assign(self, "suppress_context", vm.truth(value))
        elif name != "__traceback__":
            super().set_attribute(vm, name, value)

    def rebuild(self, emit: Rebuilder) -> str:
        cls = emit.name(self.klass, self.klass.__name__)
        args = "".join(", " + emit.value(arg) for arg in self.args)
        text = f"{emit.name(new_exception, 'new_exception')}({cls}{args})"
        if self.raised_at:
            places = emit.name(self.raised_at, "places")
            text = f"{emit.name(with_traceback, 'with_traceback')}({text}, {places})"
        name = emit.define(self, text)
        if self.obj is NO_OBJECT:
            emit.attributes(self, name)
        if self.context is not None:
            emit.line(f"{name}.__context__ = {emit.value(self.context)}")
        if self.cause is not None:
            emit.line(f"{name}.__cause__ = {emit.value(self.cause)}")
        if self.suppress_context:
            emit.line(f"{name}.__suppress_context__ = True")
        return name


def new_exception(cls: type[BaseException], *args: Any) -> BaseException:
    """An exception without running the initialisers that Python code defines: their effects are
    known. Those in C keep parts of the arguments for themselves (`SystemExit.code`)."""
    error = cls.__new__(cls, *args)
    for base in cls.__mro__:
        initialise = vars(base).get("__init__")
        if initialise is not None and not isinstance(initialise, types.FunctionType):
            initialise(error, *args)
            break
    return error


def with_traceback(error: BaseException, places: tuple[Location, ...]) -> BaseException:
    """The exception as if it had been raised there and caught: CPython's `with` statement relies on
    a handled exception having a traceback."""
    return error.with_traceback(traceback_at(places))
