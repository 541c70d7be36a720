"""Attention through the runtime's kernel (ptc_attention.h).

Takes an attention TemplateKernel, gives the call that computes it. Heads that share keys and values
are read in place; a mask is passed as booleans or as numbers to add, whichever it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ptc.codegen.contractions import ContractionWriter, Options, Plan, has_checks, static_dim
from ptc.codegen.epilogues import epilogue_lambda
from ptc.codegen.expand import operand_at
from ptc.codegen.operands import View, load_view, moving_variables, view
from ptc.loops.index import FLOORDIV, Func, Index, floordiv
from ptc.loops.nodes import Apply, DType, Expr, Literal, Load, Program, TemplateKernel

_MASK_NONE, _MASK_BOOL, _MASK_FLOAT = 0, 1, 2


def attention_plan(kernel: TemplateKernel, program: Program, options: Options) -> Plan | None:
    """Attention through the runtime, None where loops serve better."""
    if kernel.dtype is not DType.F32 or has_checks(kernel):
        return None
    writer = _AttentionWriter(kernel, program, options)
    if not all(writer.ranges.nonnegative(e - 1) for e in kernel.extents.values()):
        return None
    return writer.write()


class _AttentionWriter(ContractionWriter):
    """out[b, h, i, d] = sum over s of softmax(scale * q k + mask)[s] * v(b, h, s, d)."""

    def write(self) -> Plan:
        """The call."""
        extents = self.kernel.extents
        q = self._inner(self.operand("q"), "e") or self.written_out("q", ("b", "h", "i", "e"))
        repeats = self._repeats()
        k, v = self._shared("k", "e", repeats), self._shared("v", "d", repeats)
        if k is None or v is None:
            repeats = Index.const(1)
            k = self._shared("k", "e", repeats) or self.written_out("k", ("b", "h", "s", "e"))
            v = self._shared("v", "d", repeats) or self.written_out("v", ("b", "h", "s", "d"))
        mask, kind = self._mask()
        ctx = self.context()
        parameters = [(n, extents[n]) for n in ("b", "h", "i", "d")]
        outputs = {n: Index.var(n) for n in ("b", "h", "i", "d")}
        epilogue = epilogue_lambda(ctx, self.kernel.epilogue, DType.F32, parameters, "d", outputs)
        sizes = ["b", "h", "i", "s", "e", "d"]
        batch, heads, rows, keys, depth, columns = [self.text(extents[n]) for n in sizes]
        kv_heads = self.text(floordiv(extents["h"], repeats))
        where = self.address(mask) if mask is not None else "nullptr"
        steps = [mask.strides[n] if mask else Index.const(0) for n in ("b", "h", "i", "s")]
        values = [
            batch, heads, kv_heads, rows, keys, depth, columns,
            *[self.text(q.strides[n]) for n in ("b", "h", "i")],
            *[self.text(k.strides[n]) for n in ("b", "h", "s")],
            *[self.text(v.strides[n]) for n in ("b", "h", "s")],
            f"{float(self.kernel.attrs['scale'])!r}f",  # type: ignore[arg-type]
            "true" if self.kernel.attrs.get("causal") else "false",
            where, str(kind), *map(self.text, steps),
        ]  # fmt: skip
        pointers = ", ".join(self.address(x) for x in (q, k, v))
        lines = [
            *epilogue,
            f"const Attention shape = {{{', '.join(values)}}};",
            "void* const scratch = run->reserve(attention_scratch(shape, pool_size(run->pool)));",
            "if (!scratch) return STATUS_MEMORY;",
            f"attention<{static_dim(extents['d'])}>(run->pool, shape, {pointers}, scratch, "
            "epilogue);",
        ]
        headers = {"ptc_attention.h"} | ctx.headers
        return self.plan(self.function(lines, headers, 400.0 + ctx.operations * 20, status=True))

    def _inner(self, placed: View | None, last: str) -> View | None:
        """`placed` if the runtime can read it: f32, dense in its last dimension."""
        if placed is None or placed.dtype is not DType.F32:
            return None
        unit = placed.strides[last] == 1 or self.kernel.extents[last] == 1
        return placed if unit else None

    def _repeats(self) -> Index:
        """How many query heads share a head of keys: the divisor of `h` in the keys' index."""
        value = operand_at(self.kernel, "k", {})
        for func in _functions(value):
            divisor = func.b.constant
            if func.kind == FLOORDIV and func.a.variable == "h" and divisor is not None:
                heads = self.kernel.extents["h"].constant
                if heads is not None and heads % divisor == 0:
                    return Index.const(divisor)
        return Index.const(1)

    def _shared(self, name: str, last: str, repeats: Index) -> View | None:
        """Keys or values in place; the stride of `h` is that of their own heads."""
        if repeats == 1:
            return self._inner(self.operand(name), last)
        heads = floordiv(self.kernel.extents["h"], repeats)
        for var, extent in (("own", heads), ("copy", repeats)):
            if var not in self.ranges.bounds:
                self.ranges.declare(var, extent)
        at = {"h": Index.var("own") * repeats + Index.var("copy")}
        placed = view(self.kernel, name, self.buffers, self.ranges, at)
        if placed is None or placed.strides["copy"] != 0:
            return None
        strides = dict(placed.strides)
        strides["h"] = strides["own"]
        return self._inner(View(placed.buffer, placed.dtype, placed.start, strides), last)

    def _mask(self) -> tuple[View | None, int]:
        if "mask" not in self.kernel.operands:
            return None, _MASK_NONE
        formal = ("b", "h", "i", "s")
        value = _folded(operand_at(self.kernel, "mask", {}))
        if isinstance(value, Literal) and value.value == 0:
            return None, _MASK_NONE
        allowed = _allowed(value)
        if allowed is not None:
            placed = load_view(allowed, formal, self.buffers, self.ranges)
            if placed is not None:
                return placed, _MASK_BOOL
        placed = self.operand("mask")
        if placed is not None and placed.dtype is DType.F32:
            return placed, _MASK_FLOAT
        moving = moving_variables(self.kernel, "mask")
        order = [n for n in formal if n in moving] or ["s"]
        return self.written_out("mask", order), _MASK_FLOAT


def _folded(value: Expr) -> Expr:
    """`where` on a constant, as a mask of nothing leaves it."""
    if isinstance(value, Apply) and value.op == "where" and isinstance(value.args[0], Literal):
        return _folded(value.args[1 if value.args[0].value else 2])
    return value


def _allowed(value: Expr) -> Load | None:
    """The boolean load in `where(load, 0, -inf)`."""
    if not isinstance(value, Apply) or value.op != "where":
        return None
    condition, zero, low = value.args
    if not isinstance(condition, Load) or condition.mask is not None:
        return None
    if not isinstance(zero, Literal) or not isinstance(low, Literal):
        return None
    return condition if zero.value == 0 and low.value == -math.inf else None


def _functions(value: Expr) -> Iterator[Func]:
    """Every composite atom in the indices of a plain load."""
    while isinstance(value, Apply) and value.op == "cast":
        (value,) = value.args
    if isinstance(value, Load):
        for index in value.index:
            yield from _atoms(index)


def _atoms(index: Index) -> Iterator[Func]:
    for monomial, _ in index.terms:
        for atom in monomial:
            if isinstance(atom, Func):
                yield atom
                yield from _atoms(atom.a)
