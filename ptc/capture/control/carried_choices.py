"""What a loop carries that is one of several values: which of them, and for the numbers, objects,
tuples, lists and tensors among them variables of their own, which nothing reads where it is
something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptc.capture.control import identities, lists, strings
from ptc.capture.control.carried_lists import CarriedLists, Uncarriable
from ptc.capture.control.handles import (
    HandleValue,
    kind_of,
    kinds_of,
    new_number,
    of_kind,
    storable,
)
from ptc.capture.control.merging_choices import as_tuple, numbers_of, shape_of
from ptc.capture.control.numbers_among import NOTHING, is_of, number_among
from ptc.capture.control.variables import inside_arm
from ptc.capture.values.base import Value
from ptc.capture.values.choices import MISSING, ChoiceValue, alternatives_of
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.texts import is_made, is_text
from ptc.capture.values.torch_tensor import TensorValue
from ptc.graph.control import Assign, Body, Item, NumberKind, NumberVar, Switch, Var

if TYPE_CHECKING:
    from ptc.capture.control.loops import LoopContext
    from ptc.capture.control.machine import ControlMachine

MOST_PEELED = 3  # iterations before what a loop carries has its lasting form
_MOST_TEXTS = 16  # that one variable may be
_FEW_TEXTS = 3  # where each goes on from another one
_MOST_SHAPES = 8  # of tuples, lists and tensors that one location may have
Pair = tuple[Var, Callable[[], Any]]


class CarriedChoices:
    """`form`, `pairs` and `is_form` are those of all that the loop carries; `least` is the lower
    bound of a size that an iteration gives."""

    def __init__(
        self,
        vm: ControlMachine,
        context: LoopContext,
        began: int,
        form: Callable[[Any, Any, str], Value | None],
        pairs: Callable[[Value, Any], list[Pair]],
        is_form: Callable[[Value], bool],
        least: Callable[[Any], int],
        carried_lists: CarriedLists,
    ) -> None:
        self._vm = vm
        self._context = context
        self._began = began
        self._form = form
        self._pairs = pairs
        self._is_form = is_form
        self._least = least
        self._lists = carried_lists

    # -- assignments ---------------------------------------------------------------------------

    def pairs(self, form: ChoiceValue, content: Value) -> list[Pair]:
        """Which alternative it is, and the content of those that have variables."""
        if not isinstance(content, ChoiceValue):
            return self._known_pairs(form, content)
        if all(kind_of(one) is not None or lasting(one) for one in form.alternatives):
            return [
                (form.selector, lambda: self._selector(form, content)),
                *self._numbers(form, content),
            ]
        each = [self._known_pairs(form, one) for one in content.alternatives]
        variables = {var.name: var for pairs in each for var, _ in pairs}
        held: dict[str, Var] = {}

        def source(name: str) -> Var:
            if not held:
                held.update({key: self._vm.variable_like(var) for key, var in variables.items()})
                self._switch(content, each, held)
            return held[name]

        return [(var, lambda name=name: source(name)) for name, var in variables.items()]

    def _switch(self, content: ChoiceValue, each: list[list[Pair]], held: dict[str, Var]) -> None:
        """Give the variables in `held` what each alternative of the content gives them, in an arm
        of its own: what it is made of has no value elsewhere."""
        vm = self._vm
        arms = tuple(Body() for _ in each)
        possible = vm.possible.get(content.selector.name, frozenset(range(len(each))))
        for number, (arm, pairs) in enumerate(zip(arms, each, strict=True)):
            if number not in possible:
                continue
            outer, self._lists.arm = self._lists.arm, arm
            with inside_arm(vm, arm):
                for var, source in pairs:
                    found = source()
                    vm.writer.add(Assign(held[var.name], found))
            self._lists.arm = outer
        vm.writer.add(Switch(content.selector, arms, None, "choice"))

    def _known_pairs(self, form: ChoiceValue, content: Value) -> list[Pair]:
        """Of a value that is known to be one of the alternatives."""
        position = self._position(form, content)
        found: list[Pair] = [(form.selector, lambda: position), *self._numbers(form, content)]
        for mine, its in self.alike(form, content):
            found += self._pairs(mine, its)
        return found

    def _numbers(self, form: ChoiceValue, content: Value) -> list[Pair]:
        """Numbers have a value also where the choice is something else."""
        found: list[Pair] = []
        for mine in form.alternatives:
            kind = kind_of(mine)
            if isinstance(mine, DataNumber) and isinstance(kind, NumberKind):
                found.append((mine.var, lambda kind=kind: number_among(self._vm, content, kind)))
            elif isinstance(mine, HandleValue) and kind is not None:
                numbers = numbers_of(content, kind)
                source = numbers[0].var if numbers else NOTHING[mine.var.kind]
                found.append((mine.var, lambda source=source: source))
        return found

    def alike(self, form: ChoiceValue, content: Value) -> list[tuple[Value, Value]]:
        """What becomes what, of tuples, lists, tensors and strings."""
        found: list[tuple[Value, Value]] = []
        for mine in form.alternatives:
            its = None if lasting(mine) else self._like(content, shape_of(mine))
            if its is not None:
                found.append((mine, its))
        return found

    def binds(self, form: ChoiceValue, each: Callable[[Value], list[Item]]) -> list[Item]:
        """What gives the sizes of tensors values, where the choice is what has them."""
        arms = tuple(Body(each(one)) for one in form.alternatives)
        return [Switch(form.selector, arms, None, "choice")] if any(a.items for a in arms) else []

    def _selector(self, form: ChoiceValue, content: ChoiceValue) -> Any:
        numbers = [self._position(form, value) for value in content.alternatives]
        return self._vm.renumbered(content, numbers)

    def _position(self, form: ChoiceValue, value: Value) -> int:
        return next(i for i, a in enumerate(form.alternatives) if self._same(a, value))

    def _same(self, form: Value, value: Value) -> bool:
        """Whether an alternative of a form is the one for a value."""
        kind = kind_of(form)
        if isinstance(kind, NumberKind):
            return is_of(value, kind)
        if kind is not None:
            return kind_of(value) is kind
        if self._vm.same_alternative(form, value):
            return True
        shape = None if lasting(form) else shape_of(form)
        return shape is not None and shape == shape_of(value)

    @staticmethod
    def _like(value: Value, shape: Any) -> Value | None:
        """The tuple, list, tensor or string of a kind that a value may be."""
        if shape is None:
            return None
        found = next((one for one in alternatives_of(value) if shape_of(one) == shape), None)
        return None if found is None else as_tuple(found) or found

    # -- forms ---------------------------------------------------------------------------------

    def form(self, now: Value, left: Value, what: str) -> Value | None:
        """A lasting form for one of several values; None if `now` is one already."""
        if self._turns_into(now, left):
            raise Uncarriable(self._context, what, klass=storable(left) or storable(now))
        changing = {
            shape
            for one in (*alternatives_of(now), *alternatives_of(left))
            if not lasting(one) and (shape := shape_of(one)) is not None
        }
        alternatives: list[Value] = []
        for value in (*alternatives_of(now), *alternatives_of(left)):
            mine = (as_tuple(value) or value) if shape_of(value) in changing else value
            if not any(self._same(known, mine) for known in alternatives):
                alternatives.append(mine)
        self._require_one_of_a_kind(now, left, changing, what)
        if all(map(is_text, alternatives)) and (
            len(alternatives) > _MOST_TEXTS
            or (len(alternatives) > _FEW_TEXTS and grows_as_text(alternatives))
        ):
            return strings.new(self._vm)
        forms = [self._own(mine, left, what) for mine in alternatives]
        known = isinstance(now, ChoiceValue) and len(alternatives) == len(now.alternatives)
        if known and self._is_form(now) and not any(forms):
            return None
        selector = NumberVar(self._vm.writer.name("n"), NumberKind.INT)
        pairs = zip(alternatives, forms, strict=True)
        return ChoiceValue(selector, tuple(form or mine for mine, form in pairs))

    def _turns_into(self, now: Value, left: Value) -> bool:
        """Whether something becomes something else for good, as None becomes a tensor: it has one
        form behind the first iterations."""
        known = not isinstance(now, ChoiceValue) and not isinstance(left, ChoiceValue)
        return known and not (lasting(now) and lasting(left)) and self._context.peel < MOST_PEELED

    def _require_one_of_a_kind(
        self, now: Value, left: Value, changing: set[Any], what: str
    ) -> None:
        for value in (now, left):
            shapes = [shape_of(one) for one in alternatives_of(value)]
            if len(changing) > _MOST_SHAPES or any(shapes.count(shape) > 1 for shape in changing):
                raise Uncarriable(self._context, what)
        for kind in kinds_of((now, left)):
            if any(len(numbers_of(value, kind)) > 1 for value in (now, left)):
                raise Uncarriable(self._context, what)

    def _own(self, mine: Value, left: Value, what: str) -> Value | None:
        """An alternative in variables of its own; None for one that has them, or lasts."""
        if kind_of(mine) is not None:
            return None if self._is_form(mine) else self._fresh(mine, what)
        if lasting(mine):
            return None
        its = self._like(left, shape_of(mine))
        if self._is_form(mine):
            return None if its is None else self._form(mine, its, what)
        fresh = self._fresh(mine, what)
        if its is None or its is mine:
            return fresh
        return self._form(mine, its, what) or fresh

    def _fresh(self, value: Value, what: str) -> Value:
        """A value in variables of its own."""
        kind = kind_of(value)
        if kind is not None:
            return of_kind(kind, new_number(self._vm, kind))
        if lasting(value):
            return value
        if isinstance(value, TensorValue) and not value.attrs:
            return self._fresh_tensor(value)
        if is_text(value) and is_made(value):
            return strings.new(self._vm)
        if type(value) is TupleValue and not value.attrs:
            return TupleValue([self._fresh(item, what) for item in value.items], value.klass)
        if isinstance(value, ChoiceValue):
            return self._fresh_choice(value, what)
        if lists.is_list(value):
            return self._form(ListValue([]), value, what) or value
        raise Uncarriable(self._context, what, klass=storable(value))

    def _fresh_choice(self, value: ChoiceValue, what: str) -> Value:
        """One of several values in a tuple that is one of several."""
        one = value.alternatives[0]
        form = self.form(one, value, what)
        assert form is not None
        return form

    def _fresh_tensor(self, value: TensorValue) -> Value:
        """Sizes that an iteration gives are sizes of the loop, set together with the tensor."""
        vm = self._vm
        shape = [
            vm.new_size(self._least(size)) if vm.sizes_since(self._began, size) else size
            for size in value.fake.shape
        ]
        result = vm.new_tensor(shape, value.fake.dtype, value.fake.device)
        vm.may_share(result, [value])
        identities.new_number(vm, result)
        return result


def grows_as_text(alternatives: list[Value]) -> bool:
    """Whether the last of several strings goes on from another one."""
    texts = [one.value for one in alternatives if isinstance(one, ConstantValue)]
    if not all(isinstance(text, str) for text in texts) or len(texts) != len(alternatives):
        return False
    last = texts[-1]
    return any(text and len(text) < len(last) and text in last for text in texts)


def lasting(value: Value) -> bool:
    """Whether a value is the same object in every iteration: constants, and what exists outside. A
    number that data decides gets a variable of its own."""
    known = isinstance(value, (ConstantValue, DataNumber, HandleValue)) or value is MISSING
    return known or value.source is not None
