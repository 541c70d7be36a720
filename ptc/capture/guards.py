"""Guards: what must hold of a call's inputs for a captured program to be right.

A `Guard` is a kind, a source and a payload. `GuardSet` compiles them, in order, into one readable
Python function with the captured function's own parameters (after the function object itself, whose
defaults and closure it reads), and can say in words which one rejects a call. Kinds register here
or, for tensors, in the modules that know torch.
"""

from __future__ import annotations

import inspect
import math
import re
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ptc.capture.sources import FixedSource, Names, Source, argument_name, parameter_name


@dataclass(frozen=True, slots=True)
class Guard:
    """`kind` names a registered rule, `payload` is hashable and read by that rule only."""

    kind: str
    source: Source | None
    payload: Any = None
    # True and 1 and 1.0 are equal payloads, yet different guards
    payload_type: type | None = None


@dataclass(frozen=True, slots=True)
class GuardRule:
    """How a kind is written: `code(guard, ref, names)` is a Python condition with `ref` for the
    source's value; `words(guard)` states it for people. Lower `rank` runs earlier."""

    code: Callable[[Guard, str, Names], str]
    words: Callable[[Guard], str]
    rank: int


GUARD_RULES: dict[str, GuardRule] = {}


def guard_rule(kind: str, words: str | Callable[[Guard], str], rank: int = 1) -> Any:
    """Register the code generator of a guard kind."""

    def register(code: Callable[[Guard, str, Names], str]) -> Callable[[Guard, str, Names], str]:
        assert kind not in GUARD_RULES, kind
        say = _formatter(words) if isinstance(words, str) else words
        GUARD_RULES[kind] = GuardRule(code, say, rank)
        return code

    return register


def _formatter(template: str) -> Callable[[Guard], str]:
    return lambda guard: template.format(source=guard.source, payload=guard.payload)


def _payload_name(guard: Guard) -> str:
    payload = guard.payload
    obj = payload.obj if isinstance(payload, FixedSource) else payload
    return getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or repr(obj)


@guard_rule("TYPE", lambda g: f"{g.source} is a {_payload_name(g)}")
def _type(guard: Guard, ref: str, names: Names) -> str:
    return f"type({ref}) is {guard.payload.code(names, '')}"


@guard_rule("IS", lambda g: f"{g.source} is the same object as at capture: {_payload_name(g)}")
def _is(guard: Guard, ref: str, names: Names) -> str:
    return f"{ref} is {guard.payload.code(names, '')}"


@guard_rule("EQUALS", "{source} == {payload!r}")
def _equals(guard: Guard, ref: str, names: Names) -> str:
    value = guard.payload
    if value is None or value is True or value is False or value is Ellipsis:
        return f"{ref} is {value!r}"
    if isinstance(value, float) and type(value) is float:
        return _float_equals(value, ref, names)
    if type(value) in (int, str, bytes):
        # The type first: a tensor in its place would compare to a tensor.
        return f"type({ref}) is {type(value).__name__} and {ref} == {value!r}"
    cls = names(type(value), type(value).__name__)
    return f"type({ref}) is {cls} and {ref} == {names(value, 'value')}"


def _float_equals(value: float, ref: str, names: Names) -> str:
    exact = f"type({ref}) is float"
    if math.isnan(value):
        return f"{exact} and {ref} != {ref}"
    if math.isinf(value):
        return f"{exact} and {ref} == {names(value, 'infinity')}"
    if value == 0.0:
        sign = names(math.copysign, "copysign")
        return f"{exact} and {ref} == 0.0 and {sign}(1.0, {ref}) == {math.copysign(1.0, value)!r}"
    return f"{exact} and {ref} == {value!r}"


@guard_rule("LENGTH", "{source} has {payload} elements")
def _length(guard: Guard, ref: str, names: Names) -> str:
    return f"len({ref}) == {guard.payload}"


@guard_rule("KEYS", lambda g: f"{g.source} has the keys {list(g.payload.obj)!r}, in this order")
def _keys(guard: Guard, ref: str, names: Names) -> str:
    keys = guard.payload.obj
    if all(type(key) in (str, int, bool, type(None)) for key in keys) and len(keys) < 6:
        return f"[*{ref}] == {list(keys)!r}"
    return f"[*{ref}] == {names(list(keys), 'keys')}"


@guard_rule("HAS_KEY", "{payload!r} is in {source}")
def _has_key(guard: Guard, ref: str, names: Names) -> str:
    return f"{_key_code(guard, names)} in {ref}"


@guard_rule("LACKS_KEY", "{payload!r} is not in {source}")
def _lacks_key(guard: Guard, ref: str, names: Names) -> str:
    return f"{_key_code(guard, names)} not in {ref}"


def _key_code(guard: Guard, names: Names) -> str:
    if isinstance(guard.payload, FixedSource):
        return guard.payload.code(names, "")
    return repr(guard.payload)


@guard_rule("LACKS_ATTRIBUTE", "{source} has no attribute {payload}")
def _lacks_attribute(guard: Guard, ref: str, names: Names) -> str:
    return f"not hasattr({ref}, {guard.payload!r})"


@guard_rule("ELEMENTS", lambda g: f"{g.source} holds {set(g.payload.obj)!r}")
def _elements(guard: Guard, ref: str, names: Names) -> str:
    return f"{ref} == {names(guard.payload.obj, 'elements')}"


@guard_rule("SAME", "{source} is {payload}", rank=2)
def _same(guard: Guard, ref: str, names: Names) -> str:
    return f"{ref} is {guard.payload.full_code(names)}"


@guard_rule("DISTINCT", lambda g: "distinct objects: " + ", ".join(map(str, g.payload)), rank=8)
def _distinct(guard: Guard, ref: str, names: Names) -> str:
    ids = ", ".join(f"id({source.full_code(names)})" for source in guard.payload)
    return f"len({{{ids}}}) == {len(guard.payload)}"


@guard_rule("CELL_EMPTY", "{source} is still unassigned")
def _cell_empty(guard: Guard, ref: str, names: Names) -> str:
    return f"{ref} == {names(types.CellType(), 'empty_cell')}"


@dataclass(frozen=True, slots=True)
class Signature:
    """The captured function's parameters, as a parameter list for generated functions."""

    code: types.CodeType
    positional_defaults: int
    keyword_defaults: frozenset[str]

    @staticmethod
    def of(fn: types.FunctionType) -> Signature:
        return Signature(
            fn.__code__, len(fn.__defaults__ or ()), frozenset(fn.__kwdefaults__ or ())
        )

    def parameters(self) -> str:
        """`fn_, /, a, b=missing_, *rest, k=missing_, **kw`"""
        code = self.code
        names = [parameter_name(n) for n in code.co_varnames]
        count, keyword_only = code.co_argcount, code.co_kwonlyargcount
        parts = ["fn_"] + ([] if code.co_posonlyargcount else ["/"])
        for i in range(count):
            default = "=missing_" if i >= count - self.positional_defaults else ""
            parts.append(names[i] + default)
            if i == code.co_posonlyargcount - 1:
                parts.append("/")
        end = count + keyword_only
        if code.co_flags & inspect.CO_VARARGS:
            parts.append("*" + names[end])
            end += 1
        elif keyword_only:
            parts.append("*")
        for name in names[count : count + keyword_only]:
            parts.append(name + ("=missing_" if name in self.keyword_defaults else ""))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            parts.append("**" + names[end])
        return ", ".join(parts)

    def names(self) -> tuple[str, ...]:
        """The names that generated functions must leave to their parameters."""
        return tuple(parameter_name(n) for n in self.code.co_varnames)

    def name_parameters(self, function: types.FunctionType) -> None:
        """Give the parameters of a function made from `parameters()` the names that callers use."""
        code = self.code
        various = bool(code.co_flags & inspect.CO_VARARGS) + bool(
            code.co_flags & inspect.CO_VARKEYWORDS
        )
        count = code.co_argcount + code.co_kwonlyargcount + various
        own = ("fn_", *(argument_name(n) for n in code.co_varnames[:count]))
        made = function.__code__
        function.__code__ = made.replace(co_varnames=(*own, *made.co_varnames[len(own) :]))

    def fill_defaults(self) -> list[str]:
        """Statements that replace missing arguments by the function's own defaults."""
        code = self.code
        lines: list[str] = []
        first = code.co_argcount - self.positional_defaults
        for i in range(self.positional_defaults):
            name = parameter_name(code.co_varnames[first + i])
            lines.append(f"if {name} is missing_: {name} = fn_.__defaults__[{i}]")
        for name in sorted(self.keyword_defaults):
            lines.append(f"if {name} is missing_: {name} = fn_.__kwdefaults__[{name!r}]")
        if code.co_freevars:
            lines.append("closure_ = fn_.__closure__")
        return lines


# Variables of generated functions, which would hide a name of the namespace
_OWN_VARIABLES = re.compile(r"(fn|closure|check|run|(v|in|out|obj|iterator)\d+)_?")


class Namespace:
    """Names for the objects that generated code refers to."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.globals: dict[str, Any] = {"missing_": MISSING}
        self._by_id: dict[int, str] = {}
        self._reserved = frozenset(reserved)

    def __call__(self, obj: object, hint: str) -> str:
        known = self._by_id.get(id(obj))
        if known is not None:
            return known
        base = "".join(c if c.isalnum() else "_" for c in hint).strip("_") or "object"
        if base[0].isdigit():
            base = "_" + base
        name, number = f"{base}_", 0
        while name in self.globals or name in self._reserved or _OWN_VARIABLES.fullmatch(name):
            number += 1
            name = f"{base}_{number}_"
        self.globals[name] = obj
        self._by_id[id(obj)] = name
        return name


class _Missing:
    def __repr__(self) -> str:
        return "<missing>"


MISSING = _Missing()
# RuntimeError: a sparse tensor has no strides.
_GUARD_ERRORS = (AttributeError, LookupError, TypeError, ValueError, RuntimeError)


class GuardSet:
    """All guards of one capture, compiled on first use.

    `check(fn, *args, **kwargs)` is true if a call of `fn` with these arguments may run what was
    captured. It never raises on arguments that bind to the signature.
    """

    def __init__(self, fn: types.FunctionType, guards: tuple[Guard, ...]) -> None:
        self.guards = tuple(sorted(guards, key=lambda g: GUARD_RULES[g.kind].rank))
        self._signature = Signature.of(fn)
        self._name = fn.__name__
        self._check: Callable[..., bool] | None = None
        self._source = ""

    @property
    def check(self) -> Callable[..., bool]:
        if self._check is None:
            self._check = self._compile()
        return self._check

    @property
    def source(self) -> str:
        """The generated function's text."""
        _ = self.check
        return self._source

    def words(self) -> list[str]:
        return [GUARD_RULES[g.kind].words(g) for g in self.guards]

    def explain_failure(
        self, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str | None:
        """The first guard that rejects the call, in words; None if all hold."""
        for guard in self.guards:
            single = GuardSet(fn, (guard,))
            single._name = self._name
            if not single.check(fn, *args, **kwargs):
                return GUARD_RULES[guard.kind].words(guard)
        return None

    def _compile(self) -> Callable[..., bool]:
        names = Namespace(self._signature.names())
        names.globals["errors_"] = _GUARD_ERRORS
        writer = _CheckWriter(self.guards, names)
        body = [*self._signature.fill_defaults(), *writer.lines, "return True"]
        lines = [f"def check({self._signature.parameters()}):", "    try:"]
        lines += ["        " + line for line in body]
        lines += ["    except errors_:", "        return False"]
        self._source = "\n".join(lines) + "\n"
        exec(compile(self._source, f"<guards of {self._name}>", "exec"), names.globals)
        check = names.globals["check"]
        self._signature.name_parameters(check)
        return check


_REPEATING = ("TENSOR", "MODULE_HOOKS", "EQUALS")  # rules whose text has `ref` several times


class _CheckWriter:
    """Writes the conditions; a path that several guards share is read once, into a variable."""

    def __init__(self, guards: tuple[Guard, ...], names: Namespace) -> None:
        self.lines: list[str] = []
        self._names = names
        self._variables: dict[Source, str] = {}
        self._uses: dict[Source, int] = {}
        for guard in guards:
            source = guard.source
            if source is not None:
                self._count(source)
                if guard.kind in _REPEATING:
                    self._count(source)
        for guard in guards:
            ref = self._ref(guard.source) if guard.source is not None else ""
            condition = GUARD_RULES[guard.kind].code(guard, ref, names)
            self.lines.append(f"if not ({condition}): return False")

    def _count(self, source: Source | None) -> None:
        while source is not None:
            self._uses[source] = self._uses.get(source, 0) + 1
            if self._uses[source] > 1:
                return
            source = source.base

    def _ref(self, source: Source) -> str:
        known = self._variables.get(source)
        if known is not None:
            return known
        base = self._ref(source.base) if source.base is not None else ""
        code = source.code(self._names, base)
        if self._uses.get(source, 0) > 1 and source.base is not None:
            variable = f"v{len(self._variables)}_"
            self.lines.append(f"{variable} = {code}")
            code = variable
        self._variables[source] = code
        return code
