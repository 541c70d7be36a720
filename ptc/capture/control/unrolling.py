"""Which loops that data may leave early are written out, iteration by iteration: those over a few
elements that are known, or over elements that differ in kind (layers, names).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import is_number
from ptc.capture.interpreter.frame import Frame
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantIterator
from ptc.capture.values.containers import SequenceIterator, SequenceValue
from ptc.capture.values.iterators import EnumerateValue, ReversedValue, ZipValue
from ptc.capture.values.mappings import DictIterator
from ptc.capture.values.torch_tensor import TensorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def unrolls(vm: ControlMachine, frame: Frame, header: int, arrivals: int, most: int) -> bool:
    """Whether the loop with this header is written out, after so many iterations."""
    if frame.instructions[header].opname != "FOR_ITER":
        return False
    iterator = next((item for item in reversed(frame.stack) if isinstance(item, Value)), None)
    left = remaining(iterator)
    if left is None:
        return False
    return arrivals + left <= most or not uniform(iterator)


def remaining(iterator: Any) -> int | None:
    """How many elements are left; None if that is not known."""
    if isinstance(iterator, (SequenceIterator, ReversedValue, ConstantIterator, DictIterator)):
        if not isinstance(iterator.position, int):
            return None
        if isinstance(iterator, ConstantIterator):
            return len(iterator.content) - iterator.position
        if isinstance(iterator, DictIterator):
            return 0 if iterator.position == -1 else iterator.total - iterator.position
        if not isinstance(iterator.sequence, SequenceValue):
            return None
        return len(iterator.rest()) if isinstance(iterator.sequence.items, list) else None
    if isinstance(iterator, EnumerateValue):
        return remaining(iterator.inner)
    if isinstance(iterator, ZipValue):
        counts = [remaining(inner) for inner in iterator.inner]
        known_counts = [count for count in counts if count is not None]
        return min(known_counts) if known_counts and len(known_counts) == len(counts) else None
    return None


def uniform(iterator: Any) -> bool:
    """Whether an iterator's elements are numbers or tensors, which a loop can count through."""
    if isinstance(iterator, (SequenceIterator, ReversedValue)):
        items = iterator.sequence.items
        return all(isinstance(item, TensorValue) for item in items) or all(map(is_number, items))
    if isinstance(iterator, ConstantIterator):
        return isinstance(iterator.content, range)
    if isinstance(iterator, EnumerateValue):
        return uniform(iterator.inner)
    if isinstance(iterator, ZipValue):
        return all(uniform(inner) for inner in iterator.inner)
    return False
