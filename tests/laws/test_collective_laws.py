"""Laws of collectives: bytes of each node, and the numbers that come out."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.facts.collectives import COLLECTIVES, CollectiveHop, expand, pieces

sizes = st.tuples(st.integers(1, 12), st.integers(0, 200))


def carried_out(hops: list[CollectiveHop], buffers: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
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


@given(sizes, st.sampled_from(["all_reduce", "all_reduce_halving", "all_reduce_tree"]), st.sampled_from(["add", "max"]))
def test_law_29_all_reduce_is_the_sum(size: tuple[int, int], name: str, combine: str) -> None:
    """Law 29: every node ends with NumPy's sum, or maximum, of all buffers."""
    buffers = start(*size)
    expected = (np.sum if combine == "add" else np.max)(list(buffers.values()), axis=0)
    found = carried_out(expand(name, [*buffers], size[1], combine=combine), buffers)
    assert all((values == expected).all() for values in found.values())


RINGS = {"reduce_scatter": 1, "all_gather": 1, "all_reduce": 2}  # times round the ring
DOUBLINGS = {"reduce_scatter_halving": 1, "all_gather_doubling": 1, "all_reduce_halving": 2}  # times through all powers


@given(sizes, st.sampled_from([*RINGS, *DOUBLINGS]))
def test_law_29_bytes_of_rings_and_doublings(size: tuple[int, int], name: str) -> None:
    """Law 29: of p nodes each sends and receives (p - 1) / p of the buffer, twice that in an all-reduce, to within the
    rounding of a piece each time round, or of each piece; all of them exactly so much, and each where the buffer is cut
    evenly."""
    count, elements = size
    times = (RINGS | DOUBLINGS)[name]
    hops = expand(name, [*start(*size)], elements)
    sent, received = Counter(), Counter()
    for hop in hops:
        sent[hop.source] += hop.elements
        received[hop.targets[0]] += hop.elements
    exact = times * (count - 1) * elements / count
    rounded = times * (1 if name in RINGS else count - 1)
    bound = rounded if elements % count else 1e-9
    for node in range(0, 10 * count, 10):
        assert abs(sent[node] - exact) < bound and abs(received[node] - exact) < bound
    assert sum(sent.values()) == times * (count - 1) * elements


@pytest.mark.parametrize("count", range(1, 18))
def test_law_29_steps_of_rings_and_doublings(count: int) -> None:
    """Law 29: a ring takes p - 1 steps, doubling ceil(log2 p), an all-reduce twice as many; in a step each node sends
    to one node and receives from one; 1, 2, 4, ... pieces where the nodes are a power of two."""
    for names, steps in ((RINGS, count - 1), (DOUBLINGS, math.ceil(math.log2(count)))):
        for name, times in names.items():
            hops = expand(name, list(range(count)), 7 * count)
            assert len({hop.step for hop in hops}) == times * steps
            for step in range(times * steps):
                ways = {(hop.source, *hop.targets) for hop in hops if hop.step == step}
                assert len(ways) == len({way[0] for way in ways}) == len({way[1] for way in ways}) == count
    if count & (count - 1) == 0:
        gathered = expand("all_gather_doubling", list(range(count)), 7 * count)
        moved = {step: sum(hop.elements for hop in gathered if hop.step == step) for step in range(count)}
        assert [moved[step] for step in range(count.bit_length() - 1)] == [
            7 * count * 2**step for step in range(count.bit_length() - 1)
        ]


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
    for name in ("reduce_scatter", "reduce_scatter_halving"):
        scattered = carried_out(expand(name, nodes, elements), start(*size))
        assert all(
            (scattered[node][slice(*part)] == total[slice(*part)]).all() for node, part in zip(nodes, cut, strict=True)
        )
    own = np.concatenate([start(*size)[node][slice(*part)] for node, part in zip(nodes, cut, strict=True)])
    gathered = carried_out(expand("gather", nodes, elements, root=root), start(*size))
    assert (gathered[nodes[root]] == own).all()
    for name in ("all_gather", "all_gather_doubling"):
        everywhere = carried_out(expand(name, nodes, elements), start(*size))
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
