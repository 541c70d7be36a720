"""The loop IR: buffers, scalar expressions, loop nests, template calls.

Owns the node classes, nothing else: index arithmetic lives in `index`, semantics in `interpreter`
(the reference), text in `printer` and `parser`, well-formedness in `verifier`. No torch here.

Program        buffers + kernels in execution order
Kernel         a loop nest of scalar statements
TemplateKernel a contraction (matrix product, convolution, attention) with operands given as
               access expressions and an epilogue of scalar statements
ExternKernel   a call of a named runtime routine (sort, top-k)

Memory is addressed by logical multi-dimensional indices; strides belong to the Buffer, so a layout
can be changed without touching a kernel.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from ptc.loops.index import Index


class DType(enum.Enum):
    """Element types; the value is the name in text (`f32[2, 3]`)."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    U8 = "u8"
    BOOL = "bool"
    C64 = "c64"
    C128 = "c128"

    @property
    def is_float(self) -> bool:
        return self in (DType.F64, DType.F32, DType.F16, DType.BF16)

    @property
    def is_int(self) -> bool:
        return self in (DType.I64, DType.I32, DType.I16, DType.I8, DType.U8)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _ITEM_SIZES[self]


_ITEM_SIZES = {
    DType.F64: 8, DType.F32: 4, DType.F16: 2, DType.BF16: 2, DType.I64: 8, DType.I32: 4,
    DType.I16: 2, DType.I8: 1, DType.U8: 1, DType.BOOL: 1, DType.C64: 8, DType.C128: 16,
}  # fmt: skip


class BufferKind(enum.Enum):
    """Who owns a buffer's memory."""

    INPUT = "input"  # given by the caller at each run
    WEIGHT = "weight"  # parameter, buffer or constant of the model, by ProgramInput name
    LITERAL = "literal"  # small constant data carried by the program itself
    PREPARED = "prepared"  # computed once from weights by the prepare kernels
    OUTPUT = "output"  # given or allocated for the caller
    TEMP = "temp"  # lives in the arena during a run
    LOCAL = "local"  # private to one iteration of a kernel's outer loops (row scratch)


@dataclass(frozen=True, slots=True)
class Buffer:
    """A block of memory. `strides` are in elements, one per dimension; 0 is allowed for INPUT only.

    `data` is raw little-endian bytes, for LITERAL only. `offset` is the byte offset in the arena of
    a TEMP buffer once the memory plan is made (an Index: sizes may be symbolic).
    """

    name: str
    dtype: DType
    shape: tuple[Index, ...]
    strides: tuple[Index, ...]
    kind: BufferKind
    data: bytes | None = None
    offset: Index | None = None


# --- scalar expressions -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. Floats are Python floats (inf and nan allowed), ints int, bools bool."""

    value: float | int | bool
    dtype: DType


@dataclass(frozen=True, slots=True)
class IndexValue:
    """An index expression as a scalar value (arange, iota, positions)."""

    index: Index
    dtype: DType


@dataclass(frozen=True, slots=True)
class Load:
    """The element of `buffer` at `index` (one Index a dimension, in bounds by construction).

    With `mask` the load happens only where `mask` is true, else the value is `other`: the index
    need not be in bounds where the mask is false (padding, concatenation).
    """

    buffer: str
    index: tuple[Index, ...]
    dtype: DType
    mask: Expr | None = None
    other: Expr | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """A scalar operation of `ptc.loops.scalar` on values; `dtype` is the result's type.

    Arithmetic operands have the result's type; comparisons and `where` as the table says; `cast`
    converts. Low-precision floats (f16, bf16) are legal operand types only for `cast` and `where`:
    lowering widens to f32, computes, and rounds back with a cast, as eager does.
    """

    op: str
    args: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Ref:
    """The value of a Let or an Accumulator in scope, or of a template's result (`acc`)."""

    name: str
    dtype: DType


Expr = Literal | IndexValue | Load | Apply | Ref


# --- statements ---------------------------------------------------------------------------------


class LoopKind(enum.Enum):
    """What may be reordered. Lowering writes SERIAL, PARALLEL (independent iterations) and REDUCE
    (iterations combine through accumulators only); scheduling turns one into VECTOR."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTOR = "vector"
    REDUCE = "reduce"


@dataclass(frozen=True, slots=True)
class Loop:
    """Run `body` for `var` in [0, extent). `kind` states what may be reordered.

    A REDUCE loop may carry `vector=True` (lanes keep partial accumulators, combined at the end).
    """

    var: str
    extent: Index
    kind: LoopKind
    body: tuple[Stmt, ...]
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Let:
    """Bind a scalar. An integer Let may be used as an Index variable (`Index.var(name)`) when
    `bounds` is given: the value is known to lie in [0, bounds)."""

    name: str
    value: Expr
    bounds: Index | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """Write `value` to `buffer` at `index`. With `reduce` (`add`, `mul`, `min`, `max`) combine with
    what is there (scatter-add; never concurrent: loops around it are SERIAL if indices repeat)."""

    buffer: str
    index: tuple[Index, ...]
    value: Expr
    reduce: str | None = None


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Declare a reduction variable, initialised to `init`, for the Updates of later loops.

    `op`: add, mul, min, max, any, all, argmin, argmax. min/max propagate NaN. For argmin and argmax
    the state is a pair; `Ref(name)` is the i64 position, first of equals (NaN wins, as in torch).
    """

    name: str
    op: str
    init: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Update:
    """Combine `value` into accumulator `name`; `position` for argmin and argmax. In a SERIAL loop
    `Ref(name)` after an Update is the running value (scans)."""

    name: str
    value: Expr
    position: Expr | None = None


@dataclass(frozen=True, slots=True)
class If:
    """Run `body` where `condition` holds."""

    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Fail the run with `message` where `condition` is false (index out of range)."""

    condition: Expr
    message: str


Stmt = Loop | Let | Store | Accumulator | Update | If | Check


# --- kernels ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Origin:
    """The operator and the user's line a kernel serves (`aten.relu`, `model.py:12`)."""

    op: str
    location: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loop nest over buffers. `locals` are its LOCAL buffers, declared at the innermost loop that
    encloses all their uses."""

    name: str
    body: tuple[Stmt, ...]
    locals: tuple[Buffer, ...] = ()
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class Operand:
    """A template's operand as a function of the template's index variables."""

    vars: tuple[str, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class TemplateKernel:
    """A contraction. `template` names one of `ptc.loops.templates.TEMPLATES`, which states the
    index variables, the operands, the attributes and the meaning.

    gemm       out[b, m, n] = sum_k A(b, m, k) * B(b, k, n)
    conv       out[n, o, *spatial] (1, 2 or 3 spatial dims), X(n, c, *in), W(o, c/g, *kernel)
    attention  out[b, h, q, d]

    `extents` gives the size of every index variable. `epilogue` runs once for each output element
    with the output index variables in scope and `Ref("acc")` the result; the plain epilogue is
    one Store. `dtype` is the type of `acc` (the accumulation type).
    """

    name: str
    template: str
    extents: Mapping[str, Index]
    operands: Mapping[str, Operand]
    epilogue: tuple[Stmt, ...]
    dtype: DType
    attrs: Mapping[str, object] = field(default_factory=dict[str, object])
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class ExternKernel:
    """Call runtime routine `function` on whole buffers (sort, topk, LSTM cells...)."""

    name: str
    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, object] = field(default_factory=dict[str, object])
    origins: tuple[Origin, ...] = ()


AnyKernel = Kernel | TemplateKernel | ExternKernel


@dataclass(frozen=True, slots=True)
class Size:
    """A symbolic size: its symbol, display name and inclusive range."""

    symbol: str
    name: str
    lower: int
    upper: int | None


@dataclass(frozen=True, slots=True)
class Program:
    """The whole computation. `inputs` and `outputs` name buffers in the caller's order (an output
    may also be a scalar Index, for programs that return sizes). `prepare` runs once over weights
    alone and fills PREPARED buffers. `arena` is the size in bytes once planned. `scalars` maps a
    size symbol to the 0-d i64 input buffer that gives it; all others are dimensions of inputs.
    `written` names the WEIGHT buffers that get a new value after each run: they are no
    constants."""

    name: str
    sizes: tuple[Size, ...]
    buffers: Mapping[str, Buffer]
    inputs: tuple[str, ...]
    outputs: tuple[str | Index, ...]
    kernels: tuple[AnyKernel, ...]
    prepare: tuple[AnyKernel, ...] = ()
    arena: Index | None = None
    scalars: Mapping[str, str] = field(default_factory=dict[str, str])
    written: frozenset[str] = frozenset()
