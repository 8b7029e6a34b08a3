"""Weights in the formats that they are timed in: their bytes in memory, and the numbers that these stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ConfigError
from archsim.facts.number_codes import decode, encode, in_bytes
from archsim.facts.number_formats import ElementFormat, element_format
from archsim.graph.numeric.contents import contents, from_memory, to_memory
from archsim.ir.workload import Tensor, Workload
from archsim.lab.verify.numbered import NumberedModel
from archsim.ops.quantize_linear import spread

Array = npt.NDArray[Any]
SCALE = ".scale"


@dataclass(frozen=True)
class HeldWeights:
    """``stored``: rows of bytes by tensor, scales too, in memory order; ``rounded``: the numbers of the model's
    constants, by name, which a reference is to compute with where they are not the model's own; ``kinds``: the formats,
    in words, '' where all are plain."""

    stored: Mapping[str, Array]
    rounded: Mapping[str, Array]
    kinds: str


def held_weights(model: NumberedModel, timed: Workload) -> HeldWeights:
    """The weights of a model that are ``timed`` in blocks or in small floats. Raises ConfigError for those that have no
    scale, and for those into which others are folded, whose rounding the model does not have."""
    stored: dict[str, Array] = {}
    rounded: dict[str, Array] = {}
    kinds: dict[str, None] = {}
    for name, held in model.lowered.contents.items():
        text = timed.tensors[name].format
        wanted = element_format(text) if text else None
        if wanted is None or (wanted.is_plain and not wanted.element.startswith("fp8")):
            continue
        if not wanted.block and "int" in wanted.element:
            raise ConfigError(f"verify: '{name}' is {wanted}, which has no scale; allowed blocks such as {wanted}/128")
        numbers, own = contents(held, model.graph, model.constants), np.asarray(model.constants[held.value])
        if numbers.shape != own.shape or not np.array_equal(numbers, own):
            raise ConfigError(
                f"verify: '{name}' is {wanted} with '{held.value}' and others folded into it; allowed weights that are "
                "stored as the model has them"
            )
        tensor = model.lowered.workload.tensors[name]
        rows = to_memory(tensor, numbers)
        own_bytes = _own_bytes(model, held.value, tensor, wanted)
        elements, scales = own_bytes or encode(rows, wanted)
        if not wanted.is_plain:
            stored |= {name: elements} | ({f"{name}{SCALE}": scales} if wanted.block else {})
        if own_bytes is None:
            kept = decode(elements, scales, wanted, rows.shape[-1])
            rounded[held.value] = from_memory(tensor, kept, own.shape).astype(np.float32)
        kinds[str(wanted)] = None
    return HeldWeights(stored, rounded, "/".join(kinds))


def _own_bytes(model: NumberedModel, value: str, tensor: Tensor, wanted: ElementFormat) -> tuple[Array, Array] | None:
    """The elements and scales that the model's file has for a value, as bytes; None where it has none, is timed in
    another format, or is read in an order in which blocks of the file are none."""
    makers = [node for node in model.graph.folded if value in node.outputs and node.op == "DequantizeLinear"]
    if not makers or model.graph.values[value].format != str(wanted):
        return None
    numbers, *shared = [model.constants[name] for name in makers[0].inputs]
    elements, *spreads = [
        to_memory(tensor, np.broadcast_to(np.asarray(each, np.float64), numbers.shape))
        for each in (numbers, *spread(makers[0], numbers.shape, *shared))
    ]
    row = elements.shape[-1]
    scale, zero = (each[..., :: wanted.block] for each in spreads)
    whole = [np.repeat(each, wanted.block, axis=-1)[..., :row] for each in (scale, zero)]
    if not all(map(np.array_equal, whole, spreads)):
        return None
    return in_bytes(elements, scale, zero, wanted)
