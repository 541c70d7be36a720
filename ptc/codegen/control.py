"""The control function of a program: native `if`, `switch` and loops around calls of segments.

Takes a ControlProgram with the numbers of its segments among the library's programs, gives the text
of a struct whose members are the program's variables, and of the function that runs it (see
ptc_control_run.h). How single items look is `control_items`' business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import torch

from ptc.codegen.control_items import ItemWriter, SegmentCode, checked, tensor_type
from ptc.codegen.control_liveness import Liveness, liveness
from ptc.codegen.control_names import NUMBER_TYPES, Names, is_buffer, names_of, var_type
from ptc.codegen.entry import ControlEntry
from ptc.codegen.statements import string_literal
from ptc.graph.control import (
    Assign,
    Body,
    ControlOutput,
    If,
    Item,
    NumberKind,
    NumberVar,
    Switch,
    TensorVar,
    TextVar,
    While,
    walk,
)
from ptc.hosting.effects import NOT_SUPPORTED
from ptc.loops.nodes import Buffer, DType
from ptc.ops.dtypes import from_torch
from ptc.support.diagnostics import Location

_LOST = "which a session does not keep: assign a copy"
#: A body of more lines becomes a function of its own: compilers take more than linear time.
_PART_LINES = 120


@dataclass(frozen=True, slots=True)
class ControlCode:
    """What the host unit includes for one program with control flow."""

    functions: str
    outputs: list[str]  # rows of the table of results
    results: list[tuple[str, str]]  # their names and descriptions
    written: frozenset[str]  # inputs that it writes to


@dataclass(slots=True)
class _Writer:
    entry: ControlEntry
    number: int
    segments: Mapping[int, SegmentCode]  # by id of the Segment
    weights: Mapping[str, int]
    states: Mapping[str, int]
    names: Names = field(init=False)
    dead: Liveness = field(init=False)
    items: ItemWriter = field(init=False)
    parts: list[list[str]] = field(default_factory=list[list[str]])

    def __post_init__(self) -> None:
        self.names = names_of(self.entry.program)
        for segment in self.segments.values():
            for size in segment.entry.program.sizes:
                self.names.declare_symbol(size.symbol)
        self.dead = liveness(self.entry.program)
        self.items = ItemWriter(self.entry.program, self.names, self.segments)

    def write(self) -> ControlCode:
        """The struct, its functions, and the function of the table of entries."""
        main = self._body(self.entry.program.body)
        n = self.number
        name = f"Variables{n}"
        lines = [f"// The variables of {self.entry.interface.name}, and what it does with them."]
        lines += [f"struct {name} {{", *self._members(), ""]
        lines += self._method("enter", "Control* c, const ControlCall& call", self._enter())
        for position, part in enumerate(self.parts):
            lines += self._method(f"part{position}", "Control* c", part)
        lines += self._method("body", "Control* c", main)
        lines += self._method("leave", "Control* c", self._leave())
        lines += self._method(
            "results",
            "Control* c, const EntrySpec& entry, const ControlCall& call",
            self._results(),
        )
        drops = [f"    drop(c, &{member});" for member in self.names.references()]
        drops += ["    for (Tensor& t : results_of_segment) drop(c, &t);"]
        lines += ["  void drop_all(Control* c) {", "    (void)c;", *drops, "  }", "};", ""]
        lines += [
            f"static int control{n}(ptc_session* s, const EntrySpec& entry, "
            "const ControlCall& call) {",
            f"  return run_control<{name}>(s, entry, call);",
            "}",
            "",
        ]
        outputs = self.entry.program.outputs
        return ControlCode(
            "\n".join(lines),
            [self._output_row(o) for o in outputs],
            [(o.name, f"{o.name}: {_described(o)}") for o in outputs],
            self.entry.program.written,
        )

    @staticmethod
    def _method(name: str, parameters: str, statements: list[str]) -> list[str]:
        unused = "".join(f"(void){p.split()[-1].strip('*&')}; " for p in parameters.split(","))
        lines = [f"  int {name}({parameters}) {{", f"    {unused.rstrip()}"]
        lines += [f"    {line}" for line in statements]
        return [*lines, "    return STATUS_OK;", "  }", ""]

    def _members(self) -> list[str]:
        lines: list[str] = []
        for name, kind in sorted(self.names.types.items(), key=lambda pair: pair[1] != "Tensor"):
            lines.append(f"  {kind} {self.names.of(name)};")
        lines += [f"  int64_t {symbol};" for symbol in self.names.symbols.values()]
        most = max((s.results for s in self.segments.values()), default=0)
        lines.append(f"  Tensor results_of_segment[{max(most, 1)}];")
        return lines

    # -- beginning and end

    def _enter(self) -> list[str]:
        lines: list[str] = []
        program = self.entry.program
        offset = 0
        for position, buffer in enumerate(self.entry.interface.arguments):
            member = self.names.of(buffer.name)
            kind = self.names.types[buffer.name]
            given = f"call.inputs[{position}]"
            if kind == "Tensor":
                row = f"inputs{self.number}[{position}]"
                lines.append(
                    checked(f"bind_tensor(c, &{member}, {row}, {given}, call.dims + {offset})")
                )
            else:
                lines.append(f"{member} = load_as<{kind}>({given});")
            offset += len(buffer.shape)
        for position, size in enumerate(self.entry.interface.program.sizes):
            lines.append(f"{self.names.symbols[size.symbol]} = call.sizes[{position}];")
        for name, weight, fake in self._buffers():
            dims = ", ".join(str(int(d)) for d in fake.shape) or "0"
            kind = f"{tensor_type(fake)}, {fake.dim()}, {fake.element_size()}"
            spec = f"TensorSpec{{{string_literal(name)}, {kind}}}"
            lines.append(f"const int64_t dims_{weight}[] = {{{dims}}};")
            where = f"c->session->weights[{weight}]"
            member = self.names.of(name)
            lines.append(checked(f"bind_tensor(c, &{member}, {spec}, {where}, dims_{weight})"))
        for state in program.state:
            member, kind = self.names.of(state.variable), NUMBER_TYPES[state.variable.kind]
            lines.append(
                f"{member} = load_as<{kind}>(&c->session->state[{self.states[state.path]}]);"
            )
        for reference in program.references:
            member, kind = self.names.of(reference.variable), var_type(reference.variable)
            lines.append(f"share(c, &{member}, kept<{kind}>(c, {self.states[reference.path]}));")
        return lines

    def _buffers(self) -> list[tuple[str, int, torch.Tensor]]:
        """Name, place among the weights and fake value of every buffer that is a variable."""
        program = self.entry.program
        return [
            (i.name, self.weights[i.name], value)
            for i, value in zip(program.inputs, program.values, strict=True)
            if is_buffer(program, i)
        ]

    def _leave(self) -> list[str]:
        apart = self._apart()
        lines = [*apart]
        # Before buffers get their new content: what is kept may be what a buffer was
        for reference in self.entry.program.references:
            member = self.names.of(reference.variable)
            lines.append(checked(f"keep(c, {self.states[reference.path]}, &{member})"))
        lines += [
            checked(f"settle_buffer(c, &{self.names.of(name)}, c->session->weights[{weight}])")
            for name, weight, _ in self._buffers()
        ]
        for name, weight, _ in self._buffers():
            content = f"c->session->weights[{weight}]"
            size = f"model_spec.weights[{weight}].bytes"
            lines.append(checked(f"keep_buffer(c, {self.names.of(name)}, {content}, {size})"))
        for state in self.entry.program.state:
            member = self.names.of(state.variable)
            place = f"&c->session->state[{self.states[state.path]}]"
            lines.append(f"memcpy({place}, &{member}, sizeof {member});")
        return [*lines, "if (apart) return apart;"] if apart else lines

    def _apart(self) -> list[str]:
        """`apart`: an exception where two buffers are one tensor from now on. The session keeps a
        content for each, so that a later write to one would not be seen in the other."""
        assigned = {
            item.target.name for item in walk(self.entry.program.body) if isinstance(item, Assign)
        }
        written = {
            _kind(segment.entry.program.buffers[back.buffer])
            for segment in self.segments.values()
            for back in segment.entry.write_backs
        }
        buffers = [
            (name, (from_torch(fake.dtype), fake.dim())) for name, _, fake in self._buffers()
        ]
        lines: list[str] = []
        for (one, kind), (other, its) in combinations(buffers, 2):
            if kind == its and kind in written and not assigned.isdisjoint((one, other)):
                text = f"the buffers `{one}` and `{other}` are one tensor after this call, {_LOST}"
                raised = f"c->raise({string_literal(NOT_SUPPORTED)}, {string_literal(text)})"
                pair = f"{self.names.of(one)}, {self.names.of(other)}"
                lines.append(f"if (one_tensor({pair})) apart = {raised};")
        return ["int apart = STATUS_OK;", *lines] if lines else []

    def _results(self) -> list[str]:
        program = self.entry.program
        lines: list[str] = []
        if program.selector is not None:
            lines.append(f"c->session->variant = (int32_t){self.names.of(program.selector)};")
        for position, output in enumerate(program.outputs):
            later = any(o.value.name == output.value.name for o in program.outputs[position + 1 :])
            later = later or output.value.name in program.written
            lines.append(
                checked(
                    f"give_result(c, call.outputs[{position}], entry.outputs[{position}], "
                    f"&{self.names.of(output.value)}, {'false' if later else 'true'})"
                )
            )
        return lines

    @staticmethod
    def _output_row(output: ControlOutput) -> str:
        return f"{{{string_literal(output.name)}, {output_type(output)}}}"

    # -- bodies

    def _body(self, body: Body) -> list[str]:
        """The statements of a body; long runs of them become parts."""
        done: list[str] = []
        lines = self._drops(self.dead.before[id(body)])
        for item in body.items:
            lines += self._item(item)
            lines += self._drops(self.dead.after[id(item)])
            if len(lines) > _PART_LINES:
                done += self._part(lines)
                lines = []
        if len(done) + len(lines) > _PART_LINES:
            return self._part([*done, *lines])
        return [*done, *lines]

    def _part(self, lines: list[str]) -> list[str]:
        self.parts.append(lines)
        return [checked(f"part{len(self.parts) - 1}(c)")]

    def _drops(self, dead: frozenset[str]) -> list[str]:
        known = [name for name in sorted(dead) if name in self.names.members]
        return [f"drop(c, &{self.names.of(name)});" for name in known]

    def _item(self, item: Item) -> list[str]:
        match item:
            case If():
                where = _where(item.location, item.construct)
                lines = [
                    f"if ({self.names.of(item.condition)}) {{{where}",
                    *_indented(self._body(item.then)),
                ]
                other = self._body(item.orelse)
                if other:
                    lines += ["} else {", *_indented(other)]
                return [*lines, "}"]
            case Switch():
                lines = [
                    f"switch ({self.names.of(item.selector)}) {{"
                    f"{_where(item.location, item.construct)}"
                ]
                for number, arm in enumerate(item.arms):
                    lines += [f"  case {number}: {{", *_indented(_indented(self._body(arm)))]
                    lines += ["    break;", "  }"]
                lines += ['  default: return c->fail(STATUS_RUNTIME, "no such alternative");']
                return [*lines, "}"]
            case While():
                return [
                    f"do {{{_where(item.location, item.construct)}",
                    "  if (c->run->cancelled) return STATUS_CANCELLED;",
                    *_indented(self._body(item.body)),
                    f"}} while ({self.names.of(item.again)});",
                ]
            case _:
                return self.items.lines(item)


def _kind(buffer: Buffer) -> tuple[DType, int]:
    return buffer.dtype, len(buffer.shape)


def output_type(output: ControlOutput) -> str:
    """DLDataType, rank and item size of a result, as in TensorSpec."""
    value = output.value
    if isinstance(value, TensorVar):
        fake = value.fake
        return f"{tensor_type(fake)}, {fake.dim()}, {fake.element_size()}"
    if isinstance(value, NumberVar):
        return f"{_NUMBER_CODES[value.kind]}"
    if isinstance(value, TextVar):
        return "1, 8, 1, 1"
    if isinstance(value.element, NumberKind):
        return _NUMBER_CODES[value.element].replace(", 0, ", ", 1, ")
    return "3, 64, 1, 8"


def _described(output: ControlOutput) -> str:
    """How the header tells a result: `f32[?, 10]`, `int`, `text`, `list of f32[4]`."""
    value = output.value
    if isinstance(value, NumberVar):
        return value.kind.value
    if isinstance(value, TextVar):
        return "text"
    fake = value.fake if isinstance(value, TensorVar) else value.element
    if isinstance(fake, NumberKind):
        return f"list of {fake.value}"
    if not isinstance(fake, torch.Tensor):
        return "list of text"
    dims = ", ".join(str(d) if isinstance(d, int) else "?" for d in fake.shape)
    text = f"{from_torch(fake.dtype).value}[{dims}]"
    return text if isinstance(value, TensorVar) else f"list of {text}"


_NUMBER_CODES = {
    NumberKind.INT: "0, 64, 0, 8",
    NumberKind.FLOAT: "2, 64, 0, 8",
    NumberKind.BOOL: "6, 8, 0, 1",
}


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _where(location: Location | None, construct: str) -> str:
    """A comment with the user's construct and line."""
    place = f" {location}" if location is not None else ""
    return f"  // {construct}{place}".replace("\\", "/")


def control_code(
    entry: ControlEntry,
    number: int,
    segments: Mapping[int, SegmentCode],
    weights: Mapping[str, int],
    states: Mapping[str, int],
) -> ControlCode:
    """The control function of entry number `number`."""
    return _Writer(entry, number, segments, weights, states).write()
