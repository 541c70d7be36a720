"""What happens when a command fails: a rendered diagnostic and an exit code, never a traceback.

Exit codes: 0 success, 1 the user's model, input or environment, 2 wrong usage of the command line,
3 a fault of ptc, 130 interrupted. `--debug` adds ptc's own traceback.
"""

from __future__ import annotations

import traceback
from errno import EIO, ENOSPC
from typing import Any

import typer
from typer.core import TyperGroup

from ptc.support import settings
from ptc.support.diagnostics import CompileError, Diagnostic, InternalError

from .render import ERR, print_diagnostic

USER_ERROR, INTERNAL_ERROR, INTERRUPTED = 1, 3, 130


class GuardedGroup(TyperGroup):
    """Runs a command and turns what it raises into output and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CompileError as error:
            _explain_failure(ctx, error, error.diagnostic)
            raise typer.Exit(USER_ERROR) from None
        except InternalError as error:
            _explain_failure(ctx, error, error.diagnostic)
            raise typer.Exit(INTERNAL_ERROR) from None
        except KeyboardInterrupt:
            ERR.print("interrupted", style="yellow")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise  # the reader of our output has gone; Typer knows what to do
        except RecursionError as error:
            _explain_failure(ctx, error, _internal(error, "nesting too deep"))
            raise typer.Exit(INTERNAL_ERROR) from None
        except Exception as error:
            # Typer's own exceptions (usage errors, Exit, Abort) carry an exit code.
            if hasattr(error, "exit_code") or type(error).__name__ == "Abort":
                raise
            known = _missing_package(error) or _unwritable_output(error) or _no_temporary(error)
            if known is not None:
                _explain_failure(ctx, error, known)
                raise typer.Exit(USER_ERROR) from None
            _explain_failure(ctx, error, _internal(error, str(error)))
            raise typer.Exit(INTERNAL_ERROR) from None
        except BaseException as error:
            # sys.exit, or a class of the user's own, from code that the model runs: not a success.
            _explain_failure(ctx, error, _internal(error, str(error)))
            raise typer.Exit(INTERNAL_ERROR) from None


def enable_debug(ctx: typer.Context, value: bool) -> bool:
    """Callback of `--debug`, which may stand before or after the command's name."""
    if value:
        ctx.find_root().meta["ptc.debug"] = True
    return value


def debugging(ctx: typer.Context) -> bool:
    """Whether `--debug` was given or PTC_DEBUG is set."""
    if ctx.find_root().meta.get("ptc.debug", False):
        return True
    try:
        return settings.current().debug
    except CompileError:  # a malformed variable, which may be the failure being explained
        return False


def _explain_failure(ctx: typer.Context, error: BaseException, diagnostic: Diagnostic) -> None:
    if debugging(ctx):
        ERR.print("".join(traceback.format_exception(error)), markup=False, highlight=False)
    print_diagnostic(diagnostic)


def _internal(error: BaseException, message: str) -> Diagnostic:
    """The diagnostic for an exception that no stage expected."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/ptc/" in f.filename]
    stage = frames[-1].filename.rpartition("/ptc/")[2] if frames else "cli"
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    diagnostic = InternalError(stage, text).diagnostic
    return Diagnostic(
        diagnostic.code,
        diagnostic.message,
        hint="run again with `--debug` for the traceback, and please report it",
    )


def _unwritable_output(error: Exception) -> Diagnostic | None:
    """The diagnostic for a full disk behind standard output; None for other errors."""
    if not isinstance(error, OSError) or error.errno not in (ENOSPC, EIO) or error.filename:
        return None
    return Diagnostic(
        "PTC-U007",
        f"cannot write to standard output: {error.strerror}",
        hint="send it to another place; files that were announced are complete",
    )


def _no_temporary(error: Exception) -> Diagnostic | None:
    """The diagnostic where no folder takes temporary files; None for other errors."""
    if not isinstance(error, FileNotFoundError) or "usable temporary directory" not in str(error):
        return None
    return Diagnostic(
        "PTC-C003",
        "no folder for temporary files can be written",
        hint="free some space, or point TMPDIR at another disk",
    )


def _missing_package(error: Exception) -> Diagnostic | None:
    """The diagnostic for a package that is not installed; None for other errors, ours included."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    name = error.name.partition(".")[0]
    if name in ("ptc", __name__.partition(".")[0]):
        return None
    return Diagnostic(
        "PTC-U001",
        f"this command needs the package `{name}`, which is not installed",
        hint=f"pip install {name}",
    )
