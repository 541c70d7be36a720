"""The Python files that a model needs: its own, and the local modules that they import.

Reads import statements, runs nothing. A module is local if its file lies in the folder that the
model's imports are searched from; installed packages are not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def source_files(file: Path) -> tuple[Path, list[Path]]:
    """The folder that holds all of them, and the files, the model's first."""
    file = file.resolve()
    root = file.parent
    while (root / "__init__.py").exists() and root.name.isidentifier():
        root = root.parent
    found: dict[Path, None] = {}
    open_files = [file]
    while open_files:
        current = open_files.pop(0)
        if current in found:
            continue
        found[current] = None
        open_files += _packages_of(current, root)
        for name in _imported(current, root):
            for folder in dict.fromkeys((root, file.parent)):
                open_files += _files_of(folder, name)
    return root, list(found)


def _packages_of(file: Path, root: Path) -> Iterator[Path]:
    """The `__init__.py` files that importing `file` runs."""
    for folder in file.parents:
        if folder == root:
            return
        if (folder / "__init__.py").is_file():
            yield folder / "__init__.py"


def _imported(file: Path, root: Path) -> Iterator[str]:
    """Dotted names that may be modules, function-level imports included."""
    for node in ast.walk(ast.parse(file.read_bytes(), str(file))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = file.parents[node.level - 1].relative_to(root).parts
                base = ".".join((*package, *([base] if base else [])))
            if base:
                yield base
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


def _files_of(folder: Path, name: str) -> Iterator[Path]:
    path = folder.joinpath(*name.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            yield candidate.resolve()
            return
    if "." in name:  # `from module import name`
        yield from _files_of(folder, name.rpartition(".")[0])
