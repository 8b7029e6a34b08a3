"""What stored constants hold in a Workload: the model's, with constant scales and shifts folded in, in memory order."""

from __future__ import annotations

import numpy as np

from archsim.base.errors import ModelError
from archsim.graph.lowering.tensors import ConstantContent
from archsim.graph.numeric.constants import Constants
from archsim.ir.graph import Array, Graph, GraphNode, Shape
from archsim.ir.workload import Tensor
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.folding import ScaleShiftChain, chain_of, drain_scale, factors_of


def contents(content: ConstantContent, graph: Graph, constants: Constants) -> Array:
    """The numbers of a stored constant in its logical shape; in double precision where something is folded in."""
    if not content.part:
        return constants[content.value]
    node = next(node for node in graph.nodes if node.name == content.node)
    chain = chain_of(graph, node)
    scale, shift = chain.values(lambda name: constants[name])
    if content.part in ("scale", "shift"):
        return scale if content.part == "scale" else shift
    factor, addend = factors_of(node)
    if content.part == "weights":
        return _along(constants[content.value] * np.float64(factor), content, chain, scale, 0 * shift)
    return _bias(content, node, graph, constants, chain, scale, shift, addend)


def _bias(
    content: ConstantContent,
    node: GraphNode,
    graph: Graph,
    constants: Constants,
    chain: ScaleShiftChain,
    scale: Array,
    shift: Array,
    addend: float,
) -> Array:
    """What is added before the drain scales: (addend * c * scale + shift) / what the drain multiplies by."""
    known = graph.values.get(content.value)
    given = np.zeros(_columns(graph, node)) if known is None else constants[content.value] * np.float64(addend)
    return _along(given, content, chain, scale, shift) / drain_scale(graph, node)


def _columns(graph: Graph, node: GraphNode) -> int:
    channel = family(node).channel
    axis = channel(node, graph) if channel is not None else None
    return 1 if axis is None else graph.shape(node.outputs[0])[axis]


def _along(values: Array, content: ConstantContent, chain: ScaleShiftChain, scale: Array, shift: Array) -> Array:
    """values * scale + shift along the channel axis."""
    if scale.size == 1:
        return np.asarray(values * scale[0] + shift[0])
    if content.channel is None or values.shape[content.channel] != chain.channels:
        raise ModelError(
            f"'{content.value}' of node '{content.node}' takes up {chain.channels} scales, but has no axis of that size"
        )
    shape = [1] * values.ndim
    shape[content.channel] = chain.channels
    return np.asarray(values * scale.reshape(shape) + shift.reshape(shape))


def to_memory(tensor: Tensor, logical: Array) -> Array:
    """A tensor's elements in memory order from the model's array."""
    order = tensor.logical or tuple(range(len(tensor.shape)))
    sizes = dict(zip(order, tensor.shape, strict=True))
    split = tuple(sizes[axis] for axis in range(len(sizes)))
    return np.asarray(logical).reshape(split).transpose(order)


def from_memory(tensor: Tensor, stored: Array, shape: Shape) -> Array:
    """The model's array of ``shape`` from a tensor's elements in memory order."""
    order = tensor.logical or tuple(range(len(tensor.shape)))
    return np.asarray(stored).transpose(np.argsort(order)).reshape(shape)
