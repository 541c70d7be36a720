"""Emitter: builds a code object one stack operation at a time, the same way on every Python version.

Owns the calling convention (NULLs, PRECALL, KW_NAMES, CALL_KW), jump directions, TO_BOOL, cells and
locations of generated code. It must not know what the code is for.

    e = Emitter.like(fn.__code__)                # same signature, same free variables
    e.at(instruction)                            # following code carries that source position
    e.load_const(graph); e.callee()              # a callable on the stack becomes ready for a call
    e.load_local("x"); e.call(1)                 # -> result on the stack
    e.store_local("y")
    e.load_local("y"); e.return_value()
    new_fn = e.function(fn)                      # globals, closure and defaults of fn

Objects of ours are best passed by `load_const` (any object may be a constant of a code object that is
never marshalled); `load_global` reads the user's module and builtins.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from collections.abc import Sequence

from ptc.capture.code.decode import DecodedCode, Instruction, Position


class Label:
    """A place in the code, fixed by `Emitter.mark`."""


class Emitter:
    """See the module docstring. Every method appends code; stack effects are noted as before -> after."""

    @classmethod
    def like(cls, code: CodeType, *, name: str | None = None) -> Emitter:
        """An emitter with the signature, free variables, file and first line of `code`.

        Arguments are plain locals; an argument that `code` keeps in a cell is a local here until
        `make_cell` is called.
        """
        raise NotImplementedError

    @classmethod
    def plain(
        cls, arguments: Sequence[str], *, name: str, filename: str, line: int = 1, free: Sequence[str] = ()
    ) -> Emitter:
        """An emitter for a function of positional arguments."""
        raise NotImplementedError

    def at(self, where: Instruction | Position | int | None) -> None: ...
    def fresh_local(self, stem: str = "tmp") -> str: ...

    # Variables and constants
    def load_local(self, name: str) -> None: ...
    def store_local(self, name: str) -> None: ...
    def delete_local(self, name: str) -> None: ...
    def load_const(self, value: object) -> None: ...
    def load_global(self, name: str) -> None: ...
    def store_global(self, name: str) -> None: ...
    def delete_global(self, name: str) -> None: ...
    def make_cell(self, name: str) -> None: ...  # local becomes a cell holding its value
    def load_cell(self, name: str) -> None: ...  # -> the cell object (own cell or free variable)
    def load_deref(self, name: str) -> None: ...  # -> contents
    def store_deref(self, name: str) -> None: ...

    # Objects
    def load_attr(self, name: str) -> None: ...
    def store_attr(self, name: str) -> None: ...  # value object -> (as STORE_ATTR)
    def delete_attr(self, name: str) -> None: ...
    def load_subscr(self) -> None: ...  # container key -> value
    def store_subscr(self) -> None: ...  # value container key ->
    def delete_subscr(self) -> None: ...
    def build_tuple(self, count: int) -> None: ...
    def build_list(self, count: int) -> None: ...
    def build_set(self, count: int) -> None: ...
    def build_map(self, count: int) -> None: ...  # k1 v1 k2 v2 .. -> dict
    def build_slice(self, count: int) -> None: ...
    def list_extend(self) -> None: ...  # list iterable -> list
    def dict_update(self) -> None: ...  # dict mapping -> dict
    def unpack_sequence(self, count: int) -> None: ...
    def binary_op(self, operator: str) -> None: ...  # "+", "+=", ...
    def compare(self, operator: str) -> None: ...  # "<", "is", "is not", "in", "not in", ...
    def get_iter(self) -> None: ...

    # Stack
    def push_null(self) -> None: ...
    def pop(self) -> None: ...
    def copy(self, depth: int) -> None: ...  # 1 is the top
    def swap(self, depth: int) -> None: ...

    # Calls
    def callee(self) -> None: ...  # callable -> callable and NULL in this version's order
    def call(self, positional: int, keywords: Sequence[str] = ()) -> None: ...
    def call_spread(self, keywords: bool) -> None: ...  # (after callee) args-tuple [kwargs-dict] -> result
    def make_function(self, code: CodeType, closure: bool = False) -> None: ...  # [cells tuple] -> function

    # Control
    def label(self) -> Label: ...
    def mark(self, label: Label) -> None: ...
    def jump(self, label: Label) -> None: ...
    def jump_if_false(self, label: Label) -> None: ...  # value ->
    def jump_if_true(self, label: Label) -> None: ...
    def jump_if_none(self, label: Label) -> None: ...
    def jump_if_not_none(self, label: Label) -> None: ...
    def for_iter(self, exhausted: Label) -> None: ...  # iter -> iter item; end_for must follow the label
    def end_for(self) -> None: ...  # at the label of for_iter
    def return_value(self) -> None: ...
    def raise_value(self) -> None: ...  # exception ->
    def protect(self, handler: Label, *, lasti: bool = False) -> AbstractContextManager[None]: ...
    def push_exc_info(self) -> None: ...
    def check_exc_match(self) -> None: ...
    def pop_except(self) -> None: ...
    def reraise(self, lasti: int = 0) -> None: ...

    def instruction(self, source: DecodedCode, index: int, target: Label | None = None) -> None:
        """Copy an instruction (with its call unit) from the original, with its source position.

        Variables are found by name. A jump needs the label to go to. A method load is made a plain
        load followed by `callee`.
        """
        raise NotImplementedError

    def code(self) -> CodeType:
        raise NotImplementedError

    def function(self, like: FunctionType) -> FunctionType:
        """A function over `code()` with globals, closure, defaults and annotations of `like`."""
        raise NotImplementedError
