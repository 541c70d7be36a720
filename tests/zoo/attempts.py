"""Ways to run a model of the zoo other than eager, each judged by comparison with eager.

Torch's own exporters are the peers. A peer passes if it takes the model and gives eager's results
on every input; text, logs and state are not asked of them.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ptc.support.diagnostics import CompileError, InternalError
from tests.zoo import harness
from tests.zoo.case import Case
from tests.zoo.harness import Call


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status` is ok, refused (with `code` and `where`), wrong, failed, crashed or timeout."""

    name: str
    status: str
    code: str = ""
    where: str = ""
    detail: str = ""
    trace: str = ""
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def attempt(case: Case, way: str) -> Outcome:
    """Run `case` in the way named (a key of `WAYS`)."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            WAYS[way](case, Path(folder))
    except CompileError as error:
        found = error.diagnostic
        where = str(found.location) if found.location else ""
        trace = traceback.format_exc()
        return Outcome(case.name, "refused", found.code, where, found.message, trace)
    except InternalError as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        trace = traceback.format_exc()
        return Outcome(case.name, "failed", "PTC-I001", where, error.diagnostic.message, trace)
    except AssertionError as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        status = "wrong" if Path(place.filename).name == "harness.py" else "failed"
        return Outcome(case.name, status, "", "", str(error), traceback.format_exc())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # capture unwinds by some that must not be caught on the way
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        detail = str(error) or repr(error)
        return Outcome(
            case.name, "failed", type(error).__name__, where, detail, traceback.format_exc()
        )
    return Outcome(case.name, "ok")


def _library(case: Case, folder: Path) -> None:
    harness.compare(harness.eager(case), harness.library(case, folder))


def _checked_library(case: Case, folder: Path) -> None:
    harness.compare(harness.eager(case), harness.library(case, folder, check=True))


def _interpreter(case: Case, _: Path) -> None:
    harness.compare(harness.eager(case), harness.interpreted(case))


def _compile(case: Case, _: Path) -> None:
    harness.compare(harness.eager(case), harness.compiled(case, control_flow=True))


def _compile_with_breaks(case: Case, _: Path) -> None:
    harness.compare(harness.eager(case), harness.compiled(case))


def _breaks(case: Case, _: Path) -> None:
    """Capture and graph breaks alone: torch runs the graphs."""
    harness.compare(harness.eager(case), harness.compiled(case, backend="eager"))


def _export(case: Case, _: Path) -> None:
    program = torch.export.export(
        _module(case), harness.clone(case.inputs[0]), dynamic_shapes=_dynamic_shapes(case)
    )
    _compare_results(case, program.module())


def _onnx(case: Case, _: Path) -> None:
    program = torch.onnx.export(
        _module(case),
        harness.clone(case.inputs[0]),
        dynamo=True,
        verbose=False,
        dynamic_shapes=_dynamic_shapes(case),
    )
    assert program is not None
    _compare_flat_results(case, program)


def _script(case: Case, _: Path) -> None:
    _compare_results(case, torch.jit.script(case.make()))


WAYS: dict[str, Callable[[Case, Path], None]] = {
    "library": _library,
    "checked": _checked_library,
    "interpreter": _interpreter,
    "compile": _compile,
    "compile-breaks": _compile_with_breaks,
    "breaks": _breaks,
    "torch.export": _export,
    "torch.onnx": _onnx,
    "torch.jit.script": _script,
}
PEERS = ("torch.export", "torch.onnx", "torch.jit.script")


class _Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def _module(case: Case) -> nn.Module:
    model = case.make()
    return model if isinstance(model, nn.Module) else _Function(model).eval()


def _dynamic_shapes(case: Case) -> tuple[Any, ...] | None:
    """The sizes that the case names, by position."""
    if not case.dynamic:
        return None
    auto = torch.export.Dim.AUTO
    named = [dict.fromkeys(dims, auto) for dims in case.dynamic.values()]
    rest = len(case.inputs[0]) - len(named)
    return (*named, *[None] * rest)


def _compare_results(case: Case, model: Callable[..., Any]) -> None:
    """Results and raised types only: what a peer reports of an exception has another type and
    text, so that any exception counts where eager raises."""
    with _quiet():
        observed = harness.observe(case, model, lambda: None, lambda _: ("", ""))
    pairs = list(zip(harness.eager(case), observed, strict=True))
    harness.compare([_result_only(c) for c, _ in pairs], [_result_only(o) for _, o in pairs])


def _compare_flat_results(case: Case, program: Any) -> None:
    """ONNX knows tensors only: eager's tensors and numbers in order against its outputs."""

    def call(*args: Any) -> list[Any]:
        return [torch.as_tensor(value) for value in program(*args)]

    with _quiet():
        observed = harness.observe(case, call, lambda: None, lambda _: ("", ""))
    recorded = [replace(c, result=_flat(c.result)) for c in map(_result_only, harness.eager(case))]
    flat = [replace(c, result=c.result or []) for c in map(_result_only, observed)]
    harness.compare(recorded, flat)


def _result_only(call: Call) -> Call:
    raised = None if call.raised is None else ("", "")
    return Call(result=_in_order(call.result), raised=raised)


def _in_order(value: Any) -> Any:
    """`value` with the keys of its dicts sorted: torch.export does not keep their order."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value, key=str)}
    return type(value)(map(_in_order, value)) if isinstance(value, (list, tuple)) else value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in _flat(v)]
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _flat(v)]
    return [] if value is None else [torch.as_tensor(value)] if not isinstance(value, str) else []


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
