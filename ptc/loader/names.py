"""Names for models: usable in file names and as identifiers of C."""

from __future__ import annotations

import re

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def identifier(name: str) -> str:
    """`DynamicModel` becomes `dynamic_model`, `zoo.tiny-net` becomes `zoo_tiny_net`."""
    words = _WORDS.sub("_", name).lower()
    clean = re.sub(r"[^0-9a-z]+", "_", words).strip("_")
    if not clean:
        return "model"
    return f"model_{clean}" if clean[0].isdigit() else clean
