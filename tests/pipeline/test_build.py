"""`ptc.build` and `ptc.export`: libraries against eager, state, sizes, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import ptc
from ptc.loader.model import EntryRequest
from ptc.pipeline import STAGES, BuildOptions, build_library
from ptc.support.diagnostics import CompileError


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x.sum(0)
        return self.linear(x) + self.total

    def peek(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.total * 2


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def test_library_equals_eager_and_takes_numpy(tmp_path):
    model = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6)).eval()
    x = torch.randn(5, 4)
    artifact = ptc.build(model, (x,), output=tmp_path / "libnet.so")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [artifact.library.name, artifact.header.name, artifact.manifest.name]
    )
    loaded = ptc.load(artifact.library)
    torch.testing.assert_close(loaded(x), model(x))
    from_numpy = loaded(x.numpy())
    assert isinstance(from_numpy, np.ndarray)
    np.testing.assert_allclose(from_numpy, model(x).numpy(), rtol=1e-5, atol=1e-6)


def test_dynamic_library_serves_every_size(tmp_path):
    model = nn.Sequential(nn.Linear(4, 6), nn.Softmax(-1)).eval()
    artifact = ptc.build(
        model, (torch.randn(5, 4),), output=tmp_path / "libnet.so",
        dynamic={"input": {0: "batch[1..64]"}},
    )  # fmt: skip
    loaded = artifact.load()
    for batch in (1, 2, 7, 64):
        x = torch.randn(batch, 4)
        torch.testing.assert_close(loaded(x), model(x))
    with pytest.raises(CompileError) as caught:
        loaded(torch.randn(65, 4))
    assert caught.value.code.startswith("PTC-R")


def test_state_lives_in_the_session_and_the_model_keeps_its_own(tmp_path):
    model, twin = Counter().eval(), Counter().eval()
    twin.load_state_dict(model.state_dict())
    x = torch.randn(2, 3)
    artifact = ptc.build(model, (x,), output=tmp_path / "libcounter.so")
    assert torch.equal(model.total, torch.zeros(3))
    loaded = artifact.load()
    for _ in range(3):
        y = torch.randn(2, 3)
        torch.testing.assert_close(loaded(y), twin(y))


def test_an_entry_sees_what_another_writes(tmp_path):
    model, twin = Counter().eval(), Counter().eval()
    twin.load_state_dict(model.state_dict())
    x = torch.randn(2, 3)
    requests = [
        EntryRequest("forward", model, (x,)),
        EntryRequest("peek", model.peek, (x,)),
    ]
    report = build_library(requests, BuildOptions(output=tmp_path / "libtwo.so", name="two"))
    assert report is not None and len(report.entries) == 2
    loaded = ptc.load(report.library)
    for _ in range(2):
        y = torch.randn(2, 3)
        torch.testing.assert_close(loaded.entry("forward")(y), twin(y))
        torch.testing.assert_close(loaded.entry("peek")(y), twin.peek(y))


def test_entries_with_different_weights_by_one_name(tmp_path):
    x = torch.randn(2, 3)
    requests = [EntryRequest(name, nn.Linear(3, 3).eval(), (x,)) for name in ("one", "other")]
    options = BuildOptions(output=tmp_path / "libtwo.so", name="two")
    with pytest.raises(ValueError, match="different tensors called weight"):
        build_library(requests, options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stage", STAGES[:-1])
def test_stop_after_writes_no_library_but_dumps(tmp_path, stage):
    request = EntryRequest("forward", nn.Linear(3, 2).eval(), (torch.randn(1, 3),))
    options = BuildOptions(
        output=tmp_path / "out", name="net", stop_after=stage, dump_dir=tmp_path / "dump"
    )
    assert build_library([request], options) is None
    assert not (tmp_path / "out").exists()
    assert any((tmp_path / "dump").iterdir())


def test_unknown_stage():
    request = EntryRequest("forward", nn.Linear(3, 2).eval(), (torch.randn(1, 3),))
    with pytest.raises(CompileError) as caught:
        build_library([request], BuildOptions(stop_after="nowhere"))
    assert caught.value.code == "PTC-U003"


def test_what_needs_python_is_refused_with_the_line(tmp_path):
    class Reader(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.sum() > 0:
                return x * len(open("names.txt").read())
            return -x

    with pytest.raises(CompileError) as caught:
        ptc.build(Reader(), (torch.ones(2),), output=tmp_path / "libreader.so")
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == "PTC-B003" and diagnostic.hint
    assert diagnostic.location.text.strip() == 'return x * len(open("names.txt").read())'
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["onnx", "ptir"])
def test_export_is_checked_and_lands(tmp_path, format):
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)).eval()
    path = tmp_path / f"net.{format}"
    report = ptc.export(model, (torch.randn(3, 4),), format=format, output=path)
    assert path.exists() and report.worst_error is not None and report.worst_error < 1e-4


def test_unknown_format_leaves_nothing(tmp_path):
    with pytest.raises(CompileError) as caught:
        ptc.export(nn.Linear(2, 2).eval(), (torch.ones(1, 2),), format="gif",
                   output=tmp_path / "x.gif")  # fmt: skip
    assert caught.value.code == "PTC-E001"
    assert not list(tmp_path.iterdir())


class Transposed(nn.Module):
    """Weights, inputs, state and results whose memory is not row-major."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3).t())
        self.register_buffer("state", torch.zeros(4, 3).t())

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.state.add_(x.t() * self.weight)
        return x.t(), (x @ self.weight).t(), self.weight, self.weight + 1, self.state, y.mul_(2)


def test_the_interface_of_a_library_is_row_major(tmp_path):
    model = Transposed().eval()
    x, y = torch.randn(3, 4).t(), torch.randn(5, 2).t()
    loaded = ptc.build(model, (x, y.clone()), output=tmp_path / "libnet.so").load()
    for _ in range(2):
        mine, theirs = y.clone(), y.clone()
        torch.testing.assert_close(loaded(x, mine), model(x, theirs))
        assert torch.equal(mine, theirs)


def test_a_library_built_anew_at_its_path_is_the_new_one(tmp_path):
    x = torch.randn(3)
    for factor in (2.0, 3.0, 4.0):
        path = tmp_path / "libscale.so"
        loaded = ptc.build(lambda x: x * factor, (x,), output=path, check=False).load()  # noqa: B023
        assert torch.equal(loaded(x), x * factor)


def _built(tmp_path, function, x, size, dim=0):
    return ptc.build(function, (x,), output=tmp_path / "libnet.so", dynamic={"x": {dim: size}})


def test_sizes_are_compared_at_both_ends_of_their_range(tmp_path):
    artifact = _built(tmp_path, lambda x: x.softmax(0), torch.randn(4, 3), "n[1..50]")
    assert artifact.report.entries[0].checked == 5
    artifact = _built(tmp_path, lambda x: x.softmax(0), torch.randn(4, 3), "n")
    assert artifact.report.entries[0].checked == 4
    # the upper end is brought nearer where a comparison there would cost too much
    artifact = _built(tmp_path, lambda x: x + 1, torch.randn(4, 3), "n[2..1000000000000]")
    assert artifact.report.entries[0].checked == 5


def test_an_end_at_which_the_model_fails_is_a_note(tmp_path):
    def standard(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.instance_norm(x)

    artifact = _built(tmp_path, standard, torch.randn(2, 3, 8), "n[1..9]", dim=2)
    assert artifact.report.entries[0].checked == 4
    (note,) = artifact.report.notes
    assert note.startswith("not compared at `n` = 1: the model itself fails, ValueError")


@pytest.mark.parametrize(
    "function", [lambda x: x.squeeze(0), lambda x: x.squeeze().softmax(0).view(-1, 3)]
)
def test_a_program_that_treats_one_apart(tmp_path, function):
    x = torch.randn(4, 3)
    for range_ in ("n", "n[1..9]"):
        loaded = _built(tmp_path, function, x, range_).load()
        for size in (1, 2, 9):
            given = torch.randn(size, 3)
            torch.testing.assert_close(loaded(given), function(given))
    with pytest.raises(CompileError, match="PTC-R012"):
        loaded(torch.randn(10, 3))


class Corner(torch.nn.Module):
    """Reads a corner of a table, which is contiguous only where it is the whole table."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.ones(16, 16).tril().bool())


class Inverted(Corner):
    def forward(self, x):
        return ~self.table[: x.shape[0], : x.shape[0]]


class AskedAfterUse(Corner):
    def forward(self, x):
        corner = self.table[: x.shape[0], : x.shape[0]]
        inverted = (~corner).float()
        return inverted + 1 if corner.is_contiguous() else inverted + 2


def test_the_end_of_a_range_may_be_a_stride(tmp_path):
    """Only the layout of an elementwise result differs there."""
    model = Inverted()
    loaded = _built(tmp_path, model, torch.randn(5), "n[1..16]").load()
    for size in (1, 2, 15, 16):
        x = torch.randn(size)
        torch.testing.assert_close(loaded(x), model(x))


def test_a_program_that_asks_for_its_layout_assumes_it(tmp_path):
    """Also after an operator asked the same for its own ends."""
    model = AskedAfterUse()
    with pytest.raises(CompileError, match="PTC-A002.* 16 != n"):
        _built(tmp_path, model, torch.randn(5), "n[2..16]")
    loaded = _built(tmp_path, model, torch.randn(5), "n[2..15]").load()
    for control_flow in (False, True):
        compiled = ptc.compile(model, dynamic=True, control_flow=control_flow)
        for size in (5, 7, 16, 9, 15):
            x = torch.randn(size)
            torch.testing.assert_close(compiled(x), model(x))
            if size < 16:
                torch.testing.assert_close(loaded(x), model(x))


def test_a_file_holds_sizes_from_2_on_where_1_is_apart(tmp_path):
    report = ptc.export(
        lambda x: x.squeeze(0), (torch.randn(4, 3),), format="pt2", output=tmp_path / "m.pt2",
        dynamic={"x": {0: "n"}},
    )  # fmt: skip
    assert "`n`: sizes from 2 on" in report.notes[0]


def test_refusals_of_sizes_use_the_users_names(tmp_path):
    x, y = torch.randn(2, 6), torch.randn(2, 6)
    with pytest.raises(CompileError, match=r"`c` can only be 6") as caught:
        linear = nn.Linear(6, 2)
        ptc.build(linear, (x,), output=tmp_path / "l.so", dynamic={"input": {1: "c"}})
    assert caught.value.diagnostic.location is not None
    with pytest.raises(CompileError, match=r"`c` and `d` must be equal"):
        ptc.build(
            lambda x, y: x + y, (x, y), output=tmp_path / "l.so",
            dynamic={"x": {1: "c"}, "y": {1: "d"}},
        )  # fmt: skip
    with pytest.raises(CompileError, match=r"only where \(2\*c\) % 4 == 0; `c` is at least 1"):
        _built(tmp_path, lambda x: x.view(-1, 4), x, "c", dim=1)


def test_a_name_without_a_range_takes_that_of_its_other_uses(tmp_path):
    x = torch.randn(2, 3)
    loaded = ptc.build(
        lambda x, y: (x + y).sum(1), (x, x.clone()), output=tmp_path / "l.so",
        dynamic={"y": {0: "n"}, "x": {0: "n[0..9]"}},
    ).load()  # fmt: skip
    empty = torch.zeros(0, 3)
    assert loaded(empty, empty).shape == (0,)


@pytest.mark.parametrize("keys", [0, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_attention_rows_without_a_key_give_zero(tmp_path, keys, dtype):
    q, k = torch.randn(1, 2, 3, 8, dtype=dtype), torch.randn(1, 2, keys, 8, dtype=dtype)
    mask = torch.ones(3, keys, dtype=torch.bool)
    mask[1] = False

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)

    loaded = ptc.build(attention, (q, k, k, mask), output=tmp_path / "l.so", check=False).load()
    torch.testing.assert_close(loaded(q, k, k, mask), attention(q, k, k, mask))


@pytest.mark.parametrize("name", ["index_add", "index_copy"])
def test_slices_are_not_written_from_the_end(tmp_path, name):
    x = torch.randn(4, 3)
    good, bad = torch.tensor([0, 3]), torch.tensor([0, -1])

    def write(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return getattr(x, name)(0, at, x[:2])

    artifact = ptc.build(write, (x, good), output=tmp_path / "l.so")
    with pytest.raises(CompileError, match="index out of range for a dimension of 4"):
        artifact.load()(x, bad)


def test_an_open_range_starts_where_the_library_is_right(tmp_path):
    def same_size(x: torch.Tensor) -> torch.Tensor:
        size = x.shape[2:]
        return torch.nn.functional.interpolate(x, size, mode="bilinear", align_corners=True)

    x = torch.randn(1, 2, 8, 4)
    artifact = _built(tmp_path, same_size, x, "n", dim=2)
    assert "`n`: sizes from 2 on, because the model treats 1 apart" in artifact.report.notes[0]
    assert artifact.load().manifest.entries[0].sizes[0].lower == 2
    with pytest.raises(CompileError, match="differs from eager at `n` = 1") as caught:
        _built(tmp_path, same_size, x, "n[1..9]", dim=2)
    assert caught.value.code == "PTC-A030"


def test_numbers_made_of_sizes_are_not_computed_with_the_weights(tmp_path):
    def table(x: torch.Tensor) -> torch.Tensor:
        return torch.arange(5) * (x.shape[0] / 5)

    loaded = _built(tmp_path, table, torch.randn(8, 3), "n[1..50]").load()
    for n in (1, 7, 50):
        torch.testing.assert_close(loaded(torch.randn(n, 3)), torch.arange(5) * (n / 5))


@pytest.mark.parametrize("name", ["argmax", "argmin", "max", "min"])
def test_a_maximum_of_nothing_fails(tmp_path, name):
    def extreme(x: torch.Tensor):
        return getattr(x, name)(0)

    x = torch.randn(4, 3)
    loaded = _built(tmp_path, extreme, x, "n[0..9]").load()
    torch.testing.assert_close(tuple(loaded(x[:1])), tuple(extreme(x[:1])))
    with pytest.raises(CompileError, match="over dimension 0, which has no elements") as caught:
        loaded(torch.zeros(0, 3))
    assert caught.value.code == "PTC-R020"


@pytest.mark.parametrize(
    "make, shape, dim",
    [
        (lambda: nn.MaxPool1d(3, 2, 1), (1, 2, 8), 2),
        (lambda: nn.MaxPool1d(2, ceil_mode=True, return_indices=True), (1, 2, 8), 2),
        (lambda: nn.AvgPool2d(3, 2, 1), (1, 2, 8, 6), 2),
        (lambda: nn.MaxPool3d(2), (1, 2, 6, 6, 8), 4),
        (lambda: nn.GRU(4, 5, 2, batch_first=True, bidirectional=True), (2, 8, 4), 1),
        (lambda: nn.RNN(4, 5, nonlinearity="relu"), (8, 2, 4), 0),
        (lambda: nn.LSTM(4, 5, proj_size=3), (8, 2, 4), 0),
        (lambda: nn.LSTM(4, 5, proj_size=3), (8, 4, 4), 1),
        (lambda: nn.Upsample(scale_factor=1.5, mode="linear"), (1, 2, 8), 2),
    ],
)
def test_modules_whose_fake_results_would_fix_a_size(tmp_path, make, shape, dim):
    model = make().eval()
    x = torch.randn(shape)
    artifact = ptc.build(
        model, (x,), output=tmp_path / "l.so", dynamic={"input": {dim: "n[2..20]"}}
    )
    assert artifact.report.entries[0].checked == 5


def test_a_pooled_size_may_be_odd_and_even(tmp_path):
    def by_parity(x: torch.Tensor) -> torch.Tensor:
        pooled = nn.functional.max_pool1d(x, 2)
        return pooled * 2 if x.shape[2] % 2 else pooled

    loaded = _built(tmp_path, by_parity, torch.randn(1, 2, 8), "n[2..20]", dim=2).load()
    for n in (2, 3, 8, 9):
        x = torch.randn(1, 2, n)
        torch.testing.assert_close(loaded(x), by_parity(x))


def test_outputs_have_memory_of_their_own(tmp_path):
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.flip(0) + y, x.softmax(0)

    x, y = np.ones((3, 4), np.float32), np.ones((3, 4), np.float32)
    args = (torch.from_numpy(x), torch.from_numpy(y))
    entry = ptc.build(both, args, output=tmp_path / "l.so").load().entry()
    memory = np.zeros((2, 3, 4), np.float32)
    whole = [memory[0].ctypes.data, memory[1].ctypes.data]
    for slot, array in zip(entry._inputs, (x, y), strict=True):
        slot.place(array.ctypes.data, (3, 4))

    def run(first: int, second: int) -> None:
        for slot, address in zip(entry._outputs, (first, second), strict=True):
            slot.place(address, (3, 4))
        entry._call(entry._output_pointers)

    run(*whole)
    assert np.array_equal(memory[0], np.full((3, 4), 2))
    for first, second, message in (
        (x.ctypes.data, whole[1], r"output `0` shares memory with input `x`"),
        (whole[0], y.ctypes.data + 44, r"output `1` shares memory with input `y`"),
        (whole[0], whole[0] + 44, r"outputs `0` and `1` share memory"),
    ):
        with pytest.raises(CompileError, match=message) as caught:
            run(first, second)
        assert caught.value.code == "PTC-R010"


def test_distances_of_any_number_of_rows(tmp_path):
    loaded = _built(tmp_path, lambda x: torch.cdist(x, x), torch.randn(8, 3), "n[1..60]").load()
    for n in (1, 25, 26, 60):
        x = torch.randn(n, 3, dtype=torch.float64)
        exact = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").float()
        torch.testing.assert_close(loaded(x.float()), exact)


def test_logsumexp_of_nothing(tmp_path):
    loaded = _built(tmp_path, lambda x: x.logsumexp(0), torch.randn(4, 3), "n[0..9]").load()
    assert torch.equal(loaded(torch.zeros(0, 3)), torch.full((3,), float("-inf")))
