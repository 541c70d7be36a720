"""Emitter: builds a code object one stack operation at a time, the same way on every Python
version.

Owns the calling convention (NULLs, PRECALL, KW_NAMES, CALL_KW), TO_BOOL, cells, stack depths and
locations of generated code. It must not know what the code is for.

    e = Emitter.plain(("x",), name="made", filename="user.py")
    e.at(instruction)                            # following code carries that source position
    e.load_const(graph); e.callee()              # the callable on the stack is ready for a call
    e.load_local("x"); e.call(1)                 # -> result on the stack
    e.store_local("y")
    e.load_local("y"); e.return_value()
    code = e.code()

There are the operations that resume and step functions are made of; the rest of such a function is
copied, instruction by instruction (`instruction`, `splice`). Objects of ours are best passed by
`load_const`: any object may be a constant of a code object that is never marshalled.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Generator, Iterable, Sequence
from types import CodeType

from ptc.capture.code import versions
from ptc.capture.code.assemble import (
    Constant,
    Frame,
    Item,
    Label,
    Name,
    Operand,
    Operation,
    Protection,
    Variable,
    assemble,
)
from ptc.capture.code.copying import copy_instruction
from ptc.capture.code.decode import DecodedCode, Instruction, Position, SlotKind
from ptc.capture.code.effects import stack_effect

_FUTURE_FLAGS = 0x1FE0000  # CO_FUTURE_DIVISION up to CO_FUTURE_ANNOTATIONS
_SIGNATURE_FLAGS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

# Operations that push one item and touch nothing below it: a NULL may be put in front of them.
_PLAIN_PUSHES = frozenset(
    {"LOAD_CONST", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_CLOSURE"}
)


class Emitter:
    """See the module docstring. Every method appends code; comments give the stack before ->
    after."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._variables = {v.name: v for v in (*frame.arguments, *frame.free)}
        self._items: list[Item] = []
        self._depth: int | None = 0
        self._largest = 0
        self._position: Position | None = Position(frame.first_line)
        self._protection: Protection | None = None

    @classmethod
    def plain(
        cls,
        arguments: Sequence[str],
        *,
        name: str,
        filename: str,
        line: int = 1,
        free: Sequence[str] = (),
        qualname: str | None = None,
        future_of: CodeType | None = None,
    ) -> Emitter:
        """An emitter for a function of positional arguments, under the `from __future__` imports of
        `future_of`."""
        frame = Frame(
            name=name,
            qualname=qualname or name,
            filename=filename,
            first_line=line,
            arguments=tuple(Variable(argument) for argument in arguments),
            free=tuple(Variable(variable, SlotKind.FREE) for variable in free),
            positional=len(arguments),
            flags=future_of.co_flags & _FUTURE_FLAGS if future_of else 0,
        )
        return cls(frame)

    # Bookkeeping

    @property
    def depth(self) -> int:
        """Stack depth here. Code after a jump or return is unreachable until a known label."""
        if self._depth is None:
            raise ValueError("no code can be emitted here: control never arrives")
        return self._depth

    def at(self, where: Instruction | Position | int | None) -> None:
        """Give the code that follows the source position of an instruction, a position or a
        line."""
        if isinstance(where, Instruction):
            self._position = where.position
        else:
            self._position = Position(where) if isinstance(where, int) else where

    def fresh_local(self, stem: str = "tmp") -> str:
        """A new local variable whose name nothing else uses."""
        number = 0
        while (name := f"{stem}_{number}") in self._variables:
            number += 1
        self.variable(name)
        return name

    def variable(self, name: str, kind: SlotKind = SlotKind.LOCAL) -> Variable:
        """The variable of that name, made on first use."""
        return self._variables.setdefault(name, Variable(name, kind))

    def append(self, operations: Iterable[Operation]) -> None:
        """Append ready-made operations and account for their stack effects."""
        for operation in operations:
            self._account(operation)
            self._items.append(operation)

    def _op(self, opname: str, operand: Operand = None) -> None:
        self.append([Operation(opname, operand, self._position, self._protection)])

    def _account(self, operation: Operation) -> None:
        name, operand = operation.opname, operation.operand
        match operand:
            case int() | Name():
                arg = operand if isinstance(operand, int) else operand.flags
            case _:
                arg = 0
        if isinstance(operand, Label):
            taken, left = stack_effect(name, arg, jump=True)
            self._arrive(operand, self.depth - taken + left)
        taken, left = stack_effect(name, arg)
        self._set_depth(self.depth - taken + left)
        if name in versions.LEAVES_FUNCTION or name in versions.UNCONDITIONAL_JUMPS:
            self._depth = None

    def _set_depth(self, depth: int) -> None:
        if depth < 0:
            raise ValueError("the stack is empty")
        self._depth = depth
        self._largest = max(self._largest, depth)

    def _arrive(self, label: Label, depth: int) -> None:
        if label.depth is None:
            label.depth = depth
        elif label.depth != depth:
            raise ValueError(f"a label is reached with stack depths {label.depth} and {depth}")
        self._largest = max(self._largest, depth)

    # Variables and constants

    def load_local(self, name: str) -> None:  # -> value
        opname = "LOAD_FAST_CHECK" if versions.PY312 else "LOAD_FAST"
        variable = self.variable(name)
        self._op("LOAD_FAST" if variable in self._frame.arguments else opname, variable)

    def move_local(self, name: str) -> None:  # -> value
        """Load a local and unbind it, so that the frame no longer keeps the value alive."""
        self.load_local(name)
        self.delete_local(name)

    def store_local(self, name: str) -> None:  # value ->
        """Also takes a NULL off the stack, which POP_TOP cannot."""
        self._op("STORE_FAST", self.variable(name))

    def delete_local(self, name: str) -> None:
        self._op("DELETE_FAST", self.variable(name))

    def load_const(self, value: object) -> None:  # -> value
        self._op("LOAD_CONST", Constant(value))

    def make_cell(self, name: str) -> None:
        """Put the local's value (or nothing, if unbound) into a new cell; from here on the variable
        is read by `load_deref`."""
        variable = self.variable(name)
        if variable.kind is SlotKind.FREE:
            raise ValueError(f"{name} is a free variable")
        variable.kind = SlotKind.CELL
        self._op("MAKE_CELL", variable)

    def adopt_cell(self, name: str) -> None:
        """The local's value is a cell object: make it the variable's own cell.

        MAKE_CELL comes first although its cell is thrown away: CPython takes the slot for a cell in
        `locals()` and `super()` only if it finds that MAKE_CELL has run.
        """
        self.make_cell(name)
        self.load_deref(name)
        self._op("STORE_FAST", self.variable(name))

    def load_cell(self, name: str) -> None:  # -> cell object
        self._op(versions.LOAD_CELL_OPCODE, self._celled(name))

    def load_deref(self, name: str) -> None:  # -> contents
        self._op("LOAD_DEREF", self._celled(name))

    def _celled(self, name: str) -> Variable:
        variable = self._variables.get(name)
        if variable is None or variable.kind is SlotKind.LOCAL:
            raise ValueError(f"{name} is neither in a cell nor a free variable")
        return variable

    # Objects

    def build_tuple(self, count: int) -> None:  # items -> tuple
        self._op("BUILD_TUPLE", count)

    # Stack

    def push_null(self) -> None:  # -> NULL
        self._op("PUSH_NULL")

    def pop(self) -> None:  # value ->
        self._op("POP_TOP")

    def swap(self, depth: int) -> None:
        """Exchange the top with the item at `depth`, which is at least 2."""
        self._op("SWAP", depth)

    # Calls

    def callee(self) -> None:  # callable -> callable and NULL, in this version's order
        last = self._items[-1] if self._items else None
        match last:
            case _ if versions.NULL_ABOVE_CALLABLE:
                self.push_null()
            case Operation(opname) if opname in _PLAIN_PUSHES:
                self._items.pop()
                self.push_null()
                self._items.append(last)
            case _:
                self.push_null()
                self.swap(2)

    def call(self, positional: int, keywords: Sequence[str] = ()) -> None:
        """After `callee` and the arguments, those of `keywords` last: -> result."""
        count = positional + len(keywords)
        if keywords and versions.HAS_CALL_KW:
            self.load_const(tuple(keywords))
            self._op("CALL_KW", count)
            return
        if keywords:
            self._op("KW_NAMES", Constant(tuple(keywords)))
        if versions.HAS_PRECALL:
            self._op("PRECALL", count)
        self._op("CALL", count)

    def make_function(self, code: CodeType, *, closure: bool = False) -> None:
        """[tuple of cells, if closure] -> function with the running frame's globals."""
        self.load_const(code)
        if versions.MAKE_FUNCTION_HAS_FLAGS:
            self._op("MAKE_FUNCTION", 8 if closure else 0)
            return
        self._op("MAKE_FUNCTION")
        if closure:
            self._op("SET_FUNCTION_ATTRIBUTE", 8)

    # Control

    def label(self) -> Label:
        """A new label, to be jumped to and marked once."""
        return Label()

    def mark(self, label: Label) -> None:
        """Fix the label here. Code that falls through to it must have its stack depth."""
        if self._depth is not None:
            self._arrive(label, self._depth)
        if label.depth is None:
            raise ValueError("nothing is known to reach this label; jump to it first")
        self._depth = label.depth
        self._items.append(label)

    def end_for(self) -> None:
        """What remains of the iterator is taken off the stack."""
        if versions.PY312:
            self._op("END_FOR")
        if versions.PY313:
            self._op("POP_TOP")

    def return_value(self) -> None:  # value ->
        self._op("RETURN_VALUE")

    @contextlib.contextmanager
    def protect(
        self, handler: Label, *, lasti: bool = False, depth: int | None = None
    ) -> Generator[None]:
        """Exceptions of the code emitted inside go to `handler`, with the stack cut to `depth` (its
        depth here) and the exception (below it the instruction's offset, if `lasti`) pushed."""
        outer = self._protection
        kept = self.depth if depth is None else depth
        self._arrive(handler, kept + lasti + 1)
        self._protection = Protection(handler, kept, lasti)
        if versions.UNWINDS_FROM_WORD_BEFORE_CALL:
            self._op("NOP")
        try:
            yield
        finally:
            self._protection = outer

    def push_exc_info(self) -> None:  # exception -> previous exception
        """The exception becomes the current one (`sys.exception()`, `raise` without operand)."""
        self._op("PUSH_EXC_INFO")

    def pop_except(self) -> None:  # previous ->
        self._op("POP_EXCEPT")

    def splice(self, items: Sequence[Item], place: Label) -> None:
        """Jump to `place`, a label of `items`, which are appended as they are, without accounting
        for their stack; nothing can be emitted behind them."""
        if items[0] is not place:
            self._op("JUMP", place)
        self._items.extend(items)
        self._depth = None

    def instruction(
        self,
        source: DecodedCode,
        index: int,
        target: Label | None = None,
        variable: Callable[[int], Variable] | None = None,
    ) -> None:
        """Copy an instruction (with its call unit) from the original, with its source position.

        `variable` says what a slot of the original is here; by default variables are found by name.
        A jump needs the label to go to. A method load becomes a plain load and `callee`, so that
        the stack after it is known.
        """
        outer = self._position
        slots = source.slots
        find = variable or (lambda slot: self.variable(slots[slot].name, slots[slot].kind))
        first, last = source.call_unit(index)
        for position in range(first, last + 1):
            self._copy(source.instructions[position], target, find)
        self._position = outer

    def _copy(
        self, instruction: Instruction, target: Label | None, variable: Callable[[int], Variable]
    ) -> None:
        self._position = instruction.position
        if versions.is_method_load(instruction.opname, instruction.arg):
            name = "LOAD_ATTR" if instruction.opname == "LOAD_METHOD" else instruction.opname
            shift = versions.name_shift(name)
            flags = (instruction.arg or 0) & ((1 << shift) - 1) & ~1
            self._op(name, Name(str(instruction.argval), flags))
            self.callee()
            return
        self.append(copy_instruction(instruction, variable, target, self._protection))

    # Results

    def code(self, *, stack_size: int = 0) -> CodeType:
        """The finished code object. `stack_size`: a larger need of code appended without
        accounting."""
        start = Position(self._frame.first_line)
        prefix = [Operation("RESUME", 0, start)]
        if self._frame.free:
            prefix.insert(0, Operation("COPY_FREE_VARS", len(self._frame.free), None))
        return assemble(self._frame, [*prefix, *self._items], max(self._largest, stack_size))
