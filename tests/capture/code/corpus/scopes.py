"""Comprehensions, closures, classes, calls, data and text."""

# ruff: noqa: B023, F821, UP031

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.capture.code.corpus.registry import CASES, case, note

# Comprehensions, closures, classes


@case(4)
def comprehensions(n):
    squares = [i * i for i in range(n) if i % 2]
    pairs = {(a, b) for a in range(2) for b in range(a)}
    table = {k: [k + j for j in range(2)] for k in range(n)}
    return squares, pairs, table, sum(x for x in range(n)), n


@case([1, 2])
def comprehension_hides_local(items):
    x = "outer"
    doubled = [note(x) for x in items]
    return x, doubled


@case([1, 2])
def comprehension_captures(items):
    x = 7
    readers = [lambda: x for x in items]
    return x, [reader() for reader in readers]


@case([1, 0])
def comprehension_raises(items):
    x = "outer"
    try:
        return [note(1 / x) for x in items]
    except ZeroDivisionError:
        return x


@case(2)
def closures(n):
    count = 0

    def bump(by=1, *, twice=False):
        nonlocal count
        count += by * (2 if twice else 1) * n
        return count

    bump()
    count += 1
    bump(2, twice=True)
    n += 1
    return bump(), count, n


def make_reader(value):
    @case(3)
    def reader(x):
        nonlocal value
        value += x
        inner = lambda: value + x  # noqa: E731
        x += 1
        return inner(), value

    return reader


make_reader(10)


@case()
def deleted_cell():
    value = 1
    read = lambda: value  # noqa: E731
    note(read())
    del value
    try:
        return read()
    except NameError:
        return "gone"


class Base:
    def scale(self, x, factor=2):
        return note(x * factor)

    @property
    def size(self):
        return 5


class Derived(Base):
    @case()
    def plain_super(self=None):
        self = self or Derived()
        return super().scale(3, factor=4), super().size

    @case()
    def super_object(self=None):
        self = self or Derived()
        parent = super()
        note("between")
        return parent.scale(2), __class__.__name__

    def captured_self(self, x):
        later = lambda: self.size + x  # noqa: E731
        y = super().scale(x)
        parent = super()
        return later() + y + parent.size

    def explicit_super(self, x):
        return super().scale(x)


CASES.append((Derived.captured_self, (Derived(), 3), {}))
CASES.append((Derived.explicit_super, (Derived(), 3), {}))


@case(2)
def local_class(n):
    class Point(Base):
        """A class made in a function."""

        total = n

        def __init__(self, x: int = 1) -> None:
            super().__init__()
            self.x = x + n

    return Point(3).x, Point.total, Point.__doc__


@case(3)
def decorated(n):
    def twice(function):
        return lambda x: function(function(x))

    @twice
    def add(x):
        return x + n

    return add(1)


@case(1)
def reads_its_frame(x):
    y = x + 1
    z = "unused otherwise"
    del x
    return sorted(name for name in locals() if not name.startswith("."))


# Calls, data, text


def signature(a, /, b, *args, c=3, **kwargs):
    return a, b, args, c, sorted(kwargs.items())


@case(1, 2, 3, 4, c=5, d=6)
def star_arguments(a, /, b, *args, c, **kwargs):
    first = signature(a, b, *args, c=c, **kwargs)
    second = signature(a, b=b, d=1, **{"e": 2})
    third = signature(*args, *(1, 2), **kwargs, z=0)
    return first, second, third, note(a)


@case({"a": 1}, [1, 2, 3, 4])
def displays(d, items):
    merged = {**d, "b": 2, **{"c": 3}}
    joined = [*items, 0, *items[1:3]]
    first, *middle, last = items
    (x, y), z = (1, 2), 3
    pairs = {1, 2, *middle}
    constant = {"k": x, "l": y}
    items[0] += 5
    items[1:2] = [9, 9]
    del items[-1], d["a"]
    return merged, joined, first, middle, last, (x, y, z), pairs, constant, items, d, items[::2]


@case(3.14159, "text")
def formatting(number, text):
    width = 10
    return f"{number:.2f}|{text!r:>{width}}|{text!s}|{text!a}|{number}|{{}}" + "%s %d" % (text, 2)


class Box:
    value = 1


@case()
def attributes():
    box = Box()
    box.value += 2
    box.other = [box.value]
    box.other.append(-box.value)
    note(~box.value)
    del box.value
    return box.value, box.other, +box.value


COUNTER = 0


@case()
def global_state():
    global COUNTER
    COUNTER += 1
    note(COUNTER)
    COUNTER = 0
    import math as m
    from os.path import join as j

    return m.floor(2.5), callable(j)


@case(2, 3)
def operators(a, b):
    c = a + b - a * b / a // b % 7**a
    d = (a << b) | (a & b) ^ (b >> 1)
    d += 1
    d -= 2
    d *= 3
    d //= 2
    d **= 2
    d %= 50
    d <<= 1
    d |= 1
    d &= 0xFF
    d ^= 3
    d >>= 1
    return c, d, a < b, a >= b, a != b


def pattern(subject):
    match subject:
        case {"kind": str(kind), **rest} if rest:
            return "mapping", kind, note(rest)
        case [first, *others, 9]:
            return "sequence", first, others
        case Box(value=v):
            return "class", v
        case 1 | 2 as small:
            return "or", small
        case None:
            return "none"
        case _:
            return "other"


for _subject in ({"kind": "k", "x": 1}, [1, 2, 9], Box(), 2, None, "text"):
    CASES.append((pattern, (_subject,), {}))


@case(200)
def many_locals(n):
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = n
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = b8 = note(a0 + a8)
    c0, c1, c2 = b0, b8, b7
    return a1 + a2 + a3 + a4 + a5 + a6 + a7 + b1 + b2 + b3 + b4 + b5 + b6 + c0 + c1 + c2


@case(3)
def iterates_generator(n):
    def produce() -> Iterator[int]:
        for i in range(n):
            yield note(i)

    source = produce()
    total = 0
    for item in source:
        total += item
    return total, list(zip(range(3), source, strict=False))


def long_function() -> Callable[..., Any]:
    """Enough constants, names and code for EXTENDED_ARG on operands and jumps."""
    lines = ["def long(n):", "    total = 0", "    for i in range(n):"]
    lines += [f"        total += {1000 + k} if i else {5000 + k}" for k in range(150)]
    lines += [f"    total += len('name{k}')" for k in range(3)]
    lines += ["    return note(total)"]
    scope: dict[str, Any] = {"note": note}
    exec(compile("\n".join(lines), "<long>", "exec"), scope)
    return scope["long"]
