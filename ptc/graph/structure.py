"""Argument and result structures: from Python values to flat ones and back, and as JSON.

Takes and gives `Structure` trees. A container of a registered class (dataclass, named tuple,
ModelOutput) is rebuilt as that class, found by its name. Knows nothing of tensors: what counts as a
leaf is the caller's to say.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ptc.graph.program import Const, Leaf, Node, Structure
from ptc.support.diagnostics import CompileError

_PLAIN = (type(None), bool, int, float, str)
#: Deeper structures are taken for a cycle or an attack.
MAX_DEPTH = 100


def describe(value: Any, is_leaf: Callable[[Any], bool]) -> tuple[Structure, list[Any]]:
    """The structure of `value` and its leaves in order (depth first)."""
    leaves: list[Any] = []
    return _describe(value, is_leaf, leaves, 0), leaves


def _describe(
    value: Any, is_leaf: Callable[[Any], bool], leaves: list[Any], depth: int
) -> Structure:
    if depth > MAX_DEPTH:
        raise CompileError("PTC-A011", f"a structure is nested deeper than {MAX_DEPTH} levels")
    if is_leaf(value):
        leaves.append(value)
        return Leaf(len(leaves) - 1)
    kind = kind_of(value)
    if kind is None:
        return Const(value)
    keys, children = parts(value, kind)
    nodes = tuple(_describe(child, is_leaf, leaves, depth + 1) for child in children)
    return Node(kind, nodes, keys, _type_name(value, kind))


def kind_of(value: Any) -> str | None:
    """The container kind of a Python value as in `program.Node`, or None for a plain value."""
    if isinstance(value, Mapping):
        return "dict"
    if isinstance(value, tuple):
        return "namedtuple" if hasattr(value, "_fields") else "tuple"
    if isinstance(value, list):
        return "list"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "dataclass"
    return None


def parts(value: Any, kind: str) -> tuple[tuple[Any, ...], list[Any]]:
    """The keys and children of a container."""
    match kind:
        case "dict":
            return tuple(value.keys()), list(value.values())
        case "namedtuple":
            return tuple(value._fields), list(value)
        case "dataclass":
            names = tuple(f.name for f in dataclasses.fields(value))
            return names, [getattr(value, name) for name in names]
        case "object":
            return tuple(vars(value)), list(vars(value).values())
        case _:
            return (), list(value)


def flatten(structure: Structure, value: Any, path: str = "result") -> dict[int, Any]:
    """The leaves of `value`, which must have `structure`: leaf index -> value.

    Raises CompileError PTC-A011 naming the place that differs.
    """
    found: dict[int, Any] = {}
    _flatten(structure, value, path, found)
    return found


def _flatten(structure: Structure, value: Any, path: str, found: dict[int, Any]) -> None:
    match structure:
        case Leaf(index):
            found[index] = value
        case Const(expected):
            if type(value) is not type(expected) or not _equal(value, expected):
                raise CompileError(
                    "PTC-A011", f"`{path}` is {value!r}; it was captured as {expected!r}"
                )
        case Node(kind, children, keys, _):
            actual = "object" if kind == "object" and hasattr(value, "__dict__") else kind_of(value)
            if actual != kind:
                raise CompileError(
                    "PTC-A011",
                    f"`{path}` is a {type(value).__name__}; it was captured as a {kind}",
                )
            names, items = parts(value, kind)
            if kind == "dict":
                items = _in_order(keys, dict(zip(names, items, strict=True)), path)
            if len(items) != len(children):
                raise CompileError(
                    "PTC-A011",
                    f"`{path}` has {len(items)} elements; it was captured with {len(children)}",
                )
            for number, (child, item) in enumerate(zip(children, items, strict=True)):
                _flatten(child, item, _step(path, kind, keys, number), found)


def _in_order(keys: Sequence[Any], items: Mapping[Any, Any], path: str) -> list[Any]:
    if set(keys) != set(items):
        raise CompileError(
            "PTC-A011", f"`{path}` has keys {list(items)}; it was captured with {list(keys)}"
        )
    return [items[key] for key in keys]


def _step(path: str, kind: str, keys: Sequence[Any], number: int) -> str:
    if kind in ("list", "tuple"):
        return f"{path}[{number}]"
    if kind == "dict":
        return f"{path}[{keys[number]!r}]"
    return f"{path}.{keys[number]}"


def unflatten(structure: Structure, values: Sequence[Any] | Mapping[int, Any]) -> Any:
    """The Python value with `structure` whose leaf i is `values[i]`."""
    match structure:
        case Leaf(index):
            return values[index]
        case Const(value):
            return value
        case Node("rows", (child,)):
            if not leaves(child):
                raise CompileError("PTC-A011", "a list of rows has no columns")
            return list(_column(child, values))
        case Node("tuple of", (child,)):
            return tuple(unflatten(child, values))
        case Node("mapping", (child,), _, type_name):
            pairs: Any = unflatten(child, values)
            keys, items = [key for key, _ in pairs], [item for _, item in pairs]
            return _build("dict", items, keys, type_name)
        case Node(kind, children, keys, type_name):
            items = [unflatten(child, values) for child in children]
            return _build(kind, items, keys, type_name)


def _column(structure: Structure, values: Sequence[Any] | Mapping[int, Any]) -> Iterator[Any]:
    """What the elements of a list have in one place, where leaves are lists of that: values, or in
    a node `lists` the lengths of lists and the elements of all, in `one of` which of the following
    it is. Without leaves there is no end."""
    match structure:
        case Leaf(index):
            return iter(values[index])
        case Const(value):
            return itertools.repeat(value)
        case Node("one of", (which, *kinds)):
            columns = [_column(kind, values) for kind in (which, *kinds)]
            rows = zip(*columns, strict=False)
            return (row[1 + row[0]] for row in rows)
        case Node("lists", (lengths, inner)):
            elements = _column(inner, values)
            return (list(itertools.islice(elements, n)) for n in _column(lengths, values))
        case Node(kind, children, keys, type_name):
            parts = [_column(child, values) for child in children]
            rows = zip(*parts, strict=False) if parts else itertools.repeat(())
            return (_build(kind, list(row), keys, type_name) for row in rows)


def _build(kind: str, items: list[Any], keys: Sequence[Any], type_name: str) -> Any:
    match kind:
        case "list":
            return items
        case "tuple" if type_name:
            return named_type(type_name)(items)
        case "tuple":
            return tuple(items)
        case "tuple of":
            return tuple(items[0])
        case "dict" if not type_name:
            return dict(zip(keys, items, strict=True))
        case "dict":
            # Item assignment keeps a ModelOutput's attributes and its items in step; its
            # constructor would run checks meant for the user's own arguments.
            cls = named_type(type_name)
            built = cls.__new__(cls)
            for key, item in zip(keys, items, strict=True):
                built[key] = item
            return built
        case "namedtuple":
            return named_type(type_name)._make(items)
        case "dataclass" | "object":
            # Neither __init__ nor __post_init__ may run again: capture saw their effects already.
            cls = named_type(type_name)
            built = cls.__new__(cls)
            for key, item in zip(keys, items, strict=True):
                object.__setattr__(built, key, item)
            return built
        case _:
            raise CompileError("PTC-A011", f"a structure has the unknown kind {kind!r}")


@functools.cache
def named_type(type_name: str) -> Any:
    """The class called `module.QualName`. Raises CompileError PTC-A012 if it cannot be found."""
    names = type_name.split(".")
    for split in range(len(names) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(names[:split]))
        except ImportError:
            continue
        try:
            for name in names[split:]:
                found = getattr(found, name)
        except AttributeError:
            continue
        if isinstance(found, type):
            return found
    raise CompileError("PTC-A012", f"the class `{type_name}` of a result cannot be imported")


def tuple_name(klass: type) -> str:
    """The name of a class of tuples that a result keeps: only sizes, of all without names of their
    elements."""
    name = f"{klass.__module__}.{klass.__qualname__}"
    return name if name == "torch.Size" else ""


def _type_name(value: Any, kind: str) -> str:
    cls = type(value)
    if kind == "tuple":
        return tuple_name(cls)
    if kind == "list" or cls is dict:
        return ""
    return f"{cls.__module__}.{cls.__qualname__}"


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


def leaves(structure: Structure) -> list[int]:
    """The leaf indices in order of appearance."""
    match structure:
        case Leaf(index):
            return [index]
        case Const():
            return []
        case Node(_, children, _, _):
            return [index for child in children for index in leaves(child)]


def renumber(structure: Structure, numbers: Mapping[int, int]) -> Structure:
    """The structure with leaf i called `numbers[i]`."""
    match structure:
        case Leaf(index):
            return Leaf(numbers[index])
        case Const():
            return structure
        case Node(kind, children, keys, type_name):
            return Node(kind, tuple(renumber(c, numbers) for c in children), keys, type_name)


# --- JSON ---------------------------------------------------------------------------------------


def to_json(structure: Structure) -> dict[str, Any]:
    """As the manifest holds it: `{"leaf": 0}`, `{"const": 3}`, `{"kind": "dict", ...}`.

    Values that JSON cannot hold are written by tag: `{"float": "inf"}`, `{"python": "repr"}`.
    """
    match structure:
        case Leaf(index):
            return {"leaf": index}
        case Const(value):
            return {"const": _plain(value)}
        case Node(kind, children, keys, type_name):
            return {
                "kind": kind,
                "keys": [_plain(key) for key in keys],
                "type": type_name,
                "children": [to_json(child) for child in children],
            }


def from_json(data: Any, depth: int = 0) -> Structure:
    """The inverse of `to_json`. Raises CompileError PTC-A011 for anything else. Values under the
    tag `python` come back as their text."""
    if depth > MAX_DEPTH:
        raise CompileError("PTC-A011", f"a structure is nested deeper than {MAX_DEPTH} levels")
    if not isinstance(data, dict):
        raise CompileError("PTC-A011", f"not a structure: {str(data)[:80]}")
    match data:
        case {"leaf": int(index)} if index >= 0 and not isinstance(index, bool):
            return Leaf(index)
        case {"const": value}:
            return Const(_from_plain(value))
        case {"kind": str(kind), "keys": list(keys), "type": str(name), "children": list(kids)}:
            children = tuple(from_json(child, depth + 1) for child in kids)
            if keys and len(keys) != len(children):
                raise CompileError("PTC-A011", f"{len(keys)} keys for {len(children)} children")
            return Node(kind, children, tuple(_from_plain(key) for key in keys), name)
        case _:
            raise CompileError("PTC-A011", f"not a structure: {str(data)[:80]}")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value if type(value) in _PLAIN else {"python": repr(value)}


def _from_plain(value: Any) -> Any:
    match value:
        case {"float": str(text)} if text in ("inf", "-inf", "nan"):
            return float(text)
        case {"python": str(text)}:
            return text
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise CompileError("PTC-A011", f"not a plain value: {str(value)[:80]}")
