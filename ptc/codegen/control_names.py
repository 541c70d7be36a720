"""Variables of a program with control flow as members of a C++ struct, and operands as C++ text.

Takes the tree, gives each variable's type and name. Knows no statements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ptc.codegen.functions import identifier
from ptc.graph.control import (
    Bind,
    ControlProgram,
    ListVar,
    NumberKind,
    NumberVar,
    Operand,
    Segment,
    TensorVar,
    TextVar,
    Var,
    walk,
)
from ptc.graph.control_parts import variable_of, variables_of
from ptc.graph.program import InputKind, ProgramInput
from ptc.support.diagnostics import InternalError

NUMBER_TYPES = {NumberKind.INT: "int64_t", NumberKind.FLOAT: "double", NumberKind.BOOL: "bool"}
_INT_MIN = -(1 << 63)


def var_type(var: Var) -> str:
    """The C++ type of a variable."""
    if isinstance(var, TensorVar):
        return "Tensor"
    if isinstance(var, NumberVar):
        return NUMBER_TYPES[var.kind]
    if isinstance(var, TextVar):
        return "String"
    element = var.element
    if element is str:
        return "List<String>"
    if isinstance(element, ListVar):
        return f"List<{var_type(element)}>"
    return f"List<{NUMBER_TYPES[element] if isinstance(element, NumberKind) else 'Tensor'}>"


def literal(value: int | float | bool) -> str:
    """A Python number as C++ of exactly its type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not _INT_MIN <= value < -_INT_MIN:
            raise InternalError("codegen", f"the number {value} does not fit 64 bits")
        return "INT64_MIN" if value == _INT_MIN else f"(int64_t){value}"
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return "__builtin_inf()" if value > 0 else "-__builtin_inf()"
    return repr(value)


def is_buffer(program: ControlProgram, described: ProgramInput) -> bool:
    """Whether an input is a tensor of the model that the program writes: a variable."""
    return described.live is not None and described.name in program.written


@dataclass(slots=True)
class Names:
    """The members of a program's struct. Prefixes keep them apart from every other name."""

    types: dict[str, str] = field(default_factory=dict[str, str])  # by variable
    members: dict[str, str] = field(default_factory=dict[str, str])
    symbols: dict[str, str] = field(default_factory=dict[str, str])

    def declare(self, var: Var) -> None:
        if isinstance(var, NumberVar) and var.name in self.symbols:
            return
        self.declare_as(var.name, var_type(var))

    def declare_as(self, name: str, kind: str) -> None:
        known = self.types.setdefault(name, kind)
        if known != kind:
            raise InternalError("codegen", f"the variable {name} is {known} and {kind}")
        self._name(self.members, name, "v_")

    def declare_symbol(self, symbol: str) -> None:
        self._name(self.symbols, symbol, "s_")

    @staticmethod
    def _name(table: dict[str, str], name: str, prefix: str) -> None:
        if name in table:
            return
        base = text = prefix + identifier(name)
        number = 1
        while text in table.values():
            number += 1
            text = f"{base}_{number}"
        table[name] = text

    def of(self, var: Var | str) -> str:
        """The member for a variable, or for a symbol that is used as a number."""
        name = var if isinstance(var, str) else var.name
        return self.members[name] if name in self.members else self.symbols[name]

    def operand(self, value: Operand) -> str:
        return self.of(value) if isinstance(value, NumberVar) else literal(value)

    def references(self) -> list[str]:
        """The members that hold references, tensors first."""
        kinds = [(t != "Tensor", self.members[n]) for n, t in self.types.items()
                 if t in ("Tensor", "String") or t.startswith("List")]  # fmt: skip
        return [member for _, member in sorted(kinds, key=lambda pair: pair[0])]


def names_of(program: ControlProgram) -> Names:
    """Every variable and symbol of `program`."""
    names = Names()
    for symbol in (*program.dims, *program.sizes):
        names.declare_symbol(symbol)
    for item in walk(program.body):
        if isinstance(item, Bind):
            names.declare_symbol(item.symbol)
    for described, value in zip(program.inputs, program.values, strict=True):
        if described.kind is InputKind.USER or is_buffer(program, described):
            names.declare_as(described.name, "Tensor")
        elif described.kind is InputKind.SCALAR:
            names.declare(variable_of(described.name, value))
    for state in (*program.state, *program.references):
        names.declare(state.variable)
    for item in walk(program.body):
        if isinstance(item, Segment):
            for output in item.program.outputs:
                names.declare_as(output.name, "Tensor")
        for var in variables_of(item):
            names.declare(var)
    for result in program.outputs:
        names.declare(result.value)
    return names
