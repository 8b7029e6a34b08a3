"""What a model's constants hold: what its file stores, or numbers drawn from a seed where it stores none.

Drawn numbers keep a deep network's values of order one: weights are normal with variance 2 / fan-in (He et al.,
"Delving Deep into Rectifiers", 2015), factors and variances lie in [0.5, 1.5), biases are normal with deviation 0.1.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

import numpy as np

from archsim.base.errors import ConfigError, ModelError
from archsim.graph.origins import carried, input_starts, origin
from archsim.ir.graph import Array, Graph, GraphNode, GraphValue
from archsim.ir.streams import entries
from archsim.ops.kit.catalogue import family, find
from archsim.ops.kit.folding import affine_of
from archsim.ops.kit.lookups import LOOKUPS, axis_of, pattern

LOW, HIGH, BIAS_DEVIATION = 0.5, 1.5, 0.1


class Constants:
    """Contents of the constants of an inferred graph by name.

    ``stored``: what the file holds; ``given``: what stands in for it; ``drawn``: those that are drawn instead. Where
    the file only stands in for some (a filled tensor, a shape without contents), all floating-point ones but single
    numbers and those given are drawn. Raises ConfigError for a given one that does not fit or that is built into the
    Program.
    """

    def __init__(self, graph: Graph, stored: Mapping[str, Array], seed: int, given: Mapping[str, Array]) -> None:
        """Draw what has to be drawn."""
        self._graph = graph
        self._stored = stored
        self._producer = {name: node for node in graph.folded for name in node.outputs}
        self._made: dict[str, Array] = {}
        self.drawn: dict[str, Array] = {}
        uses = list(_uses(graph))
        known = {value.name: value for _, _, value in (*_read(graph), *uses)}
        self.given = {name: _fitting(known.get(name), name, array) for name, array in given.items()}
        everything = any(self._stands_in(value) for _, _, value in uses)
        for node, index, value in uses if everything else ():
            if value.name not in self.drawn and value.name not in given and _may_be_drawn(value):
                self.drawn[value.name] = _draw(graph, node, index, value, seed)

    @property
    def is_remade(self) -> bool:
        """Whether something stands in for what the model makes of its constants, and does not store."""
        return any(name in self._producer for name in self.given)

    @property
    def replaced(self) -> dict[str, Array]:
        """What stands in for the file's own, by name."""
        return self.drawn | self.given

    def __getitem__(self, name: str) -> Array:
        """The contents of constant ``name`` in its logical shape."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _stands_in(self, value: GraphValue) -> bool:
        """Whether the file has nothing but a shape, or one number for all, in the place of a constant."""
        producer = self._producer.get(value.name)
        filled = producer is not None and family(producer).source
        return _may_be_drawn(value) and (filled or value.data is None) and value.name not in self._stored

    def _make(self, name: str) -> Array:
        value, producer = self._graph.values[name], self._producer.get(name)
        replaced = self.replaced
        if name in replaced:
            return replaced[name]
        if producer is not None and (value.data is None or any(source in replaced for source in value.sources)):
            arguments = [self[other] if other else None for other in producer.inputs]
            results = family(producer).reference(producer, *arguments)
            return np.asarray(results[producer.outputs.index(name)])
        found = value.data if value.data is not None else self._stored.get(name)
        if found is None:
            raise ModelError(f"constant '{name}' of shape {list(value.shape)} is stored nowhere")
        return np.asarray(found).reshape(value.shape)


def inputs_of(graph: Graph, seed: int, given: Mapping[str, Array]) -> dict[str, Array]:
    """The graph's inputs: those given, else standard normal numbers (whole ones, 0 or 1, for integer inputs).

    Indices of look-ups are those of the Program's access patterns. Raises ConfigError where a given one does not fit,
    ModelError for indices that the model computes, which no pattern foresees.
    """
    found: dict[str, Array] = {}
    looked_up = looked_up_inputs(graph)
    for name in graph.inputs:
        value = graph.values[name]
        array = given[name] if name in given else _drawn_input(value, seed)
        array = numeric(name, array, value.shape)
        if name in looked_up:
            rows = looked_up[name].reshape(value.shape)
            wanted = np.where(rows >= 0, rows, array).astype(array.dtype if name not in given else None)
            if name in given and not np.array_equal(array, wanted):
                raise ConfigError(
                    f"--inputs: '{name}' differs from the rows that the Program looks up; state them with --lookups"
                )
            array = wanted
        found[name] = array
    _refuse_lossy(graph, found)
    return found


def _drawn_input(value: GraphValue, seed: int) -> Array:
    random = _random(seed, value.name)
    if "float" in value.dtype:
        return random.standard_normal(value.shape).astype(np.float32)
    return random.integers(0, 2, value.shape).astype(np.int64)


def looked_up_inputs(graph: Graph) -> dict[str, Array]:
    """Graph input -> the row that the Program looks up by each of its elements, in order; -1 where by none.

    Raises ModelError for indices that are computed and for look-ups that disagree on an element.
    """
    starts = input_starts(graph)
    found = {name: np.full(graph.values[name].elements, -1, np.int64) for name in graph.inputs}
    for node in graph.nodes:
        if node.op not in LOOKUPS:
            continue
        rows, at = _rows_of(graph, node), origin(graph, node.inputs[1])
        if at is None:
            node.fail(
                f"verify needs its indices '{node.inputs[1]}' as an input, or moved there from one (reshaped, cut, "
                "joined, cast); no access pattern foresees computed ones"
            )
        position = np.ravel(at.position)
        held = np.where(position < 0, np.ravel(at.value) % _table_rows(graph, node), rows)
        for name in at.inputs(graph):
            here = (position >= starts[name]) & (position < starts[name] + found[name].size)
            places = position[here] - starts[name]
            before = found[name][places]
            found[name][places] = np.where(before < 0, rows[here], before)
            held[here] = found[name][places]
        if not np.array_equal(held, rows):
            where = " and ".join(f"'{name}'" for name in at.inputs(graph)) or f"'{node.inputs[1]}'"
            node.fail(f"its access pattern gives other rows than {where} has elsewhere; state one for both")
    return {name: rows for name, rows in found.items() if np.any(rows >= 0)}


def exact_indices(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The indices of every look-up by name as the inputs have them, whatever elements they are stored in."""
    found: dict[str, Array] = {}
    for node in graph.nodes:
        if node.op in LOOKUPS:
            array = carried(graph, node.inputs[1], lambda name: _leaf(graph, inputs, name))
            if array is not None:
                found[node.inputs[1]] = array
    return found


def _refuse_lossy(graph: Graph, inputs: Mapping[str, Array]) -> None:
    """Raise ModelError where a cast on the way makes other indices of those that the Program looks up."""
    whole = {name: np.asarray(array).astype(np.int64) for name, array in inputs.items()}
    for node in graph.nodes:
        if node.op in LOOKUPS:
            name = node.inputs[1]
            kept = carried(graph, name, lambda item: _leaf(graph, whole, item))
            cast = carried(graph, name, lambda item: _leaf(graph, whole, item), casts=True)
            if kept is not None and cast is not None and not np.array_equal(kept, cast):
                node.fail(f"a cast on the way to '{name}' cannot hold rows up to {int(np.max(kept))}")


def _leaf(graph: Graph, inputs: Mapping[str, Array], name: str) -> Array:
    return np.asarray(inputs[name] if name in inputs else graph.values[name].data)


def _rows_of(graph: Graph, node: GraphNode) -> Array:
    """The rows that the Program looks up, in order."""
    indices = graph.values[node.inputs[1]]
    return np.asarray(entries(pattern(node), _table_rows(graph, node), np.arange(indices.elements)))


def _table_rows(graph: Graph, node: GraphNode) -> int:
    table = graph.values[node.inputs[0]]
    return table.shape[axis_of(node, len(table.shape))]


def _fitting(value: GraphValue | None, name: str, array: Array) -> Array:
    """A given constant in the model's own type."""
    if value is None or not _may_be_drawn(value):
        raise ConfigError(f"--inputs: constant '{name}' is built into the Program; allowed inputs and weights")
    return numeric(name, array, value.shape).astype(np.dtype(value.dtype))


def numeric(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    """``array`` when it has numbers, none of them NaN, in this shape; raises ConfigError where it does not."""
    if array.dtype.kind not in "fiub":
        raise ConfigError(f"--inputs: '{name}' has elements of type {array.dtype}; allowed numbers")
    if tuple(array.shape) != shape:
        raise ConfigError(f"--inputs: '{name}' has shape {list(array.shape)}; allowed {list(shape)}")
    if np.isnan(array).any():
        raise ConfigError(f"--inputs: '{name}' has elements that are not a number")
    return array


def _uses(graph: Graph) -> Iterator[tuple[GraphNode, int, GraphValue]]:
    """(node, index of its input, the model's own constant that the input is made from)."""
    for node, index, value in _read(graph):
        for source in value.sources:
            if source in graph.values:
                yield node, index, graph.values[source]


def _read(graph: Graph) -> Iterator[tuple[GraphNode, int, GraphValue]]:
    """(node, index of its input, the constant that it reads there, made or stored)."""
    for node in (inner for outer in graph.nodes for inner in (outer, *outer.fused)):
        found = find(node.op)
        for index, name in enumerate(node.inputs):
            steers = found is not None and index in found.steers
            if name and not steers and graph.values[name].constant:
                yield node, index, graph.values[name]


def _may_be_drawn(value: GraphValue) -> bool:
    return "float" in value.dtype and (value.elements > 1 or value.data is None)


def _draw(graph: Graph, node: GraphNode, index: int, value: GraphValue, seed: int) -> Array:
    """Contents of the constant ``value``, which ``node`` reads as input ``index``."""
    random = _random(seed, value.name)
    affine, found = affine_of(graph, node), find(node.op)
    if (found is not None and index in found.positive) or (affine is not None and affine.scale and not affine.shift):
        return random.uniform(LOW, HIGH, value.shape).astype(np.float32)
    fan_in = _fan_in(graph, node, index, value)
    deviation = (2 / fan_in) ** 0.5 if fan_in else BIAS_DEVIATION
    return (random.standard_normal(value.shape) * deviation).astype(np.float32)


def _fan_in(graph: Graph, node: GraphNode, index: int, value: GraphValue) -> int:
    """Products that add up to one output where ``value`` are the weights; 0 where they are not."""
    found = find(node.op)
    if index > 1 or len(value.shape) < 2 or found is None or found.channel is None or found.affine is not None:
        return 0
    axis = found.channel(node, graph)
    columns = graph.shape(node.outputs[0])[axis] if axis is not None else value.shape[-1]
    return max(1, value.elements // max(1, columns))


def _random(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])
