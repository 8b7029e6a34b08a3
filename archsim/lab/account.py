"""From what the machine did to what a run reports: Activity + Architecture + Workload -> Result.

Definitions beyond those of the fields: ``macs`` are MACs done on arrays (vector units' are no part of
utilization); DRAM bytes are bytes on the pins (whole bursts), also per layer, so that layers sum to the run;
``useful_bytes`` are those that were asked for. Rows follow the model's order, views behind the layer they are
a view of, then what the model does not name, ``_host`` and ``_static``. A row without cycles is bound by its
stalls, else by compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from archsim import __version__
from archsim.energy.account import Energy, account
from archsim.energy.chip import tables_for
from archsim.energy.power import power
from archsim.errors import SimulationError
from archsim.ir.activity import Activity
from archsim.ir.mapping import ModelMapping
from archsim.ir.result import LayerResult, Result
from archsim.ir.workload import Workload
from archsim.lab.layer_rows import Facts, layer_rows
from archsim.repetition import Repetition
from archsim.sim.attribution import Cube, attribute
from archsim.sim.critical import critical_cycles, critical_path
from archsim.sim.mac_breakdown import array_units, mac_breakdown, peak_macs_per_cycle
from archsim.spec.architecture import Architecture
from archsim.spec.dtypes import BITS

_PS = 10**12


@dataclass(frozen=True, slots=True)
class Origin:
    """What the provenance says beside the model and the chip."""

    options: Mapping[str, Any]
    seed: int
    warnings: Sequence[str] = ()
    repetition: Repetition | None = None

    @property
    def repeat(self) -> str | dict[str, Any]:
        """How repetitions were simulated; plainly ``exact`` for a single run."""
        return "exact" if self.repetition is None else self.repetition.provenance


def assemble(
    workload: Workload | None,
    architecture: Architecture,
    activity: Activity,
    mapping: ModelMapping | None = None,
    *,
    options: Mapping[str, Any],
    seed: int = 0,
    warnings: Sequence[str] = (),
    repetition: Repetition | None = None,
) -> Result:
    """The Result of a run. ``workload`` is None for a Program given as text; ``mapping`` gives the dtypes
    used.

    Raises ConfigError for missing energy tables, SimulationError when a conservation law is broken.
    """
    dtypes = {**architecture.dtypes, **(mapping.dtypes if mapping is not None else {})}
    tables = tables_for(architecture, dtypes)
    energy = account(activity, architecture, tables)
    cube = attribute(activity)
    critical = critical_cycles(critical_path(activity), activity.clock_hz)
    breakdown = mac_breakdown(activity, architecture, cube)
    layers = layer_rows(workload, _facts(activity, architecture, cube, energy, critical))
    watts = power(activity, energy, tables)
    area = tables.area_breakdown_mm2()
    latency_s = activity.total_ps / _PS
    origin = Origin(options, seed, warnings, repetition)
    interval_s = latency_s if repetition is None else repetition.interval_ps / _PS
    return Result(
        workload=_facts_of(workload, activity, dtypes, breakdown["useful"]),
        architecture=chip_facts(architecture),
        cycles_total=cube.cycles_total,
        latency_s=latency_s,
        throughput_per_s=(workload.batch if workload is not None else 1) / interval_s if interval_s else 0.0,
        macs=breakdown["useful"],
        utilization=_ratio(breakdown["useful"], cube.cycles_total * peak_macs_per_cycle(architecture)),
        energy_j=energy.total_j,
        energy_chip_j=energy.chip_j,
        power_avg_w=watts.avg_w,
        power_peak_w=watts.peak_w,
        power_window_s=watts.window_s,
        edp_js=energy.total_j * latency_s,
        area_mm2=fsum(area.values()),
        die_cost_usd=None,
        dram=_dram(activity, layers, latency_s),
        mac_breakdown=breakdown,
        energy_breakdown_j=energy.by_part_j(),
        time_breakdown=cube.time_breakdown(),
        layers=layers,
        provenance=_provenance(workload, architecture, activity, origin),
        critical=critical,
        area_breakdown_mm2=area,
        sources={**architecture.sources, **tables.sources()},
        not_modelled=architecture.not_modelled,
        activity=activity,
        timelines=cube.timelines,
        power_trace=watts.trace,
        predicted=_predicted(mapping),
    )


def _predicted(mapping: ModelMapping | None) -> dict[str, dict[str, Any]]:
    """What the compiler knew of each layer: its bound, its cycles alone where they were simulated, its proof."""
    return {
        layer.layer: {
            "bound_cycles": layer.bound_cycles,
            "alone_cycles": layer.simulated_cycles or None,
            "proof": layer.proof,
        }
        for layer in (mapping.layers if mapping is not None else ())
    }


def _facts(
    activity: Activity,
    architecture: Architecture,
    cube: Cube,
    energy: Energy,
    critical: Mapping[str, Mapping[str, int]],
) -> Facts:
    arrays = array_units(activity, architecture)
    peak = peak_macs_per_cycle(architecture)
    return Facts(activity, cube.stalls(arrays), critical, energy.by_layer_j(), float(peak))


def _facts_of(workload: Workload | None, activity: Activity, dtypes: Mapping[str, str], macs: int) -> dict[str, Any]:
    if workload is None:
        names = {text.layer for queue in activity.records.values() for text in queue.texts if text.layer}
        return {
            "name": activity.program,
            "layers": len(names),
            "macs": macs,
            "parameters": 0,
            "weight_bytes": 0,
        }
    return workload_facts(workload, dtypes)


def workload_facts(workload: Workload, dtypes: Mapping[str, str]) -> dict[str, Any]:
    """``workload`` of a summary, of a model in formats by role."""
    return {
        "name": workload.name,
        "layers": len(workload.layers),
        "macs": workload.macs,
        "parameters": workload.parameters,
        "weight_bytes": _weight_bytes(workload, dtypes),
    }


def _weight_bytes(workload: Workload, dtypes: Mapping[str, str]) -> int:
    """Bytes of all weights as stored: biases at the accumulator's width, tables at theirs."""
    used = {operand.tensor: operand for layer in workload.layers for operand in layer.inputs}
    bits = 0
    for name, tensor in workload.tensors.items():
        if tensor.kind != "weight" or tensor.view is not None:
            continue
        operand = used.get(name)
        role = operand.role if operand is not None else "weights"
        dtype = dtypes["accumulate"] if operand is not None and operand.name == "bias" else dtypes.get(role, "")
        bits += tensor.elements * BITS[dtype or dtypes["weights"]]
    return -(-bits // 8)


def chip_facts(architecture: Architecture) -> dict[str, Any]:
    """``architecture`` of a summary."""
    peak = peak_macs_per_cycle(architecture) * architecture.clock_hz
    whole = int(peak) if peak.denominator == 1 else float(peak)
    return {"name": architecture.name, "clock_hz": architecture.clock_hz, "peak_macs_per_s": whole}


def _dram(activity: Activity, layers: Sequence[LayerResult], latency_s: float) -> dict[str, Any]:
    stats = activity.dram.values()
    read, written = sum(s.read_bytes for s in stats), sum(s.write_bytes for s in stats)
    _check_conserved(layers, read, written)
    hits = sum(s.row_hits for s in stats)
    rows = hits + sum(s.row_misses + s.row_conflicts for s in stats)
    peak = sum(s.peak_bytes_per_s for s in stats)
    return {
        "read_bytes": read,
        "write_bytes": written,
        "useful_bytes": sum(s.useful_read_bytes + s.useful_write_bytes for s in stats),
        "row_hit_rate": hits / rows if rows else None,
        "bandwidth_utilization": _ratio(read + written, peak * latency_s),
        "peak_bytes_per_s": peak,
    }


def _check_conserved(layers: Sequence[LayerResult], read: int, written: int) -> None:
    by_layer = sum(row.dram_read_bytes for row in layers), sum(row.dram_write_bytes for row in layers)
    if by_layer != (read, written):
        raise SimulationError(
            f"DRAM bytes are not conserved: layers read and wrote {by_layer}, the pins moved {(read, written)}"
        )


def _provenance(
    workload: Workload | None, architecture: Architecture, activity: Activity, origin: Origin
) -> dict[str, Any]:
    stated = (*(workload.warnings if workload is not None else ()), *architecture.warnings, *origin.warnings)
    return {
        "archsim_version": __version__,
        "model_sha256": workload.sha256 if workload is not None else "",
        "chip_sha256": architecture.sha256,
        "options": dict(origin.options),
        "seed": origin.seed,
        "fidelity": dict(sorted(activity.fidelity.items())),
        "repeat": origin.repeat,
        "warnings": list(dict.fromkeys(stated)),
    }


def _ratio(part: float, whole: Any) -> float:
    return float(part / whole) if whole else 0.0
