"""Libraries for tests of the host side, built from fake_model.c without any of the compiler."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptc.hosting.manifest import (
    EntryInfo,
    Manifest,
    SizeInfo,
    TargetInfo,
    TensorInfo,
    to_text,
)

ROOT = Path(__file__).resolve().parents[2]
BATCH = SizeInfo("s0", "batch", 1, 8, 0, 0)
X = TensorInfo("x", "f32", ("s0", 3))


def tuple_of(*children: Any) -> dict[str, Any]:
    return {"kind": "tuple", "keys": [], "type": "", "children": list(children)}


def dict_of(**children: Any) -> dict[str, Any]:
    items = list(children.values())
    return {"kind": "dict", "keys": list(children), "type": "", "children": items}


LEAF: dict[str, Any] = {"leaf": 0}
MANIFEST = Manifest(
    name="fake",
    entries=(
        EntryInfo(
            "double",
            (X,),
            (TensorInfo("y", "f32", ("s0", 3)),),
            (BATCH,),
            tuple_of(tuple_of(LEAF, {"const": None}), dict_of(scale={"const": 2.0})),
            {"kind": "dataclass", "keys": ["logits", "extra"], "type": "user.Out",
             "children": [LEAF, {"const": None}]},
        ),
        EntryInfo(
            "evens",
            (TensorInfo("x", "f32", (5,)),),
            (TensorInfo("y", "f32", ("u0",)),),
            (),
            tuple_of(tuple_of(LEAF), dict_of()),
            LEAF,
        ),
        EntryInfo(
            "count",
            (),
            (TensorInfo("n", "i64", ()),),
            (),
            tuple_of(tuple_of(), dict_of()),
            tuple_of(LEAF),
        ),
        EntryInfo(
            "negate",
            (TensorInfo("batch.x", "f32", ("s0",), mutated=True),),
            (TensorInfo("sum", "bf16", ()),),
            (SizeInfo("s0", "n", 0, None, 0, 0),),
            tuple_of(tuple_of(dict_of(x=LEAF)), dict_of()),
            {"kind": "list", "keys": [], "type": "", "children": [LEAF]},
        ),
    ),
    target=TargetInfo("x86_64-linux-gnu", "baseline"),
)  # fmt: skip

Build = Callable[..., Path]


def build_library(folder: Path, manifest: str | None = None, abi: int = 1) -> Path:
    """Compile fake_model.c with the given manifest text and interface version."""
    text = to_text(MANIFEST) if manifest is None else manifest
    path = folder / "libfake.so"
    defines = [f"-DMANIFEST={json.dumps(text)}", f"-DABI={abi}", "-DNAME=fake"]
    source = Path(__file__).parent / "fake_model.c"
    include = f"-I{ROOT / 'ptc' / 'runtime'}"
    command = ["gcc", "-shared", "-fPIC", "-O1", include, *defines, str(source), "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library(tmp_path_factory.mktemp("fake"))
