"""Iterators over dictionaries and sets whose number of entries data decides.

One goes by position, which is where CPython's is for as long as no entry is taken out. `grown` and
`shrunk` say whether entries may have been put in or taken out since it began; where they cannot,
nothing is asked.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.iterators import IteratorValue

if TYPE_CHECKING:
    from ptc.capture.control.dicts import DataDictValue
    from ptc.capture.control.lists import DataListValue
    from ptc.capture.control.machine import ControlMachine
    from ptc.capture.control.sets import DataSetValue

_YES, _NO = ConstantValue(True), ConstantValue(False)
_ONE = ConstantValue(1)


class DataDictIterator(IteratorValue):
    """Over the keys, values or items; `total` is how many there were when it was made."""

    __slots__ = ("backward", "grown", "kind", "mapping", "position", "shrunk", "total")

    def __init__(self, mapping: DataDictValue, kind: str, backward: bool, total: Value) -> None:
        super().__init__()
        self.mapping = mapping
        self.kind = kind
        self.backward = backward
        self.total = total
        self.position: Any = ConstantValue(0)
        self.grown: Value = _NO
        self.shrunk: Value = _NO

    @staticmethod
    def start(
        vm: ControlMachine, mapping: DataDictValue, kind: str, backward: bool
    ) -> DataDictIterator:
        made = DataDictIterator(mapping, kind, backward, vm.length(mapping))
        vm.journal.put(vm.lists.iterators, id(made), made)
        return made

    @property
    def cls(self) -> type:
        view = getattr({}, self.kind)()
        return type(reversed(view)) if self.backward else type(iter(view))

    def note(self, vm: ControlMachine, owner: Value, grown: bool, shrunk: bool) -> None:
        """Note that a dictionary, which may be this one's, has changed."""
        if not self._is_over(vm, owner):
            return
        if grown and self.grown is not _YES:
            vm.journal.assign(self, "grown", _YES)
        if shrunk and self.shrunk is not _YES:
            vm.journal.assign(self, "shrunk", _YES)

    def _is_over(self, vm: ControlMachine, owner: Any) -> bool:
        if owner is self.mapping:
            return True
        keys = getattr(owner, "key_list", None)
        mine = self.mapping.key_list.state.name
        return keys is not None and vm.lists.may_be_one(keys.state.name, mine)

    def next(self, vm: ControlMachine) -> Value | None:  # type: ignore[override]
        ordered = issubclass(self.mapping.klass, collections.OrderedDict)
        if not ordered:
            self._require_unchanged(vm, "dictionary changed size during iteration")
        elif vm.truth(vm.compare("<", self.position, self.total)):
            self._require_unchanged(vm, "OrderedDict mutated during iteration")
        return self._following(vm)

    def _following(self, vm: ControlMachine) -> Value | None:
        if not vm.truth(vm.compare("<", self.position, self.total)):
            return None
        index = self._index(vm)
        found = self._part(vm, index)
        vm.journal.assign(self, "position", vm.binary("+", self.position, _ONE))
        return found

    def _require_unchanged(self, vm: ControlMachine, message: str) -> None:
        if self.grown is _NO and self.shrunk is _NO:
            return
        if vm.truth(vm.compare("!=", vm.length(self.mapping), self.total)):
            raise vm.exception(RuntimeError, message)
        if vm.truth(self.shrunk):
            what = "elements of a set" if self.mapping.klass is set else "entries of a dictionary"
            vm.not_supported(f"{what} are replaced while it is iterated over")

    def _index(self, vm: ControlMachine) -> Value:
        if not self.backward:
            return self.position
        return vm.binary("-", vm.binary("-", self.total, _ONE), self.position)

    def _part(self, vm: ControlMachine, index: Value) -> Value:
        if self.kind == "keys":
            return self.mapping.key_list.element(vm, index)
        value = self.mapping.value_list.element(vm, index)
        if self.kind == "values":
            return value
        return vm.tuple([self.mapping.key_list.element(vm, index), value])

    def element(self, vm: ControlMachine, position: Value) -> Value:
        raise AssertionError("see `next`")


class DataSetIterator(DataDictIterator):
    """Over a set: `ordered` are its elements as they were when it was made, in order."""

    __slots__ = ("ordered",)

    def __init__(self, owner: DataSetValue, total: Value, ordered: DataListValue) -> None:
        super().__init__(owner, "keys", False, total)  # type: ignore[arg-type]
        self.ordered = ordered

    @staticmethod
    def over(vm: ControlMachine, owner: DataSetValue, ordered: DataListValue) -> DataSetIterator:
        made = DataSetIterator(owner, vm.length(owner), ordered)
        vm.journal.put(vm.lists.iterators, id(made), made)
        return made

    @property
    def cls(self) -> type:
        return type(iter(set()))

    def next(self, vm: ControlMachine) -> Value | None:  # type: ignore[override]
        self._require_unchanged(vm, "Set changed size during iteration")
        return self._following(vm)

    def _part(self, vm: ControlMachine, index: Value) -> Value:
        return self.ordered.element(vm, index)
