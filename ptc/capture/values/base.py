"""The protocol of symbolic values.

A `Value` stands for a Python object during capture. Its methods implement what CPython does in C
for that kind of object; special methods that a class defines in Python are found first by
`interpreter.semantics`, which then traces them. Handlers call `vm.getattr`, `vm.call`, ... and not
these methods, unless they want the C behaviour.

State rules, for forks and merges: content that can change lives in attributes changed through
`vm.journal` only, so a fork is `mark()` and a return `rollback(mark)`. `merge` says which value
stands for "this one if the condition held, else the other".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ptc.capture.errors import GraphBreak, NotConstant
from ptc.capture.sources import Source, fixed, is_guarded, per_call
from ptc.capture.values.births import now

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine
    from ptc.capture.rebuild import Rebuilder


@dataclass(frozen=True, slots=True)
class MergeRefusal:
    """Two values cannot be merged: duplicate the rest of the program instead."""

    reason: str


class Value:
    """A symbolic value. `source` is set if the object existed before the captured call."""

    __slots__ = ("born", "source")
    born: int

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = object.__new__(cls)
        made.born = now()
        return made

    def __init__(self, source: Source | None = None) -> None:
        self.source = source

    # -- what it is ----------------------------------------------------------------------------

    @property
    def cls(self) -> type:
        """The Python class of the object."""
        raise NotImplementedError

    def constant(self) -> Any:
        """The Python object itself, if it is immutable and fully known; else raise NotConstant."""
        raise NotConstant(self)

    def is_constant(self) -> bool:
        try:
            self.constant()
        except NotConstant:
            return False
        return True

    def real(self) -> Any:
        """The object from outside that this value stands for; raise NotConstant if there is none.
        Its content may be out of date: read only what cannot change."""
        return self.constant()

    def address(self, vm: Machine) -> int:
        """`id(self)` of an object that is there at every call, under a guard; raise NotConstant for
        one that each call makes or brings along."""
        if self.source is not None and per_call(self.source):
            raise NotConstant(self)
        return self.fixed_address(vm)

    def fixed_address(self, vm: Machine) -> int:
        real = self.real()
        if self.source is not None and is_guarded(self.source):
            vm.guard("IS", self.source, fixed(real, type(real).__name__))
        return id(real)

    def describe(self) -> str:
        """For messages: a short noun phrase."""
        where = f" ({self.source})" if self.source is not None else ""
        return f"a value of type {self.cls.__qualname__}{where}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.describe()}>"

    # -- C-level behaviour ---------------------------------------------------------------------

    def truth(self, vm: Machine) -> bool:
        """`bool(self)` for a class without `__bool__` and `__len__` in Python."""
        return True

    def length(self, vm: Machine) -> Value:
        raise vm.type_error(f"object of type '{self.cls.__name__}' has no len()")

    def getitem(self, vm: Machine, key: Value) -> Value:
        raise vm.type_error(f"'{self.cls.__name__}' object is not subscriptable")

    def setitem(self, vm: Machine, key: Value, value: Value) -> None:
        raise vm.type_error(f"'{self.cls.__name__}' object does not support item assignment")

    def delitem(self, vm: Machine, key: Value) -> None:
        raise vm.type_error(f"'{self.cls.__name__}' object doesn't support item deletion")

    def contains(self, vm: Machine, item: Value) -> Value:
        return vm.contains_by_iteration(self, item)

    def iterate(self, vm: Machine) -> Value:
        """`iter(self)`: an iterator value."""
        raise vm.type_error(f"'{self.cls.__name__}' object is not iterable")

    def next(self, vm: Machine) -> Value | None:
        """`next(self)`, None when exhausted."""
        raise vm.type_error(f"'{self.cls.__name__}' object is not an iterator")

    def attribute(self, vm: Machine, name: str) -> Value | None:
        """An attribute that the object's own storage or C type provides, looked up before the
        class's non-data descriptors; None if there is none."""
        return None

    def set_attribute(self, vm: Machine, name: str, value: Value) -> None:
        raise vm.attribute_error(self, name)

    def delete_attribute(self, vm: Machine, name: str) -> None:
        raise vm.attribute_error(self, name)

    def call(self, vm: Machine, args: list[Value], kwargs: dict[str, Value]) -> Value:
        raise vm.type_error(f"'{self.cls.__name__}' object is not callable")

    def binary(self, vm: Machine, op: str, other: Value, reflected: bool) -> Value | None:
        """`self op other` (or `other op self`) for kinds that take part in symbolic arithmetic;
        None: not mine."""
        return None

    def inplace(self, vm: Machine, op: str, other: Value) -> Value | None:
        return None

    def unary(self, vm: Machine, op: str) -> Value | None:
        return None

    def compare(self, vm: Machine, op: str, other: Value, reflected: bool) -> Value | None:
        """A rich comparison for symbolic kinds and for identity-compared ones; None: not mine."""
        return None

    def is_object(self, vm: Machine, other: Value) -> bool | None:
        """`self is other` for kinds of which several values may stand for one object; None: not
        mine."""
        return None

    def convert(self, vm: Machine, to: type) -> Value | None:
        """`int(self)`, `float(self)` or `bool(self)` for symbolic kinds; None: not mine."""
        return None

    def hash_key(self, vm: Machine) -> Any:
        """A host object that hashes and compares as this value does as a dict key."""
        raise GraphBreak("PTC-B014", f"the hash of {self.describe()} is not known at capture")

    # -- forks, merges, rebuilding -------------------------------------------------------------

    def merge(self, vm: Machine, other: Value) -> Value | MergeRefusal:
        """The value that stands for this one in one arm of a branch and `other` in the other."""
        if self is other:
            return self
        if self.is_constant() and other.is_constant() and vm.same_constant(self, other):
            return self
        return MergeRefusal(f"{self.describe()} differs from {other.describe()}")

    def rebuild(self, emit: Rebuilder) -> str:
        """Python code that yields the object in the generated function. Called once a value."""
        raise GraphBreak("PTC-B008", f"{self.describe()} cannot be rebuilt in Python")


class IdentityKey:
    """The dict key of a value that is hashed and compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self.value is other.value


class Null:
    """The NULL that CPython keeps on its stack beside callables. Never a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NULL"


NULL = Null()
