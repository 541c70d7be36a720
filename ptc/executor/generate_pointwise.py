"""Pointwise operators for `generate.py`: kernels on dense pieces, and how operands get there.

A kernel computes a piece of 16 m elements, all operands in one type: f32, f64, i64 or bool. The
executor converts, broadcasts and gathers pieces (operators/pointwise.cpp). What a row of the table
says is found out by asking the rule: lowering it with other types shows what is promoted, rounded
to 16 bits first, or computed in floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ptc.executor.generated_code import Library, function_of
from ptc.executor.pointwise_table import NO_HALF, pointwise_operators
from ptc.loops.index import Index
from ptc.loops.nodes import Apply, Buffer, BufferKind, DType, Load
from ptc.loops.walk import kernel_roots, walk_expr
from ptc.ops import registry
from ptc.ops.protocol import TensorValue
from ptc.schedule.context import Context
from ptc.support.diagnostics import CompileError, InternalError

CLASSES = (DType.F32, DType.F64, DType.I64, DType.BOOL)
_REFUSED = (CompileError, TypeError, ValueError, KeyError, AttributeError)


@dataclass
class _Lowered:
    ctx: Context
    result: TensorValue
    inputs: list[str]
    places: dict[str, int]

    def casts(self, place: int) -> set[DType | None]:
        """What argument `place` is converted to where it is read (None: used as it is)."""
        found: set[DType | None] = set()
        for kernel in self.ctx.kernels:
            converted: set[int] = set()
            nodes = list(walk_expr(kernel_roots(kernel)))
            for node in nodes:
                if isinstance(node, Apply) and node.op == "cast" and self._is(node.args[0], place):
                    converted.add(id(node.args[0]))
                    found.add(node.dtype)
            found |= {None for n in nodes if self._is(n, place) and id(n) not in converted}
        return found

    def _is(self, node: Any, place: int) -> bool:
        return isinstance(node, Load) and self.places.get(node.buffer) == place


def _lower(
    op: Any, form: Sequence[str], statics: dict[str, object], types: dict[int, DType], number: DType
) -> _Lowered:
    """The rule on [16 m] tensors for `o`, numbers in memory for `n`, and what is static."""
    size = Index.var("m") * 16
    ctx = Context({"m": (0, None)}, {})
    ctx.operator = "kernel"
    values: list[Any] = []
    places: dict[str, int] = {}
    for place, (letter, argument) in enumerate(zip(form, op._schema.arguments, strict=True)):
        if letter == "o":
            buffer = Buffer(f"x{place}", types[place], (size,), (Index.const(1),), BufferKind.INPUT)
            values.append(ctx.add_buffer(buffer))
        elif letter == "n":
            whole = ctx.add_buffer(Buffer(f"x{place}", number, (), (), BufferKind.INPUT))
            values.append(ctx.load(whole, ()))
        else:
            values.append(statics[argument.name])
            continue
        places[f"x{place}"] = place
    rule = registry.lowering(op)
    assert rule is not None
    result = rule(ctx, *values)
    assert isinstance(result, TensorValue)
    return _Lowered(ctx, result, list(places), places)


def _is_tensor(argument: Any) -> bool:
    return "Tensor" in str(argument.type)


def _form(op: Any, statics: dict[str, object]) -> list[str]:
    """A letter an argument: o operand (promoted), n number, s static."""
    arguments = op._schema.arguments
    form = ["s" if a.name in statics else "o" if _is_tensor(a) else "n" for a in arguments]
    for place, letter in enumerate(form):
        if letter == "n" and _is_promoted(op, form, statics):
            form[place] = "o"
    return form


def _is_promoted(op: Any, form: Sequence[str], statics: dict[str, object]) -> bool:
    """Whether numbers that are no operands so far take part in promotion: tensors of a lower kind
    are converted."""
    operands = [n for n, letter in enumerate(form) if letter == "o"]
    for tensors, number, common in (
        (DType.I64, DType.F64, DType.F32),
        (DType.BOOL, DType.I64, DType.I64),
    ):
        try:
            lowered = _lower(op, form, statics, dict.fromkeys(operands, tensors), number)
        except _REFUSED:
            continue
        return common in lowered.casts(operands[0])
    return False


@dataclass
class _Row:
    """One variant; see `PointwiseRow` in operators/generated.h."""

    name: str
    form: str
    statics: list[str]
    rounded: int
    flags: int
    kernels: list[str]
    results: str


_VIA_FLOAT, _IDENTITY, _SEPARATE, _NO_HALF = 1, 2, 4, 8


def _row(op: Any, statics: dict[str, object], files: dict[DType, Library]) -> _Row:
    form = _form(op, statics)
    operands = [n for n, letter in enumerate(form) if letter == "o"]
    arguments = op._schema.arguments
    name = str(op).replace(".default", "").replace(".", "::", 1)
    row = _Row(name, "".join(form), [], 0, 0, [], "")
    row.statics = [_text(statics[a.name]) for n, a in enumerate(arguments) if form[n] == "s"]
    label = "_".join(["pw", *name.split("::")[1].split("."), *row.statics])
    label = "".join(c if c.isalnum() else "_" for c in label)
    for dtype in CLASSES:
        number = DType.F64 if dtype.is_float else DType.I64
        try:
            low = _lower(op, form, statics, dict.fromkeys(operands, dtype), number)
        except _REFUSED:
            row.kernels.append("nullptr")
            row.results += "-"
            continue
        if not dtype.is_float and low.result.dtype is DType.F32:
            if any(low.casts(n) != {DType.F32} for n in operands):
                raise InternalError("generate", f"{op}: integers are not converted first")
            row.flags |= _VIA_FLOAT
            row.kernels.append("nullptr")
            row.results += "f"
            continue
        text = function_of(low.ctx, [low.result], low.inputs, ["m"])
        row.results += (
            "c"
            if low.result.dtype is dtype
            else {DType.BOOL: "b", DType.I64: "l"}[low.result.dtype]
        )
        if text is None:
            row.flags |= _IDENTITY
            row.kernels.append("nullptr")
        else:
            row.kernels.append(files[dtype].add(text, f"{label}_{dtype.value}"))
    row.rounded = _rounded(op, form, statics, operands)
    row.flags |= _separate(op, form, statics, operands)
    if op in NO_HALF:
        row.flags |= _NO_HALF
    return row


def _rounded(
    op: Any, form: Sequence[str], statics: dict[str, object], operands: Sequence[int]
) -> int:
    """Which numbers (as bits) are rounded to 16 bits before use."""
    rounded = 0
    for place, letter in enumerate(form):
        alone = [*form[:place], "n", *form[place + 1 :]]
        if letter == "s" or "o" not in alone:
            continue
        try:
            low = _lower(op, alone, statics, dict.fromkeys(operands, DType.BF16), DType.F64)
        except _REFUSED:
            continue
        if DType.BF16 in low.casts(place):
            rounded |= 1 << place
    return rounded


def _separate(
    op: Any, form: Sequence[str], statics: dict[str, object], operands: Sequence[int]
) -> int:
    """Whether each operand is looked at in its own type."""
    if len(operands) < 2:
        return 0
    types: dict[int, DType] = dict(zip(operands, (DType.F32, DType.I64), strict=False))
    try:
        low = _lower(op, form, statics, types, DType.F64)
    except _REFUSED:
        return 0
    return 0 if DType.F32 in low.casts(operands[1]) else _SEPARATE


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def pointwise_files() -> dict[str, str]:
    """Name -> text of the files with kernels and of the table."""
    files = {dtype: Library(f"generated_pointwise_{dtype.value}") for dtype in CLASSES}
    rows = [_row(op, s, files) for op, variants in pointwise_operators().items() for s in variants]
    texts = {f"{library.name}.cpp": library.source() for library in files.values()}
    lines = [
        "// Written by ptc/executor/generate.py from the rules of ptc/ops.",
        '#include "generated.h"',
        "",
        "namespace ptc {",
        "",
        *[d for library in files.values() for d in library.declarations()],
        "",
        "namespace exec {",
        "",
        "const PointwiseRow pointwise_rows[] = {",
        *[_cpp(row) for row in rows],
        "};",
        "const int pointwise_row_count = sizeof pointwise_rows / sizeof *pointwise_rows;",
        "",
        "}  // namespace exec",
        "}  // namespace ptc",
        "",
    ]
    return {**texts, "generated_pointwise_rows.cpp": "\n".join(lines)}


def _cpp(row: _Row) -> str:
    statics = "|".join(row.statics)
    kernels = ", ".join(row.kernels)
    texts = ", ".join(f'"{text}"' for text in (row.name, row.form, statics))
    return f'    {{{texts}, {row.rounded}, {row.flags}, "{row.results}", {{{kernels}}}}},'
