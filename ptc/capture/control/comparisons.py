"""What comparisons that were decided say of others of the same two numbers: `n >= 0` that `n < 0`
is not. What `not`, `and` and `or` of truths say of these.

A comparison is the set of the ways in which two numbers may lie that make it true.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """The truth of a number, where what this arm has decided of others leaves no choice."""
    op, operands = vm.definitions.get(var.name, ("", ()))
    if op == "not" and isinstance(operands[0], NumberVar):
        truth = _known(vm, operands[0])
        return None if truth is None else not truth
    if op not in _TRUE_FOR:
        return None
    possible = _possible(vm, operands)
    wanted = _TRUE_FOR[op]
    if possible <= wanted:
        return True
    return False if possible.isdisjoint(wanted) else None


def consequences(vm: ControlMachine, var: NumberVar, truth: bool) -> Iterator[tuple[str, bool]]:
    """The variables that a truth was made of, as far as it says what they are, with their
    truths."""
    op, operands = vm.definitions.get(var.name, ("", ()))
    variables = [one for one in operands if isinstance(one, NumberVar)]
    bools = var.kind is NumberKind.BOOL and all(o.kind is NumberKind.BOOL for o in variables)
    if op == "not":
        truth = not truth
    elif not bools or (op, truth) not in (("and", True), ("or", False)):
        return
    for one in variables:
        yield one.name, truth
        yield from consequences(vm, one, truth)


def _known(vm: ControlMachine, var: NumberVar) -> bool | None:
    truth = vm.known_truths.get(var.name)
    return implied(vm, var) if truth is None else truth


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
