"""Branches and loops."""

from __future__ import annotations

from typing import Any

import torch

from ptc.graph.control import ControlProgram, NumberVar
from ptc.graph.program import Leaf, Node
from tests.graph.control_building import ControlBuilder
from tests.graph.control_samples.registry import (
    BOOL,
    INT,
    EmitCall,
    Inputs,
    f32,
    sample,
    values,
)

# --- branches -----------------------------------------------------------------------------------


def _branch() -> ControlProgram:
    b = ControlBuilder("branch")
    x = b.tensor("x", f32(2, 3))
    b.at(2, "if x.sum() > 0:")
    c = b.test("c", lambda x: x.sum() > 0, x)
    then, orelse = b.branch(c)
    with b.inside(then):
        b.at(3, "y = x * 2")
        b.segment(lambda x: x * 2, [x], "y")
    with b.inside(orelse):
        b.at(5, "y = (x - 1).relu()")
        (y,) = b.segment(lambda x: (x - 1).relu(), [x], "y")
    b.at(6, "return y + 1")
    (out,) = b.segment(lambda y: y + 1, [y], "out")
    return b.finish(out)


@sample(_branch, lambda: [{"x": torch.ones(2, 3)}, {"x": torch.linspace(-4, 2, 6).reshape(2, 3)}])
def branch(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    y = x * 2 if x.sum() > 0 else (x - 1).relu()
    return [y + 1]


def _branch_with_sizes() -> ControlProgram:
    """An `elif` chain over a dynamic batch, with a weight that two arms share."""
    b = ControlBuilder("branch_with_sizes")
    x = b.tensor("x", f32(5, 4), {0: ("batch", 1, 64)})
    w = b.weight("proj.weight", torch.linspace(-1, 1, 16).reshape(4, 4))
    b.at(2, "m = x.mean()")
    (m,) = b.segment(lambda x: x.mean(), [x], "m")
    b.at(3, "if m > 1:")
    high = b.test("high", lambda m: m > 1, m)
    then, orelse = b.branch(high)
    with b.inside(then):
        b.at(4, "y = x @ self.proj.weight")
        (y,) = b.segment(lambda x, w: x @ w, [x, w], "y")
    with b.inside(orelse):
        b.at(5, "elif m > 0:")
        positive = b.test("positive", lambda m: m > 0, m)
        second, third = b.branch(positive)
        with b.inside(second):
            b.at(6, "y = (x @ self.proj.weight).tanh()")
            b.segment(lambda x, w: (x @ w).tanh(), [x, w], "y")
        with b.inside(third):
            b.at(8, "y = x - m")
            b.segment(lambda x, m: x - m, [x, m], "y")
    return b.finish(y)


@sample(
    _branch_with_sizes,
    lambda: [{"x": torch.full((n, 4), v)} for n, v in ((3, 2.0), (1, 0.5), (7, -1.0))],
)
def branch_with_sizes(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x, w = inputs["x"], torch.linspace(-1, 1, 16).reshape(4, 4)
    m = x.mean()
    if m > 1:
        y = x @ w
    elif m > 0:
        y = (x @ w).tanh()
    else:
        y = x - m
    return [y]


def _switch() -> ControlProgram:
    b = ControlBuilder("switch")
    x, which = b.tensor("x", f32(4)), b.tensor("which", torch.empty((), dtype=torch.int64))
    w = [b.weight(f"experts.{i}.w", torch.full((4,), float(i + 1))) for i in range(3)]
    b.at(2, "y = self.experts[which](x)")
    index = b.item("index", which)
    arms = b.switch(index, 3, "[]")
    y = b.variable("y", torch.float32, 4)
    functions = [lambda x, w: x * w, lambda x, w: (x + w).exp(), lambda x, w: x / w - 1]
    for arm, function, weight in zip(arms, functions, w, strict=True):
        with b.inside(arm):
            b.segment(function, [x, weight], "y")
    return b.finish(y, index)


@sample(
    _switch,
    lambda: [{"x": values(1, -2, 3, 0.5), "which": torch.tensor(i)} for i in (0, 2, 1)],
)
def switch(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x, index = inputs["x"], int(inputs["which"])
    w = torch.full((4,), float(index + 1))
    functions = [lambda: x * w, lambda: (x + w).exp(), lambda: x / w - 1]
    return [functions[index](), index]


def _variants() -> ControlProgram:
    """`return x` or `return {"total": ..., "n": n}`: the structure of the result is data."""
    b = ControlBuilder("variants")
    x = b.tensor("x", f32(3))
    b.at(2, "if x[0] > 0:")
    c = b.test("c", lambda x: x[0] > 0, x)
    then, orelse = b.branch(c)
    selector = NumberVar("selector", INT)
    with b.inside(then):
        b.at(3, "return x.cos()")
        (y,) = b.segment(lambda x: x.cos(), [x], "y")
        b.assign(selector, 0)
    with b.inside(orelse):
        b.at(4, "return {'total': x.sum(), 'n': int(x[1])}")
        total, n_tensor = b.segment(lambda x: (x.sum(), x[1]), [x], "total", "n_tensor")
        n_float = b.item("n_float", n_tensor)
        n = b.compute("n", INT, "int", n_float)
        b.assign(selector, 1)
    forms = (Leaf(0), Node("dict", (Leaf(1), Leaf(2)), ("total", "n")))
    return b.finish(y, total, n, variants=forms, selector=selector)


@sample(_variants, lambda: [{"x": values(1, 2, 3)}, {"x": values(-1, 5.75, 3)}])
def variants(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    if x[0] > 0:
        return [x.cos(), None, None]
    return [None, x.sum(), int(x[1])]


# --- loops --------------------------------------------------------------------------------------


def _counter_loop() -> ControlProgram:
    b = ControlBuilder("counter_loop")
    x = b.tensor("x", f32(4))
    b.at(2, "n = 0")
    n = b.number("n", 0)
    h = b.variable("h", torch.float32, 4)
    b.assign(h, x)
    b.at(3, "while x.abs().max() > 1:")
    again = b.test("again", lambda h: h.abs().max() > 1, h)
    then, _ = b.branch(again, "while")
    with b.inside(then), b.inside(b.loop(again)):
        b.at(4, "x = x / 2")
        (half,) = b.segment(lambda h: h / 2, [h], "half")
        b.assign(h, half)
        b.at(5, "n += 1")
        b.compute("n", INT, "add", n, 1)
        b.at(3, "while x.abs().max() > 1:")
        b.test("again", lambda h: h.abs().max() > 1, h)
    b.at(6, "return x * n, n")
    (out,) = b.segment(lambda h, n: h * n, [h, n], "out")
    return b.finish(out, n)


@sample(_counter_loop, lambda: [{"x": values(0.5, 1, -1, 0)}, {"x": values(9, -70, 3, 1)}])
def counter_loop(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x, n = inputs["x"], 0
    while x.abs().max() > 1:
        x = x / 2
        n += 1
    return [x * n, n]


def _nested() -> ControlProgram:
    """`for i in range(k)` with a branch on a number inside, and a loop inside of that."""
    b = ControlBuilder("nested")
    x, w = b.tensor("x", f32(3)), b.weight("w", values(1, -1, 0.5))
    k = b.scalar("k", INT)
    h = b.variable("h", torch.float32, 3)
    b.assign(h, x)
    b.at(2, "for i in range(k):")
    i = b.number("i", 0)
    again = b.compute("again", BOOL, "gt", k, 0)
    then, _ = b.branch(again, "for")
    with b.inside(then), b.inside(b.loop(again, "for")):
        b.at(3, "if i % 2 == 0:")
        rest = b.compute("rest", INT, "mod", i, 2)
        even = b.compute("even", BOOL, "eq", rest, 0)
        first, second = b.branch(even)
        with b.inside(first):
            b.at(4, "x = x + self.w * i")
            (h1,) = b.segment(lambda h, w, i: h + w * i, [h, w, i], "h1")
            b.assign(h, h1)
        with b.inside(second):
            b.at(6, "while x.sum() < 4:")
            inner = b.test("inner", lambda h: h.sum() < 4, h)
            enter, _ = b.branch(inner, "while")
            with b.inside(enter), b.inside(b.loop(inner)):
                b.at(7, "x = x * x + 1")
                (h2,) = b.segment(lambda h: h * h + 1, [h], "h2")
                b.assign(h, h2)
                b.test("inner", lambda h: h.sum() < 4, h)
        b.at(2, "for i in range(k):")
        b.compute("i", INT, "add", i, 1)
        b.compute("again", BOOL, "lt", i, k)
    return b.finish(h)


@sample(_nested, lambda: [{"x": values(0.1, 0.2, -0.5), "k": k} for k in (0, 1, 2, 5)])
def nested(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x, w = inputs["x"], values(1, -1, 0.5)
    for i in range(inputs["k"]):
        if i % 2 == 0:
            x = x + w * i
        else:
            while x.sum() < 4:
                x = x * x + 1
    return [x]
