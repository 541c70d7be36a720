"""The loader's steps in order: import, choose, construct, fill with weights, find the inputs.

Goes in: a `LoadRequest`. Comes out: a `LoadedModel` that capture can take. Everything that is wrong
with the user's file, weights or inputs is a CompileError with a code PTC-Lnnn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from ptc.hosting.input_spec import (
    DimSpec,
    InputSpec,
    TensorSpec,
    ValueSpec,
    parse_dynamic,
    parse_input,
)
from ptc.hosting.input_values import DEFAULT_INTEGER_BOUND
from ptc.loader.arguments import (
    arguments_from_example,
    arguments_from_specs,
    example_of,
    fit,
    map_arguments,
    no_inputs_error,
    required,
    signature_of,
)
from ptc.loader.candidates import CandidateKind, choose
from ptc.loader.construct import (
    construct,
    has_lazy_parameters,
    prepare_module,
    refuse_empty_parameters,
)
from ptc.loader.dynamic import dynamic_spec
from ptc.loader.importing import import_target
from ptc.loader.model import Arguments, DynamicSpec, EntryRequest, LoadedModel, LoadRequest
from ptc.loader.names import identifier
from ptc.loader.probe import other_methods
from ptc.loader.target import parse_target
from ptc.loader.torch_values import float_dtype, short_name
from ptc.loader.tracebacks import users_code
from ptc.loader.variants import variant_of
from ptc.loader.weights import convert_floats, load_weights
from ptc.support.diagnostics import CompileError


def load(request: LoadRequest) -> LoadedModel:
    """Import the user's file and make everything that a compilation needs."""
    target = parse_target(request.target)
    # Malformed options are reported before a long import starts.
    options = _Options(
        tuple(parse_input(text) for text in request.inputs),
        tuple(dim for text in request.dynamic for dim in parse_dynamic(text)),
        float_dtype(request.dtype) if request.dtype is not None else None,
        request.seed,
    )
    notes: list[str] = []
    torch.manual_seed(request.seed)
    module = import_target(target)
    shown = request.target.rpartition(":")[0] if target.name else request.target
    candidate = choose(module, target.name, shown)
    function = construct(
        candidate,
        request.init,
        weights=request.weights,
        inputs_given=bool(request.inputs),
        notes=notes,
    )
    if isinstance(function, nn.Module):
        _finish_module(function, request, options, notes)
        made_here = candidate.kind is not CandidateKind.MODULE
        if request.weights is None and made_here and any(True for _ in function.parameters()):
            notes.append(f"no --weights: parameters as the file makes them, seed {request.seed}")
    elif request.weights is not None:
        raise CompileError(
            "PTC-L040",
            f"`{candidate.name}` is a function, so there is nothing to load weights into",
        )
    source = _Source(module, function, shown)
    _refuse_misplaced(options, request.entries or (_default_entry(function),))
    requests = tuple(
        _entry(source, name, options, notes, among=request.entries)
        for name in (request.entries or (None,))
    )
    return LoadedModel(
        name=_model_name(candidate.name, target.file, target.name),
        entries=requests,
        module=function if isinstance(function, nn.Module) else None,
        source=Path(module.__file__) if module.__file__ else None,
        notes=tuple(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, slots=True)
class _Options:
    """The parsed options."""

    inputs: tuple[InputSpec, ...]
    dims: tuple[DimSpec, ...]
    dtype: torch.dtype | None
    seed: int


@dataclass(frozen=True, slots=True)
class _Source:
    """Where an entry comes from: the user's Python module, and the model or function in it."""

    module: ModuleType
    function: Callable[..., Any]
    shown: str


def _finish_module(
    module: nn.Module, request: LoadRequest, options: _Options, notes: list[str]
) -> None:
    if request.weights is not None:
        load_weights(module, request.weights.expanduser(), notes)
    refuse_empty_parameters(module)
    prepare_module(module, notes)
    if options.dtype is not None:
        convert_floats(module, options.dtype, notes)


def _entry(
    source: _Source,
    name: str | None,
    options: _Options,
    notes: list[str],
    *,
    among: Sequence[str],
) -> EntryRequest:
    function = _entry_function(source.function, name)
    called = name or _default_entry(source.function)
    own = {s.path for s in options.inputs if s.entry == called and s.path is not None}
    specs = [
        s
        for s in options.inputs
        if s.entry == called or (s.entry is None and (s.path is None or s.path not in own))
    ]
    if specs:
        arguments = arguments_from_specs(function, specs, options.seed)
        notes.extend(_unranged(specs))
    else:
        arguments = _example_arguments(source, function, name, among)
    if options.dtype is not None:
        arguments = _converted(function, arguments, options.dtype, notes)
    if specs:
        make = partial(_from_specs, function, specs, options.dtype)
    else:
        make = partial(variant_of, function, arguments)
    dims = [d for d in options.dims if d.entry in (None, called)]
    dynamic = dynamic_spec(function, arguments, dims)
    if isinstance(source.function, nn.Module) and has_lazy_parameters(source.function):
        with torch.no_grad(), users_code("PTC-L024", "the first call, which sizes lazy layers,"):
            function(*arguments[0], **arguments[1])
        notes.append("lazy layers got their sizes from one eager call")
    return EntryRequest(
        called,
        function,
        arguments[0],
        arguments[1],
        dynamic,
        partial(make, dynamic),
    )


def _from_specs(
    function: Callable[..., Any],
    specs: Sequence[InputSpec],
    dtype: torch.dtype | None,
    dynamic: DynamicSpec | None,
    seed: int,
    sizes: Mapping[str, int],
) -> Arguments:
    """A variant of specified inputs: drawn anew as specified, resized where sizes change."""
    fresh = arguments_from_specs(function, specs, seed)
    if dtype is not None:
        fresh = _converted(function, fresh, dtype, [])
    return variant_of(function, fresh, dynamic, seed, sizes) if sizes else fresh


def _entry_function(function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    if name is None or (name == "forward" and isinstance(function, nn.Module)):
        return function
    entry = getattr(function, name, None)
    if not isinstance(function, nn.Module) or not callable(entry):
        methods = other_methods(function)
        raise CompileError(
            "PTC-L051",
            f"the model has no method `{name}` to use as an entry",
            hint=f"its methods: {', '.join(methods)}" if methods else "",
        )
    return entry


def _default_entry(function: Callable[..., Any]) -> str:
    if isinstance(function, nn.Module):
        return "forward"
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "call"


def _example_arguments(
    source: _Source, function: Callable[..., Any], name: str | None, among: Sequence[str]
) -> Arguments:
    """The file's `example_inputs`, the model's own, Lightning's, or no arguments at all.

    With entries named, `example_inputs` may hold each entry's inputs by the entry's name.
    """
    for owner, attribute in (
        (source.module, "example_inputs"),
        (source.function, "example_inputs"),
        (source.function, "example_input_array"),
    ):
        example = example_of(owner, attribute, source.shown)
        if example is None:
            continue
        what = f"`{attribute}` of {source.shown}"
        if among and isinstance(example, Mapping) and set(among) <= set(example):
            example, what = example[name], f"`{attribute}[{name!r}]` of {source.shown}"
        return arguments_from_example(function, example, what)
    if required(signature_of(function)):
        raise no_inputs_error(function, source.shown)
    return fit(function, (), {})


def _converted(
    function: Callable[..., Any], arguments: Arguments, dtype: torch.dtype, notes: list[str]
) -> Arguments:
    """`--dtype` applies to inputs as well as to parameters."""

    def convert(path: str, tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point() or tensor.dtype == dtype:
            return tensor
        notes.append(f"the input `{path}` was converted to {short_name(dtype)}")
        return tensor.to(dtype)

    return map_arguments(function, arguments, convert)


def _unranged(specs: Sequence[InputSpec]) -> list[str]:
    """Integer inputs for which no range was given, which the user may have meant differently."""

    def is_unranged(value: ValueSpec) -> bool:
        return (
            isinstance(value, TensorSpec)
            and value.dtype.is_integer
            and value.upper is None
            and value.fill is None
        )

    return [
        f"`{spec.text}` has no upper limit; the values 0 to {DEFAULT_INTEGER_BOUND - 1} are used "
        "(write `<30000` behind it for more)"
        for spec in specs
        if is_unranged(spec.value)
    ]


def _refuse_misplaced(options: _Options, entries: Sequence[str]) -> None:
    """An entry that is named twice, or an input or dimension for one that is not compiled, is a
    mistake."""
    if repeated := [name for number, name in enumerate(entries) if name in entries[:number]]:
        raise CompileError(
            "PTC-L051",
            f"the entry `{repeated[0]}` is named twice",
            hint=f"write `--entry {repeated[0]}` once",
        )
    for part in (*options.inputs, *options.dims):
        if part.entry is not None and part.entry not in entries:
            raise CompileError(
                "PTC-L051",
                f"`{part.text}` is for the entry `{part.entry}`, which is not compiled",
                hint=f"add `--entry {part.entry}`",
            )


def _model_name(candidate: str, file: Path | None, given: str | None) -> str:
    """The file's name; the object's where one was named or there is no file."""
    return identifier(
        given or (file.stem if file is not None and file.stem != "__init__" else candidate)
    )
