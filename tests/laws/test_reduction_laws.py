"""Layers whose reductions are spread over the cores of a chip: random networks, chips, topologies and mappings."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from archsim.errors import MappingError
from archsim.system import simulate
from mapper.compile import compile_model
from tests.laws.test_cores_laws import chip_of, options_of
from tests.tools.agreement import assert_agreement
from tests.tools.layers import Net, random_net
from tests.tools.reductions import with_reductions


@pytest.mark.parametrize("seed", range(120))
def test_law_38_counts_agree_where_reductions_are_spread(seed: int) -> None:
    """Law 38: the mapper's counts are the machine's, and the sums of partial sums are the model's."""
    net, workload = random_net(seed)
    chip = chip_of(seed)
    try:
        compiled = compile_model(workload, chip, with_reductions(workload, chip, options_of(seed), seed))
    except MappingError as error:
        assert "would do" in str(error)
        return
    assert_agreement(net, workload, chip, compiled, seed)


@pytest.mark.parametrize("seed", range(60))
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
