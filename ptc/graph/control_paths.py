"""Which names have a value on the paths that lead to a place of a control program.

Paths join, and part again on a number that each of them has set (a bool, or which of several it
was): a name that has a value wherever the number is 2 may be read in the arm where it is. So what is
known of a place is, beside the names with a value, which numbers are known, which names have a value
if a number is so, and which bools are comparisons with a number.
"""

from __future__ import annotations

Number = int | bool
#: A name with a value; ("is", number, its value); ("if", number, value, name with a value then);
#: ("test", bool, number, value): the bool says whether the number has the value.
Fact = str | tuple[str, str, Number] | tuple[str, str, Number, str] | tuple[str, str, str, Number]
#: What holds on every path to a place; None: no path leads there.
Defined = frozenset[Fact] | None


def with_name(defined: Defined, name: str, value: object = None) -> Defined:
    """After `name` got a value; what is known of a number of that name is only `value`."""
    if defined is None:
        return None
    kept = {fact for fact in defined if isinstance(fact, str) or name not in fact[1:3]}
    if isinstance(value, int):
        kept.add(("is", name, value))
    return frozenset(kept | {name})


def with_test(defined: Defined, name: str, number: str, value: Number) -> Defined:
    """After the bool `name` became whether `number` has this value."""
    if defined is None:
        return None
    return defined | {("test", name, number, value)}


def where(defined: Defined, name: str, value: Number) -> Defined:
    """On the paths where the number `name` has this value."""
    if defined is None or _differs(defined, name, value):
        return None
    found: set[Fact] = {("is", name, value)}
    for fact in defined:
        if isinstance(fact, str) or len(fact) != 4 or fact[1] != name:
            continue
        if fact[0] == "if" and fact[2] == value:
            found.add(fact[3])  # type: ignore[arg-type]
        elif fact[0] == "test" and value:
            tested = where(defined, fact[2], fact[3])  # type: ignore[arg-type]
            if tested is None:
                return None
            found |= tested
    return defined | found


def meet(a: Defined, b: Defined) -> Defined:
    """Where two paths join."""
    if a is None or b is None:
        return b if a is None else a
    return frozenset((a & b) | _conditions(a, b) | _conditions(b, a))


def _conditions(one: frozenset[Fact], other: frozenset[Fact]) -> set[Fact]:
    """What holds on the joined path if a number tells that it came by `one`, or was so before."""
    found: set[Fact] = set()
    known = {fact[1]: fact[2] for fact in other if _is_known(fact)}
    telling = [
        (fact[1], fact[2])
        for fact in one
        if _is_known(fact) and known.get(fact[1], fact[2]) != fact[2]
    ]
    for fact in one:
        if isinstance(fact, str):
            if fact not in other:
                found.update(("if", name, value, fact) for name, value in telling)  # type: ignore[misc]
        elif fact[0] == "if":
            _, name, value, what = fact  # type: ignore[misc]
            if what in other or fact in other or _differs(other, name, value):  # type: ignore[arg-type]
                found.add(fact)
    return found


def _differs(defined: frozenset[Fact], name: str, value: Number) -> bool:
    return any(_is_known(fact) and fact[1] == name and fact[2] != value for fact in defined)


def _is_known(fact: Fact) -> bool:
    return not isinstance(fact, str) and fact[0] == "is"
