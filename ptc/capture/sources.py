"""Where a value from outside the captured frame came from, as a Python expression.

A `Source` is a path from a root (an argument, a closure cell, a module's globals, a fixed object).
`text()` is what people read in guards and in `ProgramInput.source`; `code(names)` is the expression
inside generated functions, where arguments are parameters and fixed objects have names.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
_BUILTINS = frozenset(dir(builtins))


class Names(Protocol):
    """Gives a name in the generated function's namespace to an object."""

    def __call__(self, obj: object, hint: str) -> str: ...


class Source:
    """A path. Subclasses are frozen dataclasses, so that sources can be keys; hashes are kept,
    since a path is as deep as the module tree."""

    __slots__ = ("_hash",)

    @property
    def base(self) -> Source | None:
        return None

    def text(self) -> str:
        raise NotImplementedError

    def code(self, names: Names, base: str) -> str:
        """The expression, given the code of `base` (unused by roots)."""
        raise NotImplementedError

    def full_code(self, names: Names) -> str:
        return self.code(names, self.base.full_code(names) if self.base is not None else "")

    def __str__(self) -> str:
        return self.text()


def _keeps_hash(cls: type[T]) -> type[T]:
    """Compute the hash once an object."""
    compute = cls.__hash__

    def __hash__(self: Any) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", compute(self))  # type: ignore[call-arg]
            return self._hash

    cls.__hash__ = __hash__  # type: ignore[method-assign]
    return cls


@_keeps_hash
@dataclass(frozen=True, slots=True)
class ArgumentSource(Source):
    """A parameter of the captured frame, by its name."""

    name: str

    def text(self) -> str:
        return f"L['{self.name}']"

    def code(self, names: Names, base: str) -> str:
        return parameter_name(self.name)


@_keeps_hash
@dataclass(frozen=True, slots=True)
class ClosureSource(Source):
    """The closure cell number `index` of the captured function (the cell, not its content)."""

    index: int
    name: str

    def text(self) -> str:
        return f"C['{self.name}']"

    def code(self, names: Names, base: str) -> str:
        return f"closure_[{self.index}]"


class _ById:
    """An object as a key, by identity; keeps the object alive."""

    __slots__ = ("obj",)

    def __init__(self, obj: object) -> None:
        self.obj = obj

    def __hash__(self) -> int:
        return id(self.obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.obj is other.obj


@_keeps_hash
@dataclass(frozen=True, slots=True)
class FixedSource(Source):
    """An object that the generated code refers to directly: a class, a module, a globals dict.

    What is read below an object with `guarded` false is taken as fixed (a library's own tables)."""

    key: _ById
    hint: str
    guarded: bool = True

    @property
    def obj(self) -> Any:
        return self.key.obj

    def text(self) -> str:
        return self.hint

    def code(self, names: Names, base: str) -> str:
        return names(self.key.obj, self.hint)


def fixed(obj: object, hint: str, guarded: bool = True) -> FixedSource:
    return FixedSource(_ById(obj), hint, guarded)


def is_guarded(source: Source) -> bool:
    """Whether what is read at `source` may differ at a later call."""
    root = root_of(source)
    return not isinstance(root, FixedSource) or (root.guarded and root is not source)


@_keeps_hash
@dataclass(frozen=True, slots=True)
class GlobalSource(Source):
    """A module-level name; `namespace` is the globals dict."""

    namespace: FixedSource
    name: str

    @property
    def base(self) -> Source:
        return self.namespace

    def text(self) -> str:
        return f"G['{self.name}']"

    def code(self, names: Names, base: str) -> str:
        return f"{base}[{self.name!r}]"


@_keeps_hash
@dataclass(frozen=True, slots=True)
class AttributeSource(Source):
    """`base.name`"""

    owner: Source
    name: str

    @property
    def base(self) -> Source:
        return self.owner

    def text(self) -> str:
        return f"{self.owner.text()}.{self.name}"

    def code(self, names: Names, base: str) -> str:
        return f"{base}.{self.name}"


@_keeps_hash
@dataclass(frozen=True, slots=True)
class ItemSource(Source):
    """`base[key]` for a key with a literal form (int, str, bool, None, float, tuples of these)."""

    owner: Source
    key: Any
    kind: str = ""  # the key's type name: 1, 1.0 and True are different paths to read

    @property
    def base(self) -> Source:
        return self.owner

    def text(self) -> str:
        return f"{self.owner.text()}[{self.key!r}]"

    def code(self, names: Names, base: str) -> str:
        return f"{base}[{self.key!r}]"


def item(owner: Source, key: Any) -> ItemSource:
    return ItemSource(owner, key, type(key).__name__)


@_keeps_hash
@dataclass(frozen=True, slots=True)
class ObjectItemSource(Source):
    """`base[key]` for a key without a literal form, referred to by name."""

    owner: Source
    key: FixedSource

    @property
    def base(self) -> Source:
        return self.owner

    def text(self) -> str:
        return f"{self.owner.text()}[{self.key.hint}]"

    def code(self, names: Names, base: str) -> str:
        return f"{base}[{self.key.code(names, '')}]"


@_keeps_hash
@dataclass(frozen=True, slots=True)
class CallSource(Source):
    """A pure function of the base, written with `{}` for it: `type({})`, `tuple({})[3]`."""

    owner: Source
    template: str

    @property
    def base(self) -> Source:
        return self.owner

    def text(self) -> str:
        return self.template.format(self.owner.text())

    def code(self, names: Names, base: str) -> str:
        return self.template.format(base)


def argument_name(name: str) -> str:
    """A parameter's name as `inspect` has it. CPython names comprehension arguments `.0`."""
    return "implicit" + name[1:] if name.startswith(".") else name


def parameter_name(name: str) -> str:
    """A parameter's name in the text of generated functions: another one where the user's would
    hide a builtin, or a variable of the generated code (those end in `_`)."""
    plain = argument_name(name)
    return plain + "_arg_" if plain.endswith("_") or plain in _BUILTINS else plain


def root_of(source: Source) -> Source:
    while source.base is not None:
        source = source.base
    return source


def per_call(source: Source) -> bool:
    """Whether another object is likely there at each call, though equal in kind."""
    return isinstance(root_of(source), (ArgumentSource, ClosureSource))
