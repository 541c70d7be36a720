"""`import ptc` offers its names lazily, and each one exists."""

from __future__ import annotations

import inspect

import pytest

import ptc


def test_every_public_name_is_listed_and_lazy() -> None:
    assert set(ptc._PUBLIC) <= set(ptc.__all__)
    assert sorted(ptc.__all__) == dir(ptc)


@pytest.mark.parametrize("name", sorted(ptc._PUBLIC))
def test_public_name_resolves(name: str) -> None:
    value = getattr(ptc, name)
    assert callable(value)
    assert inspect.getdoc(value), f"ptc.{name} has no docstring"


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'frobnicate'"):
        ptc.frobnicate
