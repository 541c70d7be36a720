"""Programs with control flow as structured Python text, with the user's lines as comments.

Takes a `ControlProgram`, gives text that runs on real tensors where the user's exception classes
are builtin: variables keep their names, a segment is a block of statements under its number, which
is its position in `control.walk`. Knows no operators.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch.fx import Node

from ptc.graph.control import (
    Assign,
    Bind,
    Body,
    Compute,
    ControlProgram,
    DataSized,
    Emit,
    Formatted,
    If,
    Item,
    ListItem,
    MakeText,
    NumberVar,
    Operand,
    Raise,
    ReadItem,
    Segment,
    Switch,
    Text,
    TextItem,
    TextVar,
    Var,
    While,
    segment_numbers,
    walk,
)
from ptc.graph.control_lists import find_text
from ptc.graph.control_parts import placeholders_of, symbols_at, variables_of
from ptc.graph.control_texts import text_operation
from ptc.graph.control_types import var_type
from ptc.graph.printer import (
    GraphText,
    argument_text,
    identifier,
    import_lines,
    place_text,
    with_comment,
)
from ptc.graph.program import AtenProgram, CapturedProgram, Const, Leaf, Structure
from ptc.graph.program import Node as StructureNode
from ptc.graph.symbols import SYMBOLIC_TYPES, range_text, symbols_of
from ptc.graph.types import type_text
from ptc.support.diagnostics import Location

#: What a segment has become.
Form = AtenProgram | str

_POWER = "from ptc.graph.control_operations import power"
_MODULES = ("logging", "math", "operator", "sys", "torch", "warnings")

_INFIX: Mapping[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
#: What `is_int` and `is_float` of a text are.
_READS_AS = (
    "", "def reads_as(kind, text):", "    try:", "        kind(text)", "    except ValueError:",
    "        return False", "    return True", "",
)  # fmt: skip
_PREFIX: Mapping[str, str] = {"neg": "-", "pos": "+", "invert": "~", "not": "not "}


def print_control(program: ControlProgram, segments: Mapping[int, Form] | None = None) -> str:
    """The whole program as a Python module. `segments` has what segments have become, by id: their
    functional form, or the text of a later one, which stands where the statements would be."""
    printer = _Printer(program, segments)
    printer.body(program.body, 1)
    printer.returned()
    text = "\n".join(printer.lines)
    modules = [name for name in _MODULES if re.search(rf"\b{name}\.", text)]
    described = [*_sizes(program), *printer.literals]
    return "\n".join(
        [
            f'"""{_form_name(segments)} program `{program.name}` with control flow."""',
            "",
            *import_lines(printer.graphs, modules),
            *([_POWER] if re.search(r"\bpower\(", text) else []),
            "",
            *([*described, ""] if described else []),
            *(_READS_AS if "reads_as(" in text else []),
            "",
            "def forward(",
            *printer.parameters(),
            "):",
            text,
            "",
        ]
    )


def _form_name(segments: Mapping[int, Form] | None) -> str:
    if not segments:
        return "Captured"
    return "Lowered" if any(isinstance(form, str) for form in segments.values()) else "Functional"


def item_text(item: Item, *, program: ControlProgram | None = None) -> str:
    """One item as the printer writes it, for messages. A segment without its statements, a body
    as `...`."""
    printer = _Printer(program)
    match item:
        case Segment():
            return printer.heading(item, None)
        case If():
            return f"if {printer.name(item.condition)}: ..."
        case Switch():
            return f"match {printer.name(item.selector)}: ..."
        case While():
            return f"while True: ...; if not {printer.name(item.again)}: break"
        case _:
            try:
                return printer.simple(item)
            except IndexError:  # the message is about missing operands
                return f"{type(item).__name__}({', '.join(map(printer.name, variables_of(item)))})"


class _Printer:
    """The statements of a program, gathered from its items."""

    def __init__(
        self, program: ControlProgram | None, forms: Mapping[int, Form] | None = None
    ) -> None:
        self._program = program
        self._forms = forms or {}
        self._numbers = {} if program is None else segment_numbers(program)
        self._names: dict[str, str] = {}
        self._taken = {*_MODULES, "power", *dir(builtins)}
        self._shown: Location | None = None
        self.graphs: list[torch.fx.GraphModule] = []
        self.literals: list[str] = []
        self.lines: list[str] = []
        # All variables before any local of a segment: a loop may come back to what reads them
        for name in _names(program) if program is not None else ():
            self.name(name)

    def name(self, variable: Var | str) -> str:
        """The identifier of a variable or symbol."""
        name = variable if isinstance(variable, str) else variable.name
        if name not in self._names:
            self._names[name] = self._fresh(name)
        return self._names[name]

    def _fresh(self, name: str) -> str:
        text = identifier(name)
        while text in self._taken:
            text += "_"
        self._taken.add(text)
        return text

    # -- the shell -----------------------------------------------------------------------------

    def parameters(self) -> list[str]:
        program = self._program
        assert program is not None
        lines: list[str] = []
        for described, value in zip(program.inputs, program.values, strict=True):
            written = ", written" if described.name in program.written else ""
            comment = f"{type_text(value)}  {described.kind.value} {described.name}{written}"
            lines.append(with_comment(f"    {self.name(described.name)},", comment))
        for kept in program.state:
            comment = f"{kept.variable.kind.value}  kept from call to call: {kept.path}"
            default = argument_text(kept.initial, {})
            lines.append(with_comment(f"    {self.name(kept.variable)}={default},", comment))
        for reference in program.references:
            comment = f"{var_type(reference.variable)}  kept from call to call: {reference.path}"
            lines.append(with_comment(f"    {self.name(reference.variable)}=None,", comment))
        return lines

    def returned(self) -> None:
        program = self._program
        assert program is not None
        values = [self.name(output.value) for output in program.outputs]
        if program.selector is None:
            text = "None" if program.result is None else _structure_text(program.result, values)
            self._write(1, f"return {text}")
            return
        self._write(1, f"match {self.name(program.selector)}:")
        for number, variant in enumerate(program.variants):
            self._write(2, f"case {number}:")
            self._write(3, f"return {_structure_text(variant, values)}")

    def _write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _place(self, depth: int, place: Location | None) -> None:
        """The user's line, if it is another one than above."""
        if place is not None and place != self._shown:
            self._write(depth, place_text(place))
            self._shown = place

    # -- items ---------------------------------------------------------------------------------

    def body(self, body: Body, depth: int) -> None:
        before = len(self.lines)
        for item in body.items:
            self._item(item, depth)
        if len(self.lines) == before and depth > 1:
            self._write(depth, "pass")

    def _item(self, item: Item, depth: int) -> None:
        match item:
            case Segment():
                self._segment(item, depth)
            case If():
                self._construct(item, depth, f"if {self.name(item.condition)}:")
                self._arm(item.then, depth + 1)
                if item.orelse.items:
                    self._write(depth, "else:")
                    self._arm(item.orelse, depth + 1)
            case Switch():
                self._construct(item, depth, f"match {self.name(item.selector)}:")
                for number, arm in enumerate(item.arms):
                    self._write(depth + 1, f"case {number}:")
                    self._arm(arm, depth + 2)
            case While():
                self._construct(item, depth, "while True:")
                self._arm(item.body, depth + 1)
                self._write(depth + 1, f"if not {self.name(item.again)}:")
                self._write(depth + 2, "break")
            case Emit() | Raise():
                self._place(depth, item.location)
                self._write(depth, self.simple(item))
            case _:
                self._write(depth, self.simple(item))

    def _arm(self, body: Body, depth: int) -> None:
        self._shown = None
        self.body(body, depth)
        self._shown = None

    def _construct(self, item: If | Switch | While, depth: int, text: str) -> None:
        place = item.location
        where = f" at {place}  {place.text.strip()}".rstrip() if place is not None else ""
        self._write(depth, f"{text}  # `{item.construct}`{where}")

    # -- segments ------------------------------------------------------------------------------

    def heading(self, item: Segment, number: int | None) -> str:
        reads = ", ".join(self.name(described.name) for described in item.program.inputs)
        gives = ", ".join(self.name(output.name) for output in item.program.outputs)
        title = "segment" if number is None else f"segment {number}"
        return f"{title}: ({reads}) -> ({gives})"

    def _segment(self, item: Segment, depth: int) -> None:
        number = self._numbers[id(item)]
        self._write(depth, f"# {self.heading(item, number)}")
        form = self._forms.get(id(item), item.program)
        if not isinstance(form, str):
            self._statements(form, number, depth)
            return
        for line in form.rstrip().splitlines():
            self._write(depth if line else 0, line)

    def _statements(self, program: CapturedProgram | AtenProgram, number: int, depth: int) -> None:
        nodes = list(program.graph.graph.nodes)
        for symbol, variable in _scalar_symbols(program).items():
            self._write(depth, f"{self.name(symbol)} = {self.name(variable)}")
        text = GraphText(program.graph, self._node_names(program), f"_{number}_")
        self.graphs.append(program.graph)
        self.literals.extend(text.literals())
        for node in nodes:
            if node.op not in ("placeholder", "output"):
                self._place(depth, node.meta.get("location"))
                self._write(depth, text.statement(node))
        given = [argument_text(result, text.names) for result in nodes[-1].args[0]]
        pairs: list[tuple[str, str]] = []
        for output, value in zip(program.outputs, given, strict=True):
            if output.target is None and self.name(output.name) != value:
                pairs.append((self.name(output.name), value))
        if pairs:
            left, right = (", ".join(side) for side in zip(*pairs, strict=True))
            self._write(depth, f"{left} = {right}")
        for output, value in zip(program.outputs, given, strict=True):
            if output.target is not None:
                written = self.name(program.inputs[output.target].name)
                self._write(depth, f"{written}.copy_({value})")
            elif output.alias_of is not None and isinstance(program, AtenProgram):
                shared = self.name(program.inputs[output.alias_of].name)
                self._write(depth, f"# {self.name(output.name)} shares memory with {shared}")

    def _node_names(self, program: CapturedProgram | AtenProgram) -> dict[Node, str]:
        """Placeholders are the variables; a result is its variable from the start where nothing
        else needs the variable's old value; other nodes have names that no variable has."""
        nodes = list(program.graph.graph.nodes)
        names = {node: self.name(described.name) for described, node in placeholders_of(program)}
        read = set(names.values())
        for output, node in zip(program.outputs, nodes[-1].args[0], strict=True):
            target = self.name(output.name)
            if node not in names and target not in read and output.target is None:
                names[node] = target
        local: set[str] = set()
        for node in nodes:
            if node not in names and node.op != "output":
                text = identifier(node.name)
                while text in self._taken or text in local:
                    text += "_"
                local.add(text)
                names[node] = text
        return names

    # -- statements ----------------------------------------------------------------------------

    def simple(self, item: Item) -> str:
        """An item that is one statement."""
        match item:
            case Compute(target, op, args):
                kind = target.kind.value
                return with_comment(f"{self.name(target)} = {self._operation(op, args)}", kind)
            case ReadItem(target, tensor):
                text = f"{self.name(target)} = {self.name(tensor)}.item()"
                return with_comment(text, target.kind.value)
            case Bind():
                return f"{self.name(item.symbol)} = {self._bound(item)}"
            case Assign(target, source):
                return f"{self.name(target)} = {self._operand(source)}"
            case DataSized():
                targets = ", ".join(self.name(target) for target in item.targets)
                types = ", ".join(type_text(target.fake) for target in item.targets)
                return with_comment(f"{targets} = {self._data_sized(item)}", types)
            case ListItem():
                return self._list_item(item)
            case MakeText(target, text):
                return with_comment(f"{self.name(target)} = {self._f_string(text)}", "text")
            case TextItem(op, target, args):
                value = text_operation(op, [self._operand(arg) for arg in args])
                return with_comment(f"{self.name(target)} = {value}", var_type(target))
            case Emit():
                return self._emit(item)
            case Raise():
                message = self._f_string(item.message) if item.message else ""
                return f"raise {item.type_name}({message})"
            case _:
                raise TypeError(f"{type(item).__name__} is no single statement")

    def _operand(self, value: Var | Operand | str | None) -> str:
        if isinstance(value, Var):
            return self.name(value)
        if isinstance(value, str):
            return repr(value)
        text = argument_text(value, {})
        return f"({text})" if text.startswith("-") else text

    def _operation(self, op: str, args: Sequence[Operand]) -> str:
        values = [self._operand(arg) for arg in args]
        if op in _INFIX:
            return f"{values[0]} {_INFIX[op]} {values[1]}"
        if op in _PREFIX:
            return f"{_PREFIX[op]}{values[0]}"
        if op == "select":
            return f"{values[1]} if {values[0]} else {values[2]}"
        function = "round" if op == "round_to" else op
        return f"{function}({', '.join(values)})"

    def _bound(self, item: Bind) -> str:
        if item.tensor is not None:
            return f"{self.name(item.tensor)}.shape[{item.dim}]"
        return self._operand(item.value)

    def _data_sized(self, item: DataSized) -> str:
        args = [self._operand(arg) for arg in item.args if arg is not None]
        if item.op == "bincount" and len(args) == 2:
            args[1] = f"minlength={args[1]}"
        if item.op == "unique" and len(item.targets) == 3:
            args += ["return_inverse=True", "return_counts=True"]
        return f"torch.{item.op}({', '.join(args)})"

    def _list_item(self, item: ListItem) -> str:
        args = [self._operand(arg) for arg in item.args]
        match item.op:
            case "new":
                value = f"[{', '.join(args)}]"
            case "copy":
                value = f"list({args[0]})"
            case "set":
                return f"{args[0]}[{args[1]}] = {args[2]}"
            case "get":
                value = f"{args[0]}[{args[1]}]"
            case "length":
                value = f"len({args[0]})"
            case "slice":
                value = f"{args[0]}[{args[1]}:{args[2]}]"
            case "concat":
                value = f"{args[0]} + {args[1]}"
            case "same":
                value = f"{args[0]} is {args[1]}"
            case "lengths":
                value = f"[len(inner) for inner in {args[0]}]"
            case "flat":
                value = f"[value for inner in {args[0]} for value in inner]"
            case "filled":
                value = f"[{args[1]}] * len({args[0]})"
            case "stack" | "cat":
                value = f"torch.{item.op}({', '.join(args)})"
            case "find":
                value = find_text(args)
            case _:
                value = f"{args[0]}.{item.op}({', '.join(args[1:])})"
        if item.target is None:
            return value
        return with_comment(f"{self.name(item.target)} = {value}", var_type(item.target))

    # -- text ----------------------------------------------------------------------------------

    def _emit(self, item: Emit) -> str:
        match item.channel:
            case "stdout" | "stderr":
                return self._print(item)
            case "log":
                level, _, logger = item.label.partition(":")
                name = repr(logger) if logger else ""
                message = self._f_string(item.text)
                return f'logging.getLogger({name}).log(logging.{level}, "%s", {message})'
            case "warning":
                return f"warnings.warn({self._f_string(item.text)}, {item.label or 'UserWarning'})"
            case _:
                return f"emit({item.channel!r}, {item.label!r}, {self._f_string(item.text)})"

    def _print(self, item: Emit) -> str:
        text = list(item.text)
        words: list[str] = []
        if text and isinstance(text[-1], str) and text[-1].endswith("\n"):
            text[-1] = text[-1][:-1]
        else:
            words.append('end=""')
        if item.channel == "stderr":
            words.append("file=sys.stderr")
        shown = self._f_string([part for part in text if part != ""])
        return f"print({', '.join([*([] if shown == repr('') else [shown]), *words])})"

    def _f_string(self, text: Text | Sequence[str | Formatted]) -> str:
        if all(isinstance(part, str) for part in text):
            return repr("".join(part for part in text if isinstance(part, str)))
        parts = (
            part.replace("{", "{{").replace("}", "}}")
            if isinstance(part, str)
            else self._field(part)
            for part in text
        )
        return "f" + repr("".join(parts))

    def _field(self, part: Formatted) -> str:
        name = self.name(part.value)
        match part.conversion:
            case "repr":
                return f"{{{name}!r}}"
            case "str":
                plain = isinstance(part.value, NumberVar | TextVar)
                return f"{{{name}}}" if plain else f"{{{name}!s}}"
            case _:
                return f"{{{name}:{part.spec}}}" if part.spec else f"{{{name}}}"


def _names(program: ControlProgram) -> Iterator[str]:
    """The names of all variables, and of the symbols that the program binds."""
    yield from (described.name for described in program.inputs)
    yield from (kept.variable.name for kept in (*program.state, *program.references))
    for item in walk(program.body):
        yield from (variable.name for variable in variables_of(item))
        if isinstance(item, Segment):
            yield from (output.name for output in item.program.outputs)
        if isinstance(item, Bind):
            yield item.symbol


def _scalar_symbols(program: CapturedProgram | AtenProgram) -> dict[str, str]:
    """The symbols that stand for numbers in sizes and arguments of a segment -> the number."""
    used: set[str] = set()
    for node in program.graph.graph.nodes:
        if node.op.startswith("call"):
            used |= symbols_at(node)
    symbols: dict[str, str] = {}
    for described, node in placeholders_of(program):
        value = node.meta["val"]
        if isinstance(value, SYMBOLIC_TYPES):
            symbols.update(dict.fromkeys(sorted(symbols_of(value) & used), described.name))
    return symbols


def _structure_text(structure: Structure, values: Sequence[str]) -> str:
    match structure:
        case Leaf(index):
            return values[index]
        case Const(value):
            return argument_text(value, {})
        case StructureNode(kind, children, keys, type_name):
            items = [_structure_text(child, values) for child in children]
            if kind == "list":
                return f"[{', '.join(items)}]"
            if kind == "tuple" and type_name:
                return f"{type_name}([{', '.join(items)}])"
            if kind == "tuple":
                return f"({', '.join(items)}{',' * (len(items) == 1)})"
            if kind == "dict" and not type_name:
                pairs = zip(keys, items, strict=True)
                return f"{{{', '.join(f'{key!r}: {item}' for key, item in pairs)}}}"
            if kind in ("rows", "lists", "mapping", "tuple of", "one of"):
                # Of lists of what each element has
                return f"{kind.replace(' ', '_')}({', '.join(items)})"
            pairs = zip(keys, items, strict=True)
            return f"{type_name}({', '.join(f'{key}={item}' for key, item in pairs)})"


def _sizes(program: ControlProgram) -> Iterator[str]:
    for table, origin in ((program.dims, ""), (program.sizes, ", bound by the program")):
        for symbol, described in table.items():
            yield f"# {symbol}: {described.name}, {range_text(described)}{origin}"
