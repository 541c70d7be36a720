"""Which names have a value on the paths that lead to a place of a control program.

Paths join, and part again on a bool that each of them has set: a name that has a value wherever the
bool is true may be read in the arm where it is. So what is known of a place is, beside the names
with a value, which bools are known and which names have a value if one of them is true (or false).
"""

from __future__ import annotations

from collections.abc import Collection

#: A name with a value, ("is", bool, its value), or ("if", bool, value, name).
Fact = str | tuple[str, str, bool] | tuple[str, str, bool, str]
#: What holds on every path to a place; None: no path leads there.
Defined = frozenset[Fact] | None


def with_name(defined: Defined, name: str, value: object = None) -> Defined:
    """After `name` got a value; what is known of a bool of that name is only `value`."""
    if defined is None:
        return None
    kept: set[Fact] = {fact for fact in defined if isinstance(fact, str) or fact[1] != name}
    kept.add(name)
    if isinstance(value, bool):
        kept.add(("is", name, value))
    return frozenset(kept)


def without(defined: frozenset[Fact], names: Collection[str]) -> frozenset[Fact]:
    """After these names lost their values."""
    return frozenset(
        fact
        for fact in defined
        if (fact if isinstance(fact, str) else fact[-1] if len(fact) == 4 else "") not in names
    )


def where(defined: Defined, name: str, value: bool) -> Defined:
    """On the paths where the bool `name` has this value."""
    if defined is None or ("is", name, not value) in defined:
        return None
    found = {
        fact[3]
        for fact in defined
        if not isinstance(fact, str) and len(fact) == 4 and fact[1:3] == (name, value)
    }
    return defined | found | {("is", name, value)}


def meet(a: Defined, b: Defined) -> Defined:
    """Where two paths join."""
    if a is None or b is None:
        return b if a is None else a
    return frozenset((a & b) | _conditions(a, b) | _conditions(b, a))


def _conditions(one: frozenset[Fact], other: frozenset[Fact]) -> set[Fact]:
    """What holds on the joined path if a bool tells that it came by `one`, or was so before."""
    found: set[Fact] = set()
    opposite = _known(other)
    telling = [pair for pair in _known(one).items() if opposite.get(pair[0]) is (not pair[1])]
    for fact in one:
        if isinstance(fact, str):
            if fact not in other:
                found.update([("if", name, value, fact) for name, value in telling])
        elif len(fact) == 4:
            _, name, value, what = fact
            if what in other or fact in other or ("is", name, not value) in other:
                found.add(fact)
    return found


def _known(facts: frozenset[Fact]) -> dict[str, bool]:
    """The bools whose values are known."""
    return {fact[1]: fact[2] for fact in facts if not isinstance(fact, str) and len(fact) == 3}
