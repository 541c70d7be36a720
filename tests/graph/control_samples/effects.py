"""Texts, exceptions, state and writes that others see."""

from __future__ import annotations

from typing import Any

import torch

from ptc.graph.control import ControlProgram, Formatted
from ptc.graph.program import InputKind
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

# --- effects ------------------------------------------------------------------------------------


def _prints() -> ControlProgram:
    b = ControlBuilder("prints")
    x = b.tensor("x", f32(2))
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


@sample(_prints, lambda: [{"x": values(1, 2.5)}, {"x": values(100, -0.25)}])
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
    x = b.tensor("x", f32(3))
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


@sample(_raises, lambda: [{"x": values(0, 3, 8)}, {"x": values(1, -3.5, 2)}])
def raises(inputs: Inputs, state: dict[str, Any], emit: EmitCall) -> list[Any]:
    x = inputs["x"]
    x.add_(1)
    if x.min() < 0:
        raise ValueError(f"negative: {x.min().item()!r}")
    return [x.sqrt()]


def _state() -> ControlProgram:
    """A counter in an attribute, and a buffer that one arm writes and one replaces."""
    b = ControlBuilder("state")
    x = b.tensor("x", f32(2))
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


@sample(_state, lambda: [{"x": values(i, 2 * i + 1)} for i in range(5)])
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
    x, k = b.tensor("x", f32(2, 2)), b.scalar("k", INT)
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
