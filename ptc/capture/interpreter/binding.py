"""Bind call arguments to a function's parameters, with CPython's error messages."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue

if TYPE_CHECKING:
    from ptc.capture.interpreter.machine import Machine


def bind_arguments(
    vm: Machine, function: FunctionValue, args: list[Value], kwargs: dict[str, Value]
) -> dict[str, Value]:
    """The initial locals of a call."""
    code = function.code
    names = code.co_varnames
    count = code.co_argcount
    total = count + code.co_kwonlyargcount
    bound: dict[str, Value] = dict(zip(names[:count], args, strict=False))
    extra_args = args[count:]
    has_varargs = bool(code.co_flags & inspect.CO_VARARGS)
    if extra_args and not has_varargs:
        raise _too_many(vm, function, args)
    if kwargs:
        extra_kwargs = _bind_keywords(vm, function, bound, kwargs)
    else:
        extra_kwargs = {}
    if len(bound) < total:
        _fill_defaults(vm, function, bound)
    slot = total
    if has_varargs:
        bound[names[slot]] = vm.tuple(list(extra_args))
        slot += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        bound[names[slot]] = vm.dict_of(extra_kwargs)
    return bound


def _bind_keywords(
    vm: Machine, function: FunctionValue, bound: dict[str, Value], kwargs: dict[str, Value]
) -> dict[str, Value]:
    code = function.code
    allowed = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    extra: dict[str, Value] = {}
    takes_any = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    for name, value in kwargs.items():
        if name in allowed:
            if name in bound:
                text = f"{function.qualname}() got multiple values for argument {name!r}"
                raise vm.type_error(text)
            bound[name] = value
        elif takes_any:
            extra[name] = value
        elif name in code.co_varnames[: code.co_posonlyargcount]:
            raise vm.type_error(
                f"{function.qualname}() got some positional-only arguments passed as keyword "
                f"arguments: {name!r}"
            )
        else:
            raise vm.type_error(
                f"{function.qualname}() got an unexpected keyword argument {name!r}"
            )
    return extra


def _fill_defaults(vm: Machine, function: FunctionValue, bound: dict[str, Value]) -> None:
    code = function.code
    names = code.co_varnames
    count = code.co_argcount
    missing = [name for name in names[:count] if name not in bound]
    if missing:
        defaults = function.get_defaults(vm)
        first = count - len(defaults)
        for i in range(first, count):
            if names[i] not in bound:
                bound[names[i]] = defaults[i - first]
        missing = [name for name in names[:count] if name not in bound]
        if missing:
            raise vm.type_error(_missing_text(function, missing, "positional"))
    keyword_only = names[count : count + code.co_kwonlyargcount]
    missing = [name for name in keyword_only if name not in bound]
    if missing:
        defaults_by_name = function.get_kwdefaults(vm)
        for name in missing:
            if name in defaults_by_name:
                bound[name] = defaults_by_name[name]
        missing = [name for name in missing if name not in bound]
        if missing:
            raise vm.type_error(_missing_text(function, missing, "keyword-only"))


def _missing_text(function: FunctionValue, missing: list[str], kind: str) -> str:
    quoted = [repr(name) for name in missing]
    if len(quoted) == 1:
        listed = quoted[0]
    elif len(quoted) == 2:
        listed = f"{quoted[0]} and {quoted[1]}"
    else:
        listed = ", ".join(quoted[:-1]) + f", and {quoted[-1]}"
    plural = "s" if len(quoted) > 1 else ""
    return f"{function.qualname}() missing {len(quoted)} required {kind} argument{plural}: {listed}"


def _too_many(vm: Machine, function: FunctionValue, args: list[Value]) -> Exception:
    code = function.code
    most = code.co_argcount
    defaults = len(function.get_defaults(vm))
    if defaults:
        takes = f"from {most - defaults} to {most} positional arguments"
    else:
        takes = f"{most} positional argument{'' if most == 1 else 's'}"
    verb = "was" if len(args) == 1 else "were"
    return vm.type_error(f"{function.qualname}() takes {takes} but {len(args)} {verb} given")
