"""Products whose drain adds another result or multiplies by it: random layers, chips of one and several cores."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from archsim.ir.unroll import unroll
from archsim.ir.workload import Workload
from archsim.system import simulate
from mapper.compile import Options, compile_model
from mapper.problem.operands import ACC, EPILOGUE
from tests.laws.test_cores_laws import chip_of, options_of
from tests.laws.test_reduction_laws import caught
from tests.tools.agreement import assert_agreement, assert_agreement_if_it_fits
from tests.tools.layers import Net, small_chip
from tests.tools.mutants import mutants
from tests.tools.reductions import with_reductions

STAGES = ((), (("l2", 1 << 14, ("inputs", "weights", "outputs")),), (("l2", 1 << 14, ("weights", "outputs")),))


def _net(seed: int) -> tuple[Net, Workload]:
    """A convolution, and one of its result that adds an input of the model or that result, or multiplies by it."""
    net = Net(np.random.default_rng(seed))
    rows, columns, channels = 2 + seed % 7, 1 + seed % 5, 1 + seed % 17
    x = net.source("x", (1, rows, columns, 1 + seed % 9))
    y = net.conv(x, "y", channels, 1, 1, (0, 0, 0, 0))
    other = y if seed % 3 == 0 else net.source("r", (1, rows, columns, channels))
    kernel = 3 if seed % 2 else 1
    net.conv(y, "z", channels, kernel, 1, (kernel // 2,) * 4)
    return net, net.done(net.drained("z", other, "add" if seed % 5 < 3 else "multiply"))


@pytest.mark.parametrize("seed", range(24))
def test_law_38_counts_agree_on_one_core(seed: int) -> None:
    """Law 38: the mapper's counts are the machine's, for the best mapping and a random one, with stages and without."""
    net, workload = _net(seed)
    chip = small_chip(
        l1_bytes=1 << (8 + seed % 5), acc_bytes=1 << (7 + seed % 4), stages=STAGES[seed % 3], channels=1 + seed % 3
    )
    for options in (Options(), Options(random=str(seed))):
        assert_agreement_if_it_fits(net, workload, chip, lambda asked=options: asked, seed)  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(16))
def test_law_38_counts_agree_on_several_cores(seed: int) -> None:
    """Law 38: the same of layers that are spread, their reductions too."""
    net, workload = _net(seed)
    chip = chip_of(seed)
    assert_agreement_if_it_fits(net, workload, chip, lambda: options_of(seed), seed)
    assert_agreement_if_it_fits(
        net, workload, chip, lambda: with_reductions(workload, chip, options_of(seed), seed), seed
    )


@pytest.mark.parametrize("seed", range(24))
def test_law_38_the_bound_holds(seed: int) -> None:
    """Law 38: the analytic latency of a layer alone never exceeds the simulated one."""
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 1 + seed % 9, 1 + seed % 4, 2 + seed % 31))
    net.conv(x, "y", 1 + seed % 13, 1, 1, (0, 0, 0, 0))
    net.drained("y", net.source("r", net.tensors["y"].shape))
    workload = net.done("y")
    for rate in (Fraction(1), Fraction(8), None):
        chips = (chip_of(seed, rate), small_chip(l1_bytes=1 << (7 + seed % 6), dram_rate=rate, channels=1 + seed % 3))
        for chip, options in zip(chips, (options_of(seed), Options(random=str(seed) if seed % 2 else "")), strict=True):
            compiled = compile_model(workload, chip, options)
            assert compiled.mapping.layers[0].bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps


def test_law_42_any_token_removed_is_caught() -> None:
    """Law 42: each wait and each signal of a layer that adds what comes in tile by tile, removed alone, is caught; the
    sums do not wait for it."""
    net = Net(np.random.default_rng(0))
    net.conv(net.source("x", (1, 4, 4, 8)), "z", 16, 1, 1, (0, 0, 0, 0))
    net.drained("z", net.source("r", (1, 4, 4, 16)))
    workload, chip = net.done("z"), small_chip(l1_bytes=320, acc_bytes=256)
    compiled = compile_model(workload, chip, Options())
    frame = compiled.frames[-1]
    assert frame is not None and frame.keeps[EPILOGUE][0] == frame.keeps[ACC][0] > 0
    assert_agreement(net, workload, chip, compiled, 0)
    (loads,) = [list(unroll(queue)) for queue in compiled.program.queues if queue.engine == "load"]
    names = [step.command.name for step in loads]
    assert names.index("conv_z.load_epilogue") > names.index("conv_z.load_a")
    dropped = [(label, mutant) for kind, label, mutant in mutants(compiled.program) if kind == "drop token"]
    assert [label for label, mutant in dropped if not caught(net, workload, chip, compiled, mutant)] == []
