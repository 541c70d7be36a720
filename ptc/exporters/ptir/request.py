"""A `.ptir` file as what a compilation is asked for: a model that is captured already.

Takes a path and input options, gives the loader's data. The function that the compiled form is
compared with runs the file's program on torch.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ptc.exporters.ptir.captured import captured
from ptc.exporters.ptir.format import read_program
from ptc.exporters.ptir.loaded import InterpretedModel
from ptc.graph.program import AtenProgram
from ptc.hosting.dims import evaluate
from ptc.hosting.input_spec import parse_input
from ptc.hosting.manifest import EntryInfo, TensorInfo
from ptc.hosting.portable import portable_manifest
from ptc.hosting.structure import leaves
from ptc.loader.arguments import arguments_from_specs
from ptc.loader.model import DynamicDim, DynamicSpec, EntryRequest, LoadedModel
from ptc.loader.names import identifier

_NUMBERS = {"i64": "2", "f64": "0.5", "bool": "true"}
#: What sizes without a bound are in an example.
_USUAL = 3


def portable_model(path: Path, inputs: Sequence[str] = (), seed: int = 0) -> LoadedModel:
    """The model in a file. Without `inputs`, input options as text, the example is drawn. Raises
    CompileError PTC-E010 for a damaged file."""
    program = read_program(path)
    model = InterpretedModel(path, portable_manifest(path), program)
    function = FileFunction(model)
    info = function.info
    given = inputs or [f"{t.name}={_example(t, info)}" for t in info.inputs]
    args, kwargs = arguments_from_specs(function, [parse_input(text) for text in given], seed)
    whole = captured(program) if isinstance(program, AtenProgram) else program
    whole.assigned = ((function, "state"),)
    request = EntryRequest(
        name=info.name,
        function=function,
        args=args,
        kwargs=kwargs,
        dynamic=_dynamic(info),
        program=whole,
    )
    notes = () if inputs else ("no inputs are given: those it is compared on are drawn",)
    return LoadedModel(identifier(path.stem), (request,), source=path, notes=notes)


class FileFunction:
    """The program of a file as a function of the user's, with its state in an attribute."""

    def __init__(self, model: InterpretedModel) -> None:
        self._model = model
        self._entry = model.entry()
        self.info = self._entry.info
        self.state: dict[str, Any] = model.runner.state
        self.__name__ = self.__qualname__ = self.info.name
        self.__signature__ = _signature(self.info)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        runner = self._model.runner
        runner.state = copy.deepcopy(self.state)
        try:
            return self._entry(*args, **kwargs)
        finally:
            self.state = runner.state


def _signature(info: EntryInfo) -> inspect.Signature:
    """Parameters as the inputs are called, those of fixed values optional."""
    kinds = inspect.Parameter
    if info.arguments is None:
        return inspect.Signature([kinds(t.name, kinds.POSITIONAL_OR_KEYWORD) for t in info.inputs])
    positional, named = info.arguments["children"]
    names = [_name(child, info) for child in positional["children"]]
    keys = [name for name in (*names, *named["keys"]) if name and str(name).isidentifier()]
    if len(set(keys)) < len(names) + len(named["keys"]):
        return inspect.Signature(
            [kinds("args", kinds.VAR_POSITIONAL), kinds("kwargs", kinds.VAR_KEYWORD)]
        )
    children = [*positional["children"], *named["children"]]
    optional = [next(iter(leaves(child)), None) is None for child in children]
    parameters: list[inspect.Parameter] = []
    for number, (key, fixed) in enumerate(zip(keys, optional, strict=True)):
        kind = kinds.KEYWORD_ONLY if number >= len(names) else kinds.POSITIONAL_OR_KEYWORD
        parameters.append(kinds(key, kind, default=None if fixed else kinds.empty))
    return inspect.Signature(parameters)


def _name(child: Mapping[str, Any], info: EntryInfo) -> str | None:
    """The parameter that an argument belongs to: the head of its inputs' paths."""
    first = next(iter(leaves(child)), None)
    if first is None:
        return None
    head = info.inputs[first].name
    for mark in ".[":
        head = head.partition(mark)[0]
    return head


def _sizes(info: EntryInfo) -> dict[str, int]:
    return {size.symbol: max(size.lower, min(_USUAL, size.upper or _USUAL)) for size in info.sizes}


def _example(tensor: TensorInfo, info: EntryInfo) -> str:
    """A specification of an input."""
    sizes = _sizes(info)
    if tensor.kind == "number":
        places = [s for s in info.sizes if info.inputs[s.input] == tensor]
        return str(sizes[places[0].symbol]) if places else _NUMBERS[tensor.dtype]
    shape = [evaluate(dim, sizes) for dim in tensor.shape]
    return f"{tensor.dtype}[{','.join(str(1 if size is None else size) for size in shape)}]"


def _dynamic(info: EntryInfo) -> DynamicSpec | None:
    """The dimensions that are sizes, by the names of the inputs."""
    known = {size.symbol: DynamicDim(size.name, size.lower, size.upper) for size in info.sizes}
    found: dict[str, dict[int, DynamicDim]] = {}
    for tensor in info.inputs:
        dims = {n: known[dim] for n, dim in enumerate(tensor.shape) if dim in known}
        if dims:
            found[tensor.name] = dims
    return found or None
