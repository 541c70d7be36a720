"""Lines of TorchScript: names, constants, sizes, and which of the user's lines a line is for.

Takes Python values and names, gives text. Knows no operators and no items of programs.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch

from ptc.graph.printer import place_text
from ptc.graph.symbols import SYMBOLIC_TYPES, expression_of
from ptc.schedule.sizes import Sizes
from ptc.support.diagnostics import CompileError, Location

_RESERVED = frozenset(
    {
        *keyword.kwlist,
        "self", "torch", "math", "print", "str", "len", "int", "float", "bool", "range", "list",
        "min", "max", "abs", "round", "chr", "ord", "getattr", "hasattr", "warnings", "Tensor",
        "List", "Dict", "Tuple", "Optional", "Any", "library", "complex", "sorted", "zip",
        "NoneType", "Future", "Device", "Generator", "Scalar", "number", "dict", "tuple", "ops",
        "inf", "nan",
    }
)  # fmt: skip
_INTS = range(-(2**63), 2**63)
_TORCHS = torch.dtype | torch.layout | torch.memory_format


def refuse(what: str, place: Location | None = None, hint: str | None = None) -> NoReturn:
    """Raise CompileError PTC-E030: TorchScript cannot say something."""
    raise CompileError(
        "PTC-E030",
        f"TorchScript cannot say {what}",
        location=place,
        hint=hint or "`ptc compile` makes a library of it, which needs no Python either",
    )


class Writer:
    """The lines of one method. `places` has the user's line of each line, by its number from 0;
    `literals` tensors that the text reads as attributes, by name; `exceptions` the classes that it
    raises, by their names in the text; `notes` what the user should know."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: dict[int, Location] = {}
        self.literals: dict[str, torch.Tensor] = {}
        self.exceptions: dict[str, str] = {}
        self.notes: list[str] = []
        self.operators = 0
        self.sizes = Sizes()
        self._depth = 1
        self._place: Location | None = None
        self._taken: set[str] = set(_RESERVED)

    def fresh(self, name: str) -> str:
        """A name like `name` that nothing else has."""
        text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
        text = text if text and not text[0].isdigit() else f"v_{text}"
        found, number = text, 0
        while found in self._taken or found.startswith("__"):
            number += 1
            found = f"{text.lstrip('_') or 'v'}_{number}"
        self._taken.add(found)
        return found

    def reserve(self, name: str) -> None:
        """A name that the text has from elsewhere."""
        self._taken.add(name)

    def line(self, text: str) -> None:
        if self._place is not None:
            self.places[len(self.lines)] = self._place
        self.lines.append("    " * self._depth + text)

    def at(self, place: Location | None) -> None:
        """The lines that follow are for this line of the user's."""
        if place is not None and place != self._place:
            self._place = place
            self.line(place_text(place).encode("ascii", "replace").decode())

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The lines written inside belong to `head`."""
        self.line(head)
        self._depth += 1
        before, place = len(self.lines), self._place
        yield
        if all(text.lstrip().startswith("#") for text in self.lines[before:]):
            self.line("pass")
        self._depth -= 1
        self._place = place

    def note(self, text: str, place: Location | None = None) -> None:
        whole = text if place is None else f"{place}: {text}"
        if whole not in self.notes:
            self.notes.append(whole)

    def literal(self, value: torch.Tensor) -> str:
        """A tensor of the program's own, as an attribute of the module."""
        for name, known in self.literals.items():
            if known is value:
                return f"self.{name}"
        name = self.fresh(f"literal_{len(self.literals)}")
        self.literals[name] = value
        return f"self.{name}"

    def exception(self, type_name: str) -> str:
        """The name in the text of a class of exceptions."""
        for name, known in self.exceptions.items():
            if known == type_name:
                return name
        name = self.fresh(type_name.rpartition(".")[2])
        self.exceptions[name] = type_name
        return name

    def size(self, value: Any) -> str:
        """A number that may be symbolic, as an expression in the symbols' names."""
        if not isinstance(value, SYMBOLIC_TYPES):
            return constant(value)
        if isinstance(value, torch.SymInt):
            return str(self.sizes.index(value))
        return _scalar(expression_of(value), self.sizes)


def constant(value: Any, place: Location | None = None) -> str:
    """A constant as an expression."""
    match value:
        case None | bool():
            return str(value)
        case int() if int(value) in _INTS:
            return str(int(value))
        case float():
            return repr(value) if math.isfinite(value) else f'float("{value!r}")'
        case complex():
            return f"complex({constant(value.real)}, {constant(value.imag)})"
        case str():
            return text_constant(value)
        case torch.device():
            return f'torch.device("{value}")'
        case _ if isinstance(value, _TORCHS):
            return str(value)
        case list() | tuple():
            return f"[{', '.join(constant(item, place) for item in value)}]"
        case _:
            refuse(f"a value of type {type(value).__name__}", place)


def text_constant(value: str) -> str:
    """A string. What is not ASCII goes in as the bytes of UTF-8, as TorchScript keeps strings."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in value.encode("utf-8", "surrogatepass")
    )
    return f'"{shown}"'


# --- numbers made of sizes ----------------------------------------------------------------------

_JOINED = {"Add": " + ", "Mul": " * ", "And": " and ", "Or": " or "}
_PAIRS = {
    "IntTrueDiv": "/", "FloatTrueDiv": "/", "Equality": "==", "Unequality": "!=",
    "LessThan": "<=", "StrictLessThan": "<", "GreaterThan": ">=", "StrictGreaterThan": ">",
}  # fmt: skip


def _scalar(e: Any, sizes: Sizes) -> str:
    """A float or a truth value computed from sizes, from the expression behind it."""
    head = type(e).__name__
    if e.is_Symbol:
        return str(e)
    if head in ("BooleanTrue", "BooleanFalse"):
        return str(bool(e))
    if e.is_number:
        return str(int(e)) if e.is_Integer else constant(float(e))
    args = [f"({_scalar(argument, sizes)})" for argument in e.args]
    if head in _JOINED:
        return _JOINED[head].join(args)
    if head in _PAIRS:
        return f"float({args[0]}) / float({args[1]})" if _PAIRS[head] == "/" else (
            f"{args[0]} {_PAIRS[head]} {args[1]}"
        )  # fmt: skip
    if head == "Not":
        return f"not {args[0]}"
    if head == "ToFloat":
        return f"float({args[0]})"
    if head in ("Pow", "FloatPow", "PowByNatural"):
        root = e.args[1] == 0.5 or str(e.args[1]) == "1/2"
        return f"math.sqrt(float{args[0]})" if root else f"math.pow(float{args[0]}, float{args[1]})"
    if head.startswith("OpaqueUnaryFn_"):
        return f"math.{head.removeprefix('OpaqueUnaryFn_')}(float{args[0]})"
    if head in ("Max", "Min"):
        found = args[0]
        for other in args[1:]:
            found = f"{head.lower()}({found}, {other})"
        return found
    return str(sizes.index(e))
