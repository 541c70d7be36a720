"""The verifier of programs with control flow: what it accepts, and each fault by its words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ptc.graph.control import (
    Assign,
    Bind,
    Body,
    Compute,
    ControlProgram,
    DataSized,
    Emit,
    Formatted,
    If,
    ListItem,
    ListVar,
    NumberKind,
    NumberVar,
    Raise,
    ReadItem,
    StateNumber,
    Switch,
    TensorVar,
    While,
)
from ptc.graph.control_run import run
from ptc.graph.control_verifier import verify_control
from ptc.graph.program import InputKind, Leaf
from ptc.support.diagnostics import InternalError
from tests.graph.control_building import ControlBuilder
from tests.graph.control_samples import SAMPLES

INT, FLOAT, BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL
N, F, C = NumberVar("n", INT), NumberVar("f", FLOAT), NumberVar("c", BOOL)


@pytest.mark.parametrize("name", list(SAMPLES))
def test_samples_are_well_formed(name: str) -> None:
    verify_control(SAMPLES[name].build())


def start() -> tuple[ControlBuilder, TensorVar]:
    """A program with a tensor `x`, an int `n`, a float `f` and a bool `c`."""
    b = ControlBuilder()
    x = b.tensor("x", torch.zeros(2, 3))
    b.number("n", 1)
    b.number("f", 0.5)
    b.compute("c", BOOL, "gt", F, 0.25)
    b.at(7, "y = f(x)")
    return b, x


def refused(program: ControlProgram, message: str) -> None:
    with pytest.raises(InternalError, match=re.escape(message)):
        verify_control(program)


LIST = ListVar("items", INT)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (Compute(N, "add", (NumberVar("k", INT), 1)), "`k` has no value on some path to here"),
        (Compute(N, "plus", (N, 1)), "there is no operation `plus`"),
        (Compute(N, "add", (N,)), "add with 1 operands, expected 2"),
        (Compute(N, "add", (F, 1)), "add of float, int is float, `n` int"),
        (Compute(N, "truediv", (N, 2)), "truediv of int, int is float, `n` int"),
        (Compute(C, "and", (F, C)), "and of float, bool is not possible, `c` bool"),
        (Compute(N, "select", (N, 1, 2)), "`n` (int) is no bool"),
        (Compute(F, "n", ()), "there is no operation `n`"),
        (Compute(NumberVar("f", INT), "add", (1, 1)), "`f` has two types: float and int"),
        (Assign(N, 1.5), "`n` is int, the value 1.5"),
        (Assign(N, True), "`n` is int, the value True"),
        (Assign(N, F), "`n` is int, the value float"),
        (If(N, Body(), Body()), "`n` (int) is no bool"),
        (Switch(F, (Body(),)), "`f` (float) is no int"),
        (Switch(N, ()), "a switch without arms"),
        (While(Body(), NumberVar("go", BOOL)), "`go` has no value at the end of the body"),
        (While(Body(), N), "`n` (int) is no bool"),
        (Bind("s0"), "a size is bound to a dimension or to a number"),
        (Bind("s0", value=F), "`f` (float) is no int"),
        (Emit("paper", ("x",)), "there is no channel `paper`"),
        (Emit("stdout", (Formatted(N, "", "hex"),)), "there is no conversion `hex`"),
        (Raise("", ()), "an exception without a class"),
        (ListItem("append", None, (LIST, 1)), "`items` has no value on some path to here"),
        (ListItem("new", LIST, (1, 2.0)), "2.0 does not go into list of int"),
        (ListItem("new", None, ()), "new without a target"),
        (ListItem("sort", None, (LIST,)), "`items` has no value"),
        (ListItem("length", N, (N,)), "`n` (int) is no list"),
    ],
)  # fmt: skip
def test_items(item: Any, message: str) -> None:
    b, x = start()
    b.add(item)
    (y,) = b.segment(lambda x: x + 1, [x], "y")
    refused(b.finish(y), message)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (lambda x: ReadItem(F, x), "`x` is f32[2, 3], not one element"),
        (lambda x: Bind("s9", x, 2), "`x` is f32[2, 3]: no dim 2"),
        (lambda x: DataSized((x,), "sort", (x,)), "there is no operator `sort`"),
        (lambda x: DataSized((x, x), "nonzero", (x,)), "nonzero with 2 targets"),
        (lambda x: DataSized((x,), "nonzero", (x,)), "`x` is f32[2, 3], the value f32[2, 3]"),
        (lambda x: ListItem("new", LIST, (x,)), "`x` (f32[2, 3]) does not go into list of int"),
        (
            lambda x: Assign(TensorVar("z", x.fake.to(torch.int64)), x),
            "`z` is i64[2, 3], the value f32[2, 3]",
        ),
    ],
)
def test_items_on_tensors(item: Callable[[TensorVar], Any], message: str) -> None:
    b, x = start()
    b.add(item(x))
    (y,) = b.segment(lambda x: x + 1, [x], "y")
    refused(b.finish(y), message)


def test_the_message_quotes_the_place() -> None:
    b, x = start()
    (y,) = b.segment(lambda x: x.sum(), [x], "y")
    b.add(Compute(F, "add", (F, 1)))
    b.add(Compute(N, "add", (F, N)))
    with pytest.raises(InternalError) as caught:
        verify_control(b.finish(y))
    text = caught.value.diagnostic.message
    assert "add of float, int is float, `n` int at model.py:7 y = f(x)\n" in text
    quoted = [line.split("#")[0].strip() for line in text.splitlines()[1:]]
    assert quoted == ["segment: (x) -> (y)", "f = f + 1", "n = f + n"]


def test_what_one_arm_leaves_out() -> None:
    b, x = start()
    then, orelse = b.branch(C)
    with b.inside(then):
        (y,) = b.segment(lambda x: x + 1, [x], "y")
    refused(b.finish(y), "output `output0` has no value on some path to the end")
    with b.inside(orelse):
        b.fail("ValueError", "no")
    verify_control(b.finish(y))  # an arm that raises does not count


def _early(known: bool) -> ControlProgram:
    """`while`: one arm leaves the loop with a result, by a flag that only it sets."""
    b, x = start()
    go, h = NumberVar("go", BOOL), b.variable("h", torch.float32, 2, 3)
    b.assign(h, x)
    with b.inside(b.loop(go)):
        done = b.test("done", lambda h: h.sum() > 9, h)
        then, orelse = b.branch(done)
        with b.inside(then):
            b.segment(lambda h: h * 2, [h], "y")
            b.assign(go, not known)
        with b.inside(orelse):
            (more,) = b.segment(lambda h: h + 1, [h], "more")
            b.assign(h, more)
            b.assign(go, known)
    return b.finish(b.variable("y", torch.float32, 2, 3))


def test_a_flag_tells_paths_apart() -> None:
    """After the loop its condition is false, and with that the result has a value."""
    verify_control(_early(True))
    refused(_early(False), "output `output0` has no value on some path to the end")


def test_a_flag_that_another_flag_tells() -> None:
    """`for` unrolled with `break`: what each way leaves is known by flags that flags imply."""
    b, x = start()
    found, go = NumberVar("found", BOOL), NumberVar("go", BOOL)
    left = b.variable("left", torch.float32, 2, 3)
    hit = b.test("hit", lambda x: x.sum() > 9, x)
    then, orelse = b.branch(hit)
    with b.inside(then):
        b.assign(go, False)
        b.segment(lambda x: x * 2, [x], "left")
        b.assign(found, True)
    with b.inside(orelse):
        b.assign(go, True)
    further, _ = b.branch(go)
    with b.inside(further):
        b.assign(found, False)
        b.segment(lambda x: x * 3, [x], "y")
    last, _ = b.branch(found)
    with b.inside(last):
        b.segment(lambda left: left + 1, [left], "y")
    program = b.finish(b.variable("y", torch.float32, 2, 3))
    verify_control(program)
    for value, expected in ((2.0, 5.0), (1.0, 3.0)):
        (y,) = run(program, {"x": torch.full((2, 3), value)}, {})
        assert y.tolist() == [[expected] * 3] * 2
    with b.inside(last):
        b.segment(lambda y: y + 1, [b.variable("y2", torch.float32, 2, 3)], "y3")
    refused(program, "`y2` has no value on some path to here")


def test_a_flag_that_only_one_way_fixes() -> None:
    """`ok` is false where there is no `y`; where there is, it may be either."""
    b, x = start()
    ok = NumberVar("ok", BOOL)
    then, orelse = b.branch(C)
    with b.inside(then):
        (y,) = b.segment(lambda x: x * 2, [x], "y")
        positive = b.test("positive", lambda y: y.sum() > 0, y)
        yes, no = b.branch(positive)
        with b.inside(yes):
            b.assign(ok, True)
        with b.inside(no):
            b.assign(ok, False)
    with b.inside(orelse):
        b.assign(ok, False)
    last, other = b.branch(ok)
    with b.inside(last):
        b.segment(lambda y: y + 1, [y], "z")
    with b.inside(other):
        b.segment(lambda x: x + 2, [x], "z")
    program = b.finish(b.variable("z", torch.float32, 2, 3))
    verify_control(program)
    with b.inside(other):
        b.segment(lambda y: y + 1, [y], "z")
    refused(program, "`y` has no value on some path to here")


def test_a_copied_selector_tells_what_its_source_did() -> None:
    b, x = start()
    which, copy, third = (NumberVar(name, INT) for name in ("which", "copy", "third"))
    then, orelse = b.branch(C)
    with b.inside(then):
        (y,) = b.segment(lambda x: x * 2, [x], "y")
        b.assign(which, 0)
    with b.inside(orelse):
        b.assign(which, 1)
    b.assign(copy, which)
    for arm, value in zip(b.switch(copy, 2), (2, 1), strict=True):
        with b.inside(arm):
            b.assign(third, value)
    last, _ = b.branch(b.compute("is_two", BOOL, "eq", third, 2))
    with b.inside(last):
        b.segment(lambda y: y + 1, [y], "z")
    program = b.finish(x)
    verify_control(program)
    b.body.items[-2] = Compute(NumberVar("is_two", BOOL), "eq", (third, 1))
    refused(program, "`y` has no value on some path to here")


def test_an_arm_that_never_runs() -> None:
    b, x = start()
    on = b.number("on", True)
    then, _ = b.branch(on)
    with b.inside(then):
        (y,) = b.segment(lambda x: x + 1, [x], "y")
    verify_control(b.finish(y))


def test_a_raise_ends_its_body() -> None:
    b, x = start()
    then, _ = b.branch(C)
    with b.inside(then):
        b.fail("ValueError", "no")
        b.number("n", 2)
    refused(b.finish(x), "`n = 2` follows a raise")


def test_what_only_a_later_iteration_has() -> None:
    """A variable that the body assigns at its end has no value at its start the first time."""
    b, x = start()
    with b.inside(b.loop(C)):
        b.segment(lambda x, y: x + y, [x, TensorVar("y", x.fake)], "z")
        b.segment(lambda x: x * 2, [x], "y")
    refused(b.finish(x), "`y` has no value on some path to here")


def _sized(bound_again: bool) -> ControlProgram:
    """A loop that makes a tensor of a new size; the size is bound before it, and in it or not."""
    b, x = start()
    (flat,) = b.segment(lambda x: x.reshape(-1) > 0, [x], "flat")
    size = b.size("count")
    found = b.variable("found", torch.int64, size, 1)
    b.data_sized("nonzero", [found], flat)
    b.bind_dim(size, found)
    with b.inside(b.loop(C)):
        b.segment(lambda found: found + 1, [found], "more")
        b.data_sized("nonzero", [found], flat)
        if bound_again:
            b.bind_dim(size, found)
    return b.finish(x)


def test_sizes_are_bound_anew_in_each_iteration() -> None:
    verify_control(_sized(True))
    refused(_sized(False), "is not bound at model.py:7")


def test_a_size_that_a_flag_had_bound_is_bound_anew() -> None:
    """What held while `c` was true no longer does once the tensor is another one."""
    b, x = start()
    (flat,) = b.segment(lambda x: x.reshape(-1) > 0, [x], "flat")
    size = b.size("count")
    found = b.variable("found", torch.int64, size, 1)
    b.data_sized("nonzero", [found], flat)
    then, _ = b.branch(C)
    with b.inside(then):
        b.bind_dim(size, found)
    b.data_sized("nonzero", [found], flat)
    again, _ = b.branch(C)
    with b.inside(again):
        b.segment(lambda found: found + 1, [found], "more")
    refused(b.finish(x), "is not bound")


def test_sizes_of_inputs_are_not_bound() -> None:
    b, _ = start()
    z = b.tensor("z", torch.zeros(5), {0: ("n", 1, 9)})
    b.bind_dim(z.fake.shape[0], z)  # pyright: ignore[reportArgumentType]
    refused(b.finish(z), "is given by the inputs")


def test_segments_fit_their_variables() -> None:
    b, _ = start()
    other = b.variable("x", torch.float32, 3, 2)
    (y,) = b.segment(lambda x: x + 1, [other], "y")
    refused(b.finish(y), "`x` has two types: f32[2, 3] and f32[3, 2]")


def test_a_result_has_the_type_of_its_variable() -> None:
    b, x = start()
    b.segment(lambda x: x.sum(0), [x], "y")
    (z,) = b.segment(lambda y: y + 1, [b.variable("y", torch.float32, 2, 3)], "z")
    refused(b.finish(z), "`y` is f32[2, 3], the value f32[3]")


def test_another_fake_mode() -> None:
    b, x = start()
    foreign = ControlBuilder()
    z = foreign.tensor("x", torch.zeros(2, 3))
    foreign.segment(lambda x: x + 1, [z], "y")
    b.add(foreign.body.items[0])
    refused(b.finish(x), "the segment has another fake mode than the program")
    foreign.body.items[0].program.fake_mode = b.mode  # type: ignore[union-attr]
    refused(b.finish(x), "has a value of another fake mode")


def test_weights() -> None:
    b, x = start()
    w = b.weight("w", torch.ones(3))
    b.segment(lambda x, w: x + w, [x, w], "y")
    b.segment(lambda x: x[0] * 2, [x], "w")
    refused(b.finish(x), "`w` is assigned and not among the written inputs")
    b, x = start()
    w = b.weight("w", torch.ones(3), InputKind.BUFFER)
    b.segment(lambda x, w: x + w, [x, w], "y")
    b.inputs.pop()
    b.values.pop()
    refused(b.finish(x), "the program has no weight `w`")


def test_the_shell() -> None:
    b, x = start()
    refused(b.finish(x, written=frozenset({"y"})), "`y` is written and no input")
    refused(b.finish(x, result=Leaf(1)), "a structure names value 1 of 1")
    refused(b.finish(x, variants=(Leaf(0),)), "variants and a selector come together")
    selector = NumberVar("which", INT)
    two = {"variants": (Leaf(0), Leaf(0)), "selector": selector}
    refused(b.finish(x, **two), "the selector `which` has no value on some path")
    state = (StateNumber(NumberVar("k", INT), "k", 0.5),)
    refused(b.finish(x, state=state), "`k` starts with 0.5, which is no int")


def test_paths_need_not_be_followed() -> None:
    """Whether the flag is set in one arm only is more than a caller may want to know."""
    b, x = start()
    then, _ = b.branch(C)
    with b.inside(then):
        (y,) = b.segment(lambda x: x * 2, [x], "y")
    program = b.finish(y)
    verify_control(program, every_path=False)
    with b.inside(then):
        b.segment(lambda y: y + 1, [b.variable("never", torch.float32, 2, 3)], "z")
    with pytest.raises(InternalError, match="`never` has no value on some path to here"):
        verify_control(program, every_path=False)
