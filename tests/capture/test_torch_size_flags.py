"""Comparisons of sizes where a function of torch wants a bool."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from ptc.capture.api import DynamicSpec, capture_program
from ptc.graph.program import CapturedProgram


def test_a_comparison_of_sizes_is_a_flag_of_a_torch_function() -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1)

    x = torch.randn(2, 5, 4)
    dynamic = DynamicSpec({"x": {1: ("length", 2, 9)}})
    with torch.no_grad():
        program = capture_program(attend, (x,), dynamic=dynamic)
        assert isinstance(program, CapturedProgram)
        longer = torch.randn(2, 8, 4)
        torch.testing.assert_close(program.graph(longer)[0], attend(longer))
