"""The table of operators: lowering rules, decompositions, refusals and sample rows.

Rules register beside their code (`@lowers(aten.relu.default)`); the modules that hold them are
listed in `families`. `schedule` asks for lowerings, `autograd` for the decomposition table, tests
for the samples. Knows no operator itself.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import torch
from torch._ops import OpOverload

from ptc.ops.families import FAMILIES
from ptc.ops.protocol import LoweringContext, LoweringRule, Sample
from ptc.ops.torch_decompositions import torch_decompositions
from ptc.support.diagnostics import CompileError
from ptc.support.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

_LOWERINGS: Registry[OpOverload, LoweringRule] = Registry("lowering rules")
_DECOMPOSITIONS: Registry[OpOverload, Callable[..., Any]] = Registry("decompositions")
_REFUSALS: Registry[OpOverload, tuple[str, LoweringRule]] = Registry("refusals")
_EXAMINERS: Registry[OpOverload, Callable[..., None]] = Registry("examiners")
_SAMPLES: dict[OpOverload, list[Sample]] = {}

# Arguments that say where and how a tensor lies in memory. Rules do not see them: the device is the
# target's, and layouts are chosen by `schedule`.
_PLACEMENT = frozenset(
    {"layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit"}
)


def lowers(*ops: OpOverload) -> Callable[[F], F]:
    """Register the decorated rule for `ops`.

    The rule is called as `rule(ctx, *arguments)`: every argument of the operator's schema in order,
    keyword-only ones included and defaults filled in, but for those of memory placement.
    """

    def decorate(rule: F) -> F:
        for op in ops:
            _LOWERINGS.add(op, bind_schema(op, rule))
        return rule

    return decorate


def decomposes(*ops: OpOverload) -> Callable[[F], F]:
    """Register the decorated function of torch calls as the decomposition of `ops`."""

    def decorate(function: F) -> F:
        for op in ops:
            _DECOMPOSITIONS.add(op, function)
        return function

    return decorate


def refuses(*ops: OpOverload, code: str, reason: str, hint: str) -> None:
    """Register `ops` as understood but not compiled: lowering raises CompileError `code`. A rule or
    decomposition takes precedence."""
    for op in ops:

        def refuse(
            ctx: LoweringContext, *args: Any, _op: OpOverload = op, **kwargs: Any
        ) -> NoReturn:
            raise CompileError(code, f"`{_op}` {reason}", hint=hint)

        _REFUSALS.add(op, (code, refuse))


def examines(*ops: OpOverload) -> Callable[[F], F]:
    """Register a check of calls of `ops` against eager's memory layout, which rules do not see.

    It is called with the operator's own arguments, tensors fake, and raises CompileError.
    """
    return _EXAMINERS.register(*ops)


def examine(op: object, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Run the check of `op`, if it has one, on a call with fake tensors."""
    _load_families()
    check = _EXAMINERS.get(op) if isinstance(op, OpOverload) else None
    if check is not None:
        check(*args, **kwargs)


def samples(op: OpOverload, *rows: Sample) -> None:
    """Add sample rows for `op`. May be called several times for one operator."""
    _SAMPLES.setdefault(op, []).extend(rows)


def samples_for(ops: Sequence[OpOverload], *rows: Sample) -> None:
    """Add the same sample rows to each of `ops`."""
    for op in ops:
        samples(op, *rows)


def lowering(op: object) -> LoweringRule | None:
    """The lowering rule of an operator overload, or its refusal; None if there is neither."""
    _load_families()
    if not isinstance(op, OpOverload):
        return None
    rule = _LOWERINGS.get(op)
    return _REFUSALS[op][1] if rule is None and op in _REFUSALS else rule


def lowered_operators() -> tuple[OpOverload, ...]:
    """Every operator with a rule that lowers it (refusals are not among them)."""
    _load_families()
    return tuple(_LOWERINGS)


def decomposed_operators() -> tuple[OpOverload, ...]:
    """Every operator with a decomposition of our own."""
    _load_families()
    return tuple(_DECOMPOSITIONS)


def refused_operators() -> Mapping[OpOverload, str]:
    """Operators that are known and refused, with the code of the refusal."""
    _load_families()
    stale = stale_refusals()
    return {op: code for op, (code, _) in _REFUSALS.items() if op not in stale}


def stale_refusals() -> tuple[OpOverload, ...]:
    """Operators that are refused although they have a rule or a decomposition of ours."""
    _load_families()
    return tuple(op for op in _REFUSALS if op in _LOWERINGS or op in _DECOMPOSITIONS)


def all_samples() -> Mapping[OpOverload, tuple[Sample, ...]]:
    """The sample rows of every operator with a rule."""
    _load_families()
    return {op: tuple(rows) for op, rows in _SAMPLES.items() if op not in _DECOMPOSITIONS}


def decomposition_samples() -> Mapping[OpOverload, tuple[Sample, ...]]:
    """The sample rows of the operators with a decomposition of our own. They reach rules only
    through functionalisation."""
    _load_families()
    return {op: tuple(rows) for op, rows in _SAMPLES.items() if op in _DECOMPOSITIONS}


@functools.cache
def decomposition_table() -> dict[OpOverload, Callable[..., Any]]:
    """What functionalisation replaces: torch's decompositions into core ATen, without the operators
    that have a rule or a refusal of their own, and our decompositions on top."""
    _load_families()
    own = {*_LOWERINGS, *_REFUSALS}
    table = {op: fn for op, fn in torch_decompositions().items() if op not in own}
    clash = [str(op) for op in _DECOMPOSITIONS if op in _LOWERINGS]
    if clash:
        raise ValueError(f"both lowered and decomposed: {', '.join(clash)}")
    table.update(_DECOMPOSITIONS)
    return table


def _load_families() -> None:
    load_modules(FAMILIES)


def load_modules(modules: tuple[str, ...]) -> None:
    """Import modules that register rules. What one of them raised is raised at each later call too:
    a second import would register its first rules again, and blame those."""
    failure = _failure_of(modules)
    if failure is not None:
        raise failure


@functools.cache
def _failure_of(modules: tuple[str, ...]) -> Exception | None:
    try:
        for module in modules:
            importlib.import_module(module)
    except Exception as error:
        return error
    return None


def bind_schema(op: OpOverload, rule: Callable[..., Any]) -> LoweringRule:
    """`rule` behind the calling convention of `op`'s schema."""
    # The only public view of a schema is its text.
    arguments = op._schema.arguments  # pyright: ignore[reportPrivateUsage]
    names = [argument.name for argument in arguments]
    passed = [name for name in names if name not in _PLACEMENT]
    defaults = {a.name: _default(a) for a in arguments if a.has_default_value()}

    @functools.wraps(rule)
    def bound(ctx: LoweringContext, *args: Any, **kwargs: Any) -> Any:
        values = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        return rule(ctx, *(values[name] for name in passed))

    return bound


def _default(argument: Any) -> Any:
    """A schema's default. Types among them are given by number, of which schemas use one: int64."""
    if argument.name == "dtype" and isinstance(argument.default_value, int):
        return torch.int64
    return argument.default_value
