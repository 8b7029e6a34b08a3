"""Constant scales and shifts behind a node, folded: y = scale * x + shift, each one number or one per channel.

A node's chain is the node itself where it is such a scale or shift, and those fused into it. What it does to a channel
follows from what it makes of 0 and of 1, whatever its operators are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from archsim.ir.graph import Array, Graph, GraphNode
from archsim.ops.kit.catalogue import family, find
from archsim.ops.kit.family import ScaleShift

Varies = Literal["", "one", "channel"]  # absent, one number, one per channel
FindConstant = Callable[[str], Array | None]


@dataclass(frozen=True, slots=True)
class ScaleShiftChain:
    """Scales and shifts in order. ``axis``: the channel's among ``rank`` logical axes, of ``channels``."""

    graph: Graph
    nodes: tuple[GraphNode, ...]
    axis: int
    rank: int
    channels: int
    scale: Varies
    shift: Varies

    def values(self, constants: FindConstant) -> tuple[Array, Array]:
        """(scale, shift), each of shape (channels,). ``constants``: contents by name; None where the graph knows them.

        Raises UnsupportedError where a constant's contents are known to neither.
        """
        shape = [1] * self.rank
        if self.rank:
            shape[self.axis] = self.channels
        zero = self._run(np.zeros(shape), constants)
        one = self._run(np.ones(shape), constants)
        return (one - zero).reshape(-1), zero.reshape(-1)

    def _run(self, data: Array, constants: FindConstant) -> Array:
        for node in self.nodes:
            arguments = [self._argument(node, name, data, constants) if name else None for name in node.inputs]
            data = np.asarray(family(node).reference(node, *arguments)[0], np.float64)
        return data

    def _argument(self, node: GraphNode, name: str, data: Array, constants: FindConstant) -> Array:
        value = self.graph.values[name]
        if not value.constant:
            return data
        found = constants(name)
        found = value.data if found is None else found
        if found is None:
            node.unsupported(f"'{name}' is not known beforehand")
        return np.asarray(found, np.float64)


def chain_of(graph: Graph, node: GraphNode) -> ScaleShiftChain:
    """The constant scales and shifts of ``node``: its own, if it is one, then the fused ones."""
    nodes = tuple(other for other in (node, *node.fused) if affine_of(graph, other) is not None)
    scale: Varies = ""
    shift: Varies = ""
    axes: list[int] = []
    for other in nodes:
        found = affine_of(graph, other)
        assert found is not None
        vector = found.axis is not None
        axes += [found.axis] if found.axis is not None else []
        if found.scale:
            scale = "channel" if vector or scale == "channel" else "one"
            shift = "channel" if shift and vector else shift
        if found.shift:
            shift = "channel" if vector or shift == "channel" else "one"
    shape = graph.shape(node.outputs[0])
    axis = axes[0] if axes else max(0, len(shape) - 1)
    return ScaleShiftChain(graph, nodes, axis, len(shape), shape[axis] if axes else 1, scale, shift)


def rescales(graph: Graph, node: GraphNode) -> bool:
    """Whether factors, scales or shifts fold into a product's constants."""
    return bool(chain_of(graph, node).nodes) or factors_of(node) != (1.0, 1.0)


def factors_of(node: GraphNode) -> tuple[float, float]:
    """What multiplies the product, and what is added to it (Gemm's alpha and beta)."""
    found = [node.number(key, 1.0) for key in family(node).factors]
    return (found[0], found[1]) if len(found) > 1 else (1.0, 1.0)


def drain_scale(graph: Graph, node: GraphNode) -> float:
    """What is left for the requantisation: the scale of a product of two activations, as no weights can take it."""
    if any(graph.values[name].constant for name in node.inputs[:2]):
        return 1.0
    scale, _ = chain_of(graph, node).values(lambda name: None)
    return float(scale[0]) * factors_of(node)[0]


def affine_of(graph: Graph, node: GraphNode) -> ScaleShift | None:
    """The node as a constant scale and shift, if it is one."""
    found = find(node.op)
    return found.affine(node, graph) if found is not None and found.affine is not None else None
