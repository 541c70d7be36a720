"""Conditions on symbolic sizes that the capture relied on, as guards."""

from __future__ import annotations

from ptc.capture.fakes import VALUE
from ptc.capture.torch_machine import TorchMachine


def add(vm: TorchMachine) -> None:
    """One guard for each condition and for each declared range."""
    for expression in vm.fakes.guard_expressions():
        _add(vm, expression)
    for name, (source, dim) in vm.size_sources.items():
        spec = next(d for d in vm.fakes.dims.values() if d.name == name)
        low = spec.lower if dim == VALUE else max(spec.lower, 2)
        text = f"{{size}} >= {low}"
        if spec.upper is not None:
            text += f" and {{size}} <= {spec.upper}"
        vm.guard("SHAPES", source, (text, (("size", source, dim),)))


def _add(vm: TorchMachine, expression: object) -> None:
    symbols = sorted(str(s) for s in expression.free_symbols)  # type: ignore[attr-defined]
    sizes = []
    for symbol in symbols:
        source, dim = vm.size_sources[vm.fakes.dims[symbol].name]
        sizes.append((symbol, source, dim))
    text = vm.fakes.python_text(expression)
    vm.guard("SHAPES", sizes[0][1] if sizes else None, (text, tuple(sizes)))
