"""Matrix products through the runtime's kernels (ptc_gemm.h).

Takes a gemm TemplateKernel, gives the calls that compute it: operands that are not regular memory
are written out first, constant right-hand sides are packed once, everything else is read where it
lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ptc.codegen.context import Context, SizeNames, size_ranges
from ptc.codegen.cpp import NAME, KernelCode, Parameters, parameters
from ptc.codegen.cpp_types import ELEMENT
from ptc.codegen.epilogues import epilogue_lambda
from ptc.codegen.operands import View, dense_view, is_constant, view
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index, floordiv, remainder
from ptc.loops.nodes import Buffer, BufferKind, Check, DType, Kernel, Program, TemplateKernel
from ptc.loops.walk import walk_statements

#: Types of sums that the runtime's matrix product has.
GEMM_TYPES = (DType.F32, DType.F64, DType.I32, DType.I64)


@dataclass(frozen=True, slots=True)
class Options:
    """What contractions need to know of the library: f32 lanes; which buffers are constant; a name
    for this contraction's own buffers that no other has."""

    lanes: int
    frozen: frozenset[BufferKind]
    written: frozenset[str]
    zone: str


@dataclass(slots=True)
class Plan:
    """The pieces of one contraction: kernels that run before, the call itself, packs made once.

    `zone` are buffers that live during this contraction only. `packed` maps a prepared buffer to
    the code that fills it (whose text also defines NAME_bytes, its size).
    """

    call: KernelCode
    before: list[Kernel] = field(default_factory=list[Kernel])
    zone: list[Buffer] = field(default_factory=list[Buffer])
    packed: dict[str, KernelCode] = field(default_factory=dict[str, KernelCode])


class ContractionWriter:
    """Parts that matrix products, convolutions and attention share."""

    def __init__(self, kernel: TemplateKernel, program: Program, options: Options) -> None:
        self.kernel = kernel
        self.program = program
        self.options = options
        self.buffers: dict[str, Buffer] = dict(program.buffers)
        self.ranges = Ranges(kernel.extents, size_ranges(program.sizes))
        self.before: list[Kernel] = []
        self.zone: list[Buffer] = []
        self.packed: dict[str, KernelCode] = {}
        self.names = SizeNames()
        self.memory: dict[str, str] = {}
        self.written = frozenset(name for name in parameters(kernel.epilogue, {}).written)

    def operand(self, name: str) -> View | None:
        """The operand in place, if its memory is regular."""
        return view(self.kernel, name, self.buffers, self.ranges)

    def written_out(self, name: str, order: Sequence[str]) -> View:
        """The operand evaluated into a zone buffer with dimensions `order`."""
        made, buffer, fill = dense_view(self.kernel, name, order, f"{self.options.zone}.{name}")
        self.before.append(fill)
        self.zone.append(buffer)
        self.buffers[buffer.name] = buffer
        return made

    def constant(self, name: str) -> bool:
        """Whether the operand is known when the library is opened."""
        return is_constant(
            self.kernel, name, self.buffers, self.options.frozen, self.options.written
        )

    def pointer(self, buffer: str) -> str:
        """The C++ name of a buffer's parameter."""
        if buffer not in self.memory:
            outputs = sum(b in self.written for b in self.memory)
            if buffer in self.written:
                self.memory[buffer] = f"out{outputs}"
            else:
                self.memory[buffer] = f"in{len(self.memory) - outputs}"
        return self.memory[buffer]

    def context(self) -> Context:
        """A context for the epilogue, whose buffers become parameters."""
        for name in parameters(self.kernel.epilogue, {}).names:
            self.pointer(name)
        return Context(
            lanes_max=self.options.lanes,
            buffers=self.buffers,
            memory=self.memory,
            ranges=Ranges({}, size_ranges(self.program.sizes)),
            names=self.names,
        )

    def text(self, index: Index) -> str:
        """C++ for an index of size symbols, as an argument."""
        return self._plain_context().text(index)

    def address(self, operand: View) -> str:
        """C++ for the operand's first element."""
        name = self.pointer(operand.buffer)
        return name if operand.start == 0 else f"{name} + {self.text(operand.start)}"

    def _plain_context(self) -> Context:
        return Context(
            lanes_max=self.options.lanes,
            buffers=self.buffers,
            memory=self.memory,
            ranges=self.ranges,
            names=self.names,
        )

    def function(
        self, lines: Sequence[str], headers: set[str], cost: float, *, status: bool
    ) -> KernelCode:
        """`lines` as the body of the call's function."""
        declared = Parameters(self.memory, self.written).declaration(self.buffers)
        sizes = "".join(f", int64_t {self.names[s]}" for s in self.names.sizes)
        result = "int" if status else "void"
        text = [f"PTC_HIDDEN {result} {NAME}(Run* run, {declared}{sizes}) {{"]
        text += [f"  {line}" for line in lines]
        text += ["  return STATUS_OK;"] if status else []
        text += ["}", ""]
        return KernelCode(
            "\n".join(text), tuple(self.memory), tuple(self.names.sizes), status,
            frozenset(headers), cost,
        )  # fmt: skip

    def plan(self, call: KernelCode) -> Plan:
        """Everything together."""
        return Plan(call, self.before, self.zone, self.packed)


def static_dim(extent: Index) -> str:
    """A template argument: the extent, -1 when it is not known."""
    return str(extent.constant) if extent.constant is not None else "-1"


def gemm_plan(kernel: TemplateKernel, program: Program, options: Options) -> Plan | None:
    """A matrix product through the runtime, None where loops serve better."""
    if kernel.dtype not in GEMM_TYPES or has_checks(kernel):
        return None
    writer = _GemmWriter(kernel, program, options)
    if not writer.ranges.nonnegative(kernel.extents["k"] - 1):
        return None  # sums of nothing are zero; the runtime's kernels want something to sum
    return writer.write()


def has_checks(kernel: TemplateKernel) -> bool:
    """Whether the epilogue may fail, which the runtime's kernels cannot pass on."""
    return any(isinstance(s, Check) for s in walk_statements(kernel.epilogue))


class _GemmWriter(ContractionWriter):
    """out[b, m, n] = sum over k of a(b, m, k) * b(b, k, n)."""

    def write(self) -> Plan:
        extents = self.kernel.extents
        a = self.operand("a") or self.written_out("a", ("b", "m", "k"))
        packs = self.constant("b") and self._one_matrix("b")
        if packs and (a.dtype is not self.kernel.dtype or a.strides["k"] != 1):
            a = self.written_out("a", ("b", "m", "k"))
        b = self.operand("b")
        if b is None:
            packs = False
            b = self.written_out("b", ("b", "k", "n"))
        rows, outputs, parameters = self._rows(a, b)
        batched = len(parameters) == 3
        packs = packs and not batched
        ctx = self.context()
        epilogue = epilogue_lambda(
            ctx, self.kernel.epilogue, self.kernel.dtype, parameters, "n", outputs
        )
        if packs:
            call = self._packed_call(a, b, rows)
        else:
            call = self._call(a, b, rows, batched)
        dims = f"Dims<{static_dim(rows)}, {static_dim(extents['n'])}>"
        lines = [*epilogue, *[line.replace("@DIMS@", dims) for line in call]]
        headers = {"ptc_gemm.h"} | ctx.headers
        cost = 150.0 + ctx.operations * 20
        return self.plan(self.function(lines, headers, cost, status=not packs))

    def _one_matrix(self, name: str) -> bool:
        """Whether the operand is the same for every batch."""
        placed = self.operand(name)
        one_batch = self.kernel.extents["b"] == 1
        return one_batch or (placed is not None and placed.strides["b"] == 0)

    def _rows(self, a: View, b: View) -> tuple[Index, Mapping[str, Index], list[tuple[str, Index]]]:
        """Rows of one product; the output variables in terms of the epilogue's parameters."""
        extents = self.kernel.extents
        batch, m, n = extents["b"], extents["m"], extents["n"]
        if batch == 1:
            outputs = {"b": Index.const(0), "m": Index.var("row")}
            return m, outputs, [("row", m), ("n", n)]
        if b.strides["b"] == 0 and (m == 1 or a.strides["b"] == a.strides["m"] * m):
            row = Index.var("row")
            outputs = {"b": floordiv(row, m), "m": remainder(row, m)}
            return batch * m, outputs, [("row", batch * m), ("n", n)]
        outputs = {"b": Index.var("batch"), "m": Index.var("row")}
        return m, outputs, [("batch", batch), ("row", m), ("n", n)]

    def _row_stride(self, a: View) -> Index:
        """Elements from row to row; with one row a batch, from batch to batch."""
        extents = self.kernel.extents
        if extents["m"] == 1 and extents["b"] != 1:
            return a.strides["b"]
        return a.strides["m"]

    def _packed_call(self, a: View, b: View, rows: Index) -> list[str]:
        extents = self.kernel.extents
        element = ELEMENT[self.kernel.dtype]
        name = self._pack(b, element)
        k, n = self.text(extents["k"]), self.text(extents["n"])
        return [
            f"gemm_packed<@DIMS@>(run->pool, {self.text(rows)}, {n}, {k}, {self.address(a)}, "
            f"{self.text(self._row_stride(a))}, {self.pointer(name)}, epilogue);"
        ]

    def _pack(self, b: View, element: str) -> str:
        """A prepared buffer with the packed right-hand side."""
        extents = self.kernel.extents
        k, n = self.text(extents["k"]), self.text(extents["n"])
        stride_k, stride_n = self.text(b.strides["k"]), self.text(b.strides["n"])
        start = self.text(b.start)
        name = f"packed.{b.buffer}.{start}.{k}.{n}.{stride_k}.{stride_n}.{element}"
        source = ELEMENT[b.dtype]
        text = "\n".join([
            f"PTC_HIDDEN int64_t {NAME}_bytes() {{",
            f"  return packed_b_size<{element}>({k}, {n}) * (int64_t)sizeof({element});",
            "}",
            f"PTC_HIDDEN void {NAME}(Run* run, {element}* out0, const {source}* in0) {{",
            "  (void)run;",
            f"  pack_b(out0, in0 + {start}, {k}, {n}, {stride_k}, {stride_n});",
            "}",
            "",
        ])  # fmt: skip
        self.packed[name] = KernelCode(
            text, (name, b.buffer), (), False, frozenset({"ptc_gemm.h"}), 15.0
        )
        self.buffers[name] = Buffer(name, self.kernel.dtype, (), (), BufferKind.PREPARED)
        return name

    def _call(self, a: View, b: View, rows: Index, batched: bool) -> list[str]:
        extents = self.kernel.extents
        element = ELEMENT[self.kernel.dtype]
        left = ELEMENT[a.dtype]
        k, n = self.text(extents["k"]), self.text(extents["n"])
        row_stride = self._row_stride(a)
        size = (
            f"gemm_scratch<{element}, {left}>({self.text(rows)}, {k}, "
            f"{self.text(a.strides['k'])}, pool_size(run->pool))"
        )
        a_strides = [row_stride, a.strides["k"]]
        b_strides = [b.strides["k"], b.strides["n"]]
        if batched:
            a_strides.insert(0, a.strides["b"])
            b_strides.insert(0, b.strides["b"])
        a_text = ", ".join([self.address(a), *map(self.text, a_strides)])
        b_text = ", ".join([self.address(b), *map(self.text, b_strides)])
        name = "gemm_batched" if batched else "gemm"
        batch = f"{self.text(extents['b'])}, " if batched else ""
        return [
            f"void* const scratch = run->reserve({size});",
            "if (!scratch) return STATUS_MEMORY;",
            f"{name}<{element}, @DIMS@>(run->pool, {batch}{self.text(rows)}, {n}, {k}, "
            f"{a_text}, {b_text}, scratch, epilogue);",
        ]
