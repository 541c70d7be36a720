"""A program with control flow as a method: `if`, `while` and assignments around its graphs.

Every variable has a value of its type from the start, so that each way to a use assigns it as
TorchScript sees it. What is kept from call to call is an attribute that each assignment writes, so
that it stays when the call raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

import torch

from ptc.autograd.control import FunctionalControl, FunctionalSegment
from ptc.exporters.formats import ExportOptions
from ptc.exporters.torchscript import texts
from ptc.exporters.torchscript.compiled import compile_method
from ptc.exporters.torchscript.graphs import write_graph
from ptc.exporters.torchscript.lists import list_operation
from ptc.exporters.torchscript.method import Method, attribute_text
from ptc.exporters.torchscript.numbers import operation
from ptc.exporters.torchscript.structures import Results, empty_of, type_of
from ptc.exporters.torchscript.writer import constant, refuse
from ptc.graph.control import (
    Assign,
    Bind,
    Body,
    Compute,
    DataSized,
    Emit,
    If,
    Item,
    ListItem,
    ListVar,
    MakeText,
    NumberKind,
    NumberVar,
    Operand,
    Raise,
    ReadItem,
    Segment,
    Switch,
    TextItem,
    Var,
    While,
    walk,
)
from ptc.graph.control_operations import kind_of_number
from ptc.graph.control_parts import placeholders_of, results_of, variable_of, variables_of
from ptc.graph.program import InputKind
from ptc.graph.symbols import SYMBOLIC_TYPES, symbols_of

_MOST = 2**63 - 1


def write_control(functional: FunctionalControl, options: ExportOptions) -> tuple[Any, Method]:
    """The compiled module of a program, and what its text is made of."""
    program = functional.program
    method = Method(program.inputs, program.values, options)
    method.declare(program.arguments, program.dims)
    texts.require_ascii(program.body)
    control = _Control(functional, method)
    control.declare()
    control.body(program.body)
    control.returned()
    script = compile_method(method.writer, method.header, method.attributes, program.name)
    return script, method


class _Control:
    def __init__(self, functional: FunctionalControl, method: Method) -> None:
        self._program, self._method = functional.program, method
        self._writer = method.writer
        self._segments = {id(s.item): s for s in functional.segments}
        self._writes = any(
            output.target is not None for s in functional.segments for output in s.aten.outputs
        )
        self._names: dict[str, str] = {}
        self._texts = texts.Texts(self.name)
        emits = [item for item in walk(self._program.body) if isinstance(item, Emit)]
        prints = [item for item in emits if item.channel == "stdout"]
        self._pending = "" if all(map(texts.is_whole_line, prints)) else self._writer.fresh("rest")
        _require_one_category(emits)

    # -- names ---------------------------------------------------------------------------------

    def name(self, variable: Var) -> str:
        return self._names[variable.name]

    def declare(self) -> None:
        """Names for all variables, and values for those that no input is."""
        program, writer = self._program, self._writer
        for number, described in enumerate(program.inputs):
            if described.name in program.written and described.live is not None:
                self._names[described.name] = attribute_text(self._method.paths[described.name])
            else:
                self._names[described.name] = self._method.read(number)
        for kept in program.state:
            kind = kept.variable.kind.value
            self._names[kept.variable.name] = self._method.keep(kept.path, kept.initial, kind)
        for reference in program.references:
            type_ = type_of(reference.variable)
            empty = {"Tensor": torch.empty(0), "str": ""}.get(type_, [])
            kept_as = self._method.keep(reference.path, empty, type_)
            self._names[reference.variable.name] = kept_as
        # A symbol is a variable, too
        self._names.update({symbol: symbol for symbol in self._method.symbols})
        for item in walk(program.body):
            if isinstance(item, Bind) and item.symbol not in self._names:
                self._names[item.symbol] = item.symbol
                writer.reserve(item.symbol)
                writer.line(f"{item.symbol} = 0")
        for name, type_ in _types(program.body).items():
            if name not in self._names:
                self._names[name] = writer.fresh(name)
                writer.line(f"{self._names[name]} = {empty_of(type_)}")
        if self._pending:
            writer.line(f'{self._pending} = ""')

    # -- items ---------------------------------------------------------------------------------

    def body(self, body: Body) -> None:
        for item in body.items:
            self._item(item)

    def _item(self, item: Item) -> None:
        match item:
            case Segment():
                self._segment(self._segments[id(item)])
            case Compute(target, op, args):
                kinds = [_kind_of(arg) for arg in args]
                given = [self._operand(arg) for arg in args]
                self._set(target, operation(op, given, kinds, target.kind))
            case ReadItem(target, tensor):
                self._set(target, f"{target.kind.value}({self.name(tensor)})")
            case Bind():
                self._bind(item)
            case Assign(target, source):
                kind = target.kind if isinstance(target, NumberVar) else None
                self._set(target, self._operand(source, kind))
            case DataSized():
                self._data_sized(item)
            case ListItem():
                self._list_item(item)
            case MakeText(target, text):
                self._set(target, self._texts.whole(text, None))
            case TextItem(_, target, args):
                self._set(target, texts.text_operation(item, [self._operand(a) for a in args]))
            case If() | Switch() | While():
                self._construct(item)
            case Emit():
                self._emit(item)
            case Raise(type_name, message, place):
                self._writer.at(place)
                self._end_of_line()
                name = self._writer.exception(type_name)
                self._writer.line(f"raise {name}({self._texts.whole(message, place)})")
            case _:
                assert_never(item)

    def _construct(self, item: If | Switch | While) -> None:
        writer = self._writer
        writer.at(item.location)
        match item:
            case If():
                self._arms([f"if {self.name(item.condition)}:", "else:"], (item.then, item.orelse))
            case Switch():
                name = self.name(item.selector)
                heads = [f"elif {name} == {number}:" for number in range(len(item.arms))]
                heads[0], heads[-1] = heads[0].removeprefix("el"), "else:"
                self._arms(heads if len(heads) > 1 else ["if True:"], item.arms)
            case While():
                again = writer.fresh("again")
                writer.line(f"{again} = True")
                with writer.block(f"while {again}:"):
                    self.body(item.body)
                    writer.line(f"{again} = {self.name(item.again)}")

    def _arms(self, heads: Sequence[str], arms: Sequence[Body]) -> None:
        for head, arm in zip(heads, arms, strict=True):
            with self._writer.block(head):
                self.body(arm)

    def _set(self, target: Var, text: str) -> None:
        self._writer.line(f"{self.name(target)} = {text}")

    def _operand(self, value: Var | Operand | str | None, kind: NumberKind | None = None) -> str:
        if isinstance(value, Var):
            return self.name(value)
        if kind is NumberKind.FLOAT and value is not None:
            return constant(float(value))
        text = constant(value)
        return f"({text})" if text.startswith("-") else text

    def _bind(self, item: Bind) -> None:
        if item.tensor is not None:
            text = f"{self.name(item.tensor)}.size({item.dim})"
        else:
            text = self._operand(item.value)
        self._writer.line(f"{item.symbol} = {text}")
        described = self._program.sizes.get(item.symbol)
        if described is not None:
            upper = _MOST if described.upper is None else described.upper
            bounds = f"{described.lower}, {upper}"
            name = constant(described.name)
            self._writer.line(f"library.check_range({name}, {item.symbol}, {bounds})")

    # -- graphs --------------------------------------------------------------------------------

    def _segment(self, segment: FunctionalSegment) -> None:
        program, writer = segment.aten, self._writer
        inputs: list[str] = []
        for described, node in placeholders_of(program):
            name = self._names.get(described.name, described.name)
            inputs.append(name)
            value = node.meta["val"]
            if isinstance(value, SYMBOLIC_TYPES):
                for symbol in sorted(symbols_of(value) - {name}):
                    writer.reserve(symbol)
                    text = f"int({name})" if isinstance(value, torch.SymBool) else name
                    writer.line(f"{symbol} = {text}")
        whole = {at: self._names[name] for at, name in segment.shared.items()}
        results = write_graph(writer, program, inputs, whole=whole, apart=self._writes)
        pairs = [
            (self._names[output.name], text)
            for output, text in zip(program.outputs, results, strict=True)
            if output.target is None
        ]
        targets = {target for target, _ in pairs}
        late = [(target, text) for target, text in pairs if text in targets and target != text]
        for number, (_, text) in enumerate(late):
            late[number] = (late[number][0], writer.fresh(f"{text.split('.')[-1]}_before"))
            writer.line(f"{late[number][1]} = {text}")
        moved = dict(late)
        for target, text in pairs:
            if target != text:
                writer.line(f"{target} = {moved.get(target, text)}")

    def _data_sized(self, item: DataSized) -> None:
        args = [self._operand(arg) for arg in item.args if arg is not None]
        names = [self.name(target) for target in item.targets]
        match item.op:
            case "nonzero" | "masked_select" | "repeat_interleave":
                text = f"torch.ops.aten.{item.op}({', '.join(args)})"
            case "unique":
                more = len(names) == 3
                made = self._writer.fresh("unique")
                text = f"torch.ops.aten._unique2({args[0]}, True, {more}, {more})"
                self._writer.line(f"{made} = {text}")
                for number, name in enumerate(names):
                    self._writer.line(f"{name} = {made}[{number}]")
                return
            case "bincount":
                text = f"torch.ops.aten.bincount({args[0]}, minlength={(*args, '0')[1]})"
            case _:
                refuse(f"the operator {item.op}")
        self._writer.line(f"{names[0]} = {text}")

    def _list_item(self, item: ListItem) -> None:
        args = [self._operand(arg) for arg in item.args]
        owner = item.args[0] if item.args else None
        if item.op in ("append", "insert", "set", "filled", "new"):
            kind, first = _element_kind(owner if item.op != "new" else item.target), _elements(item)
            args[first:] = [self._operand(arg, kind) for arg in item.args[first:]]
        target = self.name(item.target) if item.target is not None else None
        type_ = type_of(item.target) if item.target is not None else ""
        list_operation(self._writer, item, target, type_, args)

    # -- effects -------------------------------------------------------------------------------

    def _emit(self, item: Emit) -> None:
        self._writer.at(item.location)
        if item.channel == "warning":
            message = self._texts.whole(item.text, item.location)
            self._writer.line(f"warnings.warn({message})")
            if item.label not in ("", "UserWarning"):
                self._writer.note(f"a {item.label} is a UserWarning in TorchScript", item.location)
            return
        if item.channel != "stdout":
            refuse(f"a text that goes to {item.channel}", item.location, "print it, or warn of it")
        if self._pending:
            message = self._texts.whole(item.text, item.location)
            self._writer.line(f"{self._pending} = texts.lines_of({self._pending} + {message})")
            return
        *others, last = item.text
        assert isinstance(last, str)
        self._writer.line(f"print({self._texts.whole((*others, last[:-1]), item.location)})")

    def _end_of_line(self) -> None:
        if self._pending:
            with self._writer.block(f"if len({self._pending}) > 0:"):
                self._writer.line(f"print({self._pending})")

    # -- results -------------------------------------------------------------------------------

    def returned(self) -> None:
        program, writer = self._program, self._writer
        self._end_of_line()
        names = [self._operand(output.value) for output in program.outputs]
        types = [type_of(output.value) for output in program.outputs]
        results = Results(writer, types, names)
        if program.selector is None:
            assert program.result is not None
            writer.line(f"return {results.build(program.result)}")
            return
        several = len({results.type(variant) for variant in program.variants}) > 1
        if several:
            self._method.returns_any()
        selector, result = self.name(program.selector), writer.fresh("result")
        if several:  # torch fails on values of `Any` that branches assign
            writer.line(f"{result} = torch.jit.annotate(List[Any], [])")
        count = len(program.variants)
        for number, variant in enumerate(program.variants):
            head = f"{'elif' if number else 'if'} {selector} == {number}:"
            with writer.block("else:" if number and number == count - 1 else head):
                value = results.build(variant)
                writer.line(f"{result}.append({value})" if several else f"{result} = {value}")
        writer.line(f"return {result}[0]" if several else f"return {result}")


def _require_one_category(emits: Sequence[Emit]) -> None:
    """Warnings have no category in TorchScript: with one for all, who reads them knows it."""
    labels = {item.label or "UserWarning": item for item in emits if item.channel == "warning"}
    if len(labels) > 1:
        refuse("warnings of several categories", next(reversed(labels.values())).location)


def _types(body: Body) -> dict[str, str]:
    """The type of every variable, in the order in which they come."""
    return {variable.name: type_of(variable) for variable in _variables(body)}


def _variables(body: Body) -> Iterator[Var]:
    for item in walk(body):
        yield from variables_of(item)
        if isinstance(item, Segment):
            for described, node in placeholders_of(item.program):
                if described.kind in (InputKind.USER, InputKind.SCALAR):
                    yield variable_of(described.name, node.meta["val"])
            for output, value in results_of(item.program):
                yield variable_of(output.name, value)


def _kind_of(value: Operand) -> NumberKind:
    if isinstance(value, NumberVar):
        return value.kind
    kind = kind_of_number(value)
    assert kind is not None
    return kind


def _element_kind(owner: Any) -> NumberKind | None:
    element = owner.element if isinstance(owner, ListVar) else None
    return element if isinstance(element, NumberKind) else None


def _elements(item: ListItem) -> int:
    """The first operand that is an element."""
    places: Mapping[str, int] = {"new": 0, "append": 1, "filled": 1}
    return places.get(item.op, 2)
