"""Symbolic sizes as `torch.export` is told them: named dimensions with ranges, and an example.

Takes the fake values of a program's inputs and its ranges; gives for each input an example and a
specification of its dimensions. Knows no structures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.export import Dim

from ptc.graph.program import DimRange
from ptc.graph.symbols import concrete, expression_of, symbols_of
from ptc.support.diagnostics import CompileError

#: A size that is 0 or 1 in the example would be taken for fixed.
_LEAST_EXAMPLE = 2


class Sizes:
    """The symbols of a program's inputs. `names` are the user's, by symbol."""

    def __init__(self, fakes: Sequence[Any], dims: Mapping[str, DimRange]) -> None:
        found = sorted({symbol for fake in fakes for symbol in symbols_of(fake)})
        self._dims = dims
        self._fixed = {s: d.lower for s, d in dims.items() if d.upper == d.lower}
        self._examples = {**_examples(found, dims), **self._fixed}
        self.names = {symbol: dims[symbol].name for symbol in found if symbol in dims}
        free = [symbol for symbol in found if symbol not in self._fixed]
        self._symbols = {
            s: self._dim(s, name) for s, name in zip(free, self._labels(free), strict=True)
        }

    def _labels(self, symbols: Sequence[str]) -> Iterator[str]:
        """A name of its own for each symbol, which Python takes for one."""
        taken: set[str] = set()
        for symbol in symbols:
            name = re.sub(r"\W", "_", self.names.get(symbol, symbol))
            name = name if name.isidentifier() else f"dim_{name}"
            while name in taken:
                name = f"{name}_{symbol}"
            taken.add(name)
            yield name

    def _dim(self, symbol: str, name: str) -> Any:
        described = self._dims.get(symbol)
        if described is None:
            return Dim(name)
        return Dim(name, min=max(described.lower, 0), max=described.upper)

    def example(self, fake: Any) -> Any:
        """A value of the kind and size of an input."""
        if isinstance(fake, torch.Tensor):
            shape = concrete(tuple(fake.shape), self._examples)
            return torch.zeros(shape, dtype=fake.dtype)
        if isinstance(fake, torch.SymInt):
            return concrete(fake, self._examples)
        if isinstance(fake, (torch.SymFloat, torch.SymBool)):
            raise CompileError(
                "PTC-E052",
                "an argument of the call is a float or a bool that may change, which "
                "torch.export takes for fixed",
                hint="pass it as a tensor: torch.tensor(value)",
            )
        return fake

    def specification(self, fake: Any) -> Any:
        """What `torch.export` is told of the dimensions of an input."""
        if isinstance(fake, torch.SymInt):
            return Dim.DYNAMIC
        if not isinstance(fake, torch.Tensor):
            return None
        return {
            axis: self._of_size(size)
            for axis, size in enumerate(fake.shape)
            if symbols_of(size) - set(self._fixed)
        }

    def _of_size(self, size: Any) -> Any:
        """A dimension that is a symbol, or a multiple of one and a number more."""
        expression = expression_of(size)
        (symbol, *others) = expression.free_symbols
        factor = expression.coeff(symbol, 1)
        rest = sympy.expand(expression - factor * symbol)
        if others or not (factor.is_Integer and rest.is_Integer and factor > 0):
            raise CompileError(
                "PTC-E052",
                f"an input has the size `{expression}`, and torch.export knows only multiples of "
                "one size and a number more",
                hint="give the size a name of its own with --dynamic",
            )
        dim = self._symbols[str(symbol)]
        if factor != 1:
            dim = int(factor) * dim
        return dim + int(rest) if rest > 0 else dim - int(-rest) if rest < 0 else dim


def _examples(symbols: Sequence[str], dims: Mapping[str, DimRange]) -> dict[str, int]:
    """A size for each symbol, within its range and where it can be another than the others."""
    found: dict[str, int] = {}
    for symbol in symbols:
        described = dims.get(symbol, DimRange(symbol, 0, None))
        size = max(described.lower, _LEAST_EXAMPLE)
        while size in found.values() and (described.upper is None or size < described.upper):
            size += 1
        found[symbol] = size
    return found
