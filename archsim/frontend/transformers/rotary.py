"""Rotary position embedding: the frequencies that a config states, and the tables of cosines and sines that are stored.

Frequency i of a head of D elements is theta ** (-2 i / D) (Su et al., "RoFormer", 2021), which some models change:
linear: divided by a factor (Chen et al., "Extending Context Window of Large Language Models via Positional
Interpolation", 2023); llama3: long waves divided, short ones kept, those between blended (Llama 3.1's reference code);
yarn: a ramp between the dims of two numbers of turns, and a factor on the tables (Peng et al., "YaRN", 2023).
Tables are computed beforehand by nodes that fold, so that a run reads the rows of its positions and computes none.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log, pi

import numpy as np

from archsim.frontend.configs.fields import ConfigFields
from archsim.frontend.configs.module_graph import ModuleGraph
from archsim.frontend.transformers.run_shape import RunShape
from archsim.ir.graph import Array

TYPES = ("default", "linear", "llama3", "yarn")


@dataclass(frozen=True, slots=True)
class RotaryFrequencies:
    """One of ``inverse`` for each pair of a head's elements; ``factor``: of the tables."""

    inverse: Array
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class RotaryTables:
    """Values with the cosines and the sines of the rows of a run: (1, 1, rows, pairs)."""

    cos: str
    sin: str


def read_frequencies(
    fields: ConfigFields, width: int, default: float = 10000.0, key: str = "head_dim"
) -> RotaryFrequencies:
    """Of ``width`` elements, which ``key`` states, from rope_theta (``default``: the family's) and rope_scaling, or
    rope_parameters as newer files have them."""
    check_width(fields, width, key)
    stated = scaling_fields(fields)
    source = stated if stated is not None and stated.has("rope_theta") else fields
    theta = source.real("rope_theta", default)
    if stated is None:
        return plain_frequencies(theta, width)
    return stated_frequencies(stated, source, theta, width)


def check_width(fields: ConfigFields, width: int, key: str = "head_dim") -> None:
    """Refuse an odd number of elements, which ``key`` states."""
    if width % 2:
        fields.fail(key, f"is {width}; allowed even numbers, since pairs are rotated")


def plain_frequencies(theta: float, width: int) -> RotaryFrequencies:
    """Of heads of ``width`` elements, unscaled."""
    return RotaryFrequencies(theta ** (-np.arange(0, width, 2, dtype=np.float64) / width))


def scaling_fields(fields: ConfigFields) -> ConfigFields | None:
    """The mapping in which a file says how frequencies are scaled; None for none."""
    key = next((key for key in ("rope_parameters", "rope_scaling") if fields.has(key)), "")
    return fields.inner(key) if key else None


def stated_frequencies(stated: ConfigFields, source: ConfigFields, theta: float, width: int) -> RotaryFrequencies:
    """As ``stated`` scales those of ``theta``, which is in ``source``."""
    plain = plain_frequencies(theta, width).inverse
    named = "rope_type" if stated.has("rope_type") or not stated.has("type") else "type"
    kind = stated.word(named, "default", TYPES)
    stated.word("type", kind, (kind,))  # which older files call it, and some files beside the newer name
    stated.only("partial_rotary_factor", 1.0, "heads are rotated whole")
    if kind == "yarn":
        source.real("rope_theta", 10000.0, low=1.0)
    found = _scaled(kind, stated, plain, theta, width)
    stated.finish()
    return found


def _scaled(kind: str, stated: ConfigFields, plain: Array, theta: float, width: int) -> RotaryFrequencies:
    if kind == "default":
        return RotaryFrequencies(plain)
    factor = stated.real("factor")
    if kind == "linear":
        return RotaryFrequencies(plain / factor)
    if kind == "llama3":
        return RotaryFrequencies(_llama3(stated, plain, factor))
    return _yarn(stated, plain, factor, theta, width)


def _llama3(stated: ConfigFields, plain: Array, factor: float) -> Array:
    low, high = stated.real("low_freq_factor"), stated.real("high_freq_factor")
    if high <= low:
        stated.wrong("high_freq_factor", f"a number above low_freq_factor, {low:g}")
    turns = stated.size("original_max_position_embeddings") * plain / (2 * pi)
    share = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return np.asarray((1 - share) * plain / factor + share * plain)


def _yarn(stated: ConfigFields, plain: Array, factor: float, theta: float, width: int) -> RotaryFrequencies:
    known = stated.size("original_max_position_embeddings")
    ends = [
        width * log(known / (stated.real(key, default) * 2 * pi)) / (2 * log(theta))
        for key, default in (("beta_fast", 32.0), ("beta_slow", 1.0))
    ]
    if stated.flag("truncate", True):
        ends = [float(floor(ends[0])), float(-floor(-ends[1]))]
    low, high = max(ends[0], 0.0), min(ends[1], width - 1.0)
    ramp = np.clip((np.arange(width // 2) - low) / max(high - low, 1e-3), 0.0, 1.0)
    return RotaryFrequencies(plain / factor * ramp + plain * (1 - ramp), _yarn_factor(stated, factor))


def _yarn_factor(stated: ConfigFields, factor: float) -> float:
    """What the tables are multiplied by."""

    def grown(share: float) -> float:
        return 0.1 * share * log(factor) + 1.0 if factor > 1 else 1.0

    named = ("mscale", "mscale_all_dim")
    shares = [stated.real(key) for key in named if stated.has(key) and not stated.is_zero(key)]
    default = grown(shares[0]) / grown(shares[1]) if len(shares) > 1 else grown(1.0)
    return stated.real("attention_factor", default)


def write_tables(graph: ModuleGraph, name: str, frequencies: RotaryFrequencies, run: RunShape) -> RotaryTables:
    """The tables of the positions past ... past + rows - 1, by nodes of constants alone."""
    with graph.module(name):
        rows = np.arange(run.past, run.past + run.rows, dtype=np.float64).reshape(1, 1, -1, 1)
        positions = graph.numbers("positions", rows, "float32")
        inverse = graph.numbers("inv_freq", frequencies.inverse.reshape(1, 1, 1, -1), "float32")
        angles = graph.add("Mul", "freqs", positions, inverse)
        tables = [graph.add("Cos", "cos", angles), graph.add("Sin", "sin", angles)]
        if frequencies.factor != 1.0:
            factor = graph.numbers("attention_scaling", frequencies.factor, "float32")
            tables = [graph.add("Mul", f"scaled_{at}", each, factor) for at, each in enumerate(tables)]
    return RotaryTables(*tables)


def rotate(graph: ModuleGraph, name: str, source: str, tables: RotaryTables) -> str:
    """(batch, heads, rows, elements) with the halves of each head rotated by its position."""
    return graph.add("RotaryEmbedding", name, source, tables.cos, tables.sin)
