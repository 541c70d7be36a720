"""libFuzzer with sanitizers on what reads files, from files that are sound."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ptc.executor.build import build_fuzzer
from tests.executor.files import graph, package, safetensors
from tests.executor.test_control_programs import HALVE
from tests.executor.test_control_sets import DRAWS, FRESH, made, program
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
#: What programs with control flow have besides.
CHOICES = """ptir 2
dim s0 "batch" 1 8
size s1 "n" 0 inf
program "choices" {
  input "x" : f32[s0] = user written
  input "k" : int = scalar
  var $t : list(list(f32[?]))
  var $l : list(f32[?])
  var $names : list(text)
  var $n : int
  var $b : bool
  var $u : f32[s1]
  var $v : i64[s0]
  var $w : i64[s1]
  state $names "names"
  body {
    switch $k "match" {
      $n = number::hash_part(1, 2)
    } case {
      $n = number::math.gcd(4, $k)
    }
    $u, $v, $w = sized::unique($x)
    s1 = prim::size($u, 0)
    $l = list::new($x)
    $t = list::new($l, $l)
    $names = text::split("a b", " ")
    $n = list::find($names, "a", $names, "b")
    $b = text::is_int("12")
    prim::raise("ValueError", format($n, ">3d"), repr($names))
  }
  return $n "0"
  return s1 "1"
  select $n
}
"""


@pytest.mark.slow
def test_loader(tmp_path: Path) -> None:
    if shutil.which("clang++") is None:
        pytest.skip("libFuzzer comes with clang++")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    seeds = {
        "text": SOUND.encode(),
        "fused": FUSED.encode(),
        "halve": HALVE.encode(),
        "draws": DRAWS.encode(),
        "choices": CHOICES.encode(),
        "sets": program([made("t", FRESH), "list::table_add($t, 3)"]).encode(),
        "control": package(HALVE, {"total": np.zeros(3, np.float32)}),
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
