"""Element types: torch's names against the loop IR's, and the types eager computes in.

Owns the mapping between `torch.dtype` and `DType` and torch's promotion rules as far as lowering
needs them. Takes values of a rule (tensors, numbers, symbolic ints), must not know any operator.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from ptc.loops.index import Index
from ptc.loops.nodes import Apply, DType, Expr, IndexValue, Literal, Load, Ref
from ptc.ops.protocol import TensorValue
from ptc.support.diagnostics import CompileError

_TO_TORCH: dict[DType, torch.dtype] = {
    DType.F64: torch.float64,
    DType.F32: torch.float32,
    DType.F16: torch.float16,
    DType.BF16: torch.bfloat16,
    DType.I64: torch.int64,
    DType.I32: torch.int32,
    DType.I16: torch.int16,
    DType.I8: torch.int8,
    DType.U8: torch.uint8,
    DType.BOOL: torch.bool,
    DType.C64: torch.complex64,
    DType.C128: torch.complex128,
}
_FROM_TORCH: dict[torch.dtype, DType] = {torch_type: own for own, torch_type in _TO_TORCH.items()}

COMPLEX = (DType.C64, DType.C128)
LOW_PRECISION = (DType.F16, DType.BF16)

# The operand of an elementwise operator: a tensor, a Python number, a symbolic int, or a scalar
# expression (a float computed from sizes).
Operand = TensorValue | Expr | Index | float | int | bool


def to_torch(dtype: DType) -> torch.dtype:
    """The torch type of the same name."""
    return _TO_TORCH[dtype]


def from_torch(dtype: torch.dtype) -> DType:
    """The loop IR's type. Raises CompileError PTC-O005 for types it does not have."""
    try:
        return _FROM_TORCH[dtype]
    except KeyError:
        raise CompileError(
            "PTC-O005",
            f"tensors of type {dtype} cannot be compiled",
            hint="convert to float32, float64, float16, bfloat16, bool or an integer of up to "
            "64 bits (uint8 is the only unsigned one) before the model",
        ) from None


def requested(dtype: torch.dtype | None, default: DType) -> DType:
    """A `dtype=` argument: the type asked for, or `default` for None."""
    return default if dtype is None else from_torch(dtype)


def default_float() -> DType:
    """The type Python floats and true division of integers give."""
    return from_torch(torch.get_default_dtype())


def compute_type(dtype: DType) -> DType:
    """What eager computes in for values of `dtype`: 16-bit floats are widened to f32."""
    return DType.F32 if dtype in LOW_PRECISION else dtype


def float_result(dtype: DType) -> DType:
    """`dtype` if it is floating point, else the default float type (sqrt of an integer)."""
    return dtype if dtype.is_float or dtype in COMPLEX else default_float()


def accumulation_type(dtype: DType) -> DType:
    """The type a sum over `dtype` is kept in: f32 for 16-bit floats, i64 for integers and bools."""
    if dtype in LOW_PRECISION:
        return DType.F32
    return dtype if dtype.is_float else DType.I64


def sum_result(dtype: DType) -> DType:
    """The type of `sum` and `prod` over `dtype`: integers and bools give i64."""
    return DType.I64 if dtype.is_int or dtype is DType.BOOL else dtype


def integer_range(dtype: DType) -> tuple[int, int]:
    """The smallest and largest value of an integer type."""
    info = torch.iinfo(to_torch(dtype))
    return info.min, info.max


def promote(operands: Iterable[Operand]) -> DType:
    """The common type of an elementwise operator, by torch's rules.

    Tensors with dimensions decide; 0-d tensors, then numbers, matter only if they are of a higher
    kind (bool < integer < float < complex), and a number then counts with its default type.
    """
    ranks: list[DType | None] = [None, None, None]
    for operand in operands:
        rank, dtype = _participant(operand)
        known = ranks[rank]
        ranks[rank] = dtype if known is None else _join(known, dtype)
    result: DType | None = None
    for dtype in ranks:
        if dtype is not None and (result is None or _kind(dtype) > _kind(result)):
            result = dtype
    if result is None:
        raise ValueError("promotion of no operands")
    return result


def _participant(operand: Operand) -> tuple[int, DType]:
    """Priority class (0 tensors, 1 zero-dimensional tensors, 2 numbers) and type of an operand."""
    if isinstance(operand, TensorValue):
        return (0 if operand.shape else 1), operand.dtype
    if isinstance(operand, Index):
        return 2, DType.I64
    if isinstance(operand, Literal | IndexValue | Load | Apply | Ref):
        dtype = operand.dtype
    elif isinstance(operand, bool):
        return 2, DType.BOOL
    else:
        dtype = DType.I64 if isinstance(operand, int) else DType.F64
    if dtype.is_float:
        return 2, default_float()
    return 2, (DType.I64 if dtype.is_int else dtype)


def _kind(dtype: DType) -> int:
    if dtype is DType.BOOL:
        return 0
    if dtype.is_int:
        return 1
    return 3 if dtype in COMPLEX else 2


def _join(a: DType, b: DType) -> DType:
    return from_torch(torch.promote_types(to_torch(a), to_torch(b)))
