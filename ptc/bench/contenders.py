"""What is compared: each contender turns a module and example inputs into a callable.

A contender's callable takes the same arguments as the module. Peers that are not installed raise
ImportError, which the report shows as absent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

import ptc

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Contender = Callable[[nn.Module, Args, Kwargs], Callable[..., Any]]


def eager(module: nn.Module, _args: Args, _kwargs: Kwargs) -> Callable[..., Any]:
    """The module itself."""
    return module


def library(module: nn.Module, args: Args, kwargs: Kwargs) -> Callable[..., Any]:
    """`ptc compile`: a library, loaded again."""
    folder = Path(tempfile.mkdtemp(prefix="ptc-bench-"))
    artifact = ptc.build(module, args, kwargs, output=folder / "libmodel.so", check=False)
    return ptc.load(artifact.library)


def compiled(module: nn.Module, _args: Args, _kwargs: Kwargs) -> Callable[..., Any]:
    """`ptc.compile(module)`: weights read live at each call."""
    return ptc.compile(module)


def whole(module: nn.Module, _args: Args, _kwargs: Kwargs) -> Callable[..., Any]:
    """`ptc.compile(module, control_flow=True)`."""
    return ptc.compile(module, control_flow=True)


def frozen(module: nn.Module, _args: Args, _kwargs: Kwargs) -> Callable[..., Any]:
    """`ptc.compile(module, freeze=True)`."""
    return ptc.compile(module, freeze=True)


def inductor(module: nn.Module, _args: Args, _kwargs: Kwargs) -> Callable[..., Any]:
    """`torch.compile(module)`."""
    return torch.compile(module)


def inductor_frozen(module: nn.Module, _args: Args, _kwargs: Kwargs) -> Callable[..., Any]:
    """`torch.compile(module)` with `torch._inductor.config.freezing`."""
    import torch._inductor.config as config  # noqa: PLC0415 - loading it takes seconds

    def call(*args: Any, **kwargs: Any) -> Any:
        with config.patch(freezing=True):
            return run(*args, **kwargs)

    # A fresh copy: dynamo's cache is keyed by code object and would mix it with plain inductor.
    run = torch.compile(_Wrapped(module))
    return call


class _Wrapped(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.eval()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


CONTENDERS: Mapping[str, Contender] = {
    "eager": eager,
    "library": library,
    "ptc.compile": compiled,
    "ptc.compile frozen": frozen,
    "ptc.compile whole": whole,
    "inductor": inductor,
    "inductor frozen": inductor_frozen,
}
