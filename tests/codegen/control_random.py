"""Random programs with control flow: any nesting of branches, loops, writes, lists and numbers.

Every variable is assigned at the start, loops end after a few iterations, and numbers stay small,
so that each program runs to its end or to an exception of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack

import torch

from ptc.graph.control import ControlProgram, Formatted, ListVar, NumberKind, NumberVar, TensorVar
from ptc.graph.program import InputKind
from tests.graph.control_building import ControlBuilder

INT, FLOAT, BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL

_UNARY: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    torch.tanh,
    lambda x: x * 0.75 - 0.125,
    lambda x: x.flip(0),
    lambda x: x - x.mean(),
)
_BINARY: tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], ...] = (
    lambda x, y: torch.tanh(x + y),
    lambda x, y: x * y * 0.5,
    lambda x, y: torch.maximum(x, y),
)
_WRITES: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda x: x.mul_(0.5),
    lambda x: x[0].add_(1),
    lambda x: x.copy_(x.flip(0)),
)


class RandomProgram:
    """A program grown from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.b = ControlBuilder(f"p{seed}")
        self.fresh = 0
        self.depth = 0
        b = self.b
        x = b.tensor("x", torch.empty(3, dtype=torch.float64))
        k = b.scalar("k", INT)
        self.buffer = b.weight(
            f"total{seed}", torch.zeros(3, dtype=torch.float64), InputKind.BUFFER
        )
        b.written |= {f"total{seed}", "x"}
        self.steps = b.kept(f"steps{seed}", 2)
        self.tensors: list[TensorVar] = [x, self.buffer]
        for number in range(3):
            (made,) = b.segment(lambda x, n=number: x + n, [x], f"t{number}")
            self.tensors.append(made)
        self.ints: list[NumberVar] = [k, self.steps, b.number("i0", 3), b.number("i1", -2)]
        self.list = ListVar("items", x.fake)
        self.numbers = ListVar("numbers", INT)
        b.list_item("new", self.list)
        b.list_item("new", self.numbers)

    def name(self, kind: str) -> str:
        self.fresh += 1
        return f"{kind}_{self.fresh}"

    def build(self) -> ControlProgram:
        self.block(self.random.randint(4, 9))
        (total,) = self.b.segment(lambda *t: sum(t), self.tensors, "result")
        return self.b.finish(total, *self.tensors[1:], *self.ints, self.list, self.numbers)

    def block(self, count: int) -> None:
        for _ in range(count):
            kinds = [self.compute, self.unary, self.binary, self.write, self.assign]
            kinds += [self.arithmetic, self.append, self.take, self.emit]
            if self.depth < 3:
                kinds += [self.branch, self.loop, self.switch, self.branch]
            if self.depth:
                kinds.append(self.fail)
            self.random.choice(kinds)()

    # -- statements

    def tensor(self) -> TensorVar:
        return self.random.choice(self.tensors)

    def target(self) -> TensorVar:
        """Not the user's tensor, whose name stays his."""
        return self.random.choice(self.tensors[1:])

    def unary(self) -> None:
        self.b.segment(self.random.choice(_UNARY), [self.tensor()], self.target().name)

    def binary(self) -> None:
        function = self.random.choice(_BINARY)
        self.b.segment(function, self.random.sample(self.tensors, 2), self.target().name)

    def compute(self) -> None:
        """A tensor from a number."""
        number = self.random.choice(self.ints)
        self.b.segment(lambda x, n: torch.tanh(x + n * 0.25), [self.tensor(), number],
                       self.target().name)  # fmt: skip

    def write(self) -> None:
        self.b.segment(self.random.choice(_WRITES), [self.tensor()])

    def assign(self) -> None:
        self.b.assign(self.target(), self.tensor())

    def arithmetic(self) -> None:
        target = self.random.choice(self.ints[1:])
        op = self.random.choice(["add", "sub", "max", "min"])
        value = self.random.choice([*self.ints, self.random.randint(-3, 3)])
        self.b.compute(target.name, INT, op, target, value)
        self.b.compute(target.name, INT, "mod", target, 17)

    def condition(self) -> NumberVar:
        if self.random.random() < 0.5:
            return self.b.test(self.name("c"), lambda x: x.sum() > 0.1234567, self.tensor())
        a, b = self.random.choice(self.ints), self.random.choice(self.ints)
        return self.b.compute(self.name("c"), BOOL, self.random.choice(["lt", "ge"]), a, b)

    def append(self) -> None:
        if self.random.random() < 0.5:
            self.b.list_item("append", None, self.list, self.tensor())
        else:
            self.b.list_item("append", None, self.numbers, self.random.choice(self.ints))

    def take(self) -> None:
        """`t = items[0]` or `items.pop(0)` where there is one; else a stack of two tensors."""
        length = NumberVar(self.name("n"), INT)
        self.b.list_item("length", length, self.list)
        some = self.b.compute(self.name("c"), BOOL, "gt", length, 0)
        then, orelse = self.b.branch(some)
        with self.b.inside(then):
            self.b.list_item(self.random.choice(["get", "pop"]), self.target(), self.list, 0)
        with self.b.inside(orelse):
            pair = ListVar(self.name("pair"), self.list.element)
            self.b.list_item("new", pair, self.tensor(), self.tensor())
            rows = self.b.size(self.name("rows"), 1, 8)
            stacked = self.b.variable(self.name("s"), torch.float64, rows, 3)
            self.b.list_item("stack", stacked, pair, 0)
            self.b.bind_dim(rows, stacked)
            self.b.segment(lambda s: s.sum(0) * 0.5, [stacked], self.target().name)

    def emit(self) -> None:
        self.b.emit("stdout", "i=", Formatted(self.random.choice(self.ints)), "\n")

    def fail(self) -> None:
        """An exception, rarely."""
        a, b = self.random.choice(self.ints), self.random.choice(self.ints)
        self.b.compute("difference", INT, "sub", a, b)
        wanted = self.random.randint(5, 9)
        c = self.b.compute(self.name("c"), BOOL, "eq", NumberVar("difference", INT), wanted)
        then, _ = self.b.branch(c)
        with self.b.inside(then):
            self.b.fail("ValueError", "difference ", Formatted(NumberVar("difference", INT)))

    # -- control flow

    def branch(self) -> None:
        then, orelse = self.b.branch(self.condition())
        for body in (then, orelse):
            with self.b.inside(body):
                self.nested()

    def switch(self) -> None:
        which = self.b.compute(self.name("w"), INT, "mod", self.random.choice(self.ints), 3)
        for arm in self.b.switch(which, 3):
            with self.b.inside(arm):
                self.nested()

    def loop(self) -> None:
        counter = self.b.number(self.name("i"), 0)
        again = NumberVar(self.name("again"), BOOL)
        limit = self.random.randint(1, 4)
        with ExitStack() as stack:
            stack.enter_context(self.b.inside(self.b.loop(again)))
            self.nested()
            self.b.compute(counter.name, INT, "add", counter, 1)
            self.b.compute(again.name, BOOL, "lt", counter, limit)

    def nested(self) -> None:
        self.depth += 1
        self.block(self.random.randint(0, 4))
        self.depth -= 1
