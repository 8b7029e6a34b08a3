"""The table of figures: the numbers that a run reports, one row for each.

A row has the figure's key in the summary, its unit and meaning, the words that people read, how it is got from a run
and from an estimate, whether more of it is better, how far fidelity cost may be off, what it is for each sample of a
batch, and where it stands in the headline. Accounts, estimates, the JSON Schema of results, headlines, comparisons,
sweeps, exports and pages ask the table; a new figure is a new row here.

Keys with a dot stand in a section of the summary: ``dram.read_bytes`` is ``read_bytes`` of ``dram``. The order of the
rows is that of the keys. Numbers by part, unit or cause are no figures but groups of numbers (``GROUPS``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from archsim.base.errors import ConfigError
from archsim.ir.activity import CountKey
from archsim.ir.keys import COUNT, FIRST, RATIO, SECOND
from archsim.ir.result_parts import MemoryFigures
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture

Number = int | float | None
LATENCY, ENERGY = "latency_s", "energy_j"  # whose bands of fidelity cost are measured
AREA, POWER = "area_mm2", "power_avg_w"
SAMPLE, DRAM = SECTIONS = ("per_sample", "dram")  # sections of the summary beside the top
_LAST = 1000  # the place of what states none


@dataclass(frozen=True, slots=True)
class RunQuantities:
    """What figures are made of, of a run or of an estimate.

    ``counts``: action counts as in an Activity; ``cycles`` of the reference clock; ``interval_s``: from the end of one
    run to the end of the next, ``latency_s`` where they are not repeated. MACs by who did them; ``peak`` and
    ``peak_used``: MACs per reference cycle of all arrays, at their best formats and at those used. ``power_peak_w``,
    ``power_window_s``, ``row_hit_rate``: None where nothing was simulated, the last also without bursts. ``memories``:
    each DRAM part; ``dram_peak_bytes_per_s`` of all of them. ``bound_cycles`` and ``compulsory_bytes``: what no
    schedule of the network undercuts (``mapper.bound``). These and ``workload`` are None for a Program given as text.
    """

    architecture: Architecture
    workload: Workload | None
    counts: Mapping[CountKey, int]
    cycles: int
    latency_s: float
    interval_s: float
    macs_array: int
    macs_vector: int
    macs_host: int
    macs_executed: int
    peak: Fraction
    peak_used: Fraction
    energy_j: float
    energy_chip_j: float
    power_avg_w: float
    area_mm2: float
    memories: Mapping[str, MemoryFigures]
    dram_peak_bytes_per_s: int
    power_peak_w: float | None = None
    power_window_s: float | None = None
    row_hit_rate: float | None = None
    bound_cycles: int | None = None
    compulsory_bytes: int | None = None

    @property
    def macs(self) -> int:
        """On all engines and the host."""
        return self.macs_array + self.macs_vector + self.macs_host

    @property
    def macs_dense(self) -> int:
        """Of the model without bounds; of a Program given as text those that it did."""
        return self.workload.macs_dense if self.workload is not None else self.macs

    @property
    def samples(self) -> int:
        """Of the batch; 1 where it is not known."""
        return self.workload.batch if self.workload is not None else 1

    def in_dram(self, key: Literal["read_bytes", "write_bytes", "useful_bytes"]) -> int:
        """The sum of a number of bytes over the DRAM parts."""
        return sum(memory[key] for memory in self.memories.values())


FigureFunction = Callable[[RunQuantities], Number]


@dataclass(frozen=True, slots=True)
class SampleFigure:
    """What a figure is for each sample of a batch: its key in ``per_sample``, words, meaning, and its place there;
    ``short``, ``headline`` and ``remark`` as of a figure."""

    name: str
    label: str
    says: str
    place: int = _LAST
    short: str = ""
    headline: int | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class ResultFigure:
    """A row.

    ``unit`` and ``says`` as of a ``ResultKey``; ``label``: what people call it, ``short`` in the headline (as ``label``
    if ''). ``run``: the figure of a run; ``estimate``: of the analytic model, by the same function unless stated, None
    where the model cannot know it. ``type``: of its value in a run. ``more_is_better``: what a sweep makes of it unless
    told. ``band``: of latency and energy those whose band of fidelity cost it follows, of both the product of them.
    ``bound``: 'lower' or 'estimate' where it leaves out something of the real chip. ``sample``: what it is for each
    sample. ``headline``: its place there; ``remark``: what stands beside it, other figures as ``{key}``.
    ``compared``: whether a comparison shows it. ``since``: the first schema of results with it. ``read``: how it is
    read from a summary that does not store it; such a figure is no key of its own.

    A sweep may have any stored figure as an objective or constraint, at fidelity cost those that
    are not ``simulated``.
    """

    key: str
    label: str
    unit: str
    says: str
    run: FigureFunction
    estimate: FigureFunction | None = None
    simulated: bool = False
    type: Any = float
    short: str = ""
    more_is_better: bool = False
    band: tuple[str, ...] = ()
    bound: str = ""
    sample: SampleFigure | None = None
    headline: int | None = None
    remark: str = ""
    compared: bool = True
    since: int = FIRST
    read: Callable[[Mapping[str, Any]], Number] | None = None

    @property
    def section(self) -> str:
        """The key of the section of the summary that it stands in, '' for none."""
        return self.key.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Its key in its section."""
        return self.key.rpartition(".")[2]

    @property
    def stored(self) -> bool:
        """Whether the summary has it under its key."""
        return self.read is None

    def of(self, summary: Mapping[str, Any]) -> Number:
        """The figure in a summary, None where it has none."""
        if self.read is not None:
            return self.read(summary)
        found: Number = (summary.get(self.section) or {} if self.section else summary).get(self.name)
        return found


class FigureTable:
    """The rows, those of samples made of the figures that state them, and what is asked of them.

    ``stored``: rows with a key of the summary, by section in the order of their keys; ``shown``: rows of the headline
    in its order; ``bounds``: key -> on which side of the real chip's it lies; ``simulated``: keys of which an estimate
    has no figure. ``rows`` may be set; all of these follow. Raises ConfigError for two rows of one key, for rows
    without the words that people read, and for a section that results do not have.
    """

    def __init__(self, rows: Iterable[ResultFigure]) -> None:
        self.rows = tuple(rows)

    @property
    def rows(self) -> tuple[ResultFigure, ...]:
        """The rows as they are stated."""
        return self._rows

    @rows.setter
    def rows(self, rows: tuple[ResultFigure, ...]) -> None:
        parts = sorted((row for row in rows if row.sample), key=lambda row: row.sample.place if row.sample else _LAST)
        every = (*rows, *map(_of_sample, parts))
        _check(every)
        self._rows = rows
        self._by_key = {row.key: row for row in every}
        self.stored = {section: [r for r in every if r.stored and r.section == section] for section in ("", *SECTIONS)}
        self.shown = sorted((row for row in every if row.headline is not None), key=lambda row: row.headline or 0)
        self.bounds = {key: self._by_key[key].bound for key in sorted(self._by_key) if self._by_key[key].bound}
        self.simulated = tuple(row.key for row in every if row.simulated)

    def __getitem__(self, key: str) -> ResultFigure:
        """The row of a key; raises KeyError for another."""
        return self._by_key[key]

    def get(self, key: str) -> ResultFigure | None:
        """The row of a key, of ``dram.memories.NAME.read_bytes`` that of ``dram.read_bytes``; None for another key."""
        if key.startswith(f"{DRAM}.memories."):
            key = f"{DRAM}.{key.rpartition('.')[2]}"
        return self._by_key.get(key)

    def of_run(self, found: RunQuantities) -> dict[str, dict[str, Any]]:
        """Section -> key -> figure of a run; no ``per_sample`` where the batch is not known."""
        return {name: {row.name: row.run(found) for row in rows} for name, rows in self._sections(found)}

    def of_estimate(self, found: RunQuantities) -> dict[str, dict[str, Any]]:
        """The same of an estimate, None where it has no figure."""
        return {
            name: {row.name: None if row.simulated else (row.estimate or row.run)(found) for row in rows}
            for name, rows in self._sections(found)
        }

    def _sections(self, found: RunQuantities) -> Iterable[tuple[str, list[ResultFigure]]]:
        return [(name, rows) for name, rows in self.stored.items() if name != SAMPLE or found.workload is not None]


def _of_sample(row: ResultFigure) -> ResultFigure:
    """A figure divided by the samples of the batch, as a row of its own."""
    run, estimate, sample = row.run, row.estimate or row.run, row.sample
    if sample is None:
        raise ConfigError(f"figures: {row.key} says nothing of a sample")
    return ResultFigure(
        f"{SAMPLE}.{sample.name}", sample.label, row.unit, sample.says,
        lambda found: _over(run(found), found.samples), lambda found: _over(estimate(found), found.samples),
        row.simulated, short=sample.short, more_is_better=row.more_is_better, band=row.band,
        headline=sample.headline, remark=sample.remark, compared=row.compared or not row.stored,
    )  # fmt: skip


def _over(number: Number, samples: int) -> Number:
    return None if number is None else number / samples


def _check(rows: tuple[ResultFigure, ...]) -> None:
    keys = [row.key for row in rows]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ConfigError(f"figures: two rows have the key {', '.join(twice)}; allowed one")
    bare = [row.key for row in rows if not (row.label and row.unit and row.says.endswith("."))]
    if bare:
        raise ConfigError(f"figures: {', '.join(bare)} lack words; every row has a label, a unit and a sentence")
    lost = [row.key for row in rows if row.section not in ("", *SECTIONS)]
    if lost:
        raise ConfigError(f"figures: {', '.join(lost)} stand in no section of a result; allowed {', '.join(SECTIONS)}")


@dataclass(frozen=True, slots=True)
class NumberGroup:
    """Numbers of the summary by part, unit or cause: their ``unit`` as of a figure, whether they are ``simulated``, and
    the ``band`` that they follow at fidelity cost."""

    key: str
    unit: str
    simulated: bool = False
    band: tuple[str, ...] = ()


GROUPS: Mapping[str, NumberGroup] = {
    group.key: group
    for group in (
        NumberGroup("mac_breakdown", "MAC slots", simulated=True),
        NumberGroup("energy_breakdown_j", "J", band=(ENERGY,)),
        NumberGroup("time_breakdown", "cycles", simulated=True),
    )
}


def _ratio(part: float, whole: Any) -> float:
    """part / whole, 0 of nothing."""
    return float(part / whole) if whole else 0.0


FIGURES = FigureTable((
    ResultFigure(
        "cycles_total", "cycles", "cycles", "The run in cycles of the reference clock.",
        lambda run: run.cycles, type=int, band=(LATENCY,),
        sample=SampleFigure("cycles", "cycles, a sample", "Cycles of the run for each sample.", 1),
    ),
    ResultFigure(
        "latency_s", "latency", "s", "From the start to the end of the run, of the whole batch.",
        lambda run: run.latency_s, band=(LATENCY,), headline=1, remark="{cycles_total} cycles",
        sample=SampleFigure(
            "time_s", "time, a sample", "Time of the run for each sample.", 2,
            "per sample", 10, "{per_sample.cycles} cycles",
        ),
    ),
    ResultFigure(
        "throughput_per_s", "throughput", "1/s", "Samples a second, one run after the other.",
        lambda run: _ratio(run.samples, run.interval_s),
        more_is_better=True, band=(LATENCY,), headline=2, remark="samples per second",
    ),
    ResultFigure(
        "macs", "MACs", "MAC", "Multiply-accumulates on all engines and the host; of the first schema, on arrays.",
        lambda run: run.macs, type=int,
        sample=SampleFigure("macs", "MACs, a sample", "Multiply-accumulates of each sample.", 4),
    ),
    ResultFigure(
        "macs_array", "MACs on arrays", "MAC", "Multiply-accumulates on arrays.",
        lambda run: run.macs_array, type=int, since=SECOND,
    ),
    ResultFigure(
        "macs_vector", "MACs on vector units", "MAC", "Multiply-accumulates on vector units.",
        lambda run: run.macs_vector, type=int, since=SECOND,
    ),
    ResultFigure(
        "macs_host", "MACs on the host", "MAC", "Multiply-accumulates on the host.",
        lambda run: run.macs_host, type=int, since=SECOND,
    ),
    ResultFigure(
        "macs_dense", "MACs without bounds", "MAC",
        "Multiply-accumulates of the model if no bound (causal attention, a window) left any out.",
        lambda run: run.macs_dense, type=int, since=SECOND, compared=False,
    ),
    ResultFigure(
        "macs_executed", "MACs in tiles", "MAC",
        "Multiply-accumulates of all tiles as they ran, those that a bound leaves out of a tile among them.",
        lambda run: run.macs_executed, type=int, since=SECOND, compared=False,
    ),
    ResultFigure(
        "utilization", "utilization, of the best peak", RATIO, "MACs on arrays over cycles x the best peak.",
        lambda run: _ratio(run.macs_array, run.cycles * run.peak),
        more_is_better=True, band=(LATENCY,), short="of best peak", headline=9,
    ),
    ResultFigure(
        "utilization_dtype", "utilization, of the formats' peak", RATIO, "The same over the peak of the formats used.",
        lambda run: _ratio(run.macs_array, run.cycles * run.peak_used),
        more_is_better=True, band=(LATENCY,), short="utilization", headline=3, since=SECOND,
    ),
    ResultFigure(
        "network_bound_cycles", "cycles, at least", "cycles",
        "What no schedule of the model undercuts: its engines' least work, or the compulsory bytes at DRAM's peak.",
        lambda run: run.bound_cycles, type=int | None, since=SECOND, compared=False,
    ),
    ResultFigure(
        "gap", "above the bound", RATIO, "How many more cycles the run takes than network_bound_cycles, over these.",
        lambda run: run.cycles / run.bound_cycles - 1 if run.bound_cycles else None,
        type=float | None, band=(LATENCY,), since=SECOND, compared=False,
    ),
    ResultFigure(
        "compulsory_bytes", "compulsory DRAM traffic", "B",
        "Bytes that any schedule moves to and from DRAM: weights, inputs, outputs, rows of states, each once.",
        lambda run: run.compulsory_bytes, type=int | None, since=SECOND, compared=False,
    ),
    ResultFigure(
        "energy_j", "energy", "J", "Energy of chip and DRAM.",
        lambda run: run.energy_j, band=(ENERGY,), headline=5, remark="{energy_chip_j} on chip",
        sample=SampleFigure(
            "energy_j", "energy, a sample", "Energy for each sample.", 3,
            "per sample", 11, "{per_sample.dram_bytes} of DRAM",
        ),
    ),
    ResultFigure(
        "energy_chip_j", "energy on chip", "J", "Energy of the chip without DRAM.",
        lambda run: run.energy_chip_j, band=(ENERGY,),
    ),
    ResultFigure(
        "power_avg_w", "power, average", "W", "Energy over the latency.",
        lambda run: run.power_avg_w, band=(LATENCY, ENERGY), bound="lower", short="power", headline=6,
    ),
    ResultFigure(
        "power_peak_w", "power, peak", "W", "The most in any window of power_window_s.",
        lambda run: run.power_peak_w, simulated=True,
    ),
    ResultFigure(
        "power_window_s", "windows of the peak power", "s", "How long the windows are that power_peak_w looks at.",
        lambda run: run.power_window_s, simulated=True, compared=False,
    ),
    ResultFigure(
        "edp_js", "energy x delay", "J s", "Energy times latency.",
        lambda run: run.energy_j * run.latency_s,
        band=(LATENCY, ENERGY), short="EDP", headline=7, remark="energy x delay",
    ),
    ResultFigure(
        "area_mm2", "area", "mm2", "Area of the parts that have one; null where none is known.",
        lambda run: run.area_mm2, type=float | None, bound="lower", headline=8,
    ),
    ResultFigure(
        "die_cost_usd", "die cost", "USD", "Price of a die; null, since it is not modelled.",
        lambda run: None, type=float | None,
    ),
    ResultFigure(
        "dram_bytes", "DRAM traffic", "B", "Bytes on the pins of all DRAM, both directions.",
        lambda run: run.in_dram("read_bytes") + run.in_dram("write_bytes"), type=int, headline=4, compared=False,
        sample=SampleFigure(
            "dram_bytes", "DRAM traffic, a sample", "Bytes on the pins of all DRAM for each sample, both directions.", 5
        ),
        read=lambda summary: (summary[DRAM]["read_bytes"] or 0) + (summary[DRAM]["write_bytes"] or 0),
    ),
    ResultFigure(
        "per_sample.samples", "samples", COUNT, "Samples of the batch.", lambda run: run.samples, type=int,
    ),
    ResultFigure(
        "dram.read_bytes", "DRAM read", "B", "Bytes read on all pins, in whole bursts.",
        lambda run: run.in_dram("read_bytes"), type=int,
    ),
    ResultFigure(
        "dram.write_bytes", "DRAM written", "B", "Bytes written on all pins, in whole bursts.",
        lambda run: run.in_dram("write_bytes"), type=int,
    ),
    ResultFigure(
        "dram.useful_bytes", "DRAM bytes asked for", "B", "Bytes that commands asked for, both directions.",
        lambda run: run.in_dram("useful_bytes"), type=int,
    ),
    ResultFigure(
        "dram.row_hit_rate", "DRAM row hits", RATIO,
        "Bursts that found their row open; null without bursts or without rows.",
        lambda run: run.row_hit_rate, simulated=True, type=float | None, more_is_better=True,
    ),
    ResultFigure(
        "dram.bandwidth_utilization", "of DRAM bandwidth", RATIO,
        "Bytes over what the peak allows, of the busiest part.",
        lambda run: max((memory["bandwidth_utilization"] for memory in run.memories.values()), default=0.0),
        more_is_better=True, band=(LATENCY,),
    ),
    ResultFigure(
        "dram.peak_bytes_per_s", "DRAM bandwidth", "B/s", "Peak bandwidth of all parts together.",
        lambda run: run.dram_peak_bytes_per_s, type=int, compared=False,
    ),
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class FigureKeys:
    """Of an object of a result whose keys are the figures of a section; ``also``: a TypedDict of its other keys;
    ``bounds``: its keys are those that have a bound, and its values say which."""

    section: str = ""
    says: str = ""
    also: type | None = None
    bounds: bool = False
