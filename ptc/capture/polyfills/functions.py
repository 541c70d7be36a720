"""The polyfills: what the C functions of the same name do, in Python. Only ever traced."""

from __future__ import annotations

from typing import Any

_MISSING = object()


def chain(*iterables: Any) -> Any:
    for iterable in iterables:
        yield from iterable


def chain_from_iterable(cls: Any, iterables: Any) -> Any:
    for iterable in iterables:
        yield from iterable


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
    pools = [tuple(pool) for pool in iterables] * repeat
    rows: list[tuple[Any, ...]] = [()]
    for pool in pools:
        rows = [(*row, element) for row in rows for element in pool]
    yield from rows


def repeat(element: Any, times: Any = None) -> Any:
    if times is None:
        while True:
            yield element
    for _ in range(times):
        yield element


def count(start: Any = 0, step: Any = 1) -> Any:
    number = start
    while True:
        yield number
        number += step


def cycle(iterable: Any) -> Any:
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
        total = next(iterator, _MISSING)
        if total is _MISSING:
            return
    yield total
    for element in iterator:
        total = total + element if func is None else func(total, element)
        yield total


def combinations(iterable: Any, r: int) -> Any:
    pool = tuple(iterable)
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


def permutations(iterable: Any, r: Any = None) -> Any:
    pool = tuple(iterable)
    size = len(pool)
    length = size if r is None else r
    for indices in product(range(size), repeat=length):
        if len(set(indices)) == length:
            yield tuple(pool[i] for i in indices)


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
    previous = next(iterator, _MISSING)
    for element in iterator:
        yield previous, element
        previous = element


def zip_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    iterators = [iter(iterable) for iterable in iterables]
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
    groups: list[Any] = []
    for element in iterable:
        value = element if key is None else key(element)
        if groups and groups[-1][0] == value:
            groups[-1][1].append(element)
        else:
            groups.append((value, [element]))
    for value, members in groups:
        yield value, iter(members)


def tee(iterable: Any, n: int = 2) -> Any:
    elements = list(iterable)
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
