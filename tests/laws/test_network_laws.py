"""The network beside other models: one global event loop, packets of messages, lone messages, trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dram import catalogue
from archsim.facts.noc.topology import GATEWAY
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.interface import Transfer
from archsim.noc.network import Network
from archsim.noc.parameters import RouterParameters
from archsim.noc.replay import DeliveredPackets, replay
from archsim.noc.shipments import Shipment, ShipmentDelivery
from archsim.sim.clock import ClockDomain
from archsim.sim.events import EventLoop
from archsim.sim.messages import Message, MessageBatch
from archsim.spec.network import Noc
from archsim.spec.topology import network as with_ports
from tests.laws.builders_noc import FAR_PS, TOPOLOGIES, Sent, networks, noc, run, submit, traffic

pytestmark = pytest.mark.slow  # compiles the routers
EVERY_PS = ClockDomain(10**12)


def parameters(spec: Noc) -> RouterParameters:
    return RouterParameters(
        vcs=spec.vcs, vc_buffer=spec.buffer_flits, credit_delay=spec.credit_delay_cycles, speculative=spec.speculative
    )


def nodes_of(spec: Noc) -> int:
    return spec.cores + sum(len(places) for places in spec.shared.values())


def inside(network: Network) -> int:
    """Flits of all links but the wires between nested networks."""
    links = zip(network.stats.links, network.topology.links, strict=True)
    return sum(link.flits for link, own in links if own.level != GATEWAY)


def listed(spec: Noc, packets: Sequence[tuple[int, int, tuple[int, ...], int]]) -> DeliveredPackets:
    """One call of the explicit replay: packets of (time in ps, source, targets, flits)."""
    topology, routes, _ = with_ports(spec)
    groups = sorted({targets for _, _, targets, _ in packets if len(targets) > 1})
    places = {(node,): node for node in range(len(topology.nodes))}
    places |= {group: len(topology.nodes) + number for number, group in enumerate(groups)}
    clock = ClockDomain(spec.clock_hz)
    rows = [(clock.cycle(at + 1), source, places[targets], flits) for at, source, targets, flits in packets]
    return replay(
        topology, routes, parameters(spec), *zip(*rows, strict=True), groups=tuple(groups), fidelity=spec.fidelity
    )


def packets_of(spec: Noc, messages: Sequence[Sent]) -> list[tuple[int, tuple[int, ...], int, int]]:
    """Source, targets, flits and message of each packet of an instant: of each message, or copy, one in turn."""
    most = -(-spec.packet_bytes // spec.link_bytes)
    waiting = [
        (message, targets, message.flits)
        for message in messages
        for targets in ([message.targets] if spec.multicast else [(target,) for target in message.targets])
    ]
    found = []
    while waiting:
        message, targets, left = waiting.pop(0)
        size = min(left, most)
        found.append((message.source, targets, size + spec.header_flits, message.id))
        if left > size:
            waiting.append((message, targets, left - size))
    return found


@settings(max_examples=100, deadline=None)
@given(networks(), st.data())
def test_law_34_any_bounds(spec: Noc, data: st.DataObject) -> None:
    """Law 34: a network that is stopped anywhere, and given messages one instant after the other, delivers what it
    does when it is only stopped to be given them, bit for bit, and its counts are the same."""
    sends = data.draw(traffic(nodes_of(spec)))
    bounds = data.draw(st.lists(st.integers(0, 2 * sends[-1][0] + 300_000), max_size=60))
    found = run(spec, sends)
    assert sorted(delivery.id for delivery in found) == sorted(message.id for _, sent in sends for message in sent)
    assert run(spec, sends, bounds) == found
    ahead = Network(spec)
    for at_ps, sent in sends:
        submit(ahead, at_ps, sent)
    everything: list[ShipmentDelivery] = []
    while came := ahead.advance(FAR_PS):
        everything += came
    assert everything == found


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_law_34_equals_the_listed_packets(spec: Noc, data: st.DataObject) -> None:
    """Law 34: messages that each fit a packet, at any times, end when one call of the replay says they do, in which
    every packet is listed."""
    spec = replace(spec, multicast=True)
    most = -(-spec.packet_bytes // spec.link_bytes)
    sends = data.draw(traffic(nodes_of(spec), longest=most))
    found = {delivery.id: delivery.time_ps for delivery in run(spec, sends)}
    messages = [(at_ps, message) for at_ps, sent in sends for message in sent]
    whole = listed(spec, [(at, m.source, m.targets, m.flits + spec.header_flits) for at, m in messages])
    clock = ClockDomain(spec.clock_hz)
    expected = {m.id: clock.edge(int(end)) for (_, m), end in zip(messages, whole.ended, strict=True)}
    assert found == expected


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_law_34_packets_of_messages_take_turns(spec: Noc, data: st.DataObject) -> None:
    """Law 34: messages of many packets, each instant's after those before have arrived, equal one call of the replay in
    which the packets are listed, of each message of a node one in turn; flits of links and nodes too."""
    sends = [(number * 10**9, sent) for number, (_, sent) in enumerate(data.draw(traffic(nodes_of(spec), longest=120)))]
    network = Network(spec)
    found: dict[int, int] = {}
    counted = np.zeros(2, int)
    packets: list[tuple[int, int, tuple[int, ...], int]] = []
    of_message: list[int] = []
    for at_ps, sent in sends:
        submit(network, at_ps, sent)
        counted += np.sum([message.load(network).passed for message in sent], (0, 1))
        while came := network.advance(at_ps + 10**9 - 1):
            found |= {delivery.id: delivery.time_ps for delivery in came}
        for source, targets, flits, number in packets_of(spec, sent):
            packets.append((at_ps, source, targets, flits))
            of_message.append(number)
    whole = listed(spec, packets)
    clock = ClockDomain(spec.clock_hz)
    expected: dict[int, int] = {}
    for number, end in zip(of_message, whole.ended.tolist(), strict=True):
        expected[number] = max(expected.get(number, 0), clock.edge(end))
    assert found == expected
    stats = network.stats
    assert [link.flits for link in stats.links] == whole.link_flits.tolist()
    assert counted.tolist() == [inside(network), stats.router_flits]
    assert stats.router_flits == whole.router_flits


class ByHand:
    """Shipments whose messages are sent one by one: what waits for a request when that has arrived."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.waiting: dict[int, tuple[int, int, tuple[Message, ...]]] = {}  # by request: shipment, rank, what waits
        self.of: dict[int, int] = {}  # shipment of each message
        self.sent: dict[int, int] = {}  # messages of each shipment
        self.ends: dict[int, int] = {}

    def send(self, at_ps: int, shipment: int, rank: int, messages: Sequence[Message]) -> list[int]:
        """Messages of one instant; their numbers."""
        numbers = [shipment * 1000 + self.sent.get(shipment, 0) + at for at in range(len(messages))]
        loads = [self.network.load(MessageBatch((message,))) for message in messages]
        self.network.submit(at_ps, [Shipment(n, load, rank) for n, load in zip(numbers, loads, strict=True)])
        self.of |= dict.fromkeys(numbers, shipment)
        self.sent[shipment] = self.sent.get(shipment, 0) + len(messages)
        return numbers

    def ship(self, at_ps: int, shipment: int, rank: int, batches: Sequence[MessageBatch]) -> None:
        """As a shipment of these batches."""
        for batch in batches:
            if batch.request is None:
                self.send(at_ps, shipment, rank, batch.messages)
            else:
                (asked,) = self.send(at_ps, shipment, rank, [batch.request])
                self.waiting[asked] = shipment, rank, batch.messages

    def until(self, stop_ps: int) -> None:
        """Run up to an instant; requests that arrive by then are followed by what waited for them."""
        while came := self.network.advance(stop_ps):
            for delivery in came:
                self.ends[self.of[delivery.id]] = delivery.time_ps
                if delivery.id in self.waiting:
                    self.send(delivery.time_ps, *self.waiting.pop(delivery.id))


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_law_34_shipments_are_their_messages_one_by_one(spec: Noc, data: st.DataObject) -> None:
    """Law 34: a shipment ends when its messages do, sent one by one, each batch when its request has arrived; it takes
    its least at least, and what passes links and routers is what it said."""
    whole, parts = Network(spec), ByHand(Network(spec))
    nodes, found = st.integers(0, nodes_of(spec) - 1), dict[int, int]()
    passed = np.zeros(2, int)

    def message(source: int, targets: int) -> Message:
        others = data.draw(st.lists(nodes.filter(lambda node: node != source), min_size=targets, max_size=targets))
        return Message(source, tuple(dict.fromkeys(others)), data.draw(st.integers(1, 40)))

    at_ps, least = 0, dict[int, int]()
    for shipment in range(data.draw(st.integers(1, 12))):
        at_ps += data.draw(st.sampled_from([0, 1, 769, 3500, 40_000]))
        home, rank, batches = data.draw(nodes), data.draw(st.integers(0, 3)), list[MessageBatch]()
        for _ in range(data.draw(st.integers(1, 3))):
            request = message(home, 1) if data.draw(st.booleans()) else None
            source = home if request is None else request.targets[0]
            batches.append(
                MessageBatch(tuple([message(source, data.draw(st.integers(1, 3))) for _ in range(2)]), request)
            )
        found |= {delivery.id: delivery.time_ps for delivery in _all(whole, at_ps)}
        parts.until(at_ps)
        load = whole.load(*batches)
        least[shipment] = at_ps + load.least_ps
        passed += np.sum(load.passed, 0)
        whole.submit(at_ps, [Shipment(shipment, load, rank)])
        parts.ship(at_ps, shipment, rank, batches)
    found |= {delivery.id: delivery.time_ps for delivery in _all(whole, FAR_PS)}
    parts.until(FAR_PS)
    assert found == parts.ends
    assert all(found[shipment] >= bound for shipment, bound in least.items())
    assert passed.tolist() == [inside(whole), whole.stats.router_flits]
    assert whole.stats.links == parts.network.stats.links


def _all(network: Network, until_ps: int) -> list[ShipmentDelivery]:
    found: list[ShipmentDelivery] = []
    while came := network.advance(until_ps):
        found += came
    return found


class Chain:
    """Clients whose requests go to a network, a DRAM and another network in turn, each when the last one is done."""

    def __init__(self, specs: Sequence[Noc], seed: int, clients: int, length: int) -> None:
        dram = catalogue.dram("ddr4", 2400, 64, 1, 1 << 30)
        self.models: list[Any] = [Network(specs[0]), DramController(dram), Network(specs[1])]
        self._clocks = [ClockDomain(hz) for hz in (*(spec.clock_hz for spec in specs), dram.device.clock_hz)]
        self.left = [length] * clients
        self.log: list[tuple[int, int]] = []
        self._random = [np.random.default_rng(seed + client) for client in range(clients)]
        self._nodes = [nodes_of(specs[0]), 0, nodes_of(specs[1])]

    def request(self, client: int) -> tuple[int, tuple[int, ...], Any]:
        """The model, the order and the request."""
        self.left[client] -= 1
        number = self.left[client] * len(self.left) + client
        model = number % 3
        draw = self._random[client].integers
        if model == 1:
            return model, (client, number), Transfer(number, False, 64 * int(draw(1 << 20)), 64 * int(draw(1, 9)))
        source, target = (int(node) for node in self._random[client].permutation(self._nodes[model])[:2])
        message = Sent(number, source, (target,), int(draw(1, 30)))
        return model, (client, number), Shipment(number, message.load(self.models[model]))

    def event_loop(self) -> None:
        """In the event loop."""
        event_loop = EventLoop()
        ports = [event_loop.attach(model) for model in self.models]

        def body(client: int) -> Any:
            while self.left[client]:
                model, order, request = self.request(client)
                least = 0 if model == 1 else request.load.least_ps
                done = yield event_loop.submit(ports[model], order, request, EVERY_PS, least)
                self.log.append((done.id, done.time_ps))
                yield event_loop.timeout(client)

        for client in range(len(self.left)):
            event_loop.start(body(client))
        event_loop.run()

    def ticks(self) -> None:
        """One loop over all instants at which anything may happen: every edge of each clock, and when clients go on."""
        waits = {client: 0 for client in range(len(self.left))}
        under_way: dict[int, int] = {}
        now = 0
        while waits or under_way:
            came = [done for model in self.models for done in model.advance(now)]
            assert all(done.time_ps == now for done in came)
            for done in sorted(came, key=lambda done: done.id):
                client = under_way.pop(done.id)
                self.log.append((done.id, now))
                waits[client] = now + client
            ready = sorted(client for client, at in waits.items() if at == now and self.left[client])
            waits = {client: at for client, at in waits.items() if at > now}
            requests = [(self.request(client), client) for client in ready]
            for number, model in enumerate(self.models):
                mine = sorted(((order, request) for (to, order, request), _ in requests if to == number), key=_order)
                if mine:
                    model.submit(now, [request for _, request in mine])
            under_way |= {request.id: client for (_, _, request), client in requests}
            now = min([*(clock.at_or_after(now + 1) for clock in self._clocks), *waits.values()])


def _order(entry: tuple[tuple[int, ...], Any]) -> tuple[int, ...]:
    return entry[0]


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(["flit", "link"]), st.sampled_from(["mesh", "ring", "crossbar"]), st.integers(0, 2**16))
def test_law_34_networks_and_dram_in_one_loop(fidelity: str, topology: str, seed: int) -> None:
    """Law 34: two networks and a DRAM that feed one another, in the event loop, are one loop over every edge
    of each clock."""
    specs = noc(topology, fidelity=fidelity, clock_hz=600_000_000), noc("mesh", fidelity="flit", clock_hz=1_200_000_000)
    beside, ticked = (Chain(specs, seed, clients=5, length=9) for _ in range(2))
    beside.event_loop()
    ticked.ticks()
    assert sorted(beside.log) == sorted(ticked.log)
    assert [time for _, time in beside.log] == sorted(time for _, time in beside.log)


HOPS = {"mesh": {0, 1, 2, 3}, "torus": {0, 1, 2, 3}, "crossbar": {0}, "fat_tree": {0, 2}}
CASES = [(name, fidelity) for name in ("mesh", "torus", "crossbar", "fat_tree") for fidelity in ("flit", "link")]


@pytest.mark.parametrize(("name", "fidelity"), CASES)
def test_law_30_lone_messages_take_the_formula(name: str, fidelity: str) -> None:
    """Law 30: a lone message of one packet over h links, each of a given delay, takes 7 + h (4 + delay) and a cycle for
    each flit beyond the first, from the first edge after it was sent; which is what it is said to take at least."""
    spec = noc(name, fidelity=fidelity, buffer_flits=16)
    network = Network(spec)
    delay = network.topology.links[0].delay_cycles if network.topology.links else 1
    ends = 2 * network.topology.nodes[0].delay_cycles
    at_ps, seen = 0, set()
    for source in range(len(network.topology.nodes)):
        for target in range(len(network.topology.nodes)):
            if source != target:
                at_ps += 10**9
                load = Sent(0, source, (target,), 2).load(network)
                network.submit(at_ps, [Shipment(0, load)])
                (came,) = network.advance(at_ps + 10**9)
                hops = load.passed[0][0] // 3
                cycles = 5 + ends + hops * (4 + delay) + 2
                assert came == ShipmentDelivery(0, at_ps + 1000 + cycles * 1000)
                assert load.passed == ((3 * hops, 3 * (hops + 1)),)
                assert load.least_ps == cycles * 1000
                seen.add(hops)
    assert seen == HOPS[name]


@settings(max_examples=40, deadline=None)
@given(networks(), st.data())
def test_law_28_source_reads_once(spec: Noc, data: st.DataObject) -> None:
    """Law 28: to k nodes by a tree the source sends each flit once and each link of the tree carries it once; copies
    leave the source k times; either way every node gets it once, and the tree is not later."""
    nodes = nodes_of(spec)
    source, *targets = data.draw(st.lists(st.integers(0, nodes - 1), min_size=3, max_size=nodes, unique=True))
    flits = data.draw(st.integers(1, 50))
    ends = {}
    for tree in (True, False):
        network = Network(replace(spec, multicast=tree))
        load = Sent(3, source, tuple(targets), flits).load(network)
        network.submit(0, [Shipment(3, load)])
        (came,) = network.advance(FAR_PS)
        total, stats = network.packets.flits(flits), network.stats
        assert stats.node_in[source] == sum(stats.node_in) == total * (1 if tree else len(targets))
        assert [stats.node_out[node] for node in range(nodes)] == [total * (node in targets) for node in range(nodes)]
        links, routers = np.sum(load.passed, 0).tolist()
        assert links == inside(network)
        assert routers == stats.router_flits
        assert came.time_ps >= load.least_ps
        ends[tree] = links, came.time_ps
    assert ends[True][0] <= ends[False][0]
    if flits <= -(-spec.packet_bytes // spec.link_bytes):
        assert ends[True][1] <= ends[False][1]


@pytest.mark.parametrize("name", sorted(TOPOLOGIES))
def test_law_30_ports_of_parts_are_reached(name: str) -> None:
    """Law 30: with ports of parts above, every node still reaches every other one, by routes without a circle."""
    spec = noc(name)
    nodes = nodes_of(spec)
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    found = run(spec, [(0, [Sent(number, a, (b,), 1) for number, (a, b) in enumerate(pairs)])])
    assert sorted(delivery.id for delivery in found) == list(range(len(pairs)))
