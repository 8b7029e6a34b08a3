"""Models that a config.json describes: the families of all rooms by ``model_type``, and the graph of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from archsim.base.errors import ConfigError
from archsim.frontend.configs.asked import ParameterValue
from archsim.frontend.configs.fields import read_fields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.configs.quantisation import weight_formats
from archsim.frontend.convolutional.families import FAMILIES as CONVOLUTIONAL
from archsim.frontend.decode_steps import DecodeSteps
from archsim.frontend.recommendation.families import FAMILIES as RECOMMENDATION
from archsim.frontend.transformers.families import ENCODER_DECODERS, WriteTransformer
from archsim.frontend.transformers.families import FAMILIES as TRANSFORMERS
from archsim.frontend.transformers.run_shape import GENERATE, AskedShape
from archsim.ir.graph import Graph

FAMILIES: Mapping[str, WriteTransformer] = {**TRANSFORMERS, **CONVOLUTIONAL, **RECOMMENDATION}


def read_model(
    path: Path, name: str, parameters: Mapping[str, ParameterValue], batch: int | None = None, phase: str = ""
) -> Graph:
    """The graph of the model that a config.json describes, for one run of it: see ``run_shape``.

    Raises ModelError that names file and key for what is missing, of another type or not known; ConfigError for
    parameters and phases that the model has not, and for those of several runs.
    """
    graph, asked = _written(path, parameters, batch, phase)
    if asked.steps is not None:
        what = f"{asked.steps.tokens} steps of decode" if asked.steps.tokens > 1 else "a step of decode"
        behind = "prefill and " if asked.steps.with_prefill else ""
        raise ConfigError(
            f"{path}: {behind}{what} are several runs; allowed in archsim run and archsim.generate; elsewhere name one "
            "phase, without tokens"
        )
    return graph.done(name)


def steps(path: Path, parameters: Mapping[str, ParameterValue], batch: int | None, phase: str) -> DecodeSteps | None:
    """The runs that are asked of a model where these are several; None for one. Raises as ``read_model``."""
    if phase != GENERATE and "tokens" not in parameters:
        return None
    return _written(path, parameters, batch, phase)[1].steps


def _written(
    path: Path, parameters: Mapping[str, ParameterValue], batch: int | None, phase: str
) -> tuple[ModuleGraph, AskedShape]:
    """The graph of a run, the first of several."""
    fields, asked = read_fields(path), AskedShape(str(path), parameters, batch, phase)
    graph = ModuleGraph(weight_formats(fields))
    family = fields.word("model_type", None, sorted(FAMILIES))
    fields.of_a_model(family in ENCODER_DECODERS)
    FAMILIES[family](graph, fields, asked)
    fields.finish()
    return graph, asked


def describe(path: Path) -> str:
    """The ``description`` of a file, or its family."""
    fields = read_fields(path)
    return fields.text("description", fields.text("model_type", "no model that is known"))
