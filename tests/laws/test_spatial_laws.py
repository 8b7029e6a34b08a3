"""Laws of constraints on what an array spreads: what is found obeys, is counted exactly and stays above its bounds."""

from __future__ import annotations

import random

import numpy as np
import pytest

from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.ir.mapping import Constraint, LayerMapping, Loop
from archsim.ir.workload import Axis, Layer, Operand, Workload
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Options, compile_model
from mapper.explain import figures, least
from mapper.layers import Layers
from mapper.options import Given
from mapper.problem.array_axes import array_shape, spread
from mapper.problem.problem import never_cut
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.layers import Net, random_net, small_chip

NAMES = catalogue.names()


def laid(layer: Layer, chip: Architecture) -> dict[str, tuple[str, ...]]:
    array = chip.arrays[0]
    return spread(layer, array.dataflow, array_shape(array, "int8", "int8"))


def constraint(layer: Layer, chip: Architecture, pick: random.Random) -> Constraint:
    """Some of the dims that each axis spreads, with all that cannot be cut."""
    whole = never_cut(layer)
    asked = {
        axis: tuple(dim for dim in dims if (dim in whole and layer.dims[dim] > 1) or pick.random() < 0.5)
        for axis, dims in laid(layer, chip).items()
    }
    return Constraint(layer.name, units=("mxu",), spatial=asked)


def constrained(seed: int, *, on_array: bool = False) -> tuple[Workload, Architecture, Options]:
    pick = random.Random(seed)
    _, workload = random_net(seed)
    chip = small_chip(1 << 16, 1 << 14, dataflow=NAMES[seed % len(NAMES)])
    matmuls = [layer for layer in workload.layers if layer.kind == "matmul"]
    asked = tuple(constraint(layer, chip, pick) for layer in matmuls)
    drawn = "" if on_array or seed % 2 else str(seed)
    return (
        workload,
        chip,
        Options(objective=("latency", "energy")[seed % 2], random=drawn, given=Given(constraints=asked)),
    )


def tile(mapping: LayerMapping, layer: Layer, dim: str) -> int:
    loops = [node.tile for node in mapping.nodes if isinstance(node, Loop) and node.dim == dim]
    return loops[-1] if loops else layer.dims[dim]


@pytest.mark.parametrize("seed", range(48))
def test_what_is_found_spreads_no_other_dims(seed: int) -> None:
    """Law 38: searched or drawn at random under a constraint, tiles obey, counts are the machine's, the bound holds."""
    workload, chip, options = constrained(seed)
    compiled = compile_model(workload, chip, options)
    allowed = {asked.layers: asked.spatial for asked in options.given.constraints}
    for layer, mapping in zip(workload.layers, compiled.mapping.layers, strict=True):
        for axis, dims in allowed.get(layer.name, {}).items():
            others = [dim for dim in laid(layer, chip)[axis] if dim not in dims]
            assert [tile(mapping, layer, dim) for dim in others] == [1] * len(others)
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)
    assert max(mapping.bound_cycles for mapping in compiled.mapping.layers) * 1000 <= activity.total_ps


@pytest.mark.parametrize("seed", range(48))
def test_no_mapping_is_below_the_bounds_of_a_constraint(seed: int) -> None:
    """Law 38: the least under a constraint is not below that without, and no mapping that obeys is below it."""
    workload, chip, options = constrained(seed, on_array=True)
    layers, free = (Layers(workload, chip, chip.dtypes, one) for one in (options, Options(objective=options.objective)))
    mapped = layers.map()
    for problem, mapping in zip(mapped.problems, mapped.mappings, strict=True):
        if problem is None or problem.engine != "array":
            continue
        bound, without = least(layers, problem), least(free, problem)
        assert not isinstance(bound, str) and not isinstance(without, str)
        found = figures(layers, problem, mapping)
        assert without.cycles.figure <= bound.cycles.figure <= found.mapping.bound_cycles
        assert without.energy_pj.figure <= bound.energy_pj.figure <= found.energy_pj


def folded() -> Workload:
    """Two dims of the output on one axis of the input, of which the smaller one is never cut: 4 p + q + r."""
    net = Net(np.random.default_rng(0))
    net.source("x", (14, 2))
    net.source("w", (4, 3, 2), "weight")
    alone = {dim: Axis(((dim, 1),)) for dim in "pqkrc"}
    a = Operand("a", "x", "inputs", (Axis((("p", 4), ("q", 1), ("r", 1))), alone["c"]))
    b = Operand("b", "w", "weights", (alone["k"], alone["r"], alone["c"]))
    net.source("y", (3, 4, 4), "activation")
    out = Operand("out", "y", "outputs", (alone["p"], alone["q"], alone["k"]))
    dims = {"p": 3, "q": 4, "k": 4, "r": 3, "c": 2}
    net.layers.append(Layer("folded", "Einsum", "matmul", dims, (a, b), out, ("p", "q"), ("k",), ("r", "c")))
    return net.done("y")


@pytest.mark.parametrize("workload", [random_net(7)[1], folded()], ids=["random", "folded"])
@pytest.mark.parametrize("name", NAMES)
def test_every_dim_that_is_cut_may_be_left_out(name: str, workload: Workload) -> None:
    """An axis that may spread nothing has one PE at work in it, or the layer is refused by name."""
    chip = small_chip(1 << 16, 1 << 14, dataflow=name)
    layer = next(layer for layer in workload.layers if layer.kind == "matmul")
    for side, dims in laid(layer, chip).items():
        given = Given(constraints=(Constraint(layer.name, units=("mxu",), spatial={side: ()}),))
        stuck = [dim for dim in dims if dim in never_cut(layer) and layer.dims[dim] > 1]
        if stuck:
            with pytest.raises(MappingError, match=f"{side} of 'mxu' may spread nothing, but of .* cannot be cut"):
                compile_model(workload, chip, Options(given=given))
            continue
        found = next(m for m in compile_model(workload, chip, Options(given=given)).mapping.layers)
        assert {tile(found, layer, dim) for dim in dims} == {1}
