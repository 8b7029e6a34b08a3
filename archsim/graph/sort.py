"""Order of execution: a stable topological sort, and the nodes that no output needs."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from archsim.base.errors import ModelError
from archsim.ir.graph import Graph, GraphNode

APPEND = "Append"  # the operator that writes to a state


def topological(nodes: tuple[GraphNode, ...]) -> tuple[GraphNode, ...]:
    """Nodes so that each follows its producers, otherwise in file order; ModelError names the nodes of a cycle."""
    producer = _producers(nodes)
    waiting = [len({producer[name] for name in node.reads if name in producer}) for node in nodes]
    readers: dict[int, list[int]] = {}
    for index, node in enumerate(nodes):
        for source in sorted({producer[name] for name in node.reads if name in producer}):
            readers.setdefault(source, []).append(index)
    ready = [index for index, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order: list[GraphNode] = []
    while ready:
        index = heappop(ready)
        order.append(nodes[index])
        for reader in readers.get(index, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, reader)
    if len(order) < len(nodes):
        stuck = [f"'{node.name}' ({node.op})" for node, count in zip(nodes, waiting, strict=True) if count]
        raise ModelError(f"the graph has a cycle through {', '.join(stuck[:6])}; export it again without loops")
    return tuple(order)


def live(graph: Graph) -> tuple[GraphNode, ...]:
    """The nodes that some graph output depends on, or a state, which outlives the run; in order."""
    needed = set(graph.outputs)
    kept: list[GraphNode] = []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs) or (node.op == APPEND and node.inputs[0] in graph.states):
            kept.append(node)
            needed.update(node.reads)
    return tuple(reversed(kept))


def _producers(nodes: tuple[GraphNode, ...]) -> dict[str, int]:
    producer: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.outputs:
            if name in producer:
                node.fail(f"writes '{name}', which '{nodes[producer[name]].name}' writes too; names must be unique")
            if name:
                producer[name] = index
    return producer
