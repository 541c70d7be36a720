"""Static look-up in classes: what a class has, without running anything of it."""

from __future__ import annotations

import types
from typing import Any


def static_lookup(cls: type, name: str) -> tuple[Any, type] | None:
    """The raw attribute in the class's MRO and the class that has it. No descriptor runs."""
    for base in cls.__mro__:
        namespace = base.__dict__
        if name in namespace:
            return namespace[name], base
    return None


def python_special(cls: type, name: str) -> tuple[types.FunctionType, type] | None:
    """A special method that is written in Python, with its class; None if C provides it (or
    none)."""
    found = static_lookup(cls, name)
    if found is not None and isinstance(found[0], types.FunctionType):
        return found  # type: ignore[return-value]
    return None
