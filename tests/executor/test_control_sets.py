"""Sets and seeds in programs with control flow: tables of slots against those that CPython has, the
generator's buffer, what is no table."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ptc.executor.session import Model, Session
from ptc.graph import set_tables
from ptc.support.diagnostics import CompileError
from tests.executor.files import package

VARIABLES = ("$t : list(int)", "$u : list(int)", "$o : list(int)", "$b : bool", "$n : int")


def program(body: list[str], result: str = "t") -> str:
    declared = "".join(f"  var {item}\n" for item in VARIABLES)
    lines = "".join(f"    {line}\n" for line in body)
    head = f'ptir 2\nprogram "p" {{\n{declared}  body {{\n{lines}  }}\n'
    return f'{head}  return ${result} "{result}"\n}}\n'


def session(body: list[str], result: str = "t") -> Session:
    return Session(Model(package(program(body, result))))


def made(name: str, table: list[int]) -> str:
    return f"${name} = list::new({', '.join(map(str, table))})"


def random_changes(seed: int) -> tuple[list[str], list[int], list[int]]:
    """Statements that change `$t` and note what they give in `$o`; both as Python has them."""
    draw = random.Random(seed)
    table, notes = set_tables.fresh(), list[int]()
    lines = [made("t", table), "$o = list::new()"]
    for _ in range(120):
        op = draw.choice(["add"] * 6 + ["remove", "remove", "next", "reserve", "tidy"])
        if op in ("remove", "next") and not table[2]:
            continue
        if op == "next":
            notes.append(set_tables.next_out(table))
            lines += ["$n = list::table_next($t)", "list::append($o, $n)"]
            lines.append("list::table_remove($t, $n)")
            set_tables.remove(table, notes[-1])
            continue
        changes = {
            "add": (set_tables.add, draw.choice([8, 2**40, 2**59]) * draw.randint(-9, 9)),
            "remove": (set_tables.remove, draw.randrange(max(table[2], 1))),
            "reserve": (set_tables.reserve, draw.randint(0, 9)),
        }
        if op == "tidy":
            set_tables.tidy(table)
            lines.append("list::table_tidy($t)")
        else:
            function, number = changes[op]
            function(table, number)
            lines.append(f"list::table_{op}($t, {number})")
    return lines, table, notes


@pytest.mark.parametrize("seed", range(6))
def test_tables_are_those_of_python(seed: int) -> None:
    lines, table, notes = random_changes(seed)
    assert session(lines).run([])[0].tolist() == table
    assert session(lines, "o").run([])[0].tolist() == notes
    order = session([*lines, "$o = list::table_order($t)"], "o")
    assert order.run([])[0].tolist() == set_tables.order(table)
    copied = session([*lines, "$u = list::table_copy($t)"], "u")
    assert copied.run([])[0].tolist() == set_tables.copy(table)
    cleared = session([*lines, "$u = prim::assign($t)", "list::table_clear($t)"], "u")
    assert cleared.run([])[0].tolist() == [table[0], *set_tables.fresh()[1:]]


@pytest.mark.parametrize("seed", range(3))
def test_one_table_takes_another_ones_slots(seed: int) -> None:
    lines, table, _ = random_changes(seed)
    mine = [5, *set_tables.fresh()[1:]]
    both = [*lines, made("u", mine)]
    fits = session([*both, "$b = list::table_fits($u, $t)"], "b")
    assert fits.run([])[0].item() == set_tables.fits(mine, table)
    taken = session([*both, "list::table_take($u, $t)"], "u")
    assert taken.run([])[0].tolist() == [5, *table[1:]]


FRESH = set_tables.fresh()
NO_TABLE = "a list that is no table of a set"


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        ([0, 0, 0], "list::table_add($t, 1)", NO_TABLE),
        (FRESH[:-2], "list::table_add($t, 1)", NO_TABLE),
        ([0, 8, 8, *[0, 0] * 8], "list::table_add($t, 1)", NO_TABLE),
        ([0, 8, 0, *[-2, 0] * 8], "list::table_add($t, 1)", NO_TABLE),
        ([0, 0, 1, *FRESH[3:]], "$n = list::table_next($t)", NO_TABLE),
        (FRESH, "$n = list::table_next($t)", "an element of an empty set"),
        (FRESH, "list::table_remove($t, 0)", "element 0 of a set of 0"),
        (FRESH, "list::table_reserve($t, 9223372036854775807)", "a set of 9223372036854775807"),
    ],
)
def test_what_is_no_table_ends_the_run(table: list[int], line: str, message: str) -> None:
    with pytest.raises(CompileError) as error:
        session([made("t", table), line]).run([])
    assert message in error.value.diagnostic.message


@pytest.mark.parametrize(
    "line",
    ["list::table_add($n, 1)", "list::table_take($t, $n)", "$b = list::table_fits($n, $t)"],
)
def test_tables_are_lists_of_ints(line: str) -> None:
    with pytest.raises(CompileError) as error:
        session([made("t", FRESH), line]).run([])
    assert "have other types" in error.value.diagnostic.message


DRAWS = """ptir 2
program "draws" {
  input "default_generator" : i32[628] = buffer written
  var $y : f32[4]
  graph "0" {
    %0 : i32[628] = user "default_generator"
    %1 : f32[] = prim::literal("zero")
    %2 : f32[] = prim::literal("one")
    %3 : (f32[4], i32[628]) = ptc::random_uniform(%0, [4], %1, %2, False)
    %4 : f32[4] = prim::element(%3, 0)
    %5 : i32[628] = prim::element(%3, 1)
    return %4 "y"
    write %5 0 "default_generator"
  }
  body {
    prim::call(0)
  }
  return $y "y"
}
"""
STRAIGHT = """ptir 2
graph "draws" {
  %0 : i32[628] = buffer "default_generator"
  %1 : f32[] = prim::literal("zero")
  %2 : f32[] = prim::literal("one")
  %3 : (f32[4], i32[628]) = ptc::random_uniform(%0, [4], %1, %2, False)
  %4 : f32[4] = prim::element(%3, 0)
  %5 : i32[628] = prim::element(%3, 1)
  return %4 "y"
  write %5 0 "default_generator"
}
"""


def drawing(text: str) -> Session:
    weights: dict[str, Any] = {
        "default_generator": np.zeros(628, np.int32),
        "zero": np.zeros((), np.float32),
        "one": np.ones((), np.float32),
    }
    return Session(Model(package(text, weights)))


def test_a_seed_is_that_of_a_straight_program() -> None:
    run, straight = drawing(DRAWS), drawing(STRAIGHT)
    for seed in (0, 7, 2**64 - 1):
        run.seed(seed)
        straight.seed(seed)
        first, second = run.run([])[0].tolist(), run.run([])[0].tolist()
        assert first == straight.run([])[0].tolist() and first != second
        assert second == straight.run([])[0].tolist()
        run.seed(seed)
        assert run.run([])[0].tolist() == first
    run.reset()
    straight.reset()
    assert run.run([])[0].tolist() == straight.run([])[0].tolist()
