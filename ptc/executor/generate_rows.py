"""Operators along one dimension for `generate.py`: reductions, scans, softmax, norms of rows.

A kernel works on rows [o, n], or on [o, n, i] along the middle; which ones there are says the
table `ROWS`. operators/rows.cpp brings tensors into that shape and to f32, f64, i64 or bool.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ptc.executor.generated_code import Library, function_of
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, BufferKind, DType
from ptc.ops import registry
from ptc.ops.opaque import OPERATORS as opaque
from ptc.schedule.context import Context, dense_strides

aten = torch.ops.aten
CLASSES = (DType.F32, DType.F64, DType.I64, DType.BOOL)
FLOATS, NUMBERS = CLASSES[:2], CLASSES[:3]


@dataclass(frozen=True)
class Rows:
    """A kernel: its name, the operator, its arguments, the types it is made in, and whether also
    for [o, n, i].

    Arguments: `X` is the tensor, `ROW` one with the size of a row, `NUMBER` an f64 in memory,
    `SIZES` the size of a row; others are as they are. `results` of the operator's results are asked
    for, the first `skip` left out.
    """

    name: str
    op: Any
    arguments: tuple[object, ...]
    types: Sequence[DType] = FLOATS
    inner: bool = False
    results: int = 1
    skip: int = 0


X, ROW, NUMBER, SIZES = (object() for _ in range(4))

ROWS = (
    Rows("sum", aten.sum.dim_IntList, (X, [1], False, None), NUMBERS, inner=True),
    Rows("mean", aten.mean.dim, (X, [1], False, None), inner=True),
    Rows("prod", aten.prod.dim_int, (X, 1, False, None), NUMBERS),
    Rows("amax", aten.amax.default, (X, [1], False), CLASSES, inner=True),
    Rows("amin", aten.amin.default, (X, [1], False), CLASSES, inner=True),
    Rows("argmax", aten.argmax.default, (X, 1, False), NUMBERS),
    Rows("argmin", aten.argmin.default, (X, 1, False), NUMBERS),
    Rows("any", aten.any.dim, (X, 1, False), (DType.BOOL,)),
    Rows("all", aten.all.dim, (X, 1, False), (DType.BOOL,)),
    Rows("var", aten.var.correction, (X, [1], NUMBER, False)),
    *[
        Rows(f"norm_{name}", aten.linalg_vector_norm.default, (X, order, [1], False, None))
        for name, order in (
            ("inf", math.inf), ("-inf", -math.inf), ("0", 0), ("1", 1), ("2", 2), ("p", NUMBER)
        )
    ],
    Rows("softmax", aten._softmax.default, (X, 1, False), inner=True),
    Rows("log_softmax", aten._log_softmax.default, (X, 1, False)),
    Rows("cumsum", aten.cumsum.default, (X, 1, None), NUMBERS),
    Rows("cumprod", aten.cumprod.default, (X, 1, None), NUMBERS),
    Rows("cummax", aten.cummax.default, (X, 1), NUMBERS, results=2),
    Rows("cummin", aten.cummin.default, (X, 1), NUMBERS, results=2),
    Rows("logcumsumexp", aten.logcumsumexp.default, (X, 1)),
    Rows(
        "statistics", aten.native_layer_norm.default, (X, SIZES, None, None, NUMBER),
        skip=1, results=2,
    ),
    Rows("rms_norm", opaque.rms_norm.default, (X, SIZES, None, NUMBER)),
    Rows("rms_norm_affine", opaque.rms_norm.default, (X, SIZES, ROW, NUMBER)),
)  # fmt: skip


def _kernel(row: Rows, dtype: DType, inner: bool) -> str:
    """The function for tensors of `dtype`."""
    names = ["o", "n", *(["i"] if inner else [])]
    ctx = Context(dict.fromkeys(names, (0, None)), {})
    ctx.operator = "kernel"
    shape = tuple([Index.var(n) for n in names])
    inputs: list[str] = []

    def place(name: str, kind: DType, sizes: tuple[Index, ...]) -> Any:
        inputs.append(name)
        return ctx.add_buffer(Buffer(name, kind, sizes, dense_strides(sizes), BufferKind.INPUT))

    values: list[Any] = []
    for number, argument in enumerate(row.arguments):
        if argument is X:
            values.append(place("x", dtype, shape))
        elif argument is ROW:
            values.append(place(f"row{number}", dtype, shape[1:2]))
        elif argument is NUMBER:
            values.append(ctx.load(place(f"number{number}", DType.F64, ()), ()))
        else:
            values.append(list(shape[1:2]) if argument is SIZES else argument)
    rule = registry.lowering(row.op)
    assert rule is not None
    result = rule(ctx, *values)
    results = list(result) if isinstance(result, tuple | list) else [result]
    wanted = results[row.skip : row.skip + row.results]
    text = function_of(ctx, wanted, inputs, names)
    assert text is not None
    return text


def row_files() -> dict[str, str]:
    """Name -> text of the kernels and the table."""
    library = Library("generated_rows")
    lines: list[str] = []
    for row in ROWS:
        for inner in (False, True)[: 1 + row.inner]:
            name = row.name + "_inner" * inner
            label = f"rows_{name.replace('-', 'minus_')}"
            found = [
                library.add(_kernel(row, dtype, inner), f"{label}_{dtype.value}")
                if dtype in row.types
                else "nullptr"
                for dtype in CLASSES
            ]
            lines.append(f'    {{"{name}", {{{", ".join(found)}}}}},')
    table = [
        "",
        "namespace ptc::exec {",
        "",
        "const RowsKernel rows_kernels[] = {",
        *lines,
        "};",
        "const int rows_kernel_count = sizeof rows_kernels / sizeof *rows_kernels;",
        "",
        "}  // namespace ptc::exec",
        "",
    ]
    return {"generated_rows.cpp": library.source() + "\n".join(table)}
