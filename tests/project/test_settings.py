"""Settings, the registry and dumps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptc.support import settings
from ptc.support.diagnostics import CompileError
from ptc.support.dumps import Dumper, write_atomically
from ptc.support.registry import Registry
from ptc.support.settings import read_settings


def test_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    read = read_settings({})
    assert read.cache_dir == tmp_path / ".cache" / "ptc"
    assert read.compiler is None and read.threads is None and not read.debug
    assert read.jobs >= 1


def test_own_variables_win_over_those_of_others() -> None:
    read = read_settings({"PTC_CXX": "a", "CXX": "b", "PTC_THREADS": "3", "OMP_NUM_THREADS": "5"})
    assert (read.compiler, read.threads) == ("a", 3)


@pytest.mark.parametrize("value, threads", [("5", 5), ("4,2", None), ("", None), ("0", None)])
def test_openmp_threads_are_followed_where_they_are_one_number(
    value: str, threads: int | None
) -> None:
    assert read_settings({"OMP_NUM_THREADS": value}).threads == threads


@pytest.mark.parametrize(
    "environ", [{"PTC_THREADS": "many"}, {"PTC_JOBS": "0"}, {"PTC_DEBUG": "maybe"}]
)
def test_malformed_values_are_refused(environ: dict[str, str]) -> None:
    with pytest.raises(CompileError) as caught:
        read_settings(environ)
    assert caught.value.code == "PTC-V001"
    assert next(iter(environ)) in str(caught.value)


def test_overrides_nest_and_end(tmp_path: Path) -> None:
    before = settings.current()
    with settings.overridden(cache_dir=tmp_path):
        with settings.overridden(threads=7):
            assert settings.current().cache_dir == tmp_path
            assert settings.current().threads == 7
        assert settings.current().threads == before.threads
    assert settings.current() == before


def test_registry_refuses_duplicates() -> None:
    table: Registry[str, object] = Registry("colours")
    table.register("red", "crimson")(len)
    assert table["red"] is len and list(table) == ["red", "crimson"]
    with pytest.raises(ValueError, match="colours: 'red' is registered twice"):
        table.add("red", 2)


def test_dumper_without_a_folder_makes_no_text() -> None:
    def fail() -> str:
        raise AssertionError("must not be called")

    assert Dumper().text("captured", fail) is None


def test_dumper_numbers_stages_and_parts(tmp_path: Path) -> None:
    dumper = Dumper(tmp_path).for_part("a/b")
    assert dumper.text("loops", lambda: "text") == tmp_path / "a_b" / "04.loops"
    dumper.files("code", lambda: {"k.cpp": "int x;", "bin": b"\0"})
    assert (tmp_path / "a_b" / "06.code" / "k.cpp").read_text() == "int x;"
    assert (tmp_path / "a_b" / "06.code" / "bin").read_bytes() == b"\0"


def test_atomic_write_leaves_the_old_file_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    write_atomically(target, b"old")

    def no_replace(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", no_replace)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
