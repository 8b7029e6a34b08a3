"""The Result: what a run returns. Field names and meaning are the public summary (schema ``archsim.result/2``).

Cycles are reference-clock cycles, energies joules, powers watts, areas mm2. Sums hold exactly as stated per field.
What a key holds is said here, in ``ir.figure_table`` and in ``ir.result_parts``; ``archsim show schema result`` is made
of that. Readers take summaries of ``archsim.result/1`` too, which lack what came with the second schema (``since``) and
whose ``macs`` are those on arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from archsim.ir.activity import Activity
from archsim.ir.causes import CauseKeys
from archsim.ir.figure_table import DRAM, FIGURES, GROUPS, SAMPLE, FigureKeys
from archsim.ir.keys import RATIO, SECOND, TABLE, TEXT, ResultKey
from archsim.ir.result_parts import (
    ArchitectureFacts,
    Bands,
    DramMemories,
    GroupFacts,
    MemoryMap,
    Net,
    PowerFacts,
    Predicted,
    Provenance,
    Refinement,
    ScheduleFacts,
    WorkloadFacts,
)
from archsim.ir.timeline import Timeline

SCHEMA = "archsim.result/2"
FIRST_SCHEMA = "archsim.result/1"  # of stored results that are still read
RENDERING = (  # not public keys
    "critical",
    "area_breakdown_mm2",
    "floorplan",
    "sources",
    "not_modelled",
    "activity",
    "timelines",
    "power_trace",
    "power_parts",
    "predicted",
    "refinement",
    "net",
    "groups",
    "memory_map",
    "peak_dtype_macs_per_s",
)
OPTIONAL = ("per_sample", "schedule", "power", "bands")  # absent from the summary where there is nothing to say

Summary = Mapping[str, Any]  # a result as JSON: summary.json of a run or scenario


@dataclass(frozen=True, slots=True)
class LayerResult:
    """One row of ``layers``. ``_host`` and ``_static`` are rows too. ``cycles_total`` is a span and is never summed;
    ``cycles_critical`` sums to ``cycles_total`` of the run over all rows. ``stalls``: 'cause.operand' -> cycles, of
    the array rows.
    """

    name: Annotated[
        str, ResultKey(TEXT, "The layer's name; _host for the host's own time, _static for energy at rest.")
    ]
    op: Annotated[str, ResultKey(TEXT, "The operator as the model calls it.")]
    macs: Annotated[int, ResultKey("MAC", "Multiply-accumulates of the whole batch.")]
    cycles_start: Annotated[int, ResultKey("cycles", "When its first command starts.")]
    cycles_end: Annotated[int, ResultKey("cycles", "When its last command has ended.")]
    cycles_total: Annotated[int, ResultKey("cycles", "From the first to the last of them; layers overlap.")]
    utilization: Annotated[float, ResultKey(RATIO, "MACs on arrays over what the peak allows in its span.")]
    energy_j: Annotated[float, ResultKey("J", "Energy of its actions; layers sum to the run.")]
    dram_read_bytes: Annotated[int, ResultKey("B", "Bytes read for it on the pins of all DRAM.")]
    dram_write_bytes: Annotated[int, ResultKey("B", "Bytes written for it on the pins of all DRAM.")]
    cycles_critical: Annotated[int, ResultKey("cycles", "Its part of the critical path; layers sum to the run.")]
    bound_by: Annotated[str, ResultKey(TEXT, "The largest cause of its critical cycles."), CauseKeys("bounds")]
    stalls: Annotated[
        Mapping[str, int],
        ResultKey("cycles", "Waits of the arrays by cause and operand."),
        CauseKeys("of_arrays", operands=True),
    ]
    fused_with: Annotated[tuple[str, ...], ResultKey(TEXT, "Nodes of the model that are computed with it.")] = ()
    view_of: Annotated[
        str | None, ResultKey(TEXT, "The tensor that it is another view of; null for layers that work.")
    ] = None
    on_host: Annotated[bool, ResultKey(TEXT, "Whether the host computes it.")] = False


@dataclass(frozen=True, slots=True)
class CompositeResult(LayerResult):
    """The row of layers that are one thing together."""

    parts: Annotated[
        tuple[LayerResult, ...],
        ResultKey(TABLE, "Of a composite, whose figures are their sums, the rows of its layers; else absent.", SECOND),
    ] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """Everything a run reports; ``to_json`` gives the public summary, the rest feeds plots and pages."""

    workload: Annotated[WorkloadFacts, ResultKey(TABLE, "What was run.")]
    architecture: Annotated[ArchitectureFacts, ResultKey(TABLE, "The chip that it was run on.")]
    figures: Annotated[Mapping[str, Any], FigureKeys()]  # keys of the summary itself
    bounds: Annotated[
        Mapping[str, str],
        ResultKey(TABLE, "Which figures leave out something of the real chip.", SECOND),
        FigureKeys(
            says="Of figures that leave something of the real chip out, on which side of it they lie.", bounds=True
        ),
    ]
    per_sample: Annotated[
        Mapping[str, Any] | None,
        ResultKey(TABLE, "Figures of a sample; absent where the batch is not known.", SECOND),
        FigureKeys(SAMPLE, "Figures of the run divided by the samples of its batch."),
    ]
    dram: Annotated[
        Mapping[str, Any],
        ResultKey(TABLE, "All DRAM parts over the run."),
        FigureKeys(DRAM, "All DRAM parts over the run.", DramMemories),
    ]
    mac_breakdown: Annotated[
        Mapping[str, int],
        ResultKey(GROUPS["mac_breakdown"].unit, "Where cycles x peak went; sums to it exactly."),
        CauseKeys("slots", whole=True),
    ]
    energy_breakdown_j: Annotated[
        Mapping[str, float], ResultKey(GROUPS["energy_breakdown_j"].unit, "Energy by part; sums to energy_j.")
    ]
    time_breakdown: Annotated[
        Mapping[str, Annotated[Mapping[str, int], CauseKeys("time", whole=True)]],
        ResultKey(GROUPS["time_breakdown"].unit, "Of each unit the cycles by cause; every row sums to cycles_total."),
    ]
    layers: Annotated[
        tuple[LayerResult, ...], ResultKey(TABLE, "A row for each layer, view, the host and energy at rest.")
    ]
    provenance: Annotated[Provenance, ResultKey(TABLE, "What the result follows from.")]
    schedule: Annotated[
        ScheduleFacts | None,
        ResultKey(TABLE, "The schedule that the compiler made; absent of a Program given as text.", SECOND),
    ] = None
    power: Annotated[
        PowerFacts | None,
        ResultKey(TABLE, "Energy by what the chip does; absent in results that are not simulated.", SECOND),
    ] = None
    bands: Annotated[
        Bands | None,
        ResultKey(
            TABLE, "How far measured chips may be from figures; absent in results that are not simulated.", SECOND
        ),
    ] = None
    # beyond the public summary, for rendering:
    critical: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # layer -> cause -> critical cycles
    area_breakdown_mm2: Mapping[str, float] = field(default_factory=dict)
    floorplan: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # block -> published, predicted mm2
    sources: Mapping[str, str] = field(default_factory=dict)  # number's key path -> where it comes from
    not_modelled: tuple[str, ...] = ()  # what the real chip has and this one lacks
    activity: Activity | None = None
    timelines: Mapping[str, Timeline] = field(default_factory=dict)  # unit -> what its time is charged to
    power_trace: tuple[tuple[float, float], ...] = ()  # (time_s, watts) per window
    power_parts: tuple[tuple[str, tuple[float, ...]], ...] = ()  # part -> joules in equal windows of the run
    predicted: Mapping[str, Predicted] = field(default_factory=dict)  # by layer
    refinement: Refinement | None = None  # what a refined mapping gained
    net: Net | None = None  # what the mappings of other objectives gave
    groups: tuple[GroupFacts, ...] = ()  # layers that ran together
    memory_map: Mapping[str, MemoryMap] = field(default_factory=dict)  # what lies in on-chip memories
    peak_dtype_macs_per_s: float = 0.0  # of the arrays at the formats used

    def __getattr__(self, key: str) -> Any:
        """A figure by its key: ``result.energy_j``. Raises AttributeError for another name."""
        if key.startswith("_") or key in self.__dataclass_fields__ or key not in self.figures:
            raise AttributeError(f"a Result has no {key}")
        return self.figures[key]

    @property
    def single_layers(self) -> tuple[LayerResult, ...]:
        """The rows with the parts of composites in place of these."""
        return tuple(part for row in self.layers for part in _parts(row) or (row,))

    def to_json(self) -> dict[str, Any]:
        """The public summary as plain JSON types, keys in the documented order."""
        plain: dict[str, Any] = {"schema": SCHEMA}
        for name in self.__dataclass_fields__:
            if name == "figures":
                plain |= _plain(self.figures)
            elif name == "layers":
                plain["layers"] = [_layer_json(layer) for layer in self.layers]
            elif name not in RENDERING and (name not in OPTIONAL or getattr(self, name)):
                plain[name] = _plain(getattr(self, name))
        return plain


def public_keys() -> tuple[str, ...]:
    """The keys of a summary in their order, without its schema."""
    fields = [name for name in Result.__dataclass_fields__ if name not in RENDERING]
    return tuple(
        key for name in fields for key in ([row.key for row in FIGURES.stored[""]] if name == "figures" else [name])
    )


def single_layers(summary: Summary) -> list[Mapping[str, Any]]:
    """The rows of ``layers`` with the parts of composites in place of these: each layer that ran, once."""
    return [part for row in summary["layers"] for part in (row.get("parts") or (row,))]


def _parts(row: LayerResult) -> tuple[LayerResult, ...]:
    return row.parts if isinstance(row, CompositeResult) else ()


def _layer_json(layer: LayerResult) -> dict[str, Any]:
    return {key: _plain(value) for key, value in asdict(layer).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
