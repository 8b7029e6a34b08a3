"""The network as a model: turns of messages, records that are used again, what it refuses, where ports are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from archsim.base.errors import ConfigError, SimulationError
from archsim.facts.noc.attachment import attached
from archsim.facts.noc.catalogue import network
from archsim.facts.noc.topology import NetworkNode
from archsim.noc.network import FIRST_MESSAGES, Network
from archsim.noc.shipments import Shipment
from archsim.sim.messages import Message, MessageBatch
from tests.laws.builders_noc import FAR_PS, Sent, noc, run, submit

BOTH = pytest.mark.parametrize("fidelity", ["flit", "link"])
pytestmark = pytest.mark.slow  # compiles the routers


@BOTH
def test_a_short_message_does_not_wait_for_a_long_one(fidelity: str) -> None:
    """It is sent after the packet that is being sent, of three flits."""
    spec = noc(fidelity=fidelity)
    (alone,) = run(spec, [(0, [Sent(1, 0, (5,), 2)])])
    ends = run(spec, [(0, [Sent(0, 0, (5,), 1000), Sent(1, 0, (5,), 2)])])
    assert [delivery.id for delivery in ends] == [1, 0]
    assert ends[0].time_ps == alone.time_ps + 3 * 1000
    assert ends[1].time_ps >= (500 * 3 + 3) * 1000


@BOTH
def test_records_are_used_again(fidelity: str) -> None:
    spec = noc(fidelity=fidelity, multicast=False)
    found = Network(spec)
    for number in range(20 * FIRST_MESSAGES):
        submit(found, number * 10**6, [Sent(number, 0, (1, 3), 5)])
        assert [delivery.id for delivery in found.advance(number * 10**6 + 999_999)] == [number]
        assert found.next_event_ps() is None
    assert found._engine.state.messages.size == FIRST_MESSAGES
    crowd = [Sent(number, number % 6, ((number + 1) % 6,), 3) for number in range(5 * FIRST_MESSAGES)]
    submit(found, FAR_PS, crowd)
    assert found.next_event_ps() is not None
    ended: set[int] = set()
    while came := found.advance(2 * FAR_PS):
        ended |= {delivery.id for delivery in came}
    assert ended == set(range(len(crowd)))


@BOTH
@pytest.mark.parametrize("ranks", [(0, 1), (1, 0)])
def test_messages_of_one_edge_go_in_the_order_of_instants_then_of_ranks(fidelity: str, ranks: tuple[int, int]) -> None:
    """Also where they wait for a request."""
    spec, slow = (noc(fidelity=fidelity, clock_hz=hz) for hz in (10**9, 5 * 10**8))
    found = Network(slow)
    for number, rank in enumerate(ranks):
        found.submit(1000 * number, [Shipment(number, Sent(number, 0, (5,), 2).load(found), rank)])
    assert ended(found) == [0, 1]
    found = Network(slow)
    for number, rank in enumerate(ranks):
        found.submit(1000, [Shipment(number, Sent(number, 0, (5,), 2).load(found), rank)])
    assert ended(found) == [ranks.index(0), ranks.index(1)]
    asked, sent = Message(5, (0,), 1), Message(0, (5,), 2)
    (alone,) = run(spec, [(0, [Sent(0, 5, (0,), 1)])])
    found = Network(spec)
    found.submit(0, [Shipment(0, found.load(MessageBatch((sent,), asked)), ranks[0])])
    assert not found.advance(alone.time_ps)
    found.submit(alone.time_ps, [Shipment(1, found.load(MessageBatch((sent,))), ranks[1])])
    assert ended(found) == [ranks.index(0), ranks.index(1)]


def ended(network: Network) -> list[int]:
    """The shipments in the order in which they end."""
    found = []
    while came := network.advance(FAR_PS):
        found += [delivery.id for delivery in came]
    return found


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (Sent(0, 2, (2,), 1), "from node 2 to itself"),
        (Sent(0, 2, (1, 2), 1), "from node 2 to itself"),
        (Sent(0, 2, (1, 1), 1), "allowed different nodes of 0 to 8"),
        (Sent(0, 2, (9,), 1), "allowed different nodes of 0 to 8"),
        (Sent(0, 2, (), 1), "allowed different nodes of 0 to 8"),
        (Sent(0, 2, (1,), -1), "of -1 flits"),
    ],
)
def test_messages_that_cannot_be(message: Sent, says: str) -> None:
    with pytest.raises(SimulationError, match=says):
        submit(Network(noc()), 0, [message])


def test_time_does_not_go_back() -> None:
    found = Network(noc())
    found.advance(5000)
    with pytest.raises(SimulationError, match="submitted at 4999 ps, after it reached 5000 ps"):
        submit(found, 4999, [Sent(0, 0, (1,), 1)])
    with pytest.raises(SimulationError, match="already at 5000 ps"):
        found.advance(4999)


def test_nodes_and_ports() -> None:
    found = Network(noc())
    assert [found.node(core) for core in range(6)] == list(range(6))
    assert found.ports("dram") == (6, 7) and found.ports("l2") == (8,)
    with pytest.raises(SimulationError, match="core 6; allowed 0 to 5"):
        found.node(6)
    with pytest.raises(SimulationError, match="no port of 'l3'"):
        found.ports("l3")


@BOTH
def test_a_packet_to_several_nodes_fits_a_buffer(fidelity: str) -> None:
    wide: dict[str, Any] = {"fidelity": fidelity, "packet_bytes": 256, "header_flits": 2, "buffer_flits": 9}
    says = "mesh.packet: found 8 flits (256 B in links of 32 B) with a header of 2; allowed with mesh.buffer 9"
    with pytest.raises(ConfigError, match=re.escape(says)):
        Network(noc(**wide))
    Network(noc(**wide, multicast=False))
    Network(noc(**{**wide, "buffer_flits": 10}))


def test_ports_at_places() -> None:
    topology, _ = network("mesh", (3, 2))
    found = attached(topology, [(2, 1), (0, 0), (2, 1)])
    assert found.nodes[:6] == topology.nodes and found.ports == topology.ports + 2
    assert found.nodes[6:] == (NetworkNode(5, 5), NetworkNode(0, 5), NetworkNode(5, 6))
    bus, _ = network("bus", (3,))
    assert attached(bus, [(0,)]).nodes[3] == NetworkNode(0, 4, sink_router=1)
    with pytest.raises(ConfigError, match=re.escape("attach: found [3, 0]; mesh has routers at [0 to 2, 0 to 1]")):
        attached(topology, [(3, 0)])


def test_header_alone() -> None:
    """A request without payload is one header; without a header either there is nothing to send."""
    alone = Sent(0, 0, (1,), 0)
    (came,) = run(noc(), [(0, [alone])])
    assert (alone.load(Network(noc())).passed, came.time_ps) == (((1, 2),), 13_000)
    with pytest.raises(SimulationError, match="a message of 0 flits and no header"):
        run(noc(header_flits=0), [(0, [Sent(0, 0, (1,), 0)])])
