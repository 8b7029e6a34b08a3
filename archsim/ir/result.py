"""The Result: what a run returns. Field names and meaning are the public summary (schema ``archsim.result/2``).

Cycles are reference-clock cycles, energies joules, powers watts, areas mm2. Sums hold exactly as stated per field.
Readers take summaries of ``archsim.result/1`` too, which lack what came with the second schema: ``macs_array`` to
``utilization_dtype``, ``per_sample``, ``dram.memories``, ``bounds``, the cause ``weight_load``; their ``macs`` are
those on arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from archsim.ir.activity import Activity
from archsim.ir.timeline import Timeline

SCHEMA = "archsim.result/2"
FIRST_SCHEMA = "archsim.result/1"  # of stored results that are still read
RENDERING = (  # not public keys
    "critical",
    "area_breakdown_mm2",
    "sources",
    "not_modelled",
    "activity",
    "timelines",
    "power_trace",
    "power_parts",
    "predicted",
    "refinement",
    "peak_dtype_macs_per_s",
)
OPTIONAL = ("per_sample",)  # absent from the summary where there is nothing to say


@dataclass(frozen=True, slots=True)
class LayerResult:
    """One row of ``layers``. ``_host`` and ``_static`` are rows too. ``cycles_total`` is a span and is never summed;
    ``cycles_critical`` sums to ``cycles_total`` of the run over all rows. ``stalls``: 'cause.operand' -> cycles, of
    the array rows.
    """

    name: str
    op: str
    macs: int
    cycles_start: int
    cycles_end: int
    cycles_total: int
    utilization: float
    energy_j: float
    dram_read_bytes: int
    dram_write_bytes: int
    cycles_critical: int
    bound_by: str
    stalls: Mapping[str, int]
    fused_with: tuple[str, ...] = ()
    view_of: str | None = None
    on_host: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """Everything a run reports; ``to_json`` gives the public summary, the rest feeds plots and pages."""

    workload: Mapping[str, Any]  # name, layers, macs, parameters, weight_bytes
    architecture: Mapping[str, Any]  # name, clock_hz, peak_macs_per_s
    cycles_total: int
    latency_s: float
    throughput_per_s: float
    macs: int  # of all engines and the host: the three below together, and those of the workload
    macs_array: int
    macs_vector: int
    macs_host: int
    utilization: float  # macs_array / (cycles_total x best peak MACs per cycle)
    utilization_dtype: float  # the same over the peak of the formats used
    energy_j: float
    energy_chip_j: float
    power_avg_w: float
    power_peak_w: float
    power_window_s: float
    edp_js: float
    area_mm2: float | None
    die_cost_usd: float | None
    bounds: Mapping[str, str]  # figure -> lower | estimate: what of the real chip it leaves out
    per_sample: Mapping[str, Any]  # samples of the batch, and figures divided by them; {} for a Program given as text
    dram: Mapping[str, Any]
    mac_breakdown: Mapping[str, int]
    energy_breakdown_j: Mapping[str, float]
    time_breakdown: Mapping[str, Mapping[str, int]]
    layers: tuple[LayerResult, ...]
    provenance: Mapping[str, Any]
    # beyond the public summary, for rendering:
    critical: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # layer -> cause -> critical cycles
    area_breakdown_mm2: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)  # number's key path -> where it comes from
    not_modelled: tuple[str, ...] = ()  # what the real chip has and this one lacks
    activity: Activity | None = None
    timelines: Mapping[str, Timeline] = field(default_factory=dict)  # unit -> what its time is charged to
    power_trace: tuple[tuple[float, float], ...] = ()  # (time_s, watts) per window
    power_parts: tuple[tuple[str, tuple[float, ...]], ...] = ()  # part -> joules in equal windows of the run
    predicted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # layer -> bound, simulated alone, proof
    refinement: Mapping[str, Any] = field(default_factory=dict)  # what a refined mapping gained
    peak_dtype_macs_per_s: float = 0.0  # of the arrays at the formats used

    def to_json(self) -> dict[str, Any]:
        """The public summary as plain JSON types, keys in the documented order."""
        plain: dict[str, Any] = {"schema": SCHEMA}
        for name in self.__dataclass_fields__:
            if name == "layers":
                plain["layers"] = [_layer_json(layer) for layer in self.layers]
            elif name not in RENDERING and (name not in OPTIONAL or getattr(self, name)):
                plain[name] = _plain(getattr(self, name))
        return plain


def _layer_json(layer: LayerResult) -> dict[str, Any]:
    return {key: _plain(value) for key, value in asdict(layer).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
