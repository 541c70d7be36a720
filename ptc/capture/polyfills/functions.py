"""The polyfills: what the C functions of the same name do, in Python. Only ever traced.

Where data may decide how many elements there are, an iterator is a `map` rather than a generator,
which would have to be run to its end.
"""

# ruff: noqa: C417, C419

from __future__ import annotations

from typing import Any

_MISSING = object()
_ENDLESS = 2**62


def decided_by_data(iterable: Any) -> bool:
    """Whether data decides how many elements there are: a mark for the capture."""
    raise AssertionError("never runs")


def said() -> int:
    """How often the program has told the world outside anything: a mark for the capture."""
    raise AssertionError("never runs")


def require_silence(before: int, name: str) -> None:
    """Refuses a function that takes at once what CPython takes step by step, if taking it has
    told anything since `before`: a mark for the capture."""
    raise AssertionError("never runs")


def _sums(start: Any, step: Any) -> Any:
    number = start
    while True:
        yield number
        number += step


def chain(*iterables: Any) -> Any:
    return chain_from_iterable(None, iterables)


def chain_from_iterable(cls: Any, iterables: Any) -> Any:
    known = iterables if isinstance(iterables, (list, tuple)) else ()
    if any([decided_by_data(iterable) for iterable in known]):
        before = said()
        iterables = [_joined(iterables)]
        require_silence(before, "chain")
    for iterable in iterables:
        for element in iterable:  # noqa: UP028 (where it comes from may depend on data)
            yield element


def _joined(iterables: Any) -> Any:
    result: list[Any] = []
    for iterable in iterables:
        result.extend(iterable)
    return result


def islice(iterable: Any, *args: Any) -> Any:
    limits = slice(*args)
    start = 0 if limits.start is None else limits.start
    stop = limits.stop
    step = 1 if limits.step is None else limits.step
    wanted = start
    if stop is not None and wanted >= stop:
        return
    for position, element in enumerate(iterable):
        if position == wanted:
            yield element
            wanted += step
        if stop is not None and position + 1 >= stop:
            return


def product(*iterables: Any, repeat: int = 1) -> Any:
    pools = [list(pool) for pool in iterables] * repeat
    rows: list[tuple[Any, ...]] = [()]
    for pool in pools:
        rows = [(*row, element) for row in rows for element in pool]
    return iter(rows)


def repeat(element: Any, times: Any = None) -> Any:
    return map(lambda _: element, range(_ENDLESS if times is None else times))


def count(start: Any = 0, step: Any = 1) -> Any:
    if isinstance(start, int) and isinstance(step, int) and step != 0:
        return iter(range(start, _ENDLESS if step > 0 else -_ENDLESS, step))
    return _sums(start, step)


def cycle(iterable: Any) -> Any:
    if isinstance(iterable, (list, tuple)) and iterable:
        saved = list(iterable)
        length = len(saved)
        return map(lambda i: saved[i % length], range(_ENDLESS))
    return _again_and_again(iterable)


def _again_and_again(iterable: Any) -> Any:
    saved = []
    for element in iterable:
        yield element
        saved.append(element)
    while saved:
        yield from saved


def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    iterator = iter(iterable)
    total = initial
    if initial is None:
        for total in iterator:  # noqa: B007
            break
        else:
            return
    yield total
    for element in iterator:
        total = total + element if func is None else func(total, element)
        yield total


def combinations(iterable: Any, r: int) -> Any:
    pool = list(iterable)
    if r < 0:
        raise ValueError("r must be non-negative")
    if not decided_by_data(pool):
        return _combinations(pool, r)
    rows: list[tuple[Any, ...]] = [()]
    for left in range(r - 1, -1, -1):
        rows = [
            (*row, i) for row in rows for i in range(row[-1] + 1 if row else 0, len(pool) - left)
        ]
    return iter([tuple([pool[i] for i in row]) for row in rows])


def _combinations(pool: Any, r: int) -> Any:
    size = len(pool)
    if r > size:
        return
    indices = list(range(r))
    yield tuple(pool[i] for i in indices)
    while True:
        for i in reversed(range(r)):
            if indices[i] != i + size - r:
                break
        else:
            return
        indices[i] += 1
        for j in range(i + 1, r):
            indices[j] = indices[j - 1] + 1
        yield tuple(pool[i] for i in indices)


def combinations_with_replacement(iterable: Any, r: int) -> Any:
    pool = list(iterable)
    if r < 0:
        raise ValueError("r must be non-negative")
    rows: list[tuple[Any, ...]] = [()]
    for _ in range(r):
        rows = [(*row, i) for row in rows for i in range(row[-1] if row else 0, len(pool))]
    return iter([tuple([pool[i] for i in row]) for row in rows])


def permutations(iterable: Any, r: Any = None) -> Any:
    pool = list(iterable)
    length = len(pool) if r is None else r
    if length < 0:
        raise ValueError("r must be non-negative")
    rows: list[tuple[Any, ...]] = [()]
    for _ in range(length):
        rows = [(*row, i) for row in rows for i in range(len(pool)) if i not in row]
    return iter([tuple([pool[i] for i in row]) for row in rows])


def starmap(function: Any, iterable: Any) -> Any:
    for args in iterable:
        yield function(*args)


def takewhile(predicate: Any, iterable: Any) -> Any:
    for element in iterable:
        if not predicate(element):
            return
        yield element


def dropwhile(predicate: Any, iterable: Any) -> Any:
    iterator = iter(iterable)
    for element in iterator:
        if not predicate(element):
            yield element
            break
    yield from iterator


def filterfalse(predicate: Any, iterable: Any) -> Any:
    for element in iterable:
        if not (element if predicate is None else predicate(element)):
            yield element


def pairwise(iterable: Any) -> Any:
    iterator = iter(iterable)
    for previous in iterator:  # noqa: B007
        break
    else:
        return
    for element in iterator:
        yield previous, element
        previous = element


def zip_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    if any([decided_by_data(iterable) for iterable in iterables]):
        before = said()
        columns = [list(iterable) for iterable in iterables]
        require_silence(before, "zip_longest")
        return _padded(columns, fillvalue)
    return _longest([iter(iterable) for iterable in iterables], fillvalue)


def _padded(columns: Any, fillvalue: Any) -> Any:
    count = max([len(column) for column in columns])
    return map(
        lambda i: tuple([column[i] if i < len(column) else fillvalue for column in columns]),
        range(count),
    )


def _longest(iterators: Any, fillvalue: Any) -> Any:
    while True:
        row = [next(iterator, _MISSING) for iterator in iterators]
        if all(element is _MISSING for element in row):
            return
        yield tuple(fillvalue if element is _MISSING else element for element in row)


def compress(data: Any, selectors: Any) -> Any:
    for element, selected in zip(data, selectors):  # noqa: B905 (as in itertools)
        if selected:
            yield element


def groupby(iterable: Any, key: Any = None) -> Any:
    before = said()
    values = list(iterable)
    keys = values if key is None else [key(value) for value in values]
    require_silence(before, "groupby")
    starts: list[int] = []
    for i in range(len(values)):
        if not starts or not (keys[starts[-1]] == keys[i]):  # noqa: SIM201 (as in itertools)
            starts.append(i)
    ends = starts[1:]
    ends.append(len(values))
    return map(lambda i: (keys[starts[i]], iter(values[starts[i] : ends[i]])), range(len(starts)))


def tee(iterable: Any, n: int = 2) -> Any:
    before = said()
    elements = list(iterable)
    require_silence(before, "tee")
    return tuple(iter(elements) for _ in range(n))


def batched(iterable: Any, n: int, *, strict: bool = False) -> Any:
    batch: list[Any] = []
    for element in iterable:
        batch.append(element)
        if len(batch) == n:
            yield tuple(batch)
            batch = []
    if batch:
        if strict:
            raise ValueError("batched(): incomplete batch")
        yield tuple(batch)


def reduce(function: Any, sequence: Any, initial: Any = _MISSING) -> Any:
    iterator = iter(sequence)
    total = initial
    if total is _MISSING:
        total = next(iterator, _MISSING)
        if total is _MISSING:
            raise TypeError("reduce() of empty iterable with no initial value")
    for element in iterator:
        total = function(total, element)
    return total


def _attribute_path(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = getattr(obj, name)
    return obj


def attrgetter(*paths: str) -> Any:
    if len(paths) == 1:
        return lambda obj: _attribute_path(obj, paths[0])
    return lambda obj: tuple([_attribute_path(obj, path) for path in paths])


def itemgetter(*keys: Any) -> Any:
    if len(keys) == 1:
        return lambda obj: obj[keys[0]]
    return lambda obj: tuple([obj[key] for key in keys])


def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Any:
    return lambda obj: getattr(obj, name)(*args, **kwargs)


def count_elements(mapping: Any, iterable: Any) -> None:
    for element in iterable:
        mapping[element] = mapping.get(element, 0) + 1


def nlargest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key, reverse=True)[:n]


def nsmallest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key)[:n]
