"""What operations of `ListItem` mean on Python's lists. Of `find` also the text, and which operands
it takes.

Takes items and values, knows nothing of programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptc.graph.control import ListItem, ListVar, NumberKind, NumberVar, TextVar
from ptc.graph.control_operations import kind_of_number
from ptc.graph.control_types import differs, var_type
from ptc.graph.set_tables import TABLE_OPERATIONS

#: Operations that give a new list, or are on the table of a set.
LIST_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "lengths": lambda lists: [len(inner) for inner in lists],
    "flat": lambda lists: [value for inner in lists for value in inner],
    "pick": lambda values, places: [values[place] for place in places],
    "filled": lambda values, value: [value] * len(values),
    **{op: known.function for op, known in TABLE_OPERATIONS.items()},
}


def index_of_row(args: Sequence[Any]) -> int | None:
    """The first index at which each of the lists has the element beside it, -1 if there is none;
    None if a NaN is among them, of which Python would look at the identity."""
    wanted = args[1::2]
    if any(map(_lacks_itself, wanted)):
        return None
    first, *rest = args[0::2]
    start = 0
    while True:
        try:
            start = first.index(wanted[0], start)
        except ValueError:
            return -1
        if all(column[start] == value for column, value in zip(rest, wanted[1:], strict=True)):
            return start
        start += 1


def _lacks_itself(value: Any) -> bool:
    """Whether a NaN is in it."""
    return any(map(_lacks_itself, value)) if isinstance(value, list) else value != value


def find_text(args: Sequence[str]) -> str:
    """The operation as Python writes it, from its operands' texts."""
    lists, values = ", ".join(args[0::2]), ", ".join(args[1::2])
    return f"next((i for i, row in enumerate(zip({lists})) if row == ({values},)), -1)"


def fault_of_find(item: ListItem) -> str | None:
    """What is wrong with the types of the operands; None if nothing is."""
    if not item.args or len(item.args) % 2:
        return f"find with {len(item.args)} operands"
    if not isinstance(item.target, NumberVar) or item.target.kind is not NumberKind.INT:
        return "find gives an int"
    for owner, value in zip(item.args[0::2], item.args[1::2], strict=True):
        if not isinstance(owner, ListVar):
            return f"{owner!r} is no list"
        if owner.element is str:
            fits = isinstance(value, TextVar)
        elif isinstance(owner.element, ListVar):
            fits = isinstance(value, ListVar) and not differs(owner.element, value)
        else:
            kind = value.kind if isinstance(value, NumberVar) else kind_of_number(value)
            fits = kind is not None and kind is owner.element
        if not fits:
            return f"{value!r} is not looked for in `{owner.name}`, a {var_type(owner)}"
    return None
