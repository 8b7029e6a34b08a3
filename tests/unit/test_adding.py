"""Adding up partial sums of several cores: the ways, what they cost, where they pay, and files that state a spread."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2, prod
from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.ir.workload import Workload
from archsim.lab.run import mapping_file
from archsim.lab.run.job import Job, build, load_chip
from archsim.lab.run.offchip import outer_rates
from archsim.lab.what_if.explain import explained
from archsim.report.run import explanation
from archsim.spec.architecture import Architecture
from archsim.spec.memories import PortSet
from archsim.system import simulate
from mapper.analytic.expected_actions import expected_counts
from mapper.compile import Compiled, Options, compile_model
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Flow
from mapper.cost.network_bounds import link_rate
from mapper.cost.partial_sums import WAYS, adding, chosen_way, ways
from mapper.given.priced import price
from mapper.layers import Layers
from mapper.lower.frame import Frame
from mapper.options import Given, resolve_dtypes
from mapper.problem.core_partition import cuttable, spread_of
from mapper.problem.operands import ACC, OUT
from mapper.problem.problem import Problem
from mapper.search.promising_spreads import spreads
from tests.laws.many_cores import CHIP, grid
from tests.tools.agreement import assert_agreement
from tests.tools.layers import Net
from tests.tools.reductions import stated

DIRECTIONS = ("read", "write")


def product(m: int, n: int, k: int) -> tuple[Net, Workload]:
    net = Net(np.random.default_rng(1))
    return net, net.done(net.gemm("y", m, n, k))


def problem_of(workload: Workload, chip: Architecture) -> tuple[Problem, Layers]:
    layers = Layers(workload, chip, resolve_dtypes(chip, {}), Options())
    return layers.problem(0, layers.residency(frozenset()), "array"), layers


def part_of(k_parts: int, m: int = 8, n: int = 16, k: int = 64) -> tuple[Problem, ChipCosts]:
    """One core's part of a product of which the reduction is cut, on a grid of four cores."""
    chip = grid(CHIP.replace("  - sram: {name: l1", "  - dma: {setup: 10 cycles}\n  - sram: {name: l1"))
    problem, layers = problem_of(product(m, n, k)[1], chip)
    return problem.of_core(spread_of(problem, chip, [("k", -(-k // k_parts))])), layers.chip


@pytest.mark.parametrize("cores", range(2, 20))
def test_fetches_and_copies_of_each_way(cores: int) -> None:
    straight, tree, chain = ways(cores)
    assert (straight.name, tree.name, chain.name) == WAYS
    assert (straight.fetches, straight.copies, straight.ahead) == (cores - 1, 1, 0)
    assert tree.fetches + tree.ahead == ceil(log2(cores))
    assert (chain.fetches, chain.copies, chain.ahead) == (1, cores - 1, cores - 2)


def test_who_is_part_of_what() -> None:
    part, _ = part_of(4)
    assert part.adders == 4 and part.copies(part.operand(ACC)) == 4 and part.copies(part.operand(OUT)) == 1
    assert part.having(part.operand(OUT)) == 1 and part.having(part.operand("a")) == 4
    assert part.times(part.operand(ACC), "l1") == 2
    whole, _ = problem_of(product(8, 16, 64)[1], grid())
    assert (whole.adders, whole.having(whole.operand(OUT)), whole.times(whole.operand(ACC), "l1")) == (1, 1, 1)


def test_cycles_of_copies_and_fetches() -> None:
    """Descriptors, bytes at the ports' rate, bytes at the rate of a core's link; the chain's first tile comes later."""
    part, chip = part_of(4)
    assert chip.architecture.noc is not None
    tiles, size, tile = 5, 8 * 16 * 4, 2 * 16 * 4
    flow = Flow(*(np.array(float(value)) for value in (size // 4, size // 4, tile // 4, tiles, 0, 0)))
    rate = min(chip.read_rate("l1"), link_rate(chip, chip.architecture.noc))
    found = adding(part, chip, flow)
    way = ways(4)[int(found.way)]
    copy = size / chip.read_rate("l1") + tiles * 10
    fetch = size / rate + tiles * 10
    assert float(found.engine) == pytest.approx(copy + way.fetches * fetch)
    assert float(found.ahead) == pytest.approx(way.ahead * (tile / rate + 10))
    assert (float(found.copied), float(found.fetched), found.last) == (size, way.fetches * size, 10)


def test_a_tree_for_one_tile_and_a_chain_for_many() -> None:
    part, chip = part_of(4)
    assert chosen_way(part, chip, 1, 128, 128) == "reduce_tree"
    assert chosen_way(part, chip, 64, 64 * 128, 128) == "reduce_chain"
    two, chip = part_of(2)
    assert {chosen_way(two, chip, tiles, 128 * tiles, 128) for tiles in (1, 64)} == {"reduce"}


@pytest.mark.parametrize("tile", [1, 2, 8])
def test_the_cost_model_and_the_program_choose_alike(tile: int) -> None:
    """Also by a mapping that is stated with its loops on the network, and nothing but moves adds up."""
    net, workload = product(8, 16, 61)
    chip = grid()
    best = stated(workload, chip, "gemm_y", (("k", 16),))
    timed = (Loop("m", tile),) * (tile < 8)
    nodes = (Loop("k", 16, "mesh"), *timed, *(Keep(o, "l2", 1, 0) for o in ("a", "b")))
    nodes = tuple(_at(node, index) for index, node in enumerate((*nodes, *_below())))
    mapping = LayerMapping("gemm_y", "mxu", "matmul", nodes, (), 0, 1, 1, "")
    compiled = compile_model(workload, chip, Options(given=Given(layers={"gemm_y": mapping})))
    (frame,) = compiled.frames
    assert frame is not None and frame.problem.adders == 4
    assert price(frame.problem, mapping, ChipCosts(chip, {}, {}), resolve_dtypes(chip, {})).ways == [frame.way]
    assert best.nodes[0] == nodes[0]
    assert_agreement(net, workload, chip, compiled, 3)


def _below() -> tuple[Keep, ...]:
    return (
        *(Keep(o, "l1", 2, 0) for o in ("a", "b")),
        Keep(OUT, "l2", 1, 0),
        Keep(OUT, "l1", 2, 0),
        Keep(ACC, "l1", 2, 0),
    )


def _at(node: Keep | Loop, index: int) -> Keep | Loop:
    return Keep(node.operand, node.level, node.slots, index) if isinstance(node, Keep) else node


def scores(k: int) -> tuple[Architecture, Workload, Options]:
    """Two scores of a sample on mtia_v2i with rates for DRAM and network."""
    chip = load_chip(Job("", "mtia_v2i", fidelity="exact"))
    return chip, product(1, 2, k)[1], Options(outer=outer_rates(chip))


def cycles(compiled: Compiled, chip: Architecture) -> int:
    return simulate(compiled.program, chip).total_ps * chip.clock_hz // 10**12


def test_scores_of_batch_1_are_faster_over_several_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sums of 65,536 products: with nothing else to spread, two of 64 cores would work."""
    chip, workload, options = scores(65536)
    spread = compile_model(workload, chip, options)
    (frame,) = spread.frames
    assert frame is not None and frame.problem.adders > 1 and frame.way == "reduce_tree"
    monkeypatch.setattr("mapper.problem.core_partition._reaches_sums", lambda *_: False)
    alone = compile_model(workload, chip, options)
    assert alone.frames[0] is not None and alone.frames[0].problem.adders == 1
    assert 10 * cycles(spread, chip) < 9 * cycles(alone, chip)  # 3,128 to 4,124


def test_what_memory_limits_has_no_spread_reduction() -> None:
    """Every byte comes from DRAM once, however a layer is spread: nothing is gained, and nothing looked at."""
    chip, _, options = scores(8)
    workload = product(1, 1000, 2048)[1]
    layers = Layers(workload, chip, resolve_dtypes(chip, {}), options)
    problem = layers.problem(0, layers.residency(frozenset()), "array")
    assert all(problem.of_core(spread).adders == 1 for spread in spreads(problem, layers.chip, layers.dtypes))


def test_accumulators_that_no_move_reaches() -> None:
    chip = grid()
    problem, _ = problem_of(product(8, 16, 64)[1], chip)
    assert cuttable(problem, chip) == ["m", "n", "k"]
    ports = {"array": PortSet(1, 1), "vector": PortSet(1, 1)}
    memories = tuple(
        replace(memory, ports=PortSet(0, 0), private_ports=ports) if memory.name == "l1" else memory
        for memory in chip.memories
    )
    assert cuttable(problem, replace(chip, memories=memories)) == ["m", "n"]


def test_files_state_reductions_on_the_network(tmp_path: Path) -> None:
    """A file that was exported gives the same Program; what cannot be spread is refused with what can."""
    chip, workload, _ = scores(65536)
    built = build(Job(workload, chip))
    assert built.mapping is not None
    assert any(
        isinstance(node, Loop) and (node.dim, node.axis) == ("k", "mesh") for node in built.mapping.layers[0].nodes
    )
    for name in ("m.yaml", "m.txt"):
        mapping_file.write(built.mapping, workload, tmp_path / name)
        assert build(Job(workload, chip, mapping=tmp_path / name)).program == built.program
    conv = Net(np.random.default_rng(1))
    taps = conv.done(conv.conv(conv.source("x", (1, 5, 5, 4)), "y", 8, 3, 1, (0, 0, 0, 0)))
    wrong = LayerMapping("conv_y", "mxu", "matmul", (Loop("r", 1, "mesh"),), (), 0, 1, 1, "")
    with pytest.raises(MappingError, match="dim 'r' spread over cores; allowed p, q, k, c"):
        compile_model(taps, grid(), Options(given=Given(layers={"conv_y": wrong})))


@pytest.mark.slow
def test_the_explanation_names_the_collective() -> None:
    chip, workload, _ = scores(65536)
    told = explained(Job(workload, chip), "gemm_y").to_json()
    found = told["chosen"]["adding"]
    assert found["collective"] == "reduce_tree" and found["cores"] > 1
    text = explanation.to_table(told)
    assert " over mesh " in text and f"; partial sums of {found['cores']} cores added by reduce_tree" in text
    assert "adding engine" in text


@pytest.mark.parametrize("way", ["", *WAYS])
def test_energy_is_that_of_all_accesses(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search's energy of memories is the bytes that the Program moves, of every core, times those of a byte."""
    monkeypatch.setattr("mapper.lower.partials.chosen_way", lambda *_: way)
    number = WAYS.index(way or WAYS[0])
    monkeypatch.setattr(
        "mapper.cost.partial_sums._chosen", lambda problem, chip, flow: np.full(np.shape(flow.moves), number)
    )
    chip = replace(grid(), memories=tuple(replace(m, energy_pj={}) for m in grid().memories))
    net = Net(np.random.default_rng(1))
    workload = net.done(net.conv(net.source("x", (1, 4, 4, 32)), "y", 8, 1, 1, (0, 0, 0, 0)))
    loops = (("k", 4), ("c", 16)) if way else (("p", 2), ("q", 2))
    mapping = stated(workload, chip, "conv_y", loops)
    compiled = compile_model(workload, chip, Options(given=Given(layers={"conv_y": mapping})))
    (frame,) = compiled.frames
    assert frame is not None and frame.way == way
    per_byte = {(m.name, d): float(3 + 7 * i + (d == "read")) for i, m in enumerate(chip.memories) for d in DIRECTIONS}
    costs = price(frame.problem, mapping, ChipCosts(chip, {}, per_byte), resolve_dtypes(chip, {}))
    counts = expected_counts(frame, chip, resolve_dtypes(chip, {}))
    bias = workload.tensors["y.b"].elements * 4  # read by the array with its first tile, which the search leaves out
    moved = {key: counts[key[0], f"{key[1]}_bytes"] for key in per_byte}
    total = sum(size * per_byte[key] for key, size in moved.items()) - _by_array(frame, bias) * per_byte["l1", "read"]
    assert float(costs.energy_pj[0]) == pytest.approx(total)


def _by_array(frame: Frame, bias: int) -> int:
    """Bytes of the bias that the arrays read: once for each tile of rows and columns that starts from it."""
    return bias * prod(frame.trips(at) for at, loop in enumerate(frame.loops) if loop.dim in ("p", "q"))
