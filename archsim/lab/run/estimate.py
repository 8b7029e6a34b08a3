"""A job by the analytic model alone: the numbers of a Result as far as a cost model has them, nothing simulated.

Layers one after the other, each as long as the mapper expects it to take alone; host layers and the first launch as
the host takes them. Energy: every expected count at its price, DRAM standing by and refreshing over the whole latency.
Power has no peak, DRAM no row hits, and of MAC slots only those used are known. MACs that are not on arrays are on the
vector units, but for those of layers on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

from archsim.base.units import PS_PER_S
from archsim.energy.account import account
from archsim.energy.bands import sides
from archsim.energy.chip import tables_for
from archsim.ir.activity import CountKey, to_cycles
from archsim.ir.figure_table import DRAM, FIGURES, GROUPS, SAMPLE, RunQuantities
from archsim.ir.result_parts import MemoryFigures
from archsim.ir.workload import Layer, Workload
from archsim.lab.run.account import chip_facts, executed_on_arrays, workload_facts
from archsim.lab.run.dram_figures import memory_figures
from archsim.lab.run.job import Job, load_chip, prepare
from archsim.lab.run.offchip import device_of
from archsim.memory.dram.fast_model import Refreshes
from archsim.memory.policy import policy_of
from archsim.sim.mac_breakdown import peak_macs_per_cycle, peak_of_dtypes
from archsim.spec.architecture import Architecture, Host
from archsim.spec.memories import Memory
from mapper.bound.network import network_bound
from mapper.cost.chip_rates import ChipCosts

if TYPE_CHECKING:
    from mapper.analytic.estimate import Estimate

_OF_RUNS = ("schedule", "power", "bands")  # sections of a summary that say what was simulated


@dataclass(frozen=True)
class ExpectedActivity:
    """Counts as in Activity, how long the run takes, and how long a kernel is on the chip."""

    counts: Mapping[CountKey, int]
    total_ps: int
    kernel_ps: int


def estimated(job: Job) -> dict[str, Any]:
    """Numbers of the summary by its keys, None where this model has none. Raises ConfigError, ModelError and
    MappingError as a run does."""
    from mapper.analytic.estimate import estimate

    architecture = load_chip(job)
    asked = prepare(job, architecture)
    workload = asked.workload
    found = estimate(workload, architecture, asked.options)
    reference = sum(found.cycles.values())
    host_ps, host_counts = _on_host(workload.layers, architecture.host)
    total_ps = -(-reference * PS_PER_S // architecture.clock_hz) + host_ps
    if architecture.host is not None and architecture.host.per == "kernel":
        works = _works(workload, found)
        total_ps += _between_kernels(works, architecture.host, architecture.clock_hz)
        host_counts["", architecture.host.name, "launches"] += max(0, len(works) - 1)
    expected = ExpectedActivity(
        {**found.counts, **host_counts, **_standing(architecture, found.counts, total_ps)},
        total_ps,
        total_ps - (architecture.host.launch_ps if architecture.host is not None else 0),
    )
    tables = tables_for(architecture, found.dtypes, found.pairs)
    energy = account(expected, architecture, tables)
    latency_s, cycles = total_ps / PS_PER_S, to_cycles(total_ps, architecture.clock_hz)
    executed = executed_on_arrays(found.counts, architecture)
    arrays = _arrays(architecture)
    names = {layer for (layer, part, action), n in found.counts.items() if n and action == "mac" and part in arrays}
    on_arrays = sum(layer.macs for layer in workload.layers if layer.name in names)
    on_host = sum(layer.macs for layer in workload.layers if layer.kind == "host")
    peaks = {name: outer.peak_bytes_per_s for name, outer in asked.options.outer.items()}
    least = network_bound(workload, ChipCosts(architecture, asked.options.outer, {}), found.dtypes)
    quantities = RunQuantities(
        architecture=architecture,
        workload=workload,
        counts=expected.counts,
        cycles=cycles,
        latency_s=latency_s,
        interval_s=latency_s,
        macs_array=on_arrays,
        macs_vector=workload.macs - on_arrays - on_host,
        macs_host=on_host,
        macs_executed=executed + workload.macs - on_arrays,
        peak=peak_macs_per_cycle(architecture),
        peak_used=peak_of_dtypes(architecture, found.dtypes),
        energy_j=energy.total_j,
        energy_chip_j=energy.chip_j,
        power_avg_w=energy.total_j / latency_s if latency_s else 0.0,
        area_mm2=fsum(tables.area_breakdown_mm2().values()),
        memories=_dram(architecture, expected, peaks),
        dram_peak_bytes_per_s=int(sum(peaks.values())),
        bound_cycles=least.cycles,
        compulsory_bytes=least.bytes,
    )
    figures = FIGURES.of_estimate(quantities)
    return {
        "workload": workload_facts(workload, found.dtypes),
        "architecture": chip_facts(architecture),
        **figures[""],
        "bounds": FIGURES.bounds | sides(architecture),
        "per_sample": figures[SAMPLE],
        "dram": {**figures[DRAM], "memories": quantities.memories},
        "mac_breakdown": {},
        "energy_breakdown_j": energy.by_part_j(),
        "time_breakdown": {},
    }


def simulated(key: str) -> bool:
    """Whether a number of a summary is known by simulation alone, so that an estimate has none."""
    section = key.partition(".")[0]
    if section in _OF_RUNS:
        return True
    return key in FIGURES.simulated or (section in GROUPS and GROUPS[section].simulated and section != key)


def _arrays(architecture: Architecture) -> set[str]:
    return {array.name for array in architecture.arrays}


def _on_host(layers: Iterable[Layer], host: Host | None) -> tuple[int, dict[CountKey, int]]:
    """Time and counts of the first launch and of layers on the host, one after the other."""
    if host is None:
        return 0, {}
    total_ps, counts = host.launch_ps, {("", host.name, "launches"): 1}
    for layer in layers:
        if layer.kind == "host":
            flops, size_bytes = (int(str(layer.attributes.get(key, 0))) for key in ("flops", "bytes"))
            total_ps += host.launch_ps + host.work_ps(flops, size_bytes)
            own = {"launches": 1, "flops": flops, "link_bytes": size_bytes}
            counts |= {(layer.name, host.name, action): count for action, count in own.items() if count}
    return total_ps, counts


def _works(workload: Workload, found: Estimate) -> list[tuple[str, int]]:
    """The operator after which each kernel is called, and its cycles; those of the host do not count."""
    kernels = [[workload.layers[number] for number in kernel] for kernel in found.kernels]
    works = [(kernel[-1].op, sum(found.cycles.get(layer.name, 0) for layer in kernel)) for kernel in kernels]
    return [(operator, cycles) for operator, cycles in works if cycles]


def _between_kernels(works: Sequence[tuple[str, int]], host: Host, clock_hz: int) -> int:
    """Time beside the first launch and the work of kernels, each an operator and its cycles, that the host launches one
    by one; ``depth`` is taken not to bind."""
    end_ps = done_ps = issued_ps = 0
    for number, (operator, cycles) in enumerate(works):
        work_ps = cycles * PS_PER_S // clock_hz
        issued_ps += host.time_ps("issue", operator) if number else 0
        floor_ps = host.time_ps("floor", operator) if number else 0
        end_ps = max(end_ps + floor_ps, issued_ps + host.time_ps("launch", operator)) + work_ps
        done_ps += work_ps
    return max(0, end_ps - done_ps - host.launch_ps)


def _standing(architecture: Architecture, counts: Mapping[CountKey, int], total_ps: int) -> dict[CountKey, int]:
    """Refreshes of DRAM, and how long rows are open: all the time where they are left open, else while data move."""
    found: dict[CountKey, int] = {}
    for part in _timed(architecture):
        dram, policy = device_of(part), policy_of(part.control)
        refreshes = Refreshes(dram, policy).until(total_ps)
        found["_static", part.name, "refreshes"] = policy.in_ranks(dram.device, refreshes)
        moved = sum(n for (_, name, action), n in counts.items() if name == part.name and action.startswith("pin_"))
        open_ps = total_ps if policy.rows == "open" else min(total_ps, moved * PS_PER_S // dram.peak_bytes_per_s)
        found["_static", part.name, "row_open_ps"] = open_ps * dram.channels * dram.device.ranks if moved else 0
    return found


def _timed(architecture: Architecture) -> list[Memory]:
    return [part for part in architecture.memories if part.kind == "dram" and part.standard != "constant"]


def _dram(
    architecture: Architecture, expected: ExpectedActivity, peaks: Mapping[str, float]
) -> dict[str, MemoryFigures]:
    """What goes over the pins; ``peaks``: bytes per second of each DRAM."""
    latency_s = expected.total_ps / PS_PER_S
    memories = {}
    for part in architecture.memories:
        if part.kind == "dram":
            read, written, *asked = (
                sum(n for (_, name, action), n in expected.counts.items() if (name, action) == (part.name, way))
                for way in ("pin_read_bytes", "pin_write_bytes", "read_bytes", "write_bytes")
            )
            memories[part.name] = memory_figures(read, written, sum(asked), peaks.get(part.name, 0.0) * latency_s)
    return memories
