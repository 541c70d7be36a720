"""Bind the arguments of a real call, as CPython would, to the parameter names of the code object."""

from __future__ import annotations

import inspect
import types
from typing import Any

from ptc.capture.guards import parameter_name


def bind_call(
    fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Parameter name (as in co_varnames) -> object. Raises CPython's TypeError for a bad call."""
    code = fn.__code__
    names = parameter_names(code)
    # inspect would follow __wrapped__ and __signature__; only the code object's own count here
    plain = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    plain.__kwdefaults__ = fn.__kwdefaults__
    bound = inspect.signature(plain).bind(*args, **kwargs)
    bound.apply_defaults()
    return {name: bound.arguments[parameter_name(name)] for name in names}


def parameter_names(code: types.CodeType) -> tuple[str, ...]:
    """All parameters in the order of co_varnames: positional, keyword-only, *args, **kwargs."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]
