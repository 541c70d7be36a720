"""Variables of a program with control flow while values are made of it: their reading and writing.

Owns the region that is open and the state of variables in it. Knows no items.
"""

from __future__ import annotations

import itertools

from ptc.exporters.regions import Constant, Operation, Primitive, Region, Undefined, Value
from ptc.exporters.regions_prune import AMBIGUOUS
from ptc.exporters.regions_state import Families, State
from ptc.graph.control import NumberVar, Operand, TensorVar, TextVar, Var
from ptc.graph.control_operations import kind_of_number
from ptc.support.diagnostics import Location

ENTRY = "entry of "


def entry_of(variable: TensorVar) -> TensorVar:
    """The memory that an input came in, whatever its variable is later."""
    return TensorVar(f"{ENTRY}{variable.name}", variable.fake)


class Variables:
    """The open region, the state at its end, and the types of all variables met."""

    def __init__(self, families: Families) -> None:
        self._families = families
        self._numbers = itertools.count()
        self._names: dict[str, int] = {}
        self._types: dict[str, Var] = {}
        self._region = Region()
        self._state = State()
        self._where: Location | None = None

    def _value(self, variable: Var) -> Value:
        hint = variable.name.removeprefix(ENTRY)
        count = self._names.get(hint, 0)
        self._names[hint] = count + 1
        return Value(hint if not count else self._free(f"{hint}_{count}"), variable)

    def _free(self, name: str) -> str:
        while name in self._names:
            name += "_"
        self._names[name] = 1
        return name

    def _emit(self, operation: Operation) -> None:
        self._region.operations.append(operation)

    def _constant(self, content: int | float | bool | str) -> Value:
        kind = kind_of_number(content)
        variable = TextVar("text") if kind is None else NumberVar("number", kind)
        value = self._value(variable)
        self._emit(Constant(value, content))
        return value

    def _undefined(self, variable: Var) -> Value:
        value = self._value(variable)
        self._emit(Undefined(value))
        return value

    def _define(self, variable: Var, value: Value) -> None:
        """A variable gets something of its own."""
        place = next(self._numbers)
        self._types.setdefault(variable.name, variable)
        self._state.places[variable.name] = place
        self._state.contents[place] = value

    def _read(self, operand: Var | Operand | str) -> Value:
        if not isinstance(operand, Var):
            return self._constant(operand)
        name = operand.name
        if name.startswith(ENTRY) and name not in self._state.places:
            name = name.removeprefix(ENTRY)
        found = self._state.content(name)
        return found if found is not None else self._undefined(operand)

    def _change(self, name: str, value: Value) -> None:
        """What a variable refers to has new content, for all that refer to it."""
        state, families = self._state, self._families
        place = state.places[name]
        state.contents[place] = value
        held = families.is_held(name)
        for other, names in state.groups().items():
            if other == place:
                continue
            doubtful = frozenset({place, other}) in state.doubts
            if held:
                doubtful |= families.are_one(names[0], name) or families.holds(names[0], name)
            if doubtful:
                old = state.contents[other]
                result = self._value(old.type)
                args: list[Value | None] = [old, value]
                self._emit(Primitive(AMBIGUOUS, names[0], args, [result], self._where))
                state.contents[other] = result
