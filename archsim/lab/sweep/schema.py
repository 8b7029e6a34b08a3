"""The grammar of sweep files: keys and what they may be, among them durations up to hours and sizes of memory.

What the keys mean together is judged in ``form`` and ``resolve``.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from archsim.base import units
from archsim.base.errors import ConfigError
from archsim.lab.explore import catalogue
from archsim.lab.kit.options import OBJECTIVES
from archsim.lab.scenario.schema import Batch, Model, Parameters, dtypes
from archsim.spec import json_forms as j
from archsim.spec import value_domains as d
from archsim.spec.schema_base import Section, Short

DURATION = units.QuantityKind(
    "time", "ps", {**units.TIME.units, "min": 60 * units.TIME.units["s"], "h": 3600 * units.TIME.units["s"]}
)


SWEEP = "archsim.sweep/1"
FIDELITIES = ("cost", "fast", "exact")
SEEDS = 2**32  # from 0, as the generators of random numbers take them
GOAL = re.compile(r"\s*(?:(min|max)\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*")
CONSTRAINT = re.compile(r"[a-z_][a-z0-9_.]*\s*(<=|>=|<|>|==)\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?")
_VALUE = j.any_of({"type": "number"}, {"type": "string"}, {"type": "boolean"}, {"type": "array"})
_ENDS = j.listed(j.any_of({"type": "number"}, {"type": "string"}), 2, 2)
_AXIS = j.any_of(
    j.listed(_VALUE, 1),
    {"type": "object", "required": ["log2"], "properties": {"log2": _ENDS}, "additionalProperties": False},
    {
        "type": "object",
        "required": ["range", "steps"],
        "properties": {"range": _ENDS, "steps": j.whole(2, 10_000)},
        "additionalProperties": False,
    },
)


def _axis() -> d.Domain:
    """Values of an axis, read with their places by ``axis.axis``."""
    return d.Domain(
        "a list of values, {log2: [low, high]} or {range: [low, high], steps: n}", lambda value: value, _AXIS
    )


def _written(form: re.Pattern[str], allowed: str, pattern: str) -> d.Domain:
    """Text of a form."""

    def convert(value: object) -> str:
        if not isinstance(value, str) or not form.fullmatch(value.strip()):
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return value.strip()

    return d.Domain(allowed, convert, j.text(pattern))


def _search_method() -> d.Domain:
    """One of the methods that are there when the file is read: a plug-in's too."""

    def convert(value: object) -> object:
        return d.choice(*catalogue.names()).convert(value)

    return d.Domain("the name of a method: grid, random, qmc, nsga2, tpe, or a plug-in's", convert, j.text())


class Asked(Section):
    """One of `models`: a name, or a mapping."""

    model: Model = Field(description="name of a model or scenario, or a path relative to this file")
    batch: Batch | None = Field(None, description="samples of a run; as the model states")
    parameters: Parameters = Field({}, description="parameters of the model")


class Search(Section):
    """`search`: how points are chosen."""

    method: Annotated[str, _search_method()] = Field(description="grid: all of them; others choose `trials` of them")
    trials: Annotated[int, d.count(1, 10**9)] | None = Field(None, description="points that are chosen")
    seed: Annotated[int, d.count(0, SEEDS - 1)] = Field(0, description="of what is drawn at random")


class Limits(Section):
    """`limits` of a point."""

    time: Annotated[Fraction, d.amount(DURATION, "0 s", "1000 h", positive=True)] | None = Field(
        None, description="after which a point is given up"
    )
    memory: Annotated[int, d.whole(units.SIZE, "1 B", "64 TiB")] | None = Field(
        None, description="above which a point is given up"
    )


class SweepSection(Section):
    """Top level of a sweep file."""

    schema_: Annotated[str, d.choice(SWEEP)] = Field(SWEEP, alias="schema", description="version of this grammar")
    name: Annotated[str, d.file_name()] = Field(description="name of the sweep, and of its folder without --out")
    chip: Annotated[str, d.text("the name of a chip, or a path relative to this file")] = Field(
        description="chip that the axes change"
    )
    models: list[Annotated[Asked, Short("model", d.text())]] = Field(description="models or scenarios, each once")
    axes: dict[str, Annotated[Any, _axis()]] = Field(description="key path of the chip to its values")
    zip: list[Annotated[tuple[str, ...], d.texts()]] = Field([], description="axes that move together")
    constraints: list[
        Annotated[str, _written(CONSTRAINT, "a comparison such as 'area_mm2 <= 100'", rf"\s*{CONSTRAINT.pattern}\s*")]
    ] = Field([], description="comparisons that points must meet")
    objectives: list[
        Annotated[str, _written(GOAL, "a number of the result such as latency_s, or 'max utilization'", GOAL.pattern)]
    ] = Field(description="numbers of the result that are to be small, or large with `max`")
    fidelity: Annotated[str, d.choice(*FIDELITIES)] = Field(
        "fast", description="cost: the analytic model alone, within its band; the front is run again, exact"
    )
    search: Search | None = Field(None, description="how points are chosen; all of them unless stated")
    limits: Limits | None = Field(None, description="of one point")
    objective: Annotated[str, d.choice(*OBJECTIVES)] = Field("latency", description="what the mapping minimises")
    dtype: Annotated[str, dtypes()] | None = Field(None, description="number formats of all models; the chip's")
