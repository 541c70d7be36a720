"""Calling a library: structures, arrays and tensors, checks, state, threads."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from ptc.hosting import LoadedArtifact, load
from ptc.hosting.dims import evaluate, shape_text
from ptc.support.diagnostics import CompileError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fake(library: Path) -> LoadedArtifact:
    return load(library)


def array(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def code_of(call) -> str:
    with pytest.raises(CompileError) as caught:
        call()
    return caught.value.code


def test_numpy_in_numpy_out(fake: LoadedArtifact) -> None:
    x = array(2, 3)
    result = fake(x)
    assert isinstance(result.logits, np.ndarray) and result.extra is None
    assert np.array_equal(result.logits, 2 * x)
    assert result[0] is result["logits"] is result.logits


def test_tensors_in_tensors_out(fake: LoadedArtifact) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    result = fake(x.requires_grad_())
    assert isinstance(result.logits, torch.Tensor) and torch.equal(result.logits, 2 * x)


def test_strided_inputs_are_copied(fake: LoadedArtifact) -> None:
    x = array(3, 4).T[:, :3]
    assert np.array_equal(fake(x).logits, 2 * x)
    assert torch.equal(fake(torch.from_numpy(x)).logits, 2 * torch.from_numpy(x))


def test_other_arrays(fake: LoadedArtifact) -> None:
    class Foreign:
        def __dlpack__(self, **options):
            return array(1, 3).__dlpack__(**options)

        def __dlpack_device__(self):
            return (1, 0)

    assert np.array_equal(fake(Foreign()).logits, 2 * array(1, 3))


def test_one_library_for_every_size(fake: LoadedArtifact) -> None:
    for n in (1, 2, 8):
        assert fake(array(n, 3)).logits.shape == (n, 3)


def test_arguments_by_keyword_and_with_defaults(fake: LoadedArtifact) -> None:
    x = array(1, 3)
    for result in (fake(x=x), fake(x, None), fake(x, scale=2.0), fake(x, None, 2)):
        assert np.array_equal(result.logits, 2 * x)


@pytest.mark.parametrize(
    "args, kwargs, code, message",
    [
        ((), {}, "PTC-R010", "the input `x` is missing"),
        ((array(1, 3),), {"x": array(1, 3)}, "PTC-R010", "given twice"),
        ((array(1, 3),), {"y": 1}, "PTC-R010", "no argument `y`"),
        ((array(1, 3), None, 2.0, 4), {}, "PTC-R010", "takes 3 arguments, 4 were given"),
        ((array(1, 3),), {"scale": 3.0}, "PTC-R014", "`scale` is 3.0"),
        ((array(1, 3), 5), {}, "PTC-R014", "`args[1]` is 5"),
        ((array(1, 4),), {}, "PTC-R012", "has shape [1, 4], expected [batch, 3]"),
        ((array(3),), {}, "PTC-R012", "has shape [3]"),
        ((array(9, 3),), {}, "PTC-R012", "(`batch`) of the input `x` is 9, expected 1..8"),
        ((array(1, 3).astype(np.float64),), {}, "PTC-R011", "has element type f64, expected f32"),
        ((torch.ones(1, 3).half(),), {}, "PTC-R011", "has element type f16, expected f32"),
        ((torch.ones(1, 3, device="meta"),), {}, "PTC-R013", "on meta"),
        ((torch.ones(1, 3).to_sparse(),), {}, "PTC-R013", "sparse"),
        (("text",), {}, "PTC-R010", "is a str"),
        ((array(1, 3).astype(">f4"),), {}, "PTC-R013", "byte order"),
    ],
)
def test_wrong_arguments(fake: LoadedArtifact, args, kwargs, code: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        fake(*args, **kwargs)
    assert caught.value.code == code and message in caught.value.diagnostic.message


def test_a_failing_check_carries_the_models_message(fake: LoadedArtifact) -> None:
    x = np.full((1, 3), 99, np.float32)
    with pytest.raises(CompileError, match="index 99 is out of range") as caught:
        fake(x)
    assert caught.value.code == "PTC-R020"
    assert np.array_equal(fake(array(1, 3)).logits, 2 * array(1, 3))
    assert code_of(lambda: fake(np.full((1, 3), 98, np.float32))) == "PTC-R023"


def test_outputs_whose_size_only_the_run_knows(fake: LoadedArtifact) -> None:
    x = np.array([1, 2, 3, 4, 6], np.float32)
    for _ in range(3):
        assert fake.evens(x).tolist() == [2, 4, 6]
    assert fake.evens(torch.from_numpy(x)).tolist() == [2, 4, 6]
    assert fake.evens(np.ones(5, np.float32)).shape == (0,)


def test_mutated_inputs_are_written_back(fake: LoadedArtifact) -> None:
    for x in (array(4), array(8)[::2]):
        expected = -x.copy()
        (total,) = fake.negate({"x": x})
        assert np.array_equal(x, expected)
        assert total.dtype.itemsize == 2
    tensor = torch.arange(8.0)[::2]
    (total,) = fake.negate({"x": tensor})
    assert tensor.tolist() == [0, -2, -4, -6]
    assert total.dtype == torch.bfloat16 and total.item() == -12
    frozen = array(4)
    frozen.flags.writeable = False
    assert code_of(lambda: fake.negate({"x": frozen})) == "PTC-R013"


def test_empty_tensors(fake: LoadedArtifact) -> None:
    assert fake.negate({"x": np.zeros(0, np.float32)})[0] == 0
    assert fake.negate({"x": torch.zeros(0)})[0].item() == 0


@pytest.mark.parametrize("value", [{"y": array(2)}, array(2), {"x": array(2), "y": 1}, [array(2)]])
def test_wrong_structures(fake: LoadedArtifact, value) -> None:
    assert code_of(lambda: fake.negate(value)) == "PTC-R010"


def test_state_belongs_to_the_session(fake: LoadedArtifact) -> None:
    assert [fake.count()[0].item() for _ in range(3)] == [1, 2, 3]
    other = fake.fork_session()
    assert other.count()[0].item() == 1 and fake.count()[0].item() == 4


def test_threads_take_turns(fake: LoadedArtifact) -> None:
    def work() -> None:
        for _ in range(100):
            fake.count()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fake.count()[0].item() == 401


def test_models_close_when_nothing_uses_them(library: Path) -> None:
    count = ctypes.CDLL(str(library.resolve())).ptc_test_open_models
    gc.collect()
    before = count()
    first = load(library)
    second = first.fork_session()
    del first
    gc.collect()
    assert count() == before + 1 and second(array(1, 3)).logits.shape == (1, 3)
    del second
    gc.collect()
    assert count() == before


def test_named_runs_for_the_command_line(fake: LoadedArtifact) -> None:
    entry = fake.entry("double")
    assert list(entry.run_named([array(1, 3)], {})) == ["y"]
    assert np.array_equal(entry.run_named([], {"x": array(1, 3)})["y"], 2 * array(1, 3))
    assert code_of(lambda: entry.run_named([], {})) == "PTC-R010"
    assert code_of(lambda: entry.run_named([], {"z": 1})) == "PTC-R010"
    assert code_of(lambda: entry.run_named([1, 2], {})) == "PTC-R010"
    assert code_of(lambda: fake.entry("nope")) == "PTC-R015"


def test_description(fake: LoadedArtifact) -> None:
    assert str(fake.entry()) == "double(x: f32[batch, 3]) -> f32[batch, 3]"
    assert "libfake.so" in repr(fake) and fake.peak_memory() == 12345
    with pytest.raises(AttributeError):
        fake.nothing


def test_no_torch_is_imported(library: Path) -> None:
    code = f"""
import sys, numpy as np
from ptc import load
y = load({str(library)!r})(np.ones((2, 3), np.float32)).logits
assert y.tolist() == [[2, 2, 2]] * 2
assert not [m for m in sys.modules if m.split('.')[0] in ('torch', 'onnx', 'safetensors')]
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    "dim, expected",
    [(3, 3), ("s0", 4), ("2*s0 + 1", 9), ("s0//3*2 - s1", -5), ("max(s0, s1) % 4", 3),
     ("-s0", -4), ("u0 + 1", None)],
)  # fmt: skip
def test_dimensions(dim, expected) -> None:
    assert evaluate(dim, {"s0": 4, "s1": 7}) == expected


def test_dimension_errors_and_text() -> None:
    for bad in ("s0 +", "s0.real", "f(s0)", "s0 // 0"):
        assert code_of(lambda bad=bad: evaluate(bad, {"s0": 1})) == "PTC-R006"
    assert shape_text((3, "2*s0 + s00"), {"s0": "batch"}) == "[3, 2*batch + s00]"
