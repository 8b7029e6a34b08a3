"""Small inputs for every chart of the pages, drawn by name: in both frames where a chart has two."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from archsim.report.charts import residuals
from archsim.report.charts.addresses import addresses
from archsim.report.charts.curve import curve
from archsim.report.charts.diverging import ChangeBar, diverging
from archsim.report.charts.dram import dram
from archsim.report.charts.frames import frames
from archsim.report.charts.gantt import gantt
from archsim.report.charts.histogram import histogram
from archsim.report.charts.network import network
from archsim.report.charts.overview import overview
from archsim.report.charts.parallel import parallel
from archsim.report.charts.parts import parts
from archsim.report.charts.roofline import roofline
from archsim.report.charts.scatter import scatter
from archsim.report.charts.stacked import StackedBar, stacked
from archsim.report.charts.steps import steps
from archsim.report.charts.tornado import tornado
from archsim.report.charts.treemap import treemap
from archsim.report.charts.waterfall import waterfall
from archsim.report.kit.svg import DrawingFrame

GOALS = ({"key": "latency_s", "largest": False}, {"key": "energy_j", "largest": False})
POINTS = [
    {
        "point": at, "goals": {"latency_s": 1e-3 * (at + 1), "energy_j": 1e-6 / (at + 1)}, "front": at % 2 == 0,
        "shown": {"l1.size": f"{2**at} KiB", "latency_s": f"{at + 1} ms", "energy_j": f"{1 / (at + 1):.2f} uJ"},
        "meets": at != 3, "values": {"l1.size": 1024 * 2**at},
    }
    for at in range(9)
]  # fmt: skip
TORNADO = [
    {"axis": "memories.l1.size", "low": 1.0, "high": 2.5, "at_low": "512 KiB", "at_high": "64 KiB", "swing": 2.5},
    {"axis": "clock", "low": 2.4, "high": 2.5, "at_low": "1 GHz", "at_high": "0.5 GHz", "swing": 1.04},
]
CHANGES = [
    ChangeBar("waits for DRAM", -5e6, "#000", "-5,000,000", ""),
    ChangeBar("busy", 2e6, "#000", "+2,000,000", ""),
]
BARS = [
    StackedBar("a_layer_with_a_long_name_and_more", {"busy": 60, "stall_dram": 40}, "12.3 %  DRAM"),
    StackedBar("b", {"busy": 3}),
]
AREAS = {"dram interface": 2.9, "l1": 0.9, "vector_unit_of_the_chip": 0.12}


def _layer(name: str, start: int, end: int, critical: int, **changed: Any) -> dict[str, Any]:
    plain = {
        "name": name, "op": "Conv", "macs": 100 * (end - start), "dram_read_bytes": 700, "dram_write_bytes": 50,
        "cycles_start": start, "cycles_end": end, "cycles_total": end - start, "cycles_critical": critical,
        "bound_by": "compute",
    }  # fmt: skip
    return plain | changed


RUN: dict[str, Any] = {
    "cycles_total": 1000,
    "latency_s": 1e-6,
    "power_avg_w": 0.5,
    "architecture": {"clock_hz": 10**9, "peak_macs_per_s": 256 * 10**9},
    "dram": {"peak_bytes_per_s": 25_600_000_000},
    "mac_breakdown": {"useful": 100_000, "stall_dram": 90_000, "fill_drain": 50_000, "idle": 16_000},
    "layers": [
        _layer("conv1", 0, 300, 300),
        _layer("conv2", 250, 900, 500, bound_by="dram", dram_read_bytes=90_000),
        _layer("pool", 900, 990, 90, op="MaxPool", macs=0, bound_by="sram_port"),
        _layer("kept", 300, 400, 110, dram_read_bytes=0, dram_write_bytes=0),
    ],
    "details": {
        "power": {"l1": [2e-8, 1e-8, 1e-8, 1e-8], "mxu": [1e-7, 2e-7, 1.5e-7, 0.5e-7]},
    },
}
WINDOW = {
    "layer": "conv1",
    "cycles_start": 100,
    "cycles_end": 500,
    "units": {
        "load": [[100, 200, "busy", "own"], [200, 350, "stall_dram", "wait"]],
        "array": [[150, 480, "busy", "other"], [480, 500, "fill_drain", "own"]],
    },
}
DRAM = {
    "peak_bytes_per_s": 8 * 10**9,
    "windows": {
        "seconds": 2e-7,
        "read_bytes": [1000, 1500, 0, 300, 200],
        "write_bytes": [0, 100, 0, 900, 0],
        "row_hit_rate": [0.9, 0.75, None, 0.4, 1.0],
        "row_conflicts": [1, 2, 0, 7, 0],
    },
}
LOADS = {
    "ideal_rate": 0.5,
    "zero_load_cycles": 12.0,
    "points": [
        {"rate": 0.1, "stable": True, "latency_cycles": {"mean": 13.5, "p99": 21, "max": 30}},
        {"rate": 0.3, "stable": True, "latency_cycles": {"mean": 19.25, "p99": 44, "max": 61}},
        {"rate": 0.45, "stable": False, "latency_cycles": {"mean": 90.0, "p99": 300, "max": 400}},
    ],
}
NOC = {
    "name": "mesh",
    "cycles": 1000,
    "routers": 4,
    "places": [[0, 0], [1, 0], [0, 1], [1, 1]],
    "links": [[0, 1, 900], [1, 0, 0], [0, 2, 150], [2, 3, 150]],
    "nodes": [
        {"name": "core[0]", "router": 0, "sent_flits": 10, "received_flits": 5},
        {"name": "core[1]", "router": 1, "sent_flits": 20, "received_flits": 4},
        {"name": "dram port", "router": 3, "sent_flits": 50, "received_flits": 1},
    ],
}
FRAMES = {
    "until_s": 0.1,
    "slices": [
        ["camera", 0, 0.0, 0.02, False],
        [None, None, 0.02, 0.021, False],
        ["voice", 0, 0.021, 0.05, True],
        ["camera", 1, 0.05, 0.07, False],
    ],
    "releases": [["camera", 0.0, 0.033], ["camera", 0.05, 0.083], ["voice", 0.01, 0.04]],
}
STEPS: list[dict[str, Any]] = [
    {"step": 0, "past": 512, "latency_s": 2.1e-3},
    {"step": 63, "past": 575, "latency_s": 2.15e-3},
    {"step": 127, "past": 639, "latency_s": 2.3e-3},
]
MEASURED = [
    {"chip": chip, "set": "gemm", "case": str(size), "time_us": 4.0, "predicted_us": predicted, "bytes": size}
    for chip, size, predicted in (("tpu", 4096, 3.0), ("gpu", 65536, 4.1), ("tpu", 1 << 20, 50.0), ("npu", 0, 4.0))
]
TWICE: dict[str, Callable[[DrawingFrame], str]] = {
    "waterfall": partial(waterfall, RUN["mac_breakdown"], RUN["cycles_total"]),
    "tornado": partial(tornado, TORNADO, "latency_s"),
    "roofline": partial(roofline, RUN),
    "scatter": partial(scatter, POINTS, *GOALS),
    "residuals": partial(residuals.along, MEASURED, "bytes", "bytes"),
    "stacked": lambda frame: stacked(BARS, 100, "bars", frame=frame),
    "diverging": partial(diverging, CHANGES, "changes"),
    "histogram": partial(histogram, [("0 to 10 ns", 5), ("10 to 20 ns", 1_000_000)], "reads"),
    "parts": partial(parts, {"dram": 1.3e-3, "mxu": 1e-5}, "J", "#000", "energy"),
    "treemap": partial(treemap, AREAS, {}, "areas"),
    "curve": partial(curve, LOADS),
    "steps": partial(steps, STEPS),
}
HELD = {
    "memory_map": {
        "l1": {
            "size_bytes": 1000,
            "blocks": [
                {"kind": "kept", "name": "made", "base": 800, "size_bytes": 200, "first": "first", "last": "last"},
                {"kind": "window", "name": "between", "base": 0, "size_bytes": 100, "first": "one", "last": "other"},
                {"kind": "tiles", "name": "one", "base": 100, "size_bytes": 300, "first": "one", "last": "one"},
                {"kind": "tiles", "name": "left out", "base": 0, "size_bytes": 9, "first": "no", "last": "no"},
            ],
        }
    },
    "groups": [{"layers": ["one", "other"]}, {"layers": ["other", "last"]}, {"layers": ["last"]}],
}
HELD_RUN = {
    "cycles_total": 1000,
    "latency_s": 1e-6,
    "layers": [
        _layer("first", 0, 200, 200), _layer("one", 200, 700, 400), _layer("other", 300, 800, 200),
        _layer("last", 800, 1000, 200),
    ],
    "details": HELD,
}  # fmt: skip
ONCE: dict[str, Callable[[], str]] = {
    "addresses": partial(addresses, HELD_RUN, "l1"),
    "overview": partial(overview, RUN),
    "gantt": partial(gantt, WINDOW),
    "dram": partial(dram, DRAM, 1e-6, "dram"),
    "network": partial(network, NOC),
    "frames": partial(frames, FRAMES, ["camera", "voice"]),
    "parallel": partial(parallel, POINTS, ["l1.size"], ["latency_s", "energy_j"]),
}
