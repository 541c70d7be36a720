"""Running an ONNX model with ONNX Runtime, on one thread, for the check.

Takes a file, gives a `Runner`. bfloat16 goes through OrtValues, since NumPy has no such type.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
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


@functools.cache
def newest_opset() -> int | None:
    """The newest version of the operators that ONNX Runtime takes; None if it is not installed."""
    if onnxruntime is None:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    found = None
    for opset in range(_FIRST_OPSET, onnx.defs.onnx_opset_version() + 1):
        port = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("Identity", ["x"], ["y"])],
            "probe",
            [port("x", onnx.TensorProto.FLOAT, [])],
            [port("y", onnx.TensorProto.FLOAT, [])],
        )
        imports = [onnx.helper.make_opsetid("", opset)]
        model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=_OLD_FORMAT)
        try:
            onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except Exception:
            break
        found = opset
    return found


_FIRST_OPSET = 21
#: An IR version that every runtime with these operators reads.
_OLD_FORMAT = 10


def load(path: Path, inputs: Sequence[str]) -> Runner:
    """A session on the model. `inputs` names the inputs that a call gives, in order; they are the
    model's first ones, whatever they are called there.

    Raises CompileError: PTC-E022 ONNX Runtime is missing or cannot run the model.
    """
    session = Session(path)
    known = [name for name in inputs if name in session.inputs]
    names = known if len(known) == len(inputs) else session.inputs[: len(inputs)]

    def run(values: Sequence[Any]) -> list[Any]:
        return session.run(dict(zip(names, values, strict=True)))

    return run


class Session:
    """A model in ONNX Runtime. `inputs` and `outputs` are its names of them."""

    def __init__(self, path: Path) -> None:
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
            self._session = onnxruntime.InferenceSession(
                str(path),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=disabled,
            )
        except Exception as error:  # ONNX Runtime raises a family of classes without a public base
            raise _refused(error) from error
        given, defaulted = self._session.get_inputs(), self._session.get_overridable_initializers()
        results = self._session.get_outputs()
        self.inputs = [item.name for item in (*given, *defaulted)]
        self.outputs = [item.name for item in results]
        self._plain = all(item.type.startswith("tensor") for item in (*given, *results))

    def run(self, values: Mapping[str, Any]) -> list[Any]:
        """The outputs in order: tensors, lists of tensors, strings. Raises CompileError
        PTC-E022."""
        try:
            if self._plain:
                feeds = {name: _to_ort(value) for name, value in values.items()}
                results = self._session.run_with_ort_values(self.outputs, feeds)
                return [_from_ort(result) for result in results]
            arrays = {name: _to_array(value) for name, value in values.items()}
            return [_from_array(result) for result in self._session.run(self.outputs, arrays)]
        except Exception as error:
            raise _refused(error) from error


def _to_array(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_array(element) for element in value]
    return torch.as_tensor(value).detach().cpu().contiguous().numpy()


def _from_array(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_array(element) for element in value]
    return value if value.dtype == object else torch.from_numpy(value).clone()


def _to_ort(value: Any) -> Any:
    assert onnxruntime is not None
    tensor = torch.as_tensor(value).detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        kind = 16  # TensorProto.BFLOAT16
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
            tensor.view(torch.uint16).numpy(), kind
        )
    return onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy())


def _from_ort(value: Any) -> Any:
    if value.data_type() == "tensor(string)":
        return value.numpy()
    return _to_torch(value)


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
