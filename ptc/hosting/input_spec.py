"""The grammar of `--input` and `--dynamic`: text to a small tree, with exact error positions.

    input    = [entry ":"] [path "="] value
    value    = tensor | scalar | "@" file ["#" key]
             | "[" values "]" | "(" values ")" | "{" key ":" value {"," key ":" value} "}"
    tensor   = dtype "[" [size {"," size}] "]" {("<" | "<=" | ">=") number} ["=" number]
    scalar   = number | "true" | "false" | "none" | quoted string
    dynamic  = [entry ":"] path ":" dim {"," dim}
    dim      = position "=" name ["[" lower ".." [upper] "]"]
    path     = name {"." name | "[" index "]"}

Makes no values (see `input_values`) and opens no file.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NoReturn

from ptc.hosting.dtypes import ELEMENT_TYPES, ElementType, element_type
from ptc.support.diagnostics import CompileError

Number = int | float


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor to be filled: random in [lower, upper) where given, or with `fill`."""

    dtype: ElementType
    shape: tuple[int, ...]
    lower: Number | None = None
    upper: Number | None = None
    fill: Number | None = None


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    value: int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class FileSpec:
    """`@file` or `@file#key`."""

    path: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class SequenceSpec:
    """A list, or a tuple when `is_tuple`."""

    items: tuple[ValueSpec, ...]
    is_tuple: bool


@dataclass(frozen=True, slots=True)
class MappingSpec:
    items: tuple[tuple[str, ValueSpec], ...]


ValueSpec = TensorSpec | ScalarSpec | FileSpec | SequenceSpec | MappingSpec


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One `--input`: `path` is None for a positional value, `entry` is None for the only entry."""

    value: ValueSpec
    path: str | None = None
    entry: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class DimSpec:
    """One symbolic dimension: input `path`, dimension number, name, inclusive range.

    `ranged`: the range was written; without one the name's other uses decide, or else all sizes
    from 1 on are meant."""

    path: str
    dim: int
    name: str
    lower: int = 1
    upper: int | None = None
    entry: str | None = None
    text: str = ""
    ranged: bool = False


def parse_input(text: str) -> InputSpec:
    """Read one `--input`. Malformed text is a CompileError that points at the character."""
    return _Parser(text, "--input", "PTC-L020").input()


def parse_dynamic(text: str) -> tuple[DimSpec, ...]:
    """Read one `--dynamic`, which may name several dimensions of one input."""
    return _Parser(text, "--dynamic", "PTC-L030").dynamic()


_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])*")
_ENTRY = re.compile(r"([A-Za-z_]\w*)\s*:\s*(?=[A-Za-z_])")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf\b|nan\b)"
)
_FILE = re.compile(r"[^,\])}#]*")
_KEY = re.compile(r"[^,\])}]*")
_INTEGER = re.compile(r"[0-9]+")
_WORDS = {"true": True, "false": False, "none": None}
_SPACE = re.compile(r"\s*")
#: Sizes and ranges are 64-bit integers in libraries.
_LARGEST = 2**63 - 1
_DEEPEST = 64


class _Parser:
    """Recursive descent over one option's text."""

    def __init__(self, text: str, option: str, code: str) -> None:
        self.text = text
        self.option = option
        self.code = code
        self.at = 0
        self.depth = 0

    # entry points

    def input(self) -> InputSpec:
        entry = self.entry()
        start = self.at
        path = self.take(_PATH)
        # `f32[1]=0` is a tensor filled with zeros, not element 1 of an input called f32.
        if path is not None and element_type(path.partition("[")[0]) and "[" in path:
            path = None
        if path is None or not self.symbol("="):
            path, self.at = None, start
        value = self.value()
        self.end()
        return InputSpec(value, path, entry, self.text)

    def dynamic(self) -> tuple[DimSpec, ...]:
        entry = self.entry()
        path = self.require(_PATH, "the name of an input")
        self.expect(":", "and the number of a dimension, as in `x:0=batch`")
        dims = [self.dim(path, entry)]
        while self.symbol(","):
            dims.append(self.dim(path, entry))
        self.end()
        return tuple(dims)

    def dim(self, path: str, entry: str | None) -> DimSpec:
        position = self.integer("the number of a dimension")
        self.expect("=", "and a name, as in `x:0=batch`")
        name = self.require(_NAME, "a name for the dimension")
        lower, upper = 1, None
        ranged = self.symbol("[")
        if ranged:
            start = self.at
            lower = self.integer("the smallest size, as in `batch[1..64]`")
            self.expect("..", "and the largest size, as in `batch[1..64]`")
            if not self.peek("]"):
                upper = self.integer("the largest size, as in `batch[1..64]`")
            if upper is not None and upper < lower:
                self.at = start
                self.fail(f"the range is empty: {lower} is more than {upper}")
            self.expect("]", "after the range")
        return DimSpec(path, position, name, lower, upper, entry, self.text, ranged)

    # values

    def value(self) -> ValueSpec:
        if self.symbol("@"):
            return self.file()
        if self.depth == _DEEPEST:
            self.fail(f"brackets are nested more than {_DEEPEST} deep", "use `@file.pt`")
        self.depth += 1
        try:
            return self.container_or_leaf()
        finally:
            self.depth -= 1

    def container_or_leaf(self) -> ValueSpec:
        if self.symbol("["):
            return SequenceSpec(self.values("]"), is_tuple=False)
        if self.symbol("("):
            return SequenceSpec(self.values(")"), is_tuple=True)
        if self.symbol("{"):
            return self.mapping()
        if self.peek('"') or self.peek("'"):
            return ScalarSpec(self.quoted())
        start = self.at
        if (number := self.take(_NUMBER)) is not None:
            return ScalarSpec(self.number(number, start))
        word = self.take(_NAME)
        if word is None:
            self.fail(
                "a value is missing", "write a tensor such as `f32[1,3]`, a number or `@file.npy`"
            )
        if word.lower() in _WORDS and not self.peek("["):
            return ScalarSpec(_WORDS[word.lower()])
        return self.tensor(word, start)

    def tensor(self, word: str, start: int) -> TensorSpec:
        dtype = element_type(word)
        if dtype is None:
            self.at = start
            known = ", ".join(ELEMENT_TYPES)
            if self.peek_after(word, "["):
                self.fail(f"there is no element type `{word}`", f"known types: {known}")
            self.fail(f"`{word}` is not a value", f'a string needs quotes: "{word}"')
        self.expect("[", f"and a shape, as in `{word}[1,3]` (`{word}[]` for a single element)")
        shape = self.shape()
        lower, upper = self.range(dtype)
        fill = None
        if self.symbol("="):
            fill = self.bound("the value to fill the tensor with", dtype)
        return TensorSpec(dtype, shape, lower, upper, fill)

    def shape(self) -> tuple[int, ...]:
        if self.symbol("]"):
            return ()
        sizes = [self.size()]
        while self.symbol(","):
            sizes.append(self.size())
        self.expect("]", "or `,` after a size")
        return tuple(sizes)

    def size(self) -> int:
        start = self.at
        self.skip()
        if _INTEGER.match(self.text, self.at):
            return self.integer("a size")
        if (name := self.take(_NAME)) is not None:
            self.at = start
            self.fail(
                f"a size must be a number, not `{name}`",
                "give the size of the example here and name the dimension with "
                f"`--dynamic x:0={name}`",
            )
        self.fail("expected a size")

    def range(self, dtype: ElementType) -> tuple[Number | None, Number | None]:
        lower = upper = None
        start = self.at
        while True:
            if self.symbol("<="):
                bound = self.bound("the largest value", dtype)
                # Integers have a next value; for floats the difference is of no consequence.
                upper = bound + 1 if isinstance(bound, int) and dtype.is_integer else bound
            elif self.symbol("<"):
                upper = self.bound("a number that values stay below", dtype)
            elif self.symbol(">="):
                lower = self.bound("the smallest value", dtype)
            else:
                break
        if lower is None and upper is None:
            return None, None
        if not all(bound is None or math.isfinite(bound) for bound in (lower, upper)):
            self.at = start
            self.fail("the bounds of a range must be finite")
        low = 0 if lower is None else lower
        if upper is not None and low >= upper:
            self.at = start
            self.fail(f"the range is empty: no value is at least {low} and below {upper}")
        return low, upper

    def bound(self, what: str, dtype: ElementType) -> Number:
        start = self.at
        number = self.number(self.require(_NUMBER, what), start)
        if not isinstance(number, int) and (dtype.is_integer or dtype.name == "bool"):
            self.at = start
            self.fail(f"an {dtype.name} tensor cannot hold {number}", "write a whole number")
        if isinstance(number, int) and abs(number) > _LARGEST + 1:
            self.at = start
            self.fail(f"an {dtype.name} tensor cannot hold {number}", "write a smaller number")
        return number

    def integer(self, what: str) -> int:
        """A size, position or bound, which must fit 64 bits."""
        self.skip()
        start = self.at
        number = self.number(self.require(_INTEGER, what), start)
        if number > _LARGEST:
            self.at = start
            self.fail(f"{number} is too large for {what}", "write a smaller number")
        return int(number)

    def number(self, text: str, start: int) -> Number:
        try:
            return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else float(text)
        except ValueError:  # CPython refuses thousands of digits
            self.at = start
            self.fail("the number has too many digits", "write a smaller number")

    def file(self) -> FileSpec:
        # Inside brackets a file name ends at the separator; quotes allow any name.
        if self.peek('"') or self.peek("'"):
            path = self.quoted()
        else:
            path = (self.take(_FILE) or "").strip()
        if not path:
            self.fail("the name of a file is missing after `@`")
        key = (self.take(_KEY) or "").strip() if self.symbol("#") else None
        return FileSpec(path, key)

    def values(self, closing: str) -> tuple[ValueSpec, ...]:
        items: list[ValueSpec] = []
        while not self.symbol(closing):
            items.append(self.value())
            if not self.symbol(","):
                self.expect(closing, "or `,` after a value")
                break
        return tuple(items)

    def mapping(self) -> MappingSpec:
        items: list[tuple[str, ValueSpec]] = []
        while not self.symbol("}"):
            quoted = self.peek('"') or self.peek("'")
            key = self.quoted() if quoted else self.require(_NAME, "a key")
            self.expect(":", "and a value")
            items.append((key, self.value()))
            if not self.symbol(","):
                self.expect("}", "or `,` after a value")
                break
        return MappingSpec(tuple(items))

    def quoted(self) -> str:
        self.skip()
        quote, start = self.text[self.at], self.at
        end = self.text.find(quote, start + 1)
        if end < 0:
            self.fail("the closing quote is missing")
        self.at = end + 1
        return self.text[start + 1 : end]

    # characters

    def entry(self) -> str | None:
        """`entry:` before an input path. `x:0=batch` has none: a dimension starts with a digit."""
        self.skip()
        match = _ENTRY.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[1]

    def skip(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # matches ""

    def take(self, pattern: re.Pattern[str]) -> str | None:
        self.skip()
        match = pattern.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[0]

    def peek(self, symbol: str) -> bool:
        self.skip()
        return self.text.startswith(symbol, self.at)

    def peek_after(self, word: str, symbol: str) -> bool:
        return self.text[self.at :].lstrip()[len(word) :].lstrip().startswith(symbol)

    def symbol(self, symbol: str) -> bool:
        if not self.peek(symbol):
            return False
        self.at += len(symbol)
        return True

    def require(self, pattern: re.Pattern[str], what: str) -> str:
        found = self.take(pattern)
        if found is None:
            self.fail(f"expected {what}")
        return found

    def expect(self, symbol: str, where: str) -> None:
        if not self.symbol(symbol):
            self.fail(f"expected `{symbol}` {where}")

    def end(self) -> None:
        self.skip()
        if self.at < len(self.text):
            self.fail(f"did not expect `{self.text[self.at :]}` here")

    def fail(self, message: str, hint: str = "") -> NoReturn:
        raise CompileError(
            self.code,
            f"cannot read `{self.option} {self.text}`: {message}",
            notes=(f"  {self.text}", f"  {' ' * self.at}^"),
            hint=hint or _EXAMPLES[self.option],
        )


_EXAMPLES = {
    "--input": "examples: `x=f32[1,3,224,224]`, `ids=i64[1,128]<30000`, `scale=0.5`, `x=@x.npy`",
    "--dynamic": "examples: `x:0=batch`, `ids:1=length[1..512]`",
}
