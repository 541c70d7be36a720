"""What slices of lists do whose length data decides: with a step, assigned and deleted. Only ever
traced: loops become loops of the program."""

from __future__ import annotations

from typing import Any


def _ends(count: Any, start: Any, stop: Any, step: Any) -> tuple[Any, Any]:
    """The first place, and the one where it ends, as `slice.indices` has them."""
    if step == 0:
        raise ValueError("slice step cannot be zero")
    least = 0 if step > 0 else -1
    most = count if step > 0 else count - 1
    first = (least if step > 0 else most) if start is None else _within(start, count, least, most)
    last = (most if step > 0 else least) if stop is None else _within(stop, count, least, most)
    return first, last


def _within(part: Any, count: Any, least: Any, most: Any) -> Any:
    if part < 0:
        part = part + count
    return max(least, min(part, most))


def _how_many(first: Any, last: Any, step: Any) -> Any:
    if step > 0:
        return max((last - first + step - 1) // step, 0)
    return max((first - last - step - 1) // -step, 0)


def stepped(values: Any, start: Any, stop: Any, step: Any) -> Any:
    """`values[start:stop:step]`"""
    first, last = _ends(len(values), start, stop, step)
    result: list[Any] = []
    for i in range(_how_many(first, last, step)):
        result.append(values[first + i * step])
    return result


def put(values: Any, start: Any, stop: Any, other: Any) -> None:
    """`values[start:stop] = other`"""
    new = list(other)
    first, last = _ends(len(values), start, stop, 1)
    rest = values[max(first, last) :]
    head = values[:first]
    values.clear()
    values.extend(head)
    values.extend(new)
    values.extend(rest)


def put_stepped(values: Any, start: Any, stop: Any, step: Any, other: Any) -> None:
    """`values[start:stop:step] = other` with a step that is not 1"""
    new = list(other)
    first, last = _ends(len(values), start, stop, step)
    count = _how_many(first, last, step)
    if len(new) != count:
        raise ValueError(
            f"attempt to assign sequence of size {len(new)} to extended slice of size {count}"
        )
    for i in range(count):
        values[first + i * step] = new[i]


def remove(values: Any, start: Any, stop: Any, step: Any) -> None:
    """`del values[start:stop:step]`"""
    first, last = _ends(len(values), start, stop, step)
    count = _how_many(first, last, step)
    if step < 0:
        first = first + (count - 1) * step
        step = -step
    end = first + count * step
    kept: list[Any] = []
    for i in range(len(values)):
        if i < first or i >= end or (i - first) % step != 0:
            kept.append(values[i])
    values.clear()
    values.extend(kept)


def rotate(values: Any, count: Any = 1) -> None:
    """`deque.rotate`"""
    if len(values) > 1:
        for _ in range(count % len(values)):
            values.appendleft(values.pop())
