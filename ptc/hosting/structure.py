"""Argument and result structures at run time, without torch and without the user's code.

Reads the manifest's form (`{"leaf": 0}`, `{"const": null}`, `{"kind": "dict", ...}`), takes a
call's arguments apart and puts results together. Classes that this process has not imported (a
dataclass of the user's, a ModelOutput) are replaced by ones with the same fields: named tuples stay
tuples, others become `Fields`.
"""

from __future__ import annotations

import itertools
import operator
import re
import sys
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ptc.support.diagnostics import CompileError

Json = Mapping[str, Any]
Builder = Callable[[Sequence[Any]], Any]


class Fields(dict[Any, Any]):
    """A result with named fields, reached as `r.logits`, `r["logits"]` or, by position, `r[0]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getitem__(name)
        except KeyError:
            raise AttributeError(f"no field `{name}`; there are {list(self)}") from None

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, slice)) and key not in self.keys():
            return tuple(self.values())[key]
        return super().__getitem__(key)


def leaves(structure: Json) -> Iterator[int]:
    """Numbers of all leaves, depth first."""
    if "leaf" in structure:
        yield structure["leaf"]
    for child in structure.get("children", ()):
        yield from leaves(child)


def flatten(structure: Json, value: Any, path: str, found: dict[int, Any]) -> None:
    """Take `value` apart along `structure`; `found` gets leaf number -> value.

    Raises CompileError PTC-R010 where the containers differ, PTC-R014 where a value that was fixed
    when the library was made has another value now.
    """
    if "leaf" in structure:
        found[structure["leaf"]] = value
        return
    if "const" in structure:
        expected = plain(structure["const"])
        if not _same(value, expected):
            raise CompileError(
                "PTC-R014",
                f"`{path}` is {value!r}, but the library was made for {expected!r}",
                hint="compile the model again with this value",
            )
        return
    parts = zip(
        structure["children"], _paths(structure, path), _items(structure, value, path), strict=True
    )
    for child, where, item in parts:
        flatten(child, item, where, found)


def builder(structure: Json) -> Builder:
    """A function that puts flat values together along `structure`."""
    if "leaf" in structure:
        return operator.itemgetter(structure["leaf"])
    if "const" in structure:
        value = plain(structure["const"])
        return lambda _: value
    parts = [builder(child) for child in structure["children"]]
    keys = [plain(key) for key in structure.get("keys", ())]
    type_name = structure.get("type", "")
    kind = structure["kind"]
    if kind == "list":
        return lambda values: [part(values) for part in parts]
    if kind == "rows":
        column = _column(structure["children"][0])
        return lambda values: list(column(values))
    if kind == "tuple of":
        return lambda values: tuple(parts[0](values))
    if kind == "mapping":
        return lambda values: _mapping(type_name, parts[0](values))
    if kind == "tuple":
        made = _tuple_class(type_name)
        return lambda values: made([part(values) for part in parts])
    if kind == "dict" and not type_name:
        return lambda values: {k: part(values) for k, part in zip(keys, parts, strict=True)}
    stand_in = _stand_in(kind, type_name, tuple(keys))

    def build(values: Sequence[Any]) -> Any:
        fields = {key: part(values) for key, part in zip(keys, parts, strict=True)}
        return _make(kind, type_name, fields, stand_in)

    return build


def _column(structure: Json) -> Callable[[Any], Iterator[Any]]:
    """What the elements of a list have in one place, where leaves are lists of that: values, or in
    a node `lists` the lengths of lists and the elements of all, in `one of` which of the following
    it is. Without leaves there is no end."""
    if "leaf" in structure:
        return lambda values: iter(values[structure["leaf"]])
    if "const" in structure:
        value = plain(structure["const"])
        return lambda _: itertools.repeat(value)
    parts = [_column(child) for child in structure["children"]]
    if structure["kind"] == "one of":
        which, kinds = parts[0], parts[1:]
        return lambda values: (
            row[1 + row[0]] for row in zip(which(values), *(k(values) for k in kinds), strict=False)
        )
    if structure["kind"] == "lists":

        def divided(values: Any) -> Iterator[Any]:
            lengths, elements = (part(values) for part in parts)
            return (list(itertools.islice(elements, count)) for count in lengths)

        return divided
    row = builder({**structure, "children": [{"leaf": n} for n in range(len(parts))]})
    if not parts:
        return lambda _: map(row, itertools.repeat(()))
    return lambda values: map(row, zip(*(part(values) for part in parts), strict=False))


def plain(value: Any) -> Any:
    """A plain value from its JSON form, where infinities and foreign values have a tag. Torch's
    element types and devices are themselves again in a process that has torch."""
    if isinstance(value, Mapping):
        return float(value["float"]) if "float" in value else _foreign(value.get("python"))
    return value


_DEVICE = re.compile(r"device\(type='(\w+)'(?:, index=(\d+))?\)")


def _foreign(text: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(text, str):
        return text
    device = _DEVICE.fullmatch(text)
    if device is not None:
        try:
            return torch.device(device[1] if device[2] is None else f"{device[1]}:{device[2]}")
        except RuntimeError:
            return text
    found = getattr(torch, text.removeprefix("torch."), None) if text[:6] == "torch." else None
    return found if isinstance(found, torch.dtype) else text


def _paths(structure: Json, path: str) -> list[str]:
    """How a user writes each child: `batch.ids`, `state[0]`."""
    keys = [plain(key) for key in structure.get("keys", ())] or range(len(structure["children"]))
    return [f"{path}.{key}" if isinstance(key, str) else f"{path}[{key!r}]" for key in keys]


def _items(structure: Json, value: Any, path: str) -> list[Any]:
    """The parts of a container in the structure's order."""
    kind, count = structure["kind"], len(structure["children"])
    keys = [plain(key) for key in structure.get("keys", ())]
    if kind in ("list", "tuple", "namedtuple") and isinstance(value, (list, tuple)):
        if len(value) == count:
            return list(value)
        raise _differs(path, f"has {len(value)} parts", f"{count}")
    if isinstance(value, Mapping) and keys:
        missing = [key for key in keys if key not in value]
        extra = [key for key in value if key not in keys]
        if missing or extra:
            raise _differs(path, f"has the keys {list(value)}", f"{keys}")
        return [value[key] for key in keys]
    if kind in ("dataclass", "object", "namedtuple", "dict") and all(
        isinstance(key, str) and hasattr(value, key) for key in keys
    ):
        return [getattr(value, key) for key in keys]
    raise _differs(path, f"is a {type(value).__name__}", f"a {kind}")


def _differs(path: str, actual: str, expected: str) -> CompileError:
    return CompileError("PTC-R010", f"`{path}` {actual}, the library was made for {expected}")


def _same(value: Any, expected: Any) -> bool:
    numbers = (bool, int, float)
    if isinstance(value, numbers) and isinstance(expected, numbers):
        return value == expected or (value != value and expected != expected)
    if type(value) is type(expected):
        return bool(value == expected)
    # Values that JSON cannot hold are kept as their repr
    return isinstance(expected, str) and repr(value) == expected


def _make(
    kind: str, type_name: str, fields: dict[Any, Any], otherwise: Callable[[dict[Any, Any]], Any]
) -> Any:
    """An instance of the named class if this process has it, else what stands in for it. Attributes
    and items are set: no constructor runs, whatever class a manifest names."""
    cls = _loaded_class(type_name)
    try:
        if cls is None:
            return otherwise(fields)
        if kind == "namedtuple":
            known = issubclass(cls, tuple) and getattr(cls, "_fields", None) == tuple(fields)
            return tuple.__new__(cls, fields.values()) if known else otherwise(fields)
        if kind == "dict":
            if not issubclass(cls, dict):
                return otherwise(fields)
            built = (OrderedDict if issubclass(cls, OrderedDict) else dict).__new__(cls)
            for key, value in fields.items():
                built[key] = value
            return built
        built = object.__new__(cls)
        for key, value in fields.items():
            object.__setattr__(built, key, value)
        return built
    except (TypeError, AttributeError):
        return otherwise(fields)


def _tuple_class(type_name: str) -> Callable[[Any], Any]:
    """What makes a tuple of the named class: only a size's constructor is known to do nothing
    else, and where torch is not loaded a tuple stands in for it."""
    made = _loaded_class(type_name) if type_name == "torch.Size" else None
    return tuple if made is None else made


def _mapping(type_name: str, pairs: Any) -> dict[Any, Any]:
    """A dict of these pairs, of the named class if this process has it."""
    kind = _loaded_class(type_name) if type_name else None
    made: dict[Any, Any] = {}
    if kind is not None and issubclass(kind, dict):
        made = kind.__new__(kind)
    for key, value in pairs:
        made[key] = value
    return made


def _loaded_class(type_name: str) -> type | None:
    """The class `package.module.Outer.Inner`, only if its module is loaded already."""
    parts = type_name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        value: Any = sys.modules.get(".".join(parts[:cut]))
        if value is None:
            continue
        for part in parts[cut:]:
            value = getattr(value, part, None)
        return value if isinstance(value, type) else None
    return None


def _stand_in(kind: str, type_name: str, keys: tuple[str, ...]) -> Callable[[dict[Any, Any]], Any]:
    """What makes a result of a class that this process does not have."""
    if kind != "namedtuple":
        return lambda fields: Fields(fields)
    made = _named_tuple(type_name.rpartition(".")[2] or "Result", keys)
    return lambda fields: made(*fields.values())


@cache
def _named_tuple(name: str, fields: tuple[str, ...]) -> Callable[..., Any]:
    return namedtuple(name, fields)  # type: ignore[misc]  # fields known at run time
