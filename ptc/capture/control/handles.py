"""Objects of which data decides how many there are: handles of entries in the store of their class.

A handle is the number of the entry, which is the object's identity: two handles with one number are
one object. What its attributes are, the store knows (`stores`). A handle never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.wrapping import is_python_class
from ptc.capture.values.base import Value
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.dict_slots import KeyChanges
from ptc.capture.values.mappings import DictValue
from ptc.capture.values.objects import NO_OBJECT, Instance, ObjectValue
from ptc.graph.control import NumberKind, NumberVar

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


class HandleValue(Instance):
    """The object with this number, of exactly this class."""

    __slots__ = ("index",)

    def __init__(self, klass: type, index: DataNumber) -> None:
        super().__init__(klass)
        self.index = index

    @property
    def var(self) -> NumberVar:
        return self.index.var

    def may_be(self, made: HandleValue) -> bool:
        """Whether it may be the object that is being made: not if it was known before that."""
        return self.klass is made.klass and self.index.born >= made.index.born

    def describe(self) -> str:
        return f"an object of class {self.klass.__qualname__}, of which data decides how many exist"

    # -- attributes ----------------------------------------------------------------------------

    def attribute(self, vm: ControlMachine, name: str) -> Value | None:  # type: ignore[override]
        return vm.lists.stores.read(self, name)

    def set_attribute(self, vm: ControlMachine, name: str, value: Value) -> None:  # type: ignore[override]
        vm.lists.stores.write(self, name, value)

    def delete_attribute(self, vm: ControlMachine, name: str) -> None:  # type: ignore[override]
        raise GraphBreak(
            "PTC-B006", f"attribute {name!r} of {self.describe()} is deleted", "set it to None"
        )

    def attribute_names(self, vm: ControlMachine) -> list[str]:  # type: ignore[override]
        return vm.lists.stores.names(self)

    # -- identity ------------------------------------------------------------------------------

    def is_object(self, vm: ControlMachine, other: Value) -> bool | None:  # type: ignore[override]
        same = same_handle(vm, self, other)
        return vm.truth(same) if isinstance(same, Value) else same

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        """By identity, as one number."""
        same = same_handle(vm, self, other) if op in ("==", "!=") else None
        if same is None or not all(map(_has_no_equality, (self, other))):
            return None
        same = same if isinstance(same, Value) else ConstantValue(same)
        return vm.logical_not(same) if op == "!=" else same

    def hash_key(self, vm: Any) -> Any:
        """Asked of what is not known by its identity: see `is_key`."""
        if self.klass.__hash__ is None:
            return vm.hash_by_methods(self)
        raise GraphBreak("PTC-B014", f"the hash of {self.describe()} is not known at capture")


@dataclass(frozen=True, slots=True)
class Keys:
    """Constant keys of a dictionary, in order. `shown` tells True from 1."""

    names: tuple[Any, ...]
    shown: tuple[str, ...]

    @staticmethod
    def of(names: Sequence[Any]) -> Keys:
        return Keys(tuple(names), tuple(map(repr, names)))


class RecordClass(type):
    """What stands for a class where dictionaries are in a store (`records`): those that are made
    at places of one kind. `first` are the keys that the first one was made with."""

    handle: type[HandleValue]
    first: Keys
    changes: KeyChanges  # of all of them

    @staticmethod
    def made(first: Keys) -> RecordClass:
        klass = RecordClass("dict", (dict,), {})
        klass.first = first
        klass.changes = KeyChanges()
        return klass


def objects_of(klass: type) -> str:
    """For messages."""
    if isinstance(klass, RecordClass):
        return "dictionaries"
    return f"objects of class {klass.__qualname__}"


def handle_of(klass: type, index: DataNumber) -> HandleValue:
    """The object with this number in the store of a class."""
    made = RecordClass.handle if isinstance(klass, RecordClass) else HandleValue
    return made(klass, index)


def _has_no_equality(value: Value) -> bool:
    return value.cls.__eq__ is object.__eq__ and value.cls.__ne__ is object.__ne__


def is_key(value: Value) -> bool:
    """Whether a value is a handle that dictionaries and sets know by its identity."""
    if not isinstance(value, HandleValue):
        return False
    return value.klass.__hash__ is object.__hash__ and value.klass.__eq__ is object.__eq__


def same_handle(vm: ControlMachine, one: Value, other: Value) -> Value | bool | None:
    """Whether two handles are of one object; None if one of them is none."""
    if not isinstance(one, HandleValue) or not isinstance(other, HandleValue):
        return None
    if one.klass is not other.klass:
        return False
    return one.var == other.var or vm.compare("==", one.index, other.index)


def one_class(values: Sequence[Value]) -> type | None:
    """The class of which all these are handles; None if there is none."""
    classes = {value.klass if isinstance(value, HandleValue) else None for value in values}
    return classes.pop() if len(classes) == 1 else None


#: What a variable for a number among the alternatives of a choice is of: the kind of the number,
#: or the class of the object that it says which it is.
Kind = NumberKind | type


def kind_of(value: Value) -> Kind | None:
    """None for what is no number of a variable."""
    if isinstance(value, HandleValue):
        return value.klass
    return value.var.kind if isinstance(value, DataNumber) else None


def of_kind(kind: Kind, var: NumberVar) -> DataNumber | HandleValue:
    number = DataNumber(var)
    return number if isinstance(kind, NumberKind) else handle_of(kind, number)


def new_number(vm: ControlMachine, kind: Kind) -> NumberVar:
    number = kind if isinstance(kind, NumberKind) else NumberKind.INT
    return NumberVar(vm.writer.name("n"), number)


def kinds_of(values: Sequence[Value]) -> list[Kind]:
    """Of all numbers among these values."""
    found: dict[Kind, None] = {}
    for value in values:
        for part in value.alternatives if isinstance(value, ChoiceValue) else (value,):
            kind = kind_of(part)
            if kind is not None:
                found[kind] = None
    return list(found)


#: What a store could have: objects of a class, or what is made where a dictionary was.
Storable = type | DictValue


def storable(value: Any) -> Storable | None:
    """The class of an object made during capture that a store can have, or a dictionary: the value,
    one that it may be, or one in a tuple; None if there is none."""
    if isinstance(value, (ChoiceValue, TupleValue)):
        parts = value.items if isinstance(value, TupleValue) else value.alternatives
        return next((klass for klass in map(storable, parts) if klass is not None), None)
    if type(value) is DictValue:
        return value if _may_be_record(value) else None
    if not isinstance(value, ObjectValue) or type(value) is not ObjectValue:
        return None
    made_here = value.source is None and value.obj is NO_OBJECT
    plain = is_python_class(value.klass) and not hasattr(value.klass, "__del__")
    return value.klass if made_here and plain else None


def _may_be_record(value: DictValue) -> bool:
    """Whether a dictionary made during capture has known keys, and nothing else."""
    made_here = value.source is None and value.obj is NO_OBJECT
    plain = made_here and value.klass is dict and not value.attrs
    return plain and all(key.is_constant() for key, _ in value.entries.values())
