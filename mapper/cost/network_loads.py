"""How unevenly cores use the links of a network and the ports of a memory that they share, to rank mappings by.

A tile goes in messages, each through the port whose turn its first byte's address is (``archsim.facts.noc.port_turns``)
and over the links that the routes say, the tables that the machine uses too. Where tiles of a tensor begin follows from
how the layer is spread over cores: many small ones may begin in the same few messages' room, and then all of them go
through the same few ports and over the links around them. Where tiles of a ring begin nobody knows yet; there they are
taken to use all ports, and to meet by chance. None of this counts in bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from math import ceil, inf, prod
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from archsim.facts.noc.port_turns import turns
from archsim.facts.noc.routers import CROSSBAR, WIRE, head_cycles
from archsim.facts.noc.topology import Topology
from archsim.spec import topology
from archsim.spec.network import Noc
from mapper.cost.grid import Flow, Reals
from mapper.problem.operands import OUT, OperandPlan
from mapper.problem.problem import Problem

OFTEN = 4  # times that each port has its turn at least, where tiles that use all ports are dealt to them


def carried(
    noc: Noc,
    problem: Problem,
    plans: Sequence[OperandPlan],
    moved: Mapping[str, Flow],
    rates: Mapping[str, float],
) -> Reals:
    """Cycles that the busiest link or port works over a whole layer for the tiles that a shared memory sends, or takes.

    ``plans``: the operands of these; ``rates``: bytes of a cycle over a link, by their names. In a step, in which each
    operand has a tile or several, cores wait for the port that is last: about as late as the largest of so many normal
    variables with the variance of what a port sends of tiles whose messages meet by chance, which are those of a round
    that are not enough for all ports.
    """
    ports, total = len(noc.shared[plans[0].home]), np.zeros(())
    moves = [np.maximum(moved[plan.name].moves, 1.0) for plan in plans]
    steps, variance = reduce(np.minimum, moves), np.zeros(())
    for plan, times in zip(plans, moves, strict=True):
        tile, rate = moved[plan.name].filled * plan.element_bytes / times, rates[plan.name]
        reach = reach_bytes(noc, problem, plan, moved)
        total = total + times * passage(noc, problem, plan, tile / plan.element_bytes, rate, reach, begun=True)
        if plan.beyond and not is_apart(problem, plan):
            odd = np.ceil(tile / noc.message_bytes) % ports / ports
            message = _on_wire(noc, np.minimum(tile, noc.message_bytes)) * (_alike(noc, problem, plan) / rate)
            variance = variance + times / steps * problem.different(plan) * odd * (1 - odd) * (message * message)
    found: Reals = total + steps * np.sqrt(variance) * NormalDist().inv_cdf((ports - 0.375) / (ports + 0.25))
    return found


def reach_bytes(noc: Noc, problem: Problem, plan: OperandPlan, moved: Mapping[str, Flow]) -> Reals:
    """Bytes of the messages in whose places those of all tiles begin where they come from, or go to: in the whole
    tensor, or in the rings there.

    Runs shorter than a message lie beside those of other tiles: the messages of all of these begin in the same places,
    or, where runs are not whole messages apart, now and then in the next one.
    """
    flow, rings, size = moved[plan.name], 1, np.asarray(float(prod(plan.shape) * plan.element_bytes))
    if plan.beyond:
        beyond, outer = problem.operand(plan.beyond), moved[plan.beyond]
        size, rings = outer.filled / np.maximum(outer.moves, 1.0) * beyond.element_bytes, problem.different(beyond)
    tile = np.maximum(flow.filled / np.maximum(flow.moves, 1.0) * plan.element_bytes, 1.0)
    run, apart = np.maximum(flow.run * plan.element_bytes, 1.0), flow.step * plan.element_bytes
    step = np.where(flow.run > 0, np.clip(apart, run, np.maximum(run, noc.message_bytes)), run)
    across = np.where(apart % noc.message_bytes > 0, (step - run) / noc.message_bytes, 0.0)
    tiles = np.maximum(size / tile / (step / run), 1.0)  # that do not lie beside one another
    places = np.ceil(tile / noc.message_bytes) * (1 + across) * tiles
    found: Reals = np.minimum(size, places * noc.message_bytes) * rings
    return found


def passage(
    noc: Noc,
    problem: Problem,
    plan: OperandPlan,
    elements: Reals,
    rate: float,
    reach: Reals | float = inf,
    *,
    begun: bool = False,
) -> Reals:
    """Cycles in which tiles of ``elements`` that cores move at a time have passed the network.

    Where it does not copy what it carries, a port sends a message once for each core that gets it. Cores that read each
    for itself all stand before the same ports at first; once that has ``begun`` they are out of step, and use all. But
    tiles that all lie among ``reach`` bytes never go through more ports than these have messages.
    """
    size, ports = elements * plan.element_bytes, len(noc.shared[plan.home])
    wire, used = _on_wire(noc, size), np.clip(np.ceil(reach / noc.message_bytes), 1, ports)
    few = wire * (_sent(noc, problem, plan) / used)
    if begun and is_apart(problem, plan):
        all_ports = wire * ways_of(noc).busiest(plan.home, _pattern(problem, plan), spread_out=True)
        apart: Reals = np.maximum(all_ports, few) / rate
        return apart
    in_turn = np.ceil(size / noc.message_bytes / ports) * _alike(noc, problem, plan)
    first = in_turn * np.minimum(wire, _on_wire(noc, np.asarray(noc.message_bytes)))
    found: Reals = np.maximum(np.maximum(first, few), _step(noc, problem, plan, size, wire)) / rate
    return found


def _on_wire(noc: Noc, size: Reals) -> Reals:
    """Bytes of full packets that take as long on a link as ``size`` bytes, with their headers, in whole flits."""
    full = -(-noc.packet_bytes // noc.link_bytes)
    flits = np.ceil(size / noc.link_bytes) + noc.header_flits * np.ceil(size / noc.packet_bytes)
    found: Reals = flits * (noc.link_bytes * full / (full + noc.header_flits))
    return found


def _sent(noc: Noc, problem: Problem, plan: OperandPlan) -> int:
    """How often all ports of a memory together send, or take, a tile of an operand at a time."""
    if plan.operand == OUT or (noc.multicast and not is_apart(problem, plan)):
        return problem.different(plan)
    return problem.having(plan)


def is_apart(problem: Problem, plan: OperandPlan) -> bool:
    """Whether each core reads an operand for itself out of an on-chip memory that others read too."""
    return problem.spread is not None and plan.home in problem.spread.apart and plan.operand != OUT


def _alike(noc: Noc, problem: Problem, plan: OperandPlan) -> float:
    """How often a port sends the same message at about the same time, since cores that need the same are in step."""
    if noc.multicast or plan.operand == OUT:
        return 1.0
    return max(1.0, problem.having(plan) / problem.different(plan))


def _step(noc: Noc, problem: Problem, plan: OperandPlan, tile_bytes: Reals, wire: Reals) -> Reals:
    """Bytes over the busiest link or port where each core that has tiles of an operand moves one, of ``wire`` bytes
    there."""
    ways, pattern = ways_of(noc), _pattern(problem, plan)
    all_ports = ways.busiest(plan.home, pattern, spread_out=True)
    if plan.beyond or plan.rows is not None:
        return wire * all_ports
    few = ways.busiest(plan.home, pattern, spread_out=False)
    messages = np.clip(np.ceil(tile_bytes / noc.message_bytes), 1, len(noc.shared[plan.home]))
    found: Reals = wire * np.maximum(all_ports, few / messages)
    return found


class Pattern(NamedTuple):
    """Which tile of an operand each core has, and where tiles begin.

    ``parts`` of each spread dim; ``steps``: bytes from one part's tile to the next one's; ``moved``: whether the dim
    moves the operand; ``writes``: whether cores send.
    """

    parts: tuple[int, ...]
    steps: tuple[int, ...]
    moved: tuple[bool, ...]
    writes: bool


def _pattern(problem: Problem, plan: OperandPlan) -> Pattern:
    assert problem.spread is not None
    steps = []
    for dim, tile in problem.spread.loops:
        along = zip(plan.axes, plan.strides, strict=True)
        step = sum(stride * coef for axis, stride in along for name, coef in axis.terms if name == dim)
        steps.append(step * tile * plan.element_bytes)
    moved = tuple([dim in plan.dims for dim, _ in problem.spread.loops])
    return Pattern(problem.spread.parts, tuple(steps), moved, plan.operand == OUT)


class LinkWays:
    """The links between all ports of shared memories and all cores of a network: ids of links, those from and to nodes
    among them, a flit of which takes so many ``periods`` of its."""

    def __init__(self, noc: Noc) -> None:
        self.noc = noc
        self._topology, self._routes, self._ports = topology.network(noc)
        links, nodes = self._topology.links, len(self._topology.nodes)
        self._ahead = np.full((self._topology.routers, self._topology.ports), -1, dtype=np.int64)
        for number, link in enumerate(links):
            self._ahead[link.source, link.source_port] = number
        self._targets = np.array([link.target for link in links] or [0], dtype=np.int64)
        self._sinks = np.array([node.sink for node in self._topology.nodes], dtype=np.int64)
        self._routers = np.array([node.router for node in self._topology.nodes], dtype=np.int64)
        self._first_node, self.none = len(links), len(links) + 2 * nodes
        self.periods = np.ones(self.none + 1)
        self.periods[: len(links)] = [float(link.period) for link in links]
        self.periods[self.none] = 0.0
        self._heads = _heads(noc, self._topology)
        self._known: dict[tuple[str, Pattern, bool], float] = {}
        self._paths: dict[tuple[str, bool], IntArray] = {}
        self._far: dict[tuple[str, int, bool], float] = {}

    def busiest(self, memory: str, pattern: Pattern, *, spread_out: bool) -> float:
        """Tiles (of them parts) that the busiest link carries where each core moves one: each through one port, the one
        that its address says, or ``spread_out`` over all."""
        key = memory, pattern._replace(steps=()) if spread_out else pattern, spread_out
        if key not in self._known:
            self._known[key] = self._busiest(memory, pattern, spread_out)
        return self._known[key]

    def _busiest(self, memory: str, pattern: Pattern, spread_out: bool) -> float:
        groups, first = _tiles(pattern)
        ports, paths = len(self._ports[memory]), self.between(memory, pattern.writes)
        cores, load = np.arange(groups.size), np.zeros(self.none + 1)
        starts = list(_dealt(groups, ports)) if spread_out else [turns(first // self.noc.message_bytes, ports)]
        for start in starts:
            ids = paths[start, cores]
            if self.noc.multicast and not pattern.writes:  # a message is on each link of its tree once
                ids = np.unique(groups[:, None] * (self.none + 1) + ids) % (self.none + 1)
            elif pattern.writes:
                ids = ids[np.unique(groups, return_index=True)[1]]
            load += np.bincount(ids.reshape(-1), minlength=self.none + 1) / len(starts)
        return float((load * self.periods).max())

    def head_cycles(self, memory: str, cores: int, *, writes: bool) -> float:
        """Network cycles of a head that nothing holds up, over the ways from all ports on average (or to them): of the
        first ``cores`` for the one that is farthest away."""
        key = memory, cores, writes
        if key not in self._far:
            self._far[key] = float(self._heads[self.between(memory, writes)[:, :cores]].sum(-1).mean(0).max())
        return self._far[key]

    def between(self, memory: str, writes: bool) -> IntArray:
        """(ports, cores, hops) links from each port to each core, or back where cores write."""
        key = memory, writes
        if key not in self._paths:
            ports, cores = np.array(self._ports[memory]), np.arange(self.noc.cores)
            at, to = np.meshgrid(ports, cores, indexing="ij")
            self._paths[key] = self._walked(*((to, at) if writes else (at, to)))
        return self._paths[key]

    def _walked(self, source: IntArray, target: IntArray) -> IntArray:
        nodes = len(self._topology.nodes)
        found = [self._first_node + source, self._first_node + nodes + target]
        router, end = self._routers[source], self._sinks[target]
        while (router != end).any():
            under_way = router != end
            link = self._ahead[router, self._routes.port[router, target]]
            found.append(np.where(under_way, link, self.none))
            router = np.where(under_way, self._targets[np.where(under_way, link, 0)], router)
        return np.stack(found, axis=-1)


def _heads(noc: Noc, topology: Topology) -> NDArray[np.float64]:
    """Network cycles of a head on each of its links, those from nodes, and those to them, with the router before it."""
    router = head_cycles(noc.routing_delay_cycles, speculative=noc.speculative) + CROSSBAR + WIRE
    links = [router + link.delay_cycles + ceil(link.period) - 1 for link in topology.links]
    sources = [WIRE + node.delay_cycles for node in topology.nodes]
    sinks = [router + node.delay_cycles for node in topology.nodes]
    return np.array([*links, *sources, *sinks, 0], dtype=np.float64)


def _dealt(groups: IntArray, ports: int) -> Iterator[IntArray]:
    """Ports of tiles that use all of them alike."""
    rounds = min(ports, -(-OFTEN * ports // (int(groups.max()) + 1)) + OFTEN - 1)
    for at in range(rounds):
        yield (groups + at * ports // rounds) % ports


@lru_cache(maxsize=4096)
def _tiles(pattern: Pattern) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each core the number of its tile among the different ones, and where that begins; (cores,) each."""
    group, first = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for count, step, moved in zip(pattern.parts, pattern.steps, pattern.moved, strict=True):
        place = np.arange(count, dtype=np.int64)
        group = (group[:, None] * (count if moved else 1) + (place if moved else 0 * place)).reshape(-1)
        first = (first[:, None] + place * step).reshape(-1)
    return group, np.abs(first)


_latest: list[LinkWays] = []  # of the network that was asked for last


def ways_of(noc: Noc) -> LinkWays:
    """Those of a network; kept until another one is asked for."""
    if not _latest or _latest[0].noc is not noc:
        _latest[:] = [LinkWays(noc)]
    return _latest[0]
