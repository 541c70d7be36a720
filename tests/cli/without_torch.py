"""The command line in a process where torch and what comes with it are not installed."""

from __future__ import annotations

WITHOUT_TORCH = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "safetensors", "onnx", "transformers", "bytecode"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
from cli.main import app_main
app_main()
"""
