"""Random programs: loop kinds, views, masks, reductions and types in any combination.

A program holds several small kernels, since starting the compiler costs more than compiling one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from harness import compare, compile_entries, random_inputs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptc.codegen.entry import Entry
from ptc.loops import build
from ptc.loops.index import Index
from ptc.loops.nodes import (
    Accumulator,
    Buffer,
    BufferKind,
    DType,
    Expr,
    Kernel,
    Let,
    Load,
    Loop,
    LoopKind,
    Program,
    Ref,
    Stmt,
    Store,
    Update,
)
from ptc.loops.scalar_numpy import identity
from ptc.loops.verifier import verify

TYPES = (DType.F32, DType.F64, DType.I64, DType.I32, DType.BOOL, DType.BF16, DType.U8)
OUTER = (LoopKind.PARALLEL, LoopKind.SERIAL)
KERNELS = 6


@dataclass
class Maker:
    """Draws one program."""

    draw: st.DrawFn
    buffers: dict[str, Buffer] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def pick(self, *options: object) -> object:
        return self.draw(st.sampled_from(options))

    def buffer(self, kind: BufferKind, dtype: DType, shape: list[int]) -> Buffer:
        """A fresh buffer with its dimensions in any order in memory."""
        order = self.draw(st.permutations(range(len(shape))))
        strides = [0] * len(shape)
        size = 1
        for dim in order:
            strides[dim] = size
            size *= shape[dim]
        name = f"{kind.value}{len(self.buffers)}"
        made = Buffer(
            name, dtype, tuple(map(Index.const, shape)), tuple(map(Index.const, strides)), kind
        )
        self.buffers[name] = made
        (self.inputs if kind is BufferKind.INPUT else self.outputs).append(name)
        return made

    def leaf(self, variables: dict[str, int]) -> Expr:
        """A load of a fresh input in one of several ways, or a position."""
        names = list(variables)
        dtype = self.pick(*TYPES)
        way = self.pick("plain", "plain", "some", "shifted", "reshaped", "position")
        if way == "position":
            return build.index_value(Index.var(self.pick(*names)) * self.pick(1, 3) + 1)
        if way == "some":
            names = self.draw(st.lists(st.sampled_from(names), unique=True))
        shape = [variables[n] for n in names]
        index = [Index.var(n) for n in names]
        if way == "reshaped" and shape:
            inner = self.pick(2, 3, 4, 8)
            flat = index.pop()
            extent = shape.pop()
            index += [flat // inner, flat % inner]
            shape += [-(-extent // inner), inner]
        source = self.buffer(BufferKind.INPUT, dtype, shape)
        if way == "shifted" and shape:
            shift = self.pick(1, 2)
            moved = index[-1] - shift
            inside = build.ge(build.index_value(moved), 0)
            other = build.literal(1, dtype)
            return Load(source.name, (*index[:-1], moved), dtype, inside, other)
        return Load(source.name, tuple(index), dtype)

    def value(self, variables: dict[str, int], depth: int) -> Expr:
        """An expression of type f32, f64 or i64."""
        if depth == 0:
            leaf = self.leaf(variables)
            return build.cast(leaf, self.pick(DType.F32, DType.F64, DType.I64))
        left, right = (self.value(variables, depth - 1) for _ in range(2))
        right = build.cast(right, left.dtype)
        op = self.pick("add", "sub", "mul", "min", "max", "where", "compare", "mod")
        if op == "where":
            return build.where(build.lt(left, right), right, left)
        if op == "compare":
            both = build.and_(build.le(left, right), build.ne(left, right))
            return build.cast(both, left.dtype)
        if op == "mod":
            return build.mod(left, build.literal(7, left.dtype))
        return build.apply(str(op), left, right)

    def kernel(self, number: int) -> Kernel:
        """A pointwise kernel, a reduction of its innermost variable, or a scan."""
        rank = self.pick(1, 2, 3)
        variables = {f"i{number}_{d}": self.pick(1, 2, 5, 16, 19, 33) for d in range(rank)}
        names = list(variables)
        value = self.value(variables, self.pick(0, 1, 2))
        way = self.pick("pointwise", "pointwise", "reduce", "columns", "scan")
        stored = self.pick(value.dtype, DType.F32, DType.BOOL, DType.BF16, DType.I32)
        body: tuple[Stmt, ...]
        if way == "pointwise":
            target = self.buffer(BufferKind.OUTPUT, stored, list(variables.values()))
            body = (
                Let(f"v{number}", value),
                Store(
                    target.name,
                    tuple(Index.var(n) for n in names),
                    build.cast(Ref(f"v{number}", value.dtype), stored),
                ),
            )
            innermost = self.pick(LoopKind.VECTOR, LoopKind.PARALLEL)
            return Kernel(f"k{number}", self.nest(names, variables, body, innermost))
        reduced = names[-1] if way != "columns" else names[0]
        kept = [n for n in names if n != reduced]
        op = "add" if way == "scan" else self.pick("add", "max", "min")
        start = build.literal(identity(op, value.dtype), value.dtype)
        acc = Ref(f"a{number}", value.dtype)
        update = Update(acc.name, value)
        where = names if way == "scan" else kept
        target = self.buffer(BufferKind.OUTPUT, stored, [variables[n] for n in where])
        store = Store(target.name, tuple(map(Index.var, where)), build.cast(acc, stored))
        if way == "scan":
            inner: tuple[Stmt, ...] = (
                Loop(reduced, Index.const(variables[reduced]), LoopKind.SERIAL, (update, store)),
            )
        else:
            vector = way == "reduce" and self.pick(True, False)
            extent = Index.const(variables[reduced])
            inner = (Loop(reduced, extent, LoopKind.REDUCE, (update,), bool(vector)), store)
        body = (Accumulator(acc.name, op, start, value.dtype), *inner)
        innermost = LoopKind.PARALLEL if way == "reduce" else self.pick(*OUTER, LoopKind.VECTOR)
        return Kernel(f"k{number}", self.nest(kept, variables, body, innermost))

    def nest(
        self, names: list[str], variables: dict[str, int], body: tuple[Stmt, ...], innermost: object
    ) -> tuple[Stmt, ...]:
        for position, name in enumerate(reversed(names)):
            kind = innermost if position == 0 else self.pick(*OUTER)
            body = (Loop(name, Index.const(variables[name]), kind, body),)
        return body


@st.composite
def programs(draw: st.DrawFn) -> Program:
    maker = Maker(draw)
    kernels = tuple(maker.kernel(n) for n in range(KERNELS))
    return Program("random", (), maker.buffers, tuple(maker.inputs), tuple(maker.outputs), kernels)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 2**31))
def test_random_programs(p: Program, seed: int) -> None:
    verify(p)
    inputs = random_inputs(p, np.random.default_rng(seed))
    library = compile_entries([Entry("forward", p)], optimise="-O1", threads=2)
    compare(library, p, inputs, factor=64.0)
    library.close()
