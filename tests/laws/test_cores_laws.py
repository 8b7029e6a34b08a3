"""Layers spread over the cores of a chip: random networks, chips, topologies and mappings."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.spec.architecture import Architecture
from archsim.spec.network import Noc
from archsim.system import simulate
from mapper.compile import Options, compile_model
from mapper.options import Given
from tests.tools.agreement import assert_agreement, assert_agreement_if_it_fits
from tests.tools.layers import PART, Net, random_net, small_chip
from tests.tools.reductions import with_reductions

ALL = ("inputs", "weights", "outputs")
STAGES = (
    (("l2", 1 << 13, ALL),),
    (),
    (("l2", 1 << 12, ("weights",)),),
    (("l2", 1 << 13, ("inputs", "outputs")),),
)
SHAPES = (("mesh", (2, 2)), ("ring", (3,)), ("mesh", (3, 2)), ("torus", (4, 2)), ("crossbar", (5,)), ("mesh", (1, 1)))


def networked(
    chip: Architecture, topology: str, shape: tuple[int, ...], inside: tuple[str, ...] = ("l1", "acc"), **fields: object
) -> Architecture:
    """The chip with the memories ``inside`` and its units once at each node of a network."""
    cores = int(np.prod(shape))
    own = {memory.name: replace(memory, copies=cores) for memory in chip.memories if memory.name in inside}
    corner = (0,) * len(shape) if topology != "crossbar" else (0,)
    above = {memory.name: (corner,) for memory in chip.memories if memory.name not in inside}
    made: dict[str, object] = {
        **{**PART, "clock_hz": chip.clock_hz},
        "name": "grid",
        "kind": "noc",
        "topology": topology,
        "shape": shape,
        "cores": cores,
        "link_bytes": 4,
        "attach": above,
        "inside": inside,
        "ports": ((5, 5),) * cores,
        "links": 4,
        "bisection_links": 2,
        "packet_bytes": 16,
        "message_bytes": 64,
        "fidelity": "link",
        **fields,
    }
    return replace(
        chip,
        noc=Noc(**made),
        memories=tuple(own.get(memory.name, memory) for memory in chip.memories),
        arrays=tuple(replace(array, copies=cores) for array in chip.arrays),
        vectors=tuple(replace(vector, copies=cores) for vector in chip.vectors),
        dma=replace(chip.dma, copies=cores),
    )


def chip_of(seed: int, rate: Fraction | None = Fraction(8)) -> Architecture:
    topology, shape = SHAPES[seed % len(SHAPES)]
    plain = small_chip(
        (1 << 11, 1 << 10, 1 << 12)[seed % 3],
        1 << 10,
        dram_rate=rate,
        stages=STAGES[seed // 3 % len(STAGES)],
        channels=1 + seed // 7 % 2,
    )
    return networked(plain, topology, shape, multicast=seed % 4 != 3, fidelity=("link", "flit")[seed // 5 % 2])


def options_of(seed: int) -> Options:
    """Searched mappings by turns with random ones."""
    return Options(objective=("latency", "energy", "edp")[seed % 3], random=f"{seed}" if seed % 2 else "")


@pytest.mark.parametrize("seed", range(80))
def test_law_38_counts_agree_over_several_cores(seed: int) -> None:
    """Law 38: the mapper's counts are the machine's, and the Program computes the model, however it is spread."""
    net, workload = random_net(seed)
    chip = chip_of(seed)
    assert_agreement_if_it_fits(net, workload, chip, lambda: options_of(seed), seed)


@pytest.mark.parametrize("seed", range(40))
def test_law_38_the_bound_holds_over_several_cores(seed: int) -> None:
    """Law 38: the analytic latency of a layer alone never exceeds the simulated one, however it is spread."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 6 + seed % 9, 8, 1 + seed % 11))
    net.conv(x, "y", 4 + seed % 13, 1 + seed % 3, 1 + seed % 2, (seed % 2, 0, 1, 0))
    workload = net.done("y")
    for rate in (Fraction(1), Fraction(8), None):
        chip = chip_of(seed, rate)
        compiled = compile_model(workload, chip, options_of(seed))
        assert compiled.mapping.layers[0].bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps


@pytest.mark.parametrize("seed", range(18))
def test_law_38_counts_agree_where_each_core_stages_its_own_tiles(seed: int) -> None:
    """Law 38: what several cores share comes once over the network; from there on each moves it by itself."""
    net, workload = random_net(seed)
    topology, shape = SHAPES[seed % len(SHAPES)]
    above = (("l3", 1 << 13, ALL),) if seed % 2 else ()
    stages = (*above, ("l2", 1 << 12, (ALL, ("weights",), ("inputs", "outputs"))[seed % 3]))
    plain = small_chip(1 << 10, 1 << 10, stages=stages, channels=1 + seed % 2)
    chip = networked(plain, topology, shape, ("l2", "l1", "acc"), multicast=seed % 4 != 3)
    assert_agreement_if_it_fits(
        net, workload, chip, lambda: with_reductions(workload, chip, options_of(seed), seed), seed
    )


def test_law_38_a_copy_through_a_shared_memory_needs_nothing_of_the_network() -> None:
    """Law 38: the bound of a copy is of the memory that it passes, whatever the units' own path of outputs is."""
    net = Net(np.random.default_rng(0))
    net.transpose(net.source("x", (1, 5, 8, 8)), "y")
    plain = small_chip(stages=(("l2", 1 << 13, ("inputs",)),))
    chip = networked(plain, "mesh", (2, 2), link_bytes=1, packet_bytes=4)
    compiled = compile_model(net.done("y"), chip)
    assert compiled.mapping.layers[0].bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps


@pytest.mark.parametrize(("kernel", "dilation"), [(3, 1), (2, 2)])
def test_law_38_a_last_core_with_fewer_tiles_moves_nothing_for_those_it_lacks(kernel: int, dilation: int) -> None:
    """Law 38: where the last core's part of a dim has fewer tiles, the rest brings no window of filter taps either."""
    net = Net(np.random.default_rng(kernel))
    net.conv(net.source("x", (1, 7, 5, 2)), "y", 3, kernel, 1, (0, 0, 0, 0), dilation=dilation)
    kept = (Keep("a", "l1", 2, 4), Keep("out", "l1", 2, 5), Keep("acc", "acc", 2, 6))
    nodes = (Loop("p", 3, "grid"), Keep("b", "l1", 1, 1), Keep("bias", "l1", 1, 2), Loop("p", 1), *kept)
    mapping = LayerMapping("conv_y", "mxu", "matmul", nodes, (), 0, 1, 1, "")
    workload, chip = net.done("y"), networked(small_chip(), "mesh", (2, 1))
    compiled = compile_model(workload, chip, Options(given=Given({"conv_y": mapping})))
    assert_agreement(net, workload, chip, compiled, 0)
