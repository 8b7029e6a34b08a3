"""How far off predictions were of measured operators that are like the layers of a run: a range of its time.

Beside the sets of measured rows (``archsim.lab.validate.silicon.sets``) stands what ``archsim validate silicon`` wrote
of them with ``--out``. A row is like a layer where the same kind of engine works on the same format: arrays, or the
vector unit for the same operator; and where its MACs for each byte that it has to move are those of the layer within a
factor of ``INTENSITY``, and its bytes within one of ``SIZE``. Of such rows the ``MOST`` nearest count, ``FEWEST`` at
least. Each layer may be as far off as the row that erred most to either side.

Rows were timed on the chip as it is, by the kernels of a platform, one run after the other, and predicted with no
option but these. So only a run of that kind has a range. Layers have the parts of it that they have of the critical
path of a first run, the host's times shared out among them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import NamedTuple

from archsim.ir.result import Result
from archsim.ir.result_parts import TimeBand
from archsim.ir.workload import Layer, Workload
from archsim.lab.run.job import BuiltJob, Job, load_chip
from archsim.lab.validate.silicon.measured_chip import on_chip
from archsim.lab.validate.silicon.operators import operator_of
from archsim.lab.validate.silicon.predicted_file import PredictedRow, predicted_rows
from archsim.lab.validate.silicon.sets import PREDICTED, SiliconSet, names_of, read
from archsim.lab.validate.suite import default_reference
from archsim.spec.dtypes import BITS

SUITE, PLATFORM = "silicon", "platform"
INTENSITY, SIZE = 4.0, 10.0
FEWEST, MOST = 3, 50
LEAST_SHARE = 0.5  # of the time that layers with such rows have, below which a run has no range

NO_CHIP = "no operators were measured on {chip}"
NO_PREDICTIONS = "no operators that were measured on {chip} were predicted yet"
NO_MODEL = "it is a Program, of which nobody says which operators it has"
OTHER = "operators were measured on {chip} by kernels of {platforms}, which --schedule platform --platform NAME takes"
NOT_REPEATED = "operators were timed run after run, as --warm 1 does"
CHANGED = "operators were measured on {chip} as it is shipped, and the chip of this run is another"
OPTIONS = "measured operators were predicted with no option but chip, platform, format and parameters"
UNLIKE = "layers that are like measured operators of {chip} take {share:.0f} % of the time"


class WorkKind(NamedTuple):
    """What has to be the same: matmul, or the operator of the vector unit; and the format of inputs."""

    engine: str
    format: str


@dataclass(frozen=True, slots=True)
class MeasuredWork:
    """A row that was measured and predicted. ``error``: predicted by measured, less 1."""

    set: str
    place: str
    macs: int
    moved_bytes: int
    error: float

    def distance(self, macs: int, moved_bytes: int) -> float:
        """1 at the end of what is like some work, 0 for the same: of MACs of a byte and bytes, what differs more."""
        bytes_ = log(self.moved_bytes / moved_bytes)
        intensity = log(self.macs / macs) - bytes_ if self.macs and macs else 0.0
        return max(abs(bytes_) / log(SIZE), abs(intensity) / log(INTENSITY))


WorkByKind = Mapping[WorkKind, tuple[MeasuredWork, ...]]


class LayerRange(NamedTuple):
    """Critical cycles of a layer, and the rows that are like it."""

    cycles: int
    rows: tuple[MeasuredWork, ...]


def time_band(job: Job, built: BuiltJob, result: Result) -> TimeBand:
    """The range of the time from one run to the next; ``cases`` is 0 where there is none, and ``reason`` says why.

    Raises ConfigError where the measured rows of the chip cannot be read.
    """
    chip, interval_s = built.architecture, _interval_s(result)
    if built.workload is None:
        return _none(NO_MODEL)
    by_platform = _measured(chip.name)
    reason = _reason(job, built, tuple(by_platform))
    if reason or interval_s is None:
        return _none(reason or NOT_REPEATED)
    layers = _of_layers(built, built.workload, result)
    like = [layer for layer in _with_rows(layers, built, by_platform[chip.platform]) if layer.rows]
    covered = sum(layer.cycles for layer in like) / max(1, sum(cycles for _, cycles in layers))
    if covered < LEAST_SHARE:
        return _none(UNLIKE.format(chip=chip.name, share=100 * covered))
    return _range(like, covered, interval_s, chip.calibrated.values())


def _none(reason: str) -> TimeBand:
    return {"cases": 0, "reason": reason}


def _range(like: Iterable[LayerRange], covered: float, interval_s: float, fitted: Iterable[str]) -> TimeBand:
    """Times of layers on silicon add up, each at one end of what its rows erred by."""
    low = high = cycles = 0.0
    rows = set[MeasuredWork]()
    for layer in like:
        errors = [row.error for row in layer.rows]
        low, high = low + layer.cycles / (1 + max(errors)), high + layer.cycles / (1 + min(errors))
        cycles += layer.cycles
        rows |= set(layer.rows)
    sets = sorted({row.set for row in rows})
    said = list(fitted)
    return {
        "cases": len(rows),
        "low": interval_s * low / cycles,
        "high": interval_s * high / cycles,
        "low_pct": 100 * (cycles / high - 1),
        "high_pct": 100 * (cycles / low - 1),
        "share": covered,
        "sets": sets,
        "fitted": [name for name in sets if any(re.search(rf"\b{re.escape(name)}\b", text) for text in said)],
    }


def _reason(job: Job, built: BuiltJob, platforms: tuple[str, ...]) -> str:
    """Why no row was timed and predicted as the run was, '' where some were."""
    chip = built.architecture
    if not platforms:
        return (NO_PREDICTIONS if _sets(chip.name) else NO_CHIP).format(chip=chip.name)
    if job.schedule != PLATFORM or chip.platform not in platforms:
        return OTHER.format(chip=chip.name, platforms=" or ".join(platforms))
    if job.warm is None:
        return NOT_REPEATED
    usual = Job(
        job.model, job.chip, batch=job.batch, dtype=job.dtype, values=job.values, seed=job.seed,
        parameters=job.parameters, warm=job.warm, repeat=job.repeat, schedule=PLATFORM, workers=job.workers,
        net=job.net,
    )  # fmt: skip
    if job != usual or job.repeat == "steady":
        return OPTIONS
    return "" if chip.sha256 in _shipped(chip.name, chip.platform) else CHANGED.format(chip=chip.name)


@lru_cache(maxsize=8)
def _shipped(chip: str, platform: str) -> frozenset[str]:
    """SHA-256 of the chip on a platform, and as the sets of rows were timed."""
    plain = load_chip(Job("", chip, values={PLATFORM: platform}))
    timed = [on_chip(each).chip for each in _sets(chip) if each.platform == platform]
    return frozenset(each.sha256 for each in (plain, *timed))


def _interval_s(result: Result) -> float | None:
    """From the end of a run to that of the next, where runs were repeated."""
    repeat = result.provenance["repeat"]
    found = None if isinstance(repeat, str) else dict(repeat).get("interval_s")
    return found if isinstance(found, float) else None


def _of_layers(built: BuiltJob, workload: Workload, result: Result) -> list[tuple[Layer, int]]:
    """The layers that take time, with their cycles of the critical path."""
    critical = {row.name: row.cycles_critical for row in result.single_layers}
    return [(layer, critical[layer.name]) for layer in workload.layers if critical.get(layer.name, 0)]


def _with_rows(layers: Iterable[tuple[Layer, int]], built: BuiltJob, rows: WorkByKind) -> Iterable[LayerRange]:
    workload, mapping = built.workload, built.mapping
    assert workload is not None
    dtypes = {**built.architecture.dtypes, **(mapping.dtypes if mapping is not None else {})}
    for layer, cycles in layers:
        kind = WorkKind(layer.kind if layer.kind == "matmul" else layer.op, dtypes["inputs"])
        yield LayerRange(cycles, _like(layer.macs, _moved_bytes(layer, workload, dtypes), rows.get(kind, ())))


def _like(macs: int, moved_bytes: int, rows: Iterable[MeasuredWork]) -> tuple[MeasuredWork, ...]:
    """The rows that are like some work, the nearest first; none where they are too few."""
    far = {row: row.distance(macs, moved_bytes) for row in rows if moved_bytes}
    ranked = sorted(far, key=lambda row: (far[row], row.set, row.place))
    near = tuple([row for row in ranked[:MOST] if far[row] <= 1])
    return near if len(near) >= FEWEST else ()


def _moved_bytes(layer: Layer, workload: Workload, dtypes: Mapping[str, str]) -> int:
    """Bytes of what a layer reads and writes, each tensor once."""
    operands = {operand.tensor: operand for operand in (*layer.inputs, layer.output)}
    bits = (workload.tensors[name].elements * BITS[dtypes[operand.role]] for name, operand in operands.items())
    return -(-sum(bits) // 8)


@lru_cache(maxsize=8)
def _sets(chip: str) -> tuple[SiliconSet, ...]:
    reference = default_reference(SUITE)
    names = names_of(reference, chip)
    return tuple(read(reference, names)) if names else ()


@lru_cache(maxsize=8)
def _measured(chip: str) -> Mapping[str, WorkByKind]:
    """Rows of a chip that were measured and predicted, by the platform whose kernels ran."""
    found = defaultdict[str, defaultdict[WorkKind, list[MeasuredWork]]](lambda: defaultdict(list))
    sets = _sets(chip)
    predicted = predicted_rows(default_reference(SUITE) / PREDICTED) if sets else {}
    for each in sets:
        for kind, row in _rows(each, predicted):
            found[each.platform][kind].append(row)
    return {name: {kind: tuple(rows) for kind, rows in kinds.items()} for name, kinds in found.items()}


def _rows(
    measured: SiliconSet, predicted: Mapping[tuple[str, str], PredictedRow]
) -> Iterable[tuple[WorkKind, MeasuredWork]]:
    """Rows of a set that were run, of operators that are a single layer."""
    for row in measured.rows:
        known = predicted.get((measured.name, row.case))
        time_us = known.time_us if known is not None else None
        if time_us is not None and (operator := operator_of(row)).layer:
            work = operator.work(operator.sizes(row))
            size = -(-work.elements * BITS[row.format] // 8)
            of = MeasuredWork(measured.name, row.place, work.macs, size, time_us / row.time_us - 1)
            yield WorkKind(operator.layer, row.format), of
