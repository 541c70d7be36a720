"""Libraries that cannot be used: each kind gives its code, none kills the process."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ptc.hosting import load
from ptc.hosting.elf import inspect_library
from ptc.hosting.manifest import Manifest, WeightInfo, WeightsInfo, from_text, to_text
from ptc.hosting.seal import require_intact, seal
from ptc.support.diagnostics import CompileError

from .conftest import MANIFEST, build_library


def code_of(path: Path, **options) -> str:
    with pytest.raises(CompileError) as caught:
        load(path, **options)
    return caught.value.code


def test_headers_are_read(library: Path) -> None:
    seen = inspect_library(library)
    assert "fake_ptc_api" in seen.symbols and seen.section(".dynsym") is not None


def test_not_there(tmp_path: Path) -> None:
    assert code_of(tmp_path / "no.so") == "PTC-R001"
    assert code_of(tmp_path) == "PTC-R001"


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"hello world" * 100, b"\x7fELF" + bytes(500)]
)
def test_not_a_library(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.so").write_bytes(content)
    assert code_of(tmp_path / "x.so") == "PTC-R002"


def test_every_truncation_is_noticed(library: Path, tmp_path: Path) -> None:
    data = library.read_bytes()
    path = tmp_path / "cut.so"
    for keep in sorted({*range(0, len(data), 997), 63, 64, len(data) - 1}):
        path.write_bytes(data[:keep])
        assert code_of(path) == "PTC-R002", keep


def test_damaged_headers_never_crash(library: Path, tmp_path: Path) -> None:
    """Flip bytes of the ELF header and of the section table: refused or read, no other
    exception."""
    data = library.read_bytes()
    path = tmp_path / "damaged.so"
    generator = np.random.default_rng(0)
    table = int.from_bytes(data[40:48], "little")
    places = [*range(64), *range(table, len(data), 3)]
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= int(generator.integers(1, 256))
        path.write_bytes(damaged)
        try:
            inspect_library(path)
        except CompileError as error:
            assert error.code in ("PTC-R002", "PTC-R005")


def test_a_sealed_library_notices_every_damaged_byte(library: Path, tmp_path: Path) -> None:
    """Damaged instructions and relocations would kill the process that loads them."""
    sealed = tmp_path / "libfake.so"
    sealed.write_bytes(library.read_bytes())
    seal(sealed)
    data = sealed.read_bytes()
    require_intact(inspect_library(sealed))
    for at in range(0, len(data) - 16, len(data) // 97):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        sealed.write_bytes(damaged)
        assert code_of(sealed) in ("PTC-R002", "PTC-R005"), at
    sealed.write_bytes(data[:-48])
    require_intact(inspect_library(sealed))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "libpipe.so")
    assert code_of(tmp_path / "libpipe.so") == "PTC-R001"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"])
def test_a_hostile_manifest_beside_the_library(
    library: Path, tmp_path: Path, content: bytes
) -> None:
    copy = tmp_path / library.name
    copy.write_bytes(library.read_bytes())
    copy.with_name(f"{library.name[3:-3]}.json").write_bytes(content)
    assert code_of(copy) == "PTC-R006"


def test_a_library_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int f(void) { return 1; }")
    path = tmp_path / "a.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(tmp_path / "a.c"), "-o", str(path)], check=True)
    assert code_of(path) == "PTC-R003"


def test_another_processor(library: Path, tmp_path: Path) -> None:
    data = bytearray(library.read_bytes())
    data[18:20] = (183 if data[18] == 62 else 62).to_bytes(2, "little")
    (tmp_path / "other.so").write_bytes(data)
    assert code_of(tmp_path / "other.so") == "PTC-R005"
    assert code_of(library, threads=77) == "PTC-R005"


def test_another_interface_version(tmp_path: Path) -> None:
    assert code_of(build_library(tmp_path, abi=9)) == "PTC-R004"


@pytest.mark.parametrize("manifest", ["", "{", "[]", '{"format": 9}', '{"format": 1}'])
def test_unreadable_manifest(tmp_path: Path, manifest: str) -> None:
    assert code_of(build_library(tmp_path, manifest)) == "PTC-R006"


def test_a_manifest_entry_that_the_library_lacks(tmp_path: Path) -> None:
    entry = dataclasses.replace(MANIFEST.entries[0], name="missing")
    text = to_text(dataclasses.replace(MANIFEST, entries=(entry,)))
    assert code_of(build_library(tmp_path, text)) == "PTC-R006"


def test_the_manifest_beside_the_library(tmp_path: Path) -> None:
    path = build_library(tmp_path)
    (tmp_path / "fake.json").write_text(to_text(MANIFEST))
    load(path)
    (tmp_path / "fake.json").write_text(to_text(dataclasses.replace(MANIFEST, torch="other")))
    assert code_of(path) == "PTC-R006"


def with_weights(data: bytes, storage: str) -> Manifest:
    tensor = WeightInfo("w", "u8", (len(data),), 0, len(data))
    file = "fake.safetensors" if storage == "file" else None
    return dataclasses.replace(
        MANIFEST,
        weights=WeightsInfo(storage, file, len(data), (tensor,)),
        hashes={"weights": hashlib.sha256(data).hexdigest()},
    )


def test_weights_in_a_section(tmp_path: Path) -> None:
    """Each state is a file of its own: a loaded library must not be written to."""
    data = bytes(range(256)) * 16
    bare = build_library(tmp_path, to_text(with_weights(data, "embedded")))
    assert code_of(bare) == "PTC-R007"
    (tmp_path / "w").write_bytes(data)
    whole = tmp_path / "whole.so"
    add = ["objcopy", "--add-section", f".ptc_weights={tmp_path / 'w'}", str(bare), str(whole)]
    subprocess.run(add, check=True)
    load(whole)
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(whole.read_bytes().replace(data, data[:-1] + b"\0"))
    assert code_of(damaged) == "PTC-R007"
    load(damaged, verify=False)


def test_weights_in_a_file(tmp_path: Path) -> None:
    path = build_library(tmp_path, to_text(with_weights(b"weights", "file")))
    assert code_of(path) == "PTC-R007"
    (tmp_path / "fake.safetensors").write_bytes(b"weights")
    load(path)


def test_manifest_round_trip() -> None:
    for manifest in (MANIFEST, with_weights(b"x", "file")):
        assert from_text(to_text(manifest), "test") == manifest
    assert all(len(line) <= 200 for line in to_text(MANIFEST).splitlines())
