"""State of one kernel's emission: names, ranges, the vector in force, open blocks.

State only; `values` writes expressions and `statements` loops with it. Names are numbered in order
of appearance, so that structurally equal kernels give equal text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ptc.codegen.cpp_index import index_text, lane_form, operand_text
from ptc.codegen.scopes import Value, Writer
from ptc.loops.bounds import Ranges
from ptc.loops.index import Index
from ptc.loops.nodes import Buffer, DType, Expr, Size


class UnvectorisableError(Exception):
    """The loop cannot be written with vectors; the caller writes it with scalars."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """A vector loop in force: the IR variable that runs along the lanes, how many there are, the
    C++ text of how many are active (None: all), and what the first lane's value is a multiple
    of."""

    var: str
    width: int
    count: str | None = None
    align: int = 0  # 0: of the width


@dataclass(slots=True)
class AccumulatorState:
    """A reduction variable in scope. `text` is the C++ variable Updates go to, `position` that of
    argmin and argmax; `varying`: one a lane. `totals` is a vector that the lanes of vector loops
    are added to, when a loop around them reduces too."""

    name: str
    op: str
    dtype: DType
    text: str
    position: str = ""
    varying: bool = False
    lanes_of_loop: bool = (
        False  # partial results of a vector REDUCE loop: lanes beyond its end keep out
    )
    totals: str = ""
    totals_width: int = 0


class SizeNames(dict[str, str]):
    """IR variable -> C++ name; a size symbol becomes a parameter when it is first used."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[str] = []

    def __missing__(self, name: str) -> str:
        self.sizes.append(name)
        self[name] = f"n{len(self.sizes) - 1}"
        return self[name]


@dataclass(slots=True)
class Context:
    """See the module. `lanes_max` is the target's f32 lane count."""

    lanes_max: int
    buffers: Mapping[str, Buffer]
    memory: dict[str, str]  # buffer -> C++ pointer
    ranges: Ranges
    names: SizeNames = field(default_factory=SizeNames)
    writer: Writer = field(default_factory=Writer)
    lanes: Lanes | None = None
    varying: set[str] = field(default_factory=set[str])  # bounded Lets with one value a lane
    lets: dict[str, Value] = field(default_factory=dict[str, Value])
    accumulators: dict[str, AccumulatorState] = field(default_factory=dict[str, AccumulatorState])
    memo: dict[int, tuple[Expr, Value]] = field(default_factory=dict[int, tuple[Expr, Value]])
    uses: dict[int, int] = field(default_factory=dict[int, int])
    headers: set[str] = field(default_factory=set[str])
    can_fail: bool = False
    operations: int = 0
    reduce_depth: int = 0  # REDUCE loops around the current statement

    def text(self, index: Index) -> str:
        """C++ for an index."""
        return index_text(self.ranges.simplify(index), self.names, self.ranges)

    def operand(self, index: Index) -> str:
        """C++ for an index as an operand."""
        return operand_text(self.ranges.simplify(index), self.names, self.ranges)

    def offset(self, buffer: str, index: tuple[Index, ...]) -> Index:
        """The position of an element, in elements from the buffer's start."""
        total = Index.const(0)
        for position, stride in zip(index, self.buffers[buffer].strides, strict=True):
            total = total + position * stride
        return self.ranges.simplify(total)

    def form(self, index: Index) -> tuple[Index, Index] | None:
        """(base, stride) along the lanes in force, None if there is no such form."""
        lanes = self.lanes
        if lanes is None or not self.varying.isdisjoint(index.vars):
            return None
        return lane_form(index, lanes.var, lanes.width, lanes.align)

    def moves(self, index: Index) -> bool:
        """Whether the index differs from lane to lane."""
        if self.lanes is None:
            return False
        return self.lanes.var in index.vars or not self.varying.isdisjoint(index.vars)

    @contextmanager
    def variable(self, name: str, extent: Index, prefix: str = "i") -> Iterator[str]:
        """Bring loop variable `name` in [0, extent) into scope; gives its C++ name."""
        ranges = self.ranges
        known = ranges.bounds.get(name)
        if known is None:
            ranges.declare(name, extent)
        elif known != extent:
            self.ranges = Ranges({**ranges.bounds, name: extent}, ranges.sizes)
        before = self.names.get(name)
        self.names[name] = before or self.writer.fresh(prefix)
        try:
            yield self.names[name]
        finally:
            self.ranges = ranges

    @contextmanager
    def vector(self, lanes: Lanes) -> Iterator[None]:
        """Write statements for `lanes` at a time."""
        outer, varying = self.lanes, self.varying
        self.lanes, self.varying = lanes, set(varying)
        try:
            yield
        finally:
            self.lanes, self.varying = outer, varying

    def begin_statement(self) -> None:
        """Forget which expression objects were emitted: their texts may be out of scope."""
        self.memo.clear()
        self.uses.clear()


def size_ranges(sizes: tuple[Size, ...]) -> dict[str, tuple[int, int | None]]:
    """Inclusive ranges of the size symbols, as `Ranges` takes them."""
    return {s.symbol: (s.lower, s.upper) for s in sizes}
