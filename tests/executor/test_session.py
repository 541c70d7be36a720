"""Models and sessions of the executor: inputs are checked, buffers last, memory is counted, results
are the caller's."""

from __future__ import annotations

import gc
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptc.executor.build import build
from ptc.executor.session import Model, Session
from ptc.support.diagnostics import CompileError
from tests.executor.files import graph, package

F32 = np.float32


def session(
    *lines: str,
    dims: tuple[str, ...] = (),
    tensors: dict[str, np.ndarray] | None = None,
    **options: Any,
) -> Session:
    return Session(Model(package(graph(*lines, dims=dims), tensors), **options))


def failure(run: Session, values: Sequence[Any]) -> str:
    with pytest.raises(CompileError) as error:
        run.run(values)
    return f"{error.value.diagnostic.code} {error.value.diagnostic.message}"


COUNTER = (
    '%0 : f32[2] = user "x"',
    '%1 : f32[2] = buffer "total"',
    "%2 : f32[2] = aten::add.Tensor(%0, %1, 1)",
    'return %2 "sum"',
    'return %1 "before"',
    'write %2 1 "total"',
)


def test_buffers_last_in_their_session() -> None:
    model = Model(package(graph(*COUNTER), {"total": np.array([1, 2], F32)}))
    one, two = Session(model), Session(model)
    x = np.array([10, 20], F32)
    assert [r.tolist() for r in one.run([x])] == [[11, 22], [1, 2]]
    assert [r.tolist() for r in one.run([x])] == [[21, 42], [11, 22]]
    assert [r.tolist() for r in two.run([x])] == [[11, 22], [1, 2]]
    one.reset()
    assert [r.tolist() for r in one.run([x])] == [[11, 22], [1, 2]]


def test_a_failed_run_leaves_buffers() -> None:
    lines = (
        *COUNTER[:2],
        '%2 : i64[1] = user "i"',
        "%3 : f32[1] = aten::index_select(%1, 0, %2)",
        "%4 : f32[2] = aten::add.Tensor(%0, %1, 1)",
        'return %3 "y"',
        'write %4 1 "total"',
    )
    run = session(*lines, tensors={"total": np.array([1, 2], F32)})
    x = np.ones(2, F32)
    assert "index 5 is out of range" in failure(run, [x, np.array([5])])
    assert run.run([x, np.array([1])])[0].tolist() == [2]
    assert run.run([x, np.array([1])])[0].tolist() == [3]


def test_results_are_the_callers() -> None:
    run = session(
        '%0 : f32[2] = user "x"',
        '%1 : f32[2] = parameter "w"',
        'return %0 "a" alias 0',
        'return %1 "b"',
        'return %0 "c"',
        tensors={"w": np.array([5, 6], F32)},
    )
    x = np.array([1, 2], F32)
    a, b, c = run.run([x])
    a[0], b[0] = 7, 7
    assert x.tolist() == [1, 2] and c.tolist() == [1, 2]
    assert run.run([x])[1].tolist() == [5, 6]


def test_a_write_reaches_the_callers_array() -> None:
    run = session(
        '%0 : f32[2, 2] = user "x"',
        "%1 : f32[2, 2] = aten::t(%0)",
        'return %0 "old"',
        'write %1 0 "x"',
    )
    x = np.arange(4, dtype=F32).reshape(2, 2)
    (old,) = run.run([x])
    assert old.tolist() == [[0, 1], [2, 3]]
    assert x.tolist() == [[0, 2], [1, 3]]


def test_strided_inputs_are_read_as_they_lie() -> None:
    run = session('%0 : f32[2, 3] = user "x"', "%1 : f32[3, 2] = aten::t(%0)", 'return %1 "y"')
    wide = np.arange(12, dtype=F32).reshape(3, 4)
    assert run.run([wide.T[:2]])[0].tolist() == wide[:, :2].tolist()
    assert run.run([wide[:2, ::-1][:, :3]])[0].tolist() == wide[:2, ::-1][:, :3].T.tolist()


SIZED = (
    '%0 : f32[s0, 4] = user "x"',
    '%1 : f32[2*s0] = user "y"',
    '%2 : int{s1} = scalar "n"',
    "%3 : f32[2*s0, 2] = aten::view(%0, [2*s0, 2])",
    'return %3 "pairs"',
    'return s0*s1 "count"',
)
DIMS = ('dim s0 "batch" 2 6', 'dim s1 "n" 1 inf')


def test_inputs_are_checked_and_named() -> None:
    run = session(*SIZED, dims=DIMS)
    x, y = np.zeros((3, 4), F32), np.zeros(6, F32)
    pairs, count = run.run([x, y, 5])
    assert pairs.shape == (6, 2) and count == 15
    assert "PTC-R011 input `x` is f64, expected f32" in failure(run, [x.astype(float), y, 5])
    assert "PTC-R012 input `x` has 1 dimensions, expected 2" in failure(run, [y, y, 5])
    assert (
        "PTC-R012 input `x`: dimension 0 (batch) is 7, expected at least 2 and at most 6"
        in failure(run, [np.zeros((7, 4), F32), y, 5])
    )
    assert "PTC-R012 input `x`: dimension 1 is 5, expected 4" in failure(
        run, [np.zeros((3, 5), F32), y, 5]
    )
    assert "PTC-R012 input `y`: dimension 0 is 5, expected 6" in failure(run, [x, y[:5], 5])
    assert "PTC-R012 input `n` is 0, expected at least 1" in failure(run, [x, y, 0])
    assert "PTC-R010" in failure(run, [x, y])
    assert run.run([x, y, 5])[1] == 15


def test_a_result_of_another_type_is_no_result() -> None:
    run = session('%0 : f32[2] = user "x"', "%1 : f32[3] = aten::alias(%0)", 'return %1 "y"')
    assert "%1 = aten::alias: a size of the result is 2, the program says 3" in failure(
        run, [np.zeros(2, F32)]
    )
    run = session('%0 : f32[2] = user "x"', "%1 : i64[2] = aten::alias(%0)", 'return %1 "y"')
    assert "the result is f32, the program says i64" in failure(run, [np.zeros(2, F32)])


def test_errors_name_the_users_line() -> None:
    run = session(
        '%0 : f32[2] = user "x"',
        '%1 : f32[9] = aten::expand(%0, [9], False)  # "m.py":7 "x.expand(9)"',
        'return %1 "y"',
    )
    assert "%1 = aten::expand (m.py:7): [2] is not expanded to [9]" in failure(
        run, [np.zeros(2, F32)]
    )


def test_memory_is_limited_and_given_back() -> None:
    lines = (
        '%0 : int{n} = scalar "n"',
        "%1 : f32[n] = aten::zeros([n], dtype(f32), None, None, None)",
        "%2 : f32[] = aten::select.int(%1, 0, 0)",
        'return %2 "y"',
    )
    run = session(*lines, dims=('dim n "n" 1 inf',), memory_limit=1 << 20)
    assert run.run([1000])[0] == 0
    assert "PTC-R021" in failure(run, [1 << 20])
    assert "PTC-R021" in failure(run, [1 << 55])
    for _ in range(3):
        assert run.run([200_000])[0] == 0
    assert run.peak_memory() <= 1 << 20


def test_models_may_go_before_their_sessions() -> None:
    run = session('%0 : f32[2] = user "x"', 'return %0 "y"')
    gc.collect()
    assert run.run([np.ones(2, F32)])[0].tolist() == [1, 1]


def test_the_program_reads_and_writes_npy(tmp_path: Path) -> None:
    (tmp_path / "m.ptir").write_bytes(package(graph(*SIZED, dims=DIMS)))
    np.save(tmp_path / "x.npy", np.arange(12, dtype=F32).reshape(3, 4))
    np.save(tmp_path / "y.npy", np.zeros(6, F32))
    words = ["--input", f"x={tmp_path / 'x.npy'}", "--input", f"y={tmp_path / 'y.npy'}"]
    command = [str(build().program), str(tmp_path / "m.ptir"), *words]
    done = subprocess.run(
        [*command, "--input", "n=4", "--output", str(tmp_path / "out")], check=True
    )
    assert done.returncode == 0
    assert np.load(tmp_path / "out" / "pairs.npy").tolist() == np.arange(12).reshape(6, 2).tolist()
    assert np.load(tmp_path / "out" / "count.npy") == 12
    missing = subprocess.run(command, capture_output=True, text=True, check=False)
    assert missing.returncode == 2 and "input `n` is missing" in missing.stderr
