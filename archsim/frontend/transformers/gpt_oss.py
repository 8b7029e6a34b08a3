"""gpt-oss: attention with a sink for each head, experts with biases whose gates are clipped.

OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card", 2025. Of a token's scores the largest are taken before the softmax.
"""

from __future__ import annotations

from dataclasses import replace

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers.decoder import read_windows, write_decoder
from archsim.frontend.transformers.experts import ExpertsForm, WriteExpert, read_counts
from archsim.frontend.transformers.llama import read_form
from archsim.frontend.transformers.mixtral import in_module
from archsim.frontend.transformers.routers import softmax_of_chosen
from archsim.frontend.transformers.run_shape import AskedShape

SILENT = {"rope_theta": 150000.0, "head_dim": 64, "rms_norm_eps": 1e-5}  # what the family has where a file is silent
YARN = {
    "rope_scaling": {
        "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
        "original_max_position_embeddings": 4096,
    }
}  # fmt: skip


def gpt_oss(graph: ModuleGraph, fields: ConfigFields, asked: AskedShape) -> None:
    """Every other layer slides, the first one too."""
    fields.assume(SILENT if fields.has("rope_scaling") or fields.has("rope_parameters") else {**SILENT, **YARN})
    form = read_form(fields)
    bias = fields.flag("attention_bias", True)
    slides = tuple(index % 2 == 0 for index in range(form.layers))
    count, chosen = read_counts(fields, "num_local_experts")
    fields.only("experts_per_token", chosen, "num_experts_per_tok says so")
    fields.only("hidden_act", "silu", "gates are clipped and multiplied by a sigmoid")
    fields.has("initial_context_length")  # of a scaling that rope_scaling states
    expert = _clipped_expert(
        fields.size("intermediate_size"), fields.real("swiglu_alpha", 1.702), fields.real("swiglu_limit", 7.0)
    )
    block = in_module("mlp", ExpertsForm(count, chosen, expert, softmax_of_chosen, router="router", router_bias=True))
    windows = read_windows(fields, form.layers, slides, needed=True)
    found = replace(form, input_bias=bias, output_bias=bias, sinks=True, windows=windows, feed_forward=block)
    write_decoder(graph, found, asked)


def _clipped_expert(inner: int, alpha: float, limit: float) -> WriteExpert:
    """down((up + 1) * gate * sigmoid(alpha * gate)), with gate and up by one projection, and within a limit."""

    def write(graph: ModuleGraph, rows: str) -> str:
        both = graph.linear("gate_up_proj", rows, 2 * inner, bias=True)
        gate, up = (graph.cut(part, both, 1, start, start + inner) for part, start in (("gate", 0), ("up", inner)))
        top, bottom = (
            graph.numbers(f"limit.{name}", sign * limit, "float32") for name, sign in (("top", 1), ("low", -1))
        )
        gated = graph.add("Swish", "act_fn", graph.add("Clip", "gate.clipped", gate, "", top), alpha=alpha)
        one = graph.numbers("up.one", 1.0, "float32")
        more = graph.add("Add", "up.and_one", graph.add("Clip", "up.clipped", up, bottom, top), one)
        return graph.linear(
            "down_proj", graph.add("Mul", "act_fn.gated", gated, more), graph.shape(rows)[-1], bias=True
        )

    return write
