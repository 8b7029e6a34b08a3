"""A sweep file (schema ``archsim.sweep/1``): what it says, judged by its form alone.

name: sram_vs_bandwidth
chip: edge_npu
models: [resnet50, {model: bert_base, batch: 4, parameters: {seq: 128}}]
axes: {l1.size: [1 MiB, 2 MiB], dram.channels: {log2: [1, 8]}, clock: {range: [0.8 GHz, 1.4 GHz], steps: 4}}
zip: [[l1.size, l1.banks]]                       # axes that move together instead of crossing
constraints: ["area_mm2 <= 100"]
objectives: [latency_s, max utilization]         # min unless stated, or of what is better when more
fidelity: cost | fast | exact                    # cost: the analytic model alone; the front is run again, exact
search: {method: grid | random | qmc | nsga2 | tpe, trials: 200, seed: 1}
limits: {time: 10 min, memory: 4 GiB}            # of a point
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from archsim import units
from archsim.errors import ConfigError, nearest
from archsim.ir.forms.fields import Fields, fail, integer_of, text_of
from archsim.lab.explore import catalogue
from archsim.lab.options import OBJECTIVES, Requirement
from archsim.lab.sweep.axis import Axis, axis
from archsim.lab.sweep.quantity import DURATION, PS_PER_S, quantity
from archsim.spec.nodes import Node, parse

SCHEMA = "archsim.sweep/1"
FIDELITIES = ("cost", "fast", "exact")
SEEDS = 2**32  # from 0, as the generators of random numbers take them
MORE_IS_BETTER = (
    "throughput_per_s", "utilization", "utilization_dtype", "slack_min_s", "dram.row_hit_rate",
    "dram.bandwidth_utilization",
)  # fmt: skip
_GOAL = re.compile(r"\s*(?:(min|max)\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*")
_CONSTRAINT = re.compile(r"[a-z_][a-z0-9_.]*\s*(<=|>=|<|>|==)\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Goal:
    """A number of the result that is to be as small, or as large, as possible."""

    key: str
    largest: bool = False

    def __str__(self) -> str:
        return f"{'max' if self.largest else 'min'} {self.key}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A model by name or path; ``batch`` None as it states; ``parameters`` of a workload file."""

    model: str
    batch: int | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What rows call it: ``bert_base(batch=4, seq=128)``."""
        stated = {} if self.batch is None else {"batch": self.batch}
        said = ", ".join(f"{key}={value}" for key, value in (stated | dict(self.parameters)).items())
        return f"{self.model}({said})" if said else self.model


@dataclass(frozen=True, slots=True)
class Search:
    """How points are chosen: all of them (``trials`` 0), or so many by a method."""

    method: str = "grid"
    trials: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one point; None: none."""

    seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a file says. ``zips``: numbers of the axes that move together; ``objective``: of the mapping search."""

    name: str
    chip: str
    models: tuple[Asked, ...]
    axes: tuple[Axis, ...]
    zips: tuple[tuple[int, ...], ...] = ()
    constraints: tuple[Requirement, ...] = ()
    goals: tuple[Goal, ...] = ()
    fidelity: str = "fast"
    search: Search = field(default_factory=Search)
    limits: Limits = field(default_factory=Limits)
    objective: str = "latency"
    dtype: str | None = None
    marks: Mapping[str, str] = field(default_factory=dict, compare=False)  # axis -> file:line:column


def read(text: str, path: str = "<text>") -> Sweep:
    """The sweep of a file's text; raises ConfigError with file:line:column, key path and what is allowed."""
    fields = Fields(parse(text, path), "")
    if fields.has("schema"):
        fields.text("schema", (SCHEMA,))
    name, chip = fields.text("name"), fields.text("chip")
    models = tuple(_model(node, at) for node, at in _some(fields, "models"))
    goals = tuple(_goal(node, at) for node, at in _some(fields, "objectives"))
    _differ(fields, "models", [asked.label for asked in models])
    _differ(fields, "objectives", [goal.key for goal in goals])
    entries = fields.entries("axes")
    if not entries:
        raise ConfigError(f"{fields.node.mark}: axes: missing; allowed key paths of the chip with their values")
    axes = tuple(axis(key, node, at) for key, node, at in entries)
    found = Sweep(
        name,
        chip,
        models,
        axes,
        _zips(fields, axes),
        tuple(_constraint(node, at) for node, at in fields.items("constraints")),
        goals,
        fields.text("fidelity", FIDELITIES) if fields.has("fidelity") else "fast",
        _search(Fields(fields.child("search"), "search")) if fields.has("search") else Search(),
        _limits(Fields(fields.child("limits"), "limits")) if fields.has("limits") else Limits(),
        fields.text("objective", OBJECTIVES) if fields.has("objective") else "latency",
        fields.text("dtype") if fields.has("dtype") else None,
        {key: str(node.mark) for key, node, _ in entries},
    )
    fields.end()
    return found


def _some(fields: Fields, key: str) -> list[tuple[Node, str]]:
    """A list of one or more."""
    found = fields.items(key)
    if not found:
        raise ConfigError(f"{fields.node.mark}: {key}: missing; allowed a list of one or more")
    return found


def _differ(fields: Fields, key: str, names: list[str]) -> None:
    """Each item of a list is another one."""
    for number, (node, at) in enumerate(fields.items(key)):
        if names[number] in names[:number]:
            fail(node, at, names[number], "each once")


def _model(node: Node, at: str) -> Asked:
    if isinstance(node.value, str):
        return Asked(node.value)
    fields = Fields(node, at)
    batch = fields.integer("batch") if fields.has("batch") else None
    parameters = {key: integer_of(value, place) for key, value, place in fields.entries("parameters")}
    found = Asked(fields.text("model"), batch, parameters)
    fields.end()
    return found


def goal_of(text: str) -> Goal:
    """``latency_s``, ``max utilization``; raises ConfigError for another form."""
    match = _GOAL.fullmatch(text)
    if match is None:
        raise ConfigError(f"found {text!r}; allowed a number of the result such as latency_s, or 'max utilization'")
    way, key = match[1], match[2]
    return Goal(key, way == "max" if way else key in MORE_IS_BETTER)


def _goal(node: Node, at: str) -> Goal:
    try:
        return goal_of(text_of(node, at))
    except ConfigError as error:
        raise ConfigError(f"{node.mark}: {at}: {error}") from None


def _constraint(node: Node, at: str) -> Requirement:
    text = text_of(node, at).strip()
    if not _CONSTRAINT.fullmatch(text):
        fail(node, at, node.value, "a comparison such as 'area_mm2 <= 100'")
    try:
        return Requirement.parse(text)
    except ConfigError as error:
        raise ConfigError(f"{node.mark}: {at}: {str(error).removeprefix('--require: ')}") from None


def _zips(fields: Fields, axes: tuple[Axis, ...]) -> tuple[tuple[int, ...], ...]:
    """Axes that move together are listed above, have as many values, and are zipped once."""
    names = [axis.key for axis in axes]
    used: list[str] = []
    found = []
    for group, at in fields.items("zip"):
        zipped = [text_of(item, at) for item in group.items]
        if len(zipped) < 2:
            fail(group, at, group.plain(), "a list of two axes or more")
        for name in zipped:
            if name in used:
                fail(group, at, name, "axes of this file that are not zipped yet")
            if name not in names:
                fail(group, at, name, f"axes of this file{nearest(name, names)}")
            used.append(name)
        numbers = tuple(names.index(name) for name in zipped)
        if len({len(axes[number].values) for number in numbers}) > 1:
            fail(group, at, zipped, "axes of the same number of values")
        found.append(numbers)
    return tuple(found)


def _search(fields: Fields) -> Search:
    method = fields.text("method", catalogue.names())
    trials = fields.integer("trials") if method != "grid" or fields.has("trials") else 0
    if fields.has("trials") and trials < 1:
        fail(fields.child("trials"), "search.trials", trials, "1 or more")
    seed = fields.integer("seed") if fields.has("seed") else 0
    if not 0 <= seed < SEEDS:
        fail(fields.child("seed"), "search.seed", seed, f"0 to {SEEDS - 1}")
    fields.end()
    return Search(method, trials if method != "grid" else 0, seed)


def _limits(fields: Fields) -> Limits:
    seconds = memory = None
    if fields.has("time"):
        seconds = float(quantity(fields, "time", DURATION) / PS_PER_S)
    if fields.has("memory"):
        memory = int(quantity(fields, "memory", units.SIZE))
    fields.end()
    return Limits(seconds, memory)
