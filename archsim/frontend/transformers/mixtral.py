"""Decoders whose feed-forward blocks are mixtures of experts: Mixtral and Qwen 3 MoE."""

from __future__ import annotations

from dataclasses import replace

from archsim.frontend.transformers.decoder import (
    MOST_LAYERS,
    DecoderForm,
    WriteFeedForward,
    gated_block,
    read_activation,
    read_windows,
    write_decoder,
)
from archsim.frontend.transformers.experts import ExpertsForm, experts, gated_expert, read_counts
from archsim.frontend.transformers.fields import ConfigFields
from archsim.frontend.transformers.llama import qwen3_form, read_form
from archsim.frontend.transformers.module_graph import ModuleGraph
from archsim.frontend.transformers.run_shape import AskedShape

MIXTRAL = ("w1", "act_fn", "w3", "w2")


def mixtral(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Every layer has experts."""
    form: DecoderForm = read_form(fields)
    count, chosen = read_counts(fields, "num_local_experts")
    expert = gated_expert(fields.size("intermediate_size"), read_activation(fields, "silu"), MIXTRAL)
    block = _in_module("block_sparse_moe", ExpertsForm(count, chosen, expert))
    windows = read_windows(fields, form.layers, (True,) * form.layers)
    write_decoder(graph, replace(form, feed_forward=block, windows=windows), asked)


def qwen3_moe(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Layers have experts every decoder_sparse_step, but for those of mlp_only_layers."""
    form = qwen3_form(fields, fields.size("num_hidden_layers", high=MOST_LAYERS), None)
    count, chosen = read_counts(fields, _experts_key(fields))
    function = read_activation(fields, "silu")
    normalised = fields.flag("norm_topk_prob", False)
    expert = gated_expert(fields.size("moe_intermediate_size"), function)
    sparse = _in_module("mlp", ExpertsForm(count, chosen, expert, normalised=normalised))
    dense = gated_block(fields.size("intermediate_size"), function)
    every = fields.size("decoder_sparse_step", 1)
    plain = fields.sizes("mlp_only_layers") if fields.has("mlp_only_layers") else ()

    def block(graph: ModuleGraph, value: str, index: int) -> str:
        is_sparse = index not in plain and (index + 1) % every == 0
        return (sparse if is_sparse else dense)(graph, value, index)

    write_decoder(graph, replace(form, feed_forward=block), asked)


def _experts_key(fields: ConfigFields) -> str:
    """num_experts; num_local_experts, as newer files have it, where it is alone."""
    if not fields.has("num_experts"):
        return "num_local_experts" if fields.has("num_local_experts") else "num_experts"
    fields.only("num_local_experts", fields.size("num_experts"), "num_experts says so")
    return "num_experts"


def _in_module(name: str, form: ExpertsForm) -> WriteFeedForward:
    def block(graph: ModuleGraph, value: str, _: int) -> str:
        with graph.module(name):
            return experts(graph, value, form)

    return block
