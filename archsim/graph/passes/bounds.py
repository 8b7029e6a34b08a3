"""Takes masks away that are bands: what they hide is a bound of the layers around, and is not computed at all. So it
does with masks that hide nothing.

They stand right before the softmax: a function behind a mask may show what the mask has hidden.

Exporters store a mask of attention, or compute it from positions: 0 or true where a row of queries sees a key, minus
infinity or a very low number elsewhere. Where every row sees the keys up to its own and, perhaps, no further back than
a window, the nodes from the product that makes the scores to the one that reads their shares say so instead (see
``archsim.ops.kit.visible``). Any other mask is an operand like others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from archsim.base.errors import ModelError
from archsim.graph.passes.manager import PassOptions
from archsim.graph.producers import Producers
from archsim.graph.sort import live, topological
from archsim.ir.graph import Array, Graph, GraphNode
from archsim.ops.kit.catalogue import family
from archsim.ops.kit.visible import VISIBLE, VISIBLE_A, Band

AFTER = ("safe_softmax", "attention")
BEFORE = ("product_scale", "fuse")

ALL = Band(-1)  # what stands for a mask that hides nothing
LOW = -1e9  # what is added to a score that a mask hides is this or less: its exponential is 0 in any format
MOST = 2**26  # elements of a mask that is looked at
BETWEEN = ("Mul", "Div", "Add", "Sub", "Tanh")  # what scores pass element by element


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with bounds in place of such masks."""
    producers, masks = Producers(graph), _Masks(graph)
    found: dict[str, GraphNode] = {}
    taken: dict[str, str] = {}
    for node in graph.nodes:
        scores = _Scores.of(producers, masks, node) if node.op == "Softmax" else None
        if scores is not None:
            found.update(scores.bounded())
            taken.update(scores.taken)
    if not taken:
        return graph
    nodes = [_reading(found.get(node.name, node), taken) for node in graph.nodes]
    graph = replace(graph, nodes=topological(tuple(nodes)))
    return replace(graph, nodes=live(graph))


def _reading(node: GraphNode, taken: dict[str, str]) -> GraphNode:
    """The node, reading what was masked where it read what a mask that is ``taken`` away made of it."""
    return replace(node, inputs=tuple(_unmasked(name, taken) for name in node.inputs))


def _unmasked(name: str, taken: dict[str, str]) -> str:
    while name in taken:
        name = taken[name]
    return name


@dataclass
class _Scores:
    """The nodes from a product of scores to that of their shares; ``taken``: results of masks -> what they mask. None
    has a bound where masks hide nothing."""

    band: Band
    between: list[GraphNode]
    context: GraphNode
    taken: dict[str, str]

    @staticmethod
    def of(producers: Producers, masks: _Masks, softmax: GraphNode) -> _Scores | None:
        """Those around a softmax over the last axis, where some mask on the way is a band, or hides nothing."""
        context = _only_reader(producers, softmax)
        rank = len(producers.graph.shape(softmax.outputs[0]))
        last = softmax.integer("axis", -1) in (-1, rank - 1) and VISIBLE not in softmax.attributes
        if context is None or not last or context.op != "MatMul" or context.inputs[0] != softmax.outputs[0]:
            return None
        found = _Scores(ALL, [softmax], context, {})
        bands: set[Band] = set()
        at = _made_alone(producers, softmax.inputs[0])
        while at is not None and at.op != "MatMul":
            masked = masks.of(producers, at) if len(found.between) == 1 else None
            if masked is None:  # what is hidden above it need not be hidden below
                masked = _passed(producers, at), None
                found.between.append(at)
            elif masked[1] is not None:
                bands.add(masked[1])
                found.taken[at.outputs[0]] = masked[0]
            at = _made_alone(producers, masked[0])
        if bands == {ALL}:
            return found
        bands.discard(ALL)
        if at is None or len(bands) != 1 or any(producers.graph.values[name].constant for name in at.inputs):
            return None
        found.between.append(at)
        (found.band,) = bands
        return found

    def bounded(self) -> dict[str, GraphNode]:
        """The nodes with their bound, by name."""
        if self.band == ALL:
            return {}
        context = replace(self.context, attributes={**self.context.attributes, VISIBLE_A: tuple(self.band)})
        found = {context.name: context}
        for node in self.between:
            found[node.name] = replace(node, attributes={**node.attributes, VISIBLE: tuple(self.band)})
        return found


def _only_reader(producers: Producers, node: GraphNode) -> GraphNode | None:
    readers = producers.readers(node.outputs[0])
    return readers[0] if len(readers) == 1 and node.outputs[0] not in producers.graph.outputs else None


def _made_alone(producers: Producers, name: str) -> GraphNode | None:
    """The maker of a value that one node alone reads, of an operator that scores pass or are made by."""
    node = producers.maker(name, "MatMul", "Where", *BETWEEN) if name else None
    if node is None or node.outputs[0] != name:
        return None
    return node if _only_reader(producers, node) is not None and name not in producers.graph.formats else None


def _passed(producers: Producers, node: GraphNode) -> str:
    """The operand of an elementwise operator whose elements its result's are made of, '' where none is as large."""
    shape = producers.graph.shape(node.outputs[0])
    running = [name for name in node.inputs if not producers.graph.values[name].constant]
    whole = [name for name in running if producers.graph.shape(name) == shape]
    return whole[0] if node.op in BETWEEN and len(whole) == 1 else ""


class _Masks:
    """What constants of a graph hold, as far as it follows from what is stored."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._makers = {name: node for node in graph.folded for name in node.outputs}
        self._held: dict[str, Array | None] = {}
        self._bands: dict[tuple[str, int, int], Band | None] = {}

    def of(self, producers: Producers, node: GraphNode) -> tuple[str, Band | None] | None:
        """(what a node masks, the band that is left of it); None where it is no mask that is a band."""
        rows, keys = producers.graph.shape(node.outputs[0])[-2:]
        if node.op == "Where":
            test, kept, low = node.inputs
            found = producers.number(low)
            whole = producers.graph.shape(kept) == producers.graph.shape(node.outputs[0])
            band = self._band(test, rows, keys) if found is not None and found <= LOW and whole else None
            return (kept, band) if band is not None else None
        if node.op == "Add":
            for kept, mask in producers.sides(node):
                whole = producers.graph.shape(kept) == producers.graph.shape(node.outputs[0])
                band = self._band(mask, rows, keys) if whole else None
                if band is not None:
                    return kept, band
        return None

    def _band(self, name: str, rows: int, keys: int) -> Band | None:
        """The band that a constant leaves, alike for all leading axes."""
        key = name, rows, keys
        if key not in self._bands:
            self._bands[key] = self._found(name, rows, keys)
        return self._bands[key]

    def _found(self, name: str, rows: int, keys: int) -> Band | None:
        value = self._graph.values[name]
        if not value.constant or value.shape[-2:] != (rows, keys) or value.elements > MOST:
            return None
        held = self._contents(name)
        if held is None:
            return None
        each = np.asarray(held).reshape(-1, rows, keys)
        seen = each if each.dtype == bool else each == 0
        hides = each.dtype == bool or bool(np.all(seen | (each <= LOW)))
        if not hides or not (seen == seen[0]).all():
            return None
        return band_in(seen[0])

    def _contents(self, name: str) -> Array | None:
        if name not in self._held:
            self._held[name] = self._computed(name)
        return self._held[name]

    def _computed(self, name: str) -> Array | None:
        value, maker = self._graph.values[name], self._makers.get(name)
        if value.data is not None or maker is None:
            return value.data
        if any(self._graph.values[each].elements > MOST for each in filter(None, maker.inputs)):
            return None
        arguments = [self._contents(each) if each else None for each in maker.inputs]
        if any(each and found is None for each, found in zip(maker.inputs, arguments, strict=True)):
            return None
        try:
            with np.errstate(all="ignore"):
                results = family(maker).reference(maker, *arguments)
        except ModelError:
            return None
        return np.asarray(results[maker.outputs.index(name)]).reshape(value.shape)


def band_in(seen: Array) -> Band | None:
    """The band that a mask (rows, keys) is, ALL where it hides nothing; None where it is none."""
    rows, keys = seen.shape
    if seen.all():
        return ALL
    if not seen.any(axis=1).all():
        return None
    first = int(seen[-1].argmax())
    last = keys - 1 - seen[:, ::-1].argmax(axis=1)
    ends = np.flatnonzero(last < keys - 1)
    past = int(last[ends[0]] - ends[0]) if len(ends) else keys - 1  # each may see all up to the last key
    if past < 0:
        return None
    band = Band(past, rows - 1 + past - first + 1 if first else 0)
    return band if np.array_equal(band.mask(rows, keys), seen) else None
