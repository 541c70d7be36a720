"""Putting files that belong together in place: all of them or none.

Takes paths with their contents. Knows nothing of what is in them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ptc.support.diagnostics import CompileError

#: The code of what cannot be written, where the caller has none of its own.
UNWRITABLE = "PTC-R030"
#: What a file holds: its bytes, or a finished file to move there.
Content = bytes | Path
_EXECUTABLE = (".so", ".dylib", ".dll")


def is_folder(output: str | Path) -> bool:
    """Whether what the user named as output is a folder: one that exists, or a text that ends in
    `/`."""
    return str(output).endswith("/") or Path(output).is_dir()


@contextmanager
def staging_folder(final: Path, code: str = UNWRITABLE) -> Iterator[Path]:
    """A folder on the file system of `final`, so that files are moved to their places, not copied.

    It lies in the nearest folder above `final` that exists: nothing else is made before a build
    has succeeded. Raises CompileError `code` if nothing can be written there.
    """
    above = final.parent
    while not above.exists() and above != above.parent:
        above = above.parent
    with disk_errors(final, code):
        folder = tempfile.TemporaryDirectory(dir=above, prefix=f".{final.name}.")
    with folder as name:
        yield Path(name)


@contextmanager
def disk_errors(final: Path, code: str = UNWRITABLE) -> Iterator[None]:
    """What a disk refuses on the way to `final`, as a CompileError `code`."""
    try:
        yield
    except OSError as error:
        raise CompileError(
            code,
            f"cannot write {final}: {error.strerror or error}",
            hint="`--output` is to name a file in this folder"
            if isinstance(error, IsADirectoryError)
            else "choose another place with `--output`",
        ) from None


def land(files: Mapping[Path, Content], code: str = UNWRITABLE) -> None:
    """Write every file under its final name, or, if anything fails, none.

    Contents are written beside their places first, so that only renames are left when the first
    final name appears; a rename that fails undoes those before it. A process that has an old
    version of a file open (a loaded library) keeps that version. Raises CompileError `code` if a
    folder or disk refuses.
    """
    staged: dict[Path, Path] = {}
    try:
        with disk_errors(next(iter(files)), code):
            for path, content in files.items():
                with disk_errors(path, code):
                    staged[path] = _stage(path, content)
            with _one_at_a_time(next(iter(files)).parent):
                _rename_all(staged)
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Two builds of one library must not mix their files. Where the file system knows no locks,
    the manifest tells a mixture."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _stage(path: Path, content: Content) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            if isinstance(content, bytes):
                stream.write(content)
        if isinstance(content, Path):
            _move(content, temporary)
        # mkstemp makes files that only their owner may read.
        temporary.chmod(0o755 if path.suffix in _EXECUTABLE else 0o644)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _move(source: Path, target: Path) -> None:
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(source, target)


def _rename_all(staged: Mapping[Path, Path]) -> None:
    done: list[tuple[Path, Path | None]] = []
    try:
        for path, temporary in staged.items():
            old = _set_aside(path)
            done.append((path, old))
            os.replace(temporary, path)
    except BaseException:
        for path, old in reversed(done):
            if old is not None:
                os.replace(old, path)
                # Renaming one name of a file to another name of it does nothing.
                old.unlink(missing_ok=True)
            else:
                path.unlink(missing_ok=True)
        raise
    for _, old in done:
        if old is not None:
            old.unlink(missing_ok=True)


def _set_aside(path: Path) -> Path | None:
    """A second name for what `path` holds now, None if it holds nothing."""
    if not path.exists():
        return None
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.old.")
    os.close(handle)
    os.unlink(name)
    try:
        os.link(path, name)
    except OSError:  # a file system without hard links
        shutil.copy2(path, name)
    return Path(name)
