"""What the table covers: samples for every rule, and the core set of the installed torch."""

from __future__ import annotations

import pytest
import torch
from ptc.ops import registry
from ptc.support.diagnostics import CompileError
from torch._ops import OpOverload


def core_operators() -> set[OpOverload]:
    """Every overload that torch tags as core ATen."""
    found: set[OpOverload] = set()
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        for overload in getattr(packet, "overloads", lambda: ())():
            op = getattr(packet, overload)
            if torch.Tag.core in op.tags:
                found.add(op)
    return found


def test_gap() -> None:
    """Core operators without a lowering or a decomposition."""
    covered = set(registry.lowered_operators()) | set(registry.decomposition_table())
    gap = {str(op) for op in core_operators() - covered - set(registry.refused_operators())}
    print("\n".join(sorted(gap)))
    assert not gap
