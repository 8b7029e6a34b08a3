"""Puts zeros around the input of a convolution where the convolution can have them itself: in its own pads."""

from __future__ import annotations

from dataclasses import replace

from archsim.graph.passes.manager import PassOptions
from archsim.graph.producers import Producers, rebuilt
from archsim.ir.graph import Graph, GraphNode, Shape
from archsim.ops.pad import pads_of

AFTER = ("alias",)
BEFORE = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with each convolution of a padded input as one of the input."""
    return rebuilt(graph, _padded)


def _padded(producers: Producers, node: GraphNode) -> GraphNode | None:
    """The convolution of what is padded before, if its windows reach no farther than they are wide."""
    pad = producers.maker(node.inputs[0], "Pad") if node.op == "Conv" else None
    stated = node.text("auto_pad", "NOTSET")
    if pad is None or stated not in ("NOTSET", "VALID") or not _is_of_zeros(producers, pad):
        return None
    widths, shape = pads_of(pad, producers.graph), producers.graph.shape(node.inputs[0])
    axes = len(shape) - 2
    none = (0,) * (2 * axes)
    own = node.integers("pads", none) if stated == "NOTSET" else none
    more = [each[end] for end in (0, 1) for each in widths[2:]]
    pads = tuple(size + further for size, further in zip(own, more, strict=True))
    if any(each != (0, 0) for each in widths[:2]) or min((*more, *own)) < 0 or not _fits(node, producers.graph, pads):
        return None
    attributes = {**node.attributes, "pads": pads, "auto_pad": "NOTSET"}
    return replace(node, inputs=(pad.inputs[0], *node.inputs[1:]), attributes=attributes)


def _is_of_zeros(producers: Producers, pad: GraphNode) -> bool:
    """Whether it puts zeros, at sides that are known beforehand."""
    values, (_, sides, *others) = producers.graph.values, pad.inputs
    known = all(values[name].data is not None for name in (sides, *others[1:]) if name)
    zeros = not others or not others[0] or producers.number(others[0]) == 0
    return pad.text("mode", "constant") == "constant" and known and zeros


def _fits(node: GraphNode, graph: Graph, pads: Shape) -> bool:
    kernel = graph.shape(node.inputs[1])[2:]
    dilations = node.integers("dilations", (1,) * len(kernel))
    spans = [dilation * (size - 1) + 1 for dilation, size in zip(dilations, kernel, strict=True)]
    return all(0 <= pad <= span for pad, span in zip(pads, (*spans, *spans), strict=True))
