"""Greedy generation in plain Python, with a stop token and a cache of keys and values, as one
library without Python: token for token what eager gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import ptc
from ptc.loader import LoadRequest, load

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "sample_models" / "generate.py"
LENGTHS = (1, 2, 3, 4, 5, 9, 12, 17, 26, 64)


def generator(name: str) -> torch.nn.Module:
    """With weights large enough that the tokens differ."""
    model = load(LoadRequest(f"{SOURCE}:{name}")).module
    assert model is not None
    draws = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                scale = 2.0 / parameter.shape[1] ** 0.5
                parameter.copy_(torch.randn(parameter.shape, generator=draws) * scale)
    return model.eval()


def prompts() -> list[torch.Tensor]:
    draws = torch.Generator().manual_seed(5)
    return [torch.randint(0, 512, (1, length), generator=draws) for length in LENGTHS]


def stop_token(results: list[list[int]]) -> int:
    """A token that ends some of the prompts early."""
    return max(range(512), key=lambda t: sum(t in tokens[2:-2] for tokens in results))


# The other model is compiled, compared and run by tests/cli/test_documents.py.
@pytest.mark.parametrize(
    "name", ["generate_llama", pytest.param("generate_gpt", marks=pytest.mark.slow)]
)
def test_a_library_generates_what_eager_generates(name: str, tmp_path: Path) -> None:
    model = generator(name)
    with torch.no_grad():
        model.stop = -1  # type: ignore[assignment]
        model.stop = stop_token([model(prompt) for prompt in prompts()])  # type: ignore[assignment]
        expected = [model(prompt) for prompt in prompts()]
    lengths = {len(tokens) for tokens in expected}
    assert len(lengths) > 1 and max(lengths) == 24
    assert len({tuple(tokens) for tokens in expected}) > 5
    built = ptc.build(
        model, (prompts()[5],), output=tmp_path / "libgenerate.so", name="generate",
        dynamic={"prompt": {1: "length[1..64]"}},
    )  # fmt: skip
    loaded = built.load()
    assert [loaded(prompt) for prompt in prompts()] == expected
    for number, prompt in enumerate(prompts()):
        np.save(tmp_path / f"{number}.npy", prompt.numpy())
    script = (
        "import sys; sys.modules['torch'] = None; import numpy, ptc; "
        f"model = ptc.load({str(tmp_path / 'libgenerate.so')!r}); "
        f"print([model(numpy.load({str(tmp_path)!r} + f'/{{i}}.npy')) for i in range(10)])"
    )
    command = [sys.executable, "-c", script]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert shown.stdout.strip() == str(expected)
