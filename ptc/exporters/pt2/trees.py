"""The user's structures as torch's pytrees say them: lists, tuples, dicts and plain values.

A file has to load where the user's classes are not known, so that objects with fields become dicts
of them, and named tuples tuples. Takes `Structure`s and leaves; knows no graph and no file.
"""

from __future__ import annotations

import collections
import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ptc.graph.program import Const, Leaf, Node, ProgramInput, Structure
from ptc.graph.structure import flatten
from ptc.support.diagnostics import CompileError, InternalError

_PLAIN = (type(None), bool, int, float, str)
_AS_DICT = ("dict", "dataclass", "object")
_ORDERED = "collections.OrderedDict"
_ROOT = re.compile(r"L\['(\w+)'\]")


def build(structure: Structure, values: Sequence[Any] | Mapping[int, Any]) -> Any:
    """The pytree with `structure` whose leaf i is `values[i]`.

    Raises CompileError PTC-E050 for what a pytree does not hold."""
    match structure:
        case Leaf(index):
            return values[index]
        case Const(value):
            if type(value) not in _PLAIN:
                raise unsayable(f"a value of type `{type(value).__name__}`")
            return value
        case Node(kind, children, keys, type_name):
            items = [build(child, values) for child in children]
            if kind == "list":
                return items
            if kind in ("tuple", "namedtuple"):
                return tuple(items)
            if kind not in _AS_DICT:
                raise unsayable("a container of which data decides the number of elements")
            if not all(isinstance(key, (str, int)) for key in keys):
                raise unsayable("a dict whose keys are neither strings nor integers")
            made = dict(zip(keys, items, strict=True))
            return collections.OrderedDict(made) if type_name == _ORDERED else made


def unsayable(what: str) -> CompileError:
    """The refusal of a structure."""
    return CompileError(
        "PTC-E050",
        f"the arguments or the result hold {what}, which no exported program of torch does",
        hint="use tensors, numbers, strings, lists, tuples and dicts with string keys",
    )


def require_result(structure: Structure) -> None:
    """Refuse what torch writes into a file as a result, but does not read again: strings."""
    if isinstance(structure, Const) and isinstance(structure.value, str):
        raise unsayable("a string that is a result")
    if isinstance(structure, Node):
        for child in structure.children:
            require_result(child)


def leaves_of(structure: Structure, value: Any) -> dict[int, Any]:
    """The leaves of what an exported program gave: leaf index -> value."""
    return flatten(_sayable(structure), value)


def _sayable(structure: Structure) -> Structure:
    """The structure that `build` gives."""
    if not isinstance(structure, Node):
        return structure
    kind = "dict" if structure.kind in _AS_DICT else structure.kind
    children = tuple(_sayable(child) for child in structure.children)
    return Node("tuple" if kind == "namedtuple" else kind, children, structure.keys)


def changed_classes(structure: Structure) -> set[str]:
    """The user's classes that `build` replaces by dicts and tuples."""
    if not isinstance(structure, Node):
        return set()
    found = {name for child in structure.children for name in changed_classes(child)}
    if structure.type_name not in ("", _ORDERED, "torch.Size"):
        found.add(structure.type_name)
    return found


def call_of(
    arguments: Structure, values: Sequence[Any] | Mapping[int, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, as (args, kwargs)."""
    args, kwargs = build(arguments, values)
    return args, kwargs


def signature_of(arguments: Structure, inputs: Sequence[ProgramInput]) -> inspect.Signature:
    """The parameters of the user's function that a call gives, under their names."""
    if not isinstance(arguments, Node):
        raise InternalError("export", "the arguments of a program are not a tuple and a dict")
    args, kwargs = arguments.children
    assert isinstance(args, Node) and isinstance(kwargs, Node)
    taken = {str(key) for key in kwargs.keys}
    names: list[str] = []
    for number, child in enumerate(args.children):
        name = _root_name(child, inputs) or f"arg{number}"
        while name in taken:
            name = f"{name}_{number}"
        taken.add(name)
        names.append(name)
    positional = [_parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    keyword = [_parameter(str(key), inspect.Parameter.KEYWORD_ONLY) for key in kwargs.keys]
    return inspect.Signature([*positional, *keyword])


def by_parameter(
    arguments: Structure, inputs: Sequence[ProgramInput], values: Mapping[int, Any]
) -> dict[str, Any]:
    """What belongs to each leaf of the arguments, by parameter; None for plain values."""
    args, kwargs = build(_without_constants(arguments), values)
    return dict(signature_of(arguments, inputs).bind(*args, **kwargs).arguments)


def _without_constants(structure: Structure) -> Structure:
    match structure:
        case Leaf():
            return structure
        case Const():
            return Const(None)
        case Node(kind, children, keys, type_name):
            return Node(kind, tuple(map(_without_constants, children)), keys, type_name)


def _parameter(name: str, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, kind)


def _root_name(structure: Structure, inputs: Sequence[ProgramInput]) -> str | None:
    """The parameter that a part of the arguments came by: what the sources of its leaves begin
    with."""
    match structure:
        case Leaf(index):
            found = _ROOT.match(inputs[index].source)
            return found[1] if found else None
        case Node(_, children):
            return next(filter(None, (_root_name(child, inputs) for child in children)), None)
        case _:
            return None
