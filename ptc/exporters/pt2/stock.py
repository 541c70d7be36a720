"""Operators of ours as operators of torch: a file loads where ptc is not installed.

Takes an operator's call, gives its value made by torch's operators alone. Knows no graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptc.ops import complex_operators, opaque
from ptc.support.diagnostics import CompileError

_FORMS = {**opaque.EAGER, **complex_operators.EAGER}


def is_ours(target: Any) -> bool:
    """Whether an operator is one of ours."""
    return getattr(target, "namespace", None) == opaque.NAMESPACE


def stock_form(target: Any) -> Callable[..., Any]:
    """A function that computes what `target` does with torch's operators.

    Raises CompileError PTC-E051 for draws from a generator, which torch's graphs do not hold."""
    if not is_ours(target):
        return target
    name = target._schema.name.partition("::")[2]
    form = _FORMS.get(name)
    if form is None:
        raise CompileError(
            "PTC-E051",
            "torch.export has no operator that draws random numbers from a generator's state",
            hint="draw the numbers outside of the model and pass them in, or use `ptc compile`",
        )
    return form
