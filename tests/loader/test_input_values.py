"""Making values from specifications, in NumPy and as tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ptc.hosting.dtypes import ELEMENT_TYPES, from_float32, to_float32
from ptc.hosting.input_spec import TensorSpec, parse_input
from ptc.hosting.input_values import ValueMaker, random_array
from ptc.hosting.safetensors_file import read_safetensors
from ptc.loader.torch_values import read_torch_file, tensor_from_array
from ptc.support.diagnostics import CompileError


def make(*texts: str, seed: int = 0) -> tuple[list[object], dict[str, object]]:
    return ValueMaker(seed=seed).arguments(tuple(parse_input(text) for text in texts))


def tensors(*texts: str) -> tuple[list[object], dict[str, object]]:
    maker = ValueMaker(tensor_from_array, {".pt": read_torch_file})
    return maker.arguments(tuple(parse_input(text) for text in texts))


@pytest.mark.parametrize("name", list(ELEMENT_TYPES))
def test_every_type_makes_a_tensor_of_that_type(name: str) -> None:
    (value,), _ = tensors(f"{name}[3,2]")
    assert isinstance(value, torch.Tensor) and value.shape == (3, 2)
    assert value.dtype == getattr(torch, ELEMENT_TYPES[name].long_name)


def test_values_are_within_the_range() -> None:
    generator = np.random.default_rng(0)
    ints = random_array(TensorSpec(ELEMENT_TYPES["i64"], (1000,), 3, 7), generator)
    assert set(ints.tolist()) == {3, 4, 5, 6}
    floats = random_array(TensorSpec(ELEMENT_TYPES["f32"], (1000,), -1, 2.5), generator)
    assert floats.min() >= -1 and floats.max() < 2.5 and floats.min() < -0.5
    unranged = random_array(TensorSpec(ELEMENT_TYPES["i64"], (100,)), generator)
    assert set(unranged.tolist()) == {0, 1}


def test_a_range_beyond_the_type_is_refused() -> None:
    with pytest.raises(CompileError, match="the range 0 to 299 does not fit the element type u8"):
        make("u8[4]<300")


def test_fill() -> None:
    (ones, flags, half), _ = make("i64[2]=7", "bool[2]=1", "bf16[2]=0.5")
    assert np.array_equal(ones, [7, 7]) and np.array_equal(flags, [True, True])
    assert to_float32(np.asarray(half), ELEMENT_TYPES["bf16"]).tolist() == [0.5, 0.5]


def test_values_depend_on_seed_and_name_only() -> None:
    _, one = make("x=f32[4]", "y=f32[4]")
    _, other = make("y=f32[4]")
    _, reseeded = make("y=f32[4]", seed=1)
    assert np.array_equal(one["y"], other["y"])  # type: ignore[arg-type]
    assert not np.array_equal(one["x"], one["y"])  # type: ignore[arg-type]
    assert not np.array_equal(one["y"], reseeded["y"])  # type: ignore[arg-type]


def test_bf16_rounding_equals_torch() -> None:
    values = np.concatenate(
        [
            np.random.default_rng(0).standard_normal(2000).astype(np.float32) * 1e3,
            np.array([0, -0.0, np.inf, -np.inf, np.nan, 3.3895314e38, 1e-40, 1.00390625]),
        ]
    ).astype(np.float32)
    bits = values.view(np.uint32)
    rounded = from_float32(values, ELEMENT_TYPES["bf16"]).view(np.uint16)
    expected = torch.from_numpy(values).to(torch.bfloat16).view(torch.int16).numpy()
    finite = ~np.isnan(values)
    assert np.array_equal(rounded[finite], expected.view(np.uint16)[finite])
    back = to_float32(rounded, ELEMENT_TYPES["bf16"])
    assert np.isnan(back[np.isnan(values)]).all() and len(bits) == len(back)


def test_files(tmp_path: Path) -> None:
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2])
    np.save(tmp_path / "a.npy", a)
    np.savez(tmp_path / "both.npz", x=a, y=b)
    np.savez(tmp_path / "one.npz", x=a)
    np.savez(tmp_path / "nameless.npz", a, b)
    save_file({"x": torch.arange(3).bfloat16()}, tmp_path / "x.safetensors")
    torch.save({"ids": torch.arange(2), "extra": [torch.ones(1), None]}, tmp_path / "n.pt")

    (value,), _ = make(f"@{tmp_path}/a.npy")
    assert np.array_equal(value, a)
    assert list(make(f"@{tmp_path}/both.npz")[1]) == ["x", "y"]
    assert list(make(f"@{tmp_path}/one.npz")[1]) == ["x"]
    assert len(make(f"@{tmp_path}/nameless.npz")[0]) == 2
    assert np.array_equal(make(f"q=@{tmp_path}/both.npz#y")[1]["q"], b)
    assert np.array_equal(make(f"q=@{tmp_path}/one.npz")[1]["q"], a)
    stored = tensors(f"x=@{tmp_path}/x.safetensors")[1]["x"]
    assert isinstance(stored, torch.Tensor) and stored.dtype == torch.bfloat16
    assert stored.tolist() == [0, 1, 2]
    nested = tensors(f"batch=@{tmp_path}/n.pt")[1]["batch"]
    assert isinstance(nested, dict) and nested["extra"][1] is None


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("missing.npy", None, "there is no file"),
        ("x.txt", b"1", "the file type `.txt` is not supported"),
        ("x.npy", b"garbage", "cannot read"),
        ("x.npz", b"PK\x03\x04garbage", "cannot read"),
        ("x.safetensors", b"\xff\xff\xff\xff\x00\x00\x00\x00{}", "header is longer than the file"),
        ("x.safetensors", b"", "cannot read"),
        ("x.pt", b"garbage", "PTC-L0"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CompileError) as caught:
        tensors(f"x=@{tmp_path / name}")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text", ["x=f32[9999999999,9999999999]", f"x=f32[{'1,' * 70}1]", "x=u8[2]=300", "x=u8[2]=-1"]
)
def test_values_that_cannot_be_made(text: str) -> None:
    with pytest.raises(CompileError) as caught:
        make(text)
    assert caught.value.code == "PTC-L020" and caught.value.diagnostic.hint


def test_pickled_code_is_refused(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    with pytest.raises(CompileError) as caught:
        tensors(f"x=@{tmp_path}/module.pt")
    assert caught.value.code == "PTC-L043"
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(CompileError, match="cannot read"):
        make(f"x=@{tmp_path}/objects.npy")


def test_safetensors_reader_equals_the_library(tmp_path: Path) -> None:
    content = {
        "a": torch.randn(3, 4),
        "b": torch.randint(0, 9, (5,)),
        "c": torch.tensor(True),
        "d": torch.zeros(0, 2, dtype=torch.float16),
    }
    save_file(content, tmp_path / "t.safetensors", metadata={"k": "v"})
    read = read_safetensors(tmp_path / "t.safetensors")
    assert set(read) == set(content)
    for name, tensor in content.items():
        assert np.array_equal(read[name].array, tensor.numpy())


def test_truncated_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_file({"a": torch.randn(64)}, path)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(CompileError, match="the data of `a` are truncated"):
        read_safetensors(path)


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(CompileError) as caught:
        make("x=f32[1]", "x=f32[2]")
    assert caught.value.code == "PTC-L022"
