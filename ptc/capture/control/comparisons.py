"""What comparisons that were decided say of others of the same two numbers: `n >= 0` that `n < 0`
is not.

A comparison is the set of the ways in which two numbers may lie that make it true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptc.graph.control import NumberKind, NumberVar, Operand

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_LESS, _EQUAL, _GREATER, _UNORDERED = "<", "=", ">", "nan"
_TRUE_FOR = {
    "lt": frozenset({_LESS}),
    "le": frozenset({_LESS, _EQUAL}),
    "eq": frozenset({_EQUAL}),
    "ne": frozenset({_LESS, _GREATER, _UNORDERED}),
    "ge": frozenset({_GREATER, _EQUAL}),
    "gt": frozenset({_GREATER}),
}
_MIRRORED = {"lt": "gt", "le": "ge", "eq": "eq", "ne": "ne", "ge": "le", "gt": "lt"}


def implied(vm: ControlMachine, var: NumberVar) -> bool | None:
    """The truth of a comparison, where others that this arm has decided leave no choice."""
    op, operands = vm.definitions.get(var.name, ("", ()))
    if op not in _TRUE_FOR:
        return None
    possible = _possible(vm, operands)
    wanted = _TRUE_FOR[op]
    if possible <= wanted:
        return True
    return False if possible.isdisjoint(wanted) else None


def _possible(vm: ControlMachine, operands: tuple[Operand, ...]) -> frozenset[str]:
    left, right = operands
    ways = {_LESS, _EQUAL, _GREATER}
    if _is_float(left) or _is_float(right):
        ways.add(_UNORDERED)
    possible = frozenset(ways)
    for op, mirrored in _MIRRORED.items():
        for name, order in ((op, (left, right)), (mirrored, (right, left))):
            other = vm.computed.get(computation_key(name, order))
            truth = None if other is None else vm.known_truths.get(other.var.name)
            if truth is not None:
                holds = _TRUE_FOR[op]
                possible = possible & holds if truth else possible - holds
    return possible


def _is_float(operand: Operand) -> bool:
    if isinstance(operand, NumberVar):
        return operand.kind is NumberKind.FLOAT
    return isinstance(operand, float)


def computation_key(op: str, operands: tuple[Operand, ...]) -> tuple[object, ...]:
    """The key of a computation: 1, 1.0 and True are different operands, as are 0.0 and -0.0."""
    return (op, *(o if isinstance(o, NumberVar) else repr(o) for o in operands))
