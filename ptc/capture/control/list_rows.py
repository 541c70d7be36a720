"""Lists of a fixed length in a list whose length data decides.

The outer list keeps their parts in its variables. What is read at an index is a row: a list of
known elements whose changes are written through. An object that was put in would be a second name
for a row: it is taken, and using it by that name is refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import operand
from ptc.capture.control.list_forms import Form, TupleForm, leaves
from ptc.capture.control.list_parts import operands
from ptc.capture.control.states import Place
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.births import now
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue
from ptc.capture.values.objects import Instance
from ptc.graph.control import ListItem

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


def another_name(vm: ControlMachine) -> GraphBreak:
    """Raises Restart where lists in lists as references would do."""
    vm.lists.references.reconsider(True)
    return GraphBreak(
        "PTC-B006",
        "a list that was put into a list whose length data decides is used by another name, or "
        "after another row was written",
        "read it at its index in the outer list where it is used",
    )


class TakenList(Instance):
    """A list that is known only as an element of another. Has the layout of a SequenceValue."""

    __slots__ = ("items", "maxlen")

    def describe(self) -> str:
        return "a list that was put into a list whose length data decides"

    def _refuse(self, vm: ControlMachine, *_: Any) -> Any:
        raise another_name(vm)

    truth = length = getitem = setitem = delitem = contains = iterate = append = _refuse  # type: ignore[assignment]
    assign = attribute = binary = compare = _refuse  # type: ignore[assignment]


def require_untaken(
    vm: ControlMachine, value: Any, cells: dict[Hashable, tuple[Place, Any]]
) -> None:
    """A list goes on by its own name, from a state with these cells."""
    cell = cells.get(Place("attribute", value, "__class__").key())
    if (type(value) if cell is None else cell[1]) is TakenList:
        raise another_name(vm)


class RowValue(ListValue):
    """What is read from the outer list. Where it is in there, the machine's `lists.rows` knows."""

    __slots__ = ()

    def assign(self, vm: ControlMachine, items: list[Value]) -> None:  # type: ignore[override]
        owner, index = vm.lists.rows[id(self)]
        if len(items) != len(self.items):
            vm.lists.references.reconsider(True)
            raise GraphBreak(
                "PTC-B006",
                "the length of a list changes that is in a list whose length data decides",
                "use tuples of one length, or tensors",
            )
        if not vm.lists.is_current(self, owner.state.name):
            raise another_name(vm)
        vm.lists.widen(owner, ListValue(list(items)))
        form = owner.state.form
        assert isinstance(form, TupleForm)
        variables = iter(owner.state.vars)
        for part, new, old in zip(form.parts, items, self.items, strict=True):
            mine = [next(variables) for _ in leaves(part)]
            if new is old:
                continue
            for var, value in zip(mine, operands(vm, part, new), strict=True):
                vm.writer.add(ListItem("set", None, (var, operand(vm, index), value)))
        super().assign(vm, items)
        vm.lists.wrote_row(self, owner.state.name)
        vm.list_changed(owner)

    def append(self, vm: ControlMachine, value: Value) -> None:  # type: ignore[override]
        self.assign(vm, [*self.items, value])

    def compare(self, vm: ControlMachine, op: str, other: Value, reflected: bool) -> Value | None:  # type: ignore[override]
        if not isinstance(other, ListValue) or other.klass is not list or other is self:
            return None
        mine = ListValue(list(self.items))
        its = ListValue(list(other.items))
        return vm.compare(op, its, mine) if reflected else vm.compare(op, mine, its)


def has_rows(form: Form) -> bool:
    return isinstance(form, TupleForm) and form.klass is list


def taken(items: Sequence[Any]) -> list[Any]:
    """The lists among elements that go into a list."""
    return [item for item in items if isinstance(item, ListValue)]


def require_once(
    vm: ControlMachine, rows: Sequence[Any], owner: Any, known: dict[int, tuple[Any, Any]]
) -> None:
    """Lists are kept in place in `owner`, each in one place; `known` has those of others."""
    if len({id(row) for row in rows}) < len(rows):
        raise another_name(vm)
    for row in rows:
        if known.setdefault(id(row), (row, owner))[1] is not owner:
            raise another_name(vm)


def take(vm: ControlMachine, items: Sequence[Any]) -> None:
    """Lists were put in: they are no lists of their own any more."""
    require_once(vm, taken(items), None, {})
    for item in taken(items):
        vm.journal.assign(item, "__class__", TakenList)


def row(vm: ControlMachine, owner: Any, index: Value, parts: list[Value]) -> RowValue:
    result = RowValue(parts)
    vm.lists.add_row(result, owner, index)
    return result


def one_row(vm: ControlMachine, one: Value, other: Value) -> bool | None:
    """`is` of lists in lists; None for all else."""
    if one is other or not all(isinstance(value, (RowValue, TakenList)) for value in (one, other)):
        return None
    raise another_name(vm)


def mark() -> Value:
    """A value that is like no other."""
    return ConstantValue(("row", now()))
