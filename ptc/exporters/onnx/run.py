"""Running an ONNX model with ONNX Runtime, on one thread, for the check.

Takes a file, gives a `Runner`. bfloat16 goes through OrtValues, since NumPy has no such type.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ptc.exporters.formats import Runner
from ptc.support.diagnostics import CompileError

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


def is_available() -> bool:
    """Whether ONNX Runtime is installed."""
    return onnxruntime is not None


def load(path: Path, inputs: Sequence[str]) -> Runner:
    """A session on the model. `inputs` names the inputs that a call gives, in order.

    Raises CompileError: PTC-E022 ONNX Runtime is missing or cannot run the model.
    """
    if onnxruntime is None:
        raise CompileError(
            "PTC-E022",
            "the check of an ONNX export needs ONNX Runtime, which is not installed",
            hint="pip install onnxruntime, or skip the check with --no-check",
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    # Weights in a file of their own are mapped; these would each hold a changed copy of them.
    options.add_session_config_entry("session.disable_prepacking", "1")
    disabled = ["ConstantFolding"] if path.with_name(f"{path.name}.data").exists() else []
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
        )
    except Exception as error:  # ONNX Runtime raises a family of classes without a public base
        raise _refused(error) from error
    outputs = [item.name for item in session.get_outputs()]

    def run(values: Sequence[Any]) -> list[Any]:
        feeds = {name: _to_ort(value) for name, value in zip(inputs, values, strict=True)}
        try:
            results = session.run_with_ort_values(outputs, feeds)
        except Exception as error:
            raise _refused(error) from error
        return [_to_torch(result) for result in results]

    return run


def _to_ort(value: Any) -> Any:
    assert onnxruntime is not None
    tensor = torch.as_tensor(value).detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        kind = 16  # TensorProto.BFLOAT16
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
            tensor.view(torch.uint16).numpy(), kind
        )
    return onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy())


def _to_torch(value: Any) -> torch.Tensor:
    # A copy: the memory belongs to the session's OrtValue.
    return (
        torch.from_dlpack(value._ortvalue.to_dlpack()).clone()
        if (value.data_type() != "tensor(bool)")
        else torch.from_numpy(value.numpy()).clone()
    )


def _refused(error: Exception) -> CompileError:
    first = str(error).strip().splitlines()[0][:300]
    return CompileError(
        "PTC-E022",
        f"ONNX Runtime cannot run the model: {first}",
        hint="the file may still suit another runtime; skip the check with --no-check",
    )
