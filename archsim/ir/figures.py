"""The objects that a Result holds, key by key with units and meanings: the only place where these keys are defined.

Who makes them is checked against these types; the JSON Schema of results is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from archsim.ir.keys import COUNT, RATIO, SECOND, TABLE, TEXT, Key

Bound = Literal["lower", "estimate"]


class WorkloadFacts(TypedDict):
    """What was run."""

    name: Annotated[str, Key(TEXT, "The model's name, or that of a Program given as text.")]
    layers: Annotated[int, Key(COUNT, "Layers that do work; views are none.")]
    macs: Annotated[int, Key("MAC", "Multiply-accumulates of the whole batch, on whatever engine.")]
    parameters: Annotated[int, Key(COUNT, "Elements of all weights and tables; 0 of a Program given as text.")]
    weight_bytes: Annotated[int, Key("B", "Weights as stored in the formats used; 0 of a Program given as text.")]


class ArchitectureFacts(TypedDict):
    """The chip that it was run on."""

    name: Annotated[str, Key(TEXT, "The chip's name.")]
    clock_hz: Annotated[int, Key("Hz", "The reference clock, which all cycles of a result count.")]
    peak_macs_per_s: Annotated[float, Key("MAC/s", "All arrays together at their best formats.")]


class FigureBounds(TypedDict):
    """Of figures that leave something of the real chip out, on which side of it they lie."""

    area_mm2: Annotated[Bound, Key(TEXT, "What the area is of the real one: a lower bound or an estimate.")]
    power_avg_w: Annotated[Bound, Key(TEXT, "What the power is of the real one: a lower bound or an estimate.")]


class PerSample(TypedDict):
    """Figures of the run divided by the samples of its batch."""

    samples: Annotated[int, Key(COUNT, "Samples of the batch.")]
    cycles: Annotated[float, Key("cycles", "Cycles of the run for each sample.")]
    time_s: Annotated[float, Key("s", "Time of the run for each sample.")]
    energy_j: Annotated[float, Key("J", "Energy for each sample.")]
    macs: Annotated[float, Key("MAC", "Multiply-accumulates of each sample.")]
    dram_bytes: Annotated[float, Key("B", "Bytes on the pins of all DRAM for each sample, both directions.")]


class MemoryFigures(TypedDict):
    """One DRAM part over the run."""

    read_bytes: Annotated[int, Key("B", "Bytes read on its pins, in whole bursts.")]
    write_bytes: Annotated[int, Key("B", "Bytes written on its pins, in whole bursts.")]
    useful_bytes: Annotated[int, Key("B", "Bytes that commands asked for, both directions.")]
    bandwidth_utilization: Annotated[float, Key(RATIO, "Bytes on the pins over those that the peak allows.")]


class DramFigures(TypedDict):
    """All DRAM parts over the run."""

    read_bytes: Annotated[int, Key("B", "Bytes read on all pins, in whole bursts.")]
    write_bytes: Annotated[int, Key("B", "Bytes written on all pins, in whole bursts.")]
    useful_bytes: Annotated[int, Key("B", "Bytes that commands asked for, both directions.")]
    row_hit_rate: Annotated[
        float | None, Key(RATIO, "Bursts that found their row open; null without bursts or without rows.")
    ]
    bandwidth_utilization: Annotated[float, Key(RATIO, "Bytes over what the peak allows, of the busiest part.")]
    peak_bytes_per_s: Annotated[int, Key("B/s", "Peak bandwidth of all parts together.")]
    memories: Annotated[Mapping[str, MemoryFigures], Key(TABLE, "The same by DRAM part.", SECOND)]


class RunOptions(TypedDict):
    """The options that the numbers depend on, with what they came to."""

    objective: Annotated[str, Key(TEXT, "What the mapping was searched for: latency, energy or edp.")]
    batch: Annotated[int | None, Key(COUNT, "Samples of the batch; null for a Program given as text.")]
    dtypes: Annotated[Mapping[str, str] | None, Key(TEXT, "Number format by role; null for a Program given as text.")]
    set: Annotated[Mapping[str, str], Key(TEXT, "Values of the chip that were changed, by key path.")]
    on_unsupported: Annotated[str, Key(TEXT, "What was asked for layers that the chip cannot run: error or host.")]
    fidelity: Annotated[str | None, Key(TEXT, "The fidelity that was asked for; null where the chip decides.")]
    mapping: NotRequired[Annotated[str, Key(TEXT, "SHA-256 of the mapping file that was taken.")]]
    refine: NotRequired[Annotated[int, Key(COUNT, "Mappings of each layer that the simulator ranked.")]]
    lookups: NotRequired[Annotated[Mapping[str, str], Key(TEXT, "Access patterns that were set, by node.")]]
    parameters: NotRequired[Annotated[Mapping[str, int], Key(COUNT, "Sizes of a workload that were set, by name.")]]


class RepeatFacts(TypedDict):
    """How a run was repeated for its steady interval."""

    mode: Annotated[str, Key(TEXT, "exact: every run was simulated; steady: only those that differ.")]
    warm: Annotated[int, Key(COUNT, "Runs, of which the last one counts.")]
    interval_s: Annotated[float, Key("s", "Time from the end of the last run but one to the end of the last.")]
    simulated: Annotated[int, Key(COUNT, "Runs that were simulated.")]
    difference: NotRequired[
        Annotated[float, Key(RATIO, "By how much the second run differs from the exact one, where it is steady.")]
    ]


class Provenance(TypedDict):
    """What a result follows from; equal ones mean equal numbers."""

    archsim_version: Annotated[str, Key(TEXT, "The version that simulated.")]
    model_sha256: Annotated[str, Key(TEXT, "SHA-256 of the model or of the Program's text.")]
    chip_sha256: Annotated[str, Key(TEXT, "SHA-256 of the resolved chip.")]
    options: Annotated[RunOptions, Key(TABLE, "The options that the numbers depend on.")]
    seed: Annotated[int, Key(COUNT, "The seed of what is drawn.")]
    fidelity: Annotated[Mapping[str, str], Key(TEXT, "Fidelity by DRAM part and network.")]
    repeat: Annotated[str | RepeatFacts, Key(TEXT, "exact for a single run, else how it was repeated.")]
    warnings: Annotated[Sequence[str], Key(TEXT, "What the user should know of model, chip and numbers.")]


class Predicted(TypedDict):
    """What the compiler knew of a layer."""

    bound_cycles: Annotated[int, Key("cycles", "The lower bound of its mapping.")]
    alone_cycles: Annotated[int | None, Key("cycles", "Simulated by itself; null where it was not.")]
    proof: Annotated[str, Key(TEXT, "How far the search went.")]


class Refinement(TypedDict):
    """What ranking mappings by simulation gained."""

    candidates: Annotated[int, Key(COUNT, "Mappings of each layer that were simulated at most.")]
    refined_cycles: Annotated[int, Key("cycles", "The run with the mappings that were best by simulation.")]
    analytic_cycles: Annotated[int, Key("cycles", "The run with the mappings that the cost model chose.")]
    kept: Annotated[Literal["refined", "analytic"], Key(TEXT, "Whose result this is.")]
