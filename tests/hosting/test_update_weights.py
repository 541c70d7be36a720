"""New weights in an open library: whole for every run, refused where they do not fit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import ptc
from ptc.hosting import LoadedArtifact
from ptc.support.diagnostics import CompileError


class Net(nn.Module):
    """Packed and folded weights, constants, a buffer that is not saved, one that calls write."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(40, 64), nn.Linear(64, 32)
        self.table = torch.rand(32)
        self.register_buffer("mask", torch.rand(64), persistent=False)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.second(torch.relu(self.first(x)) * self.mask) * self.table + self.calls


X = torch.randn(3, 40, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Net, Path]:
    torch.manual_seed(0)
    model = Net().eval()
    folder = tmp_path_factory.mktemp("update")
    return model, ptc.build(model, (X,), output=folder / "libnet.so").library


def new_state(value: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(value)
    state = Net().state_dict()
    state["calls"] = torch.tensor([float(value)])
    return state


def test_later_runs_read_the_new_weights(built: tuple[Net, Path], tmp_path: Path) -> None:
    model, library = built
    loaded = ptc.load(library)
    assert isinstance(loaded, LoadedArtifact)
    other = loaded.fork_session()
    with torch.no_grad():
        model.calls.zero_()
        torch.testing.assert_close(loaded(X), model(X))
        save_file(new_state(7), tmp_path / "new.safetensors")
        loaded.update_weights(tmp_path / "new.safetensors")
        table, mask = model.table, model.mask
        model.load_state_dict(new_state(7))
        for session in (loaded, other):
            model.table, model.mask = table, mask
            model.calls.fill_(1 if session is loaded else 0)  # a session keeps what it has written
            torch.testing.assert_close(session(X), model(X))
        loaded.reset()
        model.calls.fill_(7)
        torch.testing.assert_close(loaded(X), model(X))


Spoil = Callable[[dict[str, torch.Tensor], Path], None]


def _save(change: Callable[[dict[str, torch.Tensor]], object]) -> Spoil:
    def spoil(state: dict[str, torch.Tensor], path: Path) -> None:
        change(state)
        save_file(state, path)

    return spoil


def _cut(state: dict[str, torch.Tensor], path: Path) -> None:
    save_file(state, path)
    path.write_bytes(path.read_bytes()[:-4])


def _cut_head(state: dict[str, torch.Tensor], path: Path) -> None:
    save_file(state, path)
    path.write_bytes(path.read_bytes()[:60])


@pytest.mark.parametrize(
    "spoil, text",
    [
        (_save(lambda s: s.pop("first.bias")), 'lack "first.bias"'),
        (_save(lambda s: s.update({"first.weight": torch.zeros(40, 64)})), "another shape"),
        (_save(lambda s: s.update({"first.weight": torch.zeros(64, 41)})), "another type or size"),
        (
            _save(lambda s: s.update({"first.bias": torch.zeros(64, dtype=torch.int32)})),
            "another type",
        ),
        (_save(lambda s: [s.clear(), s.update({"x": torch.zeros(3)})]), "lack"),
        (_cut, "truncated"),
        (_cut_head, "truncated or no safetensors file"),
        (lambda state, path: path.write_bytes(b""), "truncated or no safetensors file"),
        (lambda state, path: None, "cannot open"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    built: tuple[Net, Path], tmp_path: Path, spoil: Spoil, text: str
) -> None:
    loaded = ptc.load(built[1])
    assert isinstance(loaded, LoadedArtifact)
    before = loaded(X)
    spoil(new_state(3), tmp_path / "bad.safetensors")
    with pytest.raises(CompileError, match=text) as caught:
        loaded.update_weights(tmp_path / "bad.safetensors")
    assert caught.value.code == "PTC-R007"
    torch.testing.assert_close(loaded(X) - 1, before)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.read, self.write = nn.Embedding(9, 8), nn.Linear(8, 9, bias=False)
        self.write.weight = self.read.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.write(self.read(ids))


@pytest.mark.parametrize("kept", ["read.weight", "write.weight"])
def test_tied_weights_under_either_name(tmp_path: Path, kept: str) -> None:
    model, ids = Tied().eval(), torch.tensor([1, 2, 8])
    loaded = ptc.build(model, (ids,), output=tmp_path / "libtied.so").load()
    new = torch.randn(9, 8)
    save_file({kept: new}, tmp_path / "new.safetensors")
    loaded.update_weights(tmp_path / "new.safetensors")
    with torch.no_grad():
        model.read.weight.copy_(new)
        torch.testing.assert_close(loaded(ids), model(ids))


def test_runs_see_old_or_new_weights_whole(built: tuple[Net, Path], tmp_path: Path) -> None:
    loaded = ptc.load(built[1])
    assert isinstance(loaded, LoadedArtifact)
    expected: list[torch.Tensor] = []
    for value in (1, 2):
        path = tmp_path / f"{value}.safetensors"
        save_file(new_state(value), path)
        loaded.update_weights(path)
        loaded.reset()
        expected.append(loaded(X) - value)
    wrong: list[torch.Tensor] = []
    done = threading.Event()

    def run() -> None:
        session = loaded.fork_session()
        while not done.is_set():
            session.reset()
            got = session(X)
            offsets = [(got - e).reshape(-1) for e in expected]
            # `calls` is 1 or 2 and one more: of the weights that reset saw, maybe not those of run
            if not any((o - o[0]).abs().max() < 1e-4 for o in offsets):
                wrong.append(got)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(1000):
        loaded.update_weights(tmp_path / f"{1 + turn % 2}.safetensors")
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
