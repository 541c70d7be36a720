"""Loops, branches, exceptions and context managers."""

# ruff: noqa: B012, B904, F821

from __future__ import annotations

import contextlib
import sys

from tests.capture.code.corpus.registry import Manager, case, note

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
