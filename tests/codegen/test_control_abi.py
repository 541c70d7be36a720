"""The C interface of entries with control flow: results of any shape, lists, failures, sessions."""

# pyright: reportPrivateUsage=false
# Reaches through the Python objects to the C table.

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ptc
from ptc.graph.control import ControlProgram, Formatted, ListVar, NumberKind
from ptc.graph.program import InputKind
from ptc.hosting import LoadedArtifact
from ptc.hosting.abi import DLDataType, DLDevice, DLTensor, Status
from ptc.support.diagnostics import CompileError
from tests.codegen.control_library import build
from tests.graph.control_building import ControlBuilder

INT, FLOAT, BOOL = NumberKind.INT, NumberKind.FLOAT, NumberKind.BOOL


def _lists() -> ControlProgram:
    """`for i in range(k): rows.append(x[:i + 1] * i)`; gives rows, their count, their sizes."""
    b = ControlBuilder("lists")
    x, k = b.tensor("x", torch.empty(6)), b.scalar("k", INT)
    size = b.size("count", 0, 6)
    rows = ListVar("rows", b.variable("row", torch.float32, size).fake)
    sizes = ListVar("sizes", INT)
    b.list_item("new", rows)
    b.list_item("new", sizes)
    i = b.number("i", 0)
    again = b.compute("again", BOOL, "gt", k, 0)
    enter, _ = b.branch(again, "for")
    with b.inside(enter), b.inside(b.loop(again, "for")):
        b.compute("n", INT, "add", i, 1)
        b.bind_value(size, b.compute("n", INT, "add", i, 1))
        (row,) = b.segment(lambda x, i: x[:size] * i, [x, i], "row")
        b.list_item("append", None, rows, row)
        b.list_item("append", None, sizes, i)
        b.compute("i", INT, "add", i, 1)
        b.compute("again", BOOL, "lt", i, k)
    return b.finish(rows, i, sizes)


def _positives() -> ControlProgram:
    """`x[x > 0] * 2`, whose size is data."""
    b = ControlBuilder("positives")
    x = b.tensor("x", torch.empty(6))
    (mask,) = b.segment(lambda x: x > 0, [x], "mask")
    size = b.size("found", 0, 6)
    found = b.variable("found", torch.float32, size)
    b.data_sized("masked_select", [found], x, mask)
    b.bind_dim(size, found)
    (out,) = b.segment(lambda found: found * 2, [found], "out")
    return b.finish(out)


def _endless() -> ControlProgram:
    b = ControlBuilder("endless")
    x = b.tensor("x", torch.empty(4))
    h = b.variable("h", torch.float32, 4)
    b.assign(h, x)
    again = b.number("again", True)
    with b.inside(b.loop(again)):
        (more,) = b.segment(lambda h: h * 0.5, [h], "more")
        b.assign(h, more)
    return b.finish(h)


def _divide() -> ControlProgram:
    b = ControlBuilder("divide")
    k, n = b.scalar("k", INT), b.scalar("n", INT)
    b.compute("power", INT, "mul", k, k)
    q = b.compute("q", INT, "floordiv", k, n)
    return b.finish(q)


def tensor(array: np.ndarray[Any, Any] | None, rank: int, code: int, bits: int) -> DLTensor:
    """A compact tensor; without an array the library has to allocate it."""
    t = DLTensor(None, DLDevice(1, 0), rank, DLDataType(code, bits, 1), None, None, 0)
    if array is not None:
        t.data = array.ctypes.data
        shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
        t.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    return t


def run(
    library: LoadedArtifact, inputs: Sequence[DLTensor], outputs: Sequence[DLTensor]
) -> tuple[int, str]:
    """Status and message of a run of the first entry."""
    session = library.entry()._session
    pointer = ctypes.POINTER(DLTensor)
    ins = (pointer * max(len(inputs), 1))(*[ctypes.pointer(t) for t in inputs])
    outs = (pointer * max(len(outputs), 1))(*[ctypes.pointer(t) for t in outputs])
    status = session.api.run(session.handle, 0, ins, len(inputs), outs, len(outputs))
    return status, session.api.last_error(session.handle).decode()


def test_lists_are_arrays_of_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build({"forward": _lists()}, tmp_path, monkeypatch)
    x = np.arange(6, dtype=np.float32)
    for k in (0, 3, 6):
        rows, count, sizes = library(x, k)
        assert [r.tolist() for r in rows] == [(x[: i + 1] * i).tolist() for i in range(k)]
        assert type(count) is int
        assert (count, sizes) == (k, list(range(k)))
    k_array = np.array(3, np.int64)
    given = [tensor(x, 1, 2, 32), tensor(k_array, 0, 0, 64)]
    places = [tensor(None, 1, 3, 64), tensor(None, 0, 0, 64), tensor(None, 1, 0, 64)]
    assert run(library, given, places) == (Status.OK, "")
    assert (places[0].dtype.code, places[0].dtype.bits, places[0].shape[0]) == (3, 64, 3)
    items = ctypes.cast(places[0].data, ctypes.POINTER(ctypes.POINTER(DLTensor)))
    last = items[2].contents
    assert (last.ndim, last.shape[0], last.strides[0], last.data % 64) == (1, 3, 1, 0)
    values = ctypes.cast(last.data, ctypes.POINTER(ctypes.c_float))
    assert [values[i] for i in range(3)] == [0, 2, 4]
    # A list has no memory that the caller could give.
    places[0] = tensor(np.zeros(3, np.int64), 1, 3, 64)
    status, message = run(library, given, places)
    assert status == Status.ARGUMENT
    assert "output `output0` is a list" in message


def test_a_result_of_unknown_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build({"forward": _positives()}, tmp_path, monkeypatch)
    x = np.array([1, -2, 3, 0, 5, -6], np.float32)
    for case in (x, -np.abs(x), np.abs(x) + 1):
        assert library(case).tolist() == (case[case > 0] * 2).tolist()
    given = [tensor(x, 1, 2, 32)]
    fits, small, other = np.zeros(3, np.float32), np.zeros(2, np.float32), np.zeros(3, np.int32)
    assert run(library, given, [tensor(fits, 1, 2, 32)]) == (Status.OK, "")
    assert fits.tolist() == [2, 6, 10]
    status, message = run(library, given, [tensor(small, 1, 2, 32)])
    assert status == Status.SHAPE
    assert message == "output `output0`: dimension 0 is 2, expected 3"
    status, message = run(library, given, [tensor(other, 1, 0, 32)])
    assert status == Status.DTYPE


def test_a_loop_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build({"forward": _endless()}, tmp_path, monkeypatch)
    found: list[Any] = []

    def call() -> None:
        try:
            library(np.ones(4, np.float32))
        except CompileError as error:
            found.append(error.code)

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.05)
    # A run that begins after the request is not cancelled: ask until it ends.
    while thread.is_alive():
        library.entry()._session.cancel()
        thread.join(0.05)
    assert found == ["PTC-R022"]


def test_numbers_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build({"forward": _divide()}, tmp_path, monkeypatch)
    assert library(-7, 2) == -4
    with pytest.raises(ZeroDivisionError):
        library(7, 0)
    with pytest.raises(CompileError, match="integer overflow"):
        library(1 << 40, 1)
    assert library(9, 2) == 4


def test_exceptions_keep_their_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Builtin ones are raised as such, others with their name; texts are of any length."""
    b = ControlBuilder("raising")
    x, which = b.tensor("x", torch.empty(300)), b.scalar("which", INT)
    arms = b.switch(which, 3)
    names = ["KeyError", "package.module.TooLarge", "StopIteration"]
    for arm, name in zip(arms, names, strict=True):
        with b.inside(arm):
            b.fail(name, *(["value ", Formatted(x)] if name != "StopIteration" else []))
    library = build({"forward": b.finish(x)}, tmp_path, monkeypatch)
    x = torch.arange(300.0) / 7
    with pytest.raises(KeyError) as key_error:
        library(x, 0)
    assert str(key_error.value) == f"value {x}"
    with pytest.raises(ptc.UsersException) as own:
        library(x, 1)
    assert (own.value.type_name, str(own.value)) == ("package.module.TooLarge", f"value {x}")
    with pytest.raises(StopIteration):
        library(x, 2)
    assert library.raised is not None


def test_what_a_listener_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the run and reaches the caller."""
    b = ControlBuilder("talking")
    x = b.tensor("x", torch.empty(2))
    b.emit("stdout", "one\n")
    b.segment(lambda x: x + 1, [x], "y")
    b.emit("stdout", "two\n")
    library = build({"forward": b.finish(x)}, tmp_path, monkeypatch)
    heard: list[str] = []

    def listen(channel: str, label: str, text: str) -> None:
        heard.append(text)
        raise LookupError(text)

    library.on_emit(listen)
    with pytest.raises(LookupError, match="one"):
        library(np.ones(2, np.float32))
    assert heard == ["one\n"]
    library.on_emit(lambda *parts: heard.append(parts[2]))
    library(np.ones(2, np.float32))
    assert heard == ["one\n", "one\n", "two\n"]


def test_memory_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build({"forward": _lists()}, tmp_path, monkeypatch)
    x = np.arange(6, dtype=np.float32)
    library(x, 6)
    peak = library.peak_memory()
    for _ in range(200):
        library(x, 6)
    assert library.peak_memory() == peak


def test_entries_share_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two programs with one weight: stored once, written by one, seen by the other."""
    total = torch.zeros(2)
    programs: dict[str, ControlProgram] = {}
    for name in ("add", "get"):
        b = ControlBuilder(name)
        x = b.tensor("x", torch.empty(2))
        t = b.weight("total", total, InputKind.BUFFER)
        if name == "add":
            b.written.add("total")
            b.segment(lambda t, x: t.add_(x), [t, x])
        (out,) = b.segment(lambda t, x: t + 0 * x, [t, x], "out")
        programs[name] = b.finish(out)
    library = build(programs, tmp_path, monkeypatch)
    x = np.array([1, 2], np.float32)
    assert [w.name for w in library.manifest.weights.tensors] == ["total"]
    assert library.add(x).tolist() == [1, 2]
    assert library.add(x).tolist() == [2, 4]
    assert library.get(x).tolist() == [2, 4]
    assert library.fork_session().get(x).tolist() == [0, 0]
    library.reset()
    assert library.get(x).tolist() == [0, 0]


@pytest.mark.parametrize("weights", ["embedded", "file"])
def test_packed_weights_are_shared_by_arms(
    weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three segments multiply by one weight: it is packed once."""
    w = torch.randn(96, 96) / 10
    b = ControlBuilder("arms")
    x, proj = b.tensor("x", torch.empty(8, 96)), b.weight("proj", w)
    positive = b.test("positive", lambda x, w: (x @ w).sum() > 0, x, proj)
    then, orelse = b.branch(positive)
    with b.inside(then):
        (y,) = b.segment(lambda x, w: (x @ w).tanh(), [x, proj], "y")
    with b.inside(orelse):
        b.segment(lambda x, w: (x @ w).relu(), [x, proj], "y")
    library = build({"forward": b.finish(y)}, tmp_path, monkeypatch, weights=weights)
    for seed in range(4):
        given = torch.randn(8, 96, generator=torch.Generator().manual_seed(seed))
        product = given @ w
        expected = product.tanh() if product.sum() > 0 else product.relu()
        torch.testing.assert_close(library(given), expected)
    prepared = library._model.library.file.section(".ptc_prepared")
    if weights == "embedded":
        assert prepared is not None
        assert prepared.size < 1.5 * w.numel() * 4


def test_tensors_of_many_dimensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    b = ControlBuilder("deep")
    x = b.tensor("x", torch.empty((1,) * 9))
    (out,) = b.segment(lambda x: x + 1, [x], "out")
    with pytest.raises(CompileError, match="PTC-O004"):
        build({"forward": b.finish(out)}, tmp_path, monkeypatch)


def test_sizes_that_eager_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    b = ControlBuilder("counts")
    x, which = b.tensor("x", torch.empty(3, dtype=torch.int64)), b.scalar("which", BOOL)
    size = b.size("size")
    out = b.variable("out", torch.int64, size)
    then, orelse = b.branch(which)
    with b.inside(then):
        b.data_sized("repeat_interleave", [out], x)
    with b.inside(orelse):
        b.data_sized("bincount", [out], x, 2)
    b.bind_dim(size, out)
    library = build({"forward": b.finish(out)}, tmp_path, monkeypatch)
    x = torch.tensor([2, 0, 1])
    assert library(x, True).tolist() == torch.repeat_interleave(x).tolist()
    assert library(x, False).tolist() == torch.bincount(x, minlength=2).tolist()
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        library(-x, True)
    with pytest.raises(RuntimeError, match="non-negative integral inputs"):
        library(-x, False)
