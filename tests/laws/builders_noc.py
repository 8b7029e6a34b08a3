"""Networks of chips for tests, and messages through them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology
from archsim.noc import channel_load
from archsim.noc.engine import FIDELITIES
from archsim.noc.network import Network
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import replay
from archsim.noc.shipments import MessageLoad, Shipment, ShipmentDelivery
from archsim.sim.messages import Message, MessageBatch
from archsim.spec import topology as chip_topology
from archsim.spec.network import Noc, OuterNetwork

FAR_PS = 1 << 50
TOPOLOGIES: dict[str, tuple[tuple[int, ...], int, dict[str, tuple[tuple[int, ...], ...]]]] = {
    "mesh": ((3, 2), 6, {"dram": ((0, 0), (2, 1)), "l2": ((0, 0),)}),
    "torus": ((4, 3), 12, {"l2": ((1, 2),)}),
    "ring": ((5,), 5, {"dram": ((3,),)}),
    "crossbar": ((4,), 4, {"dram": ((0,), (0,))}),
    "fat_tree": ((2, 2), 4, {"l2": ((0,), (1,))}),
    "tree": ((2, 3), 7, {"dram": ((0,),)}),
    "bus": ((4,), 4, {"dram": ((0,),)}),
    "point_to_point": ((4,), 4, {"dram": ((2,),)}),
}


def noc(topology: str = "mesh", **options: Any) -> Noc:
    """A small network of a topology with ports of parts above it; ``options``: fields of Noc."""
    shape, cores, attach = TOPOLOGIES[topology]
    usual: dict[str, Any] = {
        "name": "mesh", "kind": "noc", "clock_hz": 10**9, "sync_stages": 2, "scope": "chip", "energy_pj": {},
        "area_mm2": None, "leakage_w": None, "idle_w": None, "copies": 1, "topology": topology, "shape": shape,
        "cores": cores, "link_bytes": 32, "attach": attach, "inside": ("l1",),
    }  # fmt: skip
    return Noc(**{**usual, **options})


def package(inner: Noc, topology: str = "ring", shape: tuple[int, ...] = (3,), **options: Any) -> Noc:
    """Copies of a network at the nodes of one around it, with a port of a part above at its first router."""
    router = chip_topology.network(inner)[0].coordinates
    gate = router[0] if router else (0,)
    usual: dict[str, Any] = {
        "name": "package", "kind": "noc", "clock_hz": inner.clock_hz, "sync_stages": 2, "scope": "chip",
        "energy_pj": {}, "area_mm2": None, "leakage_w": None, "idle_w": None, "copies": 1, "topology": topology,
        "shape": shape, "nodes": prod(shape), "link_bytes": 32, "attach": {"dram": ((0,),)}, "width_bytes": 32,
        "far_buffer_flits": max(inner.buffer_flits, 16),
    }  # fmt: skip
    outer = OuterNetwork(**{**usual, **options})
    return replace(inner, attach={"package": (gate,)}, cores=inner.cores * outer.nodes, outer=(outer,))


class Sent(NamedTuple):
    """A message that is a shipment of its own."""

    id: int
    source: int
    targets: tuple[int, ...]
    flits: int

    def load(self, network: Network) -> MessageLoad:
        """What it is to a network."""
        return network.load(MessageBatch((Message(self.source, self.targets, self.flits),)))


def submit(network: Network, at_ps: int, messages: Sequence[Sent]) -> None:
    """All of an instant."""
    network.submit(at_ps, [Shipment(message.id, message.load(network)) for message in messages])


@st.composite
def networks(draw: st.DrawFn) -> Noc:
    """Any topology, fidelity, cut into packets, and clock; some of them in a ring with slow links."""
    inner = draw(single_networks())
    if inner.topology == "bus" or draw(st.booleans()):
        return inner
    return package(inner, period=draw(st.sampled_from([Fraction(1), Fraction(3), Fraction(64, 25)])))


@st.composite
def single_networks(draw: st.DrawFn) -> Noc:
    """Of one level."""
    return noc(
        draw(st.sampled_from(sorted(TOPOLOGIES))),
        fidelity=draw(st.sampled_from(["flit", "link"])),
        clock_hz=draw(st.sampled_from([10**9, 1_300_000_001, 700_000_000])),
        vcs=draw(st.sampled_from([2, 4])),
        packet_bytes=draw(st.sampled_from([32, 64, 160])),
        header_flits=draw(st.sampled_from([0, 1, 2])),
        multicast=draw(st.booleans()),
        speculative=draw(st.booleans()),
        credit_delay_cycles=draw(st.sampled_from([0, 3])),
    )


@st.composite
def traffic(draw: st.DrawFn, nodes: int, *, longest: int = 40) -> list[tuple[int, list[Sent]]]:
    """Instants in ps and what is sent then: crowded, or far apart, to one node or several."""
    found: list[tuple[int, list[Sent]]] = []
    time_ps, number = 0, 0
    for _ in range(draw(st.integers(1, 12))):
        time_ps += draw(st.sampled_from([0, 1, 769, 1000, 3500, 40_000, 10_000_000]))
        sent = []
        for _ in range(draw(st.integers(1, 5))):
            several = draw(st.lists(st.integers(0, nodes - 1), min_size=2, max_size=5, unique=True))
            targets = several[1:] if draw(st.booleans()) else several[1:2]
            sent.append(Sent(number, several[0], tuple(targets), draw(st.integers(1, longest))))
            number += 1
        if found and found[-1][0] == time_ps:
            found[-1][1].extend(sent)
        else:
            found.append((time_ps, sent))
    return found


def run(spec: Noc, sends: Sequence[tuple[int, list[Sent]]], bounds: Iterable[int] = ()) -> list[ShipmentDelivery]:
    """Every delivery, in order. ``bounds``: instants, rising, up to which the network is run before it goes on."""
    network = Network(spec)
    found: list[ShipmentDelivery] = []
    stops = sorted([*bounds, *(at_ps for at_ps, _ in sends)])
    waiting = list(sends)
    for stop_ps in stops:
        found += _until(network, stop_ps)
        while waiting and waiting[0][0] == stop_ps:
            submit(network, *waiting.pop(0))
    return found + _until(network, FAR_PS)


def _until(network: Network, stop_ps: int) -> list[ShipmentDelivery]:
    found: list[ShipmentDelivery] = []
    while True:
        least = network.next_event_ps()
        came = network.advance(stop_ps)
        assert all(least is not None and delivery.time_ps >= least for delivery in came)
        assert len({delivery.time_ps for delivery in came}) <= 1
        found += came
        if not came:
            return found


def assert_alone(
    topology: Topology,
    routes: RoutingTable,
    router: RouterParameters,
    pairs: Sequence[tuple[int, int]],
    flits: int,
    apart: int,
) -> None:
    """Packets between ``pairs`` of nodes, ``apart`` cycles after one another, take the formula at every fidelity."""
    times = np.arange(len(pairs)) * apart
    sources, targets = (list(ends) for ends in zip(*pairs, strict=True))
    expected = [channel_load.lone_cycles(topology, routes, router, *pair, flits) for pair in pairs]
    for fidelity in FIDELITIES:
        found = replay(topology, routes, router, times, sources, targets, [flits] * len(pairs), fidelity=fidelity)
        assert (found.ended - times).tolist() == expected
