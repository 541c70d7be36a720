"""A model that is called through its entries: by default the first, and each by its name.

What an entry is, its owner knows: a function of a library, or of a package with Python source.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from ptc.support.diagnostics import CompileError

E = TypeVar("E", bound=Callable[..., Any])


class WithEntries(Generic[E]):
    """Has `entries` by name, and the `path` of the file that they are in."""

    entries: dict[str, E]
    path: Path

    def entry(self, name: str | None = None) -> E:
        """The entry called `name`, by default the first. Raises CompileError PTC-R015."""
        if name is None:
            return next(iter(self.entries.values()))
        if name not in self.entries:
            raise CompileError(
                "PTC-R015",
                f"{self.path.name} has no entry `{name}`",
                hint=f"its entries: {', '.join(self.entries)}",
            )
        return self.entries[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.entry()(*args, **kwargs)

    def __getattr__(self, name: str) -> E:
        entries: dict[str, E] = self.__dict__.get("entries", {})
        if name in entries:
            return entries[name]
        raise AttributeError(f"no entry or attribute `{name}`; the entries are {list(entries)}")
