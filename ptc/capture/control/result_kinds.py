"""Results that are lists with elements of several kinds, of objects, or of dictionaries with known
keys: what their structures are made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ptc.capture.control.handles import RecordClass
from ptc.capture.control.list_forms import Form, ObjectForm, OneOfForm, leaves
from ptc.capture.control.lists import DataListValue, not_printed
from ptc.capture.control.records import ORDER
from ptc.capture.program_structure import Describer, type_name
from ptc.capture.values.constants import ConstantValue
from ptc.graph.control import ListItem, ListVar, Var
from ptc.graph.program import Const, Node, Structure

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine
    from ptc.capture.control.stores import Column


class Kinds(Describer):
    """`column` gives a place to a list, `columns` to all that elements of a form have."""

    def __init__(self, vm: ControlMachine) -> None:
        super().__init__(vm)
        self.control = vm
        self._open: list[Any] = []

    def column(self, var: Var, name: str) -> Structure:
        raise NotImplementedError

    def columns(
        self, value: DataListValue, form: Form, variables: Iterator[ListVar], names: Iterator[str]
    ) -> Structure:
        raise NotImplementedError

    def one_of(
        self,
        value: DataListValue,
        form: OneOfForm | ObjectForm,
        variables: Iterator[ListVar],
        names: Iterator[str],
    ) -> Structure:
        """Elements of several kinds: which of them each is, and what those of each kind have."""
        which = self.column(next(variables), next(names))
        known = form.known if isinstance(form, OneOfForm) else form.alternatives
        if not all(isinstance(one, ConstantValue) for one in known):
            raise not_printed(value)
        kinds: list[Structure] = [Const(one.constant()) for one in known]
        for part in form.parts if isinstance(form, OneOfForm) else ():
            kinds.append(self.columns(value, part, variables, names))
        return Node("one of", (which, *kinds))

    def records(
        self, value: DataListValue, klass: RecordClass, numbers: ListVar, names: Iterator[str]
    ) -> Structure:
        """Dictionaries with known keys: what each has under them."""
        if klass in self._open:
            raise not_printed(value)  # they hold dictionaries of their own kind
        self._open.append(klass)
        stores = self.control.lists.stores
        order = stores.column(klass, ORDER)
        assert order is not None and isinstance(order.form, ObjectForm)
        orders = [one.constant().names for one in order.form.alternatives]
        columns: dict[Any, Structure] = {}
        for name in dict.fromkeys(name for each in orders for name in each):
            column = stores.column(klass, name)
            assert column is not None
            picked = self._picked(column, numbers)
            columns[name] = self.columns(value, column.form, picked, names)
        kinds = [Node("dict", tuple(columns[name] for name in one), one) for one in orders]
        self._open.remove(klass)
        if len(kinds) == 1:
            return kinds[0]
        which = self.column(next(self._picked(order, numbers)), next(names))
        return Node("one of", (which, *kinds))

    def objects(
        self, value: DataListValue, klass: type, numbers: ListVar, names: Iterator[str]
    ) -> Structure:
        """Objects of a class: what each has by its attributes' names."""
        if klass in self._open:
            raise not_printed(value)  # they hold objects of their own kind
        self._open.append(klass)
        stores = self.control.lists.stores
        fields: dict[str, Structure] = {}
        for name in stores.attributes(klass):
            column = stores.column(klass, name)
            assert column is not None
            picked = self._picked(column, numbers)
            fields[name] = self.columns(value, column.form, picked, names)
        self._open.remove(klass)
        kind = "dataclass" if hasattr(klass, "__dataclass_fields__") else "object"
        return Node(kind, tuple(fields.values()), tuple(fields), type_name(klass))

    def _picked(self, column: Column, numbers: ListVar) -> Iterator[ListVar]:
        """What the objects with these numbers have, in a list for each part. Of elements that are
        none of them the number is 0, which the store may not have: there is nothing then."""
        vm = self.control
        parts = zip(column.owner.state.vars, leaves(column.form), strict=True)
        for var, leaf in parts:
            padded, target = (ListVar(vm.writer.name("l"), var.element) for _ in range(2))
            vm.writer.add(ListItem("copy", padded, (var,)))
            vm.writer.add(ListItem("append", None, (padded, vm.lists.stores.nothing(leaf))))
            vm.writer.add(ListItem("pick", target, (padded, numbers)))
            yield target
