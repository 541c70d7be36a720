"""A program as C++: the functions that lay out memory and call its kernels in order.

Takes an Entry and the library's function table, adds its kernels there, and gives the text of the
entry's `body`, `prepare`, `arena_bytes` and `shapes` functions (see ptc_host.h).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from ptc.codegen.context import size_ranges
from ptc.codegen.cpp_index import index_text
from ptc.codegen.cpp_types import ELEMENT
from ptc.codegen.entry import Entry
from ptc.codegen.functions import FunctionTable, identifier
from ptc.codegen.kernels import KernelCompiler
from ptc.codegen.prepared_blocks import BlockTable, PreparedBlock, PreparedCall, contents
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index, product
from ptc.loops.nodes import AnyKernel, Buffer, BufferKind, DType, Program
from ptc.loops.walk import reads, writes
from ptc.support.diagnostics import InternalError

_ALIGN = 64


@dataclass(slots=True)
class EntryCode:
    """What the host unit includes for one entry."""

    functions: str
    prepared: list[PreparedBlock]
    weights: frozenset[str]  # those that a run reads, not only `prepare`
    prepare_arena_bytes: str
    has_prepare: bool
    kernels: int
    raw_inputs: int


@dataclass(slots=True)
class _Layout:
    """Where TEMP or PREPARED buffers lie: C++ text of each one's byte offset, and of the end."""

    offsets: dict[str, str] = field(default_factory=dict[str, str])
    statements: list[str] = field(default_factory=list[str])
    end: str = "0"


class _ProgramWriter:
    def __init__(
        self,
        entry: Entry,
        number: int,
        table: FunctionTable,
        weights: Sequence[str],
        compiler: KernelCompiler,
        blocks: BlockTable,
    ) -> None:
        self.blocks = blocks
        self.entry = entry
        self.program: Program = entry.program
        self.number = number
        self.table = table
        self.weights = {name: i for i, name in enumerate(weights)}
        self.compiler = compiler
        self.ranges = Ranges({}, size_ranges(self.program.sizes))
        self.sizes = {s.symbol: s.symbol for s in self.program.sizes}
        self.prepared = [
            b.name for b in self.program.buffers.values() if b.kind is BufferKind.PREPARED
        ]
        self.zone_offsets: dict[str, str] = {}
        self.zone_types: dict[str, DType] = {}
        self.inputs = [
            name
            for name in self.program.inputs
            if self.program.buffers[name].kind is BufferKind.INPUT or compiler.live_weights
        ]

    def index(self, index: Index) -> str:
        """C++ for an index of size symbols."""
        return index_text(self.ranges.simplify(index), self.sizes, self.ranges)

    # -- memory

    def byte_size(self, buffer: Buffer) -> Index:
        """Bytes that a buffer spans."""
        if not buffer.shape:
            return Index.const(buffer.dtype.itemsize)
        dense = product(buffer.shape)
        if _compact(buffer):
            return dense * buffer.dtype.itemsize
        last = Index.const(1)
        for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
            last = last + (extent - 1) * stride
        return last * buffer.dtype.itemsize

    def lay_out(self, buffers: Iterable[Buffer], *, planned: bool) -> _Layout:
        """Offsets of `buffers`: the memory plan's, or one after the other."""
        layout = _Layout()
        fixed = 0
        for buffer in buffers:
            if planned and buffer.offset is not None:
                layout.offsets[buffer.name] = self.index(buffer.offset)
                continue
            size = self.byte_size(buffer)
            constant = size.constant
            if constant is not None and not layout.statements:
                layout.offsets[buffer.name] = str(fixed)
                fixed += (constant + _ALIGN - 1) // _ALIGN * _ALIGN
                layout.end = str(fixed)
                continue
            name = f"at{len(layout.statements)}"
            layout.offsets[buffer.name] = layout.end
            layout.statements.append(
                f"const int64_t {name} = {layout.end} + ({self.index(size)} + {_ALIGN - 1})"
                f" / {_ALIGN} * {_ALIGN};"
            )
            layout.end = name
        return layout

    def pointers(
        self, used: Iterable[str], temporaries: _Layout
    ) -> tuple[dict[str, str], list[str]]:
        """C++ name of every buffer in `used`, and the lines that declare them."""
        names: dict[str, str] = {}
        lines: list[str] = []
        taken: set[str] = set()
        for buffer_name in used:
            buffer = self.program.buffers.get(buffer_name)
            name = identifier(buffer_name)
            name = f"b_{name}" if name[0].isdigit() or name in _RESERVED else name
            while name in taken or name in self.sizes:
                name += "_"
            taken.add(name)
            names[buffer_name] = name
            if buffer is None:
                lines.append(self._own_pointer(name, buffer_name))
            else:
                lines.append(self._pointer(name, buffer, temporaries))
        return names, lines

    def _own_pointer(self, name: str, buffer: str) -> str:
        """The declaration of a buffer that code generation added."""
        if buffer in self.zone_offsets:
            element = ELEMENT[self.zone_types[buffer]]
            where = f"f->arena + zone + {self.zone_offsets[buffer]}"
            return f"{element}* const {name} = ({element}*)({where});"
        code = self.compiler.packed[buffer]
        element = code.text.split("(Run* run, ")[1].split("*")[0]
        return f"{element}* const {name} = ({element}*)f->prepared[{self.prepared.index(buffer)}];"

    def _pointer(self, name: str, buffer: Buffer, temporaries: _Layout) -> str:
        element = ELEMENT[buffer.dtype]
        shape = ", ".join(str(d) for d in buffer.shape)
        note = f"  // {buffer.dtype.value}[{shape}]"
        match buffer.kind:
            case BufferKind.INPUT | BufferKind.WEIGHT if buffer.name in self.inputs:
                where = f"f->inputs[{self.inputs.index(buffer.name)}]"
            case BufferKind.INPUT:
                raise InternalError("codegen", f"input buffer {buffer.name} is not in the inputs")
            case BufferKind.WEIGHT:
                if buffer.name not in self.weights:
                    raise InternalError("codegen", f"weight {buffer.name} is not in the table")
                where = f"f->weights[{self.weights[buffer.name]}]"
            case BufferKind.OUTPUT:
                where = f"f->outputs[{self.program.outputs.index(buffer.name)}]"
            case BufferKind.PREPARED:
                where = f"f->prepared[{self.prepared.index(buffer.name)}]"
            case BufferKind.TEMP:
                where = f"(f->arena + {temporaries.offsets[buffer.name]})"
            case BufferKind.LITERAL:
                return self._literal(name, buffer) + note
            case BufferKind.LOCAL:
                raise InternalError("codegen", f"local buffer {buffer.name} outside its kernel")
        return f"{element}* const {name} = ({element}*){where};{note}"

    def _literal(self, name: str, buffer: Buffer) -> str:
        data = buffer.data or b""
        data += bytes(-len(data) % 8)
        words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)] or [0]
        element = ELEMENT[buffer.dtype]
        text = ", ".join(f"0x{w:x}u" for w in words)
        return (
            f"alignas(64) static const uint64_t {name}_bits[] = {{{text}}}; "
            f"const {element}* const {name} = (const {element}*){name}_bits;"
        )

    # -- sequences of kernels

    def sequence(
        self, kernels: Sequence[AnyKernel], *, ahead: bool = False
    ) -> tuple[list[str], list[str]]:
        """Call lines (with `{buffer}` placeholders resolved later) and the buffers they use;
        `ahead` of a run or in it."""
        calls = self.kernel_calls(kernels, ahead=ahead)
        used = dict.fromkeys(buffer for call in calls for buffer in call.buffers)
        return [call.text for call in calls], list(used)

    def kernel_calls(self, kernels: Sequence[AnyKernel], *, ahead: bool) -> list[PreparedCall]:
        """The calls that run `kernels`."""
        made: list[PreparedCall] = []
        for kernel in kernels:
            written = frozenset(writes(kernel))
            for call in self.compiler.calls(kernel, self.program, ahead=ahead):
                unknown = [s for s in call.code.sizes if s not in self.sizes]
                if unknown:
                    raise InternalError(
                        "codegen",
                        f"kernel {kernel.name} uses {', '.join(unknown)}, no size of the program",
                    )
                name = self.table.add(call.code, kernel.name, kernel.origins)
                arguments = ["run", *[f"@{b}@" for b in call.code.buffers], *call.code.sizes]
                text = f"{name}({', '.join(arguments)})"
                if call.code.status:
                    text = f"if (const int status = {text}) return status"
                buffers = tuple(call.code.buffers)
                own = written.intersection(buffers)
                made.append(PreparedCall(name, buffers, own, f"{text};"))
        return made

    def body(self, name: str, calls: list[str], used: list[str], temporaries: _Layout) -> str:
        """A function that makes `calls`."""
        names, declarations = self.pointers(used, temporaries)
        lines = [f"static int {name}(Run* run, const Frame* f) {{", "  (void)run, (void)f;"]
        lines += [f"  const int64_t {s} = f->sizes[{i}]; (void){s};" for i, s in
                  enumerate(self.sizes)]  # fmt: skip
        lines += [f"  {line}" for line in (*temporaries.statements, *declarations)]
        for position, call in enumerate(calls):
            if position:
                lines.append("  if (run->cancelled) return STATUS_CANCELLED;")
            lines.append(f"  {_resolved(call, names)}")
        if name.startswith("body"):
            lines += [f"  {line}" for line in self._copied_outputs(names)]
        lines += ["  return STATUS_OK;", "}", ""]
        return "\n".join(lines)

    def _copied_outputs(self, names: dict[str, str]) -> list[str]:
        """Outputs that no kernel writes: sizes, inputs passed through, the same value twice."""
        lines: list[str] = []
        first: dict[str, int] = {}
        for position, output in enumerate(self.program.outputs):
            if isinstance(output, Index):
                lines.append(f"*(int64_t*)f->outputs[{position}] = {self.index(output)};")
                continue
            buffer = self.program.buffers[output]
            if buffer.kind is BufferKind.OUTPUT and first.setdefault(output, position) == position:
                continue
            if not _compact(buffer):
                raise InternalError("codegen", f"output {output} is not compact")
            size = self.index(self.byte_size(buffer))
            lines.append(
                f"__builtin_memcpy(f->outputs[{position}], {names[output]}, (size_t)({size}));"
            )
        return lines

    # -- the entry

    def write(self) -> EntryCode:
        """All functions of the entry."""
        program, n = self.program, self.number
        prepare_calls = self.kernel_calls(program.prepare, ahead=True)
        prepare_zone = self._lay_out_zones()
        calls, used = self.sequence(program.kernels)
        zone_bytes = self._lay_out_zones()
        outputs = [o for o in program.outputs if isinstance(o, str)]
        used = list(dict.fromkeys((*used, *outputs)))
        sizes = [self._constant_size(name) for name in self.prepared]
        sizes += self._packs(prepare_calls)
        blocks, prepare_calls = self._shared_blocks(sizes, prepare_calls, frozenset(used))
        prepare_used = list(dict.fromkeys(b for call in prepare_calls for b in call.buffers))
        in_prepare = {name for k in program.prepare for name in reads(k) | writes(k)}
        temporaries = [b for b in program.buffers.values() if b.kind is BufferKind.TEMP]
        arena = self.lay_out(
            [b for b in temporaries if b.name in used], planned=program.arena is not None
        )
        if program.arena is not None:
            arena.end = self.index(program.arena)
        own = self.lay_out([b for b in temporaries if b.name in in_prepare], planned=False)
        if own.statements:
            raise InternalError("codegen", "prepared weights have symbolic sizes")
        arena.statements.append(
            f"const int64_t zone = (({arena.end}) + {_ALIGN - 1}) / {_ALIGN} * {_ALIGN};"
            " (void)zone;"
        )
        own.statements.append(f"const int64_t zone = {own.end}; (void)zone;")
        texts = [self._shapes(), self._arena_bytes(arena, zone_bytes)]
        if prepare_calls:
            lines = [call.text for call in prepare_calls]
            text = self.body(f"prepare{n}", lines, prepare_used, own)
            for s in self.sizes:
                text = text.replace(f"  const int64_t {s} = f->sizes", f"  // {s}: f->sizes")
            texts.append(text)
        texts.append(self.body(f"body{n}", calls, used, arena))
        return EntryCode(
            "\n".join(texts),
            blocks,
            frozenset(self.weights.keys() & set(used)),
            f"{own.end} + ({prepare_zone})",
            bool(prepare_calls),
            len(calls),
            len(self.inputs),
        )

    def _constant_size(self, name: str) -> str:
        size = self.byte_size(self.program.buffers[name]).constant
        if size is None:
            raise InternalError("codegen", f"prepared buffer {name} has a symbolic size")
        return f"{size}, nullptr"

    def _packs(self, calls: list[PreparedCall]) -> list[str]:
        """Add the calls that pack weights; gives their sizes as the table of blocks has them."""
        sizes: list[str] = []
        for buffer, code in self.compiler.packed.items():
            self.prepared.append(buffer)
            name = self.table.add(code, "pack")
            call = f"{name}(run, {', '.join(f'@{b}@' for b in code.buffers)})"
            text = f"if (const int status = {call}) return status;" if code.status else f"{call};"
            calls.append(PreparedCall(name, tuple(code.buffers), frozenset({buffer}), text))
            sizes.append(f"0, {name}_bytes")
        return sizes

    def _shared_blocks(
        self, sizes: Sequence[str], calls: list[PreparedCall], used: frozenset[str]
    ) -> tuple[list[PreparedBlock], list[PreparedCall]]:
        """The table of blocks, and the calls but those that fill only blocks of other programs."""
        known: dict[str, Hashable] = {}
        for buffer in self.program.buffers.values():
            if buffer.kind is BufferKind.WEIGHT:
                known[buffer.name] = ("weight", buffer.name)
            elif buffer.kind is BufferKind.LITERAL:
                known[buffer.name] = ("literal", buffer.dtype, buffer.data)
        held = contents(known, calls)
        blocks: list[PreparedBlock] = []
        foreign: set[str] = set()
        for place, (name, size) in enumerate(zip(self.prepared, sizes, strict=True)):
            owner = self.blocks.enter(held.get(name), self.number, place)
            blocks.append(PreparedBlock(size, name in used, owner))
            foreign |= {name} if owner is not None else set()
        return blocks, [call for call in calls if not call.written or call.written - foreign]

    def _lay_out_zones(self) -> str:
        """Offsets of the buffers of single contractions, which share memory behind the arena."""
        ends: list[str] = []
        for buffers in self.compiler.zones:
            offset = Index.const(0)
            for buffer in buffers:
                self.zone_offsets[buffer.name] = self.index(offset)
                self.zone_types[buffer.name] = buffer.dtype
                rounded = (self.byte_size(buffer) + (_ALIGN - 1)) // _ALIGN * _ALIGN
                offset = offset + rounded
            ends.append(self.index(offset))
        self.compiler.zones.clear()
        text = "0"
        for end in dict.fromkeys(ends):
            text = end if text == "0" else f"index_max({text}, {end})"
        return text

    def _arena_bytes(self, arena: _Layout, zone_bytes: str) -> str:
        lines = [f"static int64_t arena_bytes{self.number}(const int64_t* sizes) {{"]
        lines += ["  (void)sizes;"]
        lines += [f"  const int64_t {s} = sizes[{i}]; (void){s};" for i, s in enumerate(self.sizes)]
        lines += [f"  {line}" for line in arena.statements]
        lines += [f"  return zone + {zone_bytes};", "}", ""]
        return "\n".join(lines)

    def _shapes(self) -> str:
        lines = [
            f"static void shapes{self.number}(const int64_t* sizes, int64_t* dims) {{",
            "  (void)sizes, (void)dims;",
        ]
        lines += [f"  const int64_t {s} = sizes[{i}]; (void){s};" for i, s in enumerate(self.sizes)]
        position = 0
        buffers = [*self.entry.arguments, *self.entry.output_buffers()]
        for buffer in buffers:
            for extent in buffer.shape:
                lines.append(f"  dims[{position}] = {self.index(extent)};")
                position += 1
        lines += ["}", ""]
        return "\n".join(lines)


_RESERVED_TEXT = """
    run f sizes status zone int float double bool char long short void const static return if for
    while do else auto new delete this class struct union enum template typename namespace using
    operator and or not xor register signed unsigned inline extern public private protected virtual
    friend goto switch case default break continue sizeof true false nullptr memcpy vec mask load
    store select convert exp log sin cos tan sqrt abs pow floor ceil round trunc sign fma gather
    scatter asm typedef volatile mutable throw try catch export explicit bf16 f16 detail Run Frame
    Pool
"""
#: Names in the functions that buffers must not take.
_RESERVED = frozenset(_RESERVED_TEXT.split())


def _resolved(call: str, names: dict[str, str]) -> str:
    pieces = call.split("@")
    return "".join(names[p] if i % 2 else p for i, p in enumerate(pieces))


def _compact(buffer: Buffer) -> bool:
    expected = Index.const(1)
    for extent, stride in zip(reversed(buffer.shape), reversed(buffer.strides), strict=True):
        if stride != expected and extent != 1:
            return False
        expected = expected * extent
    return True


def entry_code(
    entry: Entry,
    number: int,
    table: FunctionTable,
    weights: Sequence[str],
    compiler: KernelCompiler,
    blocks: BlockTable,
) -> EntryCode:
    """The functions of entry number `number`. `blocks`: those that earlier entries prepare."""
    return _ProgramWriter(entry, number, table, weights, compiler, blocks).write()
