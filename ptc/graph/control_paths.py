"""Which names have a value on the paths that lead to a place of a control program.

Paths join, and part again on a number that each of them has set (a bool, or which of several it
was): a name that has a value wherever the number is 2 may be read in the arm where it is. So what
is known of a place is, beside the names with a value, which numbers are known, what of both holds
if a number is so, and which bools are comparisons with a number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

Number = int | bool


@dataclass(frozen=True, slots=True)
class Is:
    """The number `name` has this value."""

    name: str
    value: Number


@dataclass(frozen=True, slots=True)
class OneOf:
    """The number `name` has one of these values."""

    name: str
    values: frozenset[Number]


@dataclass(frozen=True, slots=True)
class Given:
    """`fact` holds if `condition` does."""

    condition: Is
    fact: str | Is | OneOf


#: A string: the name has a value.
Fact = str | Is | Given | OneOf
#: What holds on every path to a place; None: no path leads there.
Defined = frozenset[Fact] | None


class Everywhere(frozenset[Fact]):
    """Names that may be read wherever a path leads: what else holds on the paths is not
    followed."""

    __slots__ = ()


def with_name(defined: Defined, name: str, value: object = None) -> Defined:
    """After `name` got a value; what is known of a number of that name is only `value`."""
    if defined is None or isinstance(defined, Everywhere):
        return defined
    kept: set[Fact] = {fact for fact in defined if not _speaks_of(fact, name)}
    kept.add(name)
    if isinstance(value, int):
        kept.add(Is(name, value))
    return frozenset(kept)


def with_copy(defined: Defined, name: str, source: str) -> Defined:
    """After the number `name` became what `source` is; what that tells the copy tells too."""
    if defined is None or isinstance(defined, Everywhere) or name == source:
        return defined
    copied: set[Fact] = set()
    for fact in defined:
        if isinstance(fact, Is) and fact.name == source:
            copied.add(Is(name, fact.value))
        elif isinstance(fact, OneOf) and fact.name == source:
            copied.add(OneOf(name, fact.values))
        elif isinstance(fact, Given) and fact.condition.name == source:
            copied.add(Given(Is(name, fact.condition.value), fact.fact))
    changed = with_name(defined, name)
    # Nothing that spoke of the old value is carried over
    return None if changed is None else changed | {f for f in copied if not _tells(f, name)}


def with_test(defined: Defined, name: str, number: str, value: Number) -> Defined:
    """After the bool `name` became whether `number` has this value."""
    if defined is None or isinstance(defined, Everywhere):
        return defined
    return defined | {Given(Is(name, True), Is(number, value))}


def without(defined: Defined, names: Collection[str]) -> Defined:
    """After these names lost their values."""
    if defined is None or isinstance(defined, Everywhere) or not names:
        return defined
    return frozenset(
        fact for fact in defined if (fact.fact if isinstance(fact, Given) else fact) not in names
    )


def where(defined: Defined, name: str, value: Number) -> Defined:
    """On the paths where the number `name` has this value, with all that follows."""
    if defined is None or isinstance(defined, Everywhere):
        return defined
    known, sets = set(defined), _values(defined)
    given: dict[Is, list[str | Is | OneOf]] = {}
    for fact in defined:
        if isinstance(fact, Given):
            given.setdefault(fact.condition, []).append(fact.fact)
    new: list[str | Is | OneOf] = [Is(name, value)]
    while new:
        fact = new.pop()
        if fact in known:
            continue
        known.add(fact)
        if isinstance(fact, str):
            continue
        possible = _possible(fact) & sets.get(fact.name, _possible(fact))
        if not possible:
            return None
        sets[fact.name] = possible
        if isinstance(fact, Is):
            new.extend(given.get(fact, []))
        elif len(possible) == 1:
            new.append(Is(fact.name, *possible))
    return frozenset(known)


def meet(a: Defined, b: Defined) -> Defined:
    """Where two paths join."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, Everywhere):
        return a
    return frozenset((a & b) | _conditions(a, b) | _conditions(b, a) | _either(a, b))


def _either(a: frozenset[Fact], b: frozenset[Fact]) -> set[Fact]:
    """What numbers may be, where both paths know it."""
    one, other = _values(a), _values(b)
    return {OneOf(name, values | other[name]) for name, values in one.items() if name in other}


def _conditions(one: frozenset[Fact], other: frozenset[Fact]) -> set[Fact]:
    """What holds on the joined path if a number tells that it came by `one`, or held before."""
    others, sets, implied = _numbers(other), _values(other), _implied(other)

    def excluded(condition: Is) -> bool:
        return condition.value not in sets.get(condition.name, (condition.value,))

    possible = (Is(name, value) for name, values in _values(one).items() for value in values)
    telling = {condition for condition in possible if excluded(condition)}
    # A bool that is not what it is on the other path, whatever is known of it on this one
    telling |= {
        Is(name, not value)
        for name, value in others.items()
        if isinstance(value, bool) and Is(name, value) not in one
    }
    found: set[Fact] = set()
    for fact in one:
        if isinstance(fact, Given):
            if excluded(fact.condition) or fact.fact in other or fact in other:
                found.add(fact)
            elif not isinstance(fact.fact, str):
                found |= _wider(fact.condition, fact.fact, sets, implied)
        elif fact not in other:
            found.update(
                Given(condition, fact)
                for condition in telling
                if not (isinstance(fact, (Is, OneOf)) and fact.name == condition.name)
            )
    return found


_Sets = Mapping[str, frozenset[Number]]


def _implied(facts: frozenset[Fact]) -> dict[Is, dict[str, frozenset[Number]]]:
    """What numbers may be under conditions."""
    found: dict[Is, dict[str, frozenset[Number]]] = {}
    for fact in facts:
        if isinstance(fact, Given) and not isinstance(fact.fact, str):
            under = found.setdefault(fact.condition, {})
            values = _possible(fact.fact)
            under[fact.fact.name] = under.get(fact.fact.name, values) & values
    return found


def _possible(fact: Is | OneOf) -> frozenset[Number]:
    return frozenset({fact.value}) if isinstance(fact, Is) else fact.values


def _wider(condition: Is, fact: Is | OneOf, sets: _Sets, implied: Mapping[Is, _Sets]) -> set[Given]:
    """What a number may be under a condition on two paths, of which the other knows `sets` and what
    is `implied`."""
    values = implied.get(condition, {}).get(fact.name, sets.get(fact.name))
    if values is None:
        return set()
    return {Given(condition, OneOf(fact.name, _possible(fact) | values))}


def _numbers(facts: frozenset[Fact]) -> dict[str, Number]:
    """The numbers whose values are known."""
    return {fact.name: fact.value for fact in facts if isinstance(fact, Is)}


def _values(facts: frozenset[Fact]) -> dict[str, frozenset[Number]]:
    """What numbers may be, for those of which that is known."""
    found = {name: frozenset({value}) for name, value in _numbers(facts).items()}
    for fact in facts:
        if isinstance(fact, OneOf):
            found[fact.name] = found.get(fact.name, fact.values) & fact.values
    return found


def _tells(fact: Fact, name: str) -> bool:
    """Whether a fact says, under a condition, what the number of that name is."""
    inner = fact.fact if isinstance(fact, Given) else None
    return isinstance(inner, (Is, OneOf)) and inner.name == name


def _speaks_of(fact: Fact, name: str) -> bool:
    """Whether a fact depends on the value that a number of that name has."""
    match fact:
        case Is() | OneOf():
            return fact.name == name
        case Given(condition, inner):
            return condition.name == name or (isinstance(inner, (Is, OneOf)) and inner.name == name)
        case _:
            return False
