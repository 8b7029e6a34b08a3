"""Layers whose reductions are spread over the cores of a chip: random networks, chips, topologies and mappings."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from archsim.base.errors import ProgramError
from archsim.ir.check.program import check
from archsim.ir.program import Program
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.cost.partial_sums import WAYS
from mapper.options import Given
from tests.laws.test_cores_laws import chip_of, options_of
from tests.tools.agreement import assert_agreement, assert_agreement_if_it_fits, computes
from tests.tools.layers import Net, random_net
from tests.tools.mutants import mutants
from tests.tools.reductions import stated, with_reductions


@pytest.mark.parametrize("seed", range(80))
def test_law_38_counts_agree_where_reductions_are_spread(seed: int) -> None:
    """Law 38: the mapper's counts are the machine's, and the sums of partial sums are the model's."""
    net, workload = random_net(seed)
    chip = chip_of(seed)
    assert_agreement_if_it_fits(
        net, workload, chip, lambda: with_reductions(workload, chip, options_of(seed), seed), seed
    )


@pytest.mark.parametrize("seed", range(40))
def test_law_38_the_bound_holds_where_reductions_are_spread(seed: int) -> None:
    """Law 38: the analytic latency of a layer alone never exceeds the simulated one."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 1 + seed % 9, 1 + seed % 4, 2 + seed % 31))
    net.conv(x, "y", 1 + seed % 13, 1, 1, (0, 0, 0, 0))
    workload = net.done("y")
    for rate in (Fraction(1), Fraction(8), None):
        chip = chip_of(seed, rate)
        compiled = compile_model(workload, chip, with_reductions(workload, chip, options_of(seed), seed))
        assert compiled.mapping.layers[0].bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps


def caught(net: Net, workload: Workload, chip: Architecture, compiled: Compiled, mutant: Program) -> bool:
    """Whether a Program is refused, or stops or computes something else under one of four orders."""
    try:
        check(mutant, chip)
    except ProgramError:
        return True
    try:
        return not all(computes(net, workload, replace(compiled, program=mutant), seed) for seed in range(4))
    except ProgramError:
        return True


@pytest.mark.parametrize("way", WAYS)
def test_law_42_any_token_of_a_reduction_removed_is_caught(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 42: each wait and each signal of two layers whose reductions are spread, removed one at a time, is caught."""
    monkeypatch.setattr("mapper.lower.partials.chosen_way", lambda *_: way)
    net = Net(np.random.default_rng(5))
    x = net.source("x", (1, 1, 3, 9))
    net.conv(net.conv(x, "y", 6, 1, 1, (0, 0, 0, 0)), "z", 4, 1, 1, (0, 0, 0, 0))
    workload, chip = net.done("z"), chip_of(4)
    given = {name: stated(workload, chip, name, (("c", tile),)) for name, tile in (("conv_y", 2), ("conv_z", 2))}
    compiled = compile_model(workload, chip, Options(given=Given(layers=given)))
    assert [frame.way for frame in compiled.frames if frame] == [way, way]
    assert_agreement(net, workload, chip, compiled, 0)
    dropped = [(label, mutant) for kind, label, mutant in mutants(compiled.program) if kind == "drop token"]
    assert [label for label, mutant in dropped if not caught(net, workload, chip, compiled, mutant)] == []
