"""The families of transformers by the ``model_type`` of their config.json, and the graph of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from archsim.frontend.transformers import bert, gpt2, llama, mixtral, t5, vit, whisper
from archsim.frontend.transformers.fields import ConfigFields, read_fields
from archsim.frontend.transformers.module_graph import ModuleGraph
from archsim.frontend.transformers.run_shape import AskedShape
from archsim.ir.graph import Graph

ENCODER_DECODERS = ("t5", "whisper")
WriteModel = Callable[[ModuleGraph, ConfigFields, AskedShape], None]

FAMILIES: dict[str, WriteModel] = {
    "bert": bert.bert,
    "gemma": llama.gemma,
    "gemma2": llama.gemma2,
    "gpt2": gpt2.gpt2,
    "llama": llama.llama,
    "mistral": llama.mistral,
    "mixtral": mixtral.mixtral,
    "phi3": llama.phi3,
    "qwen2": llama.qwen2,
    "qwen3": llama.qwen3,
    "qwen3_moe": mixtral.qwen3_moe,
    "t5": t5.t5,
    "vit": vit.vit,
    "whisper": whisper.whisper,
}


def read_model(
    path: Path, name: str, parameters: Mapping[str, int | str], batch: int | None = None, phase: str = ""
) -> Graph:
    """The graph of the model that a config.json describes, for one run of it: see ``run_shape``.

    Raises ModelError that names file and key for what is missing, of another type or not known; ConfigError for
    parameters and phases that the model has not.
    """
    fields, graph = read_fields(path), ModuleGraph()
    family = fields.word("model_type", None, sorted(FAMILIES))
    if fields.has("quantization_config"):
        fields.fail("quantization_config", "is not read yet; remove it to have weights in the chip's own formats")
    fields.only("is_encoder_decoder", family in ENCODER_DECODERS, "the family says so")
    fields.only("is_decoder", False, "the family says which rows see which")
    FAMILIES[family](graph, fields, AskedShape(str(path), parameters, batch, phase))
    fields.finish()
    return graph.done(name)


def describe(path: Path) -> str:
    """The ``description`` of a file, or its family."""
    fields = read_fields(path)
    return fields.text("description", fields.text("model_type", "no transformer model"))
