"""An emitter with the operations that only tests write functions with."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
from types import CodeType, FunctionType

from ptc.capture.code import Emitter, decode, versions
from ptc.capture.code.assemble import Frame, Label, Name, Variable
from ptc.capture.code.decode import SlotKind

_FUTURE_FLAGS = 0x1FE0000  # CO_FUTURE_DIVISION up to CO_FUTURE_ANNOTATIONS
_SIGNATURE_FLAGS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class FullEmitter(Emitter):
    @classmethod
    def like(cls, code: CodeType, *, name: str | None = None) -> FullEmitter:
        """An emitter with the signature, free variables, file and first line of `code`.

        Arguments are plain locals; call `make_cell` for one that is to live in a cell.
        """
        slots = decode(code).slots
        frame = Frame(
            name=name or code.co_name,
            qualname=name or code.co_qualname,
            filename=code.co_filename,
            first_line=code.co_firstlineno,
            arguments=tuple(Variable(slot.name) for slot in slots if slot.is_argument),
            free=tuple(Variable(free, SlotKind.FREE) for free in code.co_freevars),
            positional=code.co_argcount,
            positional_only=code.co_posonlyargcount,
            keyword_only=code.co_kwonlyargcount,
            flags=code.co_flags & (_FUTURE_FLAGS | _SIGNATURE_FLAGS),
        )
        return cls(frame)

    def load_global(self, name: str) -> None:  # -> value
        self._op("LOAD_GLOBAL", Name(name))

    def store_deref(self, name: str) -> None:  # value ->
        self._op("STORE_DEREF", self._celled(name))

    def load_attr(self, name: str) -> None:  # object -> value
        self._op("LOAD_ATTR", Name(name))

    def binary_op(self, operator: str) -> None:  # left right -> value
        self._op("BINARY_OP", versions.BINARY_OPERATORS.index(operator))

    def get_iter(self) -> None:  # iterable -> iterator
        self._op("GET_ITER")

    def copy(self, depth: int) -> None:
        """Push the item at `depth` again; 1 is the top."""
        self._op("COPY", depth)

    def jump(self, label: Label) -> None:
        self._op("JUMP", label)

    def jump_if_false(self, label: Label) -> None:  # value ->
        self._test("POP_JUMP_IF_FALSE", label)

    def jump_if_true(self, label: Label) -> None:  # value ->
        self._test("POP_JUMP_IF_TRUE", label)

    def _test(self, opname: str, label: Label) -> None:
        if versions.PY313:  # `x` must be a bool there
            self._op("TO_BOOL")
        self._op(opname, label)

    def for_iter(self, exhausted: Label) -> None:  # iterator -> iterator item
        """Jump to `exhausted` at the end, where `end_for` must follow the mark at once."""
        self._op("FOR_ITER", exhausted)

    def check_exc_match(self) -> None:  # exception type -> exception bool
        self._op("CHECK_EXC_MATCH")

    def reraise(self, lasti: int = 0) -> None:  # exception ->
        """`lasti`: how far below the exception the saved offset lies; 0: there is none."""
        self._op("RERAISE", lasti)

    def function(self, like: FunctionType) -> FunctionType:
        """A function over `code()` with globals, closure, defaults and annotations of `like`."""
        made = FunctionType(
            self.code(), like.__globals__, like.__name__, like.__defaults__, like.__closure__
        )
        made.__kwdefaults__ = like.__kwdefaults__
        made.__annotations__ = like.__annotations__
        made.__qualname__ = like.__qualname__
        made.__module__ = like.__module__
        made.__doc__ = like.__doc__
        return made
