"""The C interface of generated libraries: checks at the door, sessions, weights, state, errors."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import load, poisoned, program
from safetensors.numpy import save_file

from ptc.codegen.entry import Entry, WriteBack
from ptc.codegen.generate import generate
from ptc.codegen.target import Target
from ptc.codegen.toolchain import build, resolve
from ptc.hosting.abi import DLDataType, DLDevice, DLTensor, OpenOptions

CODES = {"f": (2, 32), "d": (2, 64), "l": (0, 64), "i": (0, 32), "?": (6, 8), "B": (1, 8)}

SCALE = """
    program scale
    size s0 "batch" [2..8]
    input x: f32[s0, 3] strides(3, 1)
    weight w: f32[3] strides(1)
    output y: f32[s0, 3] strides(3, 1)
    temp t: f32[s0, 3] strides(3, 1)
    inputs x, w
    outputs y, (s0*2)
    kernel first:
      for i in s0 parallel:
        for j in 3 parallel:
          t[i, j] = mul(x[i, j], w[j])
    kernel second:
      for i in s0 parallel:
        for j in 3 parallel:
          check lt(t[i, j], 1000.0:f32) else "value too large"
          y[i, j] = add(t[i, j], 1.0:f32)
"""

COUNTER = """
    program counter
    input x: f32[3] strides(1)
    weight count: i64[] strides()
    weight w: f32[3] strides(1)
    output y: f32[3] strides(1)
    output next: i64[] strides()
    output changed: f32[3] strides(1)
    inputs x, count, w
    outputs y, next, changed
    kernel step:
      for i in 3 parallel:
        y[i] = add(mul(x[i], w[i]), cast:f32(count[]))
        changed[i] = neg(x[i])
      next[] = add(count[], 1:i64)
"""


def tensor(array: np.ndarray | None, *, strides: bool = False, **changes: Any) -> DLTensor:
    """A DLTensor on `array`'s memory; None: an output for the library to allocate."""
    t = DLTensor()
    if array is None:
        return t
    t.data = array.ctypes.data
    t.device = DLDevice(1, 0)
    t.ndim = array.ndim
    code, bits = CODES[array.dtype.char]
    t.dtype = DLDataType(code, bits, 1)
    t.shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    if strides:
        steps = [s // array.itemsize for s in array.strides]
        t.strides = (ctypes.c_int64 * max(array.ndim, 1))(*steps)
    for name, value in changes.items():
        setattr(t, name, value)
    return t


def as_array(t: DLTensor, dtype: Any) -> np.ndarray:
    shape = [t.shape[d] for d in range(t.ndim)]
    count = int(np.prod(shape))
    size = max(count, 1) * np.dtype(dtype).itemsize
    data = ctypes.string_at(t.data, size)[: count * np.dtype(dtype).itemsize]
    return np.frombuffer(data, dtype).reshape(shape).copy()


class Model:
    """An open model with calls that raise on a bad status."""

    def __init__(self, path: Path, name: str, *, weights: Path | None = None, threads: int = 1):
        self.api = load(path, name)
        options = OpenOptions(
            ctypes.sizeof(OpenOptions), threads, str(weights).encode() if weights else None, None
        )
        self.model = ctypes.c_void_p()
        message = ctypes.create_string_buffer(512)
        self.status = self.api.open(ctypes.byref(options), ctypes.byref(self.model), message, 512)
        self.message = message.value.decode()

    def session(self) -> ctypes.c_void_p:
        session = ctypes.c_void_p()
        assert self.api.session_new(self.model, ctypes.byref(session)) == 0
        return session

    def run(
        self, session: ctypes.c_void_p, entry: str, inputs: list[Any], outputs: list[Any]
    ) -> tuple[int, str]:
        pointer = ctypes.POINTER(DLTensor)

        def table(tensors: list[Any]) -> Any:
            items = [ctypes.pointer(t) if t is not None else pointer() for t in tensors]
            return (pointer * max(len(items), 1))(*items)

        status = self.api.run(
            session, self.api.entry_index(entry.encode()) & 0xFFFFFFFF, table(inputs), len(inputs),
            table(outputs), len(outputs),
        )  # fmt: skip
        return status, self.api.last_error(session).decode()


def library(
    tmp_path: Path,
    entries: list[Entry],
    name: str = "sample",
    weights: dict | None = None,
    **options: Any,
) -> Path:
    """A library with its weights in a safetensors file or embedded, in `tmp_path`."""
    target = resolve(Target())
    file = f"{name}.safetensors" if options.pop("beside", False) else None
    generated = generate(
        entries,
        name=name,
        target=target,
        weights_file=file,
        manifest='{"name": "é\\"?"}',
        **options,
    )
    built = build(poisoned(generated.sources), target).library
    path = tmp_path / f"lib{name}.so"
    image = tmp_path / f"{name}.safetensors"
    save_file({k: np.asarray(v, order="C") for k, v in (weights or {}).items()}, image)
    shutil.copy(built, path)
    if file is None and generated.weights:
        subprocess.run(
            ["objcopy", "--add-section", f".ptc_weights={image}", "--set-section-alignment",
             ".ptc_weights=4096", str(path)], check=True,
        )  # fmt: skip
        image.unlink()
    (tmp_path / f"{name}.h").write_text(generated.sources.header)
    return path


W = np.array([2, 3, 4], np.float32)
X = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def scale(tmp_path: Path) -> Model:
    return Model(library(tmp_path, [Entry("forward", program(SCALE))], weights={"w": W}), "sample")


def test_outputs_given_and_allocated(scale: Model) -> None:
    assert scale.status == 0, scale.message
    session = scale.session()
    y, size = np.empty((4, 3), np.float32), np.empty((), np.int64)
    assert scale.run(session, "forward", [tensor(X)], [tensor(y), tensor(size)]) == (0, "")
    assert np.array_equal(y, X * W + 1)
    assert size == 8
    owned, count = tensor(None), tensor(None)
    pointers = [ctypes.pointer(owned), ctypes.pointer(count)]
    status = scale.api.run(
        session, 0, (ctypes.POINTER(DLTensor) * 1)(ctypes.pointer(tensor(X, strides=True))), 1,
        (ctypes.POINTER(DLTensor) * 2)(*pointers), 2,
    )  # fmt: skip
    assert status == 0
    assert np.array_equal(as_array(owned, np.float32), X * W + 1)
    assert as_array(count, np.int64) == 8
    assert [owned.strides[d] for d in range(2)] == [3, 1]
    assert owned.data % 64 == 0 and count.data % 64 == 0
    scale.api.release(session, pointers[0])
    assert not owned.data
    assert scale.api.peak_memory(session) >= 4 * 3 * 4
    scale.api.session_free(session)
    scale.api.close(scale.model)


WIDE = """
    program wide
    size s0 "n" [1..]
    input x: f32[s0] strides(1)
    input z: f64[s0] strides(1)
    output y: f32[s0] strides(1)
    output d: f64[s0] strides(1)
    output b: bool[s0] strides(1)
    temp t: f32[s0] strides(1)
    inputs x, z
    outputs y, d, b
    kernel first:
      for i in s0 vector:
        t[i] = mul(x[i], x[i])
    kernel second:
      for i in s0 vector:
        y[i] = sub(t[i], x[i])
        d[i] = add(z[i], cast:f64(t[i]))
        b[i] = lt(t[i], 4.0:f32)
"""


@pytest.mark.parametrize("by_offset", [False, True])
def test_tensors_begin_at_any_element(tmp_path: Path, by_offset: bool) -> None:
    """Inputs `x[k:]` and outputs of the caller's, by their address or by `byte_offset`."""
    model = Model(library(tmp_path, [Entry("forward", program(WIDE))]), "sample")
    session = model.session()

    def part(whole: np.ndarray, begin: int, count: int) -> DLTensor:
        if by_offset:
            return tensor(whole[:count], byte_offset=begin * whole.itemsize)
        return tensor(whole[begin : begin + count])

    for begin in range(1, 18):
        for count in (1, 7, 64, 75):
            x = np.linspace(-3, 3, 100, dtype=np.float32)
            z = np.linspace(5, 6, 100)
            outs = [np.full(100, 9, dtype) for dtype in (np.float32, np.float64, np.bool_)]
            cut = slice(begin, begin + count)
            status = model.run(
                session, "forward", [part(x, begin, count), part(z, begin + 1, count)],
                [part(o, begin, count) for o in outs],
            )  # fmt: skip
            assert status == (0, "")
            square = x[cut] * x[cut]
            wanted = (square - x[cut], z[begin + 1 :][:count] + square, square < 4)
            for got, expected in zip(outs, wanted, strict=True):
                np.testing.assert_allclose(got[cut], expected, rtol=1e-6, atol=1e-6)
                outside = np.delete(got, np.arange(begin, begin + count))
                assert (outside == np.array(9).astype(got.dtype)).all()


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        (tensor(X[:, :2].copy()), 2, "input `x`: dimension 1 is 2, expected 3"),
        (tensor(np.zeros((1, 3), np.float32)), 2, "dimension 0 (batch) is 1, expected at least 2"),
        (tensor(np.zeros((9, 3), np.float32)), 2, "is 9, expected at least 2 and at most 8"),
        (tensor(X.ravel()), 2, "input `x` has 1 dimensions, expected 2"),
        (tensor(X.astype(np.float64)), 3, "input `x` is float64, expected float32"),
        (tensor(X.astype(bool)), 3, "input `x` is bool, expected float32"),
        (tensor(np.asfortranarray(X), strides=True), 4, "dimension 1 has stride 4, expected 1"),
        (tensor(X, byte_offset=2), 4, "not aligned to its element size"),
        (tensor(X, device=DLDevice(2, 0)), 5, "on device type 2, expected CPU memory"),
        (tensor(X, data=None), 1, "input `x` has no data"),
        (None, 1, "input `x` is null"),
    ],
)
def test_bad_inputs_are_refused(scale: Model, given: Any, status: int, words: str) -> None:
    session = scale.session()
    y, size = np.full((4, 3), 7, np.float32), np.empty((), np.int64)
    got, message = scale.run(session, "forward", [given], [tensor(y), tensor(size)])
    assert (got, words in message) == (status, True), message
    assert (y == 7).all()
    assert scale.run(session, "forward", [tensor(X)], [tensor(y), tensor(size)]) == (0, "")


def test_bad_calls_are_refused(scale: Model) -> None:
    session = scale.session()
    y, size = np.empty((4, 3), np.float32), np.empty((), np.int64)
    assert "takes 1 inputs and gives 2 outputs, got 0 and 2" in scale.run(
        session, "forward", [], [tensor(y), tensor(size)])[1]  # fmt: skip
    status, message = scale.run(session, "nothing", [tensor(X)], [tensor(y), tensor(size)])
    assert status == 1 and "no entry" in message
    small = np.empty((3, 3), np.float32)
    status, message = scale.run(session, "forward", [tensor(X)], [tensor(small), tensor(size)])
    assert (status, message) == (2, "output `y`: dimension 0 is 3, expected 4")
    assert scale.api.run(None, 0, None, 0, None, 0) == 1
    assert scale.api.entry_count() == 1


def test_failed_check_frees_what_it_allocated(scale: Model) -> None:
    session = scale.session()
    owned, count = tensor(None), tensor(None)
    status, message = scale.run(session, "forward", [tensor(X * 1000)], [owned, count])
    assert (status, message) == (9, "value too large")
    assert not owned.data


PASSED = """
    program passed
    size s0 "n" [0..]
    input x: f32[s0, 3] strides(3, 1)
    weight w: f32[3] strides(1)
    output y: f32[s0, 3] strides(3, 1)
    inputs x, w
    outputs y, x, y, w, (s0)
    kernel copy:
      for i in s0 parallel:
        for j in 3 vector:
          y[i, j] = add(x[i, j], w[j])
"""


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_outputs_that_no_kernel_writes(tmp_path: Path, rows: int) -> None:
    path = library(tmp_path, [Entry("forward", program(PASSED))], weights={"w": W})
    model = Model(path, "sample")
    x = X[:rows]
    outs = [np.empty((rows, 3), np.float32) for _ in range(3)]
    w, size = np.empty(3, np.float32), np.empty((), np.int64)
    tensors = [tensor(o) for o in (*outs, w, size)]
    assert model.run(model.session(), "forward", [tensor(x)], tensors) == (0, "")
    for got, expected in zip(outs, (x + W, x, x + W), strict=True):
        assert np.array_equal(got, expected)
    assert np.array_equal(w, W) and size == rows


def test_cancel_ends_the_run(tmp_path: Path) -> None:
    """Another thread cancels; the run stops between two kernels."""
    import threading
    import time

    step = """
    kernel step{n}:
      for i in 4000000 serial:
        t[i % 64] = exp(t[i % 64])
"""
    text = (
        """
    program slow
    input x: f32[64] strides(1)
    temp t: f32[64] strides(1)
    output y: f32[64] strides(1)
    inputs x
    outputs y
    kernel begin:
      for i in 64 vector:
        t[i] = x[i]
"""
        + "".join(step.format(n=n) for n in range(400))
        + """
    kernel end:
      for i in 64 vector:
        y[i] = t[i]
"""
    )
    model = Model(library(tmp_path, [Entry("forward", program(text))]), "sample")
    session = model.session()
    x, y = np.zeros(64, np.float32), np.empty(64, np.float32)
    results: list[tuple[int, str]] = []
    worker = threading.Thread(
        target=lambda: results.append(model.run(session, "forward", [tensor(x)], [tensor(y)]))
    )
    worker.start()
    deadline = time.monotonic() + 60
    while worker.is_alive() and time.monotonic() < deadline:
        model.api.cancel(session)
        time.sleep(0.01)
    worker.join()
    assert results == [(10, "the run was cancelled")]


def test_old_processors_are_told(tmp_path: Path) -> None:
    """The check runs before any vector code: what is absent is named, not executed."""
    target = replace(resolve(Target()), features=("sse3", "avx512imaginary"))
    generated = generate([Entry("forward", program(SCALE))], name="sample", target=target)
    path = tmp_path / "libsample.so"
    shutil.copy(build(generated.sources, target).library, path)
    model = Model(path, "sample")
    assert (model.status, model.message) == (
        7, "sample was built for CPUs with avx512imaginary, which this one lacks",
    )  # fmt: skip


def test_manifest_text(scale: Model) -> None:
    assert json.loads(scale.api.manifest().decode()) == {"name": 'é"?'}


def test_state_lives_in_the_session(tmp_path: Path) -> None:
    entry = Entry("step", program(COUNTER), (WriteBack(1, "count"), WriteBack(2, "x")))
    path = library(tmp_path, [entry], weights={"w": W, "count": np.array(5)})
    model = Model(path, "sample")
    assert model.status == 0, model.message
    first, second = model.session(), model.session()
    y = np.empty(3, np.float32)
    for count in (5, 6, 7):
        x = np.ones(3, np.float32)
        assert model.run(first, "step", [tensor(x)], [tensor(y)]) == (0, "")
        assert np.array_equal(y, W + count)
        assert (x == -1).all()  # a mutated input is written in place
    x = np.ones(3, np.float32)
    assert model.run(second, "step", [tensor(x)], [tensor(y)]) == (0, "")
    assert np.array_equal(y, W + 5)


def test_entries_share_weights(tmp_path: Path) -> None:
    entries = [Entry("a", program(SCALE)), Entry("b", program(SCALE.replace("1.0", "2.0")))]
    path = library(tmp_path, entries, weights={"w": W})
    model = Model(path, "sample")
    session = model.session()
    y, size = np.empty((4, 3), np.float32), np.empty((), np.int64)
    for name, shift in (("a", 1), ("b", 2)):
        assert model.run(session, name, [tensor(X)], [tensor(y), tensor(size)]) == (0, "")
        assert np.array_equal(y, X * W + shift)
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    assert text.stdout.count(".ptc_weights") == 1


def test_weights_beside_the_library(tmp_path: Path) -> None:
    path = library(tmp_path, [Entry("forward", program(SCALE))], weights={"w": W}, beside=True)
    assert Model(path, "sample").status == 0
    other = tmp_path / "other.safetensors"
    save_file({"w": W * 2, "unused": X}, other, {"made": "elsewhere"})
    model = Model(path, "sample", weights=other)
    session = model.session()
    y, size = np.empty((4, 3), np.float32), np.empty((), np.int64)
    assert model.run(session, "forward", [tensor(X)], [tensor(y), tensor(size)]) == (0, "")
    assert np.array_equal(y, X * W * 2 + 1)
    (tmp_path / "sample.safetensors").unlink()
    model = Model(path, "sample")
    assert model.status == 8 and "cannot open the weights" in model.message


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: data[:-4], "truncated"),
        (lambda data: data[:4], "truncated"),
        (lambda data: data[:20], "truncated"),
        (lambda data: data.replace(b'"w"', b'"v"'), 'lack "w"'),
        (lambda data: data.replace(b'"F32"', b'"F16"'), "another type or size"),
        (lambda data: data.replace(b"{", b"[", 1), "malformed header"),
        (lambda data: b"", "truncated"),
    ],
)
def test_spoiled_weights(tmp_path: Path, spoil: Any, words: str) -> None:
    path = library(tmp_path, [Entry("forward", program(SCALE))], weights={"w": W}, beside=True)
    file = tmp_path / "sample.safetensors"
    file.write_bytes(spoil(file.read_bytes()))
    model = Model(path, "sample")
    assert model.status == 8 and words in model.message, model.message


def test_stripped_library_keeps_its_weights(tmp_path: Path) -> None:
    path = library(tmp_path, [Entry("forward", program(SCALE))], weights={"w": W})
    subprocess.run(["strip", str(path)], check=True)
    assert Model(path, "sample").status == 0


def test_library_without_its_section(tmp_path: Path) -> None:
    path = library(tmp_path, [Entry("forward", program(SCALE))], weights={"w": W})
    subprocess.run(["objcopy", "--remove-section", ".ptc_weights", str(path)], check=True)
    model = Model(path, "sample")
    assert model.status == 8 and "has no section .ptc_weights" in model.message


def test_needs_and_exports_little(tmp_path: Path) -> None:
    path = library(tmp_path, [Entry("forward", program(SCALE))], weights={"w": W})
    dynamic = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True)
    needed = [line.split("[")[1][:-1] for line in dynamic.stdout.splitlines() if "NEEDED" in line]
    allowed = ("libc.so", "libm.so", "libpthread.so", "ld-linux")
    assert all(name.startswith(allowed) for name in needed), needed
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True
    ).stdout.split()
    assert symbols[2::3] == ["sample_ptc_api"]


def test_two_libraries_in_one_process(tmp_path: Path) -> None:
    models = []
    for name, factor in (("one", 1), ("two", 2)):
        entries = [Entry("forward", program(SCALE))]
        path = library(tmp_path, entries, name, {"w": W * factor}, beside=True)
        models.append((Model(path, name), factor))
    for model, factor in models:
        y, size = np.empty((4, 3), np.float32), np.empty((), np.int64)
        result = model.run(model.session(), "forward", [tensor(X)], [tensor(y), tensor(size)])
        assert result == (0, "")
        assert np.array_equal(y, X * W * factor + 1)


C_PROGRAM = r"""
#include <stdio.h>
#include "sample.h"
int main(void) {
  ptc_model *model; ptc_session *session; char message[256];
  if (sample_open(NULL, &model, message, sizeof message)) { puts(message); return 1; }
  if (sample_session_new(model, &session)) return 2;
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3};
  DLTensor x = {data, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0}, y = {0}, size = {0};
  if (sample_forward(session, &x, &y, &size)) { puts(sample_last_error(session)); return 3; }
  for (int i = 0; i < 6; ++i) printf("%g ", ((float *)y.data)[i]);
  printf("%d\n", (int)*(int64_t *)size.data);
  sample_release(session, &y);
  sample_session_free(session);
  sample_close(model);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", [["gcc", "-std=c99"], ["g++", "-std=c++11"]])
def test_header_from_c_and_cpp(tmp_path: Path, compiler: list[str]) -> None:
    library(tmp_path, [Entry("forward", program(SCALE))], weights={"w": W})
    source = tmp_path / ("main.c" if compiler[0] == "gcc" else "main.cpp")
    source.write_text(C_PROGRAM)
    subprocess.run(
        [*compiler, "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror", str(source),
         "-o", str(tmp_path / "main"), f"-L{tmp_path}", "-lsample", f"-Wl,-rpath,{tmp_path}"],
        check=True,
    )  # fmt: skip
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3 7 13 9 16 25 4\n")
