"""What a method takes and gives: types of TorchScript, statements that take arguments apart and put
results together, and the way back to flat values.

TorchScript has no classes of Python's: a named tuple, a dataclass or another object is a tuple, a
ModelOutput a dictionary. Lists and dictionaries of several types are of `Any`. Takes structures and
the names of values, knows nothing of programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ptc.exporters.torchscript.writer import Writer, constant, refuse
from ptc.graph.control import ListVar, NumberKind, NumberVar, TensorVar, TextVar, Var
from ptc.graph.program import Const, Leaf, Node, Structure
from ptc.graph.structure import leaves

_NAMED = ("namedtuple", "dataclass", "object")
_KEYS = (str, int)


def type_of(variable: Var) -> str:
    """The type of a variable."""
    match variable:
        case TensorVar():
            return "Tensor"
        case NumberVar(_, kind):
            return kind.value
        case TextVar():
            return "str"
        case ListVar(_, element):
            if isinstance(element, ListVar):
                return f"List[{type_of(element)}]"
            if isinstance(element, NumberKind):
                return f"List[{element.value}]"
            return "List[str]" if element is str else "List[Tensor]"


def empty_of(type_: str) -> str:
    """A value of a type, for a variable that has none yet."""
    plain = {"Tensor": "torch.empty([0])", "int": "0", "float": "0.0", "bool": "False", "str": '""'}
    return plain.get(type_) or f"torch.jit.annotate({type_}, [])"


# --- arguments ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str


class Arguments:
    """The parameters of a method. `found` has the name of each input, by its position."""

    def __init__(self, writer: Writer, types: Mapping[int, str], names: Mapping[int, str]) -> None:
        self._writer, self._types, self._names = writer, types, names
        self.found: dict[int, str] = {}
        self.parameters: list[Parameter] = []

    def declare(self, arguments: Structure) -> None:
        """The arguments of a call, a parameter each: those by position, then those by name."""
        assert isinstance(arguments, Node)
        positional, named = arguments.children
        assert isinstance(positional, Node) and isinstance(named, Node)
        keys: list[str | None] = [None for _ in positional.children]
        children = (*positional.children, *named.children)
        pairs = list(zip([*keys, *named.keys], children, strict=True))
        for number, (key, structure) in enumerate(pairs):
            inside = leaves(structure)
            path = self._names[inside[0]].partition(".")[0] if inside else f"argument_{number}"
            name = self._writer.fresh(key or path)
            self.parameters.append(Parameter(name, self._type(structure)))
        for (_, structure), parameter in zip(pairs, self.parameters, strict=True):
            self._take(structure, parameter.name, parameter.name)

    def _type(self, structure: Structure) -> str:
        match structure:
            case Leaf(index):
                return self._types[index]
            case Const(None):
                return "Optional[Tensor]"
            case Const(value) if type(value) in (bool, int, float, str):
                return type(value).__name__
            case Const(value):
                refuse(f"an argument of type {type(value).__name__}")
            case Node(kind, children, keys):
                types = [self._type(child) for child in children]
                if kind == "list" and len(set(types)) < 2:
                    return f"List[{types[0] if types else 'Tensor'}]"
                if kind == "dict" and len(set(types)) == 1 and len({*map(type, keys)}) == 1:
                    return f"Dict[{_key_type(keys)}, {types[0]}]"
                if kind == "dict":
                    refuse("an argument that is a dictionary of several types, or empty")
                if kind != "tuple":
                    what = f"an argument that is a {kind} is a tuple in TorchScript"
                    self._writer.note(f"{what}, with its parts in the same order")
                return f"Tuple[{', '.join(types) or '()'}]"

    def _take(self, structure: Structure, text: str, path: str) -> None:
        match structure:
            case Leaf(index):
                if text != path or index in self.found:
                    name = self._writer.fresh(self._names[index])
                    self._writer.line(f"{name} = {text}")
                    text = name
                self.found.setdefault(index, text)
            case Const(None):
                self._require(f"{text} is None", f"{path} is not None")
            case Const(value):
                shown = constant(value)
                same = f"{text} == {shown}"
                self._require(
                    f"math.isnan({text})" if value != value else same,
                    f"{path} is not {value!r}",
                )
            case Node(kind, children, keys):
                if kind in ("list", "dict"):
                    self._require(f"len({text}) == {len(children)}", f"len of {path}")
                for number, child in enumerate(children):
                    step = constant(keys[number]) if kind == "dict" else str(number)
                    self._take(child, f"{text}[{step}]", f"{path}[{step}]")

    def _require(self, condition: str, what: str) -> None:
        message = constant(f"the program was exported for another call: {what}")
        with self._writer.block(f"if not ({condition}):"):
            self._writer.line(f"raise {self._writer.exception('RuntimeError')}({message})")


def _key_type(keys: Sequence[Any]) -> str:
    if type(keys[0]) not in _KEYS:
        refuse(f"a dictionary with keys of type {type(keys[0]).__name__}")
    return type(keys[0]).__name__


# --- results ------------------------------------------------------------------------------------


class Results:
    """Puts results together. `types` are those of the flat values, `names` their texts."""

    def __init__(self, writer: Writer, types: Sequence[str], names: Sequence[str]) -> None:
        self._writer, self._types, self._names = writer, types, names

    def type(self, structure: Structure, row: bool = False) -> str:
        """The type of a structure; with `row` of one element of a list of such."""
        match structure:
            case Leaf(index):
                whole = self._types[index]
                return whole.removeprefix("List[")[:-1] if row else whole
            case Const(None):
                return "NoneType"
            case Const(value):
                return type(value).__name__
            case Node("rows" | "tuple of" as kind, (child,)):
                return self.type(child) if kind != "rows" else f"List[{self.type(child, True)}]"
            case Node("lists", (_, inner)):
                return f"List[{self.type(inner, True)}]"
            case Node("mapping" | "one of", _):
                refuse(
                    "a result of this form: a dictionary or values of which data decides the type"
                )
            case Node("list", children):
                types = {self.type(child, row) for child in children}
                return f"List[{_common(types)}]"
            case Node("dict", children, keys):
                types = {self.type(child, row) for child in children}
                return f"Dict[{_key_type(keys) if keys else 'str'}, {_common(types)}]"
            case Node(_, children):
                inner = ", ".join(self.type(child, row) for child in children)
                return f"Tuple[{inner or '()'}]"

    def build(self, structure: Structure, cursor: str = "") -> str:
        """The value of a structure as an expression, after the statements that it takes. `cursor`
        is the index of an element where leaves are lists."""
        match structure:
            case Leaf(index):
                return self._names[index] + (f"[{cursor}]" if cursor else "")
            case Const(value):
                return constant(value)
            case Node("tuple of", (child,)):
                self._writer.note("a tuple whose length data decides is a list in TorchScript")
                return self.build(child, cursor)
            case Node("rows", (child,)):
                return self._rows(child)
            case Node("lists", (lengths, inner)):
                return self._lists(lengths, inner, cursor, self.type(structure, bool(cursor)))
            case Node("list", children):
                return self._list(self.type(structure, bool(cursor)), children, cursor)
            case Node("dict", children, keys, type_name):
                if type_name:
                    self._note(type_name, "dictionary")
                return self._dict(self.type(structure, bool(cursor)), children, keys, cursor)
            case Node(kind, children, _, type_name):
                if kind in _NAMED:
                    self._note(type_name, "tuple of its parts, in their order,")
                parts = [self.build(child, cursor) for child in children]
                return f"({', '.join(parts)}{',' * (len(parts) == 1)})"

    def _note(self, type_name: str, what: str) -> None:
        name = type_name.rpartition(".")[2]
        self._writer.note(f"a `{name}` in the result is a {what} in TorchScript")

    def _list(self, type_: str, children: Sequence[Structure], cursor: str) -> str:
        parts = [self.build(child, cursor) for child in children]
        if parts and type_ != "List[Any]":
            return f"[{', '.join(parts)}]"
        name = self._made(type_, "[]")
        for part in parts:
            self._writer.line(f"{name}.append({part})")
        return name

    def _dict(
        self, type_: str, children: Sequence[Structure], keys: Sequence[Any], cursor: str
    ) -> str:
        parts = [self.build(child, cursor) for child in children]
        name = self._made(type_, "{}")
        for key, part in zip(keys, parts, strict=True):
            self._writer.line(f"{name}[{constant(key)}] = {part}")
        return name

    def _rows(self, child: Structure) -> str:
        if isinstance(child, Leaf):
            return self._names[child.index]
        inside = leaves(child)
        if not inside or (isinstance(child, Node) and child.kind == "lists"):
            refuse("a list of lists of lists of which data decides the lengths")
        made = self._made(f"List[{self.type(child, True)}]", "[]")
        cursor = self._writer.fresh("row")
        with self._writer.block(f"for {cursor} in range(len({self._names[inside[0]]})):"):
            self._writer.line(f"{made}.append({self.build(child, cursor)})")
        return made

    def _lists(self, lengths: Structure, inner: Structure, cursor: str, type_: str) -> str:
        refuse("a list of rows with lists of which data decides the lengths")

    def _made(self, type_: str, value: str) -> str:
        name = self._writer.fresh("made")
        self._writer.line(f"{name} = torch.jit.annotate({type_}, {value})")
        return name


def _common(types: set[str]) -> str:
    if len(types) == 1:
        return next(iter(types))
    if len(types) == 2 and "NoneType" in types:
        other = next(iter(types - {"NoneType"}))
        return f"Optional[{other}]"
    return "Any" if types else "Tensor"


# --- the way back -------------------------------------------------------------------------------


class Mismatch(Exception):
    """A value has another structure."""


def flat_values(structure: Structure, value: Any) -> dict[int, Any]:
    """The leaves of what a method gave, by their index. Raises Mismatch."""
    found: dict[int, Any] = {}
    _flatten(structure, value, found, [])
    return found


def _flatten(structure: Structure, value: Any, found: dict[int, Any], rows: list[int]) -> None:
    match structure:
        case Leaf(index):
            if rows:
                found.setdefault(index, []).append(value)
            else:
                found[index] = value
        case Const(expected):
            if not _same(value, expected):
                raise Mismatch(f"{value!r}, expected {expected!r}")
        case Node("tuple of", (child,)):
            _flatten(child, value, found, rows)
        case Node("rows", (child,)):
            found.update({index: [] for index in leaves(child)})
            for number, item in enumerate(_of(list, value)):
                _flatten(child, item, found, [*rows, number])
        case Node("dict", children, keys):
            items = _of(dict, value)
            if list(items) != list(keys):
                raise Mismatch(f"the keys {list(items)}, expected {list(keys)}")
            for child, key in zip(children, keys, strict=True):
                _flatten(child, items[key], found, rows)
        case Node(kind, children):
            items = _of(list if kind == "list" else tuple, value)
            if len(items) != len(children):
                raise Mismatch(f"{len(items)} parts, expected {len(children)}")
            for child, item in zip(children, items, strict=True):
                _flatten(child, item, found, rows)


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise Mismatch(f"a {type(value).__name__}, expected a {kind.__name__}")
    return value


def _same(value: Any, expected: Any) -> bool:
    if isinstance(value, torch.Tensor) or type(value) is not type(expected):
        return False
    return value == expected or (value != value and expected != expected)


def nested(structure: Structure, values: Mapping[int, Any]) -> Any:
    """An argument as a method takes it, with values for leaves."""
    match structure:
        case Leaf(index):
            return values[index]
        case Const(value):
            return value
        case Node(kind, children, keys):
            items = [nested(child, values) for child in children]
            if kind == "dict":
                return dict(zip(keys, items, strict=True))
            same = len({type(item) for item in items}) < 2
            return items if kind == "list" and same else tuple(items)
