"""Traffic laws: what a mapping moves, as the machine counts it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.ir.activity import Activity
from archsim.ir.mapping import Constraint, Keep, LayerMapping, Loop, MapNode
from archsim.ir.unroll import unroll
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.cost.chip_rates import ChipCosts
from mapper.options import Given
from mapper.problem.problem import build
from mapper.search.exhaustive import search
from tests.tools.layers import Net, random_net, small_chip

LAWS = settings(max_examples=30, deadline=None, derandomize=True)
BIG = small_chip(1 << 20, 1 << 18)


def conv(
    height: int, width: int, depth: int, channels: int, kernel: int, stride: int, pads: int, groups: int = 1
) -> Workload:
    net = Net(np.random.default_rng(0))
    net.source("x", (1, height, width, depth))
    net.conv("x", "y", channels, kernel, stride, (pads,) * 4, groups=groups)
    return net.done("y")


def gemm(m: int, n: int, k: int) -> Workload:
    net = Net(np.random.default_rng(0))
    net.gemm("y", m, n, k)
    return net.done("y")


def run(workload: Workload, chip: Architecture, options: Options | None = None) -> tuple[Compiled, Activity]:
    compiled = compile_model(workload, chip, options)
    return compiled, simulate(compiled.program, chip)


def count(activity: Activity, part: str, action: str) -> int:
    return sum(n for (_, where, what), n in activity.counts.items() if (where, what) == (part, action))


def tree(nodes: tuple[MapNode, ...], layer: str = "conv_y") -> LayerMapping:
    return LayerMapping(layer, "mxu", "matmul", nodes, (), 0, 1, 1, "given")


@LAWS
@given(
    st.integers(5, 14),
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from([1, 2, 3]),
    st.integers(1, 2),
    st.integers(0, 1),
)
def test_law_11_untiled_conv_reads_each_touched_byte_once(
    size: int, depth: int, channels: int, kernel: int, stride: int, pads: int
) -> None:
    """Law 11: an untiled conv reads each touched in-bounds byte once from DRAM, never x FH*FW."""
    workload = conv(size, size, depth, channels, kernel, stride, pads)
    _, activity = run(workload, BIG)
    out = workload.layers[0].dims["p"]
    rows = {p * stride + r - pads for p in range(out) for r in range(kernel)}
    touched = len([row for row in rows if 0 <= row < size])
    weights = kernel * kernel * depth * channels + 4 * channels
    assert count(activity, "dram", "read_bytes") == touched * touched * depth + weights


def test_law_12_strided_pointwise_conv_moves_a_quarter() -> None:
    """Law 12: a 1x1 conv with stride 2 moves a quarter of its input."""
    _, activity = run(conv(16, 16, 8, 4, 1, 2, 0), BIG)
    assert count(activity, "dram", "read_bytes") == 16 * 16 * 8 // 4 + 8 * 4 + 4 * 4


def test_law_13_padding_moves_nothing_but_counts_macs() -> None:
    """Law 13: source traffic is independent of padding; MACs count pads."""
    plain, padded = conv(8, 8, 3, 4, 3, 1, 0), conv(8, 8, 3, 4, 3, 1, 1)
    reads = [count(run(workload, BIG)[1], "dram", "read_bytes") for workload in (plain, padded)]
    assert reads[0] == reads[1]
    assert padded.macs == 1 * 8 * 8 * 4 * 3 * 9
    assert count(run(padded, BIG)[1], "mxu", "mac") == padded.macs


@pytest.mark.parametrize(("kept", "bits"), [(True, 1_781_760), (False, 2_150_400)])
def test_law_14_halo(kept: bool, bits: int) -> None:
    """Law 14: 58x58x64 input, 3x3, 8-row tiles in two strips: rows once per strip when the halo is kept."""
    workload = conv(58, 58, 64, 8, 3, 1, 0)
    rows, at = Loop("p", 8), Keep("a", "l1", 2, 5)
    middle: tuple[MapNode, ...] = (at, rows) if kept else (rows, Keep("a", "l1", 2, 4))
    nodes = (
        Keep("b", "l1", 1, 0), Keep("bias", "l1", 1, 1), Loop("q", 28), *middle,
        Keep("out", "l1", 2, 5), Keep("acc", "acc", 2, 6),
    )  # fmt: skip
    _, activity = run(workload, BIG, Options(given=Given(layers={"conv_y": tree(nodes)})))
    weights = 9 * 64 * 8 + 4 * 8
    assert (count(activity, "dram", "read_bytes") - weights) * 8 == bits


@pytest.mark.parametrize("pieces", [1, 2, 3, 5])
def test_law_15_partial_sums_of_a_cut_reduction(pieces: int) -> None:
    """Law 15: K cut k_o times above the PEs that keep outputs: (k_o-1)|O| partials back at accumulate width.

    The accumulators take k_o|O| writes, give (k_o-1)|O| to the array and |O| to the drain; |O| leaves at output width.
    """
    nodes = (
        Keep("out", "l1", 1, 0), Keep("acc", "acc", 1, 1), Loop("k", 8), Keep("a", "l1", 2, 3), Keep("b", "l1", 2, 4),
    )  # fmt: skip
    chip = small_chip(1 << 14, 1 << 12, dataflow="output_stationary")
    _, activity = run(gemm(6, 5, 8 * pieces), chip, Options(given=Given(layers={"gemm_y": tree(nodes, "gemm_y")})))
    outputs = 6 * 5
    assert count(activity, "acc", "write_bytes") == 4 * outputs * pieces
    assert count(activity, "acc", "read_bytes") == 4 * outputs * (pieces - 1) + 4 * outputs
    assert count(activity, "dram", "write_bytes") == outputs


@LAWS
@given(st.integers(1, 40), st.integers(1, 20), st.integers(1, 40))
def test_law_16_accumulator_balance(m: int, n: int, k: int) -> None:
    """Law 16, one reduction above: array reads = updates - |O|, drains = |O|, so reads = writes."""
    on_array = Options(given=Given(constraints=(Constraint("*", units=("mxu",)),)))
    _, activity = run(gemm(m, n, k), small_chip(1 << 12, 1 << 10), on_array)
    folds = ceil(k / 4)
    assert count(activity, "acc", "write_bytes") >= 4 * m * n * folds
    assert count(activity, "acc", "read_bytes") == count(activity, "acc", "write_bytes")


def test_law_17_imperfect_tiles() -> None:
    """Law 17: 4096 rows in tiles of 187 make 22 trips; MACs are exact."""
    nodes = (
        Keep("b", "l1", 1, 0),
        Loop("m", 187),
        Keep("a", "l1", 2, 2),
        Keep("out", "l1", 2, 3),
        Keep("acc", "acc", 2, 4),
    )
    compiled, activity = run(gemm(4096, 4, 8), BIG, Options(given=Given(layers={"gemm_y": tree(nodes, "gemm_y")})))
    array = next(queue for queue in compiled.program.queues if queue.engine == "array")
    assert sum(step.command.op == "MATMUL" for step in unroll(array)) == 22
    assert count(activity, "mxu", "mac") == 4096 * 4 * 8


def test_law_18_depthwise() -> None:
    """Law 18: depthwise MACs are C*OH*OW*9; the mapper takes the better of array and vector unit."""
    workload = conv(12, 12, 16, 16, 3, 1, 1, groups=16)
    assert workload.macs == 16 * 12 * 12 * 9
    compiled, activity = run(workload, BIG)
    chosen = compiled.mapping.layers[0]
    bounds = {}
    for unit, chip in (
        ("mxu", replace(BIG, vectors=(replace(BIG.vectors[0], lanes={"int8": 1}),))),
        ("vpu", replace(BIG, arrays=())),
    ):
        bounds[unit] = compile_model(workload, chip).mapping.layers[0].bound_cycles
    assert chosen.bound_cycles <= min(bounds.values())
    done = count(activity, "mxu", "mac") if chosen.unit == "mxu" else count(activity, "vpu", "lane_ops") - 16 * 12 * 12
    assert done == workload.macs


@LAWS
@given(st.integers(1, 300), st.integers(1, 200), st.sampled_from([1, 2, 8]))
def test_law_19_gemv_is_bound_by_its_weights(n: int, k: int, rate: int) -> None:
    """Law 19: a GEMV takes at least weight bytes / peak bandwidth."""
    chip = small_chip(1 << 14, 1 << 12, dram_rate=Fraction(rate))
    _, activity = run(gemm(1, n, k), chip)
    assert activity.total_ps * rate >= n * k * 1000


@pytest.mark.parametrize("seed", range(25))
def test_law_39_never_more_than_peak(seed: int) -> None:
    """Law 39: cycles x peak >= MACs."""
    _, workload = random_net(seed)
    _, activity = run(workload, BIG)
    macs = count(activity, "mxu", "mac")
    assert activity.total_ps * BIG.peak_macs_per_cycle >= macs * 1000


@pytest.mark.parametrize("seed", range(25))
def test_law_45_no_operator_is_free(seed: int) -> None:
    """Law 45: every layer takes cycles and moves bytes."""
    _, workload = random_net(seed)
    _, activity = run(workload, BIG)
    for layer in workload.layers:
        records = [r for unit in activity.records.values() for r in unit if r.layer == layer.name]
        assert sum(r.end_ps - r.start_ps for r in records) > 0
        assert (
            sum(n for (name, _, action), n in activity.counts.items() if name == layer.name and "bytes" in action) > 0
        )


FIXED_PJ = {
    ("dram", "read"): 40.0,
    ("dram", "write"): 40.0,
    ("l1", "read"): 1.0,
    ("l1", "write"): 2.0,
    ("acc", "read"): 1.0,
}


@pytest.mark.parametrize("seed", range(25))
def test_law_47_more_capacity_is_never_worse(seed: int) -> None:
    """Law 47: the smaller chip's mapping is among the larger chip's candidates: latency and energy do not rise."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 6 + seed % 9, 8, 1 + seed % 11))
    net.conv(x, "y", 4 + seed % 13, 1 + seed % 3, 1 + seed % 2, (seed % 2, 0, 1, 0))
    workload = net.done("y")
    cycles, energies = [], []
    for size in (1 << 11, 1 << 12, 3 << 11, 1 << 13, 1 << 14):
        chip = small_chip(size, 1 << 11)
        capacity = {memory.name: memory.capacity_bytes for memory in chip.memories}
        problem = build(workload.layers[0], workload, chip, chip.dtypes, capacity, {}, "array")
        costs = ChipCosts(chip, {}, FIXED_PJ)
        cycles.append(search(problem, costs, chip.dtypes, "latency").mapping.expected_cycles)
        energies.append(search(problem, costs, chip.dtypes, "energy").energy_pj)
    assert cycles == sorted(cycles, reverse=True)
    assert energies == sorted(energies, reverse=True)


@pytest.mark.parametrize("seed", range(20))
def test_law_46_more_bandwidth_is_never_slower(seed: int) -> None:
    """Law 46: the same Program on more DRAM bandwidth and wider ports never takes longer."""
    _, workload = random_net(seed)
    slow = small_chip(1 << 14, 1 << 12, dram_rate=Fraction(2), banks=1 << 10)
    program = compile_model(workload, slow).program
    times = []
    for rate in (Fraction(2), Fraction(3), Fraction(4), None):
        memories = tuple(replace(m, bytes_per_cycle=rate) if m.kind == "dram" else m for m in slow.memories)
        times.append(simulate(program, replace(slow, memories=memories)).total_ps)
    assert times == sorted(times, reverse=True)
