"""The `ptc` command. A command's module is imported when the command is used, not before: `ptc run`
works where torch is not installed, and `ptc --help` answers at once."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.main import get_command

from ptc.support.version import VERSION

from .boundary import GuardedGroup, enable_debug
from .options import Debug
from .render import OUT


@dataclass(frozen=True, slots=True)
class CommandSource:
    """Where a command lives: `commands/<module>.py`, function `<module>_command`."""

    module: str
    help: str

    def load(self, name: str) -> Any:
        """The command with its arguments, as Typer runs it."""
        module = importlib.import_module(f".commands.{self.module}", __package__)
        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        single.command(name)(getattr(module, f"{self.module}_command"))
        return get_command(single)


COMMANDS = {
    "compile": CommandSource("compile", "Compile a model to a native library."),
    "run": CommandSource("run", "Run a compiled model, without torch."),
    "export": CommandSource("export", "Export a model to another format."),
    "executor": CommandSource("executor", "Write the program that runs .ptir files."),
    "verify": CommandSource("verify", "Compare what was made with the model."),
    "inspect-graph": CommandSource("inspect_graph", "Show a model at any stage of compilation."),
    "explain": CommandSource("explain", "Explain a diagnostic code."),
    "bench": CommandSource("bench", "Measure ptc beside its peers."),
    "doctor": CommandSource("doctor", "Say what works on this machine."),
}


class CommandGroup(GuardedGroup):
    """Loads a command's module when the command is resolved; help shows the table above."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args else ""
        if "--debug" in args:
            # Loading the command may fail before its own option is read.
            enable_debug(ctx, True)
        if name in COMMANDS:
            self.commands[name] = COMMANDS[name].load(name)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="ptc",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Capture an unmodified PyTorch model; compile it to a small native library or export it.",
    epilog="Exit codes: 0 success, 1 model, input or environment, 2 usage, 3 fault of ptc.",
)


def _listed() -> None:
    """Stands for a command in the list of commands."""


for _name, _source in COMMANDS.items():
    app.command(_name, help=_source.help)(_listed)


def _print_version(value: bool) -> None:
    if value:
        OUT.print(f"ptc {VERSION}")
        raise typer.Exit


@app.callback()
def ptc(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
    debug: Debug = False,
) -> None:
    del version, debug


def app_main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        # A path or a message may hold what the terminal's encoding cannot show.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()


if __name__ == "__main__":
    app_main()
