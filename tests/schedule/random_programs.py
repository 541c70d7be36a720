"""Random loop programs, built as operator rules build them, with inputs to run them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from ptc.loops import build as b
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, BufferKind, DType, Expr, LoopKind, Origin, Program, Ref, Size
from ptc.ops.protocol import Indices, TensorValue
from ptc.schedule.context import Context, dense_strides

S0 = Index.var("s0")
DTYPE = DType.F64


@dataclass
class Case:
    """A program with inputs for it. `extent` is the value of the size symbol."""

    program: Program
    inputs: dict[str, np.ndarray]
    extent: int
    steps: list[str]


@dataclass
class Maker:
    """Grows a program step by step. `draw` picks from sequences."""

    pick: Callable[[int], int]
    extent: int
    context: Context = field(default_factory=lambda: Context({"s0": (1, None)}))
    values: list[TensorValue] = field(default_factory=list)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    seed: int = 0

    def choose(self, items: list):  # type: ignore[no-untyped-def, type-arg]
        return items[self.pick(len(items))]

    def concrete(self, size: Index) -> int:
        return int(size.evaluate({"s0": self.extent}))

    def add_input(self, shape: list[Index], kind: BufferKind = BufferKind.INPUT) -> TensorValue:
        name = f"x{len(self.inputs)}"
        dims = tuple(shape)
        rng = np.random.default_rng(self.seed + len(self.inputs))
        self.inputs[name] = rng.uniform(-1, 1, [self.concrete(d) for d in dims])
        value = self.context.add_buffer(Buffer(name, DTYPE, dims, dense_strides(dims), kind))
        self.values.append(value)
        return value

    def add_index_input(self, count: Index, bound: Index) -> TensorValue:
        name = f"x{len(self.inputs)}"
        rng = np.random.default_rng(self.seed + len(self.inputs))
        self.inputs[name] = rng.integers(0, self.concrete(bound), self.concrete(count))
        dims = (count,)
        return self.context.add_buffer(
            Buffer(name, DType.I64, dims, dense_strides(dims), BufferKind.INPUT)
        )

    def step(self) -> None:
        kinds = [
            self.unary, self.unary, self.binary, self.binary, self.permute, self.reshape,
            self.narrow, self.flip, self.reduce, self.softmax, self.concat, self.pad, self.matmul,
            self.gather, self.scatter, self.conv, self.conv, self.materialise, self.pool, self.sort,
        ]  # fmt: skip
        make = self.choose(kinds)
        self.context.operator = f"{make.__name__}{len(self.steps)}"
        self.context.origin = Origin(make.__name__)
        before = len(self.values)
        made = make()
        if made is not None and len(made.shape) <= 4 and self._size(made) <= 400:
            self.values.append(made)
        if len(self.values) > before:
            self.steps.append(make.__name__)

    def _size(self, x: TensorValue) -> int:
        return int(np.prod([self.concrete(d) for d in x.shape], dtype=np.int64))

    # -- elementwise

    def unary(self) -> TensorValue:
        x = self.choose(self.values)
        name = self.choose(["tanh", "abs", "neg", "relu", "scale", "sin", "square"])

        def body(i: Indices) -> Expr:
            v = self.context.load(x, i)
            if name == "relu":
                return b.max_(v, 0.0)
            if name == "scale":
                return b.mul(v, 0.5)
            if name == "square":
                return b.mul(v, v)
            return b.apply(name, v)

        return self.context.pointwise(x.shape, DTYPE, body)

    def binary(self) -> TensorValue | None:
        x, y = self.choose(self.values), self.choose(self.values)
        if len(y.shape) > len(x.shape):
            x, y = y, x
        tail = x.shape[len(x.shape) - len(y.shape) :]
        if any(p != q and q != 1 for p, q in zip(tail, y.shape, strict=True)):
            return None
        op = self.choose(["add", "sub", "mul", "max", "where"])

        def body(i: Indices) -> Expr:
            right = i[len(i) - len(y.shape) :]
            right = tuple(
                [Index.const(0) if d == 1 else j for j, d in zip(right, y.shape, strict=True)]
            )
            p, q = self.context.load(x, i), self.context.load(y, right)
            return b.where(b.gt(p, q), p, b.mul(q, 0.5)) if op == "where" else b.apply(op, p, q)

        return self.context.pointwise(x.shape, DTYPE, body)

    # -- views

    def permute(self) -> TensorValue:
        x = self.choose(self.values)
        dims = list(range(len(x.shape)))
        order: list[int] = []
        while dims:
            order.append(dims.pop(self.pick(len(dims))))
        shape = [x.shape[d] for d in order]

        def remap(i: Indices) -> Indices:
            return tuple([i[order.index(d)] for d in range(len(order))])

        return self.context.view(x, shape, remap)

    def reshape(self) -> TensorValue | None:
        x = self.choose(self.values)
        if len(x.shape) < 2:
            return None
        d = self.pick(len(x.shape) - 1)
        inner = x.shape[d + 1]
        shape = [*x.shape[:d], x.shape[d] * inner, *x.shape[d + 2 :]]

        def merge(i: Indices) -> Indices:
            return (*i[:d], i[d] // inner, i[d] % inner, *i[d + 1 :])

        merged = self.context.view(x, shape, merge)
        if self.pick(2):
            return merged
        rest = [*shape[:d], inner, x.shape[d], *shape[d + 1 :]]
        outer = x.shape[d]

        def split(i: Indices) -> Indices:
            return (*i[:d], i[d] * outer + i[d + 1], *i[d + 2 :])

        return self.context.view(merged, rest, split)

    def narrow(self) -> TensorValue | None:
        x = self.choose(self.values)
        dims = [d for d, n in enumerate(x.shape) if n.constant is not None and n.constant > 1]
        if not dims:
            return None
        d = self.choose(dims)
        start = self.pick(int(x.shape[d]))
        shape = [*x.shape[:d], Index.const(int(x.shape[d]) - start), *x.shape[d + 1 :]]
        return self.context.view(x, shape, lambda i: (*i[:d], i[d] + start, *i[d + 1 :]))

    def flip(self) -> TensorValue | None:
        x = self.choose(self.values)
        if not x.shape:
            return None
        d = self.pick(len(x.shape))
        last = x.shape[d] - 1
        return self.context.view(x, x.shape, lambda i: (*i[:d], last - i[d], *i[d + 1 :]))

    def materialise(self) -> TensorValue:
        return self.context.materialise(self.choose(self.values))

    # -- rows

    def reduce(self) -> TensorValue | None:
        x = self.choose(self.values)
        if not x.shape:
            return None
        d = self.pick(len(x.shape))
        op = self.choose(["add", "max"])
        out = self.context.empty([*x.shape[:d], *x.shape[d + 1 :]], DTYPE)
        with self.context.kernel() as k:
            self._outer(k, out.shape, (), lambda i: self._reduce_row(k, x, d, op, out, i))
        return out

    def _outer(self, k, shape, index, body) -> None:  # type: ignore[no-untyped-def]
        if len(index) == len(shape):
            body(index)
            return
        with k.loop(shape[len(index)]) as i:
            self._outer(k, shape, (*index, i), body)

    def _reduce_row(self, k, x, d, op, out, i) -> None:  # type: ignore[no-untyped-def]
        init = b.literal(0.0 if op == "add" else -np.inf, DTYPE)
        acc = k.accumulator(op, init, DTYPE)
        with k.loop(x.shape[d], LoopKind.REDUCE, "r") as r:
            k.update(acc, self.context.load(x, (*i[:d], r, *i[d:])))
        k.store(out, i, acc)

    def softmax(self) -> TensorValue | None:
        x = self.choose(self.values)
        if not x.shape:
            return None
        out = self.context.empty(x.shape, DTYPE)
        row = self.context.empty(x.shape, DTYPE)
        ctx = self.context
        with ctx.kernel() as k:

            def body(i: Indices) -> None:
                top = k.accumulator("max", b.literal(-np.inf, DTYPE), DTYPE)
                with k.loop(x.shape[-1], LoopKind.REDUCE, "r") as r:
                    k.update(top, ctx.load(x, (*i, r)))
                total = k.accumulator("add", b.literal(0.0, DTYPE), DTYPE)
                with k.loop(x.shape[-1], LoopKind.REDUCE, "r") as r:
                    e = b.exp(b.sub(ctx.load(x, (*i, r)), top))
                    k.store(row, (*i, r), e)
                    k.update(total, e)
                with k.loop(x.shape[-1], LoopKind.PARALLEL, "r") as r:
                    k.store(out, (*i, r), b.div(ctx.load(row, (*i, r)), total))

            self._outer(k, x.shape[:-1], (), body)
        return out

    # -- several kernels, masks

    def concat(self) -> TensorValue | None:
        x = self.choose(self.values)
        same = [y for y in self.values if y.shape[1:] == x.shape[1:] and len(y.shape) > 0]
        if not x.shape or not same:
            return None
        y = self.choose(same)
        out = self.context.empty([x.shape[0] + y.shape[0], *x.shape[1:]], DTYPE)
        start = Index.const(0)
        for part in (x, y):
            shift = start
            target = self.context.view(
                out, part.shape, lambda i, shift=shift: (i[0] + shift, *i[1:])
            )
            self.context.copy(part, target)
            start = start + part.shape[0]
        return out

    def pad(self) -> TensorValue | None:
        x = self.choose(self.values)
        if not x.shape:
            return None
        shape = [*x.shape[:-1], x.shape[-1] + 2]

        def body(i: Indices) -> Expr:
            where = i[-1] - 1
            position = b.index_value(where)
            inside = b.and_(b.ge(position, 0), b.lt(position, b.index_value(x.shape[-1])))
            return self.context.load(x, (*i[:-1], where), inside, b.literal(0.25, DTYPE))

        return self.context.pointwise(shape, DTYPE, body)

    def gather(self) -> TensorValue | None:
        x = self.choose(self.values)
        if not x.shape:
            return None
        ids = self.add_index_input(Index.const(3), x.shape[0])
        out = self.context.empty([Index.const(3), *x.shape[1:]], DTYPE)
        with self.context.kernel() as k, k.loop(Index.const(3)) as i:
            raw = self.context.load(ids, (i,))
            limit = b.index_value(x.shape[0])
            k.check(b.and_(b.ge(raw, 0), b.lt(raw, limit)), "out of range")
            at = Index.var(k.let(raw, "at", x.shape[0]).name)
            self._outer(
                k, x.shape[1:], (),
                lambda j: k.store(out, (i, *j), self.context.load(x, (at, *j))),
            )  # fmt: skip
        return out

    def scatter(self) -> TensorValue | None:
        x = self.choose(self.values)
        if len(x.shape) != 1:
            return None
        ids = self.add_index_input(x.shape[0], Index.const(3))
        out = self.context.pointwise([Index.const(3)], DTYPE, lambda i: b.literal(1.0, DTYPE))
        with self.context.kernel() as k, k.loop(x.shape[0], LoopKind.SERIAL) as i:
            at = k.let(self.context.load(ids, (i,)), "at", Index.const(3))
            k.store(out, (Index.var(at.name),), self.context.load(x, (i,)), "add")
        return out

    # -- contractions

    def matmul(self) -> TensorValue | None:
        x = self.choose([v for v in self.values if len(v.shape) == 2] or [None])
        if x is None:
            return None
        weight = self.add_input([x.shape[1], Index.const(4)], BufferKind.WEIGHT)
        self.values.pop()
        extents = {"b": Index.const(1), "m": x.shape[0], "n": Index.const(4), "k": x.shape[1]}
        return self.context.template(
            "gemm", extents,
            {
                "a": lambda v: self.context.load(x, (v["m"], v["k"])),
                "b": lambda v: self.context.load(weight, (v["k"], v["n"])),
            },
            [x.shape[0], Index.const(4)], DTYPE, out_vars=("m", "n"), accumulate=DTYPE,
        )  # fmt: skip

    def conv(self) -> TensorValue | None:
        fitting = [
            v for v in self.values
            if len(v.shape) == 4 and v.shape[1].constant is not None and v.shape[2].constant
            and v.shape[3].constant
        ]  # fmt: skip
        if not fitting:
            return None
        x = self.choose(fitting)
        one, three = Index.const(1), Index.const(3)
        weight = self.add_input([three, x.shape[1], three, one], BufferKind.WEIGHT)
        self.values.pop()
        extents = {
            "n": x.shape[0], "o": three, "y0": x.shape[2], "y1": x.shape[3], "c": x.shape[1],
            "ch": x.shape[1], "k0": three, "k1": one, "p0": x.shape[2], "p1": x.shape[3],
        }  # fmt: skip
        attrs = {
            "stride": (1, 1), "padding": (1, 0), "dilation": (1, 1), "groups": 1,
            "transposed": False, "output_padding": (0, 0),
        }  # fmt: skip
        load = self.context.load
        return self.context.template(
            "conv2d", extents,
            {
                "x": lambda v: load(x, (v["n"], v["ch"], v["p0"], v["p1"])),
                "w": lambda v: load(weight, (v["o"], v["c"], v["k0"], v["k1"])),
            },
            [x.shape[0], three, x.shape[2], x.shape[3]], DTYPE,
            out_vars=("n", "o", "y0", "y1"), accumulate=DTYPE, attrs=attrs,
            epilogue=lambda i, acc: b.mul(acc, 0.3),
        )  # fmt: skip

    def sort(self) -> TensorValue | None:
        x = self.choose(self.values)
        if not x.shape:
            return None
        values = self.context.empty(x.shape, DTYPE)
        places = self.context.empty(x.shape, DType.I64)
        attrs = {"dim": len(x.shape) - 1, "descending": bool(self.pick(2))}
        self.context.extern("sort", [x], [values, places], attrs)
        return values

    def pool(self) -> TensorValue | None:
        x = self.choose(self.values)
        if not x.shape or x.shape[-1].constant is None or x.shape[-1].constant < 2:
            return None
        out = self.context.empty([*x.shape[:-1], x.shape[-1] - 1], DTYPE)
        ctx = self.context
        with ctx.kernel() as k:

            def body(i: Indices) -> None:
                acc: Ref = k.accumulator("max", b.literal(-np.inf, DTYPE), DTYPE)
                with k.loop(Index.const(2), LoopKind.REDUCE, "r") as r:
                    k.update(acc, ctx.load(x, (*i[:-1], i[-1] + r)))
                k.store(out, i, acc)

            self._outer(k, out.shape, (), body)
        return out

    def finish(self, count: int) -> Case:
        outputs: list[str | Index] = []
        for number in range(count):
            value = self.values[-1 - number] if number < len(self.values) else self.values[0]
            self.context.operator = f"out{number}"
            name = f"out{number}"
            strides = dense_strides(value.shape)
            if self.pick(2):  # as eager returns a transposed result
                strides = tuple(reversed(dense_strides(value.shape[::-1])))
            target = self.context.add_buffer(
                Buffer(name, DTYPE, value.shape, strides, BufferKind.OUTPUT)
            )
            self.context.copy(value, target)
            outputs.append(name)
        program = Program(
            "random", (Size("s0", "n", 1, None),), self.context.buffers, tuple(self.inputs),
            tuple(outputs), tuple(self.context.kernels),
        )  # fmt: skip
        return Case(program, self.inputs, self.extent, self.steps)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A program of up to fourteen steps over one to three inputs."""
    extent = draw(st.integers(1, 4))

    def pick(count: int) -> int:
        return draw(st.integers(0, count - 1))

    maker = Maker(pick, extent, seed=draw(st.integers(0, 1000)))
    sizes = [Index.const(1), Index.const(2), Index.const(3), Index.const(5), S0]
    if draw(st.booleans()):
        maker.add_input([sizes[1], sizes[2], sizes[3], sizes[1]])  # an image: convolutions fit
    for _ in range(draw(st.integers(1, 3))):
        rank = draw(st.integers(0, 4))
        maker.add_input([sizes[pick(len(sizes))] for _ in range(rank)])
    for _ in range(draw(st.integers(1, 14))):
        maker.step()
    return maker.finish(draw(st.integers(1, 2)))
