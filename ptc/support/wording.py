"""Wording that several messages share."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], limit: int = 5) -> str:
    """`` `a`, `b` and 3 more ``: names as code, at most `limit` of them."""
    shown = ", ".join(f"`{name}`" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def counted(count: int, word: str) -> str:
    """`1 branch`, `2 branches`, `0 loops`."""
    ending = "es" if word.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{count} {word}" + (ending if count != 1 else "")
