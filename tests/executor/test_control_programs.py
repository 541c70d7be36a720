"""Programs with control flow in the executor: branches, loops, numbers, texts, lists, effects,
state, and what is refused when a file is opened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptc.executor.session import Model, Session
from ptc.hosting.effects import UsersException
from ptc.support.diagnostics import CompileError
from tests.executor.files import package

HALVE = """ptir 2
size s0 "n" 0 inf
program "halve" {
  input "x" : f32[3] = user
  input "total" : f32[3] = buffer written
  var $n1 : float
  var $c : bool
  var $t : f32[]
  var $y : f32[3]
  var $state.calls : int
  var $l : list(int)
  var $k : int
  var $s : text
  var $big : bool
  state $state.calls "calls" 0
  graph "0" {
    %0 : f32[3] = user "x"
    %1 : f32[] = aten::sum.dim_IntList(%0, [0], False, None)
    return %1 "t"
  }
  graph "1" {
    %0 : f32[3] = user "y"
    %1 : f32[3] = aten::mul.Tensor(%0, 0.5)
    return %1 "y"
  }
  graph "2" {
    %0 : f32[3] = user "total"
    %1 : f32[3] = user "y"
    %2 : int{s0} = scalar "s0"
    assume s0 - 1 >= 0
    %3 : f32[3] = aten::add.Tensor(%0, %1, 1)
    return %3 "total" alias 0
    write %3 0 "total"
  }
  body {
    $state.calls = number::add($state.calls, 1)
    $l = list::new()
    $y = prim::assign($x)
    prim::call(0)
    $n1 = prim::item($t)
    $big = number::gt($n1, 100.0)
    if $big "if" {  # "model.py":3 "if total > 100:"
      prim::raise("ValueError", "too large: ", format($n1, ".1f"))  # "model.py":4 "raise"
    } else {
    }
    while "while" {
      prim::call(1)
      $n1 = number::truediv($n1, 2)
      $k = number::int($n1)
      list::append($l, $k)
      $c = number::gt($n1, 1.0)
    } again $c
    $k = list::length($l)
    s0 = prim::size($k)
    prim::call(2)
    $s = text::make("after ", str($k), " ", str($l))
    prim::emit("stdout", "", str($s), "\\n")
  }
  return $y "y"
  return $l "l"
  return $state.calls "calls"
  return s0 "n"
}
"""


def session(text: str, **tensors: Any) -> Session:
    return Session(Model(package(text, tensors)))


def test_a_loop_with_numbers_lists_texts_and_state() -> None:
    run = session(HALVE, total=np.zeros(3, np.float32))
    said: list[tuple[object, ...]] = []
    run.listen(lambda *what: said.append(what))
    x = np.asarray([2, 4, 6], np.float32)
    y, values, calls, count = run.run([x])
    assert y.tolist() == [0.125, 0.25, 0.375]
    assert values.tolist() == [6, 3, 1, 0]
    assert (calls.item(), count.item()) == (1, 4)
    assert said[0][-1] == "after 4 [6, 3, 1, 0]\n"
    assert run.run([x])[2].item() == 2
    assert x.tolist() == [2, 4, 6]
    run.reset()
    assert run.run([x])[2].item() == 1


def test_an_exception_of_the_program_has_its_class_and_text() -> None:
    run = session(HALVE, total=np.zeros(3, np.float32))
    with pytest.raises((ValueError, UsersException), match=r"too large: 300\.0"):
        run.run([np.full(3, 100, np.float32)])
    assert run.run([np.ones(3, np.float32)])[2].item() == 2


def test_text_prints_as_it_was() -> None:
    model = Model(package(HALVE, {"total": np.zeros(3, np.float32)}))
    assert model.text() == HALVE


def minimal(*body: str, variables: tuple[str, ...] = ("$n : int",)) -> str:
    declared = "".join(f"  var {item}\n" for item in variables)
    lines = "".join(f"    {line}\n" for line in body)
    return f'ptir 2\nprogram "p" {{\n{declared}  body {{\n{lines}  }}\n  return $n "n"\n}}\n'


def test_an_int_beyond_64_bits_ends_the_run() -> None:
    run = session(minimal("$n = number::mul(9223372036854775807, 2)"))
    with pytest.raises(CompileError, match="does not fit 64 bits"):
        run.run([])


def test_a_variable_without_a_value_ends_the_run() -> None:
    run = session(minimal("$n = number::add($n, 1)"))
    with pytest.raises(CompileError, match="before it has a value"):
        run.run([])


def test_an_index_outside_of_a_list_ends_the_run() -> None:
    body = ("$l = list::new(1, 2)", "$n = list::get($l, 2)")
    run = session(minimal(*body, variables=("$n : int", "$l : list(int)")))
    with pytest.raises(CompileError, match="index 2 of a list of 2"):
        run.run([])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("$n = number::add(1)", "with 1 operands"),
        ("$m = prim::assign(1)", "there is no variable `m`"),
        ("prim::call(0)", "there is no such graph"),
        ("s0 = prim::size(1)", "there is no size `s0`"),
        ("list::append($l, $l)", "operands of `list::append` have other types"),
        ("prim::emit(1, 2)", "an operand that `prim::emit` does not take"),
    ],
)
def test_unsound_statements_are_refused(line: str, message: str) -> None:
    text = minimal(line, variables=("$n : int", "$l : list(int)"))
    with pytest.raises(CompileError, match="PTC-E010|not a readable") as error:
        Model(package(text))
    assert message in error.value.diagnostic.message


def test_unknown_statements_are_refused_when_the_file_is_opened() -> None:
    text = minimal("$n = number::nothing(1)", variables=("$n : int",))
    with pytest.raises(CompileError) as error:
        Model(package(text))
    assert error.value.diagnostic.code == "PTC-R042"
    assert "there is no statement `number::nothing`" in error.value.diagnostic.message


def test_blocks_nest_200_deep_and_no_deeper() -> None:
    deep = ['if $b "if" {'] * 201 + ["} else {", "}"] * 201
    with pytest.raises(CompileError) as error:
        Model(package(minimal(*deep, variables=("$n : int", "$b : bool"))))
    assert "nested too deep" in error.value.diagnostic.message
