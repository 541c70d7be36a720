"""What the table covers: samples for every rule, and the core set of the installed torch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._ops import OpOverload

from ptc.ops import opaque, refusals, registry
from ptc.ops.complex_registry import all_complex_samples, complex_operators
from ptc.ops.families import FAMILIES
from ptc.support.diagnostics import CompileError

# Core operators that have neither rule nor refusal, and why they need none.
NOT_NEEDED = {
    "aten.atan2.out",  # functionalisation leaves no out= variants
    "aten.sym_numel.default",  # sizes are values of the graph, handled by schedule
    "aten.sym_storage_offset.default",
    "aten.sym_stride.int",
    "aten.sym_size.int",
}


def core_operators() -> set[OpOverload]:
    """Every overload that torch tags as core ATen."""
    found: set[OpOverload] = set()
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        for overload in getattr(packet, "overloads", lambda: ())():
            op = getattr(packet, overload)
            if torch.Tag.core in op.tags:
                found.add(op)
    return found


def sampled() -> set[OpOverload]:
    return {*registry.all_samples(), *registry.decomposition_samples()}


def test_every_core_operator_is_covered() -> None:
    covered = set(registry.lowered_operators()) | set(registry.decomposition_table())
    covered |= set(complex_operators())
    refused = registry.refused_operators()
    core = core_operators()
    assert len(core) > 150
    gap = {str(op) for op in core if op not in covered and op not in refused}
    print("core operators refused:")
    for op in sorted(core & set(refused), key=str):
        print(f"  {op}: {refused[op]}")
    assert gap <= NOT_NEEDED, f"neither lowered, decomposed nor refused: {gap - NOT_NEEDED}"


def test_core_refusals_are_the_known_ones() -> None:
    refused = {str(op) for op in core_operators() & set(registry.refused_operators())}
    assert refused == {
        "aten._adaptive_avg_pool2d_backward.default",
        "aten._local_scalar_dense.default",
        "aten.avg_pool2d_backward.default",
        "aten.convolution_backward.default",
        "aten.max_pool2d_with_indices_backward.default",
        "aten.nonzero.default",
        "aten.rand.default",
        "aten.randn.default",
        "aten.randperm.default",
    }


def test_every_rule_has_samples() -> None:
    registered = {*registry.lowered_operators(), *registry.decomposed_operators()}
    without = {str(op) for op in registered - sampled()}
    assert not without


def test_rules_for_complex_numbers_have_samples() -> None:
    strangers = {str(op) for op in set(all_complex_samples()) - set(complex_operators())}
    assert not strangers


def test_samples_belong_to_rules() -> None:
    registered = {*registry.lowered_operators(), *registry.decomposed_operators()}
    strangers = {str(op) for op in sampled() - registered}
    assert not strangers


def test_refusals_raise_their_code() -> None:
    for op, code in registry.refused_operators().items():
        rule = registry.lowering(op)
        assert rule is not None
        with pytest.raises(CompileError) as caught:
            rule(None)
        assert caught.value.code == code
        assert caught.value.diagnostic.hint


def test_no_refusal_is_stale() -> None:
    text = Path(refusals.__file__).read_text().splitlines()
    places = [
        f"remove line {number} of ptc/ops/refusals.py: `{op}` is compiled"
        for op in registry.stale_refusals()
        for number, line in enumerate(text, start=1)
        if line.strip() == f"{op},"
    ]
    assert not registry.stale_refusals(), "; ".join(places)


def test_a_rule_takes_precedence_over_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    op = torch.ops.aten.i0.default
    assert registry.refused_operators()[op] == "PTC-O004"
    monkeypatch.setitem(registry._LOWERINGS._entries, op, lambda ctx, x: x)
    rule = registry.lowering(op)
    assert rule is not None and rule(None, 3) == 3
    assert op in registry.lowered_operators() and op not in registry.refused_operators()
    with pytest.raises(AssertionError, match=r"remove line \d+ of .*`aten.i0.default` is compiled"):
        test_no_refusal_is_stale()


def test_a_decomposition_takes_precedence_over_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    op = torch.ops.aten.i0.default
    assert op not in registry.decomposition_table()
    monkeypatch.setitem(registry._DECOMPOSITIONS._entries, op, torch.special.i0)
    assert op not in registry.refused_operators()
    table = registry.decomposition_table.__wrapped__()
    assert table[op] is torch.special.i0


def test_a_clash_is_told_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
import torch
from ptc.ops.registry import lowers
lowers(torch.ops.aten.i0.default)(lambda ctx, x: x)
lowers(torch.ops.aten.relu.default)(lambda ctx, x: x)
"""
    (tmp_path / "clashing_family.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry._LOWERINGS, "_entries", dict(registry._LOWERINGS))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"aten\.relu.* registered twice"):
            registry.load_modules(("clashing_family",))


def test_decompositions_exclude_lowered_operators() -> None:
    table = registry.decomposition_table()
    assert not set(table) & set(registry.lowered_operators())
    assert set(registry.decomposed_operators()) <= set(table)


def test_duplicate_rules_are_errors() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        registry.lowers(torch.ops.aten.relu.default)(lambda ctx, x: x)


def test_families_are_listed_once() -> None:
    assert len(set(FAMILIES)) == len(FAMILIES)


def test_opaque_registration_is_idempotent() -> None:
    assert opaque._register() is None


def test_unknown_operators_have_no_rule() -> None:
    assert registry.lowering(torch.ops.aten.special_airy_ai.default) is None
    assert registry.lowering(len) is None
