"""The example call of an entry: from `--input`, from the file's `example_inputs`, or from nothing.

Goes in: the callable, its specifications and what the file offers. Comes out: (args, kwargs) that
fit the callable's signature, with positional parameters passed by position.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from ptc.hosting.input_spec import InputSpec
from ptc.hosting.input_values import ValueMaker
from ptc.loader.model import Arguments
from ptc.loader.torch_values import map_tensors, read_torch_file, tensor_from_array
from ptc.loader.tracebacks import users_code
from ptc.support.diagnostics import CompileError


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a call: those of `forward` for a module."""
    target = function.forward if isinstance(function, nn.Module) else function
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):
        return inspect.Signature(
            [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )


def arguments_from_specs(
    function: Callable[..., Any], specs: Sequence[InputSpec], seed: int
) -> Arguments:
    """Make the values of `--input` options and fit them to the signature."""
    maker = ValueMaker(tensor_from_array, {".pt": read_torch_file, ".pth": read_torch_file}, seed)
    positional, named = maker.arguments(tuple(specs))
    return fit(function, tuple(positional), _assemble(named))


def arguments_from_example(function: Callable[..., Any], example: Any, what: str) -> Arguments:
    """Fit `example_inputs` to the signature.

    A dict whose keys are parameters is keyword arguments, a tuple or list is positional ones, a
    pair of both is both; anything else is the only argument.
    """
    signature = signature_of(function)
    match example:
        case (tuple() | list() as args, dict() as kwargs) if _are_parameters(signature, kwargs):
            return fit(function, tuple(args), dict(kwargs), what)
        case dict() if _are_parameters(signature, example):
            return fit(function, (), dict(example), what)
        case tuple() | list() if not hasattr(example, "_fields"):
            return fit(function, tuple(example), {}, what)
        case _:
            return fit(function, (example,), {}, what)


def fit(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    what: str = "the inputs",
) -> Arguments:
    """Bind to the signature; what can be passed by position is, so that one form of call is
    left."""
    signature = signature_of(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise CompileError(
            "PTC-L022",
            f"{what} do not fit {entry_text(function, signature)}: {error}",
            hint="name inputs after parameters: `--input x=f32[1,3]`",
        ) from None
    return bound.args, bound.kwargs


def example_of(source: Any, name: str, shown: str) -> Any | None:
    """The attribute `name` of the user's file or model: its value, or what it returns if it is a
    function. None if there is no such attribute, or if it holds None."""
    example = getattr(source, name, None)
    # A tensor or a mapping is a value even though it may be callable.
    if callable(example) and not isinstance(example, (nn.Module, Mapping)):
        with users_code("PTC-L024", f"`{name}()` of {shown}"):
            example = example()
    return example


def no_inputs_error(function: Callable[..., Any], shown: str) -> CompileError:
    """No inputs are known although the entry needs some."""
    signature = signature_of(function)
    options = " ".join(f"--input {name}=f32[1,3]" for name in required(signature))
    return CompileError(
        "PTC-L023",
        f"no inputs are known for {entry_text(function, signature)}",
        hint=f"give each with its type and shape, such as `{options}`, "
        f"or define `example_inputs` in {shown}",
    )


def required(signature: inspect.Signature) -> list[str]:
    """Names of the parameters that have no default."""
    return [
        p.name
        for p in signature.parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


def entry_text(function: Callable[..., Any], signature: inspect.Signature) -> str:
    """The entry as a user knows it: `Net.forward(x, mask=None)`, annotations left out."""
    owner = type(function).__name__ if isinstance(function, nn.Module) else ""
    name = f"{owner}.forward" if owner else getattr(function, "__qualname__", repr(function))
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return f"`{name}{inspect.Signature(bare)}`"


def map_arguments(
    function: Callable[..., Any],
    arguments: Arguments,
    change: Callable[[str, torch.Tensor], Any],
) -> Arguments:
    """The call with every tensor replaced by `change(argument path, tensor)`; what was given by
    keyword stays so, as that is part of the structure that a program is captured with."""
    args, kwargs = arguments
    signature = signature_of(function)
    bound = signature.bind(*args, **kwargs)
    for name, value in bound.arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            value = {key: map_tensors(item, change, key) for key, item in value.items()}
            bound.arguments[name] = value
        else:
            bound.arguments[name] = map_tensors(value, change, name)
    given = {**bound.arguments, **bound.kwargs}
    return bound.args[: len(args)], {key: given[key] for key in kwargs}


def named_tensors(function: Callable[..., Any], arguments: Arguments) -> dict[str, torch.Tensor]:
    """Every tensor of a call by its argument path (`x`, `args[0]`, `batch.ids`)."""
    found: dict[str, torch.Tensor] = {}

    def remember(path: str, tensor: torch.Tensor) -> torch.Tensor:
        found[path] = tensor
        return tensor

    map_arguments(function, arguments, remember)
    return found


def _are_parameters(signature: inspect.Signature, example: Mapping[Any, Any]) -> bool:
    kinds = {p.kind for p in signature.parameters.values()}
    names = [n for n, p in signature.parameters.items() if p.kind is not p.POSITIONAL_ONLY]
    if not all(isinstance(key, str) for key in example):
        return False
    return all(key in names for key in example) or inspect.Parameter.VAR_KEYWORD in kinds


_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]")


def _assemble(named: Mapping[str, Any]) -> dict[str, Any]:
    """Nest values by path: {"batch.ids": a, "state[0]": b} -> {"batch": {"ids": a}, "state":
    [b]}."""
    nested: dict[str, Any] = {}
    for path, value in named.items():
        head = re.match(r"\w+", path)
        assert head is not None  # the grammar of paths
        steps = [s[1] or int(s[2]) for s in _STEP.finditer(path, head.end())]
        _place(nested, [head[0], *steps], value, path)
    return {key: _lists(value, key) for key, value in nested.items()}


def _place(container: dict[Any, Any], steps: list[Any], value: Any, path: str) -> None:
    *outer, last = steps
    for step in outer:
        container = container.setdefault(step, {})
        if not isinstance(container, dict):
            break
    if not isinstance(container, dict) or last in container:
        raise CompileError("PTC-L022", f"the input `{path}` is given twice, whole and in parts")
    container[last] = value


def _lists(value: Any, path: str) -> Any:
    """Turn the integer-keyed dicts that `_place` made into lists."""
    if not isinstance(value, dict):
        return value
    items = {key: _lists(item, f"{path}.{key}") for key, item in value.items()}
    positions = [key for key in items if isinstance(key, int)]
    if not positions:
        return items
    if len(positions) != len(items) or sorted(positions) != list(range(len(items))):
        raise CompileError("PTC-L022", f"the parts of the input `{path}` leave gaps")
    return [items[i] for i in range(len(items))]
