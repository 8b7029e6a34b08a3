"""A synthetic Result of 60 layers with consistent sums, for rendering tests. Not a simulation."""

from __future__ import annotations

from archsim.ir.activity import Activity, DramStats
from archsim.ir.bandwidth import BandwidthTrace
from archsim.ir.records import Records
from archsim.ir.result import LayerResult, Result
from archsim.ir.rows import Bandwidth, Record
from archsim.sim.blame import timelines

HZ = 800_000_000
VECTOR_MACS = 1_000  # of the run, not on the arrays
PEAK = 1024
TILES = 6
DTYPES = {"inputs": "int8", "weights": "int8", "outputs": "int8", "accumulate": "int32"}
UNITS = ("core[0].load", "core[0].array", "core[0].vector", "core[0].store")
OPS = ("Conv", "Conv", "Conv", "MaxPool", "Conv", "Gemm")
WHY = [
    {
        "name": "dram channels x2", "keys": {"dram.channels": "8"}, "cycles_total": 2_000_000, "gain_cycles": 337_244,
        "gain_percent": 14.4, "area_mm2": None, "power_mw": 12.2, "reason": "",
    },
    {
        "name": "mxu columns x2", "keys": {"mxu.shape": "[32, 64]"}, "cycles_total": None, "gain_cycles": None,
        "gain_percent": None, "area_mm2": None, "power_mw": None, "reason": "layer00 does not fit",
    },
]  # fmt: skip
BOUNDS = ("compute", "dram", "compute", "sram_port", "dependency", "launch")


def make_result(layers: int = 60, with_activity: bool = True) -> Result:
    """A Result with ``layers`` layers of six tiles each on one core; every documented sum holds exactly."""
    records, spans = _timeline(layers)
    total_ps = max(record.end_ps for rows in records.values() for record in rows) + 2_000_000
    total = -(-total_ps * HZ // 10**12)
    rows = _layers(layers, spans, total)
    macs = sum(row.macs for row in rows)
    energy = {"dram": 3.1e-3, "l1": 1.4e-3, "mxu": 2.2e-3, "vpu": 0.12e-3, "static": 0.9e-3}
    energy_j = sum(energy.values())
    latency_s = total / HZ
    activity = _activity(records, total_ps) if with_activity else None
    return Result(
        workload={
            "name": "toy60",
            "layers": layers,
            "macs": macs,
            "parameters": 25_530_472,
            "weight_bytes": 25_530_472,
        },
        architecture={"name": "edge_toy", "clock_hz": HZ, "peak_macs_per_s": PEAK * HZ},
        figures={
            "cycles_total": total,
            "latency_s": latency_s,
            "throughput_per_s": 1 / latency_s,
            "macs": macs,
            "macs_array": macs - VECTOR_MACS,
            "macs_vector": VECTOR_MACS,
            "macs_host": 0,
            "macs_dense": macs,
            "macs_executed": macs,
            "utilization": macs / (total * PEAK),
            "utilization_dtype": 2 * macs / (total * PEAK),
            "network_bound_cycles": 4 * total // 5,
            "gap": total / (4 * total // 5) - 1,
            "compulsory_bytes": 1_000_000,
            "energy_j": energy_j,
            "energy_chip_j": energy_j - energy["dram"],
            "power_avg_w": energy_j / latency_s,
            "power_peak_w": 2.4 * energy_j / latency_s,
            "power_window_s": max(1e-6, latency_s / 1000),
            "edp_js": energy_j * latency_s,
            "area_mm2": 11.62,
            "die_cost_usd": None,
        },
        bounds={"area_mm2": "lower", "power_avg_w": "lower"},
        per_sample={
            "samples": 1,
            "cycles": float(total),
            "time_s": latency_s,
            "energy_j": energy_j,
            "macs": float(macs),
            "dram_bytes": 44_200_000.0,
        },
        dram={
            "read_bytes": 41_000_000,
            "write_bytes": 3_200_000,
            "useful_bytes": 43_500_000,
            "row_hit_rate": 0.913,
            "bandwidth_utilization": 0.37,
            "peak_bytes_per_s": 51_200_000_000,
            "memories": {
                "dram": {
                    "read_bytes": 41_000_000,
                    "write_bytes": 3_200_000,
                    "useful_bytes": 43_500_000,
                    "bandwidth_utilization": 0.37,
                }
            },
        },
        mac_breakdown=_mac_breakdown(total * PEAK, macs),
        energy_breakdown_j=energy,
        time_breakdown={unit: _time_row(position, total) for position, unit in enumerate((*UNITS, "host"))},
        layers=rows,
        provenance={
            "archsim_version": "0.1.0",
            "model_sha256": "ab" * 32,
            "chip_sha256": "cd" * 32,
            "options": {"objective": "latency", "batch": 1, "dtypes": DTYPES, "set": {}},
            "seed": 0,
            "fidelity": {"dram": "exact"},
            "repeat": "exact",
            "warnings": ["model is float32; timed as int8 <weights & inputs>"],
        },
        critical={
            row.name: {"busy": row.cycles_critical * 2 // 3, "stall_dram": row.cycles_critical // 3} for row in rows
        },
        area_breakdown_mm2={"l1": 3.2, "mxu": 5.1, "vpu": 0.32, "dma": 3.0},
        sources={
            "l1.energy.read": "SRAM macro table, 22 nm, table 3",
            "dma.setup": "estimated: one descriptor fetch",
            "<script>.bad": 'estimated: "quoted" & <tagged>',
        },
        activity=activity,
        timelines=timelines(activity) if activity is not None else {},
        power_trace=tuple((i * latency_s / 200, 1.0 + (i * 37 % 50) / 50) for i in range(200)),
        power_parts=tuple((part, _windows(joules)) for part, joules in energy.items()),
        peak_dtype_macs_per_s=PEAK * HZ / 2,
    )


def _windows(joules: float) -> tuple[float, ...]:
    """Spent in 64 windows, more of it in later ones."""
    return tuple(joules * (index + 1) / (64 * 65 / 2) for index in range(64))


def _timeline(layers: int) -> tuple[dict[str, tuple[Record, ...]], list[tuple[int, int]]]:
    rows: dict[str, list[Record]] = {unit: [] for unit in UNITS}
    free = dict.fromkeys(UNITS, 0)
    spans = []
    for layer in range(layers):
        name, work = f"layer{layer:02d}", 4_000_000 + 9_000_000 * ((layer * 7919) % 13) // 13
        first, last = 0, 0
        for tile in range(TILES):
            ready = 0
            for unit, share, op in zip(UNITS, (0.7, 1.0, 0.2, 0.3), ("MOVE", "MATMUL", "VECTOR", "MOVE"), strict=True):
                head, start = free[unit], max(free[unit], ready)
                end = start + int(work * share) // 1250 * 1250
                phases = _phases(unit, start, end)
                rows[unit].append(
                    Record(
                        unit,
                        len(rows[unit]),
                        f"{name}.{op.lower()}",
                        op,
                        name,
                        "weights",
                        head,
                        start,
                        end,
                        None,
                        phases,
                        macs=1000 if op == "MATMUL" else 0,
                    )
                )
                free[unit] = ready = end
                first, last = (start if tile == 0 and unit == UNITS[0] else first), end
        spans.append((first, last))
    return {**{unit: tuple(done) for unit, done in rows.items()}, "host": ()}, spans


def _phases(unit: str, start: int, end: int) -> tuple[tuple[str, int], ...]:
    middle = start + (end - start) // 5
    if unit.endswith("array"):
        return (("weight_load", start + (middle - start) // 2), ("fill_drain", middle), ("busy", end))
    return (("busy", end),) if unit.endswith("vector") else (("dram", end),)


def _layers(count: int, spans: list[tuple[int, int]], total: int) -> tuple[LayerResult, ...]:
    def cycle(ps: int) -> int:
        return -(-ps * HZ // 10**12)

    rows = []
    share = total // (count + 2)
    for index, (first, last) in enumerate(spans):
        start, end = cycle(first), cycle(last)
        macs = 0 if OPS[index % 6] == "MaxPool" else (end - start) * PEAK * (index % 9 + 1) // 70
        rows.append(
            LayerResult(
                name=f"layer{index:02d}",
                op=OPS[index % 6],
                macs=macs,
                cycles_start=start,
                cycles_end=end,
                cycles_total=end - start,
                utilization=macs / ((end - start) * PEAK),
                energy_j=1.0e-4 * (index % 5 + 1),
                dram_read_bytes=90_000 * (index % 7),
                dram_write_bytes=0 if index % 3 else 40_000,
                cycles_critical=share,
                bound_by=BOUNDS[index % 6],
                stalls={"stall_dram.weights": share // 4, "stall_sram_port.inputs": share // 9},
                fused_with=("relu", "bn") if index % 2 else (),
                view_of=None,
                on_host=False,
            )
        )
    rows.append(_special("_host", "host", total - share * count, 0.0))
    rows.append(_special("_static", "static", 0, 0.9e-3))
    return tuple(rows)


def _special(name: str, op: str, critical: int, energy_j: float) -> LayerResult:
    return LayerResult(name, op, 0, 0, 0, 0, 0.0, energy_j, 0, 0, critical, "launch", {})


def _mac_breakdown(slots: int, macs: int) -> dict[str, int]:
    shares = {
        "useful": macs,
        "edge_underfill": slots // 17,
        "dtype_loss": 0,
        "fill_drain": slots // 19,
        "weight_load": slots // 31,
        "stall_dram": slots // 6,
        "stall_noc": 0,
        "stall_sram_port": slots // 23,
        "stall_compute": 0,
        "stall_dependency": slots // 29,
        "launch": slots // 97,
        "imbalance": 0,
    }
    return {**shares, "idle": slots - sum(shares.values())}


def _time_row(position: int, total: int) -> dict[str, int]:
    causes = (
        "busy",
        "stall_dram",
        "stall_noc",
        "stall_sram_port",
        "stall_compute",
        "stall_dependency",
        "fill_drain",
        "weight_load",
        "launch",
        "imbalance",
    )
    row = {cause: total * ((position + 2) * (index + 3) % 11) // 90 for index, cause in enumerate(causes)}
    return {**row, "idle": total - sum(row.values())}


def _activity(records: dict[str, tuple[Record, ...]], total_ps: int) -> Activity:
    streams = tuple(
        Bandwidth("dram", r.start_ps, r.end_ps, 120_000, index % 9 == 8, 120_064, 1_800, 60, 16, 70)
        for index, r in enumerate(records[UNITS[0]])
    )
    return Activity(
        program="toy60",
        total_ps=total_ps,
        clock_hz=HZ,
        records={unit: Records.of(unit, rows) for unit, rows in records.items()},
        counts={},
        dram={"dram": _stats(streams)},
        bandwidth=BandwidthTrace.of(streams),
        fidelity={"dram": "exact"},
    )


def _stats(streams: tuple[Bandwidth, ...]) -> DramStats:
    reads, writes = ([stream for stream in streams if stream.write is write] for write in (False, True))
    return DramStats(
        read_bytes=sum(stream.pin_bytes for stream in reads),
        write_bytes=sum(stream.pin_bytes for stream in writes),
        useful_read_bytes=sum(stream.size_bytes for stream in reads),
        useful_write_bytes=sum(stream.size_bytes for stream in writes),
        row_hits=sum(stream.row_hits for stream in streams),
        row_misses=sum(stream.row_misses for stream in streams),
        row_conflicts=sum(stream.row_conflicts for stream in streams),
        activates=sum(stream.activates for stream in streams),
        refreshes=12,
        peak_bytes_per_s=51_200_000_000,
    )
