"""Functions from generated Python text, with the text known to linecache, so that tracebacks and
debuggers show it. For generated code that people read (guards, graph wrappers)."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Mapping
from types import FunctionType

_numbers = itertools.count()


def build_function(
    text: str, name: str, namespace: Mapping[str, object], filename: str
) -> FunctionType:
    """Execute `text`, which defines function `name`, with `namespace` as its globals.

    The function's file is `<ptc FILENAME n>`, unique, so that two texts never share their lines.
    """
    unique = f"<ptc {filename} {next(_numbers)}>"
    scope: dict[str, object] = dict(namespace)
    exec(compile(text, unique, "exec"), scope)
    # No modification time: linecache.checkcache then keeps the entry.
    linecache.cache[unique] = (len(text), None, text.splitlines(keepends=True), unique)
    function = scope[name]
    if not isinstance(function, FunctionType):
        raise TypeError(f"`{name}` in the generated text is no function")
    return function
