"""A model with numbers to verify it by, and what is asked of the verification."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from archsim.base.errors import ConfigError, ModelError, nearest
from archsim.frontend import catalogue
from archsim.frontend.catalogue import NativeRuntime
from archsim.frontend.load import find_model
from archsim.graph.lowering.lower import LoweredModel
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.ir.graph import Graph
from archsim.lab.run.job import Job, Progress, imported, quiet

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class VerifyOptions:
    """What to verify. ``layers``: names to compare (all when empty); ``numbers``: both | float | int.

    ``given``: inputs and weights by name, in place of drawn ones; ``against``: the model that a Program text computes.
    """

    job: Job
    layers: tuple[str, ...] = ()
    interleavings: int = 1
    numbers: str = "both"
    given: Mapping[str, Array] = field(default_factory=dict)
    against: str = ""


@dataclass(frozen=True)
class NumberedModel:
    """A model with the numbers of its inputs and constants."""

    lowered: LoweredModel
    graph: Graph
    constants: Constants
    inputs: Mapping[str, Array]
    path: Path
    seed: int

    @property
    def weights(self) -> str:
        """Where its constants come from, in words."""
        own = f"drawn from seed {self.seed}" if self.constants.drawn else "the model's own"
        return f"given and {own}" if self.constants.given else own

    @property
    def held(self) -> dict[str, Array]:
        """Constants that lie in memory as they are, by value."""
        names = self.lowered.values.values()
        return {name: self.constants[name] for name in names if self.graph.values[name].constant}

    @property
    def native(self) -> NativeRuntime | None:
        """What runs the model's file elsewhere, such as ONNX Runtime; None where nothing does."""
        return catalogue.native(self.path)

    @property
    def is_narrow(self) -> bool:
        """Whether the file computes in fewer bits than single precision, so that its runtime rounds more than we do."""
        nodes = [inner for node in self.graph.nodes for inner in (node, *node.fused) if inner.op == "Cast"]
        kinds = [value.dtype for value in self.graph.values.values()] + [node.text("to", "") for node in nodes]
        return any(kind in ("float16", "bfloat16") for kind in kinds)

    @property
    def is_quantised(self) -> bool:
        """Whether the file itself rounds activations to elements."""
        return any(self.graph.formats.get(value) is not None for value in self.lowered.values.values())


def load(asked: VerifyOptions, name: str, say: Progress = quiet) -> NumberedModel:
    """The model with numbers: those of its file, or drawn ones where the file only stands in for some."""
    say("reading the model")
    path = find_model(name).file
    job = asked.job
    lowered = imported(replace(job, model=name))
    graph = lowered.graph
    if graph is None:
        raise ModelError(f"{path.name}: states einsums without the operators they come from; nothing to compare with")
    on_host = [layer.name for layer in lowered.workload.layers if layer.kind == "host"]
    if on_host:
        raise ModelError(f"layer '{on_host[0]}' runs on the host, which is not computed; verify a model without such")
    refuse_unknown(asked.given, [n for n, value in graph.values.items() if value.constant or n in graph.inputs])
    given = {name: array for name, array in asked.given.items() if name not in graph.inputs}
    constants = Constants(graph, catalogue.stored(path), asked.job.seed, given)
    return NumberedModel(lowered, graph, constants, inputs_of(graph, asked.job.seed, asked.given), path, asked.job.seed)


def refuse_unknown(given: Mapping[str, Array], known: Collection[str]) -> None:
    """Raise ConfigError for the first given name that is not known."""
    for name in given:
        if name not in known:
            raise ConfigError(f"--inputs: there is no input or constant '{name}'{nearest(name, known)}")


def chosen_layers(lowered: LoweredModel, names: tuple[str, ...]) -> frozenset[str]:
    """The layers to compare, by name (none: all); raises ConfigError for an unknown one."""
    known = [layer.name for layer in lowered.workload.layers]
    for name in names:
        if name not in known:
            raise ConfigError(f"--layers: the model has no layer '{name}'{nearest(name, known)}")
    return frozenset(names)
