"""Writing each form of a program to a folder (`--dump-dir`), in the order in which it was made.

Takes a stage name and text or files, gives numbered files. Knows no form of program: whoever owns a
form prints it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ptc.support.diagnostics import CompileError

#: The forms a program takes, with the file (or folder) each is dumped to.
STAGE_FILES: Mapping[str, str] = {
    "captured": "01.captured.py",
    "aten": "02.aten.py",
    "joint": "03.joint.py",
    "forward": "03.forward.py",
    "backward": "03.backward.py",
    "loops": "04.loops",
    "scheduled": "05.scheduled",
    "code": "06.code",
    "artifact": "07.artifact",
}


@dataclass(frozen=True, slots=True)
class Dumper:
    """Writes stages under `folder`; with `folder` None it writes nothing and prints nothing.

    A program that is split by graph breaks gives each part its own `for_part`.
    """

    folder: Path | None = None

    @property
    def enabled(self) -> bool:
        return self.folder is not None

    def for_part(self, name: str) -> Dumper:
        """A dumper for a part of the program, in a sub-folder."""
        return self if self.folder is None else Dumper(self.folder / _file_name(name))

    def text(self, stage: str, make_text: Callable[[], str]) -> Path | None:
        """Dump one stage as text. `make_text` is called only if dumping is on."""
        if self.folder is None:
            return None
        path = self.folder / STAGE_FILES[stage]
        _write(path, make_text().encode())
        return path

    def files(self, stage: str, make_files: Callable[[], Mapping[str, str | bytes]]) -> Path | None:
        """Dump one stage as a folder of files (name -> content)."""
        if self.folder is None:
            return None
        root = self.folder / STAGE_FILES[stage]
        for name, content in make_files().items():
            data = content.encode() if isinstance(content, str) else content
            _write(root / _file_name(name), data)
        return root


def _write(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, data)
    except OSError as error:
        raise CompileError(
            "PTC-U006",
            f"cannot write the dump {path}: {error.strerror or error}",
            hint="choose another folder with `--dump-dir`",
        ) from None


def write_atomically(path: Path, data: bytes | Callable[[BinaryIO], object]) -> None:
    """Write `data`, or what it writes, so that `path` holds either its old content or all of the
    new one. A link stays, and the file that it names is written."""
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            if callable(data):
                data(stream)
            else:
                stream.write(data)
        # mkstemp gives 0600; a dump or a manifest is for everyone whom the umask lets read it.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _file_name(name: str) -> str:
    """`name` as a file name: path separators and control characters become underscores."""
    safe = "".join(c if c.isprintable() and c not in "/\\:" else "_" for c in name)
    return safe.lstrip(".") or "unnamed"
