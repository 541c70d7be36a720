"""Convolutions through the runtime's kernels (ptc_conv.h).

Takes a conv TemplateKernel, gives the call that computes it: the image as dense channels-last
memory (written out first when it lies otherwise), filters packed when the library is opened, or at
each run when they are live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ptc.codegen.contractions import ContractionWriter, Options, Plan, has_checks, static_dim
from ptc.codegen.cpp import NAME, KernelCode
from ptc.codegen.cpp_types import ELEMENT
from ptc.codegen.epilogues import epilogue_lambda
from ptc.codegen.operands import View, view
from ptc.loops.index import Index, floordiv, product, remainder
from ptc.loops.nodes import Buffer, BufferKind, DType, Program, TemplateKernel

_AXES = 3  # the runtime's convolutions have depth, height and width


def conv_plan(kernel: TemplateKernel, program: Program, options: Options) -> Plan | None:
    """A convolution through the runtime, None where loops serve better."""
    if kernel.dtype is not DType.F32 or has_checks(kernel):
        return None
    rank = int(kernel.template[4])
    fixed = ["o", "c", "ch", *(f"k{d}" for d in range(rank))]
    if any(kernel.extents[v].constant is None for v in fixed):
        return None
    if any(not kernel.extents[v].constant for v in fixed):
        return None
    writer = _ConvWriter(kernel, program, options, rank)
    if writer.transposed and writer.filters() is None and writer.groups > 1:
        return None  # written out, filters by output channel are not what the runtime takes
    return writer.write()


class _ConvWriter(ContractionWriter):
    def __init__(
        self, kernel: TemplateKernel, program: Program, options: Options, rank: int
    ) -> None:
        super().__init__(kernel, program, options)
        self.rank = rank
        self.attrs: Mapping[str, Any] = kernel.attrs
        self.transposed = bool(kernel.attrs.get("transposed"))
        self.family = "conv_transpose" if self.transposed else "conv"
        self.groups = int(self.attrs["groups"])

    def filters(self) -> View | None:
        """The filters in place. The runtime wants them by the output channel, or when transposed by
        the output channel within its group and the input channel of all groups."""
        if not self.transposed or self.groups == 1:
            return self.operand("w")
        each = floordiv(self.kernel.extents["o"], Index.const(self.groups))
        self.ranges.declare("group", Index.const(self.groups))
        self.ranges.declare("within", each)
        at = {"o": Index.var("group") * each + Index.var("within")}
        placed = view(self.kernel, "w", self.buffers, self.ranges, at)
        if placed is None:
            return None
        strides = dict(placed.strides)
        group, strides["o"] = strides.pop("group"), strides.pop("within")
        if group != strides["c"] * self.kernel.extents["c"]:
            return None
        return replace(placed, strides=strides)

    def write(self) -> Plan:
        """The call, with the image in place or written out."""
        x = self._image()
        w = self.filters()
        packs = self.constant("w") and w is not None
        if w is None or (w.dtype is not DType.F32 and not packs):
            w = self.written_out("w", ("o", "c", *self._axes("k")))
        pixels, outputs = self._pixels()
        ctx = self.context()
        epilogue = epilogue_lambda(
            ctx,
            self.kernel.epilogue,
            DType.F32,
            [("pixel", pixels), ("o", self.kernel.extents["o"])],
            "o",
            outputs,
            aligned=int(self.attrs["groups"]) == 1,
        )
        shape = f"struct {NAME}_shape {{ static constexpr Conv conv = {{{self._shape(False)}}}; }};"
        lines = [*epilogue, f"const Conv actual = {{{self._shape(True)}}};"]
        image = self.address(x)
        scratch = f"{self.family}_scratch(actual, pool_size(run->pool))"
        if packs:
            packed = self.pointer(self._pack(w))
            lines.append(f"char* const scratch = (char*)run->reserve({scratch});")
            lines.append("if (!scratch) return STATUS_MEMORY;")
        else:
            size = f"({self.family}_packed_size(actual) * 4 + 63) / 64 * 64"
            lines.append(f"const int64_t packed_bytes = {size};")
            lines.append(f"char* const packed = (char*)run->reserve(packed_bytes + {scratch});")
            lines.append("if (!packed) return STATUS_MEMORY;")
            lines.append("char* const scratch = packed + packed_bytes;")
            lines.append(self._pack_call("(float*)packed", "actual", self.address(w), w))
            packed = "(const float*)packed"
        lines.append(
            f"{self.family}<{NAME}_shape>(run->pool, actual, {image}, {packed}, scratch, epilogue);"
        )
        headers = {f"ptc_{self.family}.h"} | ctx.headers
        code = self.function(lines, headers, 300.0 + ctx.operations * 20, status=True)
        return self.plan(
            KernelCode(
                f"{shape}\n{code.text}", code.buffers, code.sizes, True, code.headers, code.cost
            )
        )

    def _axes(self, letter: str) -> list[str]:
        return [f"{letter}{d}" for d in range(self.rank)]

    def _image(self) -> View:
        """The input as dense channels-last memory of f32."""
        order = ("n", *self._axes("p"), "ch")
        placed = self.operand("x")
        if placed is not None and placed.dtype is DType.F32 and self._is_dense(placed, order):
            return placed
        return self.written_out("x", order)

    def _is_dense(self, placed: View, order: Sequence[str]) -> bool:
        expected = Index.const(1)
        for var in reversed(order):
            if placed.strides[var] != expected and self.kernel.extents[var] != 1:
                return False
            expected = expected * self.kernel.extents[var]
        return True

    def _pixels(self) -> tuple[Index, dict[str, Index]]:
        """The number of output pixels; output variables in terms of the pixel's number."""
        extents = self.kernel.extents
        rest = Index.var("pixel")
        outputs: dict[str, Index] = {}
        for axis in reversed(self._axes("y")):
            outputs[axis] = remainder(rest, extents[axis])
            rest = floordiv(rest, extents[axis])
        outputs["n"] = rest
        return product([extents["n"], *[extents[a] for a in self._axes("y")]]), outputs

    def _padded(self, values: Sequence[str], missing: str) -> list[str]:
        """Three axes: what is missing comes first."""
        return [missing] * (_AXES - len(values)) + list(values)

    def _shape(self, at_run_time: bool) -> str:
        """The members of `Conv`; what is not known at compile time is -1, or its value."""
        extents = self.kernel.extents

        def size(var: str) -> str:
            return self.text(extents[var]) if at_run_time else static_dim(extents[var])

        def numbers(name: str) -> list[str]:
            return [str(int(v)) for v in self.attrs[name][: self.rank]]

        values = [
            size("n"),
            *self._padded([size(v) for v in self._axes("p")], "1"),
            size("ch"),
            *self._padded([size(v) for v in self._axes("y")], "1"),
            size("o"),
            *self._padded([size(v) for v in self._axes("k")], "1"),
            *self._padded(numbers("stride"), "1"),
            *self._padded(numbers("padding"), "0"),
            *self._padded(numbers("dilation"), "1"),
            str(int(self.attrs["groups"])),
            str(int(self._winograd())),
        ]
        return ", ".join(values)

    def _winograd(self) -> bool:
        """Whether the runtime may choose Winograd's algorithm: filters transformed once, and the
        output's size known then."""
        known = all(self.kernel.extents[y].constant is not None for y in self._axes("y"))
        return not self.transposed and known and self.constant("w") and self.filters() is not None

    def _pack_call(self, to: str, shape: str, source: str, w: View) -> str:
        strides = [w.strides["o"], w.strides["c"]]
        taps = self._padded([self.text(w.strides[k]) for k in self._axes("k")], "0")
        numbers = ", ".join([*map(self.text, strides), *taps])
        return f"pack_{self.family}({to}, {shape}, {source}, {numbers});"

    def _widened(self, w: View, start: str) -> tuple[list[str], View]:
        """Lines that copy low-precision filters to f32, and where they then are."""
        order = ("o", "c", *self._axes("k"))
        strides: dict[str, Index] = {}
        size = Index.const(1)
        for var in reversed(order):
            strides[var] = size
            size = size * self.kernel.extents[var]
        lines = [
            f"Scratch<float> wide({self.text(size)});",
            "if (!wide.data) return STATUS_MEMORY;",
        ]
        lines += [
            f"for (int64_t {v} = 0; {v} < {self.text(self.kernel.extents[v])}; ++{v})"
            for v in order
        ]
        to = " + ".join(f"{v} * {self.text(strides[v])}" for v in order)
        source = " + ".join(f"{v} * {self.text(w.strides[v])}" for v in order)
        lines.append(f"  wide.data[{to}] = convert<float>(in0[{start} + {source}]);")
        return lines, View(w.buffer, DType.F32, Index.const(0), strides)

    def _pack(self, w: View) -> str:
        """A prepared buffer with the packed filters."""
        start = self.text(w.start)
        source = ELEMENT[w.dtype]
        wide: list[str] = []
        if w.dtype is DType.F32:
            call = self._pack_call("out0", "shape", f"in0 + {start}", w)
        else:
            wide, dense = self._widened(w, start)
            call = self._pack_call("out0", "shape", "wide.data", dense)
        shape = f"constexpr Conv shape = {{{self._shape(False)}}};"
        name = f"packed.{w.buffer}.{start}.{self.family}.{self._shape(False)}.{call}"
        text = "\n".join([
            f"PTC_HIDDEN int64_t {NAME}_bytes() {{",
            f"  {shape}",
            f"  return {self.family}_packed_size(shape) * (int64_t)sizeof(float);",
            "}",
            f"PTC_HIDDEN int {NAME}(Run* run, float* out0, const {source}* in0) {{",
            "  (void)run;",
            f"  {shape}",
            *[f"  {line}" for line in wide],
            f"  {call}",
            "  return STATUS_OK;",
            "}",
            "",
        ])  # fmt: skip
        self.packed[name] = KernelCode(
            text, (name, w.buffer), (), True, frozenset({f"ptc_{self.family}.h"}), 15.0
        )
        self.buffers[name] = Buffer(name, DType.F32, (), (), BufferKind.PREPARED)
        return name
