"""Python's calling rules for a library: which argument belongs to which place of the captured call.

A place that was fixed when the library was made (a default, a flag) may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ptc.hosting.structure import Json, flatten, leaves, plain
from ptc.support.diagnostics import CompileError


@dataclass(frozen=True, slots=True)
class _Place:
    """One argument of the captured call. `name` is None for a fixed positional value."""

    name: str | None
    structure: Json


class Binder:
    """Takes calls of one entry apart into flat inputs, in the manifest's order.

    `arguments` is the structure of the captured call's (args, kwargs). Positional arguments may be
    given by keyword and the other way round, as far as names are known.
    """

    def __init__(self, arguments: Json, input_names: Sequence[str], entry: str) -> None:
        self.entry = entry
        self.count = len(input_names)
        positional, keywords = arguments["children"]
        self.places = [_Place(_name(child, input_names), child) for child in positional["children"]]
        self.places += [
            _Place(plain(key), child)
            for key, child in zip(keywords["keys"], keywords["children"], strict=True)
        ]
        # Most models take tensors, in order: such a call is flat already.
        self.is_flat = [p.structure.get("leaf") for p in self.places] == list(range(self.count))

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The flat inputs of a call. Raises CompileError PTC-R010, PTC-R014."""
        if self.is_flat and not kwargs and len(args) == self.count:
            return list(args)
        found: dict[int, Any] = {}
        for name, structure, value in self._given(args, kwargs):
            flatten(structure, value, name, found)
        return [found[i] for i in range(self.count)]

    def _given(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Iterator[tuple[str, Json, Any]]:
        """Name, structure and value of every argument that is given; missing ones are errors."""
        if len(args) > len(self.places):
            raise CompileError(
                "PTC-R010",
                f"`{self.entry}` takes {len(self.places)} arguments, {len(args)} were given",
            )
        rest = dict(kwargs)
        for number, place in enumerate(self.places):
            shown = place.name or f"args[{number}]"
            if number < len(args):
                if place.name in rest:
                    raise CompileError("PTC-R010", f"the argument `{place.name}` is given twice")
                yield shown, place.structure, args[number]
            elif place.name in rest:
                yield shown, place.structure, rest.pop(place.name)
            elif any(True for _ in leaves(place.structure)):
                raise CompileError("PTC-R010", f"the input `{shown}` is missing")
        if rest:
            known = [place.name for place in self.places if place.name]
            raise CompileError(
                "PTC-R010",
                f"`{self.entry}` has no argument `{next(iter(rest))}`",
                hint=f"arguments: {', '.join(known)}" if known else "",
            )


def _name(child: Json, input_names: Sequence[str]) -> str | None:
    """The parameter's name, which its inputs' names start with; None for a fixed value."""
    first = next(leaves(child), None)
    if first is None:
        return None
    head = re.match(r"\w+", input_names[first])
    return head[0] if head else None
