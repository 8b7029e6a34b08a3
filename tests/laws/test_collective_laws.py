"""Laws of collectives: bytes of each node, and the numbers that come out."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.errors import ConfigError
from archsim.ops.collectives import COLLECTIVES, Hop, expand, pieces

sizes = st.tuples(st.integers(1, 12), st.integers(0, 200))


def carried_out(hops: list[Hop], buffers: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Step by step: what a step sends is what its sources have before it."""
    for step in sorted({hop.step for hop in hops}):
        sent = [(hop, buffers[hop.source][hop.start : hop.stop].copy()) for hop in hops if hop.step == step]
        for hop, values in sent:
            for target in hop.targets:
                place = buffers[target][hop.start : hop.stop]
                place[:] = {"": values, "add": place + values, "max": np.maximum(place, values)}[hop.combine]
    return buffers


def start(count: int, elements: int) -> dict[int, np.ndarray]:
    generator = np.random.default_rng(count * 1000 + elements)
    return {10 * node: generator.integers(-99, 99, elements) for node in range(count)}


@given(sizes, st.sampled_from(["all_reduce", "all_reduce_tree"]), st.sampled_from(["add", "max"]))
def test_law_29_all_reduce_is_the_sum(size: tuple[int, int], name: str, combine: str) -> None:
    """Law 29: every node ends with NumPy's sum, or maximum, of all buffers."""
    buffers = start(*size)
    expected = (np.sum if combine == "add" else np.max)(list(buffers.values()), axis=0)
    found = carried_out(expand(name, [*buffers], size[1], combine=combine), buffers)
    assert all((values == expected).all() for values in found.values())


@given(sizes)
def test_law_29_bytes_of_a_ring(size: tuple[int, int]) -> None:
    """Law 29: of p nodes each sends and receives 2 (p - 1) / p of the buffer, to within a piece of rounding."""
    count, elements = size
    hops = expand("all_reduce", [*start(*size)], elements)
    sent, received = Counter(), Counter()
    for hop in hops:
        sent[hop.source] += hop.elements
        received[hop.targets[0]] += hop.elements
    exact = 2 * (count - 1) * elements / count
    for node in range(0, 10 * count, 10):
        assert abs(sent[node] - exact) < 2 and abs(received[node] - exact) < 2
    assert sum(sent.values()) == 2 * (count - 1) * elements
    assert len({hop.step for hop in hops}) <= 2 * (count - 1)


@given(sizes, st.data())
def test_law_29_the_other_collectives(size: tuple[int, int], data: st.DataObject) -> None:
    """Law 29: broadcasts, gathers and reductions leave what their names say where they say."""
    count, elements = size
    root = data.draw(st.integers(0, count - 1))
    nodes, cut = [10 * node for node in range(count)], pieces(elements, count)
    total = np.sum(list(start(*size).values()), axis=0)
    for name in ("broadcast", "broadcast_tree"):
        found = carried_out(expand(name, nodes, elements, root=root), start(*size))
        assert all((values == start(*size)[nodes[root]]).all() for values in found.values())
    reduced = carried_out(expand("reduce_tree", nodes, elements, root=root), start(*size))
    assert (reduced[nodes[root]] == total).all()
    scattered = carried_out(expand("reduce_scatter", nodes, elements), start(*size))
    assert all(
        (scattered[node][slice(*part)] == total[slice(*part)]).all() for node, part in zip(nodes, cut, strict=True)
    )
    own = np.concatenate([start(*size)[node][slice(*part)] for node, part in zip(nodes, cut, strict=True)])
    gathered = carried_out(expand("gather", nodes, elements, root=root), start(*size))
    assert (gathered[nodes[root]] == own).all()
    everywhere = carried_out(expand("all_gather", nodes, elements), start(*size))
    assert all((values == own).all() for values in everywhere.values())


@pytest.mark.parametrize("count", range(1, 18))
def test_law_29_steps_of_a_tree(count: int) -> None:
    """Law 29: a tree takes ceil(log2 p) steps, in which no node sends or receives twice."""
    hops = expand("broadcast_tree", list(range(count)), 5)
    assert len({hop.step for hop in hops}) == math.ceil(math.log2(count)) and len(hops) == count - 1
    busy = Counter((hop.step, node) for hop in hops for node in (hop.source, *hop.targets))
    assert set(busy.values()) <= {1}


def test_mistakes() -> None:
    for arguments, words in (
        (("all_reduse", [0, 1], 4), "did you mean 'all_reduce'"),
        (("all_reduce", [0, 0], 4), "allowed different nodes"),
        (("all_reduce", [], 4), "allowed different nodes"),
    ):
        with pytest.raises(ConfigError, match=words):
            expand(*arguments)
    with pytest.raises(ConfigError, match="root: found 2; allowed 0 to 1"):
        expand("gather", [0, 1], 4, root=2)
    assert all(expand(name, [3], 7) == [] for name in COLLECTIVES)
