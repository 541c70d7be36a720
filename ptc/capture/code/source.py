"""Functions from generated Python text, with the text known to linecache, so that tracebacks and
debuggers show it. For generated code that people read (guards, graph wrappers)."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType


def build_function(text: str, name: str, namespace: Mapping[str, object], filename: str) -> FunctionType:
    """Execute `text`, which defines function `name`, with `namespace` as its globals.

    `filename` is made unique with a counter and written as `<ptc FILENAME n>`.
    """
    raise NotImplementedError
