"""From a candidate to the object that will be captured: instances are made here, and made ready.

Classes and factories are called with `--init`; when weights will be mapped from a file, parameters
are made on the meta device, so that a model larger than half of memory can be built. Training mode
is switched off. What was done goes into notes.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from ptc.loader.candidates import Candidate, CandidateKind
from ptc.loader.importing import script_arguments
from ptc.loader.tracebacks import users_code
from ptc.support.diagnostics import CompileError
from ptc.support.wording import listed

Notes = list[str]


def parse_init(text: str) -> dict[str, Any]:
    """Read `--init`: a JSON object whose keys are parameter names."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise CompileError(
            "PTC-L016",
            f"cannot read `--init {text}`: {error.msg}",
            notes=(f"  {text}", f"  {' ' * error.pos}^"),
            hint="""write a JSON object, such as --init '{"depth": 2}'""",
        ) from None
    except (RecursionError, ValueError) as error:  # nested too deep, too many digits
        raise CompileError(
            "PTC-L016",
            f"cannot read `--init {text[:40]}...`: {error}",
            hint="""write a JSON object, such as --init '{"depth": 2}'""",
        ) from None
    if not isinstance(value, dict):
        raise CompileError(
            "PTC-L016",
            f"`--init {text}` is a JSON {type(value).__name__}, expected an object",
            hint="""name the parameters: --init '{"depth": 2}'""",
        )
    return value


def construct(
    candidate: Candidate,
    init: Mapping[str, Any] | None,
    *,
    weights: Path | None,
    inputs_given: bool,
    notes: Notes,
) -> Callable[..., Any]:
    """The module or function that `candidate` stands for.

    A function that can be called without arguments may be a factory whose source does not show it
    (`return timm.create_model(...)`): unless inputs are given for it, it is called to find out.
    """
    value = candidate.value
    match candidate.kind:
        case CandidateKind.MODULE:
            _refuse_init(candidate, init)
            return _unwrap(value, notes)
        case CandidateKind.FUNCTION if init is None and (inputs_given or _needs_arguments(value)):
            return value
        case _:
            arguments = _arguments(candidate, init, weights)
            made = _call(candidate, arguments, on_meta=weights is not None, notes=notes)
    if isinstance(made, nn.Module):
        return _unwrap(made, notes)
    if candidate.kind is CandidateKind.FUNCTION and init is None:
        return value
    raise CompileError(
        "PTC-L017",
        f"`{candidate.name}()` returned a {type(made).__name__}, expected an nn.Module",
    )


def prepare_module(module: nn.Module, notes: Notes) -> None:
    """Inference mode on the CPU, said in `notes` where it changes something."""
    if any(part.training for part in module.modules()):
        module.eval()
        notes.append("the model was in training mode; it was switched to eval()")
    tensors = [*module.parameters(), *module.buffers()]
    devices = sorted({t.device.type for t in tensors} - {"cpu", "meta"})
    if devices:
        module.to("cpu")
        notes.append(f"the model was on {', '.join(devices)}; it was moved to the CPU")


def refuse_empty_parameters(module: nn.Module) -> None:
    """Parameters without data would compile to garbage."""
    empty = [
        name
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]
        if tensor.device.type == "meta"
    ]
    if empty:
        raise CompileError(
            "PTC-L052",
            f"{len(empty)} tensors of the model have no data (device meta): {listed(empty)}",
            hint="give their values with `--weights`",
        )


def has_lazy_parameters(module: nn.Module) -> bool:
    """Whether a module such as nn.LazyLinear still waits for its first input."""
    tensors = [*module.parameters(), *module.buffers()]
    return any(is_lazy(t) for t in tensors)


def _needs_arguments(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(
        p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )


def _refuse_init(candidate: Candidate, init: Mapping[str, Any] | None) -> None:
    if init is not None:
        raise CompileError(
            "PTC-L016",
            f"`{candidate.name}` is a model already, so `--init` has nothing to make",
            hint=f"name its class instead: `{type(candidate.value).__name__}`",
        )


def _arguments(
    candidate: Candidate, init: Mapping[str, Any] | None, weights: Path | None
) -> dict[str, Any]:
    """Checked keyword arguments for the class or factory."""
    given = dict(init or {})
    try:
        signature = inspect.signature(candidate.value)
    except (TypeError, ValueError):
        return given
    known = signature.parameters
    if "config" in known and "config" not in given:
        config = _pretrained_config(candidate.value, given, weights)
        if config is not None:
            return {"config": config}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in known.values())
    unknown = [name for name in given if name not in known and not takes_any]
    if unknown:
        raise CompileError(
            "PTC-L014",
            f"`{candidate.name}` has no parameter {listed(unknown)}",
            hint=f"its parameters are: {', '.join(known)}" if known else "it takes no arguments",
        )
    missing = [
        p.name
        for p in known.values()
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in given
    ]
    if missing:
        example = json.dumps(dict.fromkeys(missing, 1))
        raise CompileError(
            "PTC-L014",
            f"the {candidate.kind.value} `{candidate.name}` needs arguments: {listed(missing)}",
            hint=f"give them as JSON, such as --init '{example}'",
        )
    return given


def _pretrained_config(maker: Any, given: dict[str, Any], weights: Path | None) -> Any:
    """The configuration for a class that is made from one, as those of transformers are: the one in
    the folder of the weights, else the class's default, with `--init` applied to either."""
    config_class = getattr(maker, "config_class", None)
    if config_class is None:
        return None
    with users_code("PTC-L015", f"making a {config_class.__name__}"):
        if weights is not None and (weights / "config.json").is_file():
            return config_class.from_pretrained(str(weights), local_files_only=True, **given)
        return config_class(**given)


def _call(candidate: Candidate, arguments: dict[str, Any], *, on_meta: bool, notes: Notes) -> Any:
    what = f"`{candidate.name}({', '.join(arguments)})`"
    if on_meta:
        try:
            with script_arguments(candidate.name), parameters_on_meta():
                return candidate.value(**arguments)
        except Exception:
            # The constructor reads a parameter's value; made with data below, it either works or
            # raises its true error.
            notes.append(f"{what} needs its parameters' values, so they were made in memory first")
    with script_arguments(candidate.name), users_code("PTC-L015", what):
        return candidate.value(**arguments)


@contextmanager
def parameters_on_meta() -> Iterator[None]:
    """Inside, a module's parameters lose their data when they are registered; buffers keep theirs.

    Buffers are computed (rotary frequencies, masks) and often not part of a checkpoint, whereas
    parameters come from the weights file. Memory for a parameter is reserved but not yet touched
    when it is registered, so nothing of its size is ever used.
    """
    register = nn.Module.register_parameter

    def register_on_meta(self: nn.Module, name: str, param: nn.Parameter | None) -> None:
        if type(param) is nn.Parameter and param.device.type != "meta":
            param = nn.Parameter(param.detach().to("meta"), requires_grad=param.requires_grad)
        register(self, name, param)

    nn.Module.register_parameter = register_on_meta
    try:
        yield
    finally:
        nn.Module.register_parameter = register


def _unwrap(module: nn.Module, notes: Notes) -> nn.Module:
    """The user's own module inside the wrappers of torch.compile and data parallelism."""
    if isinstance(module, torch.jit.ScriptModule):  # noqa: TID251  # recognised to be refused
        raise CompileError(
            "PTC-L053",
            "the model was compiled by torch.jit, its Python code is not there any more",
            hint="give the original nn.Module",
        )
    wrappers = (nn.DataParallel, nn.parallel.DistributedDataParallel)
    inner = module.module if isinstance(module, wrappers) else getattr(module, "_orig_mod", None)
    if not isinstance(inner, nn.Module):
        return module
    notes.append(f"the wrapper {type(module).__name__} was taken off the model")
    return _unwrap(inner, notes)
