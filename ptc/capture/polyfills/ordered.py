"""What the C functions of `heapq` and `bisect` do, in Python. Only ever traced.

Which elements are compared, and in which order, is CPython's: it tells where elements are equal, or
contradict each other as NaN does.
"""

from __future__ import annotations

import heapq
from typing import Any


def _empty() -> str:
    try:
        heapq.heappop([])
    except IndexError as error:  # with the text of this version
        return str(error)
    raise AssertionError


_NO_ELEMENT = _empty()


def _require_list(heap: Any, name: str, position: str) -> None:
    if not isinstance(heap, list):
        kind = type(heap).__name__
        raise TypeError(f"{name}() argument{position} must be list, not {kind}")


def _rise(heap: Any, first: Any, position: Any) -> None:
    """Move an element up to its place."""
    mine = heap[position]
    while position > first:
        parent = (position - 1) >> 1
        other = heap[parent]
        if not mine < other:
            break
        heap[position] = other
        position = parent
    heap[position] = mine


def _sink(heap: Any, position: Any) -> None:
    """Move an element down to a leaf, the smaller children up, and then up to its place."""
    first = position
    mine = heap[position]
    count = len(heap)
    half = count >> 1
    while position < half:
        child = 2 * position + 1
        if child + 1 < count and not heap[child] < heap[child + 1]:
            child += 1
        heap[position] = heap[child]
        position = child
    heap[position] = mine
    _rise(heap, first, position)


def heappush(heap: Any, item: Any, /) -> None:
    _require_list(heap, "heappush", " 1")
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def heappop(heap: Any, /) -> Any:
    _require_list(heap, "heappop", "")
    if not heap:
        raise IndexError(_NO_ELEMENT)
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    heap[0] = last
    _sink(heap, 0)
    return first


def heapify(heap: Any, /) -> None:
    _require_list(heap, "heapify", "")
    for position in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, position)


def heapreplace(heap: Any, item: Any, /) -> Any:
    _require_list(heap, "heapreplace", " 1")
    if not heap:
        raise IndexError(_NO_ELEMENT)
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def heappushpop(heap: Any, item: Any, /) -> Any:
    _require_list(heap, "heappushpop", " 1")
    if not heap or not heap[0] < item:
        return item
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    return _place(a, x, lo, hi, key, right=True)


def bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    return _place(a, x, lo, hi, key, right=False)


def _place(a: Any, x: Any, lo: Any, hi: Any, key: Any, *, right: bool) -> Any:
    """Behind the elements that equal x, or before them. As CPython does, `right` asks whether x is
    less than an element, otherwise whether an element is less than x."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None or hi == -1:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        other = a[middle] if key is None else key(a[middle])
        if not (x < other) if right else other < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)
