"""A network's compiled code with the messages in it, at one of the fidelities: the frame that all users share.

The states of both fidelities have the same records of messages and trees, the same lists and the same counts.

A packet to several nodes follows a tree, with one copy of a flit on each link. The tree is the union of the routes to
each node, so each router has one way in. Branches go on as they can; a flit leaves a buffer when all have sent it. A
packet must fit in one buffer: then a branch that is held up holds up no more than its router. Source: Duato,
Yalamanchili, Ni: Interconnection Networks, section 5.5 (tree-based multicast with virtual cut-through).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from archsim.base.errors import ConfigError
from archsim.facts.noc.routers import MOST_PORTS, port_words
from archsim.facts.noc.routing import RoutingTable
from archsim.facts.noc.topology import Topology
from archsim.noc.compiled.records import COMING, COMING_LAST, MESSAGE, NO_INDEX, NONE, NOW, SPARE, UNDER_WAY
from archsim.noc.parameters import WHOLE, PacketFormat, RouterParameters
from archsim.noc.ways import ShortestWays

FIDELITIES = ("flit", "link")
FIRST_TREES = 4


class NocEngine(Protocol):
    """What runs messages; time in cycles. ``advances``: the entry that runs it beside an event loop."""

    state: Any
    advances: Any

    def advance(self, until: int, *, stops: bool) -> tuple[int, int]:
        """Run the cycles before ``until``; if it ``stops``, to the first end of a shipment. How many of ``state.done``
        ended in it, and the cycle before which no further one can, NEVER where none is left."""

    def make_room(self) -> None:
        """Make room for what may be under way."""

    def flits(self) -> Any:
        """That have left each output port of the routers, then each node."""


def engine(
    fidelity: str,
    topology: Topology,
    routes: RoutingTable,
    parameters: RouterParameters,
    packets: PacketFormat = WHOLE,
    *,
    seed: int = 0,
) -> NocEngine:
    """An idle network at cycle 0. Raises ConfigError on what it cannot be."""
    if fidelity not in FIDELITIES:
        raise ConfigError(f"fidelity: found '{fidelity}'; allowed {', '.join(FIDELITIES)}")
    if fidelity == "link":
        from archsim.noc.link_fidelity import Reserved

        return Reserved(topology, routes, parameters, packets, seed)
    from archsim.noc.routers import Routers

    return Routers(topology, routes, parameters, packets, seed)


def send_all(state: Any) -> None:
    """All records of a network without messages are to come, in their order."""
    count = state.messages.size
    if count:
        state.messages["next"][:-1] = np.arange(1, count)
        state.messages["next"][-1] = NO_INDEX
        state.counts[COMING], state.counts[COMING_LAST] = 0, count - 1


def with_records(state: Any, messages: Any) -> Any:
    """The state with these records of messages, and room for all of them to end in one cycle."""
    return state._replace(messages=messages, done=np.zeros(1 + messages.size, state.done.dtype))


def with_more(state: Any, count: int) -> Any:
    """The state with ``count`` > 0 unused records of messages more."""
    slots, more = state.messages.size, np.zeros(count, MESSAGE)
    more["next"] = np.arange(slots + 1, slots + count + 1)
    spare = state.counts[SPARE]
    more["next"][-1] = NO_INDEX if spare == NONE else spare
    state.counts[SPARE] = slots
    return with_records(state, np.concatenate([state.messages, more]))


class MulticastTrees:
    """The trees of an engine by (source, targets); each is built once."""

    def __init__(self, found: NocEngine, ways: Any) -> None:
        self._engine = found
        self._ways = ways
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def where(self, source: int, targets: tuple[int, ...]) -> int:
        """What a message to ``targets`` says in its record. Raises ConfigError on a node that is not there."""
        key = (source, targets)
        if key not in self._known:
            found = tree(self._ways, source, targets)
            state, count = self._engine.state, len(self._known)
            if count == len(state.trees):
                more = np.zeros((max(FIRST_TREES, count), *state.trees.shape[1:]), np.int64)
                state = self._engine.state = state._replace(trees=np.concatenate([state.trees, more]))
            state.trees[count] = found
            self._known[key] = len(self._ways.topology.nodes) + count
        return self._known[key]


def now(state: Any) -> int:
    """The next cycle to be run."""
    return int(state.counts[NOW])


def under_way(state: Any) -> int:
    """Messages that have joined their queues and have not ended."""
    return int(state.counts[UNDER_WAY])


def tree(ways: ShortestWays, source: int, targets: tuple[int, ...]) -> Any:
    """(routers, 2, words): by router the set of output ports, and of those where packets take the upper class; a word
    holds ``MOST_PORTS`` ports.

    Of two equally short ways the first; a packet in a ring keeps the class with which it entered it, so a router from
    which both classes would leave by one link takes the upper one. Raises ConfigError on an unknown or repeated node.
    """
    topology = ways.topology
    nodes = len(topology.nodes)
    if not targets or len(set(targets)) != len(targets) or not all(0 <= target < nodes for target in targets):
        raise ConfigError(f"multicast to {list(targets)}: allowed different nodes of 0 to {nodes - 1}")
    found = np.zeros((topology.routers, 2, port_words(topology.ports)), np.int64)
    for target in targets:
        for link in ways.links(source, target):
            word, port = divmod(link.source_port, MOST_PORTS)
            found[link.source, 0, word] |= 1 << port
            found[link.source, 1, word] |= int(ways.routes.upper[link.source, target]) << port
        end = topology.nodes[target]
        word, port = divmod(end.port, MOST_PORTS)
        found[end.sink, 0, word] |= 1 << port
    return found
