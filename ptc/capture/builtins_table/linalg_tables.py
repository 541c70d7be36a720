"""Factorisations and spectra: torch's functions raise where data decides it, which is a branch to
capture."""

from __future__ import annotations

import types
from typing import Any

import torch

from ptc.capture.interpreter.calls import builtin
from ptc.capture.polyfills import linalg, spectra
from ptc.capture.torch_functions import METHOD_HANDLERS
from ptc.capture.torch_machine import TorchMachine
from ptc.capture.values.base import Value
from ptc.capture.values.callables import FunctionValue
from ptc.capture.values.containers import TupleValue

#: Functions that raise, and those that do with `check_errors=True`, with what is traced for them.
_RAISING: dict[Any, types.FunctionType] = {
    torch.linalg.solve: linalg.solve,
    torch.linalg.inv: linalg.inv,
    torch.inverse: linalg.inverse,
    torch.linalg.cholesky: linalg.cholesky,
    torch.cholesky: linalg.old_cholesky,
    torch.cholesky_inverse: linalg.cholesky_inverse,
    torch.linalg.lu_factor: linalg.lu_factor,
    torch.linalg.lstsq: linalg.lstsq,
    torch.cov: linalg.cov,
    torch.corrcoef: linalg.corrcoef,
    torch.istft: spectra.istft,
}
_CHECKING: dict[Any, types.FunctionType] = {
    torch.linalg.solve_ex: linalg.solve_ex,
    torch.linalg.inv_ex: linalg.inv_ex,
    torch.linalg.cholesky_ex: linalg.cholesky_ex,
    torch.linalg.lu_factor_ex: linalg.lu_factor_ex,
}
#: Those that are methods of tensors by the same name, too.
_METHODS = (torch.cov, torch.corrcoef)


def _register(function: Any, replacement: types.FunctionType, always: bool) -> None:
    def handler(vm: TorchMachine, *args: Value, **kwargs: Value) -> Value:
        given, kwargs = vm.settle_arguments(list(args), kwargs)
        checks = always or ("check_errors" in kwargs and vm.truth(kwargs["check_errors"]))
        if not checks or "out" in kwargs:
            return vm.torch_call("call_function", function, given, kwargs)
        value = vm.wrap_fixed(replacement)
        assert isinstance(value, FunctionValue)
        return vm.trace_function(value, given, kwargs)

    builtin(function, passes_on=True)(handler)
    if function in _METHODS:
        METHOD_HANDLERS[function.__name__] = handler


def _named_results(kind: type) -> None:
    """A class of `torch.return_types`, called with the results."""

    def make(vm: TorchMachine, results: Value) -> Value:
        return TupleValue(list(vm.unpack(results)), kind)

    builtin(kind)(make)


_named_results(torch.return_types.linalg_lu_factor)  # type: ignore[attr-defined]
_named_results(torch.return_types.linalg_lstsq)  # type: ignore[attr-defined]
for _function, _replacement in _RAISING.items():
    _register(_function, _replacement, always=True)
for _function, _replacement in _CHECKING.items():
    _register(_function, _replacement, always=False)
