"""Files of config.json that are refused, and what may not be asked of one: one message with file and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from archsim.base.errors import ArchsimError, ConfigError, ModelError
from tests.tools.small_transformers import load

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}


@pytest.mark.parametrize(
    ("family", "changes", "says"),
    [
        ("llama", {"model_type": "llamma"}, r"key 'model_type': found \"llamma\"; .*did you mean 'llama'"),
        ("llama", {"hidden_size": None}, "key 'hidden_size' is missing"),
        ("llama", {"hidden_size": "64"}, "key 'hidden_size': found \"64\"; allowed a whole number from 1"),
        ("llama", {"hidden_size": True}, "key 'hidden_size': found true"),
        ("llama", {"num_hidden_layers": 10**9}, "key 'num_hidden_layers': found 1000000000; allowed .* to 1024"),
        ("llama", {"num_key_value_heads": 3}, "key 'num_key_value_heads': found 3; allowed a divisor of 4"),
        ("llama", {"rms_norm_eps": 0}, "key 'rms_norm_eps': found 0; allowed a number above 0"),
        ("llama", {"hidden_act": "silly"}, "key 'hidden_act': found \"silly\"; .*did you mean 'silu'"),
        ("llama", {"clip_qkv": 8.0}, "key 'clip_qkv' is not known here"),
        ("llama", {"quantization_config": {"bits": 4}}, "key 'quantization_config.quant_method' is missing"),
        ("llama", {"rope_scaling": {"type": "longrope"}}, "key 'rope_scaling.type': found \"longrope\"; allowed def"),
        ("llama", {"rope_scaling": {"rope_type": "linear"}}, "key 'rope_scaling.factor' is missing"),
        ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 2, "x": 1}}, "key 'rope_scaling.x' is not known"),
        ("llama", {"architectures": ["LlamaModel"]}, "key 'architectures': .*; allowed one that ends in ForCausalLM"),
        ("llama", {"pretraining_tp": 2}, "key 'pretraining_tp': found 2; allowed 1"),
        ("gemma2", {"layer_types": ["full_attention"]}, "key 'layer_types': .*; allowed 2 of full_attention, sliding"),
        ("phi3", {"partial_rotary_factor": 0.5}, "key 'partial_rotary_factor': found 0.5; allowed 1.0"),
        ("phi3", {"rope_parameters": {"partial_rotary_factor": 0.5}}, "key 'rope_parameters.partial_rotary_factor'"),
        ("llama", {"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2}}, "key 'rope_scaling.type'"),
        ("llama", {"rope_theta": 1, "rope_scaling": YARN}, "key 'rope_theta': found 1; allowed a number above 1"),
        ("llama", {"is_decoder": True}, "key 'is_decoder': found true; allowed false"),
        ("llama", {"is_encoder_decoder": True}, "key 'is_encoder_decoder': found true; allowed false"),
        ("t5", {"is_encoder_decoder": False}, "key 'is_encoder_decoder': found false; allowed true"),
        ("qwen2", {"use_mrope": True}, "key 'use_mrope': found true; allowed false"),
        ("qwen2", {"use_sliding_window": True}, "key 'sliding_window' is missing"),
        ("mistral", {"sliding_window": None}, "key 'sliding_window' is missing; allowed .* null where no layer slides"),
        ("gemma2", {"sliding_window": None}, "key 'sliding_window' is missing"),
        ("qwen3_moe", {"num_local_experts": 5}, "key 'num_local_experts': found 5; allowed 6"),
        ("vit", {"pooler_act": "silly"}, "key 'pooler_act': found"),
        ("qwen2_moe", {"shared_expert_intermediate_size": None}, "key 'shared_expert_intermediate_size' is missing"),
        ("gemma3_text", {"head_dim": 15}, "key 'head_dim' is 15; allowed even numbers"),
        ("gemma3_text", {"rope_scaling": {"full_attention": {}}}, "key 'rope_scaling.sliding_attention' is missing"),
        ("deepseek_v3", {"qk_rope_head_dim": 7}, "key 'qk_rope_head_dim' is 7; allowed even numbers"),
        ("deepseek_v3", {"num_key_value_heads": 2}, "key 'num_key_value_heads': found 2; allowed 4"),
        ("deepseek_v3", {"n_group": 3}, "key 'n_group' is 3; allowed a divisor of 8"),
        ("deepseek_v3", {"n_group": 8}, "key 'n_group' is 8; allowed .* two experts or more"),
        ("deepseek_v3", {"topk_group": 1, "num_experts_per_tok": 3}, "key 'topk_group': found 1; allowed groups that"),
        ("deepseek_v3", {"scoring_func": "softmax"}, "key 'scoring_func': found \"softmax\"; allowed \"sigmoid\""),
        ("deepseek_v3", {"kv_lora_rank": 0}, "key 'kv_lora_rank': found 0"),
        ("gpt_oss", {"swiglu_limit": 0}, "key 'swiglu_limit': found 0; allowed a number above 0"),
        ("gpt_oss", {"experts_per_token": 3}, "key 'experts_per_token': found 3; allowed 2"),
        ("gpt_oss", {"hidden_act": "gelu"}, "key 'hidden_act': found \"gelu\"; allowed \"silu\""),
        ("mixtral", {"num_experts_per_tok": 9}, "key 'num_experts_per_tok': found 9; allowed .* from 1 to 4"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "key 'scale_attn_by_inverse_layer_idx': found true"),
        ("bert", {"position_embedding_type": "relative_key"}, "key 'position_embedding_type': found"),
        ("dit", {"patch_size": 3}, "key 'patch_size': found 3; allowed a divisor of 8, input_size"),
        ("dit", {"num_heads": 5}, "key 'num_heads': found 5; allowed a divisor of 64"),
        ("dit", {"mlp_ratio": 0}, "key 'mlp_ratio': found 0; allowed a number above 0"),
        ("llava", {"image_seq_length": 5}, "key 'image_seq_length': found 5; allowed 4: one row for each patch"),
        ("llava", {"vision_feature_layer": -4}, "key 'vision_feature_layer': found -4; allowed .* from -3 to 2"),
        ("llava", {"text_config": {"model_type": "qwen2"}}, "key 'text_config.model_type': found \"qwen2\""),
        ("llava", {"vision_config": {"hidden_size": 64}}, "key 'vision_config.num_attention_heads' is missing"),
        ("dit", {"mlp_ratio": 0.001}, "key 'mlp_ratio': found 0.001; allowed a number that makes one or more of 64"),
        ("dit", {"class_dropout_prob": 2}, "key 'class_dropout_prob': found 2; allowed a number above 0, at most 1"),
        ("vit", {"patch_size": 7}, "key 'patch_size': found 7; allowed a divisor of 32"),
        ("swin", {"patch_size": 3}, "key 'patch_size': found 3; allowed a divisor of 44, image_size"),
        ("swin", {"window_size": 7}, "key 'window_size': found 7; allowed at most 6: the smallest stage has so many"),
        ("swin", {"window_size": 65}, "key 'window_size': found 65; allowed a whole number from 1 to 64"),
        ("swin", {"num_heads": [3, 5]}, r"key 'num_heads': found \[3, 5\]; allowed divisors of 12, embed_dim"),
        ("swin", {"depths": []}, r"key 'depths': found \[\]; allowed blocks of 1 to 8 stages"),
        ("swin", {"hidden_size": 12}, "key 'hidden_size': found 12; allowed 24: embed_dim doubles"),
        ("swin", {"architectures": ["SwinModel"]}, "key 'architectures': .*ends in ForImageClassification"),
        ("whisper", {"scale_embedding": True}, "key 'scale_embedding': found true; allowed false"),
        ("t5", {"feed_forward_proj": "gelu"}, "key 'feed_forward_proj': found \"gelu\"; allowed relu, gated-gelu"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, family: str, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=rf"{family}\.json: {says}"):
        load(tmp_path, family, **changes)


@pytest.mark.parametrize(
    ("family", "phase", "asked", "error", "says"),
    [
        (
            "llama",
            ":generate",
            {},
            ConfigError,
            "prefill and a step of decode are several runs; allowed in archsim run",
        ),
        ("llama", ":decod", {}, ConfigError, "has no phase 'decod'.*did you mean 'decode'"),
        ("llama", ":decode", {"tokens": 4}, ConfigError, "4 steps of decode are several runs; .* archsim.generate"),
        ("llama", "", {"width": 4}, ConfigError, "parameter width: found 4; allowed in the phases decode and"),
        ("llama", "", {"prompt": 8, "context": 7}, ModelError, "parameter context: found 7; has no room for 8 rows"),
        ("llama", ":decode", {"prompt": 8, "context": 8}, ModelError, "context: found 8; .*8 older and 1 new rows"),
        ("llama", "", {"logits": "some"}, ConfigError, "parameter logits: found some; allowed all, last"),
        ("llama", "", {"prompt": 0}, ConfigError, "parameter prompt: found 0; allowed 1 to"),
        ("llama", "", {"seq": 8}, ConfigError, "has no parameter 'seq' to set.*; known: batch, prompt, tokens"),
        ("gpt2", "", {"prompt": 33}, ModelError, "parameter prompt: found 33; the model has 32 positions"),
        ("gpt2", "", {"context": 33}, ModelError, "parameter context: found 33; the model has 32 positions"),
        ("gpt2", ":decode", {"width": 33}, ModelError, "parameter width: found 33; the model has 32 positions"),
        ("gpt2", ":decode", {"prompt": 31, "width": 2}, ModelError, "parameter prompt: found 31; the model has 32"),
        ("llama", ":decode", {"context": 4, "width": 5}, ModelError, "parameter context: found 4; has no room for 5"),
        ("llava", ":decode", {"prompt": 3}, ConfigError, "parameter prompt: found 3 older rows; an image takes 4"),
        ("llava", "", {"prompt": 4}, ConfigError, "parameter prompt: found 4; an image takes 4 rows, and words come"),
        ("bert", "", {"prompt": 33}, ConfigError, "parameter prompt: found 33; the model has 32 positions"),
        ("vit", "", {"prompt": 8}, ConfigError, "has no parameter 'prompt'"),
    ],
)
def test_what_may_not_be_asked(
    tmp_path: Path, family: str, phase: str, asked: dict[str, Any], error: type[ArchsimError], says: str
) -> None:
    with pytest.raises(error, match=says):
        load(tmp_path, family, phase, asked)
