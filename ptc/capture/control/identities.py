"""Which tensor one is, as a number: where a program asks whether two are one object, and data
decides it.

Owns the numbers of tensors, and which tensors one may be. A number is that of the place where the
tensor is made, with the iteration in which that is. Where no program asks, none is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import operand
from ptc.capture.control.states import Restart
from ptc.capture.errors import GraphBreak
from ptc.capture.values.base import Value
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import NumberKind, NumberVar

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_MOST_PLACES = 2**24


class Identities:
    """`iteration` counts the iterations that loops have begun, on this path; `births` has the place
    and iteration in which each tensor was made, `numbers` the variables of those of which data
    decides which they are."""

    def __init__(self) -> None:
        self.iteration: Value = ConstantValue(0)
        self.births: dict[TensorValue, tuple[int, Value]] = {}
        self.numbers: dict[TensorValue, NumberVar] = {}

    def made(self, value: TensorValue) -> tuple[int, Value]:
        """Note that a tensor is made here, if it is not known yet."""
        return self.births.setdefault(value, (len(self.births) + 1, self.iteration))

    def clear(self) -> None:
        self.births.clear()
        self.numbers.clear()


def enter_iteration(vm: ControlMachine) -> None:
    """What is made from here on is not what an earlier iteration made."""
    if vm.state.known.identities:
        known = vm.homes.identities
        following = vm.binary("+", known.iteration, ConstantValue(1))
        vm.journal.assign(known, "iteration", following)


def are_listed(vm: ControlMachine) -> bool:
    """Whether lists keep the numbers of tensors beside them. Not where the forms of elements were
    learned by an earlier capture, without numbers."""
    known = vm.state.known
    return known.identities and not (known.forms or known.elements or known.stores)


def new_number(vm: ControlMachine, value: TensorValue) -> NumberVar | None:
    """A variable for which of several tensors one is; None where nobody asks."""
    if not vm.state.known.identities:
        return None
    var = NumberVar(vm.writer.name("n"), NumberKind.INT)
    vm.homes.identities.numbers[value] = var
    return var


def number_of(vm: ControlMachine, value: TensorValue) -> Any:
    """Which tensor one is, as an operand."""
    return operand(vm, _number(vm, value))


def _number(vm: ControlMachine, value: TensorValue) -> Value:
    known = vm.homes.identities
    if value in known.numbers:
        return DataNumber(known.numbers[value])
    if value in vm.homes.merged:
        raise GraphBreak(
            "PTC-B018",
            f"whether {value.describe()} is the same object as another one is asked, and it comes "
            "from objects or lists of which data decides how many there are",
            "compare positions, or keep a number beside each tensor",
        )
    place, iteration = known.made(value)
    if value.source is not None:
        return ConstantValue(place)
    return vm.binary(
        "+", vm.binary("*", iteration, ConstantValue(_MOST_PLACES)), ConstantValue(place)
    )


def same_tensor(vm: ControlMachine, one: Value, other: Value) -> bool | None:
    """`one is other` where data decides it; None for all else."""
    if not decided_by_data(vm, one, other):
        return None
    if not vm.state.known.identities:
        vm.state.found.learn_identities()
        raise Restart
    numbers = [_number(vm, one), _number(vm, other)]  # type: ignore[arg-type]
    return vm.truth(vm.compare("==", *numbers))


def _kind(value: TensorValue) -> Any:
    return value.fake.dtype, value.fake.dim(), value.fake.device


def decided_by_data(vm: ControlMachine, one: Value, other: Value) -> bool:
    """Whether two are tensors that may be one object at run time, and may be two."""
    if not isinstance(one, TensorValue) or not isinstance(other, TensorValue) or one is other:
        return False
    return _kind(one) == _kind(other) and not may_be(vm, one).isdisjoint(may_be(vm, other))


def may_be(vm: ControlMachine, value: TensorValue) -> set[TensorValue]:
    """The tensors that one may be at run time."""
    merged = vm.homes.merged
    reached, rest = {value}, [value]
    while rest:
        new = set(merged.get(rest.pop(), ())) - reached
        reached |= new
        rest += new
    return reached


def note_sources(vm: ControlMachine, form: TensorValue, sources: Sequence[TensorValue]) -> None:
    """What stands for several tensors may be these as well."""
    known = vm.homes.merged.get(form)
    if known is not None:
        known += [one for one in sources if one is not form and one not in known]
        vm.note_merged_gradients(form, sources)
