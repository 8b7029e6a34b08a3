"""Shape inference and constant folding in one pass: every value gets its logical shape, small constants their data.

Nodes whose inputs are all constants disappear: their results are constants too (weights stay shapes only).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from archsim.base.errors import ModelError
from archsim.graph.passes.manager import PassOptions
from archsim.graph.sort import live, topological
from archsim.graph.states import with_past
from archsim.ir.graph import SMALL_ELEMENTS, Array, Graph, GraphNode, GraphValue, Inputs, Shape, UnsupportedError
from archsim.ops.kit.catalogue import family, find
from archsim.ops.kit.family import OperatorFamily

AFTER: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rebatch:
    """What is needed to change dim 0: every value as it was ``before``, and the ratio ``new`` / ``old``."""

    before: Mapping[str, GraphValue]
    old: int
    new: int


def run(graph: Graph, options: PassOptions) -> Graph:
    """See ``infer``; of a graph that a front end has inferred already, the states alone are looked at."""
    return with_past(graph) if is_inferred(graph) else infer(graph)


def is_inferred(graph: Graph) -> bool:
    """Whether every value has its shape already."""
    return all(name in graph.values for node in graph.nodes for name in node.outputs if name)


def infer(graph: Graph, rebatch: Rebatch | None = None) -> Graph:
    """The graph sorted, with every value's shape, without constant nodes and without nodes that no output needs.

    Raises ModelError for cycles, unknown names, shapes that do not fit and dimensions of size 0; UnsupportedError for
    operators without a rule, unless ``graph.hints`` has their output shapes.
    """
    graph = with_past(graph)
    values = dict(graph.values)
    working = replace(graph, nodes=topological(graph.nodes), values=values)
    kept: list[GraphNode] = []
    folded: list[GraphNode] = []
    for node in working.nodes:
        inputs = working.inputs_of(node)
        results = _results(working, node, inputs, rebatch)
        values.update({value.name: value for value in results if value.name})
        (folded if all(value.constant for value in results) else kept).append(node)
    for name in graph.outputs:
        if name not in values:
            raise ModelError(f"graph output '{name}' is produced by nothing; the file is damaged")
    working = replace(working, nodes=tuple(kept), folded=tuple(folded))
    alive = live(working)
    _refuse_empty(working, alive)
    return replace(working, nodes=alive, warnings=graph.warnings + _dropped(kept, alive))


def _results(graph: Graph, node: GraphNode, inputs: Inputs, rebatch: Rebatch | None) -> tuple[GraphValue, ...]:
    found = find(node.op)
    if not node.outputs:
        node.fail("has no output; the file is damaged")
    if found is not None:
        found.check_inputs(node, inputs)
    shapes = _unbaked(graph, node, found, rebatch) or _shapes(graph, node, inputs, found)
    constant = all(value is None or value.constant for value in inputs)
    data = _data(node, inputs, found, shapes) if found is not None and not found.at_run_time else ()
    if found is None or found.at_run_time or not (constant or data):
        return tuple(GraphValue(name, shape, "activation") for name, shape in zip(node.outputs, shapes, strict=False))
    return _constants(node, inputs, found, shapes, data)


def _shapes(graph: Graph, node: GraphNode, inputs: Inputs, found: OperatorFamily | None) -> tuple[Shape, ...]:
    """Output shapes by the family's rule, else by the front end's hints."""
    hints = tuple(graph.hints.get(name, ()) for name in node.outputs)
    hinted = bool(node.outputs) and all(name in graph.hints for name in node.outputs if name)
    if found is None:
        return hints if hinted else family(node).shapes(node, inputs)
    try:
        return _checked(node, found.shapes(node, inputs))
    except UnsupportedError:
        if hinted:
            return hints
        raise


def _checked(node: GraphNode, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    if len(shapes) < len([name for name in node.outputs if name]):
        node.unsupported(f"has {len(node.outputs)} outputs, of which only {len(shapes)} can be computed")
    if any(size < 0 for shape in shapes for size in shape):
        node.fail(f"gets an output of shape {list(shapes[0])}: its window or slice is larger than its input")
    return shapes


def _unbaked(graph: Graph, node: GraphNode, found: OperatorFamily | None, rebatch: Rebatch | None) -> tuple[Shape, ...]:
    """The output shape when the target shape was written for the old batch: dim 0 scaled with it; else ().

    Applies to a target that did not itself change with the batch, on an input whose size did.
    """
    if rebatch is None or found is None or found.target is None or len(node.inputs) <= found.target:
        return ()
    source, wanted, out = node.inputs[0], node.inputs[found.target], node.outputs[0]
    before, then, now = rebatch.before, rebatch.before.get(wanted), graph.values.get(wanted)
    if source not in before or out not in before or then is None or now is None or then.data is None:
        return ()
    if graph.values[source].elements == before[source].elements or not _equal(then.data, now.data):
        return ()
    old = before[out].shape
    if not old or old[0] * rebatch.new % rebatch.old:
        node.fail(f"its target shape {list(old)} is fixed for batch {rebatch.old}; export with a dynamic batch")
    return ((old[0] * rebatch.new // rebatch.old, *old[1:]),)


def _equal(first: Array, second: Array | None) -> bool:
    return second is not None and np.array_equal(first, second)


def _data(node: GraphNode, inputs: Inputs, found: OperatorFamily, shapes: tuple[Shape, ...]) -> tuple[Array, ...]:
    """Contents of the outputs where they are small and computable beforehand, else ()."""
    if any(prod(shape) > SMALL_ELEMENTS for shape in shapes):
        return ()
    if found.known is not None:
        known = found.known(node, inputs)
        return () if known is None else (known,)
    arrays = tuple(None if value is None else value.data for value in inputs)
    if any(value is not None and array is None for value, array in zip(inputs, arrays, strict=True)):
        return ()
    return found.reference(node, *arrays)


def _constants(
    node: GraphNode, inputs: Inputs, found: OperatorFamily, shapes: tuple[Shape, ...], data: tuple[Array, ...]
) -> tuple[GraphValue, ...]:
    sources = tuple(sorted({source for value in inputs if value is not None for source in value.sources}))
    dtype = next((value.dtype for value in inputs if value is not None), "float32")
    if found.source:
        sources, dtype = (node.outputs[0],), node.text("dtype", "float32")
    results = []
    for index, (name, shape) in enumerate(zip(node.outputs, shapes, strict=False)):
        array = data[index] if index < len(data) else None
        kind = dtype if array is None else str(array.dtype)
        results.append(GraphValue(name, shape, "constant", kind, array, sources))
    return tuple(results)


def _refuse_empty(graph: Graph, nodes: tuple[GraphNode, ...]) -> None:
    """No activation or weight that computes may have a dimension of size 0."""
    for node in nodes:
        for name in (*node.inputs, *node.outputs):
            value = graph.values.get(name)
            if value is None or value.elements or (value.constant and value.data is not None):
                continue
            node.fail(f"tensor '{name}' has shape {list(value.shape)}; allowed dimensions of at least 1")


def _dropped(kept: list[GraphNode], alive: tuple[GraphNode, ...]) -> tuple[str, ...]:
    count = len(kept) - len(alive)
    return (f"{count} nodes that no output needs were dropped",) if count else ()
