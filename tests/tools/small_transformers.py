"""Small config.json files of each family of transformers: two layers, hidden size 64."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from archsim.frontend.load import load_model
from archsim.ir.workload import Workload

_DECODER: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 48, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
    "max_position_embeddings": 64,
}  # fmt: skip
_ENCODER: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
}  # fmt: skip

SMALL: dict[str, dict[str, Any]] = {
    "llama": {**_DECODER, "model_type": "llama", "hidden_act": "silu", "tie_word_embeddings": False},
    "mistral": {**_DECODER, "model_type": "mistral", "hidden_act": "silu", "sliding_window": 5},
    "qwen2": {**_DECODER, "model_type": "qwen2", "hidden_act": "silu", "use_sliding_window": False},
    "qwen3": {**_DECODER, "model_type": "qwen3", "hidden_act": "silu", "tie_word_embeddings": True},
    "gemma": {**_DECODER, "model_type": "gemma", "hidden_act": "gelu_pytorch_tanh"},
    "gemma2": {
        **_DECODER, "model_type": "gemma2", "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0, "sliding_window": 5, "query_pre_attn_scalar": 16,
    },
    "gemma3_text": {
        **_DECODER, "model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 5,
        "sliding_window_pattern": 2, "query_pre_attn_scalar": 16, "rope_local_base_freq": 100.0,
    },
    "phi3": {**_DECODER, "model_type": "phi3", "hidden_act": "silu", "sliding_window": 2047},
    "mixtral": {
        **_DECODER, "model_type": "mixtral", "hidden_act": "silu", "num_local_experts": 4, "num_experts_per_tok": 2,
    },
    "qwen3_moe": {
        **_DECODER, "model_type": "qwen3_moe", "hidden_act": "silu", "num_experts": 6, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "norm_topk_prob": False, "mlp_only_layers": [1], "decoder_sparse_step": 1,
    },
    "qwen2_moe": {
        **_DECODER, "model_type": "qwen2_moe", "hidden_act": "silu", "num_experts": 6, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "shared_expert_intermediate_size": 48, "decoder_sparse_step": 2,
    },
    "deepseek_v3": {
        "model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 48, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
        "max_position_embeddings": 64, "q_lora_rank": 24, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 4,
        "topk_group": 2, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
        "routed_scaling_factor": 2.5,
    },
    "gpt_oss": {
        **_DECODER, "model_type": "gpt_oss", "num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 5,
    },
    "llava": {
        "model_type": "llava", "text_config": {**_DECODER, "model_type": "llama"},
        "vision_config": {**_ENCODER, "model_type": "clip_vision_model", "image_size": 8, "patch_size": 4},
        "vision_feature_layer": -2, "vision_feature_select_strategy": "default", "projector_hidden_act": "gelu",
    },
    "gpt2": {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32, "vocab_size": 48},
    "bert": {**_ENCODER, "model_type": "bert", "max_position_embeddings": 32, "vocab_size": 48, "type_vocab_size": 2},
    "vit": {**_ENCODER, "model_type": "vit", "image_size": 32, "patch_size": 8, "num_channels": 3},
    "dit": {
        "model_type": "dit", "input_size": 8, "patch_size": 2, "in_channels": 4, "hidden_size": 64, "depth": 2,
        "num_heads": 4, "mlp_ratio": 1.5, "num_classes": 10,
    },
    "swin": {
        "model_type": "swin", "image_size": 44, "patch_size": 4, "embed_dim": 12, "depths": [2, 2], "num_heads": [3, 6],
        "window_size": 4, "mlp_ratio": 2.0,
    },
    "whisper": {
        "model_type": "whisper", "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "num_mel_bins": 8,
        "max_source_positions": 12, "max_target_positions": 16, "vocab_size": 48, "num_hidden_layers": 2,
    },
    "t5": {
        "model_type": "t5", "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4, "vocab_size": 48,
        "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "n_positions": 16,
    },
}  # fmt: skip
WHOLE = ("bert", "dit", "swin", "vit")  # families without phases
ROWS = {"prompt": 8}


def parameters(family: str) -> dict[str, int]:
    """Rows of a small run."""
    return {} if family in ("dit", "swin", "vit") else ROWS


def written(folder: Path, family: str, **changes: Any) -> Path:
    """The file of a family, with some of its keys changed; None leaves one out."""
    fields = {key: value for key, value in {**SMALL[family], **changes}.items() if value is not None}
    path = folder / f"{family}.json"
    path.write_text(json.dumps(fields))
    return path


def load(folder: Path, family: str, phase: str = "", asked: dict[str, Any] | None = None, **changes: Any) -> Workload:
    """A small model; rows of a small run where nothing is asked."""
    path = written(folder, family, **changes)
    return load_model(f"{path}{phase}", parameters=parameters(family) if asked is None else asked)
