"""Decoders whose feed-forward blocks are mixtures of experts: Mixtral, Qwen 2 MoE and Qwen 3 MoE."""

from __future__ import annotations

from dataclasses import replace

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers import feed_forward
from archsim.frontend.transformers.decoder import (
    DecoderForm,
    WriteFeedForward,
    gated_block,
    read_activation,
    read_windows,
    write_decoder,
)
from archsim.frontend.transformers.experts import ExpertsForm, WriteExpert, experts, gated_expert, read_counts
from archsim.frontend.transformers.llama import qwen3_form, qwen_windows, read_form
from archsim.frontend.transformers.routers import softmax_of_all
from archsim.frontend.transformers.run_shape import AskedShape

MIXTRAL = ("w1", "act_fn", "w3", "w2")


def mixtral(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Every layer has experts."""
    form: DecoderForm = read_form(fields)
    count, chosen = read_counts(fields, "num_local_experts")
    expert = gated_expert(fields.size("intermediate_size"), read_activation(fields, "silu"), MIXTRAL)
    block = in_module("block_sparse_moe", ExpertsForm(count, chosen, expert, softmax_of_all()))
    windows = read_windows(fields, form.layers, (True,) * form.layers)
    write_decoder(graph, replace(form, feed_forward=block, windows=windows), asked)


def qwen2_moe(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Beside its experts a layer has one that every token goes through, weighed by a sigmoid. Every other layer below
    max_window_layers slides, where any does."""
    form = replace(read_form(fields), input_bias=fields.flag("qkv_bias", True))
    windows = qwen_windows(fields, form.layers, lambda index, most: index % 2 == 0 and index < most)
    form = replace(form, windows=windows)
    inner = fields.size("shared_expert_intermediate_size")
    shared = _weighed_expert(inner, read_activation(fields, "silu"))
    write_decoder(graph, replace(form, feed_forward=_sparse_layers(fields, shared)), asked)


def qwen3_moe(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """All layers slide, where any does."""
    form = qwen3_form(fields, None)
    windows = qwen_windows(fields, form.layers, lambda index, most: True)
    write_decoder(graph, replace(form, windows=windows, feed_forward=_sparse_layers(fields, None)), asked)


def _sparse_layers(fields: ConfigFields, shared: WriteExpert | None) -> WriteFeedForward:
    """Experts every decoder_sparse_step, but for layers of mlp_only_layers; ``shared``: what is added to theirs."""
    count, chosen = read_counts(fields, _experts_key(fields))
    function = read_activation(fields, "silu")
    expert = gated_expert(fields.size("moe_intermediate_size"), function)
    normalised = fields.flag("norm_topk_prob", False)
    sparse = in_module("mlp", ExpertsForm(count, chosen, expert, softmax_of_all(normalised), shared))
    dense = gated_block(fields.size("intermediate_size"), function)
    every = fields.size("decoder_sparse_step", 1)
    plain = fields.sizes("mlp_only_layers") if fields.has("mlp_only_layers") else ()

    def block(graph: ModuleGraph, value: str, index: int) -> str:
        is_sparse = index not in plain and (index + 1) % every == 0
        return (sparse if is_sparse else dense)(graph, value, index)

    return block


def _weighed_expert(inner: int, function: str) -> WriteExpert:
    def write(graph: ModuleGraph, rows: str) -> str:
        made = feed_forward.gated(graph, "shared_expert", rows, inner, function)
        share = graph.activation("shared_expert_gate.sigmoid", graph.linear("shared_expert_gate", rows, 1), "sigmoid")
        return graph.add("Mul", "shared_expert.weighed", made, share)

    return write


def _experts_key(fields: ConfigFields) -> str:
    """num_experts; num_local_experts, as newer files have it, where it is alone."""
    if not fields.has("num_experts"):
        return "num_local_experts" if fields.has("num_local_experts") else "num_experts"
    fields.only("num_local_experts", fields.size("num_experts"), "num_experts says so")
    return "num_experts"


def in_module(name: str, form: ExpertsForm) -> WriteFeedForward:
    """A block of experts, called ``name``."""

    def block(graph: ModuleGraph, value: str, _: int) -> str:
        with graph.module(name):
            return experts(graph, value, form)

    return block
