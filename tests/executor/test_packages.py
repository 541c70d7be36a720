"""Files that are damaged or hostile are refused when they are opened."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile

import numpy as np
import pytest

from ptc.executor.session import Model, Session
from ptc.support.diagnostics import CompileError
from tests.executor.files import graph, package, safetensors

TEXT = graph('%0 : f32[2] = parameter "w"', 'return %0 "y"')
WEIGHT = {"w": np.array([1, 2], np.float32)}


def refusal(data: bytes) -> str:
    with pytest.raises(CompileError) as error:
        Model(data)
    assert error.value.diagnostic.code == "PTC-E010"
    return error.value.diagnostic.message


def header(content: str, data: bytes = b"") -> bytes:
    text = content.encode()
    return struct.pack("<Q", len(text)) + text + data


def weights(**changes: object) -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}
    return header(json.dumps({"w": entry}), bytes(8))


def test_a_sound_file_runs_wherever_it_lies() -> None:
    data = package(TEXT, WEIGHT)
    assert Session(Model(data)).run([])[0].tolist() == [1, 2]
    for pad in range(1, 4):
        odd = header(" " * pad + safetensors(WEIGHT)[8:72].decode().strip(), bytes(8))
        assert Session(Model(package(TEXT, weights=odd))).run([])[0].tolist() == [0, 0]


def test_every_truncation_is_refused() -> None:
    data = package(TEXT, WEIGHT)
    for length in range(0, len(data), 7):
        refusal(data[:length])


def test_every_flipped_byte_is_refused_or_harmless() -> None:
    data = package(TEXT, WEIGHT)
    for place in range(len(data)):
        damaged = data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
        try:
            model = Model(damaged)
        except CompileError as error:
            assert error.diagnostic.code == "PTC-E010"
        else:
            Session(model).run([])


NUMBER = '"w": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}'
TWICE = f"{{{NUMBER}, {NUMBER}}}"
FLAG = '{"w": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}'
ZIPS = {
    "nothing": (b"", "the memory"),
    "no zip": (b"x" * 100, "no zip file"),
    "compressed": (package(TEXT, WEIGHT, compression=zipfile.ZIP_DEFLATED), "compressed"),
    "more": (package(TEXT, WEIGHT, extra={"../evil": b""}), "4 entries"),
    "manifest of others": (package(TEXT, WEIGHT, manifest=b"{}"), "not one of the portable IR"),
    "manifest no object": (package(TEXT, WEIGHT, manifest=b"[]"), "manifest.json, byte 0"),
    "manifest deep": (package(TEXT, WEIGHT, manifest=b'{"a":' + b"[" * 1000), "nested too deep"),
    "no weights": (package(TEXT, weights=b""), "ends too early"),
    "long header": (package(TEXT, weights=struct.pack("<Q", 1 << 60)), "the weights' header"),
    "no such weight": (package(TEXT), "no tensor `w`"),
    "weight outside": (package(TEXT, weights=weights(data_offsets=[0, 16])), "leaves the file"),
    "weight backwards": (package(TEXT, weights=weights(data_offsets=[8, 0])), "leaves the file"),
    "weight short": (package(TEXT, weights=weights(data_offsets=[0, 4])), "its shape says 8"),
    "weight large": (package(TEXT, weights=weights(shape=[1 << 40, 1 << 40])), "too large"),
    "weight negative": (package(TEXT, weights=weights(shape=[-2])), "negative"),
    "weight type": (package(TEXT, weights=weights(dtype="F32x")), "has type `F32x`"),
    "weight other type": (package(TEXT, weights=weights(dtype="I32")), "the program says f32[2]"),
    "weight other shape": (package(TEXT, weights=weights(shape=[2, 1])), "the program says f32[2]"),
    "weight twice": (package(TEXT, weights=header(TWICE, bytes(4))), "stored twice"),
    "bool of 2": (package(TEXT, weights=header(FLAG, b"\x02")), "a bool of 2"),
}


@pytest.mark.parametrize("name", ZIPS)
def test_unsound_files_are_refused(name: str) -> None:
    data, message = ZIPS[name]
    assert message in refusal(data)


def test_weights_are_compared_with_their_hash() -> None:
    content = safetensors(WEIGHT)

    def stating(digest: str) -> bytes:
        entry = {"format": "ptir", "weights": {"bytes": len(content), "sha256": digest}}
        return package(TEXT, WEIGHT, manifest=json.dumps(entry).encode())

    assert Session(Model(stating(hashlib.sha256(content).hexdigest()))).run([])[0][1] == 2
    assert "do not match their hash" in refusal(stating("0" * 64))


@pytest.mark.parametrize("extra", range(0, 140, 13))
def test_hashes_of_every_length(extra: int) -> None:
    content = header(json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}))
    content += bytes(8) + b"x" * extra
    entry = {"format": "ptir", "weights": {"sha256": hashlib.sha256(content).hexdigest()}}
    Model(package(TEXT, weights=content, manifest=json.dumps(entry).encode()))


def test_no_file() -> None:
    with pytest.raises(CompileError, match="no-such-file"):
        Model("no-such-file.ptir")
