"""Figures of a replayed trace: bandwidth, latencies, rows, commands, energy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from archsim.base.errors import ConfigError
from archsim.base.units import SIZE, TIME, QuantityKind, parse_whole
from archsim.energy.dram import DramTable, load_dram
from archsim.facts.dram import catalogue
from archsim.facts.dram.bit_order import mapped
from archsim.facts.dram.device import ROW_TIMEOUT_PS, ControllerPolicy, DramChannel, DramMemory
from archsim.lab.dram.requests import Requests, load
from archsim.lab.run.job import Progress, quiet
from archsim.memory.dram.device_records import COMMANDS
from archsim.memory.dram.trace import ReplayedTrace, offered, replay
from archsim.report.dram.terminal import SCHEMA

PERCENTILES = (50, 90, 99, 99.9)
BINS_PER_DECADE = 5
PJ = 1e-12
_PS_PER_NS = 1000


@dataclass(frozen=True, kw_only=True)
class DramReplay:
    """A trace and the memory that serves it.

    ``width_bits`` and ``capacity`` (with its unit): None = the usual ones. ``mapping``: see bit_order. ``row_timeout``
    (with its unit) has a meaning with rows = timeout only. ``requests_per_cycle``: of the trace, offered at most, over
    all channels together; None: 8 for each native channel.
    """

    trace: Path
    standard: str
    speed_mts: int
    channels: int = 1
    width_bits: int | None = None
    capacity: str | None = None
    mapping: str = "RoBaRaCoCh"
    rows: Literal["open", "closed", "timeout"] = "open"
    row_timeout: str | None = None
    refresh: Literal["all_bank", "per_bank", "none"] = "all_bank"
    requests_per_cycle: int | None = None


def measure(asked: DramReplay, say: Progress = quiet) -> dict[str, Any]:
    """Everything that ``archsim dram --format json`` prints; raises ConfigError for what cannot be."""
    say("reading the trace")
    usual_width, usual_capacity = catalogue.usual(asked.standard)
    width = asked.width_bits or usual_width
    usual = usual_capacity * asked.channels * width // usual_width
    capacity = usual if asked.capacity is None else _option("--capacity", asked.capacity, SIZE)
    memory = catalogue.dram(asked.standard, asked.speed_mts, width, asked.channels, capacity)
    device = memory.device
    if capacity < device.burst_bytes:
        raise ConfigError(f"--capacity: found '{asked.capacity}'; allowed {device.burst_bytes} B, a burst, or more")
    requests = load(asked.trace, device.clock_hz, device.burst_bytes, capacity)
    policy = ControllerPolicy(rows=asked.rows, row_timeout_ps=_row_timeout_ps(asked), refresh=asked.refresh)
    per_cycle = offered(asked.requests_per_cycle, memory.channels)
    mapping, interleave = mapped(asked.mapping, memory)
    say("replaying the trace")
    result = replay(
        device, mapping, policy, requests.arrivals, requests.addresses, requests.writes,
        channels=memory.channels, interleave=interleave, requests_per_cycle=per_cycle,
    )  # fmt: skip
    seconds = result.cycles / device.clock_hz
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "trace": asked.trace.name,
        "memory": {
            "standard": asked.standard,
            "speed_mts": asked.speed_mts,
            "channels": asked.channels,
            "width_bits": width,
            "native_channels": memory.channels,
            "requests_per_cycle": per_cycle,
            "capacity_bytes": capacity,
            "ranks": device.ranks,
            "mapping": asked.mapping,
            "rows": asked.rows,
            **({"row_timeout_ns": policy.row_timeout_ps / _PS_PER_NS} if asked.rows == "timeout" else {}),
            "refresh": asked.refresh,
            "source": memory.source,
        },
    }
    found |= _traffic(memory, requests, result, seconds)
    return found | _energy(asked.standard, memory, asked.channels * width, result, seconds)


def _option(name: str, text: str, kind: QuantityKind) -> int:
    """The number of an option; its name goes before what is wrong with it."""
    try:
        return parse_whole(text, kind)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _row_timeout_ps(asked: DramReplay) -> int:
    if asked.row_timeout is None:
        return ROW_TIMEOUT_PS
    if asked.rows != "timeout":
        raise ConfigError(f"--row-timeout has no meaning with --rows {asked.rows}; allowed with --rows timeout")
    found = _option("--row-timeout", asked.row_timeout, TIME)
    if found == 0:
        raise ConfigError(f"--row-timeout: found '{asked.row_timeout}'; allowed more than 0 ns")
    return found


def _traffic(memory: DramMemory, requests: Requests, result: ReplayedTrace, seconds: float) -> dict[str, Any]:
    device, peak = memory.device, memory.peak_bytes_per_s
    moved = requests.arrivals.size * device.burst_bytes
    hits, misses, conflicts = int(result.hits.sum()), int(result.misses.sum()), int(result.conflicts.sum())
    served = hits + misses + conflicts
    reads = requests.writes == 0
    return {
        "requests": int(requests.arrivals.size),
        "reads": int(reads.sum()),
        "writes": int((~reads).sum()),
        "cycles": result.cycles,
        "time_s": seconds,
        "bytes": moved,
        "bandwidth_bytes_per_s": moved / seconds if seconds else 0.0,
        "peak_bytes_per_s": peak,
        "utilization": moved / seconds / peak if seconds else 0.0,
        "row_hits": hits,
        "row_misses": misses,
        "row_conflicts": conflicts,
        "row_hit_rate": hits / served if served else 0.0,
        "read_latency": _latency((result.ended - result.accepted)[reads], device.clock_hz),
        "read_latency_from_arrival": _latency((result.ended - requests.arrivals)[reads], device.clock_hz),
        "commands": _commands(device, result),
    }


def _commands(device: DramChannel, result: ReplayedTrace) -> dict[str, int]:
    hidden = "ACT" if device.protocol == "split" else "ACT1"
    counts = result.issued.sum(axis=0)
    return {name: int(counts[code]) for name, code in COMMANDS.items() if name != hidden and counts[code]}


def _latency(cycles: Any, clock_hz: int) -> dict[str, Any] | None:
    """Mean, percentiles and histogram in ns; None without reads."""
    if not cycles.size:
        return None
    times = cycles * 1e9 / clock_hz
    percentiles = np.percentile(times, PERCENTILES, method="inverted_cdf")
    found: dict[str, Any] = {"mean_cycles": float(cycles.mean()), "mean_ns": float(times.mean())}
    found |= {f"p{share:g}_ns": float(time) for share, time in zip(PERCENTILES, percentiles, strict=True)}
    found |= {"least_ns": float(times.min()), "most_ns": float(times.max())}
    low, high = np.floor(np.log10(max(times.min(), 1e-3)) * BINS_PER_DECADE), np.log10(times.max()) * BINS_PER_DECADE
    edges = 10.0 ** (np.arange(low, high + 2) / BINS_PER_DECADE)
    counts, _ = np.histogram(times, edges)
    bins = zip(edges[:-1], edges[1:], counts, strict=True)
    return found | {"histogram": [{"from_ns": float(a), "to_ns": float(b), "reads": int(n)} for a, b, n in bins if n]}


def _standing_j(table: DramTable, share: float, memory: DramMemory, result: ReplayedTrace, seconds: float) -> float:
    """Of every rank, a ``share`` of the table's channel, with a row open and with none."""
    opened_s = int(result.opened.sum()) / memory.device.clock_hz
    closed_s = seconds * memory.channels * memory.device.ranks - opened_s
    return (table.background_mw.value * opened_s + table.precharged_mw.value * closed_s) * 1e-3 * share


def _energy(
    standard: str, memory: DramMemory, width_bits: int, result: ReplayedTrace, seconds: float
) -> dict[str, Any]:
    """Joules by cause: the table's energies of commands and bits, and standing power over the time of the trace.

    A command is of one native channel, of HBM of one pseudo-channel; ``width_bits`` of all channels together.
    """
    table, device = load_dram(standard), memory.device
    counts = result.issued.sum(axis=0)
    whole = width_bits / float(table.width_bits)
    share = whole / (memory.channels * (device.ranks if device.protocol == "dual" else 1))
    banks = device.bank_refresh_banks / device.size_of("rank")
    bits = device.burst_bytes * 8

    def issued(*names: str) -> int:
        return int(sum(counts[COMMANDS[name]] for name in names))

    refreshes = issued("REFab") + issued("REFpb") * banks
    parts = {
        "activate": issued("ACT") * table.activate_pj.value * share * PJ,
        "read": issued("RD", "RDA") * bits * table.read_pj_per_bit.value * PJ,
        "write": issued("WR", "WRA") * bits * table.write_pj_per_bit.value * PJ,
        "refresh": refreshes * table.refresh_pj.value * share * PJ,
        "background": _standing_j(table, whole / (memory.channels * device.buses), memory, result, seconds),
    }
    values = {name: float(value) for name, value in parts.items()}
    sources = {
        "read": table.read_pj_per_bit.source,
        "write": table.write_pj_per_bit.source,
        "activate": table.activate_pj.source,
        "refresh": table.refresh_pj.source,
        "background": f"a row open: {table.background_mw.source}; none: {table.precharged_mw.source}",
    }
    return {"energy_j": values | {"total": sum(values.values())}, "sources": sources}
