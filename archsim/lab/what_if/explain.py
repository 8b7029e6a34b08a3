"""Why a layer takes what it takes: its resources, the runner-up, and the layer mapped anew on a larger chip.

All figures are analytic (``archsim run --why`` simulates). Doublings are those of ``archsim.lab.what_if.why``: each
resource alone, the layer searched again, what stays on chip planned again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from archsim.base.errors import ArchsimError, ConfigError, nearest
from archsim.base.progress import each
from archsim.ir.forms.mapping import node_form
from archsim.lab.run.job import Job, Progress, load_chip, prepare, quiet
from archsim.lab.run.network_shares import network_shares
from archsim.lab.run.offchip import outer_rates
from archsim.lab.what_if.explain_group import GroupExplanation, explained_group
from archsim.lab.what_if.variants import ChipVariant, variants
from archsim.spec.architecture import Architecture
from archsim.spec.load import replace as changed
from mapper.explain import Figures, figures, least, runner_up
from mapper.layers import Layers, TooTightError
from mapper.looptree.bound import Bounds, Least
from mapper.lower.model import Mapped
from mapper.options import BEST, LAYERS, resolve_dtypes


@dataclass(frozen=True)
class DoubledResource:
    """A changed chip: key paths with values, and the layer's figures there in cycles of the chip as it is."""

    name: str
    keys: dict[str, str]
    cycles: int | None
    energy_pj: float | None
    bounded_by: str
    reason: str = ""


@dataclass(frozen=True)
class Explanation:
    """One layer: what was chosen, what came second (None: nothing else is legal), what larger chips would give.

    ``least``: what no LoopTree of it undercuts, or why that is not known; ``aside``: constraints that it leaves aside;
    ``group``: that in which it runs in the network, or itself, None where that is not asked for.
    """

    layer: str
    op: str
    chip: str
    objective: str
    chosen: Figures
    second: Figures | None
    least: Bounds | str
    doubled: tuple[DoubledResource, ...]
    aside: tuple[str, ...] = ()
    group: GroupExplanation | None = None

    @property
    def lost_by(self) -> tuple[str, float, float] | None:
        """(figure, its value, the winner's) in which the runner-up is first worse; None when all are equal.

        By more than what counts as alike, where there is such a figure.
        """
        if self.second is None:
            return None
        second, chosen = self.second.ranked(self.objective), self.chosen.ranked(self.objective)
        rows = [(name, value, best) for (name, value), (_, best) in zip(second, chosen, strict=True)]
        worse = [row for row in rows if row[1] > row[2]]
        beyond = [row for row in worse if row[1] > self.chosen.alike.most(row[0], row[2])]
        return next(iter((*beyond, *worse)), None)

    @property
    def alike(self) -> tuple[str, ...]:
        """Figures before ``lost_by`` in which the two differ by so little that it does not count."""
        if self.second is None or self.lost_by is None:
            return ()
        pairs = dict(self.second.ranked(self.objective)), dict(self.chosen.ranked(self.objective))
        before = list(pairs[0])[: list(pairs[0]).index(self.lost_by[0])]
        return tuple(name for name in before if pairs[0][name] != pairs[1][name])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types (schema ``archsim.explain/1``)."""
        lost = self.lost_by
        return {
            "schema": "archsim.explain/1",
            "layer": self.layer,
            "op": self.op,
            "chip": self.chip,
            "objective": self.objective,
            "chosen": _figures(self.chosen),
            "runner_up": None if self.second is None else _figures(self.second),
            "lost_by": None if lost is None else {"figure": lost[0], "runner_up": lost[1], "chosen": lost[2]},
            "alike": list(self.alike),
            "least": self._least(),
            "doubled": [vars(row) for row in self.doubled],
            "group": None if self.group is None else self.group.to_json(),
        }

    def _least(self) -> dict[str, Any]:
        if isinstance(self.least, str):
            return {"reason": self.least}
        return {
            "cycles": _bound(self.least.cycles, self.chosen.cycles),
            "energy_pj": _bound(self.least.energy_pj, self.chosen.accesses_pj),
            "constraints_aside": list(self.aside),
        }


def _bound(least: Least, chosen: float) -> dict[str, Any]:
    return {"figure": least.figure, "proven": least.proven, "chosen_above_percent": 100 * least.gap(chosen)}


def _figures(found: Figures) -> dict[str, Any]:
    names = ("cycles", "energy_pj", "commands", "held_bytes", "bounded_by")
    return {
        "unit": found.mapping.unit,
        "bound_cycles": found.mapping.bound_cycles,
        **{name: getattr(found, name) for name in names},
        "resources": dict(found.resources),
        "adding": {"cores": found.adding[0], "collective": found.adding[1]} if found.adding[1] else None,
        "nodes": [node_form(node, index) for index, node in enumerate(found.mapping.nodes)],
        "resident": list(found.mapping.resident),
    }


def explained(job: Job, layer: str, say: Progress = quiet) -> Explanation:
    """The explanation of a layer of the job's model, as it is mapped by itself; raises ConfigError when there is none
    or it runs on the host."""
    architecture = load_chip(job)
    alone = LAYERS if job.schedule == BEST else job.schedule
    asked = prepare(replace(job, schedule=alone), architecture, say)
    names = [found.name for found in asked.workload.layers]
    if layer not in names:
        raise ConfigError(f"--explain: no layer '{layer}' in {asked.workload.name}{nearest(layer, names)}")
    index = names.index(layer)
    layers = Layers(
        asked.workload, architecture, resolve_dtypes(architecture, asked.options.dtypes or {}), asked.options
    )
    mapped = layers.map()
    problem = mapped.problems[index]
    if problem is None:
        raise ConfigError(f"--explain: layer '{layer}' runs on the host; there is no mapping to explain")
    return Explanation(
        layer,
        asked.workload.layers[index].op,
        architecture.name,
        job.objective,
        figures(layers, problem, mapped.mappings[index]),
        runner_up(layers, mapped, index),
        least(layers, problem),
        tuple(_doubled(layers, mapped, index, variant.name, variant.keys) for variant in _told(architecture)),
        layers.rules[layer].temporal,
        explained_group(layers, mapped, index) if job.schedule == BEST else None,
    )


def _told(architecture: Architecture) -> Iterator[ChipVariant]:
    """The larger chips, saying which one is under way."""
    return each(tuple(variants(architecture)), "mapping again", "larger chips", lambda variant: variant.name)


def _doubled(layers: Layers, mapped: Mapped, index: int, name: str, keys: Any) -> DoubledResource:
    """The layer on the chip with some keys changed; what may not stay on chip stays barred."""
    texts = {key: str(value) for key, value in keys.items()}
    try:
        chip = changed(layers.architecture, keys)
        found = _again(layers, mapped, index, chip)
    except ArchsimError as error:
        return DoubledResource(name, texts, None, None, "", str(error).partition("\n")[0])
    cycles = -(-found.cycles * layers.architecture.clock_hz // chip.clock_hz)
    return DoubledResource(name, texts, cycles, found.energy_pj, found.bounded_by)


def _again(layers: Layers, mapped: Mapped, index: int, chip: Architecture) -> Figures:
    options = replace(
        layers.options, outer=outer_rates(chip), network_shares=network_shares(chip), refine=0, simulate=None
    )
    others, barred = Layers(layers.workload, chip, layers.dtypes, options), mapped.barred
    while True:
        try:
            problem, mapping = others.map_layer(index, others.residency(barred))
        except TooTightError as tight:
            barred |= {tight.tensor}
            continue
        assert problem is not None
        return figures(others, problem, mapping)
