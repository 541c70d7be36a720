"""Models of the transformers library with small random weights: one graph that gives what eager
gives, also where the result holds a cache. The default run has one model a kind; the rest is slow.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

import ptc
from ptc.dispatch.proxy import compiler_of

transformers = pytest.importorskip("transformers")

_VOCABULARY = 99
_ENCODER = {
    "vocab_size": _VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 64,
}  # fmt: skip
_DECODER = {**_ENCODER, "num_key_value_heads": 2, "pad_token_id": 0}
_T5 = {
    "vocab_size": _VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2,
    "num_heads": 4, "decoder_start_token_id": 0,
}  # fmt: skip
_BART = {
    "vocab_size": _VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40, "max_position_embeddings": 64, "decoder_start_token_id": 0,
    "pad_token_id": 0,
}  # fmt: skip
_VISION = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip
_AUDIO = {
    **{k: v for k, v in _ENCODER.items() if k != "max_position_embeddings"},
    "conv_dim": (16, 16), "conv_stride": (4, 2), "conv_kernel": (8, 4),
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 2,
}  # fmt: skip
_MAMBA = {"vocab_size": _VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}
_MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "head_dim": 8}


def _ids(length: int = 7) -> torch.Tensor:
    return torch.randint(3, _VOCABULARY - 3, (2, length))


def _text() -> dict[str, Any]:
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    return {"input_ids": _ids(), "attention_mask": mask}


def _tokens() -> dict[str, Any]:
    return {"input_ids": _ids()}


def _pair() -> dict[str, Any]:
    return {**_text(), "decoder_input_ids": _ids(5)}


def _image() -> dict[str, Any]:
    return {"pixel_values": torch.randn(1, 3, 32, 32)}


def _sound() -> dict[str, Any]:
    return {"input_values": torch.randn(1, 640)}


# model class, configuration class, configuration, inputs
_Model = tuple[str, str, dict[str, Any], Callable[[], dict[str, Any]]]
FAST: list[_Model] = [
    ("LlamaForCausalLM", "LlamaConfig", _DECODER, _text),
    ("T5ForConditionalGeneration", "T5Config", _T5, _pair),
    ("MambaForCausalLM", "MambaConfig", _MAMBA, _tokens),
    ("Wav2Vec2Model", "Wav2Vec2Config", _AUDIO, _sound),
]
SLOW: list[_Model] = [
    ("AlbertModel", "AlbertConfig", {**_ENCODER, "embedding_size": 16}, _text),
    ("DebertaModel", "DebertaConfig",
     {**_ENCODER, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, _text),
    ("DebertaV2Model", "DebertaV2Config",
     {**_ENCODER, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, _text),
    ("ElectraModel", "ElectraConfig", _ENCODER, _text),
    ("MPNetModel", "MPNetConfig", _ENCODER, _text),
    ("XLNetModel", "XLNetConfig",
     {"vocab_size": _VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 40}, _text),
    ("GPTNeoXForCausalLM", "GPTNeoXConfig", _ENCODER, _tokens),
    ("Gemma2ForCausalLM", "Gemma2Config", {**_DECODER, "head_dim": 8}, _text),
    ("Qwen3MoeForCausalLM", "Qwen3MoeConfig", {**_DECODER, **_MOE}, _tokens),
    ("BloomForCausalLM", "BloomConfig",
     {"vocab_size": _VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}, _text),
    ("BartForConditionalGeneration", "BartConfig", _BART, _pair),
    ("M2M100ForConditionalGeneration", "M2M100Config", _BART, _pair),
    ("HubertModel", "HubertConfig", _AUDIO, _sound),
    ("BeitModel", "BeitConfig", {**_VISION, "use_relative_position_bias": True}, _image),
    ("Dinov2Model", "Dinov2Config", _VISION, _image),
    ("SwinModel", "SwinConfig",
     {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4],
      "window_size": 4}, _image),
]  # fmt: skip


def _check(model: str, config: str, values: dict[str, Any], inputs: Any) -> None:
    torch.manual_seed(0)
    made = getattr(transformers, config)(**values)
    module = getattr(transformers, model)(made).eval()
    kwargs = inputs()
    with torch.no_grad():
        _one_graph(module, kwargs)


def _one_graph(module: torch.nn.Module, kwargs: dict[str, Any]) -> None:
    expected = module(**copy.deepcopy(kwargs))
    compiled = ptc.compile(module, backend="aten")
    breaks: list[Any] = []
    compiler_of(compiled).observer = lambda _, frame: breaks.extend(frame.breaks)
    result = compiled(**copy.deepcopy(kwargs))
    assert breaks == []
    assert type(result) is type(expected)
    assert list(result.keys()) == list(expected.keys())
    found = _tensors(result)
    torch.testing.assert_close(found, _tensors(expected), rtol=1e-4, atol=1e-5)
    assert found


def _tensors(value: Any) -> list[torch.Tensor]:
    """All tensors of a result in order, those of a cache too."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _tensors(item)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    if type(value).__module__.startswith("transformers"):
        return _tensors({k: v for k, v in sorted(vars(value).items()) if k != "config"})
    return []


@pytest.mark.parametrize("entry", FAST, ids=lambda entry: entry[0])
def test_model(entry: _Model) -> None:
    _check(*entry)


@pytest.mark.slow
@pytest.mark.parametrize("entry", SLOW, ids=lambda entry: entry[0])
def test_further_model(entry: _Model) -> None:
    _check(*entry)


@pytest.mark.slow
def test_hidden_states_are_collected_by_hooks_set_in_an_earlier_call() -> None:
    torch.manual_seed(0)
    module = transformers.BertModel(transformers.BertConfig(**_ENCODER)).eval()
    kwargs = {**_text(), "output_hidden_states": True}
    with torch.no_grad():
        module(**kwargs)
        _one_graph(module, kwargs)
