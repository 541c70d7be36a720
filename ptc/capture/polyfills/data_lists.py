"""What builtins do with lists whose length data decides, in Python. Only ever
traced: loops become loops of the program.
"""

from __future__ import annotations

import collections
import math
import sys
from typing import Any

from ptc.capture.polyfills.host_errors import raised

_MISSING = object()
_EMPTY = "iterable argument is empty" if sys.version_info >= (3, 12) else "arg is an empty sequence"


_NOT_IN_TUPLE = raised(().index, 0)[1]
_COMPENSATED = sys.version_info >= (3, 12)
#: 3.13 looks for runs in another way. Lists of this length are merged from several.
RUNS_DIFFER = sys.version_info >= (3, 13)
LONG_SORT = 64


def list_of(iterable: Any) -> Any:
    if isinstance(iterable, list):
        return iterable.copy()
    result: list[Any] = []
    for value in iterable:
        result.append(value)
    return result


def deque_of(iterable: Any, maxlen: Any = None) -> Any:
    result: Any = collections.deque(maxlen=maxlen)
    for value in iterable:
        result.append(value)
    return result


def as_tuple(values: Any) -> Any:
    """The tuple of a list that is used no more: a mark for the capture."""
    raise AssertionError("never runs")


def tuple_of(iterable: Any) -> Any:
    return as_tuple(list_of(iterable))


def text_of_list(values: Any) -> str:
    """`repr` of a list with elements that have several parts."""
    shown: list[str] = []
    for value in values:
        shown.append(repr(value))
    return "[" + ", ".join(shown) + "]"


def text_of_tuple(values: Any) -> str:
    inner = repr(values)[1:-1]
    return f"({inner},)" if len(values) == 1 else f"({inner})"


def extend(target: Any, iterable: Any) -> None:
    for value in iterable:
        target.append(value)


def run_into(generator: Any, values: Any) -> None:
    """Put all that a generator yields in a list: a mark for the capture."""
    raise AssertionError("never runs")


def extend_by_generator(target: Any, generator: Any) -> None:
    """`target.extend(generator)`: each value is there before the generator goes on."""
    run_into(generator, target)


def added_generator(target: Any, generator: Any) -> Any:
    """`target += generator`"""
    run_into(generator, target)
    return target


def run_until(generator: Any, wanted: bool) -> Any:
    """True if a generator yields something whose truth is this, as soon as it does, else None: a
    mark for the capture."""
    raise AssertionError("never runs")


def run_first(generator: Any, missing: Any) -> Any:
    """The first thing that a generator yields, or this if there is none: a mark for the capture."""
    raise AssertionError("never runs")


def run_through(generator: Any, function: Any) -> None:
    """Call a function with all that a generator yields, one by one: a mark for the capture."""
    raise AssertionError("never runs")


def first_yielded(generator: Any) -> Any:
    """`next(generator)`"""
    found = run_first(generator, _MISSING)
    if found is _MISSING:
        raise StopIteration
    return found


def collect_all(generator: Any) -> None:
    """Run a generator to its end, for those that ask for its elements: a mark for the capture."""
    raise AssertionError("never runs")


def next_of_all(generator: Any, *default: Any) -> Any:
    """`next(generator)` of one that is asked for more."""
    collect_all(generator)
    return next(generator, *default)


def taken(function: Any, generator: Any) -> Any:
    """The call of a function that takes all that a generator yields before it does anything."""
    values: list[Any] = []
    run_into(generator, values)
    return function(values)


def listed(function: Any, iterable: Any) -> Any:
    """The same for other iterables."""
    values = list_of(iterable)
    return function(values)


def smallest_yielded(generator: Any, *, key: Any, default: Any = _MISSING) -> Any:
    """`min(generator, key=key)`: the keys are asked for between the generator's steps."""
    values: Any = []
    keys: Any = []
    run_through(generator, _noting(values, keys, key))
    if not values:
        if default is _MISSING:
            raise ValueError("min() " + _EMPTY)
        return default
    return values[_place_of_extreme(keys, least=True)]


def largest_yielded(generator: Any, *, key: Any, default: Any = _MISSING) -> Any:
    """`max(generator, key=key)`"""
    values: Any = []
    keys: Any = []
    run_through(generator, _noting(values, keys, key))
    if not values:
        if default is _MISSING:
            raise ValueError("max() " + _EMPTY)
        return default
    return values[_place_of_extreme(keys, least=False)]


def _noting(values: Any, keys: Any, key: Any) -> Any:
    def note(value: Any) -> None:
        keys.append(value if key is None else key(value))
        values.append(value)

    return note


def _place_of_extreme(keys: Any, *, least: bool) -> Any:
    place = 0
    best = keys[0]
    for i in range(1, len(keys)):
        other = keys[i]
        if other < best if least else other > best:
            best = other
            place = i
    return place


def filtered(function: Any, iterable: Any) -> Any:
    """`filter(function, iterable)`"""
    return _passing(function, iter(iterable))


def _passing(function: Any, iterator: Any) -> Any:
    for value in iterator:
        if value if function is None else function(value):
            yield value


def numbered(iterable: Any, start: Any = 0) -> Any:
    """`enumerate(iterable, start)`"""
    for value in iterable:
        yield start, value
        start += 1


def mapped(function: Any, iterable: Any) -> Any:
    """`map(function, iterable)`"""
    for value in iterable:
        yield function(value)


def any_yielded(generator: Any) -> bool:
    return run_until(generator, True) is not None


def all_yielded(generator: Any) -> bool:
    return run_until(generator, False) is None


def matches(value: Any, wanted: Any) -> Any:
    """`value is wanted or value == wanted`, where the identity of numbers does not matter: a mark
    for the capture."""
    raise AssertionError("never runs")


def contains(values: Any, wanted: Any) -> bool:
    for value in values:  # noqa: SIM110
        if matches(value, wanted):
            return True
    return False


def repeated(values: Any, count: Any) -> Any:
    result: list[Any] = []
    for _ in range(count):
        result.extend(values)
    return result


def equal(left: Any, right: Any) -> bool:
    """`left == right` of lists or tuples, which compare one object with itself as equal."""
    if left is right:
        return True
    if len(left) != len(right):
        return False
    for mine, its in zip(left, right, strict=False):  # `strict` may raise
        if mine != its:
            if isinstance(mine, float) and mine != mine and its != its:
                unequal()
            return False
    return True


def less(left: Any, right: Any) -> bool:
    """`left < right` of lists."""
    for mine, its in zip(left, right, strict=False):
        if mine != its:
            if isinstance(mine, float) and mine != mine and its != its:
                unequal()
            return mine < its
    return len(left) < len(right)


def unequal() -> None:
    """Whether two NaN are one object is not known: a mark for the capture."""
    raise AssertionError("never runs")


def index_of(values: Any, wanted: Any, start: Any = 0, stop: Any = None) -> Any:
    count = len(values)
    if start < 0:
        start = max(start + count, 0)
    if stop is None or stop > count:
        stop = count
    elif stop < 0:
        stop += count
    for i in range(start, stop):
        if matches(values[i], wanted):
            return i
    raise ValueError(f"{wanted!r} is not in list" if isinstance(values, list) else _NOT_IN_TUPLE)


def remove(values: Any, wanted: Any) -> None:
    for i in range(len(values)):
        if matches(values[i], wanted):
            del values[i]
            return
    if isinstance(values, list):
        raise ValueError("list.remove(x): x not in list")
    raise ValueError("deque.remove(x): x not in deque")


def count_of(values: Any, wanted: Any) -> int:
    found = 0
    for value in values:
        if matches(value, wanted):
            found += 1
    return found


def total(iterable: Any, start: Any = 0) -> Any:
    result, error = start, 0.0
    for value in iterable:
        if _COMPENSATED and isinstance(value, float) and isinstance(result, float):
            new = result + value
            if abs(result) >= abs(value):
                error += (result - new) + value
            else:
                error += (value - new) + result
            result = new
        else:
            result = result + value
    if _COMPENSATED and isinstance(result, float) and error != 0.0 and math.isfinite(error):
        result += error
    return result


def any_of(iterable: Any) -> bool:
    for value in iterable:  # noqa: SIM110
        if value:
            return True
    return False


def all_of(iterable: Any) -> bool:
    for value in iterable:  # noqa: SIM110
        if not value:
            return False
    return True


def smallest(iterable: Any, *, key: Any = None, default: Any = _MISSING) -> Any:
    values = list_of(iterable)
    if not values:
        if default is _MISSING:
            raise ValueError("min() " + _EMPTY)
        return default
    best = values[0]
    least = best if key is None else key(best)
    for i in range(1, len(values)):
        value = values[i]
        other = value if key is None else key(value)
        if other < least:
            best, least = value, other
    return best


def largest(iterable: Any, *, key: Any = None, default: Any = _MISSING) -> Any:
    values = list_of(iterable)
    if not values:
        if default is _MISSING:
            raise ValueError("max() " + _EMPTY)
        return default
    best = values[0]
    most = best if key is None else key(best)
    for i in range(1, len(values)):
        value = values[i]
        other = value if key is None else key(value)
        if other > most:
            best, most = value, other
    return best


def in_order(iterable: Any, *, key: Any = None, reverse: bool = False) -> Any:
    """CPython's order, also where comparisons contradict each other, as those with NaN do: the run
    that the list begins with, then insertions by halves."""
    values: list[Any] = []
    keys: list[Any] = []
    for value in iterable:
        keys.append(value if key is None else key(value))
        if key is not None:
            values.append(value)
    if reverse:
        keys.reverse()
        values.reverse()
    _require_order(keys)
    run, falls = _first_run(keys)
    if falls:
        for i in range(1, run):
            keys.insert(0, keys.pop(i))
            if key is not None:
                values.insert(0, values.pop(i))
    for i in range(run, len(keys)):
        mine = keys.pop(i)
        low = 0
        high = i
        while low < high:
            middle = (low + high) // 2
            if mine < keys[middle]:
                high = middle
            else:
                low = middle + 1
        keys.insert(low, mine)
        if key is not None:
            values.insert(low, values.pop(i))
    if reverse:
        keys.reverse()
        values.reverse()
    return keys if key is None else values


def insert_in_order(values: Any, keys: Any, backward: bool) -> None:
    """A sort in place of a known number of values, by keys of which some may not compare; None: by
    themselves."""
    if keys is None:
        ordered = in_order(values, reverse=backward)
    else:
        before = values.copy()
        places = in_order(list(range(len(keys))), key=keys.__getitem__, reverse=backward)
        ordered = [before[places[i]] for i in range(len(keys))]
    for i in range(len(values)):
        values[i] = ordered[i]


def exchange(values: Any, keys: Any, backward: bool) -> None:
    """A stable sort in place, of keys that all compare."""
    for end in range(1, len(keys)):
        for i in range(end, 0, -1):
            if (keys[i - 1] < keys[i]) if backward else (keys[i] < keys[i - 1]):
                keys[i - 1], keys[i] = keys[i], keys[i - 1]
                values[i - 1], values[i] = values[i], values[i - 1]


def _first_run(keys: Any) -> tuple[Any, Any]:
    """How many elements do not fall, or all fall, from the first on, and whether they fall."""
    count = len(keys)
    if count < 2:
        return count, False
    falls = keys[1] < keys[0]
    run = 2
    while run < count and (keys[run] < keys[run - 1]) == falls:
        run += 1
    return run, falls


def unordered() -> None:
    """The order of keys with NaN is not known: a mark for the capture."""
    raise AssertionError("never runs")


def _require_order(keys: Any) -> None:
    if len(keys) >= (3 if RUNS_DIFFER else LONG_SORT):
        for key in keys:
            if isinstance(key, float) and key != key:
                unordered()


def sort(values: Any, key: Any, reverse: Any) -> None:
    ordered = in_order(values, key=key, reverse=reverse)
    values.clear()
    values.extend(ordered)
