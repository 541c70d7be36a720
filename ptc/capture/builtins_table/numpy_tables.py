"""NumPy beside tensors: scalars are constants, and functions of constants are evaluated.

Arrays are mutable and live outside of the graph: they stay opaque, and using one breaks the graph.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ptc.capture.errors import NotConstant
from ptc.capture.interpreter.calls import FALLBACKS, evaluate
from ptc.capture.interpreter.machine import Machine
from ptc.capture.interpreter.wrapping import trust_package, wraps
from ptc.capture.sources import Source, fixed
from ptc.capture.values.base import Value
from ptc.capture.values.callables import BuiltinValue
from ptc.capture.values.constants import IMMUTABLE_TYPES

trust_package("numpy")
_SCALARS: set[Any] = set(np.sctypeDict.values())
IMMUTABLE_TYPES.update(
    cls
    for cls in _SCALARS
    if issubclass(cls, (np.number, np.bool_)) and cls not in (np.longdouble, np.clongdouble)
)
IMMUTABLE_TYPES.update(type(np.dtype(cls)) for cls in (np.float64, np.float32, np.int64, np.int32))
_ARRAY_FUNCTION = type(np.sum)  # numpy's dispatcher around its Python functions


@wraps(*{np.ufunc, _ARRAY_FUNCTION} - {types.FunctionType})
def _function(vm: Machine, obj: Any, source: Source) -> Value:
    vm.guard("IS", source, fixed(obj, obj.__name__))
    return BuiltinValue(obj, source)


def _evaluate(
    vm: Machine, function: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A NumPy function of constants whose result is a scalar (or a tuple of these)."""
    if not isinstance(function, (np.ufunc, _ARRAY_FUNCTION)) or isinstance(
        function, types.FunctionType
    ):
        return None
    try:
        constants = [arg.constant() for arg in args]
        keywords = {name: value.constant() for name, value in kwargs.items()}
    except NotConstant:
        return None
    if isinstance(evaluated := _call(function, constants, keywords), np.ndarray):
        return None
    return evaluate(vm, lambda: evaluated)


def _call(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception:  # the native call will raise it again, with the program's own traceback
        return np.empty(0)


FALLBACKS.append(_evaluate)
