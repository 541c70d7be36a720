"""What an ONNX rule is written against: tensor values and the builder.

`ptc/ops` owns the protocol; `ptc/exporters/onnx` implements it. A rule sees operators' arguments as
torch's schema orders them, with tensors as `OnnxTensor`, symbolic ints as `Index`, everything else
as it is, and emits operators of the standard domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ptc.loops.index import Index
from ptc.loops.nodes import DType

Size = int | Index


@dataclass(frozen=True, slots=True)
class OnnxTensor:
    """A value of the ONNX graph. `shape` is known for the values of the aten graph; what a rule
    makes on the way has None."""

    name: str
    dtype: DType
    shape: tuple[Index, ...] | None = None

    @property
    def rank(self) -> int:
        assert self.shape is not None, "only values of the aten graph have a rank"
        return len(self.shape)

    @property
    def dims(self) -> tuple[Index, ...]:
        assert self.shape is not None, "only values of the aten graph have sizes"
        return self.shape


@dataclass(frozen=True, slots=True)
class ResultType:
    """What the aten operator gives: the rule's values must have this dtype."""

    dtype: DType
    shape: tuple[Index, ...]


class OnnxBuilder(Protocol):
    """Emits ONNX operators, one aten operator at a time."""

    @property
    def opset(self) -> int:
        """The version of the standard domain."""
        ...

    @property
    def results(self) -> tuple[ResultType, ...]:
        """The types of the results of the operator that is being written."""
        ...

    @property
    def dtype(self) -> DType:
        """The dtype of the first result."""
        ...

    @property
    def shape(self) -> tuple[Index, ...]:
        """The shape of the first result."""
        ...

    def op(
        self, kind: str, *inputs: OnnxTensor | None, dtype: DType | None = None, **attributes: Any
    ) -> OnnxTensor:
        """Emit an operator with one result, of `dtype` (default: that of the first input). None is
        an input left out."""
        ...

    def ops(
        self, kind: str, *inputs: OnnxTensor | None, dtypes: Sequence[DType], **attributes: Any
    ) -> tuple[OnnxTensor, ...]:
        """Emit an operator with several results."""
        ...

    def constant(self, value: Any, dtype: DType) -> OnnxTensor:
        """A constant: a number (0-d) or a nest of lists of numbers. A number that only a run knows
        is that number."""
        ...

    def sizes(self, values: Sequence[Size]) -> OnnxTensor:
        """A 1-d int64 tensor of sizes; symbolic ones are computed from the graph's inputs."""
        ...

    def size(self, value: Size) -> OnnxTensor:
        """A 0-d int64 tensor."""
        ...

    def cast(self, x: OnnxTensor, dtype: DType) -> OnnxTensor:
        """`x` in `dtype` (itself when it has it)."""
        ...


OnnxRule = Callable[..., OnnxTensor | tuple[OnnxTensor | None, ...]]
