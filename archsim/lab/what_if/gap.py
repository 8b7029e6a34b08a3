"""How far the cycles that a mapping is chosen by are from those of the machine, layer by layer: groups are left out.

``expected_alone_cycles`` of a layer forecasts its share of the critical path, launch apart, of the layer run alone,
beside the tensors that stay on chip; ``expected_cycles`` that in its network, where others run before and behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from archsim.base.errors import ConfigError
from archsim.ir.activity import Activity, to_cycles
from archsim.ir.mapping import LayerMapping
from archsim.ir.program import Program
from archsim.lab.kit.gc_pause import collect_stopped, uncollected
from archsim.lab.run.fidelity import affordable
from archsim.lab.run.job import Job, Progress, load_chip, prepare, quiet
from archsim.sim.critical import HOST, critical_cycles, critical_path
from archsim.spec.architecture import Architecture
from mapper.explain import figures
from mapper.layers import Layers
from mapper.lower.model import Lowering, Mapped
from mapper.lower.one_layer import lower_alone
from mapper.options import LAYERS, resolve_dtypes
from mapper.problem.problem import Problem

BEHIND_LAUNCH = "behind launch"  # of a layer that is done before the host has rung the doorbell
LATE = 1.2  # times as long in the network as alone: what is told of beside the gap

Causes = Mapping[str, int]


@dataclass(frozen=True)
class LayerGap:
    """Cycles of one layer: as expected alone and in its network, simulated alone, and of its network's critical path.

    ``bounded_by``: the resource of which most is expected; ``spent``: cause -> cycles of its critical path alone, or
    all that it takes where that is behind the launch.
    """

    layer: str
    op: str
    unit: str
    expected_alone_cycles: int
    expected_cycles: int
    alone_cycles: int
    critical_cycles: int
    bounded_by: str
    spent: Causes = field(default_factory=dict)

    @property
    def off(self) -> int:
        """Cycles between what was expected of the layer alone and what it took."""
        return self.alone_cycles - self.expected_alone_cycles

    @property
    def is_late(self) -> bool:
        """Whether its network holds it up by far more than it takes alone."""
        return self.critical_cycles > LATE * self.alone_cycles

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        names = (
            "layer", "op", "unit", "expected_alone_cycles", "expected_cycles", "alone_cycles", "critical_cycles",
            "bounded_by",
        )  # fmt: skip
        return {**{name: getattr(self, name) for name in names}, "spent": dict(self.spent), "late": self.is_late}


@dataclass(frozen=True)
class MappingGap:
    """All layers of a model that are mapped, those furthest off first. ``launch_cycles``: of the network's critical
    path, those of its host; ``grouped_layers``: how many run in groups, and so never alone."""

    model: str
    chip: str
    objective: str
    cycles_total: int
    launch_cycles: int
    layers: tuple[LayerGap, ...]
    grouped_layers: int = 0

    @property
    def expected_cycles(self) -> int:
        """Of the network: of its layers one after the other, and of its launch."""
        return sum(row.expected_cycles for row in self.layers) + self.launch_cycles

    @property
    def alone_cycles(self) -> int:
        """What the layers take one by one, with one launch."""
        return sum(row.alone_cycles for row in self.layers) + self.launch_cycles

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types (schema ``archsim.gap/1``)."""
        names = (
            "model", "chip", "objective", "cycles_total", "launch_cycles", "expected_cycles", "alone_cycles",
            "grouped_layers",
        )  # fmt: skip
        plain = {name: getattr(self, name) for name in names}
        return {"schema": "archsim.gap/1", **plain, "layers": [row.to_json() for row in self.layers]}


def mapping_gap(job: Job, say: Progress = quiet) -> MappingGap:
    """The gap of a job's mapping, by the schedule policy that it asks for, and in groups only where a file states them;
    raises ConfigError for a Program, and what mapping raises."""
    if job.is_program:
        raise ConfigError(f"{job.model}: a Program is mapped already; map the model it came from")
    architecture = load_chip(job)
    asked = prepare(job, architecture, say)
    asked = replace(asked, options=replace(asked.options, schedule=LAYERS))
    dtypes = resolve_dtypes(architecture, asked.options.dtypes or {})
    layers = Layers(asked.workload, architecture, dtypes, asked.options)
    mapped = layers.map()
    program = Lowering(asked.workload, architecture, dtypes, asked.options, mapped.groups).lower(mapped).program
    machine = affordable(architecture, program)[0] if job.fidelity is None else architecture
    say("simulating the network")
    activity, critical = _simulated(program, machine)
    alone = _Alone(layers, mapped, machine, say)
    grouped = {index for plan in mapped.groups for index in range(plan.first, plan.last + 1)}
    rows = [
        _row(layers, problem, mapping, alone.of(problem, mapping), critical)
        for index, (problem, mapping) in enumerate(zip(mapped.problems, mapped.mappings, strict=True))
        if problem is not None and index not in grouped
    ]
    rows.sort(key=lambda row: (-abs(row.off), row.layer))
    launch, total = sum(critical.get(HOST, {}).values()), to_cycles(activity.total_ps, architecture.clock_hz)
    return MappingGap(asked.workload.name, architecture.name, job.objective, total, launch, tuple(rows), len(grouped))


def _row(
    layers: Layers, problem: Problem, mapping: LayerMapping, alone: Causes, critical: Mapping[str, Causes]
) -> LayerGap:
    layer, found = problem.layer, figures(layers, problem, mapping)
    return LayerGap(
        layer.name, layer.op, mapping.unit, found.alone_cycles, mapping.expected_cycles, sum(alone.values()),
        sum(critical.get(layer.name, {}).values()), found.bounded_by, alone,
    )  # fmt: skip


class _Alone:
    """Layers simulated by themselves, equal ones once."""

    def __init__(self, layers: Layers, mapped: Mapped, machine: Architecture, say: Progress) -> None:
        self._layers, self._mapped, self._machine, self._say = layers, mapped, machine, say
        self._known: dict[object, Causes] = {}

    def of(self, problem: Problem, mapping: LayerMapping) -> Causes:
        """Cause -> cycles of the layer's critical path, launch apart."""
        layers, residency = self._layers, self._mapped.residency
        key = layers.solver.key(problem), mapping.unit, mapping.nodes, mapping.resident
        if key not in self._known:
            self._say(f"simulating {problem.layer.name} alone")
            program = lower_alone(
                layers.workload, layers.architecture, layers.dtypes, layers.options, problem, residency, mapping
            )
            activity, critical = _simulated(program, self._machine)
            found = critical.get(problem.layer.name, {})
            self._known[key] = found if any(found.values()) else {BEHIND_LAUNCH: _span(activity, problem.layer.name)}
        return self._known[key]


def _span(activity: Activity, layer: str) -> int:
    """Cycles from the start of a layer's first command to the end of its last one."""
    starts, ends = [], []
    for records in activity.records.values():
        columns = records.columns()
        own = np.array([text.layer == layer for text in records.texts], dtype=bool)[columns.text]
        if own.any():
            starts.append(int(columns.start_ps[own].min()))
            ends.append(int(columns.end_ps[own].max()))
    return to_cycles(max(ends) - min(starts), activity.clock_hz) if starts else 0


def _simulated(program: Program, machine: Architecture) -> tuple[Activity, Mapping[str, Causes]]:
    """What was done, and the cycles of the critical path by layer and cause."""
    from archsim.system import simulate

    collect_stopped()
    with uncollected():
        activity = simulate(program, machine)
        critical = critical_cycles(critical_path(activity), machine.clock_hz)
    return activity, critical
