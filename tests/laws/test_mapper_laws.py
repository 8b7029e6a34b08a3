"""Laws between the compiler's account of a mapping and the machine's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.system import simulate
from mapper.compile import Options, compile_model
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.layers import Net, random_net, small_chip

NAMES = catalogue.names()


@pytest.mark.parametrize("seed", range(80))
def test_law_38_counts_agree_as_integers(seed: int) -> None:
    """Law 38: the mapper's counts are the machine's counts."""
    _, workload = random_net(seed)
    chip = small_chip(1 << 13, 1 << 12, dataflow=NAMES[seed % len(NAMES)])
    try:
        compiled = compile_model(workload, chip, Options(objective=("latency", "energy")[seed % 2]))
    except MappingError:
        return
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)


@pytest.mark.parametrize("seed", range(40))
def test_law_38_analytic_latency_is_a_lower_bound(seed: int) -> None:
    """Law 38: the analytic latency of a layer alone never exceeds the simulated one."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 6 + seed % 9, 8, 1 + seed % 11))
    net.conv(x, "y", 4 + seed % 13, 1 + seed % 3, 1 + seed % 2, (seed % 2, 0, 1, 0))
    workload = net.done("y")
    for rate in (Fraction(1), Fraction(8), None):
        chip = small_chip(1 << 12, 1 << 11, dram_rate=rate, banks=1 << 10)
        compiled = compile_model(workload, chip)
        activity = simulate(compiled.program, chip)
        assert compiled.mapping.layers[0].bound_cycles * 1000 <= activity.total_ps


@pytest.mark.parametrize("seed", range(40))
def test_law_38_analytic_latency_is_exact_with_ideal_memories(seed: int) -> None:
    """Law 38: with infinite DRAM and ports so wide that a move takes one cycle the two are equal."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 6 + seed % 9, 8, 1 + seed % 11))
    net.conv(x, "y", 4 + seed % 13, 1 + seed % 3, 1 + seed % 2, (seed % 2, 0, 1, 0))
    chip = small_chip(1 << 12, 1 << 11, dram_rate=None, banks=1 << 14)
    compiled = compile_model(net.done("y"), chip)
    assert compiled.mapping.layers[0].bound_cycles * 1000 == simulate(compiled.program, chip).total_ps
