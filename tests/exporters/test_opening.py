"""`ptc.load` of `.ptir` files: what runs them, and what is refused."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import pytest
import torch

import ptc
from ptc.exporters.ptir.loaded import InterpretedModel
from ptc.hosting import LoadedArtifact
from ptc.support.diagnostics import CompileError
from tests.executor.files import package

X = torch.arange(4.0)


def _relu(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opening") / "relu.ptir"
    ptc.export(_relu, (X,), format="ptir", output=path)
    return path


def _made(sound: Path, path: Path, operator: str) -> Path:
    """The file with another operator in the place of relu."""
    with zipfile.ZipFile(sound) as archive:
        text, manifest, weights = (
            archive.read(name) for name in ("graph.ptir", "manifest.json", "weights.safetensors")
        )
    changed = text.decode().replace("aten::relu", operator)
    path.write_bytes(package(changed, manifest=manifest, weights=weights))
    return path


def test_the_executor_runs_a_file(sound: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(ptc.load(sound), LoadedArtifact)


def test_an_operator_that_only_torch_knows_runs_there_with_a_warning(
    sound: Path, tmp_path: Path
) -> None:
    path = _made(sound, tmp_path / "sinc.ptir", "aten::sinc")
    with pytest.warns(UserWarning, match=r"PTC-R042: .*`aten::sinc`.*torch") as found:
        model = ptc.load(path)
    assert found[0].filename == __file__
    assert isinstance(model, InterpretedModel)
    assert torch.equal(model(X), torch.sinc(X))


def test_an_operator_that_nobody_knows_is_an_error(sound: Path, tmp_path: Path) -> None:
    path = _made(sound, tmp_path / "none.ptir", "aten::no_such_thing")
    with pytest.raises(CompileError, match="PTC-E010"):
        ptc.load(path)


@pytest.mark.parametrize("keep", [0, 300, -100])
def test_a_damaged_file_is_an_error_at_once(sound: Path, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "damaged.ptir"
    path.write_bytes(sound.read_bytes()[:keep])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CompileError, match="PTC-E010"):
            ptc.load(path)


def test_unsound_text_is_not_tried_on_torch(sound: Path, tmp_path: Path) -> None:
    path = _made(sound, tmp_path / "unsound.ptir", "aten::")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CompileError, match="PTC-E010"):
            ptc.load(path)
