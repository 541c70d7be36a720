"""All cases of the zoo, by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache

from tests.zoo.case import Case

#: The files of models, each with its `CASES`.
THEMES = (
    "branches",
    "loops",
    "scalars",
    "lists",
    "effects",
    "decoding",
    "experts",
    "numerics",
    "algorithms",
    "state",
)


@cache
def cases() -> Mapping[str, Case]:
    found: dict[str, Case] = {}
    for theme in THEMES:
        module = importlib.import_module(f"tests.zoo.{theme}")
        for case in module.CASES:
            if case.name in found:
                raise ValueError(f"two models are called {case.name}")
            found[case.name] = case
    return found
