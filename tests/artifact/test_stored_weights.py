"""Packed weights stored in a library: mapped when it is loaded, replaced by given ones, checked."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import ptc
from ptc.artifact import prepared
from ptc.artifact.sections import Placed, add_sections, append_content
from ptc.codegen import toolchain
from ptc.hosting.elf import inspect_library
from ptc.hosting.seal import PREPARED_SECTION, WEIGHTS_SECTION
from ptc.support.diagnostics import CompileError


class Net(nn.Module):
    """Packed (linear), folded (batch norm), read as it is (embedding), read both ways (tied)."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(24, 32)
        self.conv = nn.Conv1d(32, 48, 3, padding=1)
        self.norm = nn.BatchNorm1d(48)
        self.hidden = nn.Linear(48, 32)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.conv(self.table(ids).transpose(1, 2))).relu()
        return self.hidden(x.transpose(1, 2)) @ self.table.weight.t()


IDS = torch.arange(12).reshape(2, 6)


def net(seed: int) -> Net:
    torch.manual_seed(seed)
    made = Net().eval()
    nn.init.normal_(made.norm.running_mean)
    nn.init.uniform_(made.norm.running_var, 0.5, 2.0)
    nn.init.uniform_(made.norm.weight, 0.5, 2.0)
    return made


def test_what_is_packed_is_stored_once(tmp_path: Path) -> None:
    model = net(0)
    library = ptc.build(model, (IDS,), output=tmp_path / "libnet.so").library
    sections = {s.name: s for s in inspect_library(library).sections}
    assert sections[PREPARED_SECTION].size > 48 * 32 * 3 * 4
    loaded = ptc.load(library)
    names = {t.name for t in loaded.manifest.weights.tensors}
    assert "table.weight" in names and not names & {"conv.weight", "hidden.weight"}
    with torch.no_grad():
        torch.testing.assert_close(loaded(IDS), model(IDS))


def test_given_weights_are_packed_at_load(tmp_path: Path) -> None:
    library = ptc.build(net(0), (IDS,), output=tmp_path / "libnet.so").library
    other = net(1)
    save_file(other.state_dict(), tmp_path / "other.safetensors")
    loaded = ptc.load(library, weights=tmp_path / "other.safetensors")
    with torch.no_grad():
        torch.testing.assert_close(loaded(IDS), other(IDS))


def test_a_target_of_another_machine_is_packed_at_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "runs_here", lambda target: False)
    model = net(0)
    library = ptc.build(model, (IDS,), output=tmp_path / "libnet.so").library
    names = {s.name for s in inspect_library(library).sections}
    assert WEIGHTS_SECTION in names and PREPARED_SECTION not in names
    with torch.no_grad():
        torch.testing.assert_close(ptc.load(library)(IDS), model(IDS))


def test_damaged_packed_weights_are_refused(tmp_path: Path) -> None:
    library = ptc.build(net(0), (IDS,), output=tmp_path / "libnet.so").library
    section = inspect_library(library).section(PREPARED_SECTION)
    assert section is not None
    data = bytearray(library.read_bytes())
    for at, code in ((section.offset + section.size - 100, "PTC-R007"), (section.offset, "")):
        damaged = bytearray(data)
        damaged[at] ^= 1
        path = tmp_path / f"damaged{at}.so"
        path.write_bytes(damaged)
        with pytest.raises(CompileError) as caught:
            ptc.load(path)
        assert caught.value.code == (code or "PTC-R002")


@pytest.mark.skipif(shutil.which("strip") is None, reason="binutils are not installed")
def test_strip_keeps_the_weights(tmp_path: Path) -> None:
    model = net(0)
    library = ptc.build(model, (IDS,), output=tmp_path / "libnet.so").library
    stripped = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", stripped, library], check=True)
    with torch.no_grad():
        torch.testing.assert_close(ptc.load(stripped)(IDS), model(IDS))


def test_a_disk_that_refuses_while_packing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library itself reports it, before it would write to pages that the disk cannot hold."""
    store = prepared.store_prepared

    def refuse(built: Path, name: str, weights: object, staged: Path, **options: int) -> object:
        del staged
        return store(built, name, weights, Path("/dev/full"), **options)  # type: ignore[arg-type]

    monkeypatch.setattr("ptc.artifact.staging.store_prepared", refuse)
    with pytest.raises(CompileError) as caught:
        ptc.build(net(0), (IDS,), output=tmp_path / "new" / "libnet.so")
    assert caught.value.code == "PTC-R030" and "new/libnet.so: " in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_sections_hold_what_was_appended(tmp_path: Path) -> None:
    library = ptc.build(net(0), (IDS,), output=tmp_path / "libnet.so").library
    content = tmp_path / "content"
    content.write_bytes(os.urandom(5000))
    placed = append_content(library, ".extra", content)
    assert placed == Placed(".extra", placed.offset, 5000) and placed.offset % 4096 == 0
    before = {s.name for s in inspect_library(library).sections}
    add_sections(library, [placed])
    found = inspect_library(library)
    section = found.section(".extra")
    assert section is not None and {s.name for s in found.sections} == before | {".extra"}
    data = library.read_bytes()[section.offset : section.offset + section.size]
    assert data == content.read_bytes()
