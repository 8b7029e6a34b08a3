"""The Program computes the model: random networks, chips and interleavings, on physical addresses."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.base.errors import MappingError
from archsim.ir.check.program import check
from mapper.compile import Compiled, Options, compile_model
from mapper.execute.run import Executor
from tests.tools.layers import Net, random_net, small_chip

SIZES = [(1 << 11, 1 << 10), (1 << 12, 1 << 10), (1 << 13, 1 << 12), (1 << 16, 1 << 14)]


def run(net: Net, compiled: Compiled, seed: int) -> Executor:
    executor = Executor(compiled.program, numbers="float64", seed=seed)
    for tensor in compiled.program.tensors:
        if tensor.preloaded:
            executor.fill(tensor.name, net.values[tensor.name])
    executor.run()
    return executor


@pytest.mark.parametrize("seed", range(120))
def test_program_equals_numpy(seed: int) -> None:
    net, workload = random_net(seed)
    l1, acc = SIZES[seed % len(SIZES)]
    chip = small_chip(l1, acc)
    try:
        compiled = compile_model(workload, chip, Options(objective=("latency", "energy", "edp")[seed % 3]))
    except MappingError as error:
        assert "needs" in str(error)
        return
    check(compiled.program, chip)
    for interleaving in range(2):
        executor = run(net, compiled, seed + 1000 * interleaving)
        for name, tensor in workload.tensors.items():
            if tensor.kind == "output":
                assert np.array_equal(executor.values(name), net.values[name]), name
