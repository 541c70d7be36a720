"""What `find` means, and which operands it takes."""

from __future__ import annotations

from typing import Any

import pytest

from ptc.graph.control import ListItem, ListVar, NumberKind, NumberVar, TextVar
from ptc.graph.control_lists import fault_of_find, find_text, index_of_row

INTS, FLOATS, TEXTS = (
    ListVar("ints", NumberKind.INT),
    ListVar("floats", NumberKind.FLOAT),
    ListVar("texts", str),
)
LISTS = ListVar("lists", ListVar("", NumberKind.INT))
AT = NumberVar("at", NumberKind.INT)


@pytest.mark.parametrize(
    ("args", "index"),
    [
        (([3, 1, 2, 1], 1), 1),
        (([3, 1, 2], 7), -1),
        (([], 7), -1),
        (([1, 1, 2], 1, ["a", "b", "b"], "b"), 1),
        (([1, 1, 2], 2, ["a", "b", "b"], "a"), -1),
        (([0.5, float("nan")], 0.5), 0),
        (([0.5, float("nan")], float("nan")), None),
        (([0.0], -0.0), 0),
        (([[], [1, 2], [1]], [1]), 2),
        (([[], [1.0, float("nan")]], [1.0, float("nan")]), None),
    ],
)
def test_the_first_row_that_is_equal(args: Any, index: int | None) -> None:
    assert index_of_row(args) == index


def test_the_text_runs() -> None:
    text = find_text(["[1, 1, 2]", "1", "['a', 'b', 'b']", "'b'"])
    assert eval(text) == 1


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        (ListItem("find", AT, (INTS, 1, TEXTS, TextVar("t"))), None),
        (ListItem("find", AT, (FLOATS, 0.5)), None),
        (ListItem("find", AT, (INTS, 1.5)), "1.5 is not looked for in `ints`, a list of int"),
        (ListItem("find", AT, (INTS, True)), "True is not looked for in `ints`, a list of int"),
        (ListItem("find", AT, (LISTS, INTS)), None),
        (
            ListItem("find", AT, (LISTS, FLOATS)),
            "ListVar(name='floats', element=<NumberKind.FLOAT: 'float'>) is not looked for in "
            "`lists`, a list of list of int",
        ),
        (ListItem("find", AT, (INTS,)), "find with 1 operands"),
        (ListItem("find", TextVar("t"), (INTS, 1)), "find gives an int"),
    ],
)
def test_the_types_of_operands(item: ListItem, fault: str | None) -> None:
    assert fault_of_find(item) == fault
