"""Errors of the user's own code, shown as such: their frames, without those of ptc and
libraries."""

from __future__ import annotations

import linecache
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ptc.support.diagnostics import CompileError, Location

_PTC = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple(
    str(Path(folder).resolve())
    for folder in {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}
)
_FRAMES_SHOWN = 4


def user_frames(error: BaseException) -> list[Location]:
    """The places in the user's code that the error passed through, innermost last.

    A frame is the user's if its file lies neither in ptc nor in the Python installation. If there
    is none (an error raised by a library that was called from ptc directly), the list is empty.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return [
        Location(f.filename, f.lineno or 0, f.line or "")
        for f in frames
        if _is_user_file(f.filename)
    ]


def _is_user_file(name: str) -> bool:
    if name.startswith("<"):
        return False
    path = str(Path(name).resolve())
    if path.startswith(_PTC):
        return False
    # A project may lie inside sys.prefix (a container's /usr/local); only its library folders
    # count.
    return "site-packages" not in path and "dist-packages" not in path and not _in_stdlib(path)


def _in_stdlib(path: str) -> bool:
    return any(path.startswith(folder + "/lib/python") for folder in _LIBRARIES) or path.startswith(
        str(Path(sysconfig.get_paths()["stdlib"]).resolve())
    )


def user_error(code: str, what: str, error: BaseException, *, hint: str = "") -> CompileError:
    """A CompileError saying that the user's code raised `error` while doing `what`."""
    frames = user_frames(error)
    location = frames[-1] if frames else None
    notes = tuple(f"called from {frame}   {frame.text}" for frame in frames[:-1][-_FRAMES_SHOWN:])
    text = str(error).strip() or "no message"
    return CompileError(
        code,
        f"{what} raised {type(error).__name__}: {text}",
        location=location,
        notes=notes,
        hint=hint,
    )


def syntax_error(code: str, error: SyntaxError, shown: str) -> CompileError:
    """A CompileError for a file that Python cannot parse, with the character it stumbled on.

    `shown` is the file that was imported: Python names none when it cannot decode the text."""
    file, line = error.filename or shown, error.lineno or 1
    text = (error.text or linecache.getline(file, line)).rstrip("\n")
    notes: tuple[str, ...] = ()
    if error.offset and text:
        notes = (f"  {text}", f"  {' ' * (error.offset - 1)}^")
    return CompileError(
        code,
        f"Python cannot parse the file: {error.msg}",
        location=Location(file, line),
        notes=notes,
    )


@contextmanager
def users_code(code: str, what: str, *, hint: str = "") -> Iterator[None]:
    """Run the user's code in a `with` block; what it raises becomes a CompileError of `code`."""
    try:
        yield
    except (CompileError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        reason = f"with status {error.code}" if error.code is not None else "without a status"
        raise CompileError(code, f"{what} ended the program {reason}", hint=hint) from error
    except BaseException as error:  # the user's code may raise classes of its own
        raise user_error(code, what, error, hint=hint) from error
