"""Layers as einsums, chips as hierarchies: what they are, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from archsim.base.errors import MappingError
from archsim.ir.workload import Axis
from archsim.lab.run.offchip import outer_rates
from mapper.compile import Options, compile_model
from mapper.cost.chip_rates import ChipCosts
from mapper.looptree.bound import bounds
from mapper.looptree.chip import hierarchy_of, memories_of, ways
from mapper.looptree.hierarchy import READ, WRITE
from mapper.looptree.layer import einsum_of
from mapper.problem.problem import Problem
from tests.tools.layers import Net, small_chip

CHIP = small_chip(rows=4, cols=8)
PRICES = {("dram", READ): 40.0, ("dram", WRITE): 44.0, ("l1", READ): 4.0, ("l1", WRITE): 5.0, ("acc", READ): 1.0}
COSTS = ChipCosts(CHIP, outer_rates(CHIP), PRICES)


def net() -> Net:
    found = Net(np.random.default_rng(0))
    found.source("x", (1, 9, 9, 8))
    found.conv("x", "y", 6, 3, 2, (1, 1, 1, 1), groups=2)
    found.pool("y", "z", 2, 1)
    return found


def problem() -> Problem:
    compiled = compile_model(net().done("z"), CHIP, Options())
    frame = compiled.frames[0]
    assert frame is not None
    return replace(frame.problem, engine="array", unit="mxu")


def test_a_grouped_convolution_is_an_einsum_of_windows() -> None:
    einsum = einsum_of(net().done("z").layers[0], {"a": 8, "b": 4, "out": 16})
    rows, columns = (("p", 2), ("r", 1)), (("q", 2), ("s", 1))
    assert einsum.operand("a").coordinates == (rows, columns, (("g", 1),), (("c", 1),))
    assert einsum.output.coordinates == ((("p", 1),), (("q", 1),), (("g", 1),), (("k", 1),))
    assert [operand.bits for operand in einsum.operands] == [8, 4, 16]
    assert einsum.macs == 5 * 5 * 2 * 3 * 4 * 9


def test_what_is_no_einsum_is_refused() -> None:
    conv, pool = net().done("z").layers
    with pytest.raises(MappingError, match=r"'pool_z' \(MaxPool\) is no matmul"):
        einsum_of(pool)
    a, *others = conv.inputs
    axes = (Axis((("n", 1),)), Axis((("p", 1), ("q", 1), ("r", 1))), *a.axes[2:])
    with pytest.raises(MappingError, match="axis 1 of 'a' is a sum of dims p, q, r; a LoopTree indexes by sums of two"):
        einsum_of(replace(conv, inputs=(replace(a, axes=axes), *others)))
    vector = replace(problem(), engine="vector", unit="vpu")
    with pytest.raises(MappingError, match="runs on 'vpu', which is no array"):
        bounds(vector, COSTS, CHIP.dtypes)


def test_a_chip_is_memories_with_its_prices_and_rates() -> None:
    memories = {memory.name: memory for memory in memories_of(problem(), COSTS)}
    out = ways(problem())["out"][0].name
    assert [*memories] == ["dram_tensors", *([out] if out != "dram_tensors" else []), "l1", "acc_sums"]
    l1, dram = memories["l1"], memories["dram_tensors"]
    assert l1.size_bits == 8 * problem().capacity["l1"] and dram.size_bits is None
    assert (l1.actions[READ].energy_j, l1.actions[WRITE].energy_j) == pytest.approx((0.5e-12, 0.625e-12))
    assert dram.actions[READ].per_s == dram.actions[WRITE].per_s == 8 * 8 * CHIP.clock_hz
    assert l1.actions[READ].per_s == 64 * 4 * 8 * CHIP.clock_hz
    assert memories["acc_sums"].bits == {"out": 32} and memories["acc_sums"].actions[WRITE].energy_j == 0.0


def test_only_what_may_lie_inside_is_charged_to_dram() -> None:
    dram = memories_of(problem(), COSTS)[0]
    one = dram.actions[READ].bits
    assert dram.bits["b"] == 8 * one
    assert dram.bits["a"] == int(8 * one * 16 / 25)  # of 5 rows at the first tap one lies in the padding; columns alike


def test_the_array_is_fanouts_a_register_and_macs() -> None:
    found = hierarchy_of(problem(), COSTS, CHIP.dtypes)
    assert [(axis.name, axis.fanout, axis.may_reuse) for axis in found.axes] == [
        ("rows", 4, frozenset({"out"})),
        ("cols", 8, frozenset({"a"})),
    ]
    register = found.memories[-1]
    assert (register.name, register.size_bits, register.keep) == ("weights_register", 8, frozenset({"b"}))
    assert found.compute.action.per_s == CHIP.clock_hz and found.compute.action.energy_j > 0
