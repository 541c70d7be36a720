"""Keys of dictionaries and sets that data decides: which of the known keys one is, found by
comparing it with each; and the comparison of strings with parts that data decides.

A key that is none of the known ones is kept under a `DataKey`, with which later keys are compared
in turn. Owns equality as dictionaries see it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptc.capture.control.arithmetic import computed, int_range, is_number, operand
from ptc.capture.control.handles import is_key, same_handle
from ptc.capture.control.operands import member
from ptc.capture.control.questions import NumberTruth, Which
from ptc.capture.values.base import IdentityKey, Value
from ptc.capture.values.choices import MISSING, ChoiceValue, may_be_missing
from ptc.capture.values.constants import ConstantValue
from ptc.capture.values.containers import LongTupleValue, SequenceValue, TupleValue
from ptc.capture.values.data_numbers import DataNumber
from ptc.capture.values.mappings import DictValue, SetValue
from ptc.capture.values.texts import TextValue, parts_of
from ptc.capture.values.torch_numbers import SymbolicNumber
from ptc.graph.control import Formatted, NumberKind, NumberVar, Text
from ptc.graph.symbols import expression_of

if TYPE_CHECKING:
    from ptc.capture.control.machine import ControlMachine

_BOOL = NumberKind.BOOL
_TRUE, _FALSE = ConstantValue(True), ConstantValue(False)


class DataKey(IdentityKey):
    """The place of a key that data decides among a container's entries."""

    __slots__ = ()


def decided_by_data(key: Value) -> bool:
    if isinstance(key, TupleValue):
        return any(map(decided_by_data, key.items))
    by_data = (DataNumber, SymbolicNumber, TextValue, ChoiceValue, LongTupleValue)
    return isinstance(key, by_data) or is_key(key)


def is_long(key: Value) -> bool:
    """Whether a key is a tuple of unknown length, or has one in it."""
    inside = isinstance(key, TupleValue) and any(map(is_long, key.items))
    return inside or isinstance(key, LongTupleValue)


def key_in(vm: ControlMachine, entries: dict[Any, Any], key: Value) -> Any:
    """Where `key` is, or would be, among the entries of a dictionary or set."""
    key = settled(vm, key)
    by_data = decided_by_data(key)
    unsure = [hashed for hashed in entries if isinstance(hashed, DataKey)]
    if not by_data:
        hashed = vm.hash_key(key)
        if not unsure or (hashed in entries and not _may_be_absent(entries[hashed])):
            return hashed
        unsure = [*([hashed] if hashed in entries else []), *unsure]
    found = _matching(vm, entries, list(entries) if by_data else unsure, key)
    if found is not None:
        return found
    return DataKey(key) if by_data else vm.hash_key(key)


def _matching(
    vm: ControlMachine, entries: dict[Any, Any], places: Sequence[Any], key: Value
) -> Any:
    """The place among these whose key is there and equal to `key`; None if there is none."""
    possible: list[tuple[Any, Match]] = []
    for hashed in places:
        known = _key_at(vm, entries, hashed)
        equal = _FALSE if known is None else equal_keys(vm, known, key)
        match = Match.of(vm, equal, presence(vm, entries.get(hashed)))
        truth = _known(vm, match.holds)
        if truth:
            return hashed
        if truth is None:
            possible.append((hashed, match))
    if not possible:
        return None
    if _covers(vm, entries, [place for place, _ in possible], key):
        if len(possible) == 1:
            return possible[0][0]
        answer = vm.choose(WhichKey(vm, [match for _, match in possible], surely=True))
        return possible[answer][0]
    answer = vm.choose(WhichKey(vm, [match for _, match in possible]))
    return possible[answer][0] if answer < len(possible) else None


def _covers(vm: ControlMachine, entries: dict[Any, Any], places: Sequence[Any], key: Value) -> bool:
    """Whether an int that data decides is certainly one of the keys at these places."""
    bounds = int_range(vm, key) if isinstance(key, DataNumber) else None
    if bounds is None or bounds[1] - bounds[0] >= len(places):
        return False
    there = {place for place in places if type(place) is int and not _may_be_absent(entries[place])}
    return there.issuperset(range(bounds[0], bounds[1] + 1))


def _value_of(entry: Any) -> Any:
    return entry[1] if isinstance(entry, tuple) else entry


def _may_be_absent(entry: Any) -> bool:
    return may_be_missing(_value_of(entry))


def presence(vm: ControlMachine, entry: Any) -> Value:
    """Whether an entry is there, as a bool that data decides."""
    value = _value_of(entry)
    if entry is None or not may_be_missing(value):
        return _TRUE
    there = frozenset(i for i, one in enumerate(value.alternatives) if one is not MISSING)
    return member(vm, value, there)


def settle_presence(vm: ControlMachine, entries: dict[Any, Any]) -> None:
    """Ask of every entry of a dictionary or set that may be missing whether it is there."""
    for hashed in list(entries):
        _is_there(vm, entries, hashed)


def _is_there(vm: ControlMachine, entries: dict[Any, Any], hashed: Any) -> bool:
    """Whether an entry is there, which is asked where it may be missing."""
    entry = entries[hashed]
    if not _may_be_absent(entry):
        return True
    settled = vm.settle(_value_of(entry))
    if settled is MISSING:
        rest = {k: one for k, one in entries.items() if k is not hashed}
        vm.journal.replace_dict(entries, rest)
        return False
    kept = (entry[0], settled) if isinstance(entry, tuple) else settled
    vm.journal.put(entries, hashed, kept)
    return True


def _key_at(vm: ControlMachine, entries: dict[Any, Any], hashed: Any) -> Value | None:
    """The key of an entry. Whether one that data decides is there at all is asked first, because it
    has a value only if it is."""
    if isinstance(hashed, DataKey) and not _is_there(vm, entries, hashed):
        return None
    entry = entries[hashed]
    if isinstance(entry, tuple):
        return entry[0]
    if isinstance(entry, ChoiceValue):
        return next(one for one in entry.alternatives if one is not MISSING)
    return entry


def contained(vm: ControlMachine, keys: Sequence[Value], key: Value) -> bool:
    """Whether a key is one of several, as one question."""
    key = settled(vm, key)
    unknown: list[DataNumber] = []
    for known in keys:
        equal = equal_keys(vm, known, key)
        truth = _known(vm, equal)
        if truth:
            return True
        if truth is None:
            assert isinstance(equal, DataNumber)
            unknown.append(equal)
    if not unknown:
        return False
    return vm.choose(OneOf(vm, unknown)) == 0


def known_elements(vm: ControlMachine, container: Value) -> list[Value] | None:
    """The elements of a container of constants and numbers that are all there; None for others."""
    if isinstance(container, ConstantValue) and isinstance(container.value, (frozenset, tuple)):
        return [ConstantValue(element) for element in container.value]
    elements: list[Value] | None = None
    if isinstance(container, SetValue):
        elements = list(container.elements.values())
    elif isinstance(container, DictValue):
        if any(may_be_missing(value) for _, value in container.entries.values()):
            return None
        container.load_all(vm)
        elements = [key for key, _ in container.entries.values()]
    elif isinstance(container, SequenceValue) and vm.python_method(container, "__iter__") is None:
        elements = list(container.items)
    if elements is None or not all(map(_is_plain, elements)):
        return None
    return elements


def _is_plain(value: Value) -> bool:
    if isinstance(value, TupleValue):
        return all(map(_is_plain, value.items))
    return is_number(value) or parts_of(value) is not None or isinstance(value, ConstantValue)


def settled(vm: ControlMachine, key: Value) -> Value:
    """The key without choices in it."""
    key = vm.settle(key)
    if isinstance(key, TupleValue) and any(
        isinstance(item, (ChoiceValue, TupleValue)) for item in key.items
    ):
        return TupleValue([settled(vm, item) for item in key.items], key.klass)
    return key


def _known(vm: ControlMachine, equal: Value) -> bool | None:
    if isinstance(equal, DataNumber):
        question = NumberTruth(equal)
        # What is known is asked nevertheless: it may be the question that this arm is the answer to
        return None if question.known(vm) is None else vm.choose(question) == 0
    return bool(equal.constant())


@dataclass(frozen=True, slots=True)
class Match:
    """That an entry is the one for a key: `parts` all have to hold."""

    holds: Value
    parts: tuple[DataNumber, ...]

    @staticmethod
    def of(vm: ControlMachine, *tests: Value) -> Match:
        parts = tuple(test for test in tests if isinstance(test, DataNumber))
        return Match(_all_of(vm, list(tests)), parts)

    def assume(self, vm: ControlMachine, holds: bool) -> None:
        assert isinstance(self.holds, DataNumber)
        NumberTruth(self.holds).assume(vm, int(not holds))
        for part in self.parts if holds else ():
            NumberTruth(part).assume(vm, 0)


class OneOf(NumberTruth):
    """Whether one of several comparisons holds. If not, none of them does."""

    def __init__(self, vm: ControlMachine, tests: list[DataNumber]) -> None:
        self.tests = tests
        super().__init__(any_of(vm, tests))

    def assume(self, vm: ControlMachine, answer: int) -> None:
        super().assume(vm, answer)
        if answer:
            for test in self.tests:
                vm.journal.put(vm.known_truths, test.var.name, False)


class WhichKey(Which):
    """Which of several entries is the one for a key: at most one is. The last answer: none."""

    def __init__(self, vm: ControlMachine, matches: list[Match], surely: bool = False) -> None:
        self.matches = matches
        last = len(matches) - surely  # `surely`: one of them is, so that the last need not be asked
        result: Value = ConstantValue(last)
        for place in reversed(range(last)):
            operands = [matches[place].holds, ConstantValue(place), result]
            result = computed(vm, "select", operands, NumberKind.INT)
        assert isinstance(result, DataNumber)
        places = tuple(ConstantValue(place) for place in range(last + 1))
        super().__init__(ChoiceValue(result.var, places))

    def key(self) -> tuple[Any, ...]:
        return (f"which key {self.choice.selector.name}",)

    def possible(self, vm: ControlMachine) -> frozenset[int]:
        possible = super().possible(vm)
        tests = [match.holds for match in self.matches]
        if _known(vm, any_of(vm, tests)):  # type: ignore[arg-type]
            return possible - {len(tests)}
        return possible

    def assume(self, vm: ControlMachine, answer: int) -> None:
        super().assume(vm, answer)
        for place, match in enumerate(self.matches):
            match.assume(vm, place == answer)


def any_of(vm: ControlMachine, tests: Sequence[DataNumber]) -> DataNumber:
    result = tests[0]
    for test in tests[1:]:
        result = computed(vm, "or", [result, test], _BOOL)
    return result


# -- equality -------------------------------------------------------------------------------------


def equal_keys(vm: ControlMachine, one: Value, other: Value) -> Value:
    """Whether two keys are the same to a dictionary: a bool, which data may decide."""
    if one is other:
        return _TRUE
    same = same_handle(vm, one, other)
    if same is not None:
        return same if isinstance(same, Value) else ConstantValue(same)
    if is_number(one) and is_number(other):
        return _flag(vm, vm.compare("==", one, other))
    mine, theirs = _elements(one), _elements(other)
    if isinstance(one, LongTupleValue) or isinstance(other, LongTupleValue):
        long, its = (one, other) if isinstance(one, LongTupleValue) else (other, one)
        both = isinstance(its, LongTupleValue) or _elements(its) is not None
        return vm.compare("==", long, its) if both else _FALSE
    if mine is not None and theirs is not None:
        if len(mine) != len(theirs):
            return _FALSE
        return _all_of(vm, [equal_keys(vm, a, b) for a, b in zip(mine, theirs, strict=True)])
    if parts_of(one) is not None and parts_of(other) is not None:
        return equal_texts(vm, one, other)
    if decided_by_data(one) or decided_by_data(other):
        return _FALSE  # of different kinds
    return ConstantValue(vm.hash_key(one) == vm.hash_key(other))


def _flag(vm: ControlMachine, equal: Value) -> Value:
    """A comparison of sizes as a number that data decides, or a constant where it is known."""
    if not isinstance(equal, SymbolicNumber):
        return equal
    known = vm.facts.truth(expression_of(equal.number))
    if known is not None:
        return ConstantValue(known)
    found = operand(vm, equal)
    return DataNumber(found) if isinstance(found, NumberVar) else ConstantValue(found)


def _elements(value: Value) -> list[Value] | None:
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, ConstantValue) and type(value.value) is tuple:
        return [ConstantValue(item) for item in value.value]
    return None


def _all_of(vm: ControlMachine, tests: list[Value]) -> Value:
    result: Value = _TRUE
    for test in tests:
        if not isinstance(test, DataNumber):
            if not test.constant():
                return _FALSE
        elif isinstance(result, DataNumber):
            result = computed(vm, "and", [result, test], _BOOL)
        else:
            result = test
    return result


def equal_texts(vm: ControlMachine, one: Value, other: Value) -> Value:
    """Whether two strings are equal, where one of them has parts that data decides."""
    mine, theirs = parts_of(one), parts_of(other)
    assert mine is not None and theirs is not None
    if mine == theirs:
        return _TRUE
    if isinstance(one, ConstantValue):
        mine, theirs = theirs, mine
    known: Value | None = None
    if not any(isinstance(part, Formatted) for part in theirs):
        text = "".join(part for part in theirs if isinstance(part, str))
        known = _equal_to_constant(vm, mine, text)
    return vm.text_operation("eq", [one, other]) if known is None else known


#: How numbers are written, of each kind.
_WRITTEN = {
    NumberKind.INT: r"(-?\d+)",
    NumberKind.BOOL: "(True|False)",
    NumberKind.FLOAT: "(.+)",
}
_READ = {NumberKind.INT: int, NumberKind.BOOL: "True".__eq__, NumberKind.FLOAT: float}


def _equal_to_constant(vm: ControlMachine, parts: Text, text: str) -> Value | None:
    """What has to hold of the numbers in a text for it to be this one; None where that is not
    plain."""
    numbers: list[NumberVar] = []
    pattern = ""
    for place, part in enumerate(parts):
        if isinstance(part, str):
            pattern += re.escape(part)
            continue
        following = parts[place + 1] if place + 1 < len(parts) else ""
        number = part.value
        if not isinstance(number, NumberVar) or part.spec or not _ends_before(number, following):
            return None
        pattern += _WRITTEN[number.kind]
        numbers.append(number)
    if len(numbers) > 1 and any(number.kind is NumberKind.FLOAT for number in numbers):
        return None
    matched = re.fullmatch(pattern, text)
    if matched is None:
        return _FALSE
    tests: list[Value] = []
    for number, written in zip(numbers, matched.groups(), strict=True):
        try:
            read: Any = _READ[number.kind](written)  # type: ignore[operator]
        except ValueError:
            return _FALSE
        if str(read) != written:
            return _FALSE  # Python writes this number in another way
        if read != read:
            own = DataNumber(number)
            tests.append(computed(vm, "ne", [own, own], _BOOL))
            continue
        tests.append(computed(vm, "eq", [DataNumber(number), ConstantValue(read)], _BOOL))
    return _all_of(vm, tests)


def _ends_before(number: NumberVar, following: Any) -> bool:
    """Whether it is plain where a number ends in a text."""
    if number.kind is not NumberKind.INT or following == "":
        return True
    return isinstance(following, str) and not following[:1].isdigit()
