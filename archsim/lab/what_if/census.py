"""A census of the ranking: models on chips of several sizes, mapped by every objective and simulated.

For each model, chip and change of the chip (a point) the net tells what the mappings of each objective take, simulated,
and what the layers take one by one; the gap tells how far the forecasts are from the machine. The tables that follow
say how often an objective is beaten in its own figure, how often a network is slower than its layers, how often a
larger chip is slower, and how far the forecasts are off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from typing import Any

import numpy as np

from archsim.base.errors import ArchsimError
from archsim.base.progress import each
from archsim.ir.result_parts import IN_TURN, Tried
from archsim.lab.run.job import Job, load_chip
from archsim.lab.run.net import trial
from archsim.lab.what_if.gap import mapping_gap
from archsim.lab.what_if.variants import ChipVariant, variants
from archsim.spec.architecture import Architecture
from mapper.options import LAYERS, OBJECTIVES
from mapper.search.ties import BAND

MODELS = ("hand_tracking", "squeezenet", "resnet50", "bert_base_block")
CHIPS = ("edge_npu", "ar_soc", "tpu_v1", "gemmini_16x16", "mtia_v2i_pe", "nvdla_large")
AS_IT_IS = "as it is"
LARGER = {
    " size x2": BAND,
    " channels x2": BAND,
    " bandwidth x2": BAND,
    " banks x2": 0.02,
    " ports x2": 0.02,
    "clock x": BAND,
}
LARGE = 10_000  # cycles of a layer whose error counts by itself


@dataclass(frozen=True)
class LayerError:
    """What was expected of a layer, and what it took alone and in its network, in cycles."""

    layer: str
    expected_alone: int
    expected: int
    alone: int
    critical: int


@dataclass(frozen=True)
class CensusPoint:
    """One model on one chip. ``change``: what of the chip is larger, and by ``keys``; ``tried``: by objective;
    ``latency_s``: of the mappings for latency; ``reason``: why there is nothing."""

    model: str
    chip: str
    cores: int
    change: str
    keys: Mapping[str, str]
    tried: Mapping[str, Tried]
    alone_cycles: int = 0
    latency_s: float = 0.0
    expected_cycles: int = 0
    errors: tuple[LayerError, ...] = ()
    reason: str = ""

    def beaten(self, objective: str) -> float:
        """By how much of it the best of the other objectives is better in the figure of this one; 0 where none is."""
        own = _figure(objective, self.tried[objective])
        best = min(_figure(objective, self.tried[name]) for name in OBJECTIVES)
        return own / best - 1

    @property
    def behind_layers(self) -> float:
        """By how much the network is slower than its layers one by one; below 0 where it is faster."""
        best = min(self.tried[name]["cycles"] for name in OBJECTIVES)
        return best / self.alone_cycles - 1


@dataclass(frozen=True)
class Census:
    """All points that could be run, and those that could not."""

    points: tuple[CensusPoint, ...]

    @property
    def ran(self) -> tuple[CensusPoint, ...]:
        """Those that could be run."""
        return tuple(point for point in self.points if not point.reason)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types (schema ``archsim.census/1``)."""
        return {
            "schema": "archsim.census/1",
            "cases": len(self.ran) * len(OBJECTIVES),
            "objectives": [self._of_objective(name) for name in OBJECTIVES],
            "layers": self._behind_layers(),
            "larger": list(self._larger()),
            "errors": [self._errors(cores) for cores in ("one", "many") if self._of_cores(cores)],
            "points": [asdict(point) for point in self.points],
        }

    def _of_objective(self, objective: str) -> dict[str, Any]:
        """How often the ranking alone is beaten in an objective's own figure; with the net never by more than BAND."""
        beaten = [point.beaten(objective) for point in self.ran]
        worst = max(self.ran, key=lambda point: point.beaten(objective), default=None)
        return {
            "objective": objective,
            "cases": len(beaten),
            "beaten": sum(by > BAND for by in beaten),
            "worst_percent": 100 * max(beaten, default=0.0),
            "worst": "" if worst is None else _called(worst),
            "beaten_with_net": sum(_with_net(point, objective) > BAND for point in self.ran),
        }

    def _behind_layers(self) -> dict[str, Any]:
        worst = max(self.ran, key=lambda point: point.behind_layers, default=None)
        return {
            "cases": len(self.ran),
            "slower": sum(point.behind_layers > BAND for point in self.ran),
            "worst_percent": 0.0 if worst is None else 100 * worst.behind_layers,
            "worst": "" if worst is None else _called(worst),
            "in_turn": sum(IN_TURN in point.tried for point in self.ran),
        }

    def _larger(self) -> Iterator[dict[str, Any]]:
        """By kind of change: pairs of the chip as it is and a larger one, and those in which the larger is slower."""
        base = {(point.model, point.chip): point for point in self.ran if point.change == AS_IT_IS}
        for kind, most in LARGER.items():
            pairs = [
                (point, point.latency_s / base[point.model, point.chip].latency_s - 1)
                for point in self.ran
                if kind in point.change and (point.model, point.chip) in base
            ]
            if pairs:
                slower = [(point, by) for point, by in pairs if by > most]
                yield {
                    "change": kind.strip(),
                    "pairs": len(pairs),
                    "allowed_percent": 100 * most,
                    "slower": [{"case": _called(point), "percent": 100 * by} for point, by in slower],
                }

    def _of_cores(self, cores: str) -> list[CensusPoint]:
        return [point for point in self.ran if (point.cores > 1) == (cores == "many")]

    def _errors(self, cores: str) -> dict[str, Any]:
        """Of layers of LARGE cycles or more, what they take beside what was expected, alone and in their network."""
        rows = [error for point in self._of_cores(cores) for error in point.errors]
        alone = [_off(row.alone, row.expected_alone) for row in rows if row.alone >= LARGE]
        inside = [_off(row.critical, row.expected) for row in rows if row.critical >= LARGE]
        whole = [_off(point.tried["latency"]["cycles"], point.expected_cycles) for point in self._of_cores(cores)]
        return {
            "cores": cores, "alone": _spread(alone), "in_network": _spread(inside), "network": _spread(whole)
        }  # fmt: skip


def _off(found: int, expected: int) -> float:
    return abs(found / max(expected, 1) - 1)


def _spread(errors: Sequence[float]) -> dict[str, float]:
    if not errors:
        return {"count": 0}
    median, p95, worst = np.percentile(errors, (50, 95, 100))
    return {
        "count": len(errors), "median_percent": 100 * float(median), "p95_percent": 100 * float(p95),
        "worst_percent": 100 * float(worst),
    }  # fmt: skip


def _with_net(point: CensusPoint, objective: str) -> float:
    """By how much the others beat what is kept: another objective's once it is better by more than BAND."""
    names = sorted(OBJECTIVES, key=lambda name: name != objective)
    kept = names[0]
    for name in names[1:]:
        if _figure(objective, point.tried[kept]) > _figure(objective, point.tried[name]) * (1 + BAND):
            kept = name
    best = min(_figure(objective, point.tried[name]) for name in OBJECTIVES)
    return _figure(objective, point.tried[kept]) / best - 1


def _figure(objective: str, tried: Tried) -> float:
    if objective == "energy":
        return tried["energy_j"]
    return tried["cycles"] * (tried["energy_j"] if objective == "edp" else 1)


def _called(point: CensusPoint) -> str:
    return f"{point.model} on {point.chip}" + (f", {point.change}" if point.change != AS_IT_IS else "")


def census(job: Job, models: Sequence[str], chips: Sequence[str]) -> Census:
    """The census of models on chips, each chip as it is and with its memories, channels and clock enlarged.

    ``job``: the options of all, among them ``workers``: processes that simulate. Raises ConfigError for a chip that
    there is not; what cannot be mapped is listed with its reason.
    """
    asked = [
        (replace(job, model=model, chip=chip, net=False, workers=1), variant)
        for chip in chips
        for variant in _changes(load_chip(replace(job, chip=chip)))
        for model in models
    ]
    if job.workers == 1:
        return Census(tuple(_point(*one) for one in each(asked, "census", "points", _named)))
    with ProcessPoolExecutor(job.workers, mp_context=get_context("spawn")) as pool:
        found = [pool.submit(_point, *one) for one in asked]
        return Census(tuple(future.result() for future in each(found, "census", "points", lambda _: "")))


def _named(one: tuple[Job, ChipVariant]) -> str:
    job, variant = one
    return f"{job.model} on {job.chip}, {variant.name}"


def _changes(architecture: Architecture) -> list[ChipVariant]:
    """The chip as it is, and what LARGER has of its variants: of SRAMs the first one, of DRAM what gives it more."""
    found = [ChipVariant(AS_IT_IS, {})]
    drams = {memory.name for memory in architecture.memories if memory.kind == "dram"}
    seen: set[str] = set()
    for variant in variants(architecture):
        kind = next((kind for kind in LARGER if kind in variant.name), None)
        part = variant.name.partition(" ")[0]
        if kind is None or kind in seen or (kind in (" channels x2", " bandwidth x2") and part not in drams):
            continue
        seen.add(kind)
        found.append(variant)
    return found


def _point(job: Job, variant: ChipVariant) -> CensusPoint:
    job = replace(job, values={**job.values, **variant.keys}, schedule=LAYERS)
    keys = {key: str(value) for key, value in variant.keys.items()}
    architecture = load_chip(job)
    name, model = architecture.name, str(job.model)
    try:
        tried, alone = trial(job)
        gap = mapping_gap(job)
    except ArchsimError as error:
        return CensusPoint(model, name, architecture.cores, variant.name, keys, {}, reason=str(error))
    errors = tuple(
        LayerError(row.layer, row.expected_alone_cycles, row.expected_cycles, row.alone_cycles, row.critical_cycles)
        for row in gap.layers
    )
    seconds = tried["latency"]["cycles"] / architecture.clock_hz
    return CensusPoint(
        model, name, architecture.cores, variant.name, keys, tried, alone, seconds, gap.expected_cycles, errors
    )
