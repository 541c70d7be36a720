"""Extern kernels: calls of runtime routines on whole buffers.

Takes an ExternKernel, gives a function that walks the lines of its buffers and calls the routine
(`ptc.loops.externs` states what each must do). One writer a routine, in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptc.codegen.context import SizeNames, size_ranges
from ptc.codegen.cpp import NAME, KernelCode
from ptc.codegen.cpp_index import index_text, operand_text
from ptc.codegen.cpp_types import ELEMENT
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index, product
from ptc.loops.nodes import Buffer, ExternKernel, Program
from ptc.loops.random_numbers import ROUTINES as RANDOM_ROUTINES
from ptc.support.diagnostics import InternalError


class _Writer:
    """Names of parameters and sizes of one extern call."""

    def __init__(self, kernel: ExternKernel, program: Program) -> None:
        self.kernel = kernel
        self.inputs = [program.buffers[n] for n in kernel.inputs]
        self.outputs = [program.buffers[n] for n in kernel.outputs]
        self.names = SizeNames()
        self.ranges = Ranges({}, size_ranges(program.sizes))

    def text(self, index: Index) -> str:
        """C++ for an index of size symbols."""
        return index_text(self.ranges.simplify(index), self.names, self.ranges)

    def operand(self, index: Index) -> str:
        """The same as an operand of a product."""
        return operand_text(self.ranges.simplify(index), self.names, self.ranges)

    def number(self, value: Any) -> Index:
        """An attribute that is a size."""
        return value if isinstance(value, Index) else Index.const(int(value))

    def code(self, lines: Sequence[str], headers: set[str]) -> KernelCode:
        """The function around `lines`, which may use `run`, in0..., out0..."""
        parameters = [f"const {ELEMENT[b.dtype]}* in{i}" for i, b in enumerate(self.inputs)]
        parameters += [f"{ELEMENT[b.dtype]}* out{i}" for i, b in enumerate(self.outputs)]
        parameters += [f"int64_t {self.names[s]}" for s in self.names.sizes]
        head = f"PTC_HIDDEN int {NAME}(Run* run, {', '.join(parameters)}) {{"
        text = [head, *[f"  {line}" for line in lines], "  return STATUS_OK;", "}", ""]
        return KernelCode(
            "\n".join(text),
            (*self.kernel.inputs, *self.kernel.outputs),
            tuple(self.names.sizes),
            True,
            frozenset(headers),
            80.0,
        )

    def lines_of(self, dim: int) -> tuple[list[str], int]:
        """Loops over all dimensions of input 0 but `dim`, and how deep they are."""
        lines: list[str] = []
        depth = 0
        for d, extent in enumerate(self.inputs[0].shape):
            if d != dim:
                lines.append(
                    f"{'  ' * depth}for (int64_t i{d} = 0; i{d} < {self.text(extent)}; ++i{d})"
                )
                depth += 1
        return lines, depth

    def line_start(self, name: str, buffer: Buffer, dim: int) -> str:
        """The address of the current line of a buffer."""
        terms = [
            f" + i{d} * {self.operand(stride)}"
            for d, stride in enumerate(buffer.strides)
            if d != dim
        ]
        return f"{name}{''.join(terms)}"


def _ordered(writer: _Writer, routine: str, options: Sequence[str]) -> KernelCode:
    """Values and positions of each line, by `NAME_line` with `NAME_scratch` of ptc_NAME.h."""
    x, (values, positions) = writer.inputs[0], writer.outputs
    header = {f"ptc_{routine}.h"}
    rank = max(len(x.shape), 1)
    dim = int(writer.kernel.attrs["dim"]) % rank  # type: ignore[call-overload]
    if not x.shape:
        return writer.code(["out0[0] = in0[0];", "out1[0] = 0;", "(void)run;"], header)
    n = writer.text(x.shape[dim])
    loops, depth = writer.lines_of(dim)
    arguments = [writer.line_start("in0", x, dim), writer.text(x.strides[dim]), n, *options]
    for name, buffer in (("out0", values), ("out1", positions)):
        arguments += [writer.line_start(name, buffer, dim), writer.text(buffer.strides[dim])]
    call = f"{'  ' * depth}{routine}_line({', '.join(arguments)}, scratch);"
    size = f"{routine}_scratch<{ELEMENT[x.dtype]}>({n})"
    reserve = f"void* const scratch = run->reserve({size});"
    failed = "if (!scratch) return STATUS_MEMORY;"
    return writer.code([reserve, failed, *loops, call], header)


def _sort(writer: _Writer) -> KernelCode:
    return _ordered(writer, "sort", [_flag(writer.kernel.attrs["descending"])])


def _topk(writer: _Writer) -> KernelCode:
    attrs = writer.kernel.attrs
    count = writer.text(writer.number(attrs["k"]))
    return _ordered(writer, "topk", [count, _flag(attrs["largest"]), _flag(attrs["ordered"])])


def _linear_algebra(
    function: str,
    sizes: Callable[[_Writer], Sequence[Index]],
    *flags: str,
    header: str = "ptc_linalg.h",
) -> Callable[[_Writer], KernelCode]:
    """A call of `function` of a header with `sizes`, the attributes `flags` and all buffers, which
    are dense."""

    def write(writer: _Writer) -> KernelCode:
        arguments = [writer.text(size) for size in sizes(writer)]
        arguments += [_flag(writer.kernel.attrs[name]) for name in flags]
        arguments += [f"in{n}" for n in range(len(writer.inputs))]
        arguments += [f"out{n}" for n in range(len(writer.outputs))]
        call = f"const int status = {function}(run, {', '.join(arguments)});"
        return writer.code([call, "if (status) return status;"], {header})

    return write


def _random(writer: _Writer) -> KernelCode:
    """A call of the routine of ptc_random.h with the number of elements drawn and all buffers."""
    arguments = [writer.text(product(writer.outputs[0].shape))]
    arguments += [f"in{n}" for n in range(len(writer.inputs))]
    arguments += [f"out{n}" for n in range(len(writer.outputs))]
    call = f"{writer.kernel.function}({', '.join(arguments)});"
    return writer.code([call, "(void)run;"], {"ptc_random.h"})


def _fourier(writer: _Writer) -> KernelCode:
    """A call of ptc_fft.h: lines and their length (that of the real numbers, if there are any), the
    attributes, all buffers, which are dense."""
    inverse = writer.kernel.function == "irfft"
    line = writer.outputs[0] if inverse else writer.inputs[0]
    attrs = writer.kernel.attrs
    arguments = [writer.text(product(line.shape[:-1])), writer.text(line.shape[-1])]
    arguments += [_flag(attrs["forward"])] if "forward" in attrs else []
    arguments += [str(attrs["normalization"])]
    arguments += [f"in{n}" for n in range(len(writer.inputs))]
    arguments += [f"out{n}" for n in range(len(writer.outputs))]
    call = f"const int status = {writer.kernel.function}(run, {', '.join(arguments)});"
    return writer.code([call, "if (status) return status;"], {"ptc_fft.h"})


def _matrices(buffer: Buffer) -> tuple[Index, Index, Index]:
    """How many matrices a buffer has, their rows and columns."""
    return product(buffer.shape[:-2]), buffer.shape[-2], buffer.shape[-1]


def _order_sizes(writer: _Writer) -> Sequence[Index]:
    order = writer.outputs[0].shape
    return product(order[:-1]), order[-1], writer.inputs[0].shape[-1]


def _qr_sizes(writer: _Writer) -> Sequence[Index]:
    q, r = writer.outputs
    return *_matrices(writer.inputs[0]), q.shape[-1], r.shape[-2]


def _reflections_sizes(writer: _Writer) -> Sequence[Index]:
    return *_matrices(writer.inputs[0]), writer.inputs[1].shape[-1]


def _svd_sizes(writer: _Writer) -> Sequence[Index]:
    u, _, vh, _ = writer.outputs
    return *_matrices(writer.inputs[0]), u.shape[-1], vh.shape[-2]


def _square_sizes(writer: _Writer) -> Sequence[Index]:
    return _matrices(writer.inputs[0])[:2]


_SPECTRAL = "ptc_spectral.h"


def _flag(value: object) -> str:
    return "true" if value else "false"


ROUTINES: Mapping[str, Callable[[_Writer], KernelCode]] = {
    "sort": _sort,
    "topk": _topk,
    "lu": _linear_algebra("lu_factor", lambda writer: _matrices(writer.inputs[0])),
    "lu_solve": _linear_algebra(
        "lu_solve", lambda writer: _matrices(writer.inputs[2]), "transposed"
    ),
    "lu_order": _linear_algebra("lu_order", _order_sizes),
    "solve_triangular": _linear_algebra(
        "solve_triangular", lambda writer: _matrices(writer.inputs[1]),
        "transposed", "upper", "unit",
    ),
    "cholesky": _linear_algebra("cholesky", _square_sizes),
    "qr": _linear_algebra("qr", _qr_sizes),
    "fft": _fourier,
    "rfft": _fourier,
    "irfft": _fourier,
    "householder_product": _linear_algebra("householder_product", _reflections_sizes),
    "eigh": _linear_algebra("eigh", _square_sizes, "upper", header=_SPECTRAL),
    "eigvalsh": _linear_algebra("eigvalsh", _square_sizes, "upper", header=_SPECTRAL),
    "svd": _linear_algebra("svd", _svd_sizes, header=_SPECTRAL),
    "matrix_exp": _linear_algebra("matrix_exp", _square_sizes, header=_SPECTRAL),
    **dict.fromkeys(RANDOM_ROUTINES, _random),
}  # fmt: skip


def extern_code(kernel: ExternKernel, program: Program) -> KernelCode:
    """The function that does an extern kernel's work."""
    routine = ROUTINES.get(kernel.function)
    if routine is None:
        raise InternalError("codegen", f"no runtime routine is called {kernel.function}")
    return routine(_Writer(kernel, program))
