"""Generators whose next value comes at a place that data decides: they are run to their end when
they are iterated over, into a list. That is the same as long as they print and raise nothing, so
that nothing tells when they ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptc.capture.control.forks import Dead
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.frame import Frame
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue
from ptc.capture.values.iterators import GeneratorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def is_collected(vm: ControlMachine, generator: GeneratorValue) -> bool:
    """Whether the generator is to be run to its end, and has not begun."""
    known = generator.frame.code in vm.state.known.collected
    return known and generator.state == GeneratorValue.CREATED


def settled(vm: ControlMachine, value: Value) -> Value:
    """For a library function that takes all of an iterable: the list of what a generator yields."""
    attempt, owner, found = vm.collected_now
    if value is owner and attempt is vm.attempt:
        return found  # settled before in this instruction
    if isinstance(value, GeneratorValue) and value.rest is not None:
        return value.rest
    if isinstance(value, GeneratorValue) and is_collected(vm, value):
        return collect(vm, value)
    return value


def iterator(vm: ControlMachine, generator: Value) -> Value:
    """What `next` takes an element from: of a generator that is run to its end, the iterator over
    its list."""
    if not isinstance(generator, GeneratorValue):
        return generator
    if generator.rest is None and is_collected(vm, generator):
        vm.journal.assign(generator, "rest", vm.iterate(collect(vm, generator)))
    return generator if generator.rest is None else generator.rest


def collect(vm: ControlMachine, generator: GeneratorValue) -> Value:
    """A list of all that the generator yields."""
    frame = generator.frame
    found = ListValue([])
    vm.collected_now = (vm.attempt, generator, found)
    said = vm.writer.texts
    vm.collecting[frame] = found
    vm.journal.record(frame.restore, frame.save())
    vm.journal.assign(generator, "state", GeneratorValue.FINISHED)
    try:
        vm.execute(frame)
    except Dead:
        raise GraphBreak(
            "PTC-B006",
            f"{generator.describe()} goes different ways depending on data, and has no end",
            "yield from a loop that ends",
        ) from None
    finally:
        del vm.collecting[frame]
    if vm.writer.texts != said:
        raise GraphBreak(
            "PTC-B006",
            f"{generator.describe()} goes different ways depending on data, and prints or raises",
            "print, or test for errors, in the loop over it",
        )
    return found


def take(vm: ControlMachine, frame: Frame) -> bool:
    """The value on the stack is what the frame yields: keep it, if all of them are wanted."""
    found = vm.collecting.get(frame)
    if found is None:
        return False
    vm.call(vm.getattr(found, "append"), [frame.pop()])
    frame.push(ConstantValue(None))
    return True
