"""A user's folder: files are written, loaded, and forgotten by Python afterwards."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

_counter = itertools.count()

WriteFile = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[WriteFile]:
    """`write(text)` makes a model file with a name that no other test has."""
    path, modules = list(sys.path), set(sys.modules)

    def write_file(text: str, name: str | None = None) -> Path:
        file = tmp_path / (name or f"model_{next(_counter)}.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
        return file

    yield write_file
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
