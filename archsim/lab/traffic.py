"""What a Program asks of a memory and of a network, at most: before it runs, with all extents in full."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from math import ceil, prod

from archsim.ir.program import Command, Node, Program, Region
from archsim.spec.network import Noc, core_of

_MOVES = ("MOVE", "GATHER", "SCATTER")
_Cost = Callable[[Command], int]


def moved_bytes(program: Program, memory: str) -> int:
    """Bytes that the commands of ``program`` ask of a memory."""
    here = {store for store, place in _places(program).items() if place == memory}

    def cost(command: Command) -> int:
        return sum(_bytes(command, region) for region in _regions(command) if region.store in here)

    return _total(program, cost)


def flits(program: Program, noc: Noc) -> int:
    """Flits, headers too, that moves send from one side of a network to the other or from core to core.

    What goes to several cores counts for each.
    """
    cores = {store: core_of(place) for store, place in _places(program).items()}

    def cost(command: Command) -> int:
        if command.op not in _MOVES or not command.reads:
            return 0
        source = cores.get(command.reads[0].store)
        away = [region for region in command.writes if cores.get(region.store) != source]
        return sum(ceil(_bytes(command, region) / noc.packet_bytes) * noc.packet_flits for region in away)

    return _total(program, cost)


def mean_routers(noc: Noc) -> float:
    """Routers that a packet from the first core passes on its way to another one, in the mean of all, by the fewest."""
    from archsim.spec import topology as chip_topology  # its arrays are slow to import: only for chips with a network

    topology = chip_topology.topology(noc)
    ahead: dict[int, list[int]] = {}
    for link in topology.links:
        ahead.setdefault(link.source, []).append(link.target)
    first = topology.nodes[0].router
    passed = {first: 1}
    waiting = deque([first])
    while waiting:
        router = waiting.popleft()
        for target in ahead.get(router, []):
            if target not in passed:
                passed[target] = passed[router] + 1
                waiting.append(target)
    return sum(passed[node.sink] for node in topology.nodes[: noc.cores]) / noc.cores


def _places(program: Program) -> dict[str, str]:
    found = {store.name: store.memory for store in program.tensors}
    return found | {store.name: store.memory for store in program.rings}


def _regions(command: Command) -> tuple[Region, ...]:
    return (*command.reads, *command.writes)


def _total(program: Program, cost: _Cost) -> int:
    return sum(_of_nodes(queue.body, cost) for queue in program.queues)


def _of_nodes(nodes: Iterable[Node], cost: _Cost) -> int:
    total = 0
    for node in nodes:
        total += cost(node) if isinstance(node, Command) else node.trips * _of_nodes(node.body, cost)
    return total


def _bytes(command: Command, region: Region) -> int:
    sizes = {extent.dim: extent.size for extent in command.extents}
    return region.element_bytes * prod(sizes[dim] for dim, _ in region.strides)
