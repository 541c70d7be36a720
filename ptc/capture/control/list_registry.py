"""What a machine knows of its lists: whose a content is, lengths, which may be one list at run
time, and which tensors are in lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ptc.capture.control import list_rows, lists, tuples
from ptc.capture.control.element_forms import LongForm
from ptc.capture.control.homes import storage
from ptc.capture.control.list_classes import ListClasses
from ptc.capture.control.list_forms import Form, Unlistable
from ptc.capture.control.list_references import References
from ptc.capture.control.stores import Stores
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import ListVar, TensorVar

if TYPE_CHECKING:
    from ptc.capture.control.dict_iterators import DataDictIterator
    from ptc.capture.control.machine import ControlMachine


class Lists:
    """`lengths` is of this path (a fact table of the machine), by the first variable of a list;
    `sizes` are the symbols of sizes that are read from elements."""

    def __init__(self, vm: ControlMachine) -> None:
        self._vm = vm
        self.lengths: dict[str, Value] = {}
        self.sizes: set[str] = set()
        self._owners: dict[int, Any] = {}
        self.classes = ListClasses()
        self.references = References(vm)
        self.stores = Stores(vm)
        self._numbers: dict[int, Value] = {}
        self._pools: dict[torch.dtype, TensorValue] = {}
        self.rows: dict[int, tuple[Any, Value]] = {}  # the outer list and the index of each
        self._alive: list[Any] = []
        # A row is current if its mark is that of the outer list
        self.marks: dict[str, Value] = {}
        self.row_marks: dict[int, Value] = {}
        # Positions of keys, by the variables that were searched and what was looked for; iterators
        # over dictionaries, by id
        self.found: dict[tuple[Any, ...], DataNumber] = {}
        self.iterators: dict[int, DataDictIterator] = {}
        self.columns: dict[int, tuple[Any, dict[Any, Any]]] = {}  # lists of containers, by id

    # -- owners --------------------------------------------------------------------------------

    def changed(self, value: Any) -> None:
        self._owners[id(value.items)] = value

    def owner(self, items: list[Any]) -> Any:
        """The list value with this content, if it ever changed."""
        return self._owners.get(id(items))

    # -- lengths -------------------------------------------------------------------------------

    def known_length(self, count: int) -> Value:
        """One value for each count: facts are compared by identity."""
        return self._numbers.setdefault(count, ConstantValue(count))

    def forget_lengths(self, name: str | None = None) -> None:
        """The lengths of lists that may be the one called `name` are not known any more; without a
        name, of all."""
        same = self.classes.names(name) if name is not None else self.lengths.keys()
        rest = {key: known for key, known in self.lengths.items() if key not in same}
        if len(rest) != len(self.lengths):
            self._vm.journal.replace_dict(self.lengths, rest)
        kept = {key: at for key, at in self.found.items() if name and key[0] not in same}
        if len(kept) != len(self.found):
            self._vm.journal.replace_dict(self.found, kept)

    def same(self, one: str, other: str) -> None:
        """Two variables may refer to one list."""
        self.classes.same(one, other)

    def may_be_one(self, one: str, other: str) -> bool:
        return other in self.classes.names(one)

    def alone(self, name: str) -> bool:
        """Whether one object has the list, and nothing else refers to it."""
        return self.classes.alone(name)

    # -- new lists -----------------------------------------------------------------------------

    def new(self, form: Form, variables: tuple[ListVar, ...]) -> lists.DataListValue:
        """A list that was made here, and that nothing else refers to."""
        return lists.placed(self._vm, lists.ListState(form, variables))

    @staticmethod
    def reference(form: Form, variables: tuple[ListVar, ...]) -> lists.DataListValue:
        """A list that others refer to, too."""
        return lists.DataListValue(lists.ListState(form, variables))

    def long_variables(self, form: LongForm, value: Value) -> tuple[ListVar, ...]:
        """What goes into lists for a tuple of any length."""
        return tuples.variables_of(self._vm, form, value)

    @staticmethod
    def long_tuple(form: Form, variables: tuple[ListVar, ...]) -> Value:
        """The tuple with these elements."""
        return tuples.DataTupleValue(lists.DataListValue(lists.ListState(form, variables)))

    def refusal(self, why: Unlistable) -> GraphBreak:
        return lists.refusal(self._vm, why)

    # -- rows ----------------------------------------------------------------------------------

    def add_row(self, row: Any, owner: Any, index: Value) -> None:
        name = owner.state.name
        if name not in self.marks:
            self._vm.journal.put(self.marks, name, list_rows.mark())
        self._vm.journal.put(self.row_marks, id(row), self.marks[name])
        self.rows[id(row)] = (owner, index)
        self._alive.append(row)

    def is_current(self, row: Any, name: str) -> bool:
        known = self.marks.get(name)
        return known is not None and self.row_marks.get(id(row)) is known

    def wrote_row(self, row: Any, name: str) -> None:
        """What other rows show may be out of date."""
        self.forget_rows(name)
        self.lose_rows(name, row)
        self._vm.journal.put(self.marks, name, list_rows.mark())
        self._vm.journal.put(self.row_marks, id(row), self.marks[name])

    def forget_rows(self, name: str | None = None) -> None:
        """Elements have other positions, or are other ones. Without a name: of all lists, those
        that objects are in among them."""
        if name is None:
            self.stores.forget()
        same = self.classes.names(name) if name is not None else self.marks.keys()
        rest = {key: known for key, known in self.marks.items() if key not in same}
        if len(rest) != len(self.marks):
            self._vm.journal.replace_dict(self.marks, rest)

    def lose_rows(self, name: str | None = None, but: Any = None) -> None:
        """Rows of lists that may be the one called `name`, or of all, are not to be read."""
        same = self.classes.names(name) if name is not None else None
        for row in self._alive:
            if row is but or type(row) is not list_rows.RowValue:
                continue
            if same is None or self.rows[id(row)][0].state.name in same:
                self._vm.journal.assign(row, "__class__", list_rows.TakenList)

    def widen(self, owner: Any, value: Value) -> None:
        """Make a list wide enough for an element."""
        lists.widened(self._vm, owner, value)

    # -- tensors in lists ----------------------------------------------------------------------

    def tensor(self, value: TensorValue) -> TensorVar:
        """The variable of a tensor that goes into a list."""
        var = self._vm.tensor_variable(value, dense=True)
        self._vm.may_share(self._pool(value), [value])
        return var

    def shares(self, value: TensorValue) -> None:
        """A tensor came out of a list: it may be any that went into one."""
        self._vm.may_share(value, [self._pool(value)])

    def _pool(self, like: TensorValue) -> TensorValue:
        dtype = like.fake.dtype
        if dtype not in self._pools:
            self._pools[dtype] = TensorValue(
                self._vm.fakes.empty([1], dtype, like.fake.device), None
            )
        return self._pools[dtype]

    def pools(self) -> set[int]:
        """The storages that stand for all tensors in lists."""
        return {storage(pool.fake) for pool in self._pools.values()}

    def clear(self) -> None:
        tables: tuple[Any, ...] = (
            self.lengths, self._owners, self._pools, self.rows, self._alive, self.marks,
            self.row_marks, self.found, self.iterators, self.columns,
        )  # fmt: skip
        for table in tables:
            table.clear()
