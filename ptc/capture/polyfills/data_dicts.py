"""What methods of dictionaries and sets do where data decides how many entries there are. Only ever
traced: loops become loops of the program."""

from __future__ import annotations

from typing import Any

from ptc.graph.set_tables import TUPLE_START


def undecided() -> None:
    """Whether a NaN is equal to itself is a matter of its identity: a mark for the capture."""
    raise AssertionError("never runs")


def hash_part(state: int, element: Any) -> int:
    """The state of a tuple's hash after one more element: a mark for the capture."""
    raise AssertionError("never runs")


def hash_end(state: int, count: int) -> int:
    """The hash of a tuple of so many elements from its last state: a mark for the capture."""
    raise AssertionError("never runs")


def hash_of_tuple(values: Any) -> int:
    state = TUPLE_START
    for value in values:
        state = hash_part(state, value)
    return hash_end(state, len(values))


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


def text_of_set(values: Any) -> str:
    """`repr` of a set."""
    shown: list[str] = []
    for value in values:
        shown.append(repr(value))
    return "{" + ", ".join(shown) + "}" if shown else "set()"


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


def elements(values: Any, target: Any = None) -> Any:
    """The elements of a set in order, or of any iterable; in any order if it has none, which
    `target`, a set that is made of them, then has none either: a mark for the capture."""
    raise AssertionError("never runs")


def reserve(target: Any, other: Any) -> bool:
    """Before the elements of a set or dictionary are added to a set: whether it takes over the
    order of the other set instead of adding its elements. A mark for the capture."""
    raise AssertionError("never runs")


def take_over(target: Any, other: Any) -> None:
    """Have the elements of another set, in its order: a mark for the capture."""
    raise AssertionError("never runs")


def tidy(target: Any) -> None:
    """After elements of something else were taken out of a set: a mark for the capture."""
    raise AssertionError("never runs")


def set_of(values: Any) -> Any:
    """`set(values)` of something that is no set."""
    result: Any = set()
    union_in_place(result, values)
    return result


def _as_set(values: Any) -> Any:
    return values if isinstance(values, (set, frozenset)) else set_of(values)


def _is_dict(values: Any) -> bool:
    return type(values) is dict


def union(one: Any, other: Any) -> Any:
    result = one.copy()
    union_in_place(result, other)
    return result


def intersection(one: Any, other: Any) -> Any:
    """Of equal elements that of the smaller set, as CPython has it."""
    if one is other:
        return one.copy()
    result: Any = set()
    if isinstance(other, (set, frozenset)):
        few, many = other, one
        if len(other) > len(one):
            few, many = one, other
        for value in elements(few, result):
            if value in many:
                result.add(value)
    else:
        for value in other:
            if value in one:
                result.add(value)
    return result


def difference(one: Any, other: Any) -> Any:
    sized = isinstance(other, (set, frozenset)) or _is_dict(other)
    if not sized or len(one) // 4 > len(other):
        rest = one.copy()
        difference_in_place(rest, other)
        return rest
    result: Any = set()
    for value in elements(one, result):
        if value not in other:
            result.add(value)
    return result


def symmetric_difference(one: Any, other: Any) -> Any:
    result = other.copy() if isinstance(other, (set, frozenset)) else set_of(other)
    symmetric_difference_in_place(result, one)
    return result


def union_in_place(one: Any, other: Any) -> None:
    if one is other:
        return
    if reserve(one, other):
        take_over(one, other)
    else:
        add_all(one, elements(other, one))


def intersection_in_place(one: Any, other: Any) -> None:
    take_over(one, intersection(one, other))


def difference_in_place(one: Any, other: Any) -> None:
    if one is other:
        one.clear()
        return
    for value in elements(other):
        one.discard(value)
    tidy(one)


def symmetric_difference_in_place(one: Any, other: Any) -> None:
    if one is other:
        one.clear()
        return
    others = other if _is_dict(other) else _as_set(other)
    for value in elements(others, one):
        if value in one:
            one.discard(value)
        else:
            one.add(value)


def view_union(content: Any, other: Any) -> Any:
    """`view | other`, where a dictionary, or its items, have the view's content."""
    result = set_of(content)
    union_in_place(result, other)
    return result


def view_difference(content: Any, other: Any) -> Any:
    result = set_of(content)
    difference_in_place(result, other)
    return result


def view_symmetric_difference(content: Any, other: Any) -> Any:
    result = set_of(content)
    symmetric_difference_in_place(result, other)
    return result


def view_intersection(view: Any, other: Any) -> Any:
    if type(other) is set and len(view) <= len(other):
        return intersection(other, view)
    result: Any = set()
    for value in elements(other, result):
        if value in view:
            result.add(value)
    return result


def views_in_common(one: Any, other: Any) -> Any:
    """`one & other` of two views."""
    few, many = other, one
    if len(other) > len(one):
        few, many = one, other
    result: Any = set()
    for value in few:
        if value in many:
            result.add(value)
    return result


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
