"""The table of ONNX rules, filled by `@onnx(aten.relu.default)`.

Rules register beside their code; the modules that hold them are listed here. Knows no operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch._ops import OpOverload

from ptc.ops.families import FAMILIES
from ptc.ops.onnx_protocol import OnnxRule
from ptc.ops.registry import bind_schema, load_modules
from ptc.support.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

#: Modules with ONNX rules, beside the families themselves (which may hold rules too).
ONNX_FAMILIES: tuple[str, ...] = (
    "ptc.ops.onnx_arith",
    "ptc.ops.onnx_math",
    "ptc.ops.onnx_logic",
    "ptc.ops.onnx_creation",
    "ptc.ops.onnx_views",
    "ptc.ops.onnx_reduce",
    "ptc.ops.onnx_norm",
    "ptc.ops.onnx_matmul",
    "ptc.ops.onnx_conv",
    "ptc.ops.onnx_resize",
    "ptc.ops.onnx_gather",
    "ptc.ops.onnx_rnn",
    "ptc.ops.onnx_fourier",
    "ptc.ops.onnx_distance",
)

_RULES: Registry[OpOverload, OnnxRule] = Registry("ONNX rules")


def onnx(*ops: OpOverload) -> Callable[[F], F]:
    """Register the decorated rule for `ops`: called as `rule(builder, *arguments)` with the
    schema's arguments in order, defaults filled in, those of memory placement left out."""

    def decorate(rule: F) -> F:
        for op in ops:
            bound: Any = bind_schema(op, rule)
            _RULES.add(op, bound)
        return rule

    return decorate


def onnx_rule(op: object) -> OnnxRule | None:
    """The rule of an operator overload, or None if there is none."""
    _load()
    return _RULES.get(op) if isinstance(op, OpOverload) else None


def onnx_operators() -> tuple[OpOverload, ...]:
    """Every operator with an ONNX rule."""
    _load()
    return tuple(_RULES)


def _load() -> None:
    load_modules(FAMILIES)
    load_modules(ONNX_FAMILIES)
