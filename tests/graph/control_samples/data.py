"""Sizes that data decides, lists and numbers."""

from __future__ import annotations

import math
from typing import Any

import torch

from ptc.graph.control import ControlProgram, ListVar, NumberVar
from tests.graph.control_building import ControlBuilder
from tests.graph.control_samples.registry import (
    BOOL,
    FLOAT,
    INT,
    EmitCall,
    Inputs,
    f32,
    sample,
    values,
)

# --- data-dependent sizes -----------------------------------------------------------------------


def _kept_rows() -> ControlProgram:
    """nonzero, and what is computed with its size."""
    b = ControlBuilder("kept_rows")
    x = b.tensor("x", f32(6, 2))
    b.at(2, "rows = (x[:, 0] > 0).nonzero()[:, 0]")
    (mask,) = b.segment(lambda x: x[:, 0] > 0, [x], "mask")
    count = b.size("count", 0, 6)
    found = b.variable("found", torch.int64, count, 1)
    b.data_sized("nonzero", [found], mask)
    b.bind_dim(count, found)
    b.at(3, "kept = x[rows]")
    (kept,) = b.segment(lambda x, found: x[found[:, 0]], [x, found], "kept")
    b.at(4, "n = len(rows)")
    b.at(5, "return kept, kept.sum(0) / (n + 1), kept.new_zeros(n, 2) + 1, n")
    mean, ones = b.segment(
        lambda kept: (kept.sum(0) / (count + 1), kept.new_zeros(count, 2) + 1),
        [kept],
        "mean",
        "ones",
    )
    return b.finish(kept, mean, ones, b.number_of(count))


@sample(
    _kept_rows,
    lambda: [
        {"x": torch.linspace(-3, 4, 12).reshape(6, 2)},
        {"x": -torch.ones(6, 2)},
        {"x": torch.ones(6, 2)},
    ],
)
def kept_rows(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    rows = (x[:, 0] > 0).nonzero()[:, 0]
    kept, n = x[rows], len(rows)
    return [kept, kept.sum(0) / (n + 1), kept.new_zeros(n, 2) + 1, n]


def _shrinking() -> ControlProgram:
    """A shape that changes from one iteration to the next."""
    b = ControlBuilder("shrinking")
    x = b.tensor("x", f32(8), {0: ("n", 2, None)})
    size, fresh = b.size("left", 0), b.size("fresh", 0)
    h = b.variable("h", torch.float32, size)
    smaller = b.variable("smaller", torch.float32, fresh)
    b.at(2, "h = x")
    b.assign(h, x)
    b.bind_dim(size, h)
    b.at(3, "while len(x) > 3:")
    again = b.compute("again", BOOL, "gt", b.number_of(size), 3)
    then, _ = b.branch(again, "while")
    with b.inside(then), b.inside(b.loop(again)):
        b.at(4, "x = x[x > x.mean()]")
        (mask,) = b.segment(lambda h: h > h.mean(), [h], "mask")
        b.data_sized("masked_select", [smaller], h, mask)
        b.bind_dim(fresh, smaller)
        b.assign(h, smaller)
        b.bind_dim(size, h)
        b.at(3, "while len(x) > 3:")
        b.compute("again", BOOL, "gt", b.number_of(size), 3)
    b.at(5, "return x * 2, len(x)")
    (out,) = b.segment(lambda h: h * 2, [h], "out")
    return b.finish(out, b.number_of(size))


@sample(
    _shrinking,
    lambda: [{"x": torch.arange(n, dtype=torch.float32)} for n in (2, 3, 8, 41)],
)
def shrinking(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    while len(x) > 3:
        x = x[x > x.mean()]
    return [x * 2, len(x)]


# --- lists --------------------------------------------------------------------------------------


def _growing_list() -> ControlProgram:
    """States of a loop in a list that is stacked, concatenated and indexed afterwards."""
    b = ControlBuilder("growing_list")
    x = b.tensor("x", f32(2, 3))
    states = ListVar("states", x.fake)
    h = b.variable("h", torch.float32, 2, 3)
    b.at(2, "h, states = x, []")
    b.assign(h, x)
    b.list_item("new", states)
    again = b.number("again", True)
    b.at(3, "while True:")
    with b.inside(b.loop(again)):
        b.at(4, "h = h * 1.5 + x")
        (new,) = b.segment(lambda h, x: h * 1.5 + x, [h, x], "new")
        b.assign(h, new)
        b.at(5, "states.append(h)")
        b.list_item("append", None, states, h)
        b.at(6, "if h.max() > 20: break")
        stop = b.test("stop", lambda h: h.max() > 20, h)
        b.compute("again", BOOL, "not", stop)
    b.at(7, "return torch.stack(states), torch.cat(states, 1), states[0], len(states)")
    count, width = b.size("count", 1), b.size("width", 3)
    stacked = b.variable("stacked", torch.float32, count, 2, 3)
    b.list_item("stack", stacked, states, 0)
    b.bind_dim(count, stacked)
    joined = b.variable("joined", torch.float32, 2, width)
    b.list_item("cat", joined, states, 1)
    b.bind_dim(width, joined, 1)
    first, length = b.variable("first", torch.float32, 2, 3), NumberVar("length", INT)
    b.list_item("get", first, states, 0)
    b.list_item("length", length, states)
    return b.finish(stacked, joined, first, length, states)


@sample(_growing_list, lambda: [{"x": torch.full((2, 3), v)} for v in (30.0, 1.0, 0.25)])
def growing_list(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    h, states = x, []
    while True:
        h = h * 1.5 + x
        states.append(h)
        if h.max() > 20:
            break
    return [torch.stack(states), torch.cat(states, 1), states[0], len(states), states]


def _number_lists() -> ControlProgram:
    """Every operation on a list of numbers."""
    b = ControlBuilder("number_lists")
    n = b.scalar("n", INT)
    b.at(2, "a = [3]")
    a, c, d = (ListVar(name, INT) for name in "acd")
    b.list_item("new", a, 3)
    b.at(3, "for i in range(n): a.append(i * i)")
    i = b.number("i", 0)
    again = b.compute("again", BOOL, "gt", n, 0)
    then, _ = b.branch(again, "for")
    with b.inside(then), b.inside(b.loop(again, "for")):
        square = b.compute("square", INT, "mul", i, i)
        b.list_item("append", None, a, square)
        b.compute("i", INT, "add", i, 1)
        b.compute("again", BOOL, "lt", i, n)
    b.at(4, "c = list(a); c.insert(1, n); c[0] = -1; c.reverse()")
    b.list_item("copy", c, a)
    b.list_item("insert", None, c, 1, n)
    b.list_item("set", None, c, 0, -1)
    b.list_item("reverse", None, c)
    b.at(5, "last = c.pop()")
    length = NumberVar("length", INT)
    b.list_item("length", length, c)
    end = b.compute("end", INT, "sub", length, 1)
    last = NumberVar("last", INT)
    b.list_item("pop", last, c, end)
    b.at(6, "d = a[0:1] + c; shared = d; shared.extend(a); a.clear()")
    b.list_item("slice", d, a, 0, 1)
    b.list_item("concat", d, d, c)
    shared = ListVar("shared", INT)
    b.assign(shared, d)
    b.list_item("extend", None, shared, a)
    b.list_item("clear", None, a)
    return b.finish(a, c, d, last)


@sample(_number_lists, lambda: [{"n": n} for n in (0, 1, 6)])
def number_lists(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    n, a = inputs["n"], [3]
    for i in range(n):
        a.append(i * i)
    c = list(a)
    c.insert(1, n)
    c[0] = -1
    c.reverse()
    last = c.pop()
    d = a[0:1] + c
    shared = d
    shared.extend(a)
    a.clear()
    return [a, c, d, last]


# --- numbers ------------------------------------------------------------------------------------


def _numbers() -> ControlProgram:
    """Python arithmetic on an element, and a tensor computed with the result."""
    b = ControlBuilder("numbers")
    x = b.tensor("x", f32(3))
    b.at(2, "v = x.max().item()")
    (top,) = b.segment(lambda x: x.max(), [x], "top")
    v = b.item("v", top)
    b.at(3, "k = int(v) // 3 - (-7) % 4")
    whole = b.compute("whole", INT, "int", v)
    third = b.compute("third", INT, "floordiv", whole, 3)
    left = b.compute("left", INT, "mod", -7, 4)
    k = b.compute("k", INT, "sub", third, left)
    b.at(4, "s = math.sqrt(abs(v)) if k > 0 else v ** 2")
    positive = b.compute("positive", BOOL, "gt", k, 0)
    size = b.compute("size", FLOAT, "abs", v)
    root = b.compute("root", FLOAT, "math.sqrt", size)
    power = b.compute("power", FLOAT, "pow", v, 2)
    s = b.compute("s", FLOAT, "select", positive, root, power)
    r = b.compute("r", FLOAT, "round_to", s, 2)
    b.at(5, "return x * s + k, k, s, round(s, 2), positive")
    (out,) = b.segment(lambda x, s, k: x * s + k, [x, s, k], "out")
    return b.finish(out, k, s, r, positive)


@sample(_numbers, lambda: [{"x": values(*v)} for v in ((1, 2, 3), (-7.5, -8, -9), (40, 1.5, 0))])
def numbers(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    v = x.max().item()
    k = int(v) // 3 - (-7) % 4
    s = math.sqrt(abs(v)) if k > 0 else v**2
    return [x * s + k, k, s, round(s, 2), k > 0]
