"""Random but valid timelines: a tiny token simulator that shares nothing with the machine. Times in picoseconds."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from archsim.ir.activity import Activity
from archsim.ir.bandwidth import BandwidthTrace
from archsim.ir.records import Records
from archsim.ir.rows import Record

OPS = {"load": "MOVE", "store": "MOVE", "array": "MATMUL", "vector": "VECTOR", "host": "HOST"}
PHASES = {
    "MOVE": ("dram", "noc", "sram_port"),
    "MATMUL": ("weight_load", "fill_drain", "busy", "sram_port"),
    "VECTOR": ("busy", "sram_port"),
    "HOST": ("launch",),
    "SETUP": ("launch",),
    "SYNC": (),
}


@dataclass(frozen=True)
class Job:
    """A command to run: unit, op, layer, role, lengths of its phases, earlier jobs whose signal it waits for."""

    unit: str
    op: str
    layer: str
    role: str
    lengths: tuple[int, ...]
    waits: tuple[int, ...]
    delay: int


@dataclass(frozen=True)
class World:
    """What random jobs may be: cores, kinds of units beside the host, layers, other ops, shortest phase."""

    cores: int = 2
    kinds: tuple[str, ...] = ("load", "array", "vector", "store")
    layers: tuple[str, ...] = ("l0", "l1")
    extra: tuple[str, ...] = ("SYNC", "SETUP")
    least: int = 0

    @property
    def units(self) -> tuple[str, ...]:
        """All units, also those that stay without commands."""
        return ("host", *(f"core[{core}].{kind}" for core in range(self.cores) for kind in self.kinds))


ANY = World()


@st.composite
def jobs(draw: st.DrawFn, world: World = ANY, most: int = 30) -> tuple[Job, ...]:
    """Jobs in an order in which they can run: each waits for earlier ones only, so there is no deadlock."""
    found: list[Job] = []
    for index in range(draw(st.integers(1, most))):
        unit = draw(st.sampled_from(world.units))
        usual = OPS[unit.rpartition(".")[2]]
        op = draw(st.sampled_from((usual, usual, usual, *world.extra)))
        lengths = tuple(draw(st.integers(world.least, 9)) for _ in PHASES[op])
        waits = draw(st.lists(st.integers(0, index - 1), max_size=3, unique=True)) if index else []
        layer = draw(st.sampled_from(world.layers))
        role = draw(st.sampled_from(("weights", "inputs", "")))
        found.append(Job(unit, op, layer, role, lengths, tuple(waits), draw(st.sampled_from((0, 0, 0, 1, 3)))))
    return tuple(found)


def simulate(queue: tuple[Job, ...], units: tuple[str, ...], tail: int, clock_hz: int) -> Activity:
    """Run the jobs: start = max(end of the one before in the unit, signals + delay of the crossing)."""
    records: dict[str, list[Record]] = {unit: [] for unit in units}
    done: list[Record] = []
    for job in queue:
        own = records[job.unit]
        head = own[-1].end_ps if own else 0
        arrivals = [(done[w].end_ps + job.delay, done[w].unit, done[w].index) for w in job.waits]
        latest = max((time for time, _, _ in arrivals), default=0)
        blamed = min(((unit, index) for time, unit, index in arrivals if time == latest), default=None)
        start = max(head, latest)
        now, phases = start, []
        for phase, length in zip(PHASES[job.op], job.lengths, strict=True):
            if length:
                now += length
                phases.append((phase, now))
        record = Record(
            job.unit, len(own), f"j{len(done)}", job.op, job.layer, job.role, head, start, now,
            blamed if start > head else None, tuple(phases),
        )  # fmt: skip
        own.append(record)
        done.append(record)
    total = max(record.end_ps for record in done) + tail
    return Activity(
        "random", total, clock_hz, {u: Records.of(u, r) for u, r in records.items()}, {}, {}, BandwidthTrace({}), {}
    )


@st.composite
def activities(draw: st.DrawFn, world: World = ANY) -> Activity:
    """Activities of random jobs; clocks of whole and of broken periods, below and above one tick per cycle."""
    clock_hz = draw(st.sampled_from((10**12, 333_333_333_333, 7 * 10**10)))
    return simulate(draw(jobs(world)), world.units, draw(st.sampled_from((0, 0, 2))), clock_hz)
