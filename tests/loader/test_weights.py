"""--weights: formats, prefixes, ties, what is missing, and models made without their parameters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ptc.loader import LoadRequest, load
from ptc.loader.construct import parameters_on_meta
from ptc.loader.weights import load_weights, read_checkpoint
from ptc.support.diagnostics import CompileError

from .conftest import WriteFile


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.arange(3.0), persistent=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.embed(ids)))


@pytest.fixture
def state() -> dict[str, torch.Tensor]:
    torch.manual_seed(5)
    model = Tied()
    model.body[1].running_mean.normal_()
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def check(module: nn.Module, state: dict[str, torch.Tensor]) -> None:
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, state[name]), name
    assert module.head.weight is module.embed.weight


def load_into_new(path: Path) -> tuple[nn.Module, list[str]]:
    module, notes = Tied(), []
    load_weights(module, path, notes)
    return module, notes


def test_safetensors(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    save_file(state, tmp_path / "w.safetensors")
    check(load_into_new(tmp_path / "w.safetensors")[0], state)


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin", ".ckpt"])
def test_pickled_state_dict(tmp_path: Path, suffix: str, state: dict[str, torch.Tensor]) -> None:
    torch.save(state, tmp_path / f"w{suffix}")
    check(load_into_new(tmp_path / f"w{suffix}")[0], state)


def test_the_old_torch_format(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    torch.save(state, tmp_path / "w.pt", _use_new_zipfile_serialization=False)
    check(load_into_new(tmp_path / "w.pt")[0], state)


def test_a_folder_of_shards(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    names = list(state)
    parts = {"a.safetensors": names[:3], "b.safetensors": names[3:]}
    for file, part in parts.items():
        save_file({name: state[name] for name in part}, tmp_path / file)
    index = {"weight_map": {name: file for file, part in parts.items() for name in part}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "config.json").write_text("{}")
    check(load_into_new(tmp_path)[0], state)
    (tmp_path / "b.safetensors").unlink()
    with pytest.raises(CompileError, match="names files that are not there: `b.safetensors`"):
        load_into_new(tmp_path)


def test_a_folder_of_one_file(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    save_file(state, tmp_path / "model.safetensors")
    check(load_into_new(tmp_path)[0], state)


@pytest.mark.parametrize("prefix", ["module.", "model.", "_orig_mod.module."])
def test_a_prefix_is_taken_off(tmp_path: Path, prefix: str, state: dict[str, torch.Tensor]) -> None:
    stored = {prefix + name: tensor for name, tensor in state.items()}
    stored["criterion.weight"] = torch.ones(1)
    torch.save({"state_dict": stored, "epoch": 3, "optimizer": {"lr": 0.1}}, tmp_path / "w.ckpt")
    module, notes = load_into_new(tmp_path / "w.ckpt")
    check(module, state)
    assert any(f"`{prefix}`" in note for note in notes)
    assert any("`criterion.weight`" in note for note in notes)


def test_a_prefix_is_put_before(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    """A checkpoint of the bare body, loaded into a model that holds it as `model`."""

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = Tied()

    save_file(state, tmp_path / "w.safetensors")
    outer, notes = Outer(), []
    load_weights(outer, tmp_path / "w.safetensors", notes)
    check(outer.model, state)


def test_tied_names_need_one_of_them(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    del state["head.weight"]
    save_file(state, tmp_path / "w.safetensors")
    module, _ = load_into_new(tmp_path / "w.safetensors")
    check(module, {**state, "head.weight": state["embed.weight"]})


def test_a_counter_may_be_missing(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    del state["body.1.num_batches_tracked"]
    save_file(state, tmp_path / "w.safetensors")
    load_into_new(tmp_path / "w.safetensors")


@pytest.mark.parametrize("name", ["body.0.weight", "body.1.running_var"])
def test_a_missing_tensor_is_an_error(
    tmp_path: Path, name: str, state: dict[str, torch.Tensor]
) -> None:
    del state[name]
    save_file(state, tmp_path / "w.safetensors")
    with pytest.raises(CompileError) as caught:
        load_into_new(tmp_path / "w.safetensors")
    assert caught.value.code == "PTC-L041" and f"`{name}`" in caught.value.diagnostic.message


def test_a_wrong_shape_is_an_error(tmp_path: Path, state: dict[str, torch.Tensor]) -> None:
    state["body.0.weight"] = torch.ones(5, 4)
    save_file(state, tmp_path / "w.safetensors")
    with pytest.raises(CompileError) as caught:
        load_into_new(tmp_path / "w.safetensors")
    assert caught.value.code == "PTC-L042" and "[5, 4]" in caught.value.diagnostic.message


@pytest.mark.parametrize(
    "name, content, code",
    [
        ("w.safetensors", None, "PTC-L040"),
        ("w.safetensors", b"garbage", "PTC-L040"),
        ("w.pt", b"garbage", "PTC-L0"),
        ("w.h5", b"", "PTC-L040"),
    ],
)
def test_unreadable_weights(tmp_path: Path, name: str, content: bytes | None, code: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CompileError) as caught:
        read_checkpoint(tmp_path / name)
    assert caught.value.code.startswith(code)


def test_code_in_a_checkpoint_is_refused(tmp_path: Path) -> None:
    torch.save(Tied(), tmp_path / "w.pt")
    with pytest.raises(CompileError) as caught:
        read_checkpoint(tmp_path / "w.pt")
    assert caught.value.code == "PTC-L043"
    (note,) = caught.value.diagnostic.notes
    assert note.startswith("it holds ") and note.endswith("Tied")


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="holds no weights"):
        read_checkpoint(tmp_path)


def test_parameters_on_meta_keeps_buffers_and_ties() -> None:
    with parameters_on_meta():
        module = Tied()
    assert {p.device.type for p in module.parameters()} == {"meta"}
    assert module.head.weight is module.embed.weight
    assert module.scale.tolist() == [0, 1, 2]
    assert nn.Linear(1, 1).weight.device.type == "cpu"


MODEL = """
    import torch
    from torch import nn

    class Big(nn.Module):
        def __init__(self, width=4):
            super().__init__()
            self.layer = nn.Linear(width, width)
            SEEN.append(self.layer.weight.device.type)
            self.register_buffer("table", torch.arange(4.0), persistent=False)

        def forward(self, x):
            return self.layer(x) + self.table

    SEEN = []
    example_inputs = torch.ones(1, 4)
"""


def test_a_model_is_made_without_its_parameters(write: WriteFile, tmp_path: Path) -> None:
    weight = {"layer.weight": torch.eye(4), "layer.bias": torch.zeros(4)}
    save_file(weight, tmp_path / "w.safetensors")
    loaded = load(LoadRequest(str(write(MODEL)), weights=tmp_path / "w.safetensors"))
    entry = loaded.entries[0]
    assert entry.function(*entry.args).tolist() == [[1, 2, 3, 4]]
    import sys

    assert sys.modules[type(loaded.module).__module__].SEEN == ["meta"]


def test_a_constructor_that_reads_its_parameters(write: WriteFile, tmp_path: Path) -> None:
    text = MODEL.replace(
        "SEEN.append(self.layer.weight.device.type)", "self.layer.weight.sum().item()"
    )
    save_file(
        {"layer.weight": torch.eye(4), "layer.bias": torch.zeros(4)}, tmp_path / "w.safetensors"
    )
    loaded = load(LoadRequest(str(write(text)), weights=tmp_path / "w.safetensors"))
    assert torch.equal(loaded.module.layer.weight, torch.eye(4))
    assert any("needs its parameters' values" in note for note in loaded.notes)


def test_parameters_without_data_are_refused(write: WriteFile) -> None:
    text = MODEL + "\n    with torch.device('meta'):\n        model = Big()\n"
    with pytest.raises(CompileError) as caught:
        load(LoadRequest(str(write(text))))
    assert caught.value.code == "PTC-L052"


def test_a_half_checkpoint_keeps_the_models_type(
    tmp_path: Path, state: dict[str, torch.Tensor]
) -> None:
    half = {n: t.half() if t.is_floating_point() else t for n, t in state.items()}
    save_file(half, tmp_path / "w.safetensors")
    module, _ = load_into_new(tmp_path / "w.safetensors")
    assert module.embed.weight.dtype == torch.float32


def test_a_hugging_face_class_takes_its_configuration(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=11, n_positions=16)
    torch.manual_seed(1)
    model = transformers.GPT2LMHeadModel(config).eval()
    model.save_pretrained(tmp_path)
    loaded = load(
        LoadRequest(
            "transformers:GPT2LMHeadModel", weights=tmp_path, inputs=("input_ids=i64[1,5]<11",)
        )
    )
    entry = loaded.entries[0]
    with torch.no_grad():
        ours, theirs = entry.function(*entry.args).logits, model(*entry.args).logits
    assert torch.equal(ours, theirs)
    assert loaded.module.lm_head.weight is loaded.module.transformer.wte.weight


def test_a_class_that_is_made_from_a_configuration() -> None:
    pytest.importorskip("transformers")
    init = {"n_layer": 1, "n_head": 2, "n_embd": 8, "vocab_size": 11, "n_positions": 16}
    loaded = load(LoadRequest("transformers:GPT2Model", init, inputs=("input_ids=i64[1,5]<11",)))
    assert len(loaded.module.h) == 1 and loaded.name == "gpt2_model"
