"""What methods of dictionaries and sets do where data decides how many entries there are. Only ever
traced: loops become loops of the program."""

from __future__ import annotations

from typing import Any


def undecided() -> None:
    """Whether a NaN is equal to itself is a matter of its identity: a mark for the capture."""
    raise AssertionError("never runs")


def _same_value(one: Any, other: Any) -> bool:
    if isinstance(one, float) and one != one:
        undecided()
    return one == other


def equal(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    for key, value in one.items():
        if key not in other:
            return False
        if not _same_value(value, other[key]):
            return False
    return True


def equal_in_order(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    for (key, value), (its, found) in zip(one.items(), other.items(), strict=False):
        if its != key:
            return False
        if not _same_value(value, found):
            return False
    return True


def text(values: Any) -> str:
    """`repr` of a dict."""
    shown: list[str] = []
    for key, value in values.items():
        shown.append(f"{key!r}: {value!r}")
    return "{" + ", ".join(shown) + "}"


def update(target: Any, pairs: Any) -> None:
    for key, value in pairs:
        target[key] = value


def from_keys(target: Any, keys: Any, value: Any) -> Any:
    for key in keys:
        target[key] = value
    return target


def add_all(target: Any, values: Any) -> Any:
    for value in values:
        target.add(value)
    return target


def elements(values: Any) -> Any:
    """The elements of a set, or of any iterable, in an order that nothing shows: a mark for the
    capture."""
    raise AssertionError("never runs")


def _as_set(values: Any) -> Any:
    return values if isinstance(values, (set, frozenset)) else set(values)


def union(one: Any, other: Any) -> Any:
    return add_all(one.copy(), elements(other))


def intersection(one: Any, other: Any) -> Any:
    """Of equal elements that of the smaller set, as CPython has it."""
    few, many = other, one
    if isinstance(other, (set, frozenset)) and len(other) > len(one):
        few, many = one, other
    result: Any = set()
    for value in elements(few):
        if value in many:
            result.add(value)
    return result


def difference(one: Any, other: Any) -> Any:
    others = _as_set(other)
    result: Any = set()
    for value in elements(one):
        if value not in others:
            result.add(value)
    return result


def symmetric_difference(one: Any, other: Any) -> Any:
    others = _as_set(other)
    result = difference(one, others)
    for value in elements(others):
        if value not in one:
            result.add(value)
    return result


def union_in_place(one: Any, other: Any) -> None:
    add_all(one, elements(other))


def intersection_in_place(one: Any, other: Any) -> None:
    _replace(one, intersection(one, other))


def difference_in_place(one: Any, other: Any) -> None:
    for value in elements(other):
        one.discard(value)


def symmetric_difference_in_place(one: Any, other: Any) -> None:
    _replace(one, symmetric_difference(one, other))


def _replace(target: Any, values: Any) -> None:
    target.clear()
    add_all(target, elements(values))


# -- relations ------------------------------------------------------------------------------------


def _all_in(values: Any, others: Any) -> bool:
    for value in elements(values):  # noqa: SIM110
        if value not in others:
            return False
    return True


def same_elements(one: Any, other: Any) -> bool:
    return len(one) == len(other) and _all_in(one, other)


def is_part(one: Any, other: Any) -> bool:
    return len(one) < len(other) and _all_in(one, other)


def is_subset(one: Any, other: Any) -> bool:
    return _all_in(one, _as_set(other))


def is_superset(one: Any, other: Any) -> bool:
    return _all_in(other, one)


def is_disjoint(one: Any, other: Any) -> bool:
    for value in elements(other):  # noqa: SIM110
        if value in one:
            return False
    return True
