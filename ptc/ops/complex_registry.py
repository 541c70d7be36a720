"""The table of rules for complex numbers, filled by `@on_complex(aten.mul.Tensor)`.

A rule is a function of torch calls on real tensors: it takes the operator's arguments with a
`Complex` for each complex tensor, and gives a `Complex` or real tensors. `autograd` runs it in
place of an operator that takes or gives complex tensors, so nothing below knows complex numbers
but for their loads and stores. Knows no operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from ptc.ops import registry
from ptc.ops.protocol import Sample
from ptc.support.diagnostics import CompileError
from ptc.support.registry import Registry

ComplexRule = Callable[..., Any]

_RULES: Registry[OpOverload, ComplexRule] = Registry("rules for complex numbers")
_SAMPLES: dict[OpOverload, list[Sample]] = {}

_PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex tensor: its real and its imaginary part, of one shape and type."""

    re: Tensor
    im: Tensor

    def map(self, function: Callable[[Tensor], Tensor]) -> Complex:
        """`function` of each part."""
        return Complex(function(self.re), function(self.im))

    def scaled(self, factor: Any) -> Complex:
        """The parts times a real factor."""
        return Complex(self.re * factor, self.im * factor)

    def conj(self) -> Complex:
        """The conjugate."""
        return Complex(self.re, -self.im)

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(
            self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        )


def part_type(dtype: torch.dtype) -> torch.dtype:
    """The type of the parts of a complex type. Raises CompileError PTC-O005 for half precision."""
    part = _PARTS.get(dtype)
    if part is None:
        raise CompileError(
            "PTC-O005", f"tensors of type {dtype} cannot be compiled", hint="use complex64"
        )
    return part


def on_complex(*ops: OpOverload) -> Callable[[ComplexRule], ComplexRule]:
    """Register the decorated rule for `ops`. It is called with the arguments of the call."""
    return _RULES.register(*ops)


def complex_rule(op: object) -> ComplexRule | None:
    """The rule of an operator overload, or None if there is none."""
    registry.lowered_operators()
    return _RULES.get(op) if isinstance(op, OpOverload) else None


def complex_operators() -> tuple[OpOverload, ...]:
    """Every operator with a rule for complex numbers."""
    registry.lowered_operators()
    return tuple(_RULES)


def complex_samples(op: OpOverload, *rows: Sample) -> None:
    """Add sample rows with complex tensors for `op`."""
    _SAMPLES.setdefault(op, []).extend(rows)


def all_complex_samples() -> Mapping[OpOverload, tuple[Sample, ...]]:
    """The sample rows with complex tensors. They reach lowering through functionalisation."""
    registry.lowered_operators()
    return {op: tuple(rows) for op, rows in _SAMPLES.items()}
