"""libFuzzer with sanitizers on what reads files, from files that are sound."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ptc.executor.build import build_fuzzer
from tests.executor.files import graph, package, safetensors
from tests.executor.test_text import SOUND

SECONDS = 60
WEIGHTS = {"w": np.ones((3, 3, 3, 3), np.float32), "b": np.ones(3, np.float32)}
#: A convolution that a norm, a sum and relu follow: what loading rewrites.
FUSED = graph(
    '%0 : f32[2, 3, 9, 7] = user "x"',
    '%1 : f32[3, 3, 3, 3] = parameter "w"',
    '%2 : f32[3] = buffer "b"',
    "%3 : f32[2, 3, 9, 7] = aten::convolution(%0, %1, None, [1], [1], [1], False, [0], 1)",
    "%4 : (f32[2, 3, 9, 7], f32[0], f32[0]) = aten::_native_batch_norm_legit_no_training"
    "(%3, %2, %2, %2, %2, 0.1, 1e-05)",
    "%5 : f32[2, 3, 9, 7] = prim::element(%4, 0)",
    "%6 : f32[2, 3, 9, 7] = aten::add.Tensor(%5, %0, 1)",
    "%7 : f32[2, 3, 9, 7] = aten::relu(%6)",
    'return %7 "y"',
    'write %7 0 "x"',
)


@pytest.mark.slow
def test_loader(tmp_path: Path) -> None:
    if shutil.which("clang++") is None:
        pytest.skip("libFuzzer comes with clang++")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    seeds = {
        "text": SOUND.encode(),
        "fused": FUSED.encode(),
        "package": package(FUSED, WEIGHTS),
        "weights": safetensors(WEIGHTS),
        "json": b'{"format": "ptir", "weights": {"sha256": "ab"}, "x": [1, {"a": null}]}',
    }
    for name, content in seeds.items():
        (corpus / name).write_bytes(content)
    limits = [f"-max_total_time={SECONDS}", "-max_len=8192", "-rss_limit_mb=2048", "-timeout=20"]
    command = [str(build_fuzzer(tmp_path)), *limits, str(corpus)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
