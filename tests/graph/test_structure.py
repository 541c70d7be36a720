"""Structures: round trips through flat values, registered classes and JSON."""

from __future__ import annotations

import collections
import dataclasses
import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.graph.program import Const, Leaf, Node
from ptc.graph.structure import (
    describe,
    flatten,
    from_json,
    leaves,
    named_type,
    renumber,
    to_json,
    unflatten,
)
from ptc.hosting.structure import builder
from ptc.support.diagnostics import CompileError


class Tensor(float):
    """Stands for a leaf."""


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Batch:
    ids: Any
    mask: Any = None
    calls: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", self.calls + 1)


def is_leaf(value: Any) -> bool:
    return isinstance(value, Tensor)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this_module())
    named_type.cache_clear()


def _this_module() -> Any:
    import types

    module = types.ModuleType(__name__)
    module.__dict__.update(globals())
    return module


TREES = st.recursive(
    st.builds(Tensor, st.floats(allow_nan=False))
    | st.none() | st.integers() | st.text(max_size=3) | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3)
    | st.builds(Point, inner, inner),
    max_leaves=12,
)  # fmt: skip


@given(TREES)
def test_round_trip(value: Any) -> None:
    structure, found = describe(value, is_leaf)
    assert all(is_leaf(leaf) for leaf in found)
    assert unflatten(structure, found) == value
    assert flatten(structure, value) == dict(enumerate(found))
    assert from_json(json.loads(json.dumps(to_json(structure)))) == structure
    assert leaves(structure) == list(range(len(found)))


def test_a_dataclass_is_rebuilt_without_running_its_constructor() -> None:
    value = Batch(Tensor(1), {"a": Tensor(2)})
    structure, found = describe(value, is_leaf)
    assert unflatten(structure, found) == value
    assert unflatten(structure, found).calls == 1


def test_a_model_output_keeps_attributes_and_items() -> None:
    outputs = pytest.importorskip("transformers.modeling_outputs")
    value = outputs.BaseModelOutput(last_hidden_state=Tensor(1), attentions=(Tensor(2), Tensor(3)))
    structure, _ = describe(value, is_leaf)
    assert structure == Node(
        "dict",
        (Leaf(0), Node("tuple", (Leaf(1), Leaf(2)))),
        ("last_hidden_state", "attentions"),
        "transformers.modeling_outputs.BaseModelOutput",
    )
    built = unflatten(structure, [10, 20, 30])
    assert type(built) is type(value)
    assert built.last_hidden_state == 10 and built["attentions"] == (20, 30)
    assert built.hidden_states is None and built.to_tuple() == (10, (20, 30))


def test_dict_subclasses_keep_their_class_and_order() -> None:
    value = collections.OrderedDict([("b", Tensor(1)), ("a", 2)])
    structure, found = describe(value, is_leaf)
    built = unflatten(structure, found)
    assert type(built) is collections.OrderedDict and list(built) == ["b", "a"]


@pytest.mark.parametrize(
    ("given_value", "message"),
    [
        ((1, [2, 3]), r"`x\[1\]` is a list; it was captured as a dict"),
        ((1, {"a": 2}), r"`x\[1\]` has keys \['a'\]"),
        ((1, {"a": 2, "b": 4}), r"`x\[1\]\['b'\]` is 4; it was captured as 3"),
        ((1,), "`x` has 1 elements; it was captured with 2"),
    ],
)
def test_a_value_of_another_structure_is_named(given_value: Any, message: str) -> None:
    structure = Node("tuple", (Leaf(0), Node("dict", (Leaf(1), Const(3)), ("a", "b"))))
    with pytest.raises(CompileError, match=message):
        flatten(structure, given_value, "x")


def test_dict_order_does_not_matter_when_flattening() -> None:
    structure = Node("dict", (Leaf(0), Leaf(1)), ("a", "b"))
    assert flatten(structure, {"b": 2, "a": 1}) == {0: 1, 1: 2}


def test_renumber() -> None:
    structure = Node("list", (Leaf(0), Const(None), Leaf(2)))
    assert renumber(structure, {0: 5, 2: 7}) == Node("list", (Leaf(5), Const(None), Leaf(7)))


@pytest.mark.parametrize(
    "data", [3, {}, {"leaf": -1}, {"leaf": True}, {"kind": 1}, {"const": [1]}, {"leaf": "0"}]
)
def test_json_that_is_no_structure_is_refused(data: Any) -> None:
    with pytest.raises(CompileError):
        from_json(data)


def test_deep_json_is_refused() -> None:
    data: Any = {"leaf": 0}
    for _ in range(5000):
        data = {"kind": "list", "keys": [], "type": "", "children": [data]}
    with pytest.raises(CompileError):
        from_json(data)


def test_an_unknown_class_is_named() -> None:
    with pytest.raises(CompileError, match=r"nowhere\.Thing"):
        unflatten(Node("dataclass", (Leaf(0),), ("a",), "nowhere.Thing"), [1])


def test_rows_take_one_value_of_each_list() -> None:
    row = Node("tuple", (Leaf(2), Node("list", (Leaf(0), Leaf(2))), Const("x")))
    values = [[1.0, 2.0], None, [3, 4]]
    assert unflatten(Node("rows", (row,)), values) == [(3, [1.0, 3], "x"), (4, [2.0, 4], "x")]
    assert unflatten(Node("rows", (row,)), [[], None, []]) == []
    inner = Node("lists", (Leaf(0), Node("tuple", (Leaf(1), Node("lists", (Leaf(2), Leaf(3)))))))
    values = [[2, 0, 1], ["a", "b", "c"], [0, 2, 1], [7, 8, 9]]
    found = [[("a", []), ("b", [7, 8])], [], [("c", [9])]]
    assert unflatten(Node("rows", (inner,)), values) == found
    assert builder(to_json(Node("rows", (inner,))))(values) == found
    pairs = Node("mapping", (Node("rows", (Node("tuple", (Leaf(0), Leaf(1))),)),))
    assert unflatten(pairs, [["a", "b"], [1, 2]]) == {"a": 1, "b": 2}
