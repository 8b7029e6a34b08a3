"""Names what belongs together, whoever wrote it: attentions, and gated blocks of three products.

An attention is a softmax between two products of activations, with scales, caps and masks on the way, the rotations of
queries and keys, and the rows that are appended to its states. A gated block is a product with the product of two
others of one value, of which one went through an activation. A composite is called by the path that its nodes have in
common, else by its kind and a number. What a front end has named stays. No node changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, count, takewhile

from archsim.graph.passes.manager import PassOptions
from archsim.ir.composites import Composite, CompositeKind
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.kit.catalogue import find

AFTER = ("fuse",)

ROTATION = "RotaryEmbedding"
SHARES = "Softmax"
ON_THE_WAY = ("Where", "Add", "Sub", "Mul", "Div", "Tanh", "Max", "Cast", "Reshape", "Transpose", "Expand")  # of scores
_Side = tuple[GraphNode, set[str], bool, str]  # as ``_Search._weighed`` gives it


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with its composites, in the order of their first nodes."""
    search = _Search(graph)
    found = [*graph.composites]
    taken = {name for each in found for name in each.members}
    for kind, core, nodes in search.found():
        if taken.isdisjoint(nodes):
            taken |= nodes
            members = tuple(node.name for node in graph.nodes if node.name in nodes)
            found.append(Composite(search.name(kind, core), kind, members))
    return replace(graph, composites=tuple(sorted(found, key=lambda each: search.places.get(each.members[0], 0))))


@dataclass
class _Search:
    """Who makes and who reads each value, where each node stands, and the names that are given."""

    graph: Graph
    makers: dict[str, GraphNode] = field(default_factory=dict)
    readers: dict[str, list[GraphNode]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Look through all nodes once."""
        for place, node in enumerate(self.graph.nodes):
            self.places[node.name] = place
            self.makers |= dict.fromkeys(node.outputs, node)
            for name in (*node.inputs, *self.graph.beside(node)):
                self.readers.setdefault(name, []).append(node)
        self.names = {*self.places, *(each.name for each in self.graph.composites)}

    def found(self) -> Iterator[tuple[CompositeKind, Collection[str], set[str]]]:
        """Of each that there is the kind, the nodes that it is called by, and all of them."""
        for node in self.graph.nodes:
            if node.op == SHARES and (nodes := self._attention(node)):
                yield "attention", *nodes
            elif block := self._gated(node):
                yield "gated_mlp", block, block

    def name(self, kind: CompositeKind, core: Collection[str]) -> str:
        """The path that these have in common, ``attention_1`` where they have none; one that nobody has."""
        paths = [name.split(".") for name in core]
        alike = takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False))
        common = ".".join(parts[0] for parts in alike)
        numbered = (f"{kind}_{number}" for number in count(1))
        found = next(name for name in chain([common] if common else [], numbered) if name not in self.names)
        self.names.add(found)
        return found

    def _attention(self, softmax: GraphNode) -> tuple[tuple[str, ...], set[str]] | None:
        """A softmax with the products before and behind it, and these with what they read."""
        before, scores = self._to_product(softmax.inputs[0])
        behind, context = self._from_softmax(softmax)
        if scores is None or context is None:
            return None
        made = {softmax.name, scores.name, context.name, *before, *behind}
        for name in (*scores.inputs[:2], context.inputs[1], context.inputs[0]):
            made |= self._brought(name) if self.makers.get(name) is not softmax else set()
        return (softmax.name, scores.name, context.name), made

    def _to_product(self, name: str) -> tuple[set[str], GraphNode | None]:
        """What lies between a value and the product of activations that it comes from, and that product."""
        passed: set[str] = set()
        while (node := self.makers.get(name)) is not None:
            if self._multiplies(node):
                return passed, node
            ways = [each for each in node.inputs if each and not self.graph.values[each].constant]
            inner = [each for each in ways if self._leads(each)]
            if node.op not in ON_THE_WAY or len(inner) != 1:
                break
            passed.add(node.name)
            name = inner[0]
        return passed, None

    def _leads(self, name: str) -> bool:
        """Whether a value comes from a product of activations, by whatever is on the way."""
        seen = [name]
        while seen:
            node = self.makers.get(seen.pop())
            if node is None:
                continue
            if self._multiplies(node):
                return True
            if node.op in ON_THE_WAY:
                seen += [each for each in node.inputs if each and not self.graph.values[each].constant]
        return False

    def _from_softmax(self, node: GraphNode) -> tuple[set[str], GraphNode | None]:
        passed: set[str] = set()
        while len(node.outputs) == 1 and len(readers := self.readers.get(node.outputs[0], [])) == 1:
            (node,) = readers
            if self._multiplies(node):
                return passed, node
            if node.op not in ON_THE_WAY:
                break
            passed.add(node.name)
        return passed, None

    def _brought(self, name: str) -> set[str]:
        """Views, appended rows and the rotation by which a product comes to an operand."""
        passed: set[str] = set()
        ways = [name]
        while ways:
            node = self.makers.get(ways.pop())
            family = find(node.op) if node is not None else None
            if node is None or family is None:
                continue
            if node.op == ROTATION:
                passed.add(node.name)
                ways.append(node.inputs[0])
            elif family.result == "view" or family.slots is not None:
                passed.add(node.name)
                ways += [each for each in node.inputs if each and not self.graph.values[each].constant]
        return passed

    def _multiplies(self, node: GraphNode) -> bool:
        """Whether a node is a product of two values that are no constants."""
        return _is_product(node) and len(self._known(node)) == 0

    def _gated(self, node: GraphNode) -> set[str] | None:
        """Where gate and value are multiplied, what makes both of one value, and the product of the result."""
        readers = self.readers.get(node.outputs[0], [])
        sides = self._multiplied(node)
        if len(sides) != 2 or None in sides or len(readers) != 1:
            return None
        if not self._is_weighed(readers[0]) or node.outputs[0] not in readers[0].inputs[:2]:
            return None
        makers = [side for side in sides if side is not None]
        if len({maker.inputs[0] for maker, *_ in makers}) != 1 or [side[2] for side in makers].count(True) != 1:
            return None
        if makers[0][3] == makers[1][3]:  # of one value: an activation that is written out, x times a function of x
            return None
        passed = {name for _, names, *_ in makers for name in names}
        return {node.name, readers[0].name, *passed, *(maker.name for maker, *_ in makers)}

    def _multiplied(self, node: GraphNode) -> list[_Side | None]:
        """The two sides of what a node multiplies element by element, be it as a product with weights drains."""
        if node.op == "Mul":
            return [self._weighed(name) for name in node.inputs]
        beside = self.graph.beside(node)
        gates = [other for other in node.fused if other.op == "Mul" and set(beside).intersection(other.inputs)]
        if not gates or not self._is_weighed(node):
            return []
        return [(node, set(), False, gates[0].inputs[0]), *map(self._weighed, beside)]

    def _weighed(self, name: str) -> _Side | None:
        """The product with weights that a value comes from by views and activations, these, whether there are any
        activations, and what is activated: the product's result, or the view of it that is a part of it."""
        passed: set[str] = set()
        active, part = False, name
        while (node := self.makers.get(name)) is not None and not self._is_weighed(node):
            family = find(node.op)
            if family is None or not (family.result == "view" or self._activates(node)):
                return None
            active = active or self._activates(node)
            passed.add(node.name)
            name = node.inputs[0]
            part = name if self._activates(node) else part
        if node is None or self.graph.beside(node):
            return None
        return node, passed, active or any(self._activates(other) for other in node.fused), part

    def _activates(self, node: GraphNode) -> bool:
        """Whether a node is a function of one value, and no scale or shift."""
        family = find(node.op)
        moving = [name for name in node.inputs if name and not self.graph.values[name].constant]
        return family is not None and family.epilogue is not None and family.affine is None and len(moving) == 1

    def _is_weighed(self, node: GraphNode) -> bool:
        return _is_product(node) and len(self._known(node)) == 1

    def _known(self, node: GraphNode) -> list[str]:
        """Those of a product's factors that are constants."""
        return [name for name in node.inputs[:2] if self.graph.values[name].constant]


def _is_product(node: GraphNode) -> bool:
    """Whether a node multiplies its first two inputs and adds up: scales and activations ride on it, and it is none."""
    family = find(node.op)
    return family is not None and family.channel is not None and family.activates and family.affine is None
