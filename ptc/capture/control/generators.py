"""Generators whose next value comes at a place that data decides: they are run to their end when
they are iterated over, into a list. That is the same as long as they print and raise nothing, so
that nothing tells when they ran, and share nothing that changes with who asks for the elements one
by one, see `ahead`. Library functions that take all of one, or what comes first, run
it themselves, as Python does.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.code import Instruction
from ptc.capture.control import ahead, operands
from ptc.capture.control.forks import Dead, Stops
from ptc.capture.errors import GraphBreak
from ptc.capture.interpreter.calls import builtin, find_handler
from ptc.capture.interpreter.frame import Frame
from ptc.capture.interpreter.machine import RETURNED, YIELDED
from ptc.capture.polyfills import data_lists
from ptc.capture.values.base import Value
from ptc.capture.values.births import now
from ptc.capture.values.choices import ChoiceValue
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import ListValue, SequenceIterator
from ptc.capture.values.iterators import GeneratorValue, IteratorValue

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine


@dataclass(frozen=True, slots=True)
class First:
    """A generator is run up to what it yields first; this is what comes of one that ends."""

    missing: Value


@dataclass(frozen=True, slots=True)
class Each:
    """A function is called with all that a generator yields."""

    function: Value


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop that a generator is run for, see `driving`: its frame, the instruction that asks for
    values, where an iteration ends, and the exception that is being handled around it."""

    frame: Frame
    header: int
    stops: Stops
    handled: Value | None


#: What a generator is run for: a list for all that it yields, the truth that ends it, the above, or
#: a loop.
Wanted = Value | bool | First | Each | Loop


def is_collected(vm: ControlMachine, generator: GeneratorValue) -> bool:
    """Whether the generator is to be run to its end, and has not begun."""
    known = generator.frame.code in vm.state.known.collected
    return known and generator.state == GeneratorValue.CREATED


#: What takes a generator as it is, and goes through nothing.
_TAKE_AS_IT_IS = (
    isinstance, issubclass, callable, hasattr, getattr, setattr, id, repr, list.append, list.insert,
    collections.deque.append, collections.deque.appendleft, dict.__setitem__, dict.setdefault,
    set.add,
)  # fmt: skip


def arguments(vm: ControlMachine, handler: Any, args: list[Value]) -> list[Value]:
    """The arguments of a library function with this handler: see `settled`."""
    args = [vm.settle(arg) for arg in args]
    if handler is not None and handler in map(find_handler, _TAKE_AS_IT_IS):
        return args
    lazy = handler in _lazy_handlers()
    return [settled(vm, arg, lazy=lazy) for arg in args]


@functools.cache
def _lazy_handlers() -> frozenset[Any]:
    """The handlers of what goes through its arguments when it is gone through itself."""
    lazy = [zip, map, filter, enumerate, itertools.chain.from_iterable]
    lazy += [one for one in vars(itertools).values() if isinstance(one, type)]
    return frozenset(map(find_handler, lazy)) - {None}


def settled(vm: ControlMachine, value: Value, *, lazy: bool = False) -> Value:
    """For a library function that goes through an iterable, at once if it is not lazy: the list of
    what a generator yields."""
    if isinstance(value, GeneratorValue) and value.rest is not None:
        return value.rest
    attempt, owner, found = vm.collected_now
    if value is owner and attempt is vm.attempt:
        return found  # settled before in this instruction
    if isinstance(value, GeneratorValue) and is_collected(vm, value):
        return iterator(vm, value) if lazy or _is_resumed(vm, value) else collect(vm, value)
    return value


def _is_resumed(vm: ControlMachine, generator: GeneratorValue) -> bool:
    """Whether what is left of the generator is asked for after some of it was."""
    return generator.frame.code in vm.state.known.resumed


def note_lost(vm: ControlMachine, generator: GeneratorValue) -> None:
    """The generator was asked for more, and data decides where it stands."""
    code, found = generator.frame.code, vm.state.found
    known = code in vm.state.known.collected
    (found.resumed if known else found.collected).add(code)


def iterator(vm: ControlMachine, generator: Value) -> Value:
    """What `next` takes an element from: of a generator that is run to its end, the iterator over
    its list."""
    if not isinstance(generator, GeneratorValue):
        return generator
    if generator.rest is None and is_collected(vm, generator):
        read = ahead.reachable(generator.frame)
        own = ahead.own_iterators(vm, generator.frame)
        mark, moment = vm.journal.mark(), now()
        found = collect(vm, generator)
        ahead.require_no_writes(vm, generator, mark, moment, own)
        ahead.watch(vm, generator, [one for one in read if id(one) not in own])
        vm.journal.assign(generator, "rest", vm.iterate(found))
    return generator if generator.rest is None else generator.rest


def collect(vm: ControlMachine, generator: GeneratorValue) -> Value:
    """A list of all that the generator yields."""
    frame = generator.frame
    found = ListValue([])
    vm.collected_now = (vm.attempt, generator, found)
    said = vm.told_outside
    vm.collecting[frame] = found
    vm.journal.record(frame.restore, frame.save())
    vm.journal.assign(generator, "state", GeneratorValue.FINISHED)

    def refuse() -> None:
        raise GraphBreak(
            "PTC-B006",
            f"{generator.describe()} goes different ways depending on data, and prints or raises",
            "print, or test for errors, in the loop over it",
        )

    try:
        with vm.catching(left=refuse):
            vm.execute(frame)
    except Dead:
        raise GraphBreak(
            "PTC-B006",
            f"{generator.describe()} goes different ways depending on data, and has no end",
            "yield from a loop that ends",
        ) from None
    finally:
        del vm.collecting[frame]
    if vm.told_outside != said:
        refuse()
    return found


def take(vm: ControlMachine, frame: Frame) -> int | None:
    """What comes of a yield: the value is kept, if all of them are wanted."""
    found = vm.collecting.get(frame)
    if found is None:
        return YIELDED
    value = frame.stack[-1]
    assert isinstance(value, Value)
    match found:
        case bool():
            if vm.truth(value) == found:
                frame.returned = ConstantValue(True)
                return RETURNED
            frame.pop()
        case First():
            frame.returned = frame.pop()
            return RETURNED
        case Each(function):
            frame.pop()
            vm.call(function, [value])
        case _:
            assert isinstance(found, Value)
            frame.pop()
            vm.call(vm.getattr(found, "append"), [value])
    frame.push(ConstantValue(None))
    return None


def note_end(vm: ControlMachine, frame: Frame, instruction: Instruction) -> None:
    """The frame returns or yields: what comes of a generator that came to its end."""
    found = vm.collecting.get(frame)
    if found is None or not instruction.opname.startswith("RETURN_"):
        return
    if isinstance(found, First):
        frame.returned = found.missing
    elif isinstance(found, bool):
        frame.returned = ConstantValue(None)


# -- library functions that take all --------------------------------------------------------------

#: Which argument they take all of, before anything that can be told from outside.
_TAKES_ALL: dict[int, int] = {
    id(function): 0
    for function in (
        list, tuple, set, frozenset, dict, sum, min, max, sorted, collections.deque, math.fsum,
        math.prod,
    )
} | {id(str.join): 1}  # fmt: skip
#: Those that are traced for lists, but not for what else may be iterated over.
_TAKES_LISTS = {id(str.join)}
_EXTENDS = {
    id(function): data_lists.extend_by_generator
    for function in (list.extend, collections.deque.extend)
} | {
    id(function): data_lists.added_generator
    for function in (list.__iadd__, collections.deque.__iadd__)
}
_GOES_THROUGH = {enumerate: data_lists.numbered, map: data_lists.mapped, iter: None}
_TRUTHS = {id(any): data_lists.any_yielded, id(all): data_lists.all_yielded}
_EXTREMES = {id(min): data_lists.smallest_yielded, id(max): data_lists.largest_yielded}


class CallWithout(Value):
    """A call whose argument in the middle is still to be given."""

    __slots__ = ("after", "before", "function", "named")
    native_call = True

    def __init__(
        self, function: Value, before: list[Value], after: list[Value], named: dict[str, Value]
    ) -> None:
        self.source = None
        self.function = function
        self.before = before
        self.after = after
        self.named = named

    @property
    def cls(self) -> type:
        return functools.partial

    def call(self, vm: ControlMachine, args: list[Value], kwargs: dict[str, Value]) -> Value:  # type: ignore[override]
        return vm.call(self.function, [*self.before, *args, *self.after], self.named)


def taking_call(
    vm: ControlMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """The call of a library function with a generator that is run to its end, or of `isinstance`
    with one of several values, which is not asked for; None for all others."""
    if function is isinstance and len(args) == 2 and isinstance(args[0], ChoiceValue):
        return operands.is_instance(vm, args[0], args[1])
    if function is filter and len(args) == 2 and not kwargs:
        return vm.call(vm.wrap_fixed(data_lists.filtered), args)
    if function is next and args:
        return _next(vm, vm.settle(args[0]), args[1:])
    if function in _GOES_THROUGH and args:
        found = _going_through(vm, function, args, kwargs)
        if found is not None:
            return found
    if id(function) in _EXTENDS and len(args) == 2:
        return _extended(vm, _EXTENDS[id(function)], args[0], vm.settle(args[1]))
    place = 0 if id(function) in _TRUTHS else _TAKES_ALL.get(id(function))
    if place is None or len(args) <= place:
        return None
    value = vm.settle(args[place])
    if (
        id(function) in _TAKES_LISTS
        and vm.has_data_length(value)
        and isinstance(value, (IteratorValue, SequenceIterator))
    ):
        rest = CallWithout(vm.wrap_fixed(function), args[:place], args[place + 1 :], kwargs)
        return vm.call(vm.wrap_fixed(data_lists.listed), [rest, value])
    if isinstance(value, GeneratorValue) and value.rest is not None:
        args = [*args[:place], value.rest, *args[place + 1 :]]
        return vm.call(vm.wrap_fixed(function), args, kwargs)
    if not isinstance(value, GeneratorValue) or not is_collected(vm, value):
        return None
    if id(function) in _TRUTHS:
        polyfill = _TRUTHS[id(function)]
        return None if _is_resumed(vm, value) else vm.call(vm.wrap_fixed(polyfill), [value])
    if id(function) in _EXTREMES:
        if len(args) > 1:
            return None
        if "key" in kwargs:
            polyfill = _EXTREMES[id(function)]
            return vm.call(vm.wrap_fixed(polyfill), [value], kwargs)
    rest = CallWithout(vm.wrap_fixed(function), args[:place], args[place + 1 :], kwargs)
    return vm.call(vm.wrap_fixed(data_lists.taken), [rest, value])


def _going_through(
    vm: ControlMachine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """What goes through a generator step by step, written in Python; None for all others."""
    values = [vm.settle(arg) for arg in args]
    place = 1 if function is map else 0
    value = values[place] if len(values) > place else None
    if not isinstance(value, GeneratorValue) or not is_collected(vm, value):
        return None
    if _is_resumed(vm, value) or value.frame.code in vm.state.known.undriven:
        return None
    if function is iter:
        return value if len(values) == 1 else None
    if function is map and len(values) > 2:
        return None
    return vm.call(vm.wrap_fixed(_GOES_THROUGH[function]), values, kwargs)


def _extended(vm: ControlMachine, polyfill: Any, target: Value, value: Value) -> Value | None:
    """A list gets what a generator yields; None for all others."""
    if not isinstance(value, GeneratorValue) or not is_collected(vm, value):
        return None
    return None if _is_resumed(vm, value) else vm.call(vm.wrap_fixed(polyfill), [target, value])


def _next(vm: ControlMachine, value: Value, default: list[Value]) -> Value | None:
    """`next` of a generator that is run at once; None for all others."""
    if not isinstance(value, GeneratorValue) or not is_collected(vm, value):
        return None
    if _is_resumed(vm, value):
        return vm.call(vm.wrap_fixed(data_lists.next_of_all), [value, *default])
    if default:
        return _run_first(vm, value, default[0])
    return vm.call(vm.wrap_fixed(data_lists.first_yielded), [value])


@builtin(data_lists.run_into, passes_on=True)
def _run_into(vm: ControlMachine, generator: GeneratorValue, values: Value) -> Value:
    return _run(vm, generator, values)


@builtin(data_lists.run_through, passes_on=True)
def _run_through(vm: ControlMachine, generator: GeneratorValue, function: Value) -> Value:
    _require_no_try(generator)
    return _run(vm, generator, Each(function))


@builtin(data_lists.run_first, passes_on=True)
def _run_first(vm: ControlMachine, generator: GeneratorValue, missing: Value) -> Value:
    _require_no_try(generator)
    return _run(vm, generator, First(missing))


@builtin(data_lists.collect_all)
def _collect_all(vm: ControlMachine, generator: GeneratorValue) -> None:
    iterator(vm, generator)


@builtin(data_lists.run_until, passes_on=True)
def _run_until(vm: ControlMachine, generator: GeneratorValue, wanted: Value) -> Value:
    _require_no_try(generator)
    return _run(vm, generator, wanted.constant())


def _require_no_try(generator: GeneratorValue) -> None:
    if any(i.opname == "YIELD_VALUE" and i.handler for i in generator.frame.instructions):
        raise GraphBreak(
            "PTC-B006",
            f"{generator.describe()} goes different ways depending on data, and is left in a `try`",
            "go through it in a loop",
        )


def _run(vm: ControlMachine, generator: GeneratorValue, found: Wanted) -> Value:
    frame = generator.frame
    vm.collecting[frame] = found
    vm.journal.record(frame.restore, frame.save())
    left = isinstance(found, (bool, First))
    state = GeneratorValue.LEFT if left else GeneratorValue.FINISHED
    vm.journal.assign(generator, "state", state)
    try:
        vm.execute(frame)
    finally:
        del vm.collecting[frame]
    assert frame.returned is not None
    return frame.returned
