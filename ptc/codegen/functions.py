"""The kernels of a library: equal ones once, named after what they do, spread over units.

Takes `KernelCode`s with a label and origins, gives function names and, at the end, translation
units of about equal cost. Knows nothing of programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ptc.codegen.cpp import NAME, KernelCode
from ptc.codegen.sources import Unit
from ptc.loops.nodes import Origin

#: Cost (about a line of scalar code each) that makes a unit of its own; one takes about a second.
UNIT_COST = 3000.0
_COLUMNS = 100
_HEADER_ORDER = ("ptc_vec.h", "ptc_math.h", "ptc_kernel.h")


@dataclass(slots=True)
class _Function:
    name: str
    code: KernelCode
    origins: list[Origin]
    uses: int = 1


@dataclass(slots=True)
class FunctionTable:
    """All functions of one library. `prefix` keeps symbols of two libraries apart in a debugger."""

    prefix: str
    _by_text: dict[str, _Function] = field(default_factory=dict[str, _Function])

    def add(self, code: KernelCode, label: str, origins: Iterable[Origin] = ()) -> str:
        """The name of a function with this code; a new one only if there is none yet."""
        known = self._by_text.get(code.text)
        if known is not None:
            known.uses += 1  # equal text needs equal headers
            known.origins.extend(origins)
            return known.name
        name = f"{self.prefix}_k{len(self._by_text)}_{identifier(label)[:48]}"
        self._by_text[code.text] = _Function(name, code, list(origins))
        return name

    def __len__(self) -> int:
        return len(self._by_text)

    def declarations(self) -> list[str]:
        """Prototypes of all functions."""
        lines: list[str] = []
        for function in self._by_text.values():
            for line in function.code.text.splitlines():
                if line.startswith("PTC_HIDDEN"):
                    lines.append(line.replace(NAME, function.name).removesuffix(" {") + ";")
        return lines

    def units(self, jobs: int = 2) -> list[Unit]:
        """Translation units of at most about UNIT_COST, at least `jobs` when that pays."""
        functions = list(self._by_text.values())
        total = sum(f.code.cost for f in functions)
        limit = min(UNIT_COST, max(total / max(jobs, 1), UNIT_COST / 8))
        groups: list[list[_Function]] = []
        room = 0.0
        for function in functions:
            if not groups or room < function.code.cost:
                groups.append([])
                room = max(limit, function.code.cost)
            groups[-1].append(function)
            room -= function.code.cost
        return [self._unit(number, group) for number, group in enumerate(groups)]

    def _unit(self, number: int, group: list[_Function]) -> Unit:
        headers = {"ptc_kernel.h"}.union(*(f.code.headers for f in group))
        lines = [f'#include "{h}"' for h in sorted(headers, key=_header_key)]
        lines += ["", "namespace ptc {", ""]
        for function in group:
            lines += _comment(function)
            text = function.code.text.replace(NAME, function.name)
            lines += [piece for line in text.split("\n") for piece in _wrapped(line)]
        lines += ["}  // namespace ptc", ""]
        cost = sum(f.code.cost for f in group)
        return Unit(f"{self.prefix}_kernels{number}.cpp", "\n".join(lines), cost=cost)


def identifier(text: str) -> str:
    """`text` as part of a C identifier."""
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "kernel"


def _header_key(name: str) -> tuple[int, str]:
    return (_HEADER_ORDER.index(name) if name in _HEADER_ORDER else len(_HEADER_ORDER), name)


def _wrapped(line: str) -> list[str]:
    """A function's head in lines of at most 100 columns; other lines as they are."""
    if len(line) <= _COLUMNS or not line.startswith(("PTC_HIDDEN ", "static ")):
        return [line]
    words = line.split(", ")
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 > _COLUMNS:
            lines[-1] += ","
            lines.append(f"    {word}")
        else:
            lines[-1] += f", {word}"
    return lines


def _comment(function: _Function) -> list[str]:
    """The operators and lines of the user's that the function serves."""
    seen: dict[str, None] = {}
    for origin in function.origins:
        where = f"  {origin.location}" if origin.location else ""
        seen[f"// {origin.op}{where}".replace("\\", "/")] = None
    lines = list(seen)
    if len(lines) > 8:
        lines = [*lines[:8], f"// and {len(lines) - 8} more"]
    if function.uses > 1:
        lines.append(f"// called {function.uses} times")
    return lines
