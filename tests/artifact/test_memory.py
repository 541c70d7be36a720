"""Building holds no copy of a model's weights, and a loaded library maps them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS, WIDTH = 16, 2048  # 268 MB

MODEL = f"""
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear({WIDTH}, {WIDTH}) for _ in range({LAYERS}))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x
"""

MEASURE = """
import json, sys, threading, time

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(x.split()[1]) << 10 for x in status if x.startswith("RssAnon"))

def peak_of(work):
    start, found, done = anonymous(), [0], threading.Event()
    def watch():
        while not done.wait(0.005):
            found[0] = max(found[0], anonymous() - start)
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        result = work()
    finally:
        done.set()
        thread.join()
    return found[0], result
"""

SAVE = """
import torch
from safetensors.torch import save_file
from net import Net
torch.manual_seed(0)
save_file(Net().state_dict(), "w.safetensors")
"""

BUILD = """
from pathlib import Path
from ptc.loader import LoadRequest, load
from ptc.exporting import export_model
from ptc.pipeline import BuildOptions, build_library

def loaded():
    return load(LoadRequest("net.py", weights=Path("w.safetensors"), inputs=("x=f32[4,WIDTH]",)))

entries = loaded().entries
small, _ = peak_of(lambda: build_library(entries, BuildOptions(Path("out/libnet.so"), check=CHECK)))
onnx, _ = peak_of(lambda: export_model(loaded().entries, format="onnx", output=Path("n.onnx")))
print(json.dumps([small, onnx]))
"""

RUN = """
import numpy as np
import ptc
def run():
    model = ptc.load("out/libnet.so")
    return model(np.ones((4, WIDTH), np.float32))
print(json.dumps(peak_of(run)[0]))
"""


def python(folder: Path, text: str) -> str:
    path = f"{folder}:{ROOT}"
    command = [sys.executable, "-c", text.replace("WIDTH", str(WIDTH))]
    environment = {"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "PTC_CACHE_DIR": str(folder / "c")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("check", [False, True])
def test_memory_beside_mapped_files(tmp_path: Path, check: bool) -> None:
    (tmp_path / "net.py").write_text(MODEL)
    python(tmp_path, SAVE)
    weights = (tmp_path / "w.safetensors").stat().st_size
    built, exported = json.loads(python(tmp_path, MEASURE + BUILD.replace("CHECK", str(check))))
    # Code and graphs, and with the check torch's kernels and a few layers in float64.
    limit = weights if check else weights // 2
    assert built < limit, (built, weights)
    assert exported < 0.6 * weights, (exported, weights)
    assert json.loads(python(tmp_path, MEASURE + RUN)) < 0.1 * weights
