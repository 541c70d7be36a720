"""What is about to be put in a list: a tuple is made definite where no list could keep it, and a
generator is run to its end beforehand.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from ptc.capture.code import Instruction
from ptc.capture.control import generators
from ptc.capture.control.list_forms import Unlistable, form_of
from ptc.capture.interpreter.frame import Frame
from ptc.capture.values.base import Value
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.iterators import GeneratorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_TAKES_ELEMENT = frozenset(
    map(id, (list.append, list.insert, collections.deque.append, collections.deque.appendleft))
)


def definite(vm: ControlMachine, function: Any, args: list[Value]) -> list[Value]:
    """The arguments of a method that puts an element in a list: a tuple with one of several values
    where no list could keep it, such as a number or None, has the one that it is."""
    if id(function) not in _TAKES_ELEMENT or not args or not isinstance(args[-1], TupleValue):
        return args
    try:
        form_of(vm, args[-1])
    except Unlistable:
        return [*args[:-1], definite_parts(vm, args[-1])]
    return args


def prepare(vm: ControlMachine, frame: Frame, instruction: Instruction) -> None:
    """Before `[*generator]`: the list of what it yields in its place. Running it takes steps of its
    own, which no branch of the instruction repeats."""
    if instruction.opname != "LIST_EXTEND":
        return
    generator = frame.stack[-1]
    if isinstance(generator, GeneratorValue) and generators.is_collected(vm, generator):
        frame.stack[-1] = generators.collect(vm, generator)


def definite_parts(vm: ControlMachine, value: Value) -> Value:
    """The value without choices in it."""
    value = vm.settle(value)
    if not isinstance(value, TupleValue):
        return value
    parts = [definite_parts(vm, item) for item in value.items]
    same = all(new is old for new, old in zip(parts, value.items, strict=True))
    return value if same else TupleValue(parts, value.klass)
