"""The models with control flow as exported programs of torch: as eager, or refused by a rule."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import torch

from ptc.exporting import export_model
from ptc.hosting.input_spec import parse_dynamic
from ptc.loader.model import DynamicDim, EntryRequest
from ptc.support.diagnostics import CompileError
from tests.zoo import harness
from tests.zoo.case import Case
from tests.zoo.catalog import cases

#: What exported programs cannot say, by code (PTC-B009: what capture says of one size without
#: branches on it; PTC-E053: torch.export refuses what it was made into, with its own message).
REFUSED = {
    "PTC-B009": ("enumerate_rows object_attributes run_length_encoding tiny_generator"),
    "PTC-E007": ("alias_or_copy collatz topk_budget"),
    "PTC-E050": (
        "bigrams_once classifier_report ctc_collapse dict_by_side dynamic_quantiser "
        "extended_kalman loss_scaler none_or_tensor rank_by_data sixteen_flags tuples_by_data"
    ),
    "PTC-E053": ("sizes_from_data"),
    "PTC-E054": (
        "beam_step breadth_first cascade caught_lookups chained_comparisons circuit_breaker "
        "clock_arithmetic collect_and_concatenate comprehension_filter countdown "
        "fixed_point_restart flood_fill game_of_life generator_windows gram_schmidt "
        "greedy_decoder integer_arithmetic interval_merger knapsack layer_drop longest_increasing "
        "majority_vote merge_sort nms phase_schedule pointer_reader predicate_count "
        "repetition_penalty report_table roman_numerals segment_pooling set_membership soft_tree "
        "speculative_step stack_machine starred_unpacking state_machine task_router try_except "
        "union_find unique_codes viterbi viterbi_spans walrus_convergence"
    ),
    "PTC-E055": ("growing_memory nucleus_sampling packed_rnn shrink sieve"),
    "PTC-E056": ("math_on_data"),
    "PTC-E057": ("mixture_of_depths"),
}
CODES = {name: code for code, names in REFUSED.items() for name in names.split()}


def request_of(case: Case) -> EntryRequest:
    dynamic: dict[str, dict[int, DynamicDim]] = {}
    for path, numbers in (case.dynamic or {}).items():
        for number, text in numbers.items():
            for dim in parse_dynamic(f"{path}:{number}={text}"):
                described = DynamicDim(dim.name, dim.lower, dim.upper)
                dynamic.setdefault(path, {})[number] = described
    return EntryRequest(
        case.name, case.make(), harness.clone(case.inputs[0]), dynamic=dynamic or None
    )


def as_eager(found: Any, expected: Any) -> Any:
    """A file's result in the classes of eager's: tensors for numbers, dicts for objects."""
    if isinstance(found, torch.Tensor) and isinstance(expected, (float, bool)):
        return found.item()
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: as_eager(found[key], value) for key, value in expected.items()}
    if isinstance(expected, (list, tuple)) and len(found) == len(expected):
        items = [as_eager(a, b) for a, b in zip(found, expected, strict=True)]
        kind = type(expected)
        return kind(*items) if hasattr(expected, "_fields") else kind(items)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", list(cases()))
def test_every_model(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    with contextlib.redirect_stdout(io.StringIO()):
        if name in CODES:
            with pytest.raises(CompileError) as info:
                export_model([request_of(case)], format="pt2", output=tmp_path / "m.pt2")
            assert info.value.code == CODES[name], str(info.value)
            return
        export_model([request_of(case)], format="pt2", output=tmp_path / "m.pt2")
        recorded = harness.eager(case)
        module = torch.export.load(tmp_path / "m.pt2").module()
        observed = harness.observe(case, module, lambda: None, lambda _: ("", ""))
    for expected, found in zip(recorded, observed, strict=True):
        if expected.raised is not None:
            return  # what a call leaves for which eager raises is not said
        assert found.raised is None, found.raised
        result = as_eager(found.result, expected.result)
        harness.compare([harness.Call(result=expected.result)], [harness.Call(result=result)])
