"""What a fork asks at run time: a number that selects the arm.

A question is asked while an instruction runs; the machine then runs the instruction again in each
arm with the answer known. `known` finds answers that follow from what an arm has assumed already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy
import torch

from ptc.capture.control.comparisons import consequences, implied
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.graph.control import NumberKind, NumberVar, ReadItem

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine
    from ptc.capture.values.torch_tensor import TensorValue


class Question:
    """Answers are 0 to `count` - 1; of two, 0 is "yes"."""

    count = 2

    def key(self) -> tuple[Any, ...]:
        """The kind of question, and what it is about."""
        raise NotImplementedError

    def is_like(self, vm: ControlMachine, key: tuple[Any, ...]) -> bool:
        """Whether a question with this key may be this one, of variables with other names."""
        return key[0] == self.key()[0]

    def known(self, vm: ControlMachine) -> int | None:
        """The answer, if it need not be asked."""
        return None

    def selector(self, vm: ControlMachine) -> NumberVar:
        """The variable with the answer: a bool of two answers (true: 0), else an int."""
        raise NotImplementedError

    def assume(self, vm: ControlMachine, answer: int) -> None:
        """Note what follows from an answer, in the journal."""


class TensorTruth(Question):
    """`bool(tensor)` of a tensor with one element."""

    def __init__(self, value: TensorValue) -> None:
        self.value = value

    def key(self) -> tuple[Any, ...]:
        return ("tensor",)

    def selector(self, vm: ControlMachine) -> NumberVar:
        if self.value.fake.dtype is not torch.bool:
            number = vm.read_item(self.value)
            assert isinstance(number, DataNumber)
            return vm.bool_variable(number)
        target = NumberVar(vm.writer.name("n"), NumberKind.BOOL)
        vm.writer.add(ReadItem(target, vm.tensor_variable(self.value)))
        return target


class NumberTruth(Question):
    """`bool(number)`."""

    def __init__(self, number: DataNumber) -> None:
        self.number = number

    def key(self) -> tuple[Any, ...]:
        return ("number", self.number.var.name)

    def is_like(self, vm: ControlMachine, key: tuple[Any, ...]) -> bool:
        return key[0] == "number" and _made(vm, key[1]) == _made(vm, self.number.var.name)

    def known(self, vm: ControlMachine) -> int | None:
        truth = vm.known_truths.get(self.number.var.name)
        if truth is None and self.number.chosen is not None:
            selector, indices, _ = self.number.chosen
            possible = vm.possible.get(selector)
            if possible is not None and possible <= indices:
                truth = True
            elif possible is not None and possible.isdisjoint(indices):
                truth = False
        if truth is None:
            truth = implied(vm, self.number.var)
        return None if truth is None else int(not truth)

    def selector(self, vm: ControlMachine) -> NumberVar:
        return vm.bool_variable(self.number)

    def assume(self, vm: ControlMachine, answer: int) -> None:
        vm.journal.put(vm.known_truths, self.number.var.name, answer == 0)
        for name, truth in consequences(vm, self.number.var, answer == 0):
            vm.journal.put(vm.known_truths, name, truth)
        if self.number.chosen is not None:
            selector, *indices = self.number.chosen
            vm.narrow(selector, indices[answer])


class SizeTruth(Question):
    """A condition on symbolic sizes."""

    def __init__(self, condition: sympy.Basic) -> None:
        self.condition = condition

    def key(self) -> tuple[Any, ...]:
        return ("size", self.condition)

    def is_like(self, vm: ControlMachine, key: tuple[Any, ...]) -> bool:
        return key[0] == "size" and _nameless(key[1]) == _nameless(self.condition)

    def known(self, vm: ControlMachine) -> int | None:
        truth = vm.facts.truth(self.condition)
        return None if truth is None else int(not truth)

    def selector(self, vm: ControlMachine) -> NumberVar:
        operand = vm.size_operand(self.condition)
        assert isinstance(operand, NumberVar)
        return operand

    def assume(self, vm: ControlMachine, answer: int) -> None:
        vm.facts.assume(self.condition, answer == 0)


def _made(vm: ControlMachine, name: str) -> tuple[Any, ...]:
    """What a number is computed by, whatever it is computed of."""
    op, operands = vm.definitions.get(name, ("", ()))
    return (op, *(None if isinstance(one, NumberVar) else repr(one) for one in operands))


def _nameless(condition: sympy.Basic) -> sympy.Basic:
    """A condition with all symbols as one."""
    return condition.xreplace(dict.fromkeys(condition.free_symbols, _ANY))


_ANY = sympy.Symbol("any", integer=True)


class Which(Question):
    """Which of its alternatives a choice is."""

    def __init__(self, choice: ChoiceValue) -> None:
        self.choice = choice
        self.count = len(choice.alternatives)

    def key(self) -> tuple[Any, ...]:
        return ("which", self.choice.selector.name)

    def known(self, vm: ControlMachine) -> int | None:
        possible = vm.possible.get(self.choice.selector.name)
        return next(iter(possible)) if possible is not None and len(possible) == 1 else None

    def possible(self, vm: ControlMachine) -> frozenset[int]:
        everything = frozenset(range(self.count))
        return vm.possible.get(self.choice.selector.name, everything)

    def selector(self, vm: ControlMachine) -> NumberVar:
        return self.choice.selector

    def assume(self, vm: ControlMachine, answer: int) -> None:
        vm.narrow(self.choice.selector.name, frozenset({answer}))


class Fork(BaseException):
    """An instruction needs the answer to a question. No Exception, so that a library function that
    catches all of those lets it through."""

    def __init__(self, question: Question) -> None:
        super().__init__(type(question).__name__)
        self.question = question


def impossible(question: Question, vm: Any) -> frozenset[int]:
    """Answers that cannot be, given what the arm assumed."""
    if isinstance(question, Which):
        return frozenset(range(question.count)) - question.possible(vm)
    return frozenset()
