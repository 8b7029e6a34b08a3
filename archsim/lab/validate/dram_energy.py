"""Runs of DRAMsim3 beside ours: commands, their energy by formula, and energy by part for the same streams.

No threshold: its controller has other rules (docs/dram.md names them). Its timings are those of the two
configurations below: of DDR4 as recorded with the runs, of HBM2 (bursts over 128 bits, no pseudo-channels) its
HBM2_8Gb_x128. Its energies are in mA V cycles; times tCK in ns they are pJ. Ours are the data sheet's formulas
(archsim.energy.dram_currents) for the commands of our controller and the time for which it has rows open. Both are
without I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archsim.energy.dram_currents import CommandEnergy, load_currents, per_command
from archsim.facts.dram.bit_order import mapped
from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import CommandProtocol, ControllerPolicy, DramChannel, DramMemory
from archsim.facts.dram.families import DDR
from archsim.lab.validate.dram_streams import stream
from archsim.lab.validate.suite import ScoredCase
from archsim.memory.dram.device_records import COMMANDS
from archsim.memory.dram.trace import ReplayedTrace, replay

GIB = 1 << 30


GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class DramsimConfig:
    """A configuration of DRAMsim3, 4 bank groups of 4 banks: its clock, timings in cycles, columns and bit order."""

    standard: str
    period_ps: int
    protocol: CommandProtocol
    columns: int
    order: str
    timings: DramTimings

    def memory(self) -> DramMemory:
        """One channel of 8 GiB, a rank of 64 B bursts."""
        t = self.timings
        device = DramChannel(
            standard=self.standard,
            clock_hz=round(10**12 / self.period_ps),
            ranks=1,
            groups=4,
            banks=4,
            columns=self.columns,
            burst_bytes=64,
            protocol=self.protocol,
            read_latency=t.cl,
            write_latency=t.cwl,
            burst_cycles=t.bl,
            refresh_cycles=t.refi,
            constraints=DDR.constraints(t),
        )
        return DramMemory(device=device, channels=1, capacity_bytes=8 * GIB, source="DRAMsim3")


OTHERS = {
    "ds3_ddr4_2400_1r_bglow": DramsimConfig(
        standard="ddr4", period_ps=830, protocol="single", columns=128, order="row bank column bankgroup",
        timings=DramTimings(
            bl=4, bl_long=4, cl=17, cwl=12, rcd_rd=17, rcd_wr=17, rp=17, rpab=17, ras=39, rc=56, wr=18, rtp=9,
            ccd_s=4, ccd_l=6, rrd_s=4, rrd_l=6, wtr_s=3, wtr_l=9, faw=26, rfc=420, refi=9360,
        ),
    ),
    "ds3_hbm2_1ch": DramsimConfig(
        standard="hbm2", period_ps=1000, protocol="dual", columns=32, order="row bankgroup bank column",
        timings=DramTimings(
            bl=2, bl_long=2, cl=14, cwl=4, rcd_rd=14, rcd_wr=14, rp=14, rpab=14, ras=34, rc=48, wr=16, rtp=6,
            ccd_s=2, ccd_l=2, rrd_s=4, rrd_l=6, wtr_s=6, wtr_l=8, faw=30, rfc=260, refi=3900,
        ),
    ),
}  # fmt: skip


def beside(case: str, row: Mapping[str, Any]) -> list[ScoredCase]:
    """A run's commands, energy a command, and energy by part; what it has as expected, ours as got."""
    other, stats, period_ns = OTHERS[row["config"]], row["stats"], row["tCK_ns"]
    memory, t = other.memory(), other.timings
    energy = per_command(
        load_currents(other.standard),
        ras_ns=t.ras * period_ns,
        rp_ns=t.rp * period_ns,
        burst_ns=t.bl * period_ns,
        rfc_ns=t.rfc * period_ns,
    )
    mapping, _ = mapped(other.order, memory)
    requests = stream(row["pattern"], row["n"], row["req_bytes"], row["num"], row["den"])
    result = replay(memory.device, mapping, ControllerPolicy(), *requests)
    theirs = {
        "activates": stats["num_act_cmds"],
        "reads": stats["num_read_cmds"],
        "writes": stats["num_write_cmds"],
        "refreshes": stats["num_ref_cmds"],
    }
    counts = {name: int(result.issued[0][COMMANDS[code]]) for name, code in _COUNTED.items()}
    parts = _parts(energy, counts, result, memory)
    found = [ScoredCase(f"{case} {name}", theirs[name], counts[name]) for name in counts]
    found += _by_formula(case, energy, stats, theirs, period_ns)
    found += [
        ScoredCase(f"{case} {name}_energy pJ", stats[f"{name}_energy"] * period_ns, parts[name]) for name in parts
    ]
    return [*found, ScoredCase(f"{case} total_energy pJ", stats["total_energy"] * period_ns, sum(parts.values()))]


_COUNTED = {"activates": "ACT", "reads": "RD", "writes": "WR", "refreshes": "REFab"}


def _by_formula(
    case: str, energy: CommandEnergy, stats: Mapping[str, Any], counts: Mapping[str, int], period_ns: float
) -> list[ScoredCase]:
    """Energy of one command: the run's sum over its count, and the formula."""
    columns = (
        ("activate", "act_energy", "activates", energy.activate_pj),
        ("read", "read_energy", "reads", energy.read_pj),
        ("write", "write_energy", "writes", energy.write_pj),
        ("refresh", "ref_energy", "refreshes", energy.refresh_pj),
    )
    return [
        ScoredCase(f"{case} pJ a {name}", round(stats[column] * period_ns / counts[count], 6), round(pj, 6))
        for name, column, count, pj in columns
        if counts[count]
    ]


def _parts(
    energy: CommandEnergy, counts: Mapping[str, int], result: ReplayedTrace, memory: DramMemory
) -> dict[str, float]:
    period_ns = 1e9 / memory.device.clock_hz
    opened = int(result.opened.sum())
    return {
        "act": counts["activates"] * energy.activate_pj,
        "read": counts["reads"] * energy.read_pj,
        "write": counts["writes"] * energy.write_pj,
        "ref": counts["refreshes"] * energy.refresh_pj,
        "act_stb": opened * period_ns * energy.open_mw,
        "pre_stb": (result.cycles - opened) * period_ns * energy.closed_mw,
    }
