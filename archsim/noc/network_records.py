"""A topology, its routes and its routers' parameters as arrays for the compiled code."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from archsim.base.errors import ConfigError
from archsim.facts.noc.routers import CROSSBAR, MOST_PORTS, WIRE, port_words
from archsim.facts.noc.routing import NONE as NO_WAY
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Link, NetworkNode, Topology
from archsim.noc.compiled import records as k
from archsim.noc.compiled.knuth import generator
from archsim.noc.compiled.matching import matching
from archsim.noc.parameters import ALLOCATORS, WHOLE, PacketFormat, RouterParameters


def initial(
    topology: Topology, routes: RoutingTable, parameters: RouterParameters, seed: int = 0, packets: PacketFormat = WHOLE
) -> k.NocState:
    """The arrays of an empty network at cycle 0, without messages. Raises ConfigError on what does not fit."""
    rules = rules_of(topology, routes, parameters, packets)
    ports, vcs = topology.routers * topology.ports, parameters.vcs
    channels, switch = ports * vcs, topology.ports * parameters.input_speedup
    found = k.NocState(
        rules=rules,
        class_masks=_class_masks(vcs, routes.classes),
        routes=route_table(routes),
        trees=np.zeros((0, topology.routers, 2, port_words(topology.ports)), np.int64),
        inputs=np.zeros(channels, k.INPUT_VC),
        branches=np.zeros(channels * topology.ports, k.BRANCH),
        buffers=np.zeros(2 * channels << int(rules["slot_bits"][0]), np.int64),
        ports=np.zeros(ports + len(topology.nodes), k.PORT),
        paces=np.zeros(ports, k.PACE),
        slow=np.zeros((0,) * (k.SLOW_DIMS if slow_links(topology) else 1), np.int64),
        outputs=np.zeros(channels + len(topology.nodes) * vcs, k.OUTPUT_VC),
        switch=np.zeros(topology.routers * switch, k.INPUT),
        nodes=idle_nodes(len(topology.nodes), vcs),
        messages=np.zeros(0, k.MESSAGE),
        done=np.zeros(1 + len(topology.nodes), k.INDEX),
        sending=np.zeros(1 + len(topology.nodes), k.INDEX),
        arriving=np.zeros((2 * int(rules["slots"][0]), int(rules["flit_room"][0])), k.INDEX),
        fronts=np.zeros(1 + channels, k.INDEX),
        due=np.zeros((int(rules["slots"][0]), 1 + channels), k.INDEX),
        credits=np.zeros((int(rules["slots"][0]), int(rules["credit_room"][0])), k.INDEX),
        releases=np.zeros((int(rules["slots"][0]), 1 + len(slow_links(topology))), k.INDEX),
        lanes=_lanes(parameters),
        waiting=np.zeros(1 + channels, k.INDEX),
        listed=np.zeros(2 + ports, k.INDEX),  # and one: written beyond the end, not counted
        wanted=np.zeros(2 + ports, k.INDEX),
        choices=np.zeros(topology.routers * switch * topology.ports, k.INDEX),
        requests=np.zeros(channels * topology.ports, k.REQUEST),
        guessed=np.zeros(1 + 2 * topology.routers * switch, np.int64),
        ties=np.zeros(1 + channels, np.int64),
        streams=generator(seed),
        holding=np.zeros(1 + topology.routers * switch, k.INDEX),
        matching=matching(topology.routers, max(topology.ports * vcs, switch)),
        counts=idle_counts(),
    )
    _connect(found, topology, parameters)
    return found


def _check(topology: Topology, routes: RoutingTable, parameters: RouterParameters, *, switched: bool) -> None:
    what = f"network {topology.name}"
    switch = topology.ports * parameters.input_speedup
    if switched and switch > MOST_PORTS:
        raise ConfigError(f"{what}: {switch} inputs of a router's switch; allowed at most {MOST_PORTS}")
    allocators = {parameters.vc_allocator, parameters.switch_allocator}
    if parameters.speculative and allocators != {"islip"}:
        raise ConfigError(f"{what}: speculative: found with {', '.join(sorted(allocators))}; allowed with islip")
    _check_slow(what, topology, parameters)
    if parameters.vcs < routes.classes:
        raise ConfigError(f"{what}: vcs: found {parameters.vcs}; its rings need at least {routes.classes}")


def _check_slow(what: str, topology: Topology, parameters: RouterParameters) -> None:
    slow = slow_links(topology)
    if slow and parameters.hold_switch:
        raise ConfigError(f"{what}: hold_switch: found true with links of more than a cycle for a flit; allowed false")
    if any(link.buffer_flits for link in topology.links) and parameters.wait_for_tail_credit:
        raise ConfigError(f"{what}: wait_for_tail_credit: found true with links of buffers of their own; allowed false")


def slow_links(topology: Topology) -> list[Link]:
    """Links that take a flit for more than a cycle."""
    return [link for link in topology.links if link.period != 1]


def idle_counts() -> Any:
    """Nothing has happened, nothing is to come."""
    found = np.zeros(k.COUNTS, np.int64)
    found[[k.COMING, k.COMING_LAST, k.SPARE]] = k.NONE
    return found


def idle_nodes(count: int, vcs: int) -> Any:
    """Nodes without messages."""
    found = np.zeros(count, k.NODE)
    found["first"], found["vc"], found["last_vc"] = k.NO_INDEX, k.NONE, vcs - 1
    return found


def rules_of(
    topology: Topology,
    routes: RoutingTable,
    parameters: RouterParameters,
    packets: PacketFormat,
    *,
    switched: bool = True,
) -> Any:
    """Sizes and behaviour as the record of the compiled code; ``switched``: flits ask for the routers' switches, not
    packets for links. Raises ConfigError on what does not fit.
    """
    _check(topology, routes, parameters, switched=switched)
    found = np.zeros(1, k.RULES)
    own = [link.buffer_flits for link in topology.links if link.buffer_flits]
    slowest = max([link.delay_cycles for link in topology.links] + [node.delay_cycles for node in topology.nodes])
    taken = max((ceil(link.period) for link in slow_links(topology)), default=0)
    reach = max(slowest + taken + WIRE + CROSSBAR + parameters.credit_delay, parameters.routing_delay) + 1
    values = {
        "routers": topology.routers,
        "ports": topology.ports,
        "vcs": parameters.vcs,
        "depth": parameters.vc_buffer,
        "slot_bits": (max([parameters.vc_buffer, *own]) - 1).bit_length(),
        "channels": topology.routers * topology.ports * parameters.vcs,
        "nodes": len(topology.nodes),
        "slots": 1 << reach.bit_length(),
        "flit_room": 1 + len(topology.links) + 2 * len(topology.nodes),
        "credit_room": 1 + parameters.vcs * (len(topology.links) + 2 * len(topology.nodes)),
        "routing_delay": parameters.routing_delay,
        "credit_delay": parameters.credit_delay,
        "wait_tail": parameters.wait_for_tail_credit,
        "hold_switch": parameters.hold_switch,
        "speculative": parameters.speculative,
        "speedup": parameters.input_speedup,
        "vc_allocator": ALLOCATORS.index(parameters.vc_allocator),
        "switch_allocator": ALLOCATORS.index(parameters.switch_allocator),
        "packet_flits": packets.payload_flits,
        "header_flits": packets.header_flits,
        "sink_cycles": CROSSBAR + WIRE + min(node.delay_cycles for node in topology.nodes),
    }
    for name, value in values.items():
        found[name] = value
    return found


def _class_masks(vcs: int, classes: int) -> Any:
    """Channels of the lower class, the upper one, and all."""
    every, lower = (1 << vcs) - 1, (1 << (vcs + 1) // 2) - 1
    return np.array([lower, every & ~lower, every] if classes > 1 else [every, 0, every], np.int64)


def _lanes(parameters: RouterParameters) -> Any:
    lanes = range(parameters.input_speedup)
    return np.array([sum(1 << vc for vc in range(lane, parameters.vcs, len(lanes))) for lane in lanes], np.int64)


def route_table(routes: RoutingTable) -> Any:
    """The routes as the records of the compiled code."""
    found = np.zeros(routes.port.shape, k.ROUTE)
    for name in ("port", "upper", "other_port", "other_upper"):
        values = getattr(routes, name)
        found[name] = np.where(values == NO_WAY, k.NO_PORT, values)
    return found


def flits_by_port(state: k.NocState) -> Any:
    """Flits that have left each output port of the routers, then each node."""
    return state.outputs["sent"].reshape(-1, state.rules[0]["vcs"]).sum(axis=1)


def _connect(state: k.NocState, topology: Topology, parameters: RouterParameters) -> None:
    every = (1 << parameters.vcs) - 1
    vcs, channels = parameters.vcs, state.inputs.size
    port, vc = np.divmod(np.arange(state.outputs.size), vcs)
    state.inputs["port"], state.inputs["bit"] = port[:channels], 1 << vc[:channels]
    state.ports["free"], state.ports["dim"], state.ports["held_by"] = every, -1, k.NO_INDEX
    state.ports["router"] = np.arange(state.ports.size) // topology.ports
    state.ports["first_output"] = state.ports["router"] * topology.ports
    state.outputs["port"], state.outputs["vc"], state.outputs["output"] = port, vc, port % topology.ports
    state.outputs["credits"], state.outputs["owner"] = parameters.vc_buffer, k.NO_INDEX
    inputs = topology.ports * parameters.input_speedup
    state.switch["number"], state.switch["held_output"] = np.arange(state.switch.size) % inputs, k.NONE
    state.switch["first_vc"] = np.arange(state.switch.size) % parameters.input_speedup
    for link in topology.links:
        _connect_link(state, topology, parameters, link)
    for number, node in enumerate(topology.nodes):
        _connect_node(state, topology, parameters, number, node)


def _connect_link(state: k.NocState, topology: Topology, parameters: RouterParameters, link: Link) -> None:
    output = link.source * topology.ports + link.source_port
    target = link.target * topology.ports + link.target_port
    state.ports["dim"][output] = link.dim
    state.ports["flit_after"][output] = CROSSBAR + WIRE + link.delay_cycles
    state.ports["credit_after"][target] = WIRE + link.delay_cycles + parameters.credit_delay
    if link.period != 1:
        pace = state.paces[output]
        pace["flit_after"], state.ports["flit_after"][output] = state.ports["flit_after"][output], k.SLOW
        pace["numerator"], pace["denominator"] = link.period.as_integer_ratio()
    if link.buffer_flits:
        state.outputs["credits"][output * parameters.vcs : (output + 1) * parameters.vcs] = link.buffer_flits
    _feed(state, parameters.vcs, output, target)


def _connect_node(
    state: k.NocState, topology: Topology, parameters: RouterParameters, number: int, node: NetworkNode
) -> None:
    vcs = parameters.vcs
    behind = topology.routers * topology.ports + number
    sink, port = node.sink * topology.ports + node.port, node.router * topology.ports + node.port
    state.ports["flit_after"][sink] = CROSSBAR + WIRE + node.delay_cycles
    state.ports["sink_after"][sink] = WIRE + node.delay_cycles + parameters.credit_delay
    state.ports["flit_after"][behind] = state.ports["credit_after"][port] = WIRE + node.delay_cycles
    own = np.arange(sink * vcs, (sink + 1) * vcs)
    state.outputs["to"][own] = state.inputs.size + own
    state.nodes["port"][number] = behind
    _feed(state, vcs, behind, port)


def _feed(state: k.NocState, vcs: int, behind: int, target: int) -> None:
    """The channels of an output port or node send to those of the input port ``target``, which return their credits."""
    ahead, own = np.arange(behind * vcs, (behind + 1) * vcs), np.arange(target * vcs, (target + 1) * vcs)
    state.outputs["to"][ahead], state.inputs["upstream"][own] = own, ahead
