"""Comparison of an exported program with eager: input sets, references, the error table.

Takes a runner of the exported files and the values that eager gave; gives one row an output. Knows
no format.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ptc.exporters.formats import Runner
from ptc.graph.control import ControlProgram
from ptc.graph.program import AtenProgram, InputKind, OutputKind
from ptc.graph.structure import flatten, renumber, to_json
from ptc.graph.symbols import bind_sizes
from ptc.hosting.binding import Binder
from ptc.support.diagnostics import CompileError, InternalError

#: Greatest error, relative to the largest value of the output: another runtime orders its sums
#: differently, so bit equality is not to be had.
_TOLERANCE: Mapping[torch.dtype, float] = {
    torch.float64: 1e-9,
    torch.complex128: 1e-9,
    torch.float32: 1e-4,
    torch.complex64: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 4e-2,
}


@dataclass(frozen=True, slots=True)
class CheckSet:
    """One comparison: values of the inputs that are no weights, in program order, and what eager
    gave for each element of `program.outputs` (write-backs: the tensor's content after the
    call)."""

    inputs: tuple[Any, ...]
    expected: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class OutputError:
    """One output, worst of all sets. `error` is relative to the largest value of eager's output."""

    name: str
    error: float
    limit: float
    sets: int
    reason: str = ""

    @property
    def passed(self) -> bool:
        return not self.reason and self.error <= self.limit


def check_set(
    program: AtenProgram,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> CheckSet:
    """Run eager `function` on one call and note what it gives and writes. Raises what it raises.

    The arguments are copied, and buffers that the program writes are restored.
    """
    if program.arguments is None or program.result is None:
        raise InternalError("export", "a segment cannot be checked against a function")
    own = copy.deepcopy((tuple(args), dict(kwargs)))
    given = flat_inputs(program, own[0], own[1])
    before = copy.deepcopy(given)
    written = [out.target for out in program.outputs if out.kind is OutputKind.WRITE_BACK]
    targets = [_target(program, index, given) for index in written if index is not None]
    saved = [target.detach().clone() for target in targets]
    with torch.no_grad():
        try:
            result = flatten(program.result, function(*own[0], **own[1]))
            expected = [copy.deepcopy(_detached(result[index])) for index in sorted(result)]
            expected.extend(target.detach().clone() for target in targets)
        finally:
            for target, content in zip(targets, saved, strict=True):
                target.copy_(content)
    return CheckSet(tuple(before[index] for index in call_inputs(program)), tuple(expected))


def _target(program: AtenProgram, index: int, given: Mapping[int, Any]) -> torch.Tensor:
    live = program.inputs[index].live
    return live if live is not None else given[index]


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def flat_inputs(
    program: AtenProgram | ControlProgram, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[int, Any]:
    """A call's inputs by position. What was captured by keyword may be given by position, and the
    other way round."""
    assert program.arguments is not None
    positions = call_inputs(program)
    numbers = {position: number for number, position in enumerate(positions)}
    names = [program.inputs[position].name for position in positions]
    binder = Binder(to_json(renumber(program.arguments, numbers)), names, program.name)
    return dict(zip(positions, binder.bind(args, kwargs), strict=True))


def call_inputs(program: AtenProgram | ControlProgram) -> list[int]:
    """The positions of the inputs that each call gives."""
    kinds = (InputKind.USER, InputKind.SCALAR)
    return [i for i, described in enumerate(program.inputs) if described.kind in kinds]


def compare(program: AtenProgram, run: Runner, sets: Sequence[CheckSet]) -> list[OutputError]:
    """Run every set and compare every output."""
    rows: dict[int, OutputError] = {}
    for item in sets:
        _require_fit(program, item)
        values = run(item.inputs)
        if len(values) != len(program.outputs):
            raise InternalError(
                "export", f"the export gave {len(values)} outputs, expected {len(program.outputs)}"
            )
        for index, (value, expected) in enumerate(zip(values, item.expected, strict=True)):
            name = program.outputs[index].name
            row = compare_value(name, value, expected)
            rows[index] = _worse(rows.get(index), row)
    return [rows[index] for index in sorted(rows)]


def _require_fit(program: AtenProgram, item: CheckSet) -> None:
    """Fail early, in the user's terms, when a set is outside the captured sizes."""
    nodes = [node for node in program.graph.graph.nodes if node.op == "placeholder"]
    positions = call_inputs(program)
    shapes = [
        tuple(value.shape) if isinstance(value, torch.Tensor) else value for value in item.inputs
    ]
    bind_sizes(
        [program.inputs[index].name for index in positions],
        [nodes[index].meta["val"] for index in positions],
        shapes,
        program.dims,
    )


def compare_value(name: str, value: Any, expected: Any) -> OutputError:
    """One output of one set."""
    if not isinstance(expected, torch.Tensor):
        number = value.item() if isinstance(value, torch.Tensor) else value
        same = number == expected
        return OutputError(name, 0.0, 0.0, 1, "" if same else f"{number}, eager gave {expected}")
    value = torch.as_tensor(value)
    if value.dtype != expected.dtype:
        return OutputError(name, 0.0, 0.0, 1, f"{value.dtype}, eager gave {expected.dtype}")
    if value.shape != expected.shape:
        shapes = f"shape {tuple(value.shape)}, eager gave {tuple(expected.shape)}"
        return OutputError(name, 0.0, 0.0, 1, shapes)
    if not (expected.is_floating_point() or expected.is_complex()):
        differ = int((value != expected).sum())
        reason = f"{differ} of {expected.numel()} values differ" if differ else ""
        return OutputError(name, 0.0, 0.0, 1, reason)
    return _compare_floats(name, value, expected)


def _compare_floats(name: str, value: torch.Tensor, expected: torch.Tensor) -> OutputError:
    limit = _TOLERANCE[expected.dtype]
    wide = torch.complex128 if expected.is_complex() else torch.float64
    value, expected = value.to(wide), expected.to(wide)
    finite = torch.isfinite(expected)
    if not torch.equal(finite, torch.isfinite(value)):
        return OutputError(name, float("inf"), limit, 1, "infinities or NaNs in other places")
    same = (value == expected) | (torch.isnan(value) & torch.isnan(expected)) | finite
    if not bool(same.all()):
        return OutputError(name, float("inf"), limit, 1, "infinities of another sign, or NaNs")
    if not bool(finite.any()):
        return OutputError(name, 0.0, limit, 1)
    error = float((value - expected)[finite].abs().max())
    scale = float(expected[finite].abs().max())
    # Outputs that are rounding noise around zero have no relative error to speak of.
    return OutputError(name, error / max(scale, 1e-6), limit, 1)


def _worse(old: OutputError | None, new: OutputError) -> OutputError:
    if old is None:
        return new
    worst = max(old, new, key=lambda row: (bool(row.reason), row.error))
    return OutputError(worst.name, worst.error, worst.limit, old.sets + new.sets, worst.reason)


def require_passed(rows: Sequence[OutputError], what: str) -> None:
    """Raise CompileError PTC-E003 with the failing rows."""
    failed = [row for row in rows if not row.passed]
    if not failed:
        return
    notes = tuple(
        f"`{row.name}`: {row.reason or f'error {row.error:.2e}, allowed {row.limit:.0e}'}"
        for row in failed
    )
    raise CompileError(
        "PTC-E003",
        f"{what} differs from eager in {len(failed)} of {len(rows)} outputs",
        notes=notes,
        hint="nothing was written; use --no-check to write it anyway",
    )
