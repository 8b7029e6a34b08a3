"""The families of transformers by the ``model_type`` of their config.json."""

from __future__ import annotations

from collections.abc import Callable

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers import (
    bert,
    deepseek,
    dit,
    gpt2,
    gpt_oss,
    llama,
    llava,
    mixtral,
    swin,
    t5,
    vit,
    whisper,
)
from archsim.frontend.transformers.run_shape import AskedShape

ENCODER_DECODERS = ("t5", "whisper")
WriteTransformer = Callable[[ModuleGraph, ConfigFields, AskedShape], None]

FAMILIES: dict[str, WriteTransformer] = {
    "bert": bert.bert,
    "deepseek_v3": deepseek.deepseek_v3,
    "dit": dit.dit,
    "gemma": llama.gemma,
    "gemma2": llama.gemma2,
    "gemma3_text": llama.gemma3,
    "gpt2": gpt2.gpt2,
    "gpt_oss": gpt_oss.gpt_oss,
    "llama": llama.llama,
    "llava": llava.llava,
    "mistral": llama.mistral,
    "mixtral": mixtral.mixtral,
    "phi3": llama.phi3,
    "qwen2": llama.qwen2,
    "qwen2_moe": mixtral.qwen2_moe,
    "qwen3": llama.qwen3,
    "qwen3_moe": mixtral.qwen3_moe,
    "swin": swin.swin,
    "t5": t5.t5,
    "vit": vit.vit,
    "whisper": whisper.whisper,
}
