"""Does an artifact compute what eager computes? References, comparison, verdict.

Error is judged against a float64 run of the model where one is possible: an artifact may be at most
twice as far from it as eager is, plus a few units in the last place of the output's type. Where it
is not, eager's errors on inputs that differ by rounding count too. Where the model cannot run in
float64 the artifact is compared with eager itself at a fixed tolerance.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ptc.artifact.input_sets import EagerRaises, InputSet, on_one_that_runs
from ptc.artifact.live_state import LiveState, Session
from ptc.artifact.widened import widened
from ptc.support.diagnostics import CompileError

#: A model is copied to float64 for the reference while the copy takes at most this many bytes; of
#: a larger one the parameters are widened as they are read.
_MAX_DOUBLE_BYTES = 256 << 20
#: Units in the last place, relative to the largest value, granted beside twice eager's error.
_ULPS = 64.0
#: Relative tolerance against eager where there is no float64 reference.
_FALLBACK_TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output in one input set: errors relative to the largest reference value, and the `limit`
    for them. `sizes`: of the input set, where it stands at an end of a range."""

    output: int
    input_set: int
    error: float
    eager_error: float | None
    passed: bool
    reason: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    limit: float = 0.0


@dataclass(frozen=True, slots=True)
class Verification:
    """All comparisons of one entry. `notes`: sizes that could not be compared, and why."""

    checks: tuple[OutputCheck, ...]
    input_sets: int
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def worst(self) -> OutputCheck | None:
        """The failing or else least accurate output."""
        return max(self.checks, key=lambda c: (not c.passed, c.error), default=None)


def double_reference(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """`function` in float64, or None when its module cannot be copied."""
    owner = function if isinstance(function, nn.Module) else getattr(function, "__self__", None)
    if isinstance(owner, nn.Module):
        tensors = [*owner.parameters(), *owner.buffers()]
        small = sum(8 * t.numel() for t in tensors) <= _MAX_DOUBLE_BYTES
        try:
            twin = copy.deepcopy(owner).double() if small else widened(owner)
        except Exception:  # a class may copy itself by code of its own
            return None
        call: Any = twin if owner is function else getattr(twin, str(function.__name__))
    else:
        call = function

    def run(*args: Any, **kwargs: Any) -> Any:
        return call(*_to_double(args), **_to_double(kwargs))

    return run


def _to_double(tree: Any) -> Any:
    return pytree.tree_map_only(
        torch.Tensor, lambda t: t.double() if t.is_floating_point() else t.clone(), tree
    )


def flat_tensors(result: Any) -> list[torch.Tensor]:
    """The tensors of a result in order, through tuples, lists, dicts and dataclasses."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, Mapping):
        return [t for value in result.values() for t in flat_tensors(value)]
    if isinstance(result, (list, tuple)):
        return [t for value in result for t in flat_tensors(value)]
    if hasattr(result, "__dataclass_fields__"):
        return [
            t for name in result.__dataclass_fields__ for t in flat_tensors(getattr(result, name))
        ]
    return []


def compare_output(
    position: int,
    input_set: int,
    actual: torch.Tensor,
    eager: torch.Tensor,
    exact: torch.Tensor | None,
) -> OutputCheck:
    """Judge one output. `exact` is the float64 reference."""

    def fail(reason: str) -> OutputCheck:
        return OutputCheck(position, input_set, float("inf"), None, False, reason)

    if actual.shape != eager.shape:
        return fail(f"shape {list(actual.shape)}, eager {list(eager.shape)}")
    if actual.dtype != eager.dtype:
        return fail(f"dtype {actual.dtype}, eager {eager.dtype}")
    if not eager.is_floating_point() and not eager.is_complex():
        differing = int((actual != eager).sum())
        share = differing / max(1, eager.numel())
        return OutputCheck(
            position, input_set, share, None, differing == 0,
            f"{differing} of {eager.numel()} values differ" if differing else "",
        )  # fmt: skip
    if exact is not None and exact.shape != eager.shape:
        exact = None
    reference = (exact if exact is not None else eager).to(_wide(eager.dtype))
    error = relative_error(actual, reference)
    if exact is None:
        limit = _FALLBACK_TOLERANCE.get(eager.dtype, 2e-2)
        return OutputCheck(position, input_set, error, None, error <= limit)
    eager_error = relative_error(eager, reference)
    limit = 2 * eager_error + _ULPS * torch.finfo(eager.dtype).eps
    return OutputCheck(position, input_set, error, eager_error, error <= limit, limit=limit)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.complex128 if dtype.is_complex else torch.float64


def relative_error(value: torch.Tensor, reference: torch.Tensor) -> float:
    """max |value - reference| / max |reference|; values that are not finite must match exactly."""
    if not reference.numel():
        return 0.0
    wide = value.to(reference.dtype)
    finite = torch.isfinite(reference) & torch.isfinite(wide)
    same = torch.where(finite, True, (wide == reference) | (wide.isnan() & reference.isnan()))
    if not bool(same.all()):
        return float("inf")
    scale = float(reference[finite].abs().max()) if bool(finite.any()) else 0.0
    worst = float((wide - reference)[finite].abs().max()) if bool(finite.any()) else 0.0
    return worst / scale if scale else worst


# -- inputs that differ by rounding ---------------------------------------------------------------

#: How often inputs are changed in their last digits to see what depends on them.
_ROUNDINGS = 8
#: The largest error that they excuse: what jumps where an input is rounded says nothing of it.
_MOST_BY_ROUNDING = 1e-2


def near_inputs(given: InputSet) -> Iterator[InputSet]:
    """The set with every element changed by a few units in the last place, at random."""
    for seed in range(_ROUNDINGS):
        yield changed(given, partial(_rounded, torch.Generator().manual_seed(seed)))


def changed(given: InputSet, change: Callable[[torch.Tensor], torch.Tensor]) -> InputSet:
    """The set with every floating-point tensor changed."""

    def result(value: torch.Tensor) -> torch.Tensor:
        return change(value) if value.is_floating_point() else value

    args, kwargs = pytree.tree_map_only(torch.Tensor, result, (given.args, given.kwargs))
    return replace(given, args=args, kwargs=kwargs)


def _rounded(generator: torch.Generator, x: torch.Tensor) -> torch.Tensor:
    places = torch.randint(-4, 5, x.shape, generator=generator)
    return x * (1 + places * torch.finfo(x.dtype).eps).to(x.dtype)


def beside_near(
    found: list[OutputCheck], near: Sequence[Sequence[OutputCheck]]
) -> list[OutputCheck]:
    """The verdicts, with eager's own error the largest of its errors on near inputs too: on one
    input alone eager may be right by chance, where the solution of an ill-conditioned system is
    not. `near`: the same checks of what eager gives for those."""
    if not all(len(checks) == len(found) for checks in near):
        return found
    return [_beside(*checks) for checks in zip(found, *near, strict=True)]


def _beside(check: OutputCheck, *near: OutputCheck) -> OutputCheck:
    errors = [n.error for n in near if not n.reason and math.isfinite(n.error)]
    if check.passed or check.reason or check.eager_error is None or not errors:
        return check
    largest = max(check.eager_error, *errors)
    limit = check.limit + 2 * (largest - check.eager_error)
    limit = max(check.limit, min(limit, _MOST_BY_ROUNDING))
    return replace(check, eager_error=largest, limit=limit, passed=check.error <= limit)


# -- whole entries --------------------------------------------------------------------------------


def verify_entry(
    function: Callable[..., Any],
    artifact: Callable[..., Any],
    sets: Iterable[InputSet],
    state: LiveState,
    name: str = "forward",
) -> Verification:
    """Run `artifact` and eager `function` on every input set and compare all outputs.

    Both see copies of the inputs, so that a model that writes into them is judged on equal terms;
    `state`, what the function changes, is put back. Where the model itself fails on inputs that
    were drawn, and on those in their place, there is nothing to compare; a note says so. Raises
    CompileError PTC-L060 where it fails on the example.
    """
    exact_run = double_reference(function)
    eager_session, exact_session = Session(state), Session(state)
    checks: list[OutputCheck] = []
    notes: list[str] = []
    compared = 0

    def run_eager(given: InputSet) -> tuple[InputSet, list[torch.Tensor]]:
        try:
            with torch.no_grad(), eager_session.call():
                result = function(*copy.deepcopy(given.args), **copy.deepcopy(given.kwargs))
                return given, [tensor.clone() for tensor in flat_tensors(result)]
        except Exception as error:  # the user's code may raise anything
            raise EagerRaises(error) from error

    for number, drawn in enumerate(sets):
        ran = on_one_that_runs(drawn, run_eager, name, notes)
        if ran is None:
            continue
        given, eager = ran
        with torch.no_grad(), exact_session.call():
            exact = _run_exact(exact_run, given.args, given.kwargs)
        compared += 1
        found = _compared(number, artifact, given, eager, exact)
        if not all(check.passed for check in found) and not (state.tensors or state.assigned):
            found = beside_near(found, _near(function, number, given, eager, exact))
        sizes = given.sizes if given.end else {}
        checks.extend(replace(check, sizes=sizes) for check in found)
    return Verification(tuple(checks), compared, tuple(notes))


def _compared(
    number: int,
    artifact: Callable[..., Any],
    given: InputSet,
    eager: list[torch.Tensor],
    exact: list[torch.Tensor] | None,
) -> list[OutputCheck]:
    """All outputs of the artifact on one input set, judged."""

    def fail(reason: str) -> list[OutputCheck]:
        return [OutputCheck(0, number, float("inf"), None, False, reason)]

    try:
        result = artifact(*copy.deepcopy(given.args), **copy.deepcopy(given.kwargs))
    except CompileError as error:
        return fail(f"the library fails, {error.code}: {error.diagnostic.message}")
    actual = flat_tensors(result)
    if len(actual) != len(eager):
        return fail(f"{len(actual)} outputs, eager {len(eager)}")
    return _judged(number, actual, eager, exact)


def _near(
    function: Callable[..., Any],
    number: int,
    given: InputSet,
    eager: list[torch.Tensor],
    exact: list[torch.Tensor] | None,
) -> list[list[OutputCheck]]:
    """Eager's outputs on near inputs, judged as an artifact's."""
    found: list[list[OutputCheck]] = []
    for near in near_inputs(given):
        with torch.no_grad():
            try:
                result = flat_tensors(
                    function(*copy.deepcopy(near.args), **copy.deepcopy(near.kwargs))
                )
            except Exception:  # the user's code may raise anything
                return []
        found.append(_judged(number, result, eager, exact))
    return found


def _judged(
    number: int,
    actual: list[torch.Tensor],
    eager: list[torch.Tensor],
    exact: list[torch.Tensor] | None,
) -> list[OutputCheck]:
    wide = exact if exact is not None and len(exact) == len(eager) else [None] * len(eager)
    return [
        compare_output(position, number, *values)
        for position, values in enumerate(zip(actual, eager, wide, strict=False))
    ]


def _run_exact(
    run: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[torch.Tensor] | None:
    if run is None:
        return None
    try:
        return [tensor.clone() for tensor in flat_tensors(run(*args, **kwargs))]
    except Exception:
        # Models that name float32 in forward cannot mix it with float64 weights.
        return None
