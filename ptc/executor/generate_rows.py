"""Reductions and the like for `generate.py`."""

from __future__ import annotations


def row_files() -> dict[str, str]:
    """Name -> text."""
    return {}
