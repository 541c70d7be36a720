"""What the loader is asked for and what it gives back. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn


@dataclass(frozen=True, slots=True)
class DynamicDim:
    """A dimension that may take any size in [lower, upper]; None: no upper limit.

    Dimensions with the same name have the same size.
    """

    name: str
    lower: int = 1
    upper: int | None = None


#: Argument path (`x`, `args[0]`, `batch.ids`) -> dimension number -> what it may be.
DynamicSpec = Mapping[str, Mapping[int, DynamicDim]]

#: (args, kwargs) of one call.
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """A user's wish, as text where the command line gives text.

    target   `FILE[:NAME]` or `package.module:NAME`
    init     arguments for a class or factory, by parameter name
    inputs   `--input` texts, see `ptc.hosting.input_spec`
    dynamic  `--dynamic` texts
    weights  a .safetensors or .pt file, or a folder in Hugging Face layout
    dtype    element type for floating parameters and example inputs (`bf16`)
    entries  methods to compile; empty: the module's forward, or the function itself
    seed     of random weights and random inputs
    """

    target: str
    init: Mapping[str, Any] | None = None
    inputs: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    weights: Path | None = None
    dtype: str | None = None
    entries: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """One callable with the example call it is captured from.

    function  an nn.Module (its `__call__` is the entry), a bound method, or a function
    program   what was captured already: the program of a file that holds one
    variant   makes another valid call: (seed, sizes by dimension name) -> arguments. Values stay
              within the ranges that the user gave, or that the example shows.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    dynamic: DynamicSpec | None = None
    variant: Callable[[int, Mapping[str, int]], Arguments] | None = None
    program: Any = None


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A user's model, ready for capture.

    name     of the model, usable in file names and C identifiers
    module   the nn.Module behind the entries, None for a plain function
    source   the file that defines it
    notes    what the loader did that the user should know, one sentence each
    """

    name: str
    entries: tuple[EntryRequest, ...]
    module: nn.Module | None = None
    source: Path | None = None
    notes: tuple[str, ...] = ()
