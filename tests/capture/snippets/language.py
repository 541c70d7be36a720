"""Expressions, statements and calls."""

# ruff: noqa: C416, C417, F821, UP031, UP032

from __future__ import annotations

import functools
import operator

from tests.capture.snippets.registry import case

# -- arithmetic and comparison ------------------------------------------------------------------


@case((7, 3), (-7, 2), (2.5, 0.5), (0, 1), (True, 2))
def arithmetic(a, b):
    return [a + b, a - b, a * b, a / b, a // b, a % b, a**2, -a, +a, divmod(a, b), abs(a)]


@case((6, 3), (255, 4))
def bits(a, b):
    x = a & b
    x |= a ^ b
    x <<= 2
    x >>= 1
    return x, ~a, a.bit_length()


@case((1, 2), (2.0, 2), ("a", "b"), ((1, 2), (1, 3)), ([1], [1]))
def comparisons(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not b


@case((5,), (15,), (25,))
def chained_comparison(x):
    return 10 < x < 20, not x, x and "yes", x or "no", 1 if x > 10 else 2


@case((3,), (0,))
def division_error(x):
    try:
        return 10 / x
    except ZeroDivisionError as error:
        return str(error), type(error).__name__


@case((5, "a"), (1.5, 2), ([1], 2), ({}, {}))
def type_errors(a, b):
    result = []
    for operation in (lambda: a + b, lambda: a < b, lambda: a[b], lambda: a(b), lambda: -a):
        try:
            result.append(operation())
        except Exception as error:
            result.append((type(error).__name__, str(error)))
    return result


# -- control flow -------------------------------------------------------------------------------


@case((0,), (1,), (7,), (30,))
def loops(n):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        if i > 20:
            break
        total += i
    else:
        total += 1000
    while total > 5:
        total -= 3
    else:
        total = -total
    return total


@case(([1, 2, 3],), ([],))
def comprehension(xs):
    squares = [x * x for x in xs if x != 2]
    pairs = {(x, y) for x in xs for y in xs}
    table = {x: [y for y in range(x)] for x in xs}
    total = sum(x for x in xs)
    return squares, sorted(pairs), table, total, [*map(lambda v: v + len(xs), xs)]


@case((3,), (0,))
def closures(n):
    counter = 0

    def add(k=1):
        nonlocal counter
        counter += k
        return counter

    functions = [lambda i=i: i + counter for i in range(n)]
    add()
    add(k=5)
    return counter, [f() for f in functions]


@case((1,), (2,))
def nested_functions(n):
    def outer(a, *args, b=2, **kwargs):
        def inner(c):
            return a + b + c + sum(args) + sum(kwargs.values()) + n

        return inner

    return outer(1)(2), outer(1, 2, 3, b=4, z=5)(6)


@case((5,), (10,))
def recursion(n):
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n)


@case((0,), (1,), (2,), (3,), (4,))
def exceptions(kind):
    log = []
    try:
        try:
            log.append("start")
            if kind == 1:
                raise ValueError("one", 1)
            if kind == 2:
                raise KeyError("two")
            if kind == 3:
                return log
            if kind == 4:
                [][1]
            log.append("fine")
        except ValueError as error:
            log.append(("value", error.args))
            raise RuntimeError("from value") from error
        else:
            log.append("else")
        finally:
            log.append("finally")
    except RuntimeError as error:
        log.append((str(error), type(error.__cause__).__name__, error.__suppress_context__))
    except (KeyError, IndexError) as error:
        log.append((str(error), repr(error), isinstance(error, LookupError)))
    return log


@case((0,), (1,))
def reraise(n):
    def fail():
        try:
            raise ValueError(n)
        except ValueError:
            if n:
                raise
            return "caught"

    try:
        return fail()
    except ValueError as error:
        return error.args, type(error.__context__).__name__


@case((3,))
def finally_in_loop(n):
    log = []
    for i in range(n):
        try:
            if i == 1:
                continue
            log.append(i)
        finally:
            log.append("f")
    return log


class Manager:
    def __init__(self, log, swallow):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(("exit", kind.__name__ if kind else None, str(value)))
        return self.swallow


@case((True, True), (True, False), (False, True))
def with_statement(swallow, fail):
    log = []
    try:
        with Manager(log, swallow) as first, Manager(log, swallow) as second:
            log.append(first is second)
            if fail:
                raise ValueError("inside")
    except ValueError:
        log.append("escaped")
    return log


@case((1,), ("text",), ([1, 2, 3],), ([1],), ({"kind": "a", "size": 3},), ((4, 5),), (None,))
def match_statement(value):
    match value:
        case 1 | 2:
            return "small"
        case str(text):
            return text.upper()
        case [first, *rest] if len(rest) > 1:
            return first, rest
        case [only]:
            return only
        case {"kind": kind, **others}:
            return kind, others
        case (a, b):
            return a + b
        case _:
            return "other"


@case((3,))
def walrus_and_delete(n):
    values = []
    while (n := n - 1) >= 0:
        values.append(n)
    x = 5
    del x
    try:
        x
    except UnboundLocalError as error:
        values.append(str(error))
    del values[0]
    return values


@case(([1, 2, 3, 4],), ((1, 2),))
def unpacking(xs):
    first, *middle, last = xs
    (a, b), c = (first, last), middle
    d, e = {"x": 1, "y": 2}
    merged = {**{"a": 1}, "b": 2, **{"a": 3}}
    return a, b, c, d, e, merged, [*xs, *middle], (*xs, 0), {*xs}


@case(([1],), ([1, 2, 3],))
def unpacking_errors(xs):
    result = []
    for code in (lambda: one_pair(xs), lambda: star_pair(xs), lambda: one_pair(5)):
        try:
            result.append(code())
        except (ValueError, TypeError) as error:
            result.append(str(error))
    return result


def one_pair(xs):
    a, b = xs
    return a, b


def star_pair(xs):
    a, b, *c = xs
    return a, b, c


@case((3, 2.5, "s"))
def formatting(a, b, c):
    width = 8
    return (
        f"{a} {b:.3f} {c!r:>{width}} {a + 1:03d}", "%s-%d-%.2f" % (c, a, b),
        "{0} {name}".format(a, name=c), str([a, b, c]), repr({"k": (a,)}), str(None), f"{a=}",
    )  # fmt: skip


@case(("hello world",), ("",))
def strings(s):
    return (
        s.upper(), s.split(), s.replace("l", "L"), s[::-1], s[1:4], "o" in s, len(s), s * 2,
        "-".join(ch for ch in s), s.startswith("he"), s.find("w"), [c for c in s], s.encode(),
    )  # fmt: skip


# -- calls --------------------------------------------------------------------------------------


def takes(a, /, b, *args, c=3, d, **kwargs):
    return a, b, args, c, d, kwargs


@case(((1, 2), {"d": 4}), ((1, 2, 3), {"d": 4, "e": 5}), ((1,), {"b": 1, "d": 2}), ((), {}),
      ((1, 2), {}), ((1, 2), {"b": 3, "d": 1}), ((1,), {"a": 1, "b": 2, "d": 3}))  # fmt: skip
def call_binding(args, kwargs):
    try:
        return takes(*args, **kwargs)
    except TypeError as error:
        return str(error)


def two_defaults(a, b=1, c=2):
    return a, b, c


@case(((),), ((1,),), ((1, 2, 3, 4),))
def call_errors(args):
    try:
        return two_defaults(*args)
    except TypeError as error:
        return str(error)


@case((4,))
def partials(n):
    add = functools.partial(takes, 1, d=n)
    return (
        add(2),
        add(2, 3, c=5),
        add.args,
        add.keywords,
        functools.reduce(operator.mul, range(1, n)),
    )
