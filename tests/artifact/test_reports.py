"""How the type of an input or output is told."""

from __future__ import annotations

import pytest

from ptc.artifact.reports import Port


@pytest.mark.parametrize(
    ("kind", "dtype", "shape", "text"),
    [
        ("tensor", "f32", "[batch, 3]", "f32[batch, 3]"),
        ("number", "i64", "[]", "int"),
        ("number", "bool", "[]", "bool"),
        ("numbers", "f64", "[0]", "list[float]"),
        ("list", "f32", "[3]", "list[f32[3]]"),
        ("text", "u8", "[0]", "str"),
        ("texts", "u8", "[0]", "list[str]"),
    ],
)
def test_types(kind: str, dtype: str, shape: str, text: str) -> None:
    assert str(Port("y", dtype, shape, kind)) == text
