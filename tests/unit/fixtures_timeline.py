"""Activities written by hand: one cycle is one ns, times are given in ns."""

from __future__ import annotations

from archsim.ir.activity import Activity
from archsim.ir.bandwidth import BandwidthTrace
from archsim.ir.records import Records
from archsim.ir.rows import Record

NS = 1000
UNITS = ("core[0].load", "core[0].array", "core[0].vector", "core[0].store")
OPS = {"load": "MOVE", "store": "MOVE", "array": "MATMUL", "vector": "VECTOR", "host": "HOST"}


def record(unit, index, times, critical=None, phases=(), op="", layer="l0", role="", macs=0, slots=0):
    """A command: ``times`` = (head, start, end) and phase ends in ns."""
    head, start, end = (time * NS for time in times)
    tiled = tuple((cause, until * NS) for cause, until in phases) or (("busy", end),)
    kind = op or OPS[unit.rpartition(".")[2]]
    return Record(unit, index, f"c{index}", kind, layer, role, head, start, end, critical, tiled, macs, slots)


def activity(*records: Record, total: int = 0, units: tuple[str, ...] = UNITS) -> Activity:
    """An Activity of these records; every unit of ``units`` is a key."""
    queues = {unit: Records.of(unit, (r for r in records if r.unit == unit)) for unit in units}
    end = total * NS or max(r.end_ps for r in records)
    return Activity("hand", end, 10**9, queues, {}, {}, BandwidthTrace({}), {})


def row(cube, unit: str) -> dict[str, int]:
    return {cause: cycles for cause, cycles in cube.time_breakdown()[unit].items() if cycles}


def tile_pipeline() -> Activity:
    """Two tiles, one slot each way: load 10 ns (8 DRAM, 2 port), array 20 (4 fill, 14 busy, 2 drain), store 5.

    load0 [0,10) array0 [10,30) load1 [30,40) array1 [40,60); vector none; store0 [30,35) store1 [60,65).
    """
    return activity(
        record(UNITS[0], 0, (0, 0, 10), None, (("dram", 8), ("sram_port", 10)), role="weights"),
        record(UNITS[0], 1, (10, 30, 40), (UNITS[1], 0), (("dram", 38), ("sram_port", 40)), role="inputs"),
        record(UNITS[1], 0, (0, 10, 30), (UNITS[0], 0), (("fill_drain", 14), ("busy", 28), ("fill_drain", 30))),
        record(UNITS[1], 1, (30, 40, 60), (UNITS[0], 1), (("fill_drain", 44), ("busy", 58), ("fill_drain", 60))),
        record(UNITS[3], 0, (0, 30, 35), (UNITS[1], 0), (("sram_port", 31), ("dram", 35)), role="outputs"),
        record(UNITS[3], 1, (35, 60, 65), (UNITS[1], 1), (("sram_port", 61), ("dram", 65)), role="outputs"),
    )
