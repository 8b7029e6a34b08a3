"""Laws of mappings that are stated instead of searched: any LoopTree that is accepted runs, and is costed exactly."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.ir.asm.printer import print_program
from archsim.ir.check.program import check
from archsim.ir.mapping import Constraint, Keep, LayerMapping, Loop, MapNode
from archsim.ir.workload import Layer, Workload
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.execute.run import Executor
from mapper.options import Given
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.layers import Net, random_net, small_chip

LAWS = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
NAMES = catalogue.names()


def stated(compiled: Compiled) -> Given:
    """What a whole exported file states."""
    mapping = compiled.mapping
    return Given({m.layer: m for m in mapping.layers if m.kind != "host"}, {p.tensor: p for p in mapping.placements})


@pytest.mark.parametrize("seed", range(40))
def test_a_stated_mapping_is_costed_as_when_it_was_found(seed: int) -> None:
    """Law 38: stating what a search found gives its bounds, its addresses and its Program again."""
    _, workload = random_net(seed)
    chip = small_chip(1 << 13, 1 << 12, dataflow=NAMES[seed % len(NAMES)])
    try:
        found = compile_model(workload, chip, Options(random=str(seed) if seed % 2 else ""))
    except MappingError:
        return
    again = compile_model(workload, chip, Options(given=stated(found)))
    assert print_program(again.program) == print_program(found.program)
    for new, old in zip(again.mapping.layers, found.mapping.layers, strict=True):
        assert (new.nodes, new.bound_cycles) == (old.nodes, old.bound_cycles)


def conv(draw: random.Random) -> tuple[Net, Workload]:
    net = Net(np.random.default_rng(draw.randrange(1000)))
    size = draw.randrange(5, 12)
    x = net.source("x", (1, size, size + 1, draw.randrange(1, 9)))
    pads = tuple(draw.randrange(2) for _ in range(4))
    net.conv(x, "y", draw.randrange(2, 11), draw.randrange(1, 4), draw.randrange(1, 3), pads)  # type: ignore[arg-type]
    return net, net.done("y")


def tree(draw: random.Random, layer: Layer) -> LayerMapping:
    """Any loops over outputs in any order and tiles, the accumulator's Keep, loops over reductions; other Keeps
    anywhere."""
    out = {dim for axis in layer.output.axes for dim, _ in axis.terms}

    def loops(names: list[str]) -> list[MapNode]:
        some = draw.sample(names, draw.randrange(len(names) + 1))
        return [Loop(dim, draw.randrange(1, layer.dims[dim] + 1)) for dim in some]

    outer = loops([dim for dim in layer.dims if dim in out and layer.dims[dim] > 1])
    inner = loops([dim for dim in ("c", "r", "s") if layer.dims.get(dim, 1) > 1])
    nodes: list[tuple[str, str] | MapNode] = [*outer, ("out", "l1"), ("acc", "acc"), *inner]
    for operand in layer.inputs:
        nodes.insert(draw.randrange(len(nodes) + 1), (operand.name, "l1"))
    placed = [
        Keep(node[0], node[1], draw.randrange(1, 4), index) if isinstance(node, tuple) else node
        for index, node in enumerate(nodes)
    ]
    return LayerMapping(layer.name, "mxu", "matmul", tuple(placed), (), 0, 0, 0, "given")


@given(st.integers(0, 10**6))
@LAWS
def test_any_accepted_loop_tree_runs_as_it_was_counted(seed: int) -> None:
    """Law 38: counts of an arbitrary stated LoopTree are the machine's, its bound one, its numbers right."""
    draw = random.Random(seed)
    net, workload = conv(draw)
    mapping = tree(draw, workload.layers[0])
    rate = draw.choice([Fraction(1), Fraction(8), None])
    chip = small_chip(1 << 17, 1 << 15, dataflow=draw.choice(NAMES), dram_rate=rate)
    compiled = compile_model(workload, chip, Options(given=Given({mapping.layer: mapping})))
    check(compiled.program, chip)
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)
    assert compiled.mapping.layers[0].bound_cycles * 1000 <= activity.total_ps
    executor = Executor(compiled.program, numbers="float64", seed=seed)
    for tensor in compiled.program.tensors:
        if tensor.preloaded:
            executor.fill(tensor.name, net.values[tensor.name])
    executor.run()
    assert np.array_equal(executor.values("y"), net.values["y"])


@pytest.mark.parametrize("seed", range(12))
def test_what_was_found_under_constraints_meets_them_when_stated(seed: int) -> None:
    """What stays on chip does not come in at all, whatever loops stand above its Keep."""
    _, workload = random_net(seed)
    chip = small_chip(1 << 13, 1 << 9)
    asked = tuple(Constraint(layer.name, stationary=(layer.inputs[0].name,)) for layer in workload.layers)
    found = compile_model(workload, chip, Options(given=Given(constraints=asked)))
    stated = {layer.layer: layer for layer in found.mapping.layers}
    places = {place.tensor: place for place in found.mapping.placements}
    again = compile_model(workload, chip, Options(given=Given(stated, places, constraints=asked)))
    assert again.program == found.program


def test_an_order_holds_for_every_loop_over_a_dim() -> None:
    net = Net(np.random.default_rng(0))
    net.gemm("y", 16, 8, 8)
    workload, chip = net.done("y"), small_chip(stages=(("l2", 1 << 12, ("inputs", "weights", "outputs")),))
    nodes: list[MapNode] = [Loop("m", 8), Loop("n", 4), Loop("m", 4)]
    for operand in ("a", "b", "out"):
        nodes += [Keep(operand, level, 1, 0) for level in ("l2", "l1")]
    nodes.append(Keep("acc", "acc", 1, 0))
    placed = tuple(Keep(n.operand, n.level, n.slots, at) if isinstance(n, Keep) else n for at, n in enumerate(nodes))
    stated = {"gemm_y": LayerMapping("gemm_y", "mxu", "matmul", placed, (), 0, 1, 1, "")}
    compile_model(workload, chip, Options(given=Given(stated)))
    for order, outer, inner in ((("m", "n"), "m", "n"), (("n", "m"), "n", "m")):
        with pytest.raises(MappingError, match=f"a loop over '{inner}' stands outside one over '{outer}'"):
            compile_model(
                workload, chip, Options(given=Given(stated, constraints=(Constraint("gemm_y", order=order),)))
            )


def test_fewer_than_no_slots_are_refused() -> None:
    net = Net(np.random.default_rng(0))
    net.gemm("y", 4, 4, 4)
    kept = (Keep("a", "l1", -1, 0), Keep("b", "l1", 1, 1), Keep("out", "l1", 1, 2), Keep("acc", "acc", 1, 3))
    stated = {"gemm_y": LayerMapping("gemm_y", "mxu", "matmul", kept, (), 0, 1, 1, "")}
    with pytest.raises(MappingError, match="-1 slots of 'a'"):
        compile_model(net.done("y"), small_chip(), Options(given=Given(stated)))
