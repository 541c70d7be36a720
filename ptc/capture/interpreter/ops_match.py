"""Opcodes of the `match` statement."""

from __future__ import annotations

import collections.abc
from typing import Any

from ptc.capture.code import Instruction
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.machine import Machine
from ptc.capture.interpreter.opcode_table import opcode
from ptc.capture.values.base import Value
from ptc.capture.values.callables import ClassValue
from ptc.capture.values.constants import ConstantValue

# Classes whose single positional pattern is the subject itself
_SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


@opcode("GET_LEN")
def get_len(vm: Machine, frame: Frame, ins: Instruction) -> None:
    frame.push(vm.length(frame.stack[-1]))  # type: ignore[arg-type]


@opcode("MATCH_SEQUENCE")
def match_sequence(vm: Machine, frame: Frame, ins: Instruction) -> None:
    cls = frame.stack[-1].cls  # type: ignore[union-attr]
    matches = issubclass(cls, collections.abc.Sequence) and not issubclass(
        cls, (str, bytes, bytearray)
    )
    frame.push(ConstantValue(matches))


@opcode("MATCH_MAPPING")
def match_mapping(vm: Machine, frame: Frame, ins: Instruction) -> None:
    cls = frame.stack[-1].cls  # type: ignore[union-attr]
    frame.push(ConstantValue(issubclass(cls, collections.abc.Mapping)))


@opcode("MATCH_KEYS")
def match_keys(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """Push the tuple of values for the tuple of keys on top, or None if one is missing."""
    keys: Any = frame.stack[-1]
    subject: Any = frame.stack[-2]
    values: list[Value] = []
    for key in vm.unpack(keys):
        if not vm.contains(subject, key):
            frame.push(ConstantValue(None))
            return
        values.append(vm.getitem(subject, key))
    frame.push(vm.tuple(values))


@opcode("MATCH_CLASS")
def match_class(vm: Machine, frame: Frame, ins: Instruction) -> None:
    """(subject, class, keyword names) -> tuple of attributes, or None."""
    names = [name.constant() for name in vm.unpack(frame.pop())]
    cls, subject = frame.pop(), frame.pop()
    frame.push(_match(vm, subject, cls, ins.arg or 0, names))


def _match(vm: Machine, subject: Value, cls: Value, positional: int, names: list[str]) -> Value:
    if not isinstance(cls, ClassValue):
        raise vm.type_error("called match pattern must be a class")
    if not issubclass(subject.cls, cls.klass_object):
        return ConstantValue(None)
    values: list[Value] = []
    if positional:
        if cls.klass_object in _SELF_MATCHING and not hasattr(cls.klass_object, "__match_args__"):
            values.append(subject)
        else:
            found = vm.getattr_or_none(cls, "__match_args__")
            arguments = [] if found is None else [a.constant() for a in vm.unpack(found)]
            if len(arguments) < positional:
                raise vm.type_error(
                    f"{cls.klass_object.__name__}() accepts {len(arguments)} positional "
                    f"sub-pattern{'' if len(arguments) == 1 else 's'} ({positional} given)"
                )
            names = [*arguments[:positional], *names]
    for name in names:
        value = vm.getattr_or_none(subject, name)
        if value is None:
            return ConstantValue(None)
        values.append(value)
    return vm.tuple(values)
