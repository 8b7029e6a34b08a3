"""DeepSeek V3 and those built like it: latent attention, experts in groups, one of which all tokens go through.

DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024. Layers that predict tokens further on are not run, and not
counted.
"""

from __future__ import annotations

from math import log

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.decoder import (
    MOST_HEADS,
    MOST_LAYERS,
    DecoderForm,
    WriteFeedForward,
    gated_block,
    read_activation,
    write_decoder,
)
from archsim.frontend.transformers.experts import ExpertsForm, gated_expert, read_counts
from archsim.frontend.transformers.latent_attention import LatentForm, latent_attention
from archsim.frontend.transformers.mixtral import in_module
from archsim.frontend.transformers.rotary import read_frequencies, scaling_fields
from archsim.frontend.transformers.routers import sigmoid_in_groups
from archsim.frontend.transformers.run_shape import AskedShape


def deepseek_v3(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Layers from ``first_k_dense_replace`` on have experts."""
    fields.head("ForCausalLM")
    hidden, layers = fields.size("hidden_size"), fields.size("num_hidden_layers", high=MOST_LAYERS)
    latent = _read_latent(fields)
    fields.has("max_position_embeddings")  # where training ended; rotary positions go on
    fields.has("rope_theta")
    further = fields.size("num_nextn_predict_layers", 0, low=0)
    if further:
        graph.warn(f"{further} of num_nextn_predict_layers, which predict tokens further on, are not run")
    form = DecoderForm(
        hidden, layers, latent.heads, latent.heads, latent.rotary,
        vocabulary=fields.size("vocab_size"),
        epsilon=fields.real("rms_norm_eps", 1e-6),
        frequencies=read_frequencies(fields, latent.rotary, key="qk_rope_head_dim"),
        tied=fields.flag("tie_word_embeddings", False),
        feed_forward=_feed_forward(fields),
        windows=(0,) * layers,
        attention=lambda graph, run, value, tables: latent_attention(graph, run, value, tables, latent),
    )  # fmt: skip
    write_decoder(graph, form, asked)


def _read_latent(fields: ConfigFields) -> LatentForm:
    heads = fields.size("num_attention_heads", high=MOST_HEADS)
    fields.only("num_key_value_heads", heads, "each head makes its own of the latents")
    plain, rotary = fields.size("qk_nope_head_dim", 128), fields.size("qk_rope_head_dim", 64)
    fields.only("qk_head_dim", plain + rotary, "qk_nope_head_dim + qk_rope_head_dim")
    fields.only("head_dim", rotary, "what is rotated of a head")
    fields.flag("rope_interleave", True)  # in which order weights are stored; those here are in the order of halves
    return LatentForm(
        heads,
        fields.size("q_lora_rank") if fields.has("q_lora_rank") else 0,
        fields.size("kv_lora_rank", 512),
        plain,
        rotary,
        fields.size("v_head_dim", 128),
        (plain + rotary) ** -0.5 * _longer(fields) ** 2,
        fields.flag("attention_bias", False),
    )


def _longer(fields: ConfigFields) -> float:
    """What yarn multiplies queries and keys by, each, beside the tables."""
    scaling = scaling_fields(fields)
    if scaling is None or not scaling.has("mscale_all_dim") or scaling.is_zero("mscale_all_dim"):
        return 1.0
    factor = scaling.real("factor", 1.0)
    return 0.1 * scaling.real("mscale_all_dim") * log(factor) + 1.0 if factor > 1 else 1.0


def _feed_forward(fields: ConfigFields) -> WriteFeedForward:
    function = read_activation(fields, "silu")
    count, chosen = read_counts(fields, "n_routed_experts")
    groups = fields.size("n_group", 8)
    if groups > 1 and (count % groups or count // groups < 2):
        fields.fail(
            "n_group",
            f"is {groups}; allowed a divisor of {count}, n_routed_experts, with two experts or more in a group",
        )
    kept = fields.size("topk_group", 4, high=groups)
    if chosen > kept * (count // groups):
        fields.wrong("topk_group", f"groups that hold the {chosen} experts of a token")
    fields.only("scoring_func", "sigmoid", "scores are weighed so")
    fields.only("topk_method", "noaux_tc", "experts are chosen with a bias for each")
    fields.only("moe_layer_freq", 1, "every layer behind the first ones has experts")
    router = sigmoid_in_groups(
        groups, kept, fields.flag("norm_topk_prob", True), fields.real("routed_scaling_factor", 2.5)
    )
    inner, shared = fields.size("moe_intermediate_size"), fields.size("n_shared_experts", 1)
    sparse = in_module("mlp", ExpertsForm(
        count, chosen, gated_expert(inner, function), router,
        lambda graph, rows: feed_forward.gated(graph, "shared_experts", rows, shared * inner, function),
    ))  # fmt: skip
    dense = gated_block(fields.size("intermediate_size"), function)
    first = fields.size("first_k_dense_replace", 3, low=0)
    return lambda graph, value, index: (dense if index < first else sparse)(graph, value, index)
