"""Public models with random weights: name -> (module in eval mode, args, kwargs, dynamic dims).

Nothing is downloaded. timm models keep their real size where they are small; transformers models
use small configurations with every structural feature of the original.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

BATCH = "batch"


@dataclass(frozen=True)
class ZooModel:
    """A model, example arguments, the argument paths whose dim 0 is the batch."""

    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    batched: tuple[str, ...]


def _fill_zeros(module: torch.nn.Module) -> None:
    """Parameters that start as zeros (a head, a residual scale) hide what comes before them."""
    with torch.no_grad():
        for parameter in module.parameters():
            if not parameter.any():
                parameter.normal_(std=0.02)


def _timm(name: str, size: int) -> Callable[[], ZooModel]:
    def make() -> ZooModel:
        import timm

        module = timm.create_model(name, pretrained=False).eval()
        _fill_zeros(module)
        return ZooModel(module, (torch.randn(2, 3, size, size),), {}, ("x",))

    return make


def _ids(vocab: int, batch: int = 2, length: int = 12) -> torch.Tensor:
    return torch.randint(0, vocab, (batch, length))


def _bert() -> ZooModel:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=200, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96, max_position_embeddings=64,
    )  # fmt: skip
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, 8:] = 0
    module = BertModel(config).eval()
    kwargs = {"input_ids": _ids(200), "attention_mask": mask}
    return ZooModel(module, (), kwargs, ("input_ids", "attention_mask"))


def _distilbert() -> ZooModel:
    from transformers import DistilBertConfig, DistilBertModel

    config = DistilBertConfig(
        vocab_size=200, dim=64, n_layers=2, n_heads=4, hidden_dim=96, max_position_embeddings=64
    )
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, 8:] = 0
    kwargs = {"input_ids": _ids(200), "attention_mask": mask}
    return ZooModel(DistilBertModel(config).eval(), (), kwargs, tuple(kwargs))


def _gpt2() -> ZooModel:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=200, n_embd=64, n_layer=2, n_head=4, n_positions=64)
    return ZooModel(
        GPT2LMHeadModel(config).eval(), (), {"input_ids": _ids(200), "use_cache": False},
        ("input_ids",),
    )  # fmt: skip


def _llama() -> ZooModel:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=200, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    return ZooModel(
        LlamaForCausalLM(config).eval(), (), {"input_ids": _ids(200), "use_cache": False},
        ("input_ids",),
    )  # fmt: skip


def _t5() -> ZooModel:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=200, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    kwargs = {"input_ids": _ids(200), "decoder_input_ids": _ids(200, length=7), "use_cache": False}
    return ZooModel(
        T5ForConditionalGeneration(config).eval(), (), kwargs, ("input_ids", "decoder_input_ids")
    )


def _whisper() -> ZooModel:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(
        vocab_size=200, d_model=64, encoder_layers=2, encoder_attention_heads=4,
        decoder_layers=2, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96,
        num_mel_bins=20, max_source_positions=50, max_target_positions=32,
    )  # fmt: skip
    return ZooModel(
        WhisperEncoder(config).eval(), (), {"input_features": torch.randn(2, 20, 100)},
        ("input_features",),
    )  # fmt: skip


def _vit() -> ZooModel:
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
        image_size=32, patch_size=8,
    )  # fmt: skip
    return ZooModel(
        ViTModel(config).eval(), (), {"pixel_values": torch.randn(2, 3, 32, 32)},
        ("pixel_values",),
    )  # fmt: skip


TRANSFORMERS: dict[str, Callable[[], ZooModel]] = {
    "BertModel": _bert,
    "GPT2LMHeadModel": _gpt2,
    "LlamaForCausalLM": _llama,
    "T5ForConditionalGeneration": _t5,
    "WhisperEncoder": _whisper,
    "DistilBertModel": _distilbert,
    "ViTModel": _vit,
}

TIMM: dict[str, Callable[[], ZooModel]] = {
    "resnet50": _timm("resnet50", 96),
    "mobilenetv3_large_100": _timm("mobilenetv3_large_100", 96),
    "convnext_atto": _timm("convnext_atto", 96),
    "vit_tiny_patch16_224": _timm("vit_tiny_patch16_224", 224),
    "regnety_002": _timm("regnety_002", 96),
    "efficientnet_b0": _timm("efficientnet_b0", 96),
    "mixer_s32_224": _timm("mixer_s32_224", 224),
}
