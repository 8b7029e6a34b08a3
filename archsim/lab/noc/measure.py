"""Latency of a network against the load that its nodes offer, behind ``archsim noc``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from archsim.base.errors import ConfigError
from archsim.base.progress import WorkStretch, each, stretch
from archsim.facts.noc.catalogue import network
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology
from archsim.noc import channel_load, traffic
from archsim.noc.offered import OfferedLoad, offer
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import replay
from archsim.report.noc.terminal import SCHEMA

FIRST, STEP, FINEST = 0.05, 0.05, 0.01  # flits per node and cycle, where no rates are asked for
MOST = 1.0  # a node sends at most one flit a cycle
WHAT, LOADS = "simulating", "loads"
HALVINGS = 2  # of STEP, until it is FINEST or nearly
HOTTEST = 8  # links that are named
_LONE = 4096  # pairs of nodes whose latency without load is measured
_APART_CYCLES = 1 << 16

Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """No progress is shown."""


@dataclass(frozen=True)
class NocOptions:
    """Options of ``archsim noc``; ``rates`` empty: upwards until the network is no longer stable, then the knee."""

    topology: str
    shape: tuple[int, ...]
    traffic: str = "uniform"
    flits: int = 1
    rates: tuple[float, ...] = ()
    router: RouterParameters = field(default_factory=RouterParameters)
    link_delay_cycles: int | None = None
    order: str = "xy"
    links: tuple[tuple[int, int], ...] | None = None
    seed: int = 0
    fidelity: Literal["flit", "link"] = "flit"


@dataclass(frozen=True, slots=True)
class _Network:
    asked: NocOptions
    topology: Topology
    routes: RoutingTable
    pattern: traffic.TrafficPattern

    def offer(self, rate: float) -> OfferedLoad:
        asked = self.asked
        return offer(
            self.topology, self.routes, asked.router, self.pattern,
            rate=rate, flits=asked.flits, fidelity=asked.fidelity, seed=asked.seed,
        )  # fmt: skip


def measure(asked: NocOptions, say: Progress = quiet) -> dict[str, Any]:
    """Everything that ``archsim noc --format json`` prints; raises ConfigError for what cannot be."""
    _check(asked)
    say("building the network")
    topology, routes = network(
        asked.topology, asked.shape, link_delay_cycles=asked.link_delay_cycles, order=asked.order, links=asked.links
    )
    pattern = traffic.by_name(asked.traffic, len(topology.nodes), topology.shape)
    net = _Network(asked, topology, routes, pattern)
    points = _points(net)
    stable = [point for point in points if point.stable]
    shown = stable[-1] if stable else points[0]
    return {
        "schema": SCHEMA,
        **described(asked, topology),
        "traffic": asked.traffic,
        "packet_flits": asked.flits,
        "seed": asked.seed,
        "ideal_rate": channel_load.ideal_rate(topology, routes, pattern),
        "zero_load_cycles": _zero_load(net),
        "last_stable_rate": stable[-1].rate if stable else None,
        "accepted_most": max(point.accepted for point in points),
        "points": [_point(point) for point in points],
        "links_at_rate": shown.rate,
        "links": link_rows(topology, shown.link_load),
    }


def described(asked: NocOptions, topology: Topology) -> dict[str, Any]:
    """The network in words and numbers."""
    return {
        "topology": topology.name,
        "shape": list(topology.shape),
        "routers": topology.routers,
        "nodes": len(topology.nodes),
        "link_count": len(topology.links),
        "bisection_links": topology.bisection_links or None,
        "routing": asked.order if topology.order else "shortest_path" if not topology.route else "own",
        "fidelity": asked.fidelity,
        "router": asdict(asked.router),
        "link_delay_cycles": max((link.delay_cycles for link in topology.links), default=0),
    }


def link_rows(topology: Topology, loads: Sequence[float]) -> list[dict[str, Any]]:
    """Each link's routers and flits per cycle."""
    return [
        {"from": link.source, "to": link.target, "flits_per_cycle": value}
        for link, value in zip(topology.links, loads, strict=True)
    ]


def _check(asked: NocOptions) -> None:
    if not 1 <= asked.flits <= 1 << 16:
        raise ConfigError(f"--packet: found {asked.flits} flits; allowed 1 to {1 << 16}")
    for rate in asked.rates:
        if not 0 < rate <= MOST:
            raise ConfigError(
                f"--rates: found {rate:g}; allowed more than 0 and up to {MOST:g} flits per node and cycle"
            )


def _points(net: _Network) -> list[OfferedLoad]:
    if net.asked.rates:
        rates = sorted(set(net.asked.rates))
        return [net.offer(rate) for rate in each(rates, WHAT, LOADS, "{:g}".format)]
    with stretch(WHAT, LOADS, round(MOST / STEP) + HALVINGS, at_most=True) as told:
        return _knee(net, _upwards(net, told), told)


def _upwards(net: _Network, told: WorkStretch) -> list[OfferedLoad]:
    """In equal steps until the network is not stable."""
    found: list[OfferedLoad] = []
    for step in range(round(MOST / STEP)):
        rate = round(FIRST + step * STEP, 6)
        told.at = f"{rate:g}"
        found.append(net.offer(rate))
        told.add()
        if not found[-1].stable:
            break
    return found


def _knee(net: _Network, found: list[OfferedLoad], told: WorkStretch) -> list[OfferedLoad]:
    """Halve the step between the last stable rate and the first that is not."""
    while not found[-1].stable:
        low = found[-2].rate if len(found) > 1 else 0.0
        rate = round((low + found[-1].rate) / 2, 6)
        if found[-1].rate - low <= 2 * FINEST - 1e-9:
            break
        told.at = f"{rate:g}"
        point = net.offer(rate)
        told.add()
        if point.stable:
            found.insert(-1, point)
        else:
            found[-1] = point
    return found


def _zero_load(net: _Network) -> float:
    """Mean latency of lone packets over the pairs of nodes of the pattern, or many of them."""
    nodes = len(net.topology.nodes)
    if net.pattern.targets:
        sources, targets = np.arange(nodes), np.asarray(net.pattern.targets)
    else:
        drawn = np.asarray(net.pattern.drawn)
        pairs = np.arange(nodes * drawn.size)
        pairs = pairs[:: -(-pairs.size // _LONE)]
        sources, targets = pairs // drawn.size, drawn[pairs % drawn.size]
    times = np.arange(sources.size) * _APART_CYCLES
    lone = replay(
        net.topology, net.routes, net.asked.router, times, sources, targets, np.full(sources.size, net.asked.flits)
    )
    return float((lone.ended - times).mean())


def _point(point: OfferedLoad) -> dict[str, Any]:
    return {
        "rate": point.rate,
        "stable": point.stable,
        "packets": point.packets,
        "latency_cycles": {
            "mean": point.latency_mean,
            "p50": point.latency_p50,
            "p99": point.latency_p99,
            "max": point.latency_max,
        },
        "accepted_flits_per_node_cycle": point.accepted,
        "hottest_link_flits_per_cycle": max(point.link_load, default=0.0),
        "cycles": point.cycles,
        "flit_hops": point.flit_hops,
    }
