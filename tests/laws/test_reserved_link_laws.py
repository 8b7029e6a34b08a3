"""Reserved links in compiled code against the same, packet by packet, in plain Python."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.noc.network import Network
from archsim.noc.shipments import Shipment
from archsim.sim.clock import ClockDomain
from archsim.sim.messages import Message, MessageBatch
from archsim.spec.network import Noc
from tests.laws.builders_noc import FAR_PS, networks, noc, package
from tests.laws.test_network_laws import nodes_of
from tests.oracles.reserved_links import ReservedLinks

stars = st.builds(
    noc,
    st.sampled_from(["crossbar", "bus"]),
    fidelity=st.just("link"),
    packet_bytes=st.sampled_from([32, 64, 160]),
    header_flits=st.sampled_from([0, 1, 2]),
    multicast=st.booleans(),
    speculative=st.booleans(),
    buffer_flits=st.just(16),
)


@st.composite
def wide(draw: st.DrawFn) -> Noc:
    """A crossbar whose ports do not fit one word of a tree, alone or several of them in a ring."""
    nodes = draw(st.sampled_from([58, 59, 60, 61, 118, 119, 130]))
    found = noc("crossbar", shape=(nodes,), cores=nodes, fidelity="link", packet_bytes=64)
    return found if draw(st.booleans()) else package(found)


@st.composite
def shipments(draw: st.DrawFn, nodes: int) -> list[tuple[int, int, list[MessageBatch]]]:
    """Instants in ps that do not fall, ranks and batches: crowded, to few of the nodes, some behind a request."""
    some = draw(st.lists(st.integers(0, nodes - 1), min_size=2, max_size=9, unique=True))

    def message(source: int) -> Message:
        others = [node for node in some if node != source]
        targets = draw(st.lists(st.sampled_from(others), min_size=1, max_size=6, unique=True))
        return Message(source, tuple(targets), draw(st.integers(1, 60)))

    found, at_ps = [], 0
    for _ in range(draw(st.integers(1, 14))):
        at_ps += draw(st.sampled_from([0, 0, 1, 769, 1000, 3500, 40_000]))
        batches = []
        for _ in range(draw(st.integers(1, 3))):
            home = draw(st.sampled_from(some))
            asked = draw(st.sampled_from([None, *(node for node in some if node != home)]))
            request = None if asked is None else Message(home, (asked,), draw(st.integers(1, 3)))
            source = home if asked is None else asked
            batches.append(MessageBatch(tuple([message(source) for _ in range(draw(st.integers(1, 3)))]), request))
        found.append((at_ps, draw(st.integers(0, 3)), batches))
    return found


@settings(max_examples=150, deadline=None)
@given(st.one_of(stars, wide(), networks()), st.data())
def test_law_34_reserved_links_equal_those_packet_by_packet(spec: Noc, data: st.DataObject) -> None:
    """Law 34: with reserved links shipments end when, and in the order in which, they do where every packet has its
    turn at each router and at its end; flits of links and nodes are equal too."""
    spec = replace(spec, fidelity="link")
    network, expected, clock = Network(spec), ReservedLinks(spec), ClockDomain(spec.clock_hz)
    ends: list[tuple[int, int]] = []

    def until(stop_ps: int) -> None:
        while came := network.advance(stop_ps):
            ends.extend((delivery.id, delivery.time_ps) for delivery in came)
        expected.run(clock.cycle(stop_ps + 1))

    for number, (at_ps, rank, batches) in enumerate(data.draw(shipments(nodes_of(spec)))):
        until(at_ps)
        network.submit(at_ps, [Shipment(number, network.load(*batches), rank)])
        expected.submit(at_ps, number, rank, batches)
    until(FAR_PS)
    assert ends == [(number, clock.edge(cycle)) for number, cycle in expected.ended]
    assert [link.flits for link in network.stats.links] == expected.link_flits
    assert list(network.stats.node_in) == expected.sent
