"""Which object of the user's module is the model.

With a name: that object. Without one: the only candidate that nothing else in the file uses, so
that `resnet18()` is found in a file that also holds `ResNet` and `BasicBlock`. Candidates are
modules, module classes, factories (functions that return one) and, in a file that has none of
these, plain functions. Makes nothing and calls nothing.
"""

from __future__ import annotations

import ast
import enum
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from ptc.support.diagnostics import CompileError
from ptc.support.wording import listed

#: Names with a meaning of their own to the loader.
RESERVED = frozenset({"example_inputs"})


class CandidateKind(enum.Enum):
    """What a candidate is; the value is how it is called in messages."""

    MODULE = "model"
    CLASS = "class"
    FACTORY = "factory"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Candidate:
    name: str
    kind: CandidateKind
    value: Any


def choose(module: types.ModuleType, name: str | None, shown: str) -> Candidate:
    """The candidate called `name`, or the only one. `shown` is the target in the user's words."""
    return _named(module, name, shown) if name else _only(module, shown)


def candidates(module: types.ModuleType) -> list[Candidate]:
    """Everything in `module` that could be meant, in the order of the file."""
    returns = _functions_returning_models(module)
    found = [
        Candidate(name, kind, value)
        for name, value in vars(module).items()
        if not name.startswith("_") and name not in RESERVED
        if (kind := _kind(module, name, value, returns)) is not None
    ]
    models = [c for c in found if c.kind is not CandidateKind.FUNCTION]
    return models or found


def _named(module: types.ModuleType, name: str, shown: str) -> Candidate:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            names = [c.name for c in candidates(module)]
            raise CompileError(
                "PTC-L012",
                f"{shown} has no `{name}`",
                hint=f"it has: {listed(names, 12)}" if names else "",
            )
        value = getattr(value, part)
    kind = _kind_of_named(module, name, value)
    if kind is None:
        raise CompileError(
            "PTC-L013",
            f"`{name}` in {shown} is a {type(value).__name__}, "
            "expected a model, a model class or a function",
            hint=f"it has: {listed(found, 12)}"
            if (found := [c.name for c in candidates(module)])
            else "",
        )
    return Candidate(name, kind, value)


def _only(module: types.ModuleType, shown: str) -> Candidate:
    found = candidates(module)
    if not found:
        raise CompileError(
            "PTC-L010",
            f"{shown} defines no model: no nn.Module, class of one, or function",
            hint="name an object that the file imports with `FILE:NAME`",
        )
    used = {name for c in found for name in _names_used(c) if name != c.name}
    roots = [c for c in found if c.name not in used]
    if len(roots) == 1:
        return roots[0]
    shown_candidates = roots or found
    raise CompileError(
        "PTC-L011",
        f"{shown} defines several models, and none is named",
        notes=tuple(f"{c.kind.value} {c.name}" for c in shown_candidates),
        hint=f"name one: `{shown}:{shown_candidates[-1].name}`",
    )


def _kind(
    module: types.ModuleType, name: str, value: Any, returns: frozenset[str]
) -> CandidateKind | None:
    """The kind of an attribute that the file itself defines; None for all others."""
    if isinstance(value, nn.Module):
        return CandidateKind.MODULE
    if getattr(value, "__module__", None) != module.__name__:
        return None
    if isinstance(value, type):
        return CandidateKind.CLASS if issubclass(value, nn.Module) else None
    if isinstance(value, types.FunctionType):
        return CandidateKind.FACTORY if name in returns else CandidateKind.FUNCTION
    return None


def _kind_of_named(module: types.ModuleType, name: str, value: Any) -> CandidateKind | None:
    if isinstance(value, nn.Module):
        return CandidateKind.MODULE
    if isinstance(value, type):
        return CandidateKind.CLASS if issubclass(value, nn.Module) else None
    if not callable(value):
        return None
    if _annotated_as_model(value) or name in _functions_returning_models(module):
        return CandidateKind.FACTORY
    return CandidateKind.FUNCTION


def _names_used(candidate: Candidate) -> Iterator[str]:
    """Global names that the candidate's code mentions, and the classes that it is made of."""
    value = candidate.value
    if isinstance(value, nn.Module):
        for part in value.modules():
            yield from (base.__name__ for base in type(part).__mro__)
        return
    if isinstance(value, type):
        yield from (base.__name__ for base in value.__mro__[1:])
        for attribute in vars(value).values():
            yield from _names_in_function(attribute)
        return
    yield from _names_in_function(value)


def _names_in_function(value: Any) -> Iterator[str]:
    for part in (value, *(getattr(value, n, None) for n in ("__func__", "fget", "__wrapped__"))):
        code = getattr(part, "__code__", None)
        if isinstance(code, types.CodeType):
            yield from _names_in_code(code)
        for default in getattr(part, "__defaults__", None) or ():
            yield from (base.__name__ for base in type(default).__mro__)


def _names_in_code(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in_code(constant)


def _annotated_as_model(value: Any) -> bool:
    annotation = getattr(value, "__annotations__", {}).get("return")
    return isinstance(annotation, type) and issubclass(annotation, nn.Module)


def _functions_returning_models(module: types.ModuleType) -> frozenset[str]:
    """Functions of the file that return a model: annotated so, or returning a call of a model class
    or of another such function (`return ResNet(...)`, `net = Net(); ...; return net.eval()`)."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return frozenset()
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    makers = {
        name
        for name, value in vars(module).items()
        if (isinstance(value, type) and issubclass(value, nn.Module)) or _annotated_as_model(value)
    }
    found: set[str] = set()
    while True:
        new = {
            name
            for name, node in functions.items()
            if name not in found and (name in makers or _returns_model(node, makers | found))
        }
        if not new:
            return frozenset(found)
        found |= new


def _returns_model(function: ast.FunctionDef, makers: set[str]) -> bool:
    models: set[str] = set()

    def is_model(expression: ast.expr | None) -> bool:
        match expression:
            case ast.Call(func=ast.Name(id=name)):
                return name in makers
            # nn.Sequential(...), and methods that return the model itself: net.eval(), net.to(...)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="nn"), attr=attribute)):
                return isinstance(getattr(nn, attribute, None), type)
            case ast.Call(
                func=ast.Attribute(value=value, attr="eval" | "to" | "half" | "bfloat16")
            ):
                return is_model(value)
            case ast.Name(id=name):
                return name in models
            case _:
                return False

    for node in _statements(function.body):
        if isinstance(node, ast.Assign) and is_model(node.value):
            models |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.Return) and is_model(node.value):
            return True
    return False


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements in order, those of nested functions and classes left out."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from _statements(handler.body)
