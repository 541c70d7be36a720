"""Python functions for the bytecode tests: every statement and stack shape that user code can have.

Each case is (function, arguments, keyword arguments). Functions call `note` to leave a trace, so
that the order of effects is compared too. They are small: each is run once for each of its
instructions.
"""

# ruff: noqa: B012, B023, B904, F821, UP031

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

CASES: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
TRACE: list[object] = []


def note(value: object) -> object:
    """Leave a trace and hand the value back."""
    TRACE.append(value)
    return value


def case(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function with one set of arguments."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, args, kwargs))
        return function

    return register


class Manager:
    """A context manager that may swallow exceptions of one type, or raise on exit."""

    def __init__(self, name: str, swallow: Any = (), fail: bool = False) -> None:
        self.name, self.swallow, self.fail = name, swallow, fail

    def __enter__(self) -> str:
        note(f"enter {self.name}")
        return self.name

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        note(f"exit {self.name} {kind and kind.__name__} {type(sys.exception()).__name__}")
        if self.fail:
            raise RuntimeError(f"exit {self.name}")
        return kind is not None and issubclass(kind, self.swallow)


# Loops and branches


@case(4)
@case(0)
def for_else(n):
    total = 0
    for i in range(n):
        if i == 2:
            continue
        total += note(i)
        if total > 100:
            break
    else:
        total = -total
    return total


@case(5)
def while_loops(n):
    out = []
    while n > 0:
        n -= 1
        if n % 2:
            continue
        out.append(n)
        while True:
            if len(out) > 1:
                break
            out.append("x")
    else:
        out.append("done")
    return out


@case([[1, 2], [3, 0], [4]])
def nested_loops_with_break(rows):
    seen = []
    for row in rows:
        for item in row:
            if not item:
                break
            seen.append(item)
        else:
            seen.append("end")
    return seen


@case(None, 3, [])
@case(0, None, [1])
def boolean_logic(a, b, c):
    left = a or b
    right = a and b
    mixed = (a or c) and (b or not c)
    flag = (a is None and b is not None) or c
    return left, right, mixed, flag, (1 if a else 2 if b else 3)


@case(3)
def ternary_in_returned_call(x):
    return note(x + 1 if x > 2 else x - 1)


@case(5)
@case(50)
def chained_comparison(x):
    return 0 < x <= 10 < 20, x not in (1, 2), x in [5], x == 5 != 6, not x


@case([1, 2, 3, 4])
def walrus(items):
    kept = []
    while (n := len(items)) > 2:
        kept.append((n, last := items.pop()))
    return kept, n, last


@case(None)
@case(1)
def none_jumps(x):
    if x is None:
        note("none")
    if x is not None:
        note("some")
    while x is not None:
        x = None
    return x


# Exceptions


@case(0)
@case(1)
@case(2)
@case(3)
def try_except_else_finally(k):
    try:
        note("try")
        if k == 1:
            raise ValueError("one")
        if k == 2:
            raise KeyError("two")
        if k == 3:
            return note("early")
    except ValueError as error:
        note(str(error))
        note(type(sys.exception()).__name__)
    except (KeyError, IndexError):
        note("key")
        note(type(sys.exception()).__name__)
    else:
        note("else")
    finally:
        note("finally")
        note(type(sys.exception()).__name__)
    return k


@case()
def nested_handlers():
    try:
        try:
            raise ValueError("inner")
        except ValueError as first:
            note(repr(sys.exception()))
            try:
                raise KeyError("second") from first
            except KeyError as second:
                note(repr(sys.exception()))
                note(repr(second.__cause__))
                note(repr(second.__context__))
            note(repr(sys.exception()))
            raise
    except ValueError as outer:
        note(repr(outer))
    return repr(sys.exception())


@case()
def raise_in_handler():
    try:
        note(1 / 0)
    except ZeroDivisionError:
        note("handling")
        raise KeyError("other")


@case()
def bare_raise():
    try:
        raise ValueError("again")
    except ValueError:
        note("seen")
        raise


@case()
def uncaught_in_try():
    try:
        note("before")
        raise OSError("lost")
    except ValueError:
        note("never")
    finally:
        note(repr(sys.exception()))


@case()
def return_in_finally():
    for i in range(3):
        try:
            note(i)
            raise ValueError(i)
        finally:
            if i == 1:
                return note("swallowed")
            if i == 0:
                continue


@case(3)
def break_and_continue_in_try(n):
    for i in range(n):
        try:
            if i == 1:
                continue
            if i == 2:
                break
            note(i)
        finally:
            note(("finally", i))
    return i


@case()
def handler_variable_is_deleted():
    error = "kept"
    try:
        raise ValueError
    except ValueError:
        note("caught")
    return error


@case(True)
@case(False)
def unbound_local(flag):
    if flag:
        value = 1
    note("next")
    return value


@case()
def deleted_local():
    value = 1
    del value
    note("deleted")
    return value


@case()
def exception_groups():
    seen = []
    try:
        raise ExceptionGroup("many", [ValueError("v"), KeyError("k"), OSError("o")])
    except* ValueError as group:
        seen.append(note([repr(e) for e in group.exceptions]))
    except* KeyError:
        seen.append(note(repr(sys.exception())))
    return seen


@case(1)
@case("x")
def assertion(x):
    assert isinstance(x, int), f"not a number: {x}"
    return x


@case()
def exception_from_callee():
    def fail():
        raise LookupError("deep")

    try:
        fail()
    except LookupError as error:
        note(str(error))
        raise RuntimeError("wrapped") from error


# Context managers


@case()
def with_nested():
    with Manager("a") as a, Manager("b") as b:
        note(a + b)
        with Manager("c"):
            note("body")
    return "after"


@case(ValueError)
@case(KeyError)
def with_suppressed(kind):
    with Manager("outer", KeyError):
        with Manager("inner", ValueError) as name:
            note(name)
            raise kind("x")
        note("after inner")
    note("after outer")
    return repr(sys.exception())


@case()
def with_in_loop():
    total = 0
    for i in range(4):
        with Manager(str(i), ValueError):
            if i == 1:
                continue
            if i == 2:
                raise ValueError
            if i == 3:
                break
            total += i
        total += 10
    return total


@case()
def with_return():
    with Manager("r"):
        return note("value")


@case()
def exit_raises():
    try:
        with Manager("bad", fail=True):
            raise ValueError("first")
    except RuntimeError as error:
        return repr(error), repr(error.__context__)


@case()
def try_in_with_in_for():
    out = []
    for i in range(3):
        with contextlib.suppress(IndexError):
            try:
                out.append([10, 20][i])
            finally:
                out.append(note(i))
    return out


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


# Refused


def generator(n):
    yield from range(n)


async def coroutine(n):
    return n


async def asynchronous_generator(n):
    yield n


REFUSED = {
    "generator": generator,
    "coroutine": coroutine,
    "asynchronous generator": asynchronous_generator,
}
