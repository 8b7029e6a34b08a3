"""Tables of a rotary embedding that say everything twice are read by half; others are read as they are."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.graph.passes.manager import PassOptions, passed
from archsim.ir.graph import Graph, ValueFormat
from tests.tools.graphs import Writer

HEADS, ROWS, WIDTH = 3, 5, 8
Table = Callable[[Writer, str, str], str]


def doubled(to: Writer, angles: str, function: str) -> str:
    """cos(concat(f, f)) for each row and head, as exporters have it."""
    wide = to.add("Concat", angles, angles, axis=-1)
    scaled = to.add("Mul", to.add(function, wide), to.number(0.5))
    return to.add("Unsqueeze", scaled, to.ints(1))


def two_halves(to: Writer, angles: str, function: str) -> str:
    """Halves of other numbers each."""
    other = to.add("Exp", angles)
    return to.add("Unsqueeze", to.add(function, to.add("Concat", angles, other, axis=-1)), to.ints(1))


def by_element(to: Writer, angles: str, function: str) -> str:
    """Equal halves, each element of which is scaled by another number."""
    wide = to.add("Concat", angles, angles, axis=-1)
    return to.add("Unsqueeze", to.add("Mul", to.add(function, wide), to.weight((WIDTH,))), to.ints(1))


def written(table: Table, known: bool) -> Graph:
    """Two rotations by the same tables, made beforehand or in the run."""
    to = Writer(random.Random(0))
    x = to.source("x", (1, HEADS, ROWS, WIDTH))
    angles = to.weight((1, ROWS, WIDTH // 2)) if known else to.source("angles", (1, ROWS, WIDTH // 2))
    cos, sin = table(to, angles, "Cos"), table(to, angles, "Sin")
    first = to.add("RotaryEmbedding", x, cos, sin)
    to.add("RotaryEmbedding", to.add("Exp", first), cos, sin)
    return to.graph()


def numbers(graph: Graph) -> np.ndarray:
    """The output of a graph, in real numbers, of drawn inputs and weights."""
    found = reference.real(graph, Constants(graph, {}, 0, {}), inputs_of(graph, 0, {}))
    return np.asarray(found[graph.outputs[0]])


def tables(graph: Graph) -> list[tuple[str, ...]]:
    """The tables that each rotation reads."""
    return [node.inputs[1:] for node in graph.nodes if node.op == "RotaryEmbedding"]


@pytest.mark.parametrize("known", [False, True])
def test_one_half_of_doubled_tables_is_read(known: bool) -> None:
    graph = written(doubled, known)
    found = passed(graph, PassOptions())
    first, second = tables(found.canonical)
    assert first == second  # one half for both
    assert [found.canonical.shape(name) for name in first] == [(1, 1, ROWS, WIDTH // 2)] * 2
    assert np.allclose(numbers(found.canonical), numbers(found.inferred), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("table", [two_halves, by_element])
def test_halves_that_differ_are_both_read(table: Table) -> None:
    found = passed(written(table, known=True), PassOptions())
    assert tables(found.canonical) == tables(found.inferred)


def test_tables_joined_along_another_axis_are_left_as_they_are() -> None:
    to = Writer(random.Random(0))
    x, angles = to.source("x", (1, 1, 2, 4)), to.weight((1, 1, 1, 4))
    wide = to.add("Concat", angles, angles, axis=2)
    to.add("RotaryEmbedding", x, to.add("Cos", wide), to.add("Sin", wide))
    found = passed(to.graph(), PassOptions())
    assert tables(found.canonical) == tables(found.inferred)


def test_pairs_of_neighbours_read_whole_tables() -> None:
    """Interleaved rotations have another number for each pair of neighbours."""
    graph = written(doubled, known=True)
    turned = [
        replace(node, attributes={"interleaved": 1}) if node.op == "RotaryEmbedding" else node for node in graph.nodes
    ]
    found = passed(replace(graph, nodes=tuple(turned)), PassOptions())
    assert tables(found.canonical) == tables(found.inferred)


def test_tables_whose_elements_the_file_states_are_left_as_they_are() -> None:
    graph = written(doubled, known=False)
    made = [node.outputs[0] for node in graph.nodes if node.op in ("Cos", "Sin")]
    stated = replace(graph, formats={name: ValueFormat(0.1, 0, "int8") for name in made})
    found = passed(stated, PassOptions())
    assert tables(found.canonical) == tables(found.inferred)
