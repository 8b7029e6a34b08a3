"""What a graph says of its states, held together: that each is there, and that nothing reads rows that are not.

A state is appended to by one node at most. Its rows are read behind that node; a state to which nothing is appended is
read as it is, where all its rows are there.
"""

from __future__ import annotations

from dataclasses import replace

from archsim.base.errors import ModelError, nearest
from archsim.graph.sort import APPEND
from archsim.ir.graph import Graph, GraphNode, GraphState


def with_past(graph: Graph) -> Graph:
    """The graph whose Append nodes know how many rows their states have (attribute ``past``).

    Raises ModelError for a state that is no input of the graph or has no such rows, for a node that appends to what is
    no state or along another axis, for a second one, and for one that reads a state beyond the rows that are there.
    """
    appended: dict[str, GraphNode] = {}
    for name, state in graph.states.items():
        _check(graph, name, state)
    for node in graph.nodes:
        _check_reads(graph, node)
    nodes = tuple(_told(graph, node, appended) if node.op == APPEND else node for node in graph.nodes)
    return replace(graph, nodes=nodes) if appended else graph


def _check(graph: Graph, name: str, state: GraphState) -> None:
    value = graph.values.get(name)
    if value is None or name not in graph.inputs or value.kind != "state":
        raise ModelError(f"state '{name}' is no state among the inputs of the graph{nearest(name, graph.inputs)}")
    if not 0 <= state.axis < len(value.shape):
        raise ModelError(f"state '{name}': axis {state.axis}; allowed 0 to {len(value.shape) - 1}")
    if not 0 <= state.past <= value.shape[state.axis]:
        raise ModelError(
            f"state '{name}': {state.past} rows are there, of {value.shape[state.axis]} that it has room for; give it "
            f"room for {state.past} rows or more"
        )


def _told(graph: Graph, node: GraphNode, appended: dict[str, GraphNode]) -> GraphNode:
    """An Append with the rows of before; ``appended``: which node does so, by state."""
    name = node.inputs[0] if node.inputs else ""
    state = graph.states.get(name)
    if state is None:
        node.fail(f"appends to '{name}', which is no state{nearest(name, graph.states)}")
    rank = len(graph.values[name].shape)
    if node.integer("axis", 0) not in (state.axis, state.axis - rank):
        node.fail(f"appends to '{name}' along axis {node.integer('axis', 0)}; its rows follow along {state.axis}")
    if name in appended:
        node.fail(f"appends to '{name}', as '{appended[name].name}' does; allowed one node")
    appended[name] = node
    return replace(node, attributes={**node.attributes, "past": state.past})


def _check_reads(graph: Graph, node: GraphNode) -> None:
    """Raise ModelError where a node reads a state as it is, of which rows are not there."""
    for name in node.inputs[1:] if node.op == APPEND else node.inputs:
        state = graph.states.get(name)
        if state is not None and state.past < graph.values[name].shape[state.axis]:
            node.fail(
                f"reads all of '{name}', of which {state.past} rows are there; read what an Append makes of it, or "
                "give it no more room than that"
            )
