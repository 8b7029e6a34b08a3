"""From what the machine did to what a run reports: Activity + Architecture + Workload -> Result.

Definitions beyond those of the fields: MACs are counted by who does them, and only those on arrays enter utilization;
DRAM bytes are bytes on the pins (whole bursts), also per layer, so that layers sum to the run. Rows follow the model's
order, views behind the layer they are a view of, then what the model does not name, ``_host`` and ``_static``. A row
without critical cycles is bound by the largest share of its arrays' time, else by compute.

Arrays, vector units and the host together do the MACs of the workload. The arrays' own time in a layer, waiting apart,
is split into useful work and the reasons why the rest of it was none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import NamedTuple

import numpy as np

from archsim.base import registry
from archsim.base.errors import SimulationError
from archsim.base.version import __version__
from archsim.energy.account import account
from archsim.energy.bands import sides
from archsim.energy.chip import UNPAIRED, tables_for
from archsim.energy.die import block_mm2
from archsim.energy.power import by_part, power
from archsim.ir.activity import Activity
from archsim.ir.causes import CAUSES
from archsim.ir.figure_table import DRAM, FIGURES, SAMPLE, RunQuantities
from archsim.ir.mapping import ModelMapping
from archsim.ir.packing import stored_bits
from archsim.ir.result import Result
from archsim.ir.result_parts import (
    ArchitectureFacts,
    GroupFacts,
    Predicted,
    Provenance,
    RepeatFacts,
    RunOptions,
    SteadyFacts,
    WorkloadFacts,
)
from archsim.ir.workload import Workload
from archsim.lab.run import warnings_of_run
from archsim.lab.run.dram_figures import dram_parts, dram_roles, row_hit_rate
from archsim.lab.run.layer_rows import LayerFacts, layer_rows, with_composites
from archsim.repetition import Repetition
from archsim.sim.attribution import AttributionCube, attribute
from archsim.sim.critical import critical_cycles, critical_path
from archsim.sim.mac_breakdown import array_units, mac_breakdown, peak_macs_per_cycle, peak_of_formats
from archsim.spec.architecture import Architecture, Array
from archsim.spec.dtypes import BITS
from mapper.bound.network import NetworkBound


class Macs(NamedTuple):
    """MACs done by each kind of engine."""

    array: int
    vector: int
    host: int

    @property
    def total(self) -> int:
        """MACs of all engines and the host."""
        return self.array + self.vector + self.host


def macs_by_engine(workload: Workload | None, activity: Activity) -> Macs:
    """MACs that commands did, and those of layers on the host.

    Raises SimulationError when they are not the workload's: a MAC that nobody did, or that was done twice.
    """
    done = {"MATMUL": 0, "VECTOR": 0}
    for records in activity.records.values():
        columns = records.columns()
        for op in done:
            of_op = np.array([text.op == op for text in records.texts], dtype=np.bool_)
            done[op] += int(columns.macs[of_op[columns.text]].sum())
    layers = workload.layers if workload is not None else ()
    found = Macs(done["MATMUL"], done["VECTOR"], sum(layer.macs for layer in layers if layer.kind == "host"))
    if workload is not None and found.total != workload.macs:
        raise SimulationError(
            f"MACs are not conserved: the model has {workload.macs}, arrays did {found.array}, vector units "
            f"{found.vector}, the host {found.host}"
        )
    return found


def executed_on_arrays(counts: Mapping[tuple[str, str, str], int], architecture: Architecture) -> int:
    """Multiply-accumulates of all tiles of arrays, whether their guards let them count or not."""
    arrays = {array.name for array in architecture.arrays}
    return sum(count for (_, part, action), count in counts.items() if action == "mac" and part in arrays)


def array_time(activity: Activity, cube: AttributionCube, arrays: Mapping[str, Array]) -> dict[str, dict[str, int]]:
    """Layer -> cause -> cycles, summed over ``arrays`` (unit -> the part that it is).

    ``compute``: the time that the layer's MACs take at the pace of the formats used; ``edge_underfill``: the rest of
    the busy time; ``weight_load`` and ``fill_drain`` as in the time breakdown.
    """
    found: dict[str, dict[str, int]] = {}
    for unit, array in arrays.items():
        useful = _useful_cycles(activity, unit, array)
        for layer, causes in cube.by_layer(unit).items():
            busy = causes.get("busy", 0)
            compute = min(busy, round(useful.get(layer, Fraction(0))))
            own = {
                "compute": compute,
                "edge_underfill": busy - compute,
                **{key: causes.get(key, 0) for key in CAUSES.own},
            }
            sums = found.setdefault(layer, dict.fromkeys(own, 0))
            for cause, cycles in own.items():
                sums[cause] += cycles
    return found


def _useful_cycles(activity: Activity, unit: str, array: Array) -> dict[str, Fraction]:
    """Layer -> reference cycles that its MACs on ``unit`` take where no PE is without work."""
    records = activity.records[unit]
    columns = records.columns()
    pace = Fraction(activity.clock_hz, array.clock_hz)
    found: dict[str, Fraction] = {}
    for slots in filter(None, np.unique(columns.slots_per_cycle).tolist()):
        macs = np.zeros(len(records.texts), dtype=np.int64)
        np.add.at(macs, columns.text, np.where(columns.slots_per_cycle == slots, columns.macs, 0))
        of_layer: dict[str, int] = {}
        for text, done in zip(records.texts, macs.tolist(), strict=True):
            of_layer[text.layer] = of_layer.get(text.layer, 0) + done
        for layer, done in of_layer.items():
            cycles = Fraction(done * pace.numerator, slots * pace.denominator)
            found[layer] = found[layer] + cycles if layer in found else cycles
    return found


_PS = 10**12


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """What the provenance says beside the model and the chip."""

    options: RunOptions
    seed: int
    warnings: Sequence[str] = ()
    repetition: Repetition | None = None
    steady: SteadyFacts | None = None

    @property
    def repeat(self) -> str | RepeatFacts | SteadyFacts:
        """How repetitions were simulated; plainly ``exact`` for a single run of which everything was."""
        return self.steady or ("exact" if self.repetition is None else self.repetition.provenance)


def assemble(
    workload: Workload | None,
    architecture: Architecture,
    activity: Activity,
    mapping: ModelMapping | None = None,
    *,
    options: RunOptions,
    seed: int = 0,
    warnings: Sequence[str] = (),
    repetition: Repetition | None = None,
    steady: SteadyFacts | None = None,
    pairs: Mapping[str, tuple[str, str]] = UNPAIRED,
    least: NetworkBound | None = None,
) -> Result:
    """The Result of a run. ``workload`` is None for a Program given as text; ``mapping`` gives the dtypes
    used; ``steady``: what was simulated of equal blocks of layers, where not all was; ``pairs``: layer -> formats of
    inputs and weights that an array computes it in, the dtypes where none is stated; ``least``: what no schedule of
    the workload undercuts.

    Raises ConfigError for missing energy tables, SimulationError when a conservation law is broken.
    """
    dtypes = {**architecture.dtypes, **(mapping.dtypes if mapping is not None else {})}
    tables = tables_for(architecture, dtypes, pairs)
    energy = account(activity, architecture, tables)
    cube = attribute(activity)
    arrays = array_units(activity, architecture)
    path = critical_path(activity, {unit: array.clock_hz for unit, array in arrays.items()})
    critical = critical_cycles(path, activity.clock_hz)
    breakdown = mac_breakdown(activity, architecture, cube)
    macs = macs_by_engine(workload, activity)
    peak, used = peak_macs_per_cycle(architecture), peak_of_formats(activity, architecture, dtypes)
    busy = array_time(activity, cube, arrays)
    facts = LayerFacts(activity, cube.stalls(arrays), critical, energy.by_layer_j(), float(peak), busy)
    layers = layer_rows(workload, facts)
    watts = power(activity, energy, tables)
    area = tables.area_breakdown_mm2()
    latency_s = activity.total_ps / _PS
    predicted = _predicted(mapping)
    seen = warnings_of_run.figures(activity, layers, predicted, cube.cycles_total)
    origin = RunOrigin(options, seed, (*warnings, *seen), repetition, steady)
    interval_s = latency_s if repetition is None else repetition.interval_ps / _PS
    quantities = RunQuantities(
        architecture=architecture,
        workload=workload,
        counts=activity.counts,
        cycles=cube.cycles_total,
        latency_s=latency_s,
        interval_s=interval_s,
        macs_array=macs.array,
        macs_vector=macs.vector,
        macs_host=macs.host,
        macs_executed=executed_on_arrays(activity.counts, architecture) + macs.vector + macs.host,
        peak=peak,
        peak_used=used,
        energy_j=energy.total_j,
        energy_chip_j=energy.chip_j,
        power_avg_w=watts.avg_w,
        power_peak_w=watts.peak_w,
        power_window_s=watts.window_s,
        area_mm2=fsum(area.values()),
        memories=dram_parts(activity, layers, latency_s),
        dram_peak_bytes_per_s=sum(stats.peak_bytes_per_s for stats in activity.dram.values()),
        row_hit_rate=row_hit_rate(activity),
        bound_cycles=least.cycles if least is not None else None,
        compulsory_bytes=least.bytes if least is not None else None,
    )
    figures = FIGURES.of_run(quantities)
    return Result(
        workload=_facts_of(workload, activity, dtypes, macs.total),
        architecture=chip_facts(architecture),
        figures=figures[""],
        bounds=FIGURES.bounds | sides(architecture),
        per_sample=figures.get(SAMPLE),
        dram={**figures[DRAM], "memories": quantities.memories, **_roles(workload, activity)},
        mac_breakdown=breakdown,
        energy_breakdown_j=energy.by_part_j(),
        time_breakdown=cube.time_breakdown(),
        layers=with_composites(layers, workload.composites if workload is not None else (), facts),
        provenance=_provenance(workload, architecture, activity, origin),
        critical=critical,
        area_breakdown_mm2=area,
        floorplan={name: (block.area_mm2, block_mm2(block, area)) for name, block in architecture.floorplan.items()},
        sources={**architecture.sources, **tables.sources()},
        not_modelled=architecture.not_modelled,
        activity=activity,
        timelines=cube.timelines,
        power_trace=watts.trace,
        power_parts=by_part(activity, energy, tables),
        power={"states": energy.by_state_j()},
        predicted=predicted,
        groups=_groups(mapping),
        peak_dtype_macs_per_s=float(used * architecture.clock_hz),
    )


def _roles(workload: Workload | None, activity: Activity) -> dict[str, object]:
    """DRAM bytes by role, of models that have states: what they read of them and write there."""
    if workload is None or all(tensor.state is None for tensor in workload.tensors.values()):
        return {}
    found = dram_roles(activity)
    return {"roles": found} if found else {}


def _predicted(mapping: ModelMapping | None) -> dict[str, Predicted]:
    """What the compiler knew of each layer: its bound, its cycles alone where they were simulated, its proof."""
    return {
        layer.layer: {
            "bound_cycles": layer.bound_cycles,
            "alone_cycles": layer.simulated_cycles or None,
            "proof": layer.proof,
        }
        for layer in (mapping.layers if mapping is not None else ())
    }


def _groups(mapping: ModelMapping | None) -> tuple[GroupFacts, ...]:
    """The layers that ran together."""
    return tuple(
        {
            "name": group.name,
            "layers": [member.layer for member in group.members],
            "loops": {f"{loop.layer}.{loop.dim}": loop.tile for loop in group.loops},
            "windows": [
                {"tensor": each.tensor, "memory": each.level, "rows": each.rows, "step": each.step, "slots": each.slots}
                for each in group.windows
            ],
        }
        for group in (mapping.groups if mapping is not None else ())
    )


def _facts_of(workload: Workload | None, activity: Activity, dtypes: Mapping[str, str], macs: int) -> WorkloadFacts:
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


def workload_facts(workload: Workload, dtypes: Mapping[str, str]) -> WorkloadFacts:
    """``workload`` of a summary, of a model in formats by role."""
    return {
        "name": workload.name,
        "layers": len(workload.layers),
        "macs": workload.macs,
        "parameters": workload.parameters,
        "weight_bytes": _weight_bytes(workload, dtypes),
        "activation_bytes": _activation_bytes(workload, dtypes),
        "state_bytes": _state_bytes(workload, dtypes),
        "folded_macs": workload.folded_macs,
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
        bits += stored_bits(tensor, BITS[dtype or dtypes["weights"]])
    return -(-bits // 8)


def _activation_bytes(workload: Workload, dtypes: Mapping[str, str]) -> int:
    """Bytes of all that layers write."""
    written = {layer.output.tensor: layer.output.role for layer in workload.layers}
    return -(-sum(workload.tensors[name].elements * BITS[dtypes[role]] for name, role in written.items()) // 8)


def _state_bytes(workload: Workload, dtypes: Mapping[str, str]) -> int:
    """Bytes of all states, with the rows that are not there yet."""
    states = [tensor.elements for tensor in workload.tensors.values() if tensor.state is not None]
    return -(-sum(states) * BITS[dtypes["kv"]] // 8) if states else 0


def chip_facts(architecture: Architecture) -> ArchitectureFacts:
    """``architecture`` of a summary."""
    peak = peak_macs_per_cycle(architecture) * architecture.clock_hz
    whole = int(peak) if peak.denominator == 1 else float(peak)
    return {"name": architecture.name, "clock_hz": architecture.clock_hz, "peak_macs_per_s": whole}


def _provenance(
    workload: Workload | None, architecture: Architecture, activity: Activity, origin: RunOrigin
) -> Provenance:
    stated = (*(workload.warnings if workload is not None else ()), *architecture.warnings, *origin.warnings)
    found: Provenance = {
        "archsim_version": __version__,
        "model_sha256": workload.sha256 if workload is not None else "",
        "chip_sha256": architecture.sha256,
        "options": origin.options,
        "seed": origin.seed,
        "fidelity": dict(sorted(activity.fidelity.items())),
        "repeat": origin.repeat,
        "warnings": list(dict.fromkeys(stated)),
    }
    outside = registry.extensions_sha256()
    if outside:
        found["extensions_sha256"] = outside
    if architecture.calibrated:
        found["calibrated"] = architecture.calibrated
    return found
