"""Laws of traffic of single LoopTrees: windows, partial sums, inexact tiles; formulas are written out here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.conventions import ACCELFORGE, ARCHSIM
from mapper.looptree.cost import Cost, evaluate
from mapper.looptree.einsum import Einsum, convolution, gemm
from mapper.looptree.hierarchy import COMPUTE, READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.nest import Nest

ALL = frozenset("IWO")
ONE = replace(ARCHSIM, slots=1)
RANDOM = settings(max_examples=60, deadline=None, derandomize=True)


def chip(*parts: str, bits: int = 8) -> Hierarchy:
    """Memories and fan-outs ('lanes') of unit rates; an action is one bit, an output value has ``bits``."""
    actions = {name: Action(1.0, 1.0, 1) for name in (READ, WRITE)}
    made: list[Memory | Axis] = []
    for name in parts:
        memory = Memory(name, None, frozenset(), ALL, actions, bits={"O": bits})
        made.append(Axis(name, 1 << 20, ALL) if name == "lanes" else memory)
    return Hierarchy("laws", tuple(made), Compute("MAC", Action(1.0, 1.0, 0)))


def cost(einsum: Einsum, hierarchy: Hierarchy, nodes: list[MapNode]) -> Cost:
    """Of the nodes below whole operands in the first memory, with loops to single values below them."""
    tops = [Keep(name, hierarchy.memories[0].name, 1, at) for at, name in enumerate("IWO")]
    shifted = [replace(n, reserve_at=n.reserve_at + 3) if isinstance(n, Keep) else n for n in nodes]
    return evaluate(Nest(einsum, (*tops, *shifted, *(Loop(dim, 1) for dim in einsum.extents))), hierarchy, ONE)


def pieces(extent: int, tile: int) -> list[int]:
    """Extents of the tiles that cut an extent."""
    return [min(tile, extent - start) for start in range(0, extent, tile)]


def rows(outputs: int, kernel: int, stride: int, dilation: int) -> int:
    """Input rows that a run of output rows touches, each counted once."""
    return len({p * stride + r * dilation for p in range(outputs) for r in range(kernel)})


def fetched_bits(einsum: Einsum, tile_p: int, tile_q: int, *, kept: bool) -> tuple[float, int]:
    """Of the input from the outer memory, in column strips of row tiles, and what the buffer holds."""
    keep = Keep("I", "Buffer", 1, 2)
    column, row = Loop("q", tile_q), Loop("p", tile_p)
    nodes: list[MapNode] = [column, replace(keep, reserve_at=3), row] if kept else [column, row, keep]
    found = cost(einsum, chip("Main", "Buffer"), nodes)
    assert found.actions["Buffer", "I", WRITE] == found.actions["Main", "I", READ]
    return found.actions["Main", "I", READ], found.held_bits["Buffer"]


@pytest.mark.parametrize(("kept", "bits"), [(True, 1_781_760), (False, 2_150_400)])
def test_law_14_the_example(kept: bool, bits: int) -> None:
    """Law 14: 58x58x64 input, 3x3 kernel, 8-row tiles in two strips, 8 bits; either way the buffer holds one tile."""
    einsum = convolution({"n": 1, "m": 2, "c": 64, "p": 56, "q": 56, "r": 3, "s": 3})
    assert fetched_bits(einsum, 8, 28, kept=kept) == (bits, 10 * 30 * 64 * 8)


@RANDOM
@given(
    st.tuples(*[st.integers(1, 12)] * 2),
    st.tuples(*[st.integers(1, 4)] * 2),
    st.tuples(*[st.integers(1, 3)] * 4),
    st.data(),
)
def test_law_14_halo(
    outputs: tuple[int, int], kernel: tuple[int, int], rest: tuple[int, ...], data: st.DataObject
) -> None:
    """Law 14: refetched: touched rows x columns of every tile; kept: touched rows of every strip once. Strides beyond
    the kernel, dilation and batches included."""
    (p, q), (r, s), (stride, dilation, c, n) = outputs, kernel, rest
    einsum = convolution({"n": n, "m": 1, "c": c, "p": p, "q": q, "r": r, "s": s}, stride, dilation)
    tile_p, tile_q = data.draw(st.integers(1, p)), data.draw(st.integers(1, q))
    columns = sum(rows(t, s, stride, dilation) for t in pieces(q, tile_q))
    again, held = fetched_bits(einsum, tile_p, tile_q, kept=False)
    assert again == 8 * n * c * columns * sum(rows(t, r, stride, dilation) for t in pieces(p, tile_p))
    once, held_of_window = fetched_bits(einsum, tile_p, tile_q, kept=True)
    assert once == 8 * n * c * columns * rows(p, r, stride, dilation)
    assert held == held_of_window == 8 * n * c * rows(tile_p, r, stride, dilation) * rows(tile_q, s, stride, dilation)
    assert once <= again


@RANDOM
@given(st.integers(2, 6), st.integers(1, 9), st.integers(1, 5), st.integers(9, 33), st.data())
def test_law_15_partial_sums_leave(m: int, k: int, n: int, bits: int, data: st.DataObject) -> None:
    """Law 15: K cut k_o times above the level that keeps outputs: k_o |O| writes above it, the last of them final, and
    (k_o-1) |O| partial sums read again, at the width that values of the output have in the memory."""
    tile_k, tile_m = data.draw(st.integers(1, k)), data.draw(st.integers(1, m - 1))
    nodes: list[MapNode] = [Loop("k", tile_k), Loop("m", tile_m), Keep("O", "Buffer", 1, 2)]
    found = cost(gemm(m, k, n), chip("Main", "Buffer", bits=bits), nodes)
    k_o, outputs = len(pieces(k, tile_k)), m * n
    assert found.actions["Main", "O", WRITE] == k_o * outputs * bits
    assert found.actions["Main", "O", READ] == (k_o - 1) * outputs * bits


@RANDOM
@given(st.integers(2, 9), st.integers(1, 12), st.integers(1, 5), st.data())
def test_law_16_reads_drains_and_fills(m: int, k: int, n: int, data: st.DataObject) -> None:
    """Law 16: at two levels below the outermost: reads towards the MAC = updates - |O|, drains = k_o |O|, fills =
    (k_o-1) |O|, with inexact tiles of K and M."""
    outer_k, outer_m = data.draw(st.integers(1, k)), data.draw(st.integers(1, m))
    inner_k, inner_m = data.draw(st.integers(1, outer_k)), data.draw(st.integers(1, outer_m))
    assume(inner_m < outer_m < m)  # a loop that indexes the output lies below each loop of K
    nodes: list[MapNode] = [Loop("k", outer_k), Loop("m", outer_m), Keep("O", "Buffer", 1, 2)]
    nodes += [Loop("k", inner_k), Loop("m", inner_m), Keep("O", "Registers", 1, 5)]
    found = cost(gemm(m, k, n), chip("Main", "Buffer", "Registers", bits=1), nodes).actions
    outputs, k_outer = m * n, len(pieces(k, outer_k))
    k_inner = sum(len(pieces(tile, inner_k)) for tile in pieces(k, outer_k))
    updates = k_inner * outputs  # of the buffer, by drains of the registers
    assert found["Buffer", "O", READ] == (updates - outputs) + k_outer * outputs
    assert found["Buffer", "O", WRITE] == updates + (k_outer - 1) * outputs
    updates = m * k * n  # of the registers, by the MACs
    assert found["Registers", "O", READ] == (updates - outputs) + k_inner * outputs
    assert found["Registers", "O", WRITE] == updates + (k_inner - 1) * outputs


def test_law_17_the_example() -> None:
    """Law 17: 4096 in tiles of 187 takes 22 trips."""
    nest = Nest(gemm(1, 4096, 1), (Loop("k", 187, "lanes"), Loop("k", 1)))
    assert nest.trips(0) == 22
    assert nest.iterations("mkn", 2) == 4096


@RANDOM
@given(*[st.integers(1, 4096)] * 2, *[st.integers(1, 8)] * 2, st.data())
def test_law_17_inexact_tiles(k: int, tile: int, m: int, n: int, data: st.DataObject) -> None:
    """Law 17: MACs are exact; the busiest instance of a fan-out works a whole tile: ceil(K / instances) at best."""
    tile = min(tile, k)
    inner = data.draw(st.integers(1, tile))
    nodes: list[MapNode] = [Loop("k", tile, "lanes"), Loop("k", inner)]
    found = cost(gemm(m, k, n), chip("Main", "lanes"), nodes)
    instances = -(-k // tile)
    assert found.actions["MAC", "", COMPUTE] == m * k * n
    assert found.instances["MAC"] == instances
    assert found.latency_of_s["MAC"] == m * tile * n
    assert tile >= -(-k // instances)
    even = evaluate(
        Nest(gemm(m, k, n), (*(Keep(o, "Main", 1, at) for at, o in enumerate("IWO")), *nodes, *_ones())),
        chip("Main", "lanes"),
        ACCELFORGE,
    )
    assert even.latency_of_s["MAC"] == pytest.approx(m * k * n / instances, rel=1e-12)


def _ones() -> tuple[Loop, ...]:
    return tuple(Loop(dim, 1) for dim in "mkn")
