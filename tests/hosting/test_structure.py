"""Results are put together without running anybody's constructor."""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from ptc.hosting.structure import Fields, builder


class Counted:
    """Its constructor counts, and takes anything."""

    made = 0

    def __init__(self, **_: Any) -> None:
        type(self).made += 1


@dataclass(frozen=True)
class Checked:
    value: Any

    def __post_init__(self) -> None:
        raise AssertionError("runs once, when the model makes one")


class Ordered(OrderedDict[str, Any]):
    def __init__(self, **_: Any) -> None:
        raise AssertionError("runs once, when the model makes one")


def _structure(kind: str, cls: Any, *keys: str) -> dict[str, Any]:
    children = [{"leaf": number} for number in range(len(keys))]
    name = cls if isinstance(cls, str) else f"{cls.__module__}.{cls.__qualname__}"
    return {"kind": kind, "keys": list(keys), "type": name, "children": children}


@pytest.mark.parametrize(
    ("kind", "cls"), [("object", Counted), ("dataclass", Checked), ("dict", Ordered)]
)
def test_no_constructor_runs(kind: str, cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, cls.__module__, sys.modules[__name__])
    made = builder(_structure(kind, cls, "value"))([7])
    assert type(made) is cls
    assert (made["value"] if kind == "dict" else made.value) == 7
    assert Counted.made == 0


@pytest.mark.parametrize("kind", ["object", "dataclass", "dict", "namedtuple"])
def test_a_hostile_class_name_runs_nothing(kind: str) -> None:
    import subprocess

    made = builder(_structure(kind, "subprocess.Popen", "args"))([["false"]])
    if isinstance(made, subprocess.Popen):
        made._child_created = False  # type: ignore[attr-defined]  # for its __del__
        assert not hasattr(made, "pid")
    assert made.args == ["false"]


def test_an_unknown_class_becomes_fields() -> None:
    made = builder(_structure("object", "nowhere.Result", "value"))([7])
    assert isinstance(made, Fields)
    assert made.value == 7


@pytest.mark.parametrize("value", [torch.float16, torch.device("cpu"), torch.device("cuda", 1)])
def test_element_types_and_devices_are_themselves(value: Any) -> None:
    assert builder({"const": {"python": repr(value)}})([]) == value


@pytest.mark.parametrize("text", ["torch.nn", "device(type='nothing')", "print(1)", "torch."])
def test_other_texts_stay_texts(text: str) -> None:
    assert builder({"const": {"python": text}})([]) == text
