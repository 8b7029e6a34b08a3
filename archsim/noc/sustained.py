"""What share of the time the busiest link of a network works while all ports of a memory and all cores send at once.

Packets wait in a router for others that go elsewhere, so no link works all the time. How much of it depends on the
topology, the router and the packets; it is measured on the network itself, once, and kept for later runs.
"""

from __future__ import annotations

import numpy as np

from archsim.base.measured import MeasuredIntegers, MeasuredModel
from archsim.noc.network import Network, NetworkStats
from archsim.noc.shipments import Shipment
from archsim.sim.messages import Message, MessageBatch
from archsim.spec.network import Noc

MEASURED = MeasuredModel(
    "noc",
    "networks",
    ("archsim.noc", "archsim.facts.noc", "archsim.spec", "archsim.sim", "archsim.base.served"),
)
MESSAGES = 64  # of a port
LEAST_ROUNDS = 4  # in each of which every core has a message
MOST_PACKETS = 8  # of a message; of longer ones a link carries up to a tenth less on the meshes of many chips
SCALE = 10**6
FOREVER_PS = 1 << 62


def sustained_share(spec: Noc, memory: str, *, writes: bool) -> float:
    """Of the busiest link, in (0, 1], while messages go from all ports of a memory to all cores, or back."""
    known = MeasuredIntegers(MEASURED, spec)
    (share,) = known.numbers((memory, writes), lambda: (_measured(Network(spec), memory, writes),), least=(1,))
    return min(1.0, share / SCALE)


def _measured(network: Network, memory: str, writes: bool) -> int:
    """Each core has messages from ports, or to them, that are drawn at random, all of them at once; in SCALE parts."""
    spec, ports = network.spec, network.ports(memory)
    rounds = max(LEAST_ROUNDS, -(-MESSAGES * len(ports) // spec.cores))
    flits = -(-min(spec.message_bytes, MOST_PACKETS * spec.packet_bytes) // spec.link_bytes)
    drawn = np.random.default_rng(0).integers(0, len(ports), (rounds, spec.cores)).tolist()
    messages = [
        Message(core, (ports[port],), flits) if writes else Message(ports[port], (core,), flits)
        for one_round in drawn
        for core, port in enumerate(one_round)
    ]
    network.submit(0, [Shipment(n, network.load(MessageBatch((each,)))) for n, each in enumerate(messages)])
    under_way = len(messages)
    while under_way:
        under_way -= len(network.advance(FOREVER_PS))
    return max(1, round(_busiest(network.stats) * SCALE))


def _busiest(stats: NetworkStats) -> float:
    """Of the cycles that have passed, those in which the busiest link carried flits, those at nodes among them."""
    return max(stats.busiest_share, max(*stats.node_in, *stats.node_out) / stats.cycles)
