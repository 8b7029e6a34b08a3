"""Look-ups by indices that are no evenly spaced range: Gather nodes become GatherRows with an access pattern.

The pattern is stated by the user, known from constant indices, or taken as uniform, which is said in one warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from archsim.base.errors import ConfigError, nearest
from archsim.graph.origins import element_type, input_starts, origin
from archsim.graph.passes.manager import PassOptions
from archsim.ir.asm.words import indices_text
from archsim.ir.graph import Graph, GraphNode, GraphValue, OperatorAttribute, Shape
from archsim.ir.indices import Indices
from archsim.ir.streams import entries
from archsim.ops.kit.lookups import INDEX_TYPES, LOOKUPS, ROWS, axis_of, default_seed, progression, read_pattern

AFTER = ("fuse",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """See ``with_lookups``: the user's patterns come first."""
    return with_lookups(graph, options.lookups)


def with_lookups(graph: Graph, stated: Mapping[str, str]) -> Graph:
    """The graph with a pattern for every look-up, each Gather of them as GatherRows.

    ``stated``: pattern by node name, before any other. Raises ConfigError for a name that no look-up has and for text
    that is no pattern.
    """
    found: dict[str, GraphNode] = {}
    assumed: list[str] = []
    for node in graph.nodes:
        if node.op in LOOKUPS or (node.op == "Gather" and progression(node, graph.values[node.inputs[1]]) is None):
            found[node.name] = _with_pattern(node, graph, stated, assumed)
    for name in stated:
        if name not in found:
            known = f"; there are: {', '.join(found)}" if found else "; the model has none"
            raise ConfigError(f"--lookups: no look-up of rows is called '{name}'{nearest(name, found)}{known}")
    warnings = graph.warnings
    if assumed:
        warnings += (
            f"the rows that {', '.join(assumed)} look up are known at run time only; taken as uniform over their "
            "tables, unless --lookups 'NAME=zipf(exponent=1, seed=0)' or a trace says otherwise",
        )
    return replace(graph, nodes=tuple(found.get(node.name, node) for node in graph.nodes), warnings=warnings)


def _with_pattern(node: GraphNode, graph: Graph, stated: Mapping[str, str], assumed: list[str]) -> GraphNode:
    table, indices = (graph.values[name] for name in node.inputs[:2])
    kind = element_type(graph, indices.name) if node.op not in LOOKUPS else ""
    if kind and kind not in INDEX_TYPES:
        node.fail(f"indices '{indices.name}' have elements of type {kind}; allowed {', '.join(INDEX_TYPES)}")
    attributes: dict[str, OperatorAttribute] = dict(node.attributes)
    if node.name in stated:
        found = read_pattern(stated[node.name], f"--lookups {node.name}")
        attributes["indices"] = found.trace if found.kind == "trace" else indices_text(found)
    elif "indices" not in attributes and indices.data is not None:
        attributes["indices"] = _constant(node, np.ravel(indices.data).tolist(), table.shape)
    elif "indices" not in attributes:
        attributes["indices"] = _assumed(graph, indices, table.shape[axis_of(node, len(table.shape))])
        assumed.append(f"'{node.name}'")
    return replace(node, op=node.op if node.op in LOOKUPS else ROWS, attributes=attributes)


def _assumed(graph: Graph, indices: GraphValue, rows: int) -> OperatorAttribute:
    """Uniform over the table, by the seed of the graph input that the indices come from, element by element.

    So look-ups of one table size by parts and views of one input agree on its elements. Indices that are the elements
    of one input in order are the plain pattern; others are its entries at their places, constants what they are.
    """
    if indices.name in graph.inputs:  # which may be of any size
        return indices_text(Indices("uniform", default_seed(indices.name)))
    found = origin(graph, indices.name)
    sources = () if found is None else found.inputs(graph)
    if found is None or len(sources) != 1:
        return indices_text(Indices("uniform", default_seed(indices.name)))
    plain = Indices("uniform", default_seed(sources[0]))
    places = np.ravel(found.position) - input_starts(graph)[sources[0]]
    if np.array_equal(places, np.arange(indices.elements)):
        return indices_text(plain)
    drawn = entries(plain, rows, np.maximum(places, 0))
    return tuple(int(row) for row in np.where(np.ravel(found.position) < 0, np.ravel(found.value) % rows, drawn))


def _constant(node: GraphNode, indices: list[int], shape: Shape) -> tuple[int, ...]:
    """Row numbers of constant indices; negative ones count from the end."""
    rows = shape[axis_of(node, len(shape))]
    wrong = [index for index in indices if not -rows <= index < rows]
    if wrong:
        node.fail(f"index {wrong[0]}; allowed {-rows} to {rows - 1}")
    return tuple(index % rows for index in indices)
