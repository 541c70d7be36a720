"""Reading a target: `FILE[:NAME]` or `package.module:NAME`. Imports nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ptc.support.diagnostics import CompileError

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Target:
    """Either `file` or `module` is set. `name` is a dotted attribute path, None if left out."""

    text: str
    file: Path | None = None
    module: str | None = None
    name: str | None = None


def parse_target(text: str) -> Target:
    """Read `text`. A file that does not exist and a malformed target are CompileErrors."""
    place, name = _split(text)
    path = Path(place).expanduser()
    if path.is_dir():
        raise CompileError(
            "PTC-L001",
            f"{place} is a folder, expected a Python file",
            hint=_files_hint(path),
        )
    if path.is_file():
        if path.suffix != ".py":
            raise CompileError(
                "PTC-L002",
                f"{place} is not a Python file",
                hint=f"weights go with the model's file: `ptc compile model.py --weights {place}`"
                if path.suffix in (".pt", ".pth", ".safetensors", ".bin")
                else "",
            )
        return Target(text, file=path.resolve(), name=name)
    if place.endswith(".py") or "/" in place or "\\" in place:
        raise CompileError("PTC-L001", f"there is no file {place}", hint=_files_hint(path.parent))
    if not _DOTTED.fullmatch(place):
        raise CompileError(
            "PTC-L002",
            f"`{text}` is neither a file nor a module",
            hint="write `model.py`, `model.py:Net` or `package.module:Net`",
        )
    return Target(text, module=place, name=name)


def _split(text: str) -> tuple[str, str | None]:
    """At the last colon, unless a file has that very name or a drive letter stands before it."""
    if Path(text).expanduser().exists() or ":" not in text:
        return text, None
    place, _, name = text.rpartition(":")
    if len(place) == 1 and name.startswith(("\\", "/")):
        return text, None
    if not place or not _DOTTED.fullmatch(name):
        raise CompileError(
            "PTC-L002",
            f"`{name}` in `{text}` is not the name of a class, function or model",
            hint="write `model.py:Net`; leave `:` out to take the file's only model",
        )
    return place, name


def _files_hint(folder: Path) -> str:
    if not folder.is_dir():
        return f"there is no folder {folder} either"
    files = sorted(p.name for p in folder.glob("*.py"))[:6]
    return (
        f"Python files in {folder}: {', '.join(files)}" if files else f"no Python file in {folder}"
    )
