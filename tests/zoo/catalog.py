"""All cases of the zoo, by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
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
    "systems",
    "algorithms",
    "state",
    "idioms",
    "unseen",
)

#: Models for a quick run, one or two a theme.
SAMPLE = frozenset(
    {
        "gated_block",
        "sixteen_branches",
        "adaptive_computation",
        "repeat_int",
        "sizes_from_data",
        "expert_by_number",
        "nms",
        "try_except",
        "tiny_generator",
        "early_exit",
        "newton_root",
        "flood_fill",
        "circuit_breaker",
        "repetition_penalty",
        "command_patterns",
    }
)


@cache
def cases() -> Mapping[str, Case]:
    found: dict[str, Case] = {}
    for theme in THEMES:
        for case in theme_cases(theme):
            if case.name in found:
                raise ValueError(f"two models are called {case.name}")
            found[case.name] = case
    return found


def theme_cases(theme: str) -> Sequence[Case]:
    """The cases of one file."""
    return importlib.import_module(f"tests.zoo.{theme}").CASES
