"""What eager does with a model of the zoo, and whether something else did the same.

`eager` and `library` call a model with a case's inputs in order and record everything a caller can
see: results, printed text, warnings, log records, what was raised, the inputs afterwards and the
state kept from call to call. `compare` finds the first difference between two recordings.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import logging
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

import ptc
from ptc.capture.api import DynamicSpec, capture_program
from ptc.dispatch.notices import CompileNotice
from ptc.graph.control import ControlProgram
from ptc.graph.control_run import Failure
from ptc.graph.control_verifier import verify_control
from ptc.graph.program import InputKind
from ptc.hosting.effects import UsersException
from ptc.hosting.input_spec import parse_dynamic
from ptc.support.diagnostics import CompileError, InternalError
from tests.graph.structured import run_structured
from tests.zoo.case import Case

#: Relative and absolute tolerance of floating-point tensors and numbers.
RTOL, ATOL = 1e-4, 1e-5

State = dict[str, Any]


@dataclasses.dataclass(slots=True)
class Call:
    """What one call did. `raised` is the exception's qualified name (builtins without module) and
    message; `state` is None where it cannot be read."""

    result: Any = None
    raised: tuple[str, str] | None = None
    printed: str = ""
    warned: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    logged: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    arguments: Any = None
    state: State | None = None


def eager(case: Case) -> list[Call]:
    """The calls in PyTorch itself, on one fresh instance."""
    model = case.make()
    return observe(case, model, lambda: state_of(model), name_of_raised)


def library(case: Case, folder: Path, *, check: bool = False) -> list[Call]:
    """The calls of the library that `ptc.build` makes, in one session."""
    with logging_at(logging.INFO):
        artifact = ptc.build(
            case.make(),
            clone(case.inputs[0]),
            output=folder / f"lib{case.name}.so",
            dynamic=case.dynamic,
            name=case.name,
            check=check,
        )
    return observe(case, artifact.load(), lambda: None, name_of_reported)


def captured(case: Case, *, branch_on_sizes: bool = False) -> ControlProgram:
    """The case's program, verified."""
    with logging_at(logging.INFO):
        program = capture_program(
            case.make(),
            clone(case.inputs[0]),
            dynamic=_dynamic(case),
            branch_on_sizes=branch_on_sizes,
        )
    assert isinstance(program, ControlProgram), "data decides nothing"
    verify_control(program, every_path=False)
    return program


def interpreted(
    case: Case, program: ControlProgram | None = None, *, branch_on_sizes: bool = False
) -> list[Call]:
    """The calls of the captured program, by the interpreter that defines its meaning."""
    given = program or captured(case, branch_on_sizes=branch_on_sizes)
    names = [i.name for i in given.inputs if i.kind in (InputKind.USER, InputKind.SCALAR)]
    kept: dict[str, Any] = {}

    def call(*args: Any) -> Any:
        return run_structured(given, dict(zip(names, args, strict=True)), kept)

    return observe(case, call, lambda: None, name_of_reported)


def _dynamic(case: Case) -> DynamicSpec | None:
    dims: dict[str, dict[int, tuple[str, int, int | None]]] = {}
    for path, numbers in (case.dynamic or {}).items():
        for number, text in numbers.items():
            for dim in parse_dynamic(f"{path}:{number}={text}"):
                dims.setdefault(path, {})[number] = (dim.name, dim.lower, dim.upper)
    return DynamicSpec(dims) if dims else None


def compiled(case: Case, **options: Any) -> list[Call]:
    """The calls of `ptc.compile` with these options."""
    model = case.make()
    fast = ptc.compile(model, **options)
    return observe(case, fast, lambda: state_of(model), name_of_raised)


def observe(
    case: Case,
    model: Callable[..., Any],
    state: Callable[[], State | None],
    name: Callable[[Exception], tuple[str, str]],
) -> list[Call]:
    """Call `model` with each input in order. `name` says what an exception stands for; it raises
    the exception again if it is not the model's."""
    calls: list[Call] = []
    for inputs in case.inputs:
        arguments = clone(inputs)
        call = Call()
        with torch.no_grad(), _recorded(call):
            try:
                call.result = snapshot(model(*arguments))
            except Exception as error:
                call.raised = name(error)
        call.arguments = snapshot(arguments)
        call.state = state()
        calls.append(call)
    return calls


def name_of_raised(error: Exception) -> tuple[str, str]:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return module + kind.__qualname__, str(error)


def name_of_reported(error: Exception) -> tuple[str, str]:
    """A library names classes that it cannot make here; trouble of its own is not the model's."""
    if isinstance(error, UsersException):
        return error.type_name, str(error)
    if isinstance(error, (CompileError, InternalError, Failure)):
        raise error
    return name_of_raised(error)


def state_of(model: Any) -> State:
    """Buffers, and numbers and strings among the attributes, of a module and its children."""
    if not isinstance(model, nn.Module):
        return {}
    found: State = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, (int, float, str)) and not name.startswith("_"):
                found[f"{path}.{name}" if path else name] = value
    return found


def clone(value: Any) -> Any:
    """`value` with tensors of its own, none of them given twice."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(map(clone, value))
    return copy.deepcopy(value)


def snapshot(value: Any) -> Any:
    """`value` as plain containers with copies of its tensors; objects become dicts by attribute
    under their class's name."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [item.name for item in dataclasses.fields(value)]
        return {type(value).__name__: {name: snapshot(getattr(value, name)) for name in names}}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = value._asdict()  # type: ignore[attr-defined]
        return {type(value).__name__: {name: snapshot(v) for name, v in fields.items()}}
    if isinstance(value, Mapping):
        return {key: snapshot(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(snapshot(v) for v in value)
    return value


def compare(recorded: list[Call], observed: list[Call]) -> None:
    """Raises AssertionError that says where the first difference is."""
    assert len(recorded) == len(observed), f"{len(observed)} calls instead of {len(recorded)}"
    for number, (expected, actual) in enumerate(zip(recorded, observed, strict=True)):
        at = f"call {number}: "
        assert actual.raised == expected.raised, (
            f"{at}raised {actual.raised} instead of {expected.raised}"
        )
        _same(expected.result, actual.result, at + "result")
        assert actual.printed == expected.printed, (
            f"{at}printed {actual.printed!r} instead of {expected.printed!r}"
        )
        assert actual.warned == expected.warned, (
            f"{at}warned {actual.warned} instead of {expected.warned}"
        )
        assert actual.logged == expected.logged, (
            f"{at}logged {actual.logged} instead of {expected.logged}"
        )
        _same(expected.arguments, actual.arguments, at + "argument")
        if actual.state is not None and expected.state is not None:
            _same(expected.state, actual.state, at + "state")


def _same(expected: Any, actual: Any, at: str) -> None:
    if isinstance(expected, torch.Tensor):
        assert isinstance(actual, torch.Tensor), f"{at} is a {_kind(actual)} instead of a tensor"
        assert actual.dtype == expected.dtype, f"{at} has {actual.dtype}, not {expected.dtype}"
        assert actual.shape == expected.shape, (
            f"{at} has the shape {tuple(actual.shape)} instead of {tuple(expected.shape)}"
        )
        exact = not expected.is_floating_point()
        rtol, atol = (0.0, 0.0) if exact else (RTOL, ATOL)
        assert torch.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True), (
            f"{at} is {actual} instead of {expected}"
        )
        return
    assert type(actual) is type(expected), f"{at} is a {_kind(actual)}, not a {_kind(expected)}"
    if isinstance(expected, dict):
        assert list(actual) == list(expected), f"{at} has keys {list(actual)}, not {list(expected)}"
        for key, value in expected.items():
            _same(value, actual[key], f"{at}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), f"{at} has {len(actual)} parts, not {len(expected)}"
        for i, (one, other) in enumerate(zip(expected, actual, strict=True)):
            _same(one, other, f"{at}[{i}]")
    elif isinstance(expected, float):
        close = math.isclose(actual, expected, rel_tol=RTOL, abs_tol=ATOL)
        assert close or (math.isnan(actual) and math.isnan(expected)), (
            f"{at} is {actual} instead of {expected}"
        )
    else:
        assert actual == expected, f"{at} is {actual!r} instead of {expected!r}"


def _kind(value: Any) -> str:
    return type(value).__name__


@contextlib.contextmanager
def logging_at(level: int) -> Iterator[None]:
    """The root logger's level for a while."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(level)
    try:
        yield
    finally:
        root.setLevel(before)


class _Records(logging.Handler):
    def __init__(self, target: list[tuple[str, str, str]]) -> None:
        super().__init__()
        self._target = target

    def emit(self, record: logging.LogRecord) -> None:
        self._target.append((record.levelname, record.name, record.getMessage()))


@contextlib.contextmanager
def _recorded(call: Call) -> Iterator[None]:
    """Text, warnings and log records go into `call`."""
    handler = _Records(call.logged)
    root = logging.getLogger()
    root.addHandler(handler)
    text = io.StringIO()
    try:
        with (
            logging_at(logging.INFO),
            warnings.catch_warnings(record=True) as caught,
            _standard_output(text),
        ):
            warnings.simplefilter("always")
            yield
    finally:
        root.removeHandler(handler)
        call.printed = text.getvalue()
        call.warned = [
            (w.category.__name__, str(w.message))
            for w in caught
            if not issubclass(w.category, CompileNotice)
            and "(Triggered internally at " not in str(w.message)  # torch's kernels', no program's
        ]


@contextlib.contextmanager
def _standard_output(target: io.StringIO) -> Iterator[None]:
    """What is written to standard output, by Python and by C, goes to `target`."""
    python = sys.stdout
    python.flush()
    saved = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        raw = open(os.dup(file.fileno()), "wb", buffering=0)  # noqa: SIM115
        sys.stdout = io.TextIOWrapper(raw, "utf-8", write_through=True)
        try:
            yield
        finally:
            sys.stdout.close()
            sys.stdout = python
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            target.write(file.read().decode())
