"""Whose fault is it? Called after capture failed: the model may be wrong, or its inputs.

Runs the entry once as plain Python. An error there is the user's own and is shown as such.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ptc.loader.model import EntryRequest
from ptc.loader.tracebacks import user_error
from ptc.support.diagnostics import CompileError


def eager_error(entry: EntryRequest) -> CompileError | None:
    """What plain Python raises for the entry's example call, as a diagnostic; None if it works."""
    try:
        with torch.no_grad():
            entry.function(*entry.args, **entry.kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit and the user's own classes among them
        return user_error(
            "PTC-L060",
            f"calling `{entry.name}` on its example inputs",
            error,
            hint="the model raises this in plain Python too; check the inputs that were given",
        )
    return None


def other_methods(function: Callable[..., Any], name: str = "forward") -> list[str]:
    """Public methods that the user's classes define, those of nn.Module and `name` left out."""
    return sorted(
        {
            method
            for base in inspect.getmro(type(function))
            if issubclass(base, nn.Module) and base is not nn.Module
            for method, value in vars(base).items()
            if callable(value) and not method.startswith("_") and method != name
        }
    )
