"""Options that several commands share. Light: `ptc run` uses some where torch is absent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .boundary import enable_debug

Target = Annotated[
    str,
    typer.Argument(
        metavar="FILE[:NAME]",
        help="A Python file or module, and the model, class or function in it.",
        show_default=False,
    ),
]
Inputs = Annotated[
    list[str],
    typer.Option(
        "--input",
        "-i",
        metavar="[NAME=]VALUE",
        help="An input: x=f32[1,3,224,224], ids=i64[1,128]<30000, scale=0.5, x=@file.npy. Repeat.",
        show_default=False,
    ),
]
Dynamic = Annotated[
    list[str],
    typer.Option(
        "--dynamic",
        metavar="INPUT:DIM=NAME",
        help="A dimension of any size: x:0=batch or x:0=batch[1..64]. Repeat.",
        show_default=False,
    ),
]
Init = Annotated[
    str | None,
    typer.Option(
        "--init", metavar="JSON", help="""Arguments for a class or factory: '{"depth": 2}'."""
    ),
]
Weights = Annotated[
    Path | None,
    typer.Option(
        "--weights",
        metavar="PATH",
        help="A .safetensors or .pt file, or a Hugging Face folder.",
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype", metavar="TYPE", help="Convert parameters and inputs: bf16, f16, f32, f64."
    ),
]
Entries = Annotated[
    list[str],
    typer.Option(
        "--entry",
        metavar="METHOD",
        help="A method to compile, in place of forward. Repeat.",
        show_default=False,
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**63 - 1, help="Of random weights, inputs and draws.")
]
DumpDir = Annotated[
    Path | None,
    typer.Option("--dump-dir", metavar="DIR", help="Write the program there after every stage."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show ptc's own traceback.", callback=enable_debug, is_eager=True),
]
