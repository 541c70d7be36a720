"""ONNX rules of discrete Fourier transforms of lines, with torch's normalisation."""

from __future__ import annotations

import math

from ptc.loops.index import Index
from ptc.loops.nodes import DType
from ptc.ops.complex_operators import OPERATORS
from ptc.ops.onnx_protocol import OnnxBuilder, OnnxTensor
from ptc.ops.onnx_registry import onnx


def _turns(b: OnnxBuilder, n: int | Index, dtype: DType) -> tuple[OnnxTensor, OnnxTensor]:
    """Cosine and sine of 2 pi j k / n for all j and k. The product is taken modulo n first, so that
    the angles are exact."""
    count = b.op("Range", b.size(0), b.size(n), b.size(1))
    column = b.op("Unsqueeze", count, b.constant([1], DType.I64))
    steps = b.cast(b.op("Mod", b.op("Mul", count, column), b.size(n)), DType.F64)
    share = b.op("Div", b.constant(2 * math.pi, DType.F64), b.cast(b.size(n), DType.F64))
    angle = b.op("Mul", steps, share)
    return b.cast(b.op("Cos", angle), dtype), b.cast(b.op("Sin", angle), dtype)


def _transformed(
    b: OnnxBuilder, re: OnnxTensor, im: OnnxTensor | None, n: int | Index, inverse: bool
) -> tuple[OnnxTensor, OnnxTensor]:
    """Real and imaginary parts of the transform of lines, as products with a matrix: the `DFT` of
    runtimes is less exact where n is no power of two."""
    cosine, sine = _turns(b, n, re.dtype)
    sine = sine if inverse else b.op("Neg", sine)
    first, second = b.op("MatMul", re, cosine), b.op("MatMul", re, sine)
    if im is None:
        return first, second
    return (
        b.op("Sub", first, b.op("MatMul", im, sine)),
        b.op("Add", second, b.op("MatMul", im, cosine)),
    )


def _scaled(b: OnnxBuilder, x: OnnxTensor, n: int | Index, normalization: int) -> OnnxTensor:
    """torch's factor: none, 1 / sqrt(n) or 1 / n."""
    if normalization == 0:
        return x
    count = b.cast(b.size(n), x.dtype)
    return b.op("Div", x, b.op("Sqrt", count) if normalization == 1 else count)


@onnx(OPERATORS.fft.default)
def fft(
    b: OnnxBuilder, re: OnnxTensor, im: OnnxTensor, forward: bool, normalization: int
) -> tuple[OnnxTensor, OnnxTensor]:
    """The transform of each line, or with the other sign unless `forward`."""
    n = re.dims[-1]
    first, second = _transformed(b, re, im, n, not forward)
    return _scaled(b, first, n, normalization), _scaled(b, second, n, normalization)


@onnx(OPERATORS.rfft.default)
def rfft(b: OnnxBuilder, x: OnnxTensor, normalization: int) -> tuple[OnnxTensor, OnnxTensor]:
    """The first half of the transform of each real line."""
    n = x.dims[-1]
    axis, start = b.constant([x.rank - 1], DType.I64), b.constant([0], DType.I64)
    first, second = (
        _scaled(b, b.op("Slice", part, start, b.sizes([n // 2 + 1]), axis), n, normalization)
        for part in _transformed(b, x, None, n, inverse=False)
    )
    return first, second


@onnx(OPERATORS.irfft.default)
def irfft(
    b: OnnxBuilder, re: OnnxTensor, im: OnnxTensor, n: int | Index, normalization: int
) -> OnnxTensor:
    """The real lines of n numbers with the given first half of a transform."""
    whole = _mirrored(b, re, n, False), _mirrored(b, im, n, True)
    real, _ = _transformed(b, *whole, n, inverse=True)
    return _scaled(b, real, n, normalization)


@onnx(OPERATORS.mirror.default)
def mirror(b: OnnxBuilder, half: OnnxTensor, n: int | Index, negated: bool) -> OnnxTensor:
    """All n elements of a line with mirror symmetry, of the first n // 2 + 1."""
    return _mirrored(b, half, n, negated)


def _mirrored(b: OnnxBuilder, half: OnnxTensor, n: int | Index, negated: bool) -> OnnxTensor:
    rest = Index.of(n) - half.dims[-1]
    axis, back = b.constant([half.rank - 1], DType.I64), b.constant([-1], DType.I64)
    tail = b.op("Slice", half, b.sizes([rest]), b.constant([0], DType.I64), axis, back)
    tail = b.op("Neg", tail) if negated else tail
    return b.op("Concat", half, tail, axis=half.rank - 1)
