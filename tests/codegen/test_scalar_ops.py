"""Every scalar operation, for every type it takes, as scalars and as vectors, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness import check, draw

from ptc.loops.index import Index
from ptc.loops.nodes import (
    Apply,
    Buffer,
    BufferKind,
    DType,
    Kernel,
    Load,
    Loop,
    LoopKind,
    Program,
    Store,
)
from ptc.loops.scalar import OPS, Rule, type_error

COUNT = 45  # two vectors and a rest for 16 lanes
COMPUTE = (DType.F32, DType.F64, DType.I64, DType.I32, DType.I16, DType.I8, DType.U8, DType.BOOL,
           DType.C64, DType.C128)  # fmt: skip
ALL = (*COMPUTE[:8], DType.F16, DType.BF16)
# NumPy's own float32 functions differ from the true value by this many times the usual tolerance.
LOOSE = {"tan": 20.0, "lgamma": 20.0, "digamma": 40.0, "erfinv": 20.0, "pow": 10.0, "sinh": 10.0,
         "cosh": 10.0, "exp": 4.0, "exp2": 4.0, "expm1": 4.0}  # fmt: skip
NAMED_RULES = (Rule.CAST, Rule.BITCAST, Rule.WHERE)


def signatures() -> list[tuple[str, tuple[DType, ...], DType]]:
    result: list[tuple[str, tuple[DType, ...], DType]] = []
    for name, row in OPS.items():
        if row.rule in NAMED_RULES:
            continue
        for dtype in COMPUTE:
            for out in (dtype, DType.BOOL):
                args = (dtype,) * row.arity
                if type_error(name, args, out) is None and (name, args, out) not in result:
                    result.append((name, args, out))
    result += [("where", (DType.BOOL, d, d), d) for d in (*COMPUTE, DType.F16, DType.BF16)]
    for a, b in itertools.product(ALL, ALL):
        if a is not b:
            result.append(("cast", (a,), b))
    for whole, part in ((DType.C64, DType.F32), (DType.C128, DType.F64)):
        result += [("real", (whole,), part), ("imag", (whole,), part)]
        result += [("complex", (part, part), whole)]
    result += [("cast", (DType.C64,), DType.C128), ("cast", (DType.F32,), DType.C64)]
    result += [("bitcast", (DType.F32,), DType.I32), ("bitcast", (DType.I64,), DType.F64)]
    return result


def operand(rng: np.random.Generator, op: str, position: int, dtype: DType) -> np.ndarray:
    """Values that the operation is defined for, special ones among them."""
    x = draw(rng, dtype, (COUNT,))
    if op in ("floordiv", "mod", "truncdiv", "fmod") and position == 1 and not dtype.is_float:
        x = np.where(x == 0, 7, x).astype(x.dtype)
    if op in ("shl", "shr") and position == 1:
        x = (np.abs(x) % (8 * dtype.itemsize)).astype(x.dtype)
    if op == "pow" and not dtype.is_float and position == 1:
        x = np.abs(x % 4).astype(x.dtype)
    if op == "cast" and dtype.is_float:
        x = np.abs(x) if dtype is not DType.BF16 else x & 0x7FFF
    if dtype in (DType.F32, DType.F64) and op not in ("cast", "bitcast"):
        x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
        if op in ("digamma", "lgamma"):
            x[6:] = np.abs(x[6:]) + 0.5
        rng.shuffle(x)
    return x


def build_program(vector: bool) -> tuple[Program, dict[str, np.ndarray], list[str]]:
    rng = np.random.default_rng(7)
    buffers: dict[str, Buffer] = {}
    kernels: list[Kernel] = []
    given: dict[str, np.ndarray] = {}
    labels: list[str] = []

    def buffer(name: str, dtype: DType, kind: BufferKind) -> str:
        buffers[name] = Buffer(name, dtype, (Index.const(COUNT),), (Index.const(1),), kind)
        return name

    i = Index.var("i")
    for number, (op, args, out) in enumerate(signatures()):
        names = [buffer(f"a{number}_{j}", d, BufferKind.INPUT) for j, d in enumerate(args)]
        for j, (name, dtype) in enumerate(zip(names, args, strict=True)):
            given[name] = operand(rng, op, j, dtype)
        target = buffer(f"r{number}", out, BufferKind.OUTPUT)
        loads = tuple(Load(n, (i,), d) for n, d in zip(names, args, strict=True))
        kind = LoopKind.VECTOR if vector else LoopKind.PARALLEL
        body = Loop("i", Index.const(COUNT), kind, (Store(target, (i,), Apply(op, loads, out)),))
        kernels.append(Kernel(op, (body,)))
        labels.append(f"{op}({', '.join(d.value for d in args)}) -> {out.value}")
    inputs = tuple(n for n in buffers if n.startswith("a"))
    outputs = tuple(n for n in buffers if n.startswith("r"))
    return Program("ops", (), buffers, inputs, outputs, tuple(kernels)), given, labels


@pytest.mark.parametrize("vector", [False, True], ids=["scalar", "vector"])
def test_operations(vector: bool) -> None:
    from harness import close_enough

    from ptc.codegen.entry import Entry
    from ptc.loops import interpreter

    program, given, labels = build_program(vector)
    from harness import compile_entries

    library = compile_entries([Entry("forward", program)])
    got = library.run(given)
    expected = interpreter.run(program, dict(given))
    wrong: list[str] = []
    for name, label, a, b in zip(program.outputs, labels, got, expected, strict=True):
        assert isinstance(name, str)
        factor = LOOSE.get(label.split("(")[0], 1.0)
        if not close_enough(a, np.asarray(b), program.buffers[name].dtype, factor):
            wrong.append(f"{label}\n  got      {a}\n  expected {np.asarray(b)}")
    assert not wrong, "\n".join(wrong)


def test_equal_kernels_share_a_function() -> None:
    i = Index.var("i")
    names = [f"x{n}" for n in range(4)]
    buffers = {
        n: Buffer(n, DType.F32, (Index.const(COUNT),), (Index.const(1),), kind)
        for n, kind in zip(
            names,
            [BufferKind.INPUT, BufferKind.TEMP, BufferKind.TEMP, BufferKind.OUTPUT],
            strict=True,
        )
    }
    kernels = tuple(
        Kernel(f"step{n}", (Loop(f"i{n}", Index.const(COUNT), LoopKind.VECTOR, (
            Store(names[n + 1], (Index.var(f"i{n}"),), Apply(
                "exp", (Load(names[n], (Index.var(f"i{n}"),), DType.F32),), DType.F32)),)),))
        for n in range(3)
    )  # fmt: skip
    assert i.variable == "i"
    library = check(Program("chain", (), buffers, ("x0",), ("x3",), kernels), factor=20.0)
    assert library.generated.functions == 1
