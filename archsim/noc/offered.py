"""Latency of a network under offered load, measured as in a simulation of steady traffic.

Cycles pass in periods. The first ones warm up; then packets count that are made from there on, until mean latency and
throughput have changed by less than a bound in three periods on end, or enough have gone by; then the network runs
on, under the same load, until all that count have arrived. It is unstable, and measured no further, when the mean
latency of what counts, with the age of what is under way, passes a limit.
Source: the procedure of BookSim 2.0, whose curves are the reference (Dally, Towles: Principles and Practices of
Interconnection Networks, chapter 24).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from archsim.base.progress import stretch
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology
from archsim.noc import network_records
from archsim.noc.compiled.records import ARRIVED, MADE, MESSAGE, NEVER, NONE, NOW, NocState
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import replay, through_links, through_routers
from archsim.noc.traffic import TrafficPattern, arrivals

SETTLED = 3  # periods on end
ROOM = 4096  # packets beyond those expected


@dataclass(frozen=True, slots=True)
class LoadProcedure:
    """``period_cycles`` long periods: ``warm_up`` of them, at most ``periods`` in all; ``change``: of mean latency and
    throughput between settled ones; ``limit_cycles``: of the mean latency of a stable network."""

    period_cycles: int = 5000
    warm_up: int = 3
    periods: int = 10
    change: float = 0.05
    limit_cycles: float = 500.0
    check_cycles: int = 1000


@dataclass(frozen=True, slots=True, eq=False)
class OfferedLoad:
    """A network under one load. Latencies in cycles, of the packets that count, from when they were made to their last
    flit's arrival; ``accepted``: flits per node and cycle that arrived from then on; ``link_load``: flits per
    cycle, by link of the topology; ``flit_hops``: flits times the routers that they have entered."""

    rate: float
    stable: bool
    packets: int
    latency_mean: float
    latency_p50: int
    latency_p99: int
    latency_max: int
    accepted: float
    cycles: int
    flit_hops: int
    link_load: tuple[float, ...]


@dataclass(slots=True)
class _Run:
    state: NocState
    sources: Any
    nodes: int
    flits: int
    start: int = 0
    stop: int = NEVER
    came: int = 0
    first: int = 0  # of the packets, the first that had not arrived at the last look
    arrived: int = 0  # packets before it that count, and their latencies
    latency: int = 0

    @property
    def now(self) -> int:
        return int(self.state.counts[NOW])

    def advance(self, cycles: int) -> None:
        from archsim.noc.compiled import run  # the compiler is slow to import: only now

        until = self.now + cycles
        while self.now < until:
            run.advance_random(self.state, self.sources, until)
            if self.now < until:
                fresh = np.empty(max(ROOM, self.state.messages.size), MESSAGE)
                self.state = self.state._replace(messages=np.concatenate([self.state.messages, fresh]))

    def begin_period(self) -> None:
        """Packets and flits count from now on."""
        self.start, self.came = self.now, int(self.state.counts[ARRIVED])
        self.arrived = self.latency = 0

    def made(self, first: int = 0) -> Any:
        """All packets so far, from ``first`` on."""
        return self.state.messages[first : int(self.state.counts[MADE])]

    def pass_arrived(self, warm: bool) -> None:
        """Sum up the packets before the first that has not arrived: no later look needs them again."""
        made = self.made(self.first)
        under_way = made["ended"] == NONE
        passed = made[: int(under_way.argmax())] if under_way.any() else made
        ended = passed["ended"]
        counts = (ended if warm else passed["made"]) >= self.start
        self.first += passed.size
        self.arrived += int(np.count_nonzero(counts))
        self.latency += int((ended - passed["time"])[counts].sum())

    def counts(self, made: Any) -> Any:
        """Whether each of the packets counts."""
        return (made["made"] >= self.start) & (made["time"] < self.stop)


def offer(
    topology: Topology,
    routes: RoutingTable,
    parameters: RouterParameters,
    traffic: TrafficPattern,
    *,
    rate: float,
    flits: int,
    fidelity: str = "flit",
    seed: int = 0,
    procedure: LoadProcedure | None = None,
) -> OfferedLoad:
    """Offer ``rate`` flits per node and cycle in packets of ``flits``."""
    from archsim.noc.compiled.node_queues import PacketSources

    how = procedure or LoadProcedure()
    if fidelity == "link":
        return _offer_reserved(topology, routes, parameters, traffic, rate, flits, seed, how)
    sources = PacketSources(
        probability=rate / flits,
        flits=flits,
        targets=np.asarray(traffic.targets, np.int64),
        drawn=np.asarray(traffic.drawn, np.int64),
    )
    nodes = len(topology.nodes)
    expected = sources.probability * nodes * how.period_cycles * (how.warm_up + SETTLED + 1)
    state = network_records.initial(topology, routes, parameters, seed)
    run = _Run(state._replace(messages=np.empty(int(expected) + ROOM, MESSAGE)), sources, nodes, flits)
    most = how.periods * how.period_cycles
    with stretch("simulating", "cycles", most, done=lambda: run.now, at_most=True):
        stable = _settle(run, how) and _drain(run, how)
    return _result(run, topology, rate, stable)


def _settle(run: _Run, how: LoadProcedure) -> bool:
    """Warm up, then measure until nothing changes or the periods are over; False when latency passes the limit."""
    before = (0.0, 0.0)
    settled = 0
    for period in range(how.periods):
        warm = period < how.warm_up
        if (warm and period % 2 == 0) or period == how.warm_up:
            run.begin_period()
        run.advance(how.period_cycles)
        latency, age, accepted = _so_far(run, warm=warm)
        changed = abs(latency - before[0]) > how.change * latency or abs(accepted - before[1]) > how.change * accepted
        before = (latency, accepted)
        if age > how.limit_cycles:
            return False
        if not warm:
            settled = 0 if changed else settled + 1
        if settled == SETTLED:
            break
    return True


def _drain(run: _Run, how: LoadProcedure) -> bool:
    """Until all packets that count have arrived; False when their latency passes the limit before."""
    run.stop = run.now
    while ((run.made(run.first)["ended"] == NONE) & run.counts(run.made(run.first))).any():
        run.advance(how.check_cycles)
        if _so_far(run, warm=False)[1] > how.limit_cycles:
            return False
    return True


def _so_far(run: _Run, *, warm: bool) -> tuple[float, float, float]:
    """Mean latency of what arrived, the same with the age of each flit under way, and flits accepted.

    While the network warms up all packets count that arrived since the period began, else those of ``counted``.
    """
    run.pass_arrived(warm)
    made = run.made(run.first)
    ended = made["ended"] != NONE
    arrived = made[ended & (made["ended"] >= run.start if warm else run.counts(made))]
    under_way = made[~ended]
    flits = under_way["flits"] - under_way["arrived"]
    packets = run.arrived + arrived.size
    latency = run.latency + int((arrived["ended"] - arrived["time"]).sum())
    total = latency + int(((run.now - under_way["time"]) * flits).sum())
    came = int(run.state.counts[ARRIVED]) - run.came
    accepted = came / run.nodes / max(1, run.now - run.start)
    return latency / max(1, packets), total / max(1, packets + int(flits.sum())), accepted


def _result(run: _Run, topology: Topology, rate: float, stable: bool) -> OfferedLoad:
    made = run.made()
    ended, time = made["ended"], made["time"]
    counted = run.counts(made) & (ended != NONE)
    flow = network_records.flits_by_port(run.state)
    return _offered(
        rate, stable, ended[counted] - time[counted], _so_far(run, warm=False)[2], run.now,
        through_links(topology, flow), through_routers(topology, flow),
    )  # fmt: skip


def _offered(
    rate: float, stable: bool, latencies: Any, accepted: float, cycles: int, link_flits: Any, flit_hops: int
) -> OfferedLoad:
    """Of the packets that count and have arrived; flits in all ``cycles``."""
    latencies = np.sort(latencies)
    return OfferedLoad(
        rate=rate,
        stable=stable,
        packets=int(latencies.size),
        latency_mean=float(latencies.mean()) if latencies.size else 0.0,
        latency_p50=_rank(latencies, 50),
        latency_p99=_rank(latencies, 99),
        latency_max=_rank(latencies, 100),
        accepted=accepted,
        cycles=cycles,
        flit_hops=flit_hops,
        link_load=tuple((link_flits / max(1, cycles)).tolist()),
    )


def _offer_reserved(
    topology: Topology,
    routes: RoutingTable,
    parameters: RouterParameters,
    traffic: TrafficPattern,
    rate: float,
    flits: int,
    seed: int,
    how: LoadProcedure,
) -> OfferedLoad:
    """Over the least number of periods. Stable: the mean latency stays below the limit, and the last period's is at
    most ``change`` above the mean."""
    nodes, start = len(topology.nodes), how.warm_up * how.period_cycles
    stop = start + SETTLED * how.period_cycles
    generator = np.random.default_rng(seed)
    times, sources, targets = arrivals(traffic, nodes, rate / flits, 0, stop + how.period_cycles, generator)
    sizes = np.full(times.size, flits)
    found = replay(topology, routes, parameters, times, sources, targets, sizes, fidelity="link", seed=seed)
    latencies = found.ended - times
    counted = (times >= start) & (times < stop)
    late = counted & (times >= stop - how.period_cycles)
    mean, last = (float(latencies[part].mean()) if part.any() else 0.0 for part in (counted, late))
    came = np.count_nonzero((found.ended >= start) & (found.ended < stop)) * flits
    stable = mean <= how.limit_cycles and last <= (1 + how.change) * mean
    accepted = came / nodes / (stop - start)
    return _offered(rate, stable, latencies[counted], accepted, found.cycles, found.link_flits, found.router_flits)


def _rank(values: Any, percent: int) -> int:
    """The least of sorted values that so many per cent do not exceed; 0 of none."""
    return int(values[max(0, -(-values.size * percent // 100) - 1)]) if values.size else 0
