"""Operands of contractions: read in place where their memory is regular, else written out first.

Takes an Operand of a TemplateKernel, gives a `View` (buffer, start, stride of each template
variable), or the kernel that evaluates it into a dense buffer. Knows nothing of the contraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptc.codegen.expand import operand_at
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Apply,
    Buffer,
    BufferKind,
    DType,
    Expr,
    IndexValue,
    Kernel,
    Load,
    Loop,
    LoopKind,
    Stmt,
    Store,
    TemplateKernel,
)
from ptc.loops.templates import TEMPLATES
from ptc.loops.walk import walk_expr


@dataclass(frozen=True, slots=True)
class View:
    """Element (i, j, ...) of an operand is `buffer[start + i * strides[i's name] + ...]`."""

    buffer: str
    dtype: DType
    start: Index
    strides: Mapping[str, Index]


def view(
    kernel: TemplateKernel,
    name: str,
    buffers: Mapping[str, Buffer],
    ranges: Ranges,
    at: Mapping[str, Index] | None = None,
) -> View | None:
    """The operand in place; None if it is computed, masked or irregular.

    `at` replaces template variables by expressions of others, which then have strides instead.
    """
    value: Expr = operand_at(kernel, name, at or {})
    if isinstance(value, Apply) and value.op == "cast" and value.dtype is kernel.dtype:
        (value,) = value.args
    if not isinstance(value, Load) or value.mask is not None or value.dtype is DType.BOOL:
        return None
    formal = TEMPLATES[kernel.template].operands[name]
    return load_view(value, _replaced(formal, at or {}), buffers, ranges)


def _replaced(formal: Sequence[str], at: Mapping[str, Index]) -> tuple[str, ...]:
    names = [n for v in formal for n in (sorted(at[v].vars) if v in at else [v])]
    return tuple(dict.fromkeys(names))


def load_view(
    value: Load, formal: Sequence[str], buffers: Mapping[str, Buffer], ranges: Ranges
) -> View | None:
    """A load as a function of the variables `formal`, if it is linear in them."""
    offset = Index.const(0)
    for position, stride in zip(value.index, buffers[value.buffer].strides, strict=True):
        offset = offset + position * stride
    offset = ranges.simplify(offset)
    strides: dict[str, Index] = {}
    for var in formal:
        stride = offset.coefficient(var)
        if stride is None or not stride.vars.isdisjoint(formal):
            return None
        strides[var] = stride
    start = offset
    for var, stride in strides.items():
        start = start - stride * Index.var(var)
    return View(value.buffer, value.dtype, start, strides)


def is_constant(
    kernel: TemplateKernel, name: str, buffers: Mapping[str, Buffer], frozen: frozenset[BufferKind],
    written: frozenset[str],
) -> bool:  # fmt: skip
    """Whether the operand is known before any run."""
    loads = [e for e in walk_expr([kernel.operands[name].value]) if isinstance(e, Load)]
    return all(buffers[load.buffer].kind in frozen and load.buffer not in written for load in loads)


def moving_variables(kernel: TemplateKernel, name: str) -> frozenset[str]:
    """Template variables that the operand's value depends on."""
    found: set[str] = set()
    for node in walk_expr([operand_at(kernel, name, {})]):
        if isinstance(node, Load):
            found.update(*[i.vars for i in node.index])
        elif isinstance(node, IndexValue):
            found.update(node.index.vars)
    return frozenset(found)


def dense_view(
    kernel: TemplateKernel, name: str, order: Sequence[str], buffer: str
) -> tuple[View, Buffer, Kernel]:
    """The operand evaluated into a fresh dense buffer with dimensions `order`, the last innermost.

    Variables that are not in `order` must not matter; their strides are 0. Returns the view, the
    buffer, and the kernel that fills it.
    """
    shape = tuple(kernel.extents[v] for v in order)
    strides: list[Index] = []
    size = Index.const(1)
    for extent in reversed(shape):
        strides.append(size)
        size = size * extent
    strides.reverse()
    made = Buffer(buffer, kernel.dtype, shape, tuple(strides), BufferKind.TEMP)
    value = operand_at(kernel, name, {})
    indices = tuple(Index.var(v) for v in order)
    body: tuple[Stmt, ...] = (Store(buffer, indices, value),)
    for position, var in enumerate(reversed(order)):
        kind = LoopKind.VECTOR if position == 0 else LoopKind.PARALLEL
        body = (Loop(var, kernel.extents[var], kind, body),)
    fill = Kernel(f"{kernel.name}_{name}", body, (), kernel.origins)
    formal = TEMPLATES[kernel.template].operands[name]
    by_name = {v: Index.const(0) for v in formal} | dict(zip(order, strides, strict=True))
    return View(buffer, kernel.dtype, Index.const(0), by_name), made, fill
