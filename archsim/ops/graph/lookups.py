"""Look-ups by indices that are no evenly spaced range: Gather nodes become GatherRows with an access pattern.

The pattern is stated by the user, known from constant indices, or taken as uniform, which is said in one warning.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from archsim.errors import ConfigError, ProgramError, nearest
from archsim.ir.asm.cursor import Cursor
from archsim.ir.asm.lexer import phrase
from archsim.ir.asm.lookup import read_indices
from archsim.ir.asm.words import indices_text
from archsim.ir.indices import Indices
from archsim.ir.streams import entries
from archsim.ops.graph.nodes import Attribute, Graph, Node, Shape, Value
from archsim.ops.graph.origins import element_type, input_starts, origin

ROWS = "GatherRows"
INDEX_TYPES = ("int32", "int64")  # that ONNX allows for indices


def with_lookups(graph: Graph, stated: Mapping[str, str]) -> Graph:
    """The graph with every look-up as GatherRows. ``stated``: pattern by node name, before any other.

    Raises ConfigError for a name that no look-up has and for text that is no pattern.
    """
    found: dict[str, Node] = {}
    assumed: list[str] = []
    for node in graph.nodes:
        if node.op == ROWS or (node.op == "Gather" and progression(node, graph.values[node.inputs[1]]) is None):
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


def progression(node: Node, indices: Value) -> tuple[int, int, int] | None:
    """First index, step and count of constant, evenly spaced indices (of the table's own size when negative ones)."""
    if indices.data is None or len(indices.shape) > 1 or not indices.elements:
        return None
    found = [int(index) for index in np.ravel(indices.data)]
    step = found[1] - found[0] if len(found) > 1 else 1
    if step < 1 or found != list(range(found[0], found[0] + step * len(found), step)):
        return None
    return (found[0], step, len(found)) if found[0] >= 0 or found[-1] < 0 else None


def pattern(node: Node) -> Indices:
    """The access pattern of a GatherRows node."""
    stated = node.attributes.get("indices")
    if isinstance(stated, tuple):
        return Indices("trace", trace=tuple(int(row) for row in stated))
    return _read(node.text("indices", ""), f"node '{node.name}'")


def default_seed(indices: str) -> int:
    """The seed of a look-up that states none, by the name of its indices: those of different indices differ."""
    return zlib.crc32(indices.encode())


def axis_of(node: Node, rank: int) -> int:
    """The axis of the table that is looked up."""
    axis = node.integer("axis", 0)
    if not -rank <= axis < rank:
        node.fail(f"axis {axis}; allowed {-rank} to {rank - 1}")
    return axis % rank


def _with_pattern(node: Node, graph: Graph, stated: Mapping[str, str], assumed: list[str]) -> Node:
    table, indices = (graph.values[name] for name in node.inputs)
    kind = element_type(graph, indices.name) if node.op != ROWS else ""
    if kind and kind not in INDEX_TYPES:
        node.fail(f"indices '{indices.name}' have elements of type {kind}; allowed {', '.join(INDEX_TYPES)}")
    attributes: dict[str, Attribute] = dict(node.attributes)
    if node.name in stated:
        found = _read(stated[node.name], f"--lookups {node.name}")
        attributes["indices"] = found.trace if found.kind == "trace" else indices_text(found)
    elif "indices" not in attributes and indices.data is not None:
        attributes["indices"] = _constant(node, np.ravel(indices.data).tolist(), table.shape)
    elif "indices" not in attributes:
        attributes["indices"] = _assumed(graph, indices, table.shape[axis_of(node, len(table.shape))])
        assumed.append(f"'{node.name}'")
    return replace(node, op=ROWS, attributes=attributes)


def _assumed(graph: Graph, indices: Value, rows: int) -> Attribute:
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


def _constant(node: Node, indices: list[int], shape: Shape) -> tuple[int, ...]:
    """Row numbers of constant indices; negative ones count from the end."""
    rows = shape[axis_of(node, len(shape))]
    wrong = [index for index in indices if not -rows <= index < rows]
    if wrong:
        node.fail(f"index {wrong[0]}; allowed {-rows} to {rows - 1}")
    return tuple(index % rows for index in indices)


def _read(text: str, what: str) -> Indices:
    try:
        cursor = Cursor(phrase(text, 1, what), what)
        found = read_indices(cursor)
        if not cursor.ended:
            cursor.fail("the end of the pattern")
    except ProgramError as error:
        raise ConfigError(str(error).replace(f"{what}:1:", f"{what}:")) from None
    return found
