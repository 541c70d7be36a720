"""Every operator with an ONNX rule: its sample rows through ONNX Runtime against eager.

The default run takes the first row of each operator with fixed sizes; `-m slow` takes all rows,
with fixed and with symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx_ir
import pytest
import torch
from torch._ops import OpOverload

from ptc.exporters.formats import ExportOptions
from ptc.exporters.onnx import run
from ptc.exporters.onnx.format import TESTED_OPSET
from ptc.exporters.onnx.translate import translate
from ptc.ops.onnx_registry import onnx_operators, onnx_rule
from ptc.ops.protocol import Sample, T
from ptc.ops.registry import all_samples, decomposed_operators, lowered_operators
from ptc.support.diagnostics import CompileError
from tests.ops import sampling

pytestmark = pytest.mark.skipif(not run.is_available(), reason="ONNX Runtime is not installed")

#: ONNX Runtime sums in another order and has its own polynomials: this many times the tolerance
#: that our own code is held to.
RELAXED = 50.0

#: Rows that ONNX cannot say: a projection, sizes that depend on data, or symbolic sizes where ONNX
#: wants numbers.
CANNOT_SAY = {
    "ptc.lstm.default",
    "aten.index.Tensor",
    "aten._unsafe_index.Tensor",
    "aten.index_put.default",
    "aten._unsafe_index_put.default",
    "aten._adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool3d.default",
    "aten.adaptive_avg_pool1d.default",
    "aten._pdist_forward.default",
}

#: Lowered operators without an ONNX rule, with the reason.
NO_RULE = {
    "ptc.random_seeded.default": "no ONNX operator draws from a state",
    "ptc.random_uniform.default": "no ONNX operator draws from a state",
    "ptc.random_normal.default": "no ONNX operator draws from a state",
    "ptc.random_exponential.default": "no ONNX operator draws from a state",
    "ptc.random_integers.default": "no ONNX operator draws from a state",
    "ptc.random_permutation.default": "no ONNX operator draws from a state",
    "aten._upsample_bilinear2d_aa.default": "the weights of Resize differ at the borders",
    "aten._upsample_bicubic2d_aa.default": "the weights of Resize differ at the borders",
    "aten.erfinv.default": "no ONNX operator",
    "aten.lgamma.default": "no ONNX operator",
    "aten.digamma.default": "no ONNX operator",
    "aten.nextafter.default": "no ONNX operator",
    "aten.cummax.default": "no ONNX operator",
    "aten.cummin.default": "no ONNX operator",
    "aten.logcumsumexp.default": "no ONNX operator",
    "aten.histc.default": "no ONNX operator",
    "aten.rrelu_with_noise_functional.default": "draws random numbers in training",
    "aten.adaptive_max_pool1d.default": "windows of different sizes",
    "aten.adaptive_max_pool2d.default": "windows of different sizes",
    "aten.adaptive_max_pool3d.default": "windows of different sizes",
    "aten._native_batch_norm_legit.default": "training",
    "aten._linalg_check_errors.default": "no ONNX operator",
    "aten.linalg_lu_factor_ex.default": "no ONNX operator",
    "aten.linalg_lu_solve.default": "no ONNX operator",
    "aten._linalg_solve_ex.default": "no ONNX operator",
    "aten.linalg_inv_ex.default": "no ONNX operator",
    "aten._linalg_det.default": "no ONNX operator",
    "aten._linalg_slogdet.default": "no ONNX operator",
    "aten.linalg_solve_triangular.default": "no ONNX operator",
    "aten.linalg_cholesky_ex.default": "no ONNX operator",
    "aten.lu_unpack.default": "no ONNX operator",
    "aten.linalg_qr.default": "no ONNX operator",
    "aten.linalg_householder_product.default": "no ONNX operator",
    "aten._linalg_eigh.default": "no ONNX operator",
    "aten._linalg_svd.default": "no ONNX operator",
    "aten.linalg_matrix_exp.default": "no ONNX operator",
    "ptc.real.default": "ONNX has no complex numbers",
    "ptc.imag.default": "ONNX has no complex numbers",
    "aten.complex.default": "ONNX has no complex numbers",
}


def _rows(first_only: bool) -> Iterator[Any]:
    for op, samples in all_samples().items():
        if onnx_rule(op) is None:
            continue
        for number, row in enumerate(samples[:1] if first_only else samples):
            yield pytest.param(op, row, id=sampling.sample_id(op, number, row))


def _doubles(value: Any) -> bool:
    if isinstance(value, T):
        return value.spec.startswith("f64")
    if isinstance(value, (list, tuple)):
        return any(_doubles(item) for item in value)
    return value is torch.float64


def _check(op: OpOverload, row: Sample, folder: Path, *, dynamic: bool) -> None:
    arguments = sampling.draw(row)
    try:
        program = sampling.single_call(op, arguments, dynamic=dynamic)
    except RuntimeError:
        assert dynamic, "torch refuses some operators only on symbolic sizes"
        pytest.skip("torch has no symbolic form")
    try:
        model = translate(program, ExportOptions(), TESTED_OPSET)
        onnx_ir.save(model, folder / "m.onnx")
        execute = run.load(folder / "m.onnx", [item.name for item in program.inputs])
        results = execute(sampling.tensors_of(arguments))
    except CompileError as error:
        if error.code == "PTC-E022":  # ONNX Runtime has few kernels for doubles
            assert _doubles(row.args) or _doubles(list(row.kwargs.values())), error
        else:
            assert error.code == "PTC-E021" and str(op) in CANNOT_SAY, error
        return
    relaxed = Sample(row.args, row.kwargs, row.tolerance * RELAXED, row.exact)
    wrong = sampling.mismatch(relaxed, sampling.reference(op, arguments), results)
    if str(op) == "aten.erfc.default" and wrong is not None:
        # 1 - erf(x): right to the unit roundoff of 1, not of the small result.
        expected = sampling.reference(op, arguments).eager
        torch.testing.assert_close(tuple(results), expected, atol=2e-7, rtol=1e-6)
        return
    assert wrong is None, wrong


@pytest.mark.parametrize(("op", "row"), list(_rows(first_only=True)))
def test_operator(op: OpOverload, row: Sample, tmp_path: Path) -> None:
    _check(op, row, tmp_path, dynamic=False)


@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize(("op", "row"), list(_rows(first_only=False)))
def test_operator_on_every_row(op: OpOverload, row: Sample, dynamic: bool, tmp_path: Path) -> None:
    if dynamic and str(op) in ("ptc.lstm.default", "ptc.gru.default", "ptc.rnn.default"):
        pytest.skip("the hidden size of a network is a number")
    _check(op, row, tmp_path, dynamic=dynamic)


def test_every_lowered_operator_has_a_rule_or_a_reason() -> None:
    missing = {str(op) for op in lowered_operators() if onnx_rule(op) is None}
    unexplained = missing - set(NO_RULE)
    assert not unexplained, "add a rule, or a reason to NO_RULE"
    ruled = {str(op) for op in onnx_operators()}
    assert not ruled & set(NO_RULE), "remove what has a rule now"


def test_every_ruled_operator_has_samples() -> None:
    # What has a size that depends on data has no row: see test_onnx.
    sampled = set(all_samples()) | set(decomposed_operators()) | {torch.ops.aten.nonzero.default}
    missing = sorted(str(op) for op in onnx_operators() if op not in sampled)
    assert not missing
