"""Programs with control flow, made by hand, each beside the Python that it stands for.

`SAMPLES` has them by name. `eager(inputs, state, emit)` is written as a user would write the model:
it works on the same tensors in the same order, so that results, writes to inputs, state, texts and
exceptions of a compiled form can be compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ptc.graph.control import ControlProgram, Formatted, ListVar, NumberKind, NumberVar
from ptc.graph.program import InputKind, Leaf, Node
from tests.graph.control_building import ControlBuilder

INT, FLOAT, BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL

#: (channel, label, text)
EmitCall = Callable[[str, str, str], None]
Inputs = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """`calls`: the inputs of one session's calls in order; together they reach every arm.

    `eager` gives the flat results, and None for one that the variant taken does not use.
    A new session's `state` is empty.
    """

    build: Callable[[], ControlProgram]
    eager: Callable[[Inputs, dict[str, Any], EmitCall], list[Any]]
    calls: Callable[[], Sequence[Inputs]]


SAMPLES: dict[str, Sample] = {}


def sample(
    build: Callable[[], ControlProgram], calls: Callable[[], Sequence[Inputs]]
) -> Callable[[Any], Any]:
    """Register the decorated eager function with its program."""

    def register(eager: Any) -> Any:
        assert eager.__name__ not in SAMPLES
        SAMPLES[eager.__name__] = Sample(build, eager, calls)
        return eager

    return register


def _f32(*shape: int) -> torch.Tensor:
    return torch.empty(shape)


def _values(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


# --- branches -----------------------------------------------------------------------------------


def _branch() -> ControlProgram:
    b = ControlBuilder("branch")
    x = b.tensor("x", _f32(2, 3))
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
    x = b.tensor("x", _f32(5, 4), {0: ("batch", 1, 64)})
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
    x, which = b.tensor("x", _f32(4)), b.tensor("which", torch.empty((), dtype=torch.int64))
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
    lambda: [{"x": _values(1, -2, 3, 0.5), "which": torch.tensor(i)} for i in (0, 2, 1)],
)
def switch(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x, index = inputs["x"], int(inputs["which"])
    w = torch.full((4,), float(index + 1))
    functions = [lambda: x * w, lambda: (x + w).exp(), lambda: x / w - 1]
    return [functions[index](), index]


def _variants() -> ControlProgram:
    """`return x` or `return {"total": ..., "n": n}`: the structure of the result is data."""
    b = ControlBuilder("variants")
    x = b.tensor("x", _f32(3))
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


@sample(_variants, lambda: [{"x": _values(1, 2, 3)}, {"x": _values(-1, 5.75, 3)}])
def variants(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    if x[0] > 0:
        return [x.cos(), None, None]
    return [None, x.sum(), int(x[1])]


# --- loops --------------------------------------------------------------------------------------


def _counter_loop() -> ControlProgram:
    b = ControlBuilder("counter_loop")
    x = b.tensor("x", _f32(4))
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


@sample(_counter_loop, lambda: [{"x": _values(0.5, 1, -1, 0)}, {"x": _values(9, -70, 3, 1)}])
def counter_loop(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x, n = inputs["x"], 0
    while x.abs().max() > 1:
        x = x / 2
        n += 1
    return [x * n, n]


def _nested() -> ControlProgram:
    """`for i in range(k)` with a branch on a number inside, and a loop inside of that."""
    b = ControlBuilder("nested")
    x, w = b.tensor("x", _f32(3)), b.weight("w", _values(1, -1, 0.5))
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


@sample(_nested, lambda: [{"x": _values(0.1, 0.2, -0.5), "k": k} for k in (0, 1, 2, 5)])
def nested(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x, w = inputs["x"], _values(1, -1, 0.5)
    for i in range(inputs["k"]):
        if i % 2 == 0:
            x = x + w * i
        else:
            while x.sum() < 4:
                x = x * x + 1
    return [x]


# --- data-dependent sizes -----------------------------------------------------------------------


def _kept_rows() -> ControlProgram:
    """nonzero, and what is computed with its size."""
    b = ControlBuilder("kept_rows")
    x = b.tensor("x", _f32(6, 2))
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
    x = b.tensor("x", _f32(8), {0: ("n", 2, None)})
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
    x = b.tensor("x", _f32(2, 3))
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
    x = b.tensor("x", _f32(3))
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


@sample(_numbers, lambda: [{"x": _values(*v)} for v in ((1, 2, 3), (-7.5, -8, -9), (40, 1.5, 0))])
def numbers(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    v = x.max().item()
    k = int(v) // 3 - (-7) % 4
    s = math.sqrt(abs(v)) if k > 0 else v**2
    return [x * s + k, k, s, round(s, 2), k > 0]


# --- effects ------------------------------------------------------------------------------------


def _prints() -> ControlProgram:
    b = ControlBuilder("prints")
    x = b.tensor("x", _f32(2))
    b.at(2, "total = x.sum().item()")
    (total_tensor,) = b.segment(lambda x: x.sum(), [x], "total_tensor")
    total = b.item("total", total_tensor)
    b.at(3, "print('total', total, f'{total:.3f}')")
    b.emit("stdout", "total ", Formatted(total), " ", Formatted(total, ".3f", "format"), "\n")
    b.at(4, "if total > 10:")
    c = b.compute("c", BOOL, "gt", total, 10)
    then, orelse = b.branch(c)
    with b.inside(then):
        b.at(5, "warnings.warn(f'large: {total}', RuntimeWarning)")
        b.emit("warning", "large: ", Formatted(total), label="RuntimeWarning")
        b.at(6, "log.info('kept %s', c)")
        b.emit("log", "kept ", Formatted(c), label="INFO:model")
    with b.inside(orelse):
        b.at(8, "print(x, file=sys.stderr)")
        b.emit("stderr", Formatted(x), "\n")
    return b.finish(total_tensor)


@sample(_prints, lambda: [{"x": _values(1, 2.5)}, {"x": _values(100, -0.25)}])
def prints(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    total = x.sum().item()
    emit("stdout", "", f"total {total} {total:.3f}\n")
    if total > 10:
        emit("warning", "RuntimeWarning", f"large: {total}")
        emit("log", "INFO:model", f"kept {total > 10}")
    else:
        emit("stderr", "", f"{x}\n")
    return [x.sum()]


def _raises() -> ControlProgram:
    """An exception after a write to an input: the write stays."""
    b = ControlBuilder("raises")
    x = b.tensor("x", _f32(3))
    b.written.add("x")
    b.at(2, "x.add_(1)")
    b.segment(lambda x: x.add_(1), [x])
    b.at(3, "if x.min() < 0:")
    (lowest,) = b.segment(lambda x: x.min(), [x], "lowest")
    low = b.item("low", lowest)
    c = b.compute("c", BOOL, "lt", low, 0)
    then, orelse = b.branch(c)
    with b.inside(then):
        b.at(4, "raise ValueError(f'negative: {x.min().item()!r}')")
        b.fail("ValueError", "negative: ", Formatted(low, "", "repr"))
    with b.inside(orelse):
        b.at(5, "y = x.sqrt()")
        (y,) = b.segment(lambda x: x.sqrt(), [x], "y")
    return b.finish(y)


@sample(_raises, lambda: [{"x": _values(0, 3, 8)}, {"x": _values(1, -3.5, 2)}])
def raises(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    x.add_(1)
    if x.min() < 0:
        raise ValueError(f"negative: {x.min().item()!r}")
    return [x.sqrt()]


def _state() -> ControlProgram:
    """A counter in an attribute, and a buffer that one arm writes and one replaces."""
    b = ControlBuilder("state")
    x = b.tensor("x", _f32(2))
    total = b.weight("total", torch.zeros(2), InputKind.BUFFER)
    b.written.add("total")
    steps = b.kept("steps", 0)
    b.at(2, "self.steps += 1")
    b.compute("steps", INT, "add", steps, 1)
    b.at(3, "if self.steps % 3 == 0:")
    rest = b.compute("rest", INT, "mod", steps, 3)
    c = b.compute("c", BOOL, "eq", rest, 0)
    then, orelse = b.branch(c)
    with b.inside(then):
        b.at(4, "self.total = torch.zeros_like(x)")
        (zeros,) = b.segment(lambda x: torch.zeros_like(x), [x], "zeros")
        b.assign(total, zeros)
    with b.inside(orelse):
        b.at(6, "self.total.add_(x)")
        b.segment(lambda total, x: total.add_(x), [total, x])
    b.at(7, "return self.total / self.steps")
    (out,) = b.segment(lambda total, steps: total / steps, [total, steps], "out")
    return b.finish(out, steps)


@sample(_state, lambda: [{"x": _values(i, 2 * i + 1)} for i in range(5)])
def state(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    state["steps"] = state.get("steps", 0) + 1
    total = state.get("total", torch.zeros(2))
    if state["steps"] % 3 == 0:
        total = torch.zeros_like(x)
    else:
        total.add_(x)
    state["total"] = total
    return [total / state["steps"], state["steps"]]


def _shared_storage() -> ControlProgram:
    """Two names of one tensor, one of them written in a loop; the input itself in one arm."""
    b = ControlBuilder("shared_storage")
    x, k = b.tensor("x", _f32(2, 2)), b.scalar("k", INT)
    b.written.add("x")
    h, kept = b.variable("h", torch.float32, 2, 2), b.variable("kept", torch.float32, 2, 2)
    b.at(2, "h = x if k > 2 else x + 1")
    large = b.compute("large", BOOL, "gt", k, 2)
    then, orelse = b.branch(large, "if-expression")
    with b.inside(then):
        b.assign(h, x)
    with b.inside(orelse):
        (more,) = b.segment(lambda x: x + 1, [x], "more")
        b.assign(h, more)
    b.at(3, "kept = h")
    b.assign(kept, h)
    b.at(4, "for _ in range(k): h.mul_(2); h[0].add_(1)")
    i = b.number("i", 0)
    again = b.compute("again", BOOL, "gt", k, 0)
    enter, _ = b.branch(again, "for")
    with b.inside(enter), b.inside(b.loop(again, "for")):
        b.segment(lambda h: h.mul_(2), [h])
        b.segment(lambda h: h[0].add_(1), [h])
        b.compute("i", INT, "add", i, 1)
        b.compute("again", BOOL, "lt", i, k)
    b.at(5, "return kept, x - 1")
    (less,) = b.segment(lambda x: x - 1, [x], "less")
    return b.finish(kept, less)


@sample(
    _shared_storage,
    lambda: [{"x": torch.arange(4.0).reshape(2, 2), "k": k} for k in (0, 2, 4)],
)
def shared_storage(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x, k = inputs["x"], inputs["k"]
    h = x if k > 2 else x + 1
    kept = h
    for _ in range(k):
        h.mul_(2)
        h[0].add_(1)
    return [kept, x - 1]
