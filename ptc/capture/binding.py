"""Bind the arguments of a real call, as CPython would, to the parameter names of the code
object."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from ptc.capture.sources import argument_name


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
    return {name: bound.arguments[argument_name(name)] for name in names}


def parameter_names(code: types.CodeType) -> tuple[str, ...]:
    """All parameters in the order of co_varnames: positional, keyword-only, *args, **kwargs."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def argument_names(
    called: Callable[..., Any],
    fn: types.FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> dict[str, str]:
    """What callers call the arguments that `fn` collects in `*args` and `**kwargs`.

    Decorated methods take everything that way; their signature (through `__wrapped__`) has the
    names that their users see. Path below the parameter (`kwargs.mask`, `args.0`) -> name. `args`
    are those of the call of `called`, without `self`.
    """
    code = fn.__code__
    slot = code.co_argcount + code.co_kwonlyargcount
    named = code.co_varnames[:slot]
    found: dict[str, str] = {}
    if code.co_flags & inspect.CO_VARARGS:
        collected = code.co_varnames[slot]
        slot += 1
        skipped = code.co_argcount - len(_own_self(called, fn))
        for position, name in enumerate(_positional_names(called)[: len(args)]):
            if position >= skipped:
                found[f"{collected}.{position - skipped}"] = name
    if code.co_flags & inspect.CO_VARKEYWORDS:
        collected = code.co_varnames[slot]
        found |= {f"{collected}.{key}": key for key in kwargs if key not in named}
    return found


def _own_self(called: Callable[..., Any], fn: types.FunctionType) -> tuple[str, ...]:
    """The parameter of `fn` that the call does not pass, if there is one."""
    return () if called is fn else fn.__code__.co_varnames[:1]


def _positional_names(called: Callable[..., Any]) -> list[str]:
    target = getattr(called, "forward", called)
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds]
