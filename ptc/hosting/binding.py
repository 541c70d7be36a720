"""Python's calling rules for a library: which argument belongs to which place of the captured call.

A place that was fixed when the library was made (a default, a flag) may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ptc.hosting.structure import Json, leaves, plain
from ptc.support.diagnostics import CompileError


@dataclass(frozen=True, slots=True)
class BoundArgument:
    """One argument of the captured call with the value given for it."""

    name: str
    structure: Json
    value: Any


def bind(
    arguments: Json,
    input_names: Sequence[str],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    entry: str,
) -> Iterator[BoundArgument]:
    """Every argument of the captured call that is given or needed.

    `arguments` is the structure of (args, kwargs). Positional arguments may be given by keyword and
    the other way round, as far as names are known. Raises CompileError PTC-R010.
    """
    positional, keywords = arguments["children"]
    places = [(_name(child, input_names), child) for child in positional["children"]]
    places += list(zip(map(plain, keywords["keys"]), keywords["children"], strict=True))
    if len(args) > len(places):
        raise CompileError(
            "PTC-R010",
            f"`{entry}` takes {len(places)} arguments, {len(args)} were given",
        )
    rest = dict(kwargs)
    for number, (name, child) in enumerate(places):
        shown = name or f"args[{number}]"
        if number < len(args):
            if name in rest:
                raise CompileError("PTC-R010", f"the argument `{name}` is given twice")
            yield BoundArgument(shown, child, args[number])
        elif name in rest:
            yield BoundArgument(shown, child, rest.pop(name))
        elif any(True for _ in leaves(child)):
            raise CompileError("PTC-R010", f"the input `{shown}` is missing")
    if rest:
        known = [name for name, _ in places if name]
        raise CompileError(
            "PTC-R010",
            f"`{entry}` has no argument `{next(iter(rest))}`",
            hint=f"arguments: {', '.join(known)}" if known else "",
        )


def _name(child: Json, input_names: Sequence[str]) -> str | None:
    """The parameter's name, which its inputs' names start with; None for a fixed value."""
    first = next(leaves(child), None)
    if first is None:
        return None
    head = re.match(r"\w+", input_names[first])
    return head[0] if head else None
