"""Reading a target: `FILE[:NAME]` or `package.module:NAME`. Imports nothing."""

from __future__ import annotations

import os
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
    if not text.strip():
        raise CompileError("PTC-L001", "no file is named", hint=_files_hint(Path()))
    place, name = _split(text)
    path = _expanded(place)
    # os.path answers False where Path raises: for names that are too long, for example.
    if os.path.isdir(path):
        raise CompileError(
            "PTC-L001",
            f"{place} is a folder, expected a Python file",
            hint=_files_hint(path),
        )
    if os.path.isfile(path):
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


def _expanded(text: str) -> Path:
    """With the user's home folder for `~`, where there is one."""
    try:
        return Path(text).expanduser()
    except RuntimeError:  # a user that the system does not know
        return Path(text)


def _split(text: str) -> tuple[str, str | None]:
    """At the last colon, unless a file has that very name or a drive letter stands before it."""
    if os.path.exists(_expanded(text)) or ":" not in text:
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
    if not os.path.isdir(folder):
        return f"there is no folder {folder} either"
    files = sorted(p.name for p in folder.glob("*.py"))[:6]
    return (
        f"Python files in {folder}: {', '.join(files)}" if files else f"no Python file in {folder}"
    )
