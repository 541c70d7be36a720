"""The files of an artifact appear together or not at all."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ptc.support.diagnostics import CompileError
from ptc.support.landing import land


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_files_land_with_their_permissions(tmp_path: Path) -> None:
    source = tmp_path / "built.so"
    source.write_bytes(b"library")
    out = tmp_path / "new" / "folder"
    land({out / "libm.so": source, out / "m.h": b"header", out / "m.json": b"{}"})
    assert content(out) == {"libm.so": b"library", "m.h": b"header", "m.json": b"{}"}
    assert os.access(out / "libm.so", os.X_OK) and not os.access(out / "m.h", os.X_OK)


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("existing", [True, False])
def test_a_failed_rename_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int, existing: bool
) -> None:
    names = ["libm.so", "m.h", "m.json"]
    if existing:
        land({tmp_path / name: b"old" for name in names})
    before = content(tmp_path)
    replace, calls = os.replace, []

    def fail_once(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == failing + 1:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_once)
    with pytest.raises(CompileError, match="No space left") as caught:
        land({tmp_path / name: b"new" for name in names})
    assert caught.value.code == "PTC-R030"
    assert content(tmp_path) == before


def test_two_builds_do_not_mix_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, replace = ["libm.so", "m.h", "m.json"], os.replace

    def slowly(source: str, target: str) -> None:
        time.sleep(0.02)
        replace(source, target)

    monkeypatch.setattr(os, "replace", slowly)

    def build(who: int) -> None:
        land({tmp_path / name: str(who).encode() for name in names})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(build, range(4)))
    assert len(set(content(tmp_path).values())) == 1 and set(content(tmp_path)) == set(names)


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        land({tmp_path / "libm.so": b"new"})
    assert content(tmp_path) == {}


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CompileError) as caught:
        land({tmp_path / "file" / "libm.so": b""})
    assert caught.value.code == "PTC-R030"


def test_a_loaded_library_is_not_touched(tmp_path: Path) -> None:
    """The old file keeps its content for whoever has it open."""
    land({tmp_path / "libm.so": b"old"})
    with (tmp_path / "libm.so").open("rb") as stream:
        land({tmp_path / "libm.so": b"new!"})
        assert stream.read() == b"old"
