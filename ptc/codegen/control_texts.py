"""Texts of a program with control flow as C++ statements: putting parts together, methods of str.

Takes items on texts, gives lines within a member function of the program's struct (see `control`).
The functions they call are in ptc_control_text.h, ptc_control_string.h and ptc_control_texts.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptc.codegen.characters import TABLES, UNPRINTABLE, member_name
from ptc.codegen.control_names import Names
from ptc.codegen.statements import string_literal
from ptc.graph.control import (
    Body,
    Emit,
    Formatted,
    Item,
    ListVar,
    MakeText,
    Raise,
    Text,
    TextItem,
    TextVar,
    Var,
    walk,
)
from ptc.graph.control_texts import TEXT_OPERATIONS

#: Operations on numbers and bools that cannot fail and give their result.
_NUMBERS = frozenset({"int", "bool", "float"})


class TextWriter:
    """Writes the texts of one program."""

    def __init__(self, names: Names) -> None:
        self.names = names

    # -- parts ---------------------------------------------------------------------------------

    def parts(self, text: Text) -> list[str]:
        """Statements that make the `Text text`."""
        lines = ["  Text text;"]
        for part in text:
            if isinstance(part, str):
                size = len(_bytes(part))
                lines += [f"  text.add({string_literal(part)}, {size});"] if size else []
            else:
                lines += [f"  {line}" for line in self._formatted(part)]
        return lines

    def _formatted(self, part: Formatted) -> list[str]:
        value, spec = self.names.of(part.value), string_literal(part.spec)
        fail = 'return c->fail(STATUS_RUNTIME, "a value does not fit its format specification");'
        if part.conversion == "format":
            return [f"if (!text_formatted(text, {value}, {spec}, print_options)) {fail}"]
        shown = f"text_of(text, {value}, print_options);"
        if is_quoted(part):
            function = "text_list" if isinstance(part.value, ListVar) else "text_repr"
            shown = f"{function}(text, {value}, {member_name(UNPRINTABLE)});"
        if not part.spec:
            return [shown]
        return [
            "{",
            "  const int64_t start = text.length;",
            f"  {shown}",
            f"  if (!text_apply(text, start, {spec})) {fail}",
            "}",
        ]

    # -- operations ----------------------------------------------------------------------------

    def item(self, item: TextItem) -> list[str]:
        """The statements of an operation."""
        operation, target = TEXT_OPERATIONS[item.op], self.names.of(item.target)
        args = [self._argument(arg) for arg in item.args]
        if item.op == "choose":
            return self._choose(target, item.args)
        args += [member_name(name) for name in TABLES.get(item.op, ())]
        if item.op in ("is_int", "is_float", "int", "float"):
            return _number_of_text(item.op, target, args)
        if item.op in TABLES and operation.result == "bool":
            return [f"{target} = all_in({', '.join(args)});"]
        if operation.result in _NUMBERS:
            return [f"{target} = string_{item.op}({', '.join(args)});"]
        if operation.result == "texts":
            return [_checked(f"texts_{item.op}({', '.join(['c', f'&{target}', *args])})")]
        return [
            "{",
            "  Text text;",
            f"  string_{item.op}({', '.join(['text', *args])});",
            f"  {_checked(f'string_take(c, &{target}, text)')}",
            "}",
        ]

    def _choose(self, target: str, args: Sequence[object]) -> list[str]:
        spans = [self._argument(arg) for arg in args[1:]]
        call = f"texts_choose(c, &{target}, {self._argument(args[0])}, texts)"
        rows = [f"      {span}," for span in spans]
        return ["{", "  const Span texts[] = {", *rows, "  };", f"  {_checked(call)}", "}"]

    def _argument(self, value: object) -> str:
        if isinstance(value, str):
            data = _bytes(value)
            return f"Span{{{string_literal(value)}, {len(data)}, {len(value)}}}"
        if isinstance(value, Var):
            return self.names.of(value)
        assert isinstance(value, int)
        return self.names.operand(value)


def _number_of_text(op: str, target: str, args: list[str]) -> list[str]:
    given = ", ".join(args)
    match op:
        case "int":
            return [_checked(f"text_int(c, &{target}, {given})")]
        case "float":
            return [f"read_float({given}, &{target});"]
        case "is_int":
            return ["{", "  int64_t read = 0;", f"  {target} = read_int({given}, &read) != 1;", "}"]
        case _:
            return ["{", "  double read = 0;", f"  {target} = read_float({given}, &read);", "}"]


def is_quoted(part: Formatted) -> bool:
    """Whether the text of a part has strings in quotes."""
    if isinstance(part.value, ListVar):
        return element_within(part.value) is str
    return isinstance(part.value, TextVar) and part.conversion == "repr"


def element_within(var: ListVar) -> object:
    """What the innermost lists hold."""
    element = var.element
    return element_within(element) if isinstance(element, ListVar) else element


def tables_of(body: Body) -> Iterator[str]:
    """The tables of characters that a program needs."""
    for item in walk(body):
        if isinstance(item, TextItem):
            yield from TABLES.get(item.op, ())
        for part in _text_of(item):
            if isinstance(part, Formatted) and is_quoted(part):
                yield UNPRINTABLE


def _text_of(item: Item) -> Text:
    if isinstance(item, Emit | MakeText):
        return item.text
    return item.message if isinstance(item, Raise) else ()


def _bytes(text: str) -> bytes:
    """As the library holds it: lone surrogates as UTF-8 would have them."""
    return text.encode("utf-8", "surrogatepass")


def _checked(call: str) -> str:
    return f"if (const int status = {call}) return status;"
