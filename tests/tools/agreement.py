"""Whether a compiled model is what the checker accepts, the machine counts alike, and NumPy computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from archsim.base.errors import MappingError
from archsim.ir.check.program import check
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.execute.run import Executor
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.layers import Net


def assert_agreement(net: Net, workload: Workload, chip: Architecture, compiled: Compiled, seed: int) -> None:
    """The Program passes its checker; counts agree as integers; two orders of commands give the network's outputs."""
    check(compiled.program, chip)
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)
    assert computes(net, workload, compiled, seed) and computes(net, workload, compiled, seed + 1000)


def assert_agreement_if_it_fits(
    net: Net, workload: Workload, chip: Architecture, options: Callable[[], Options], seed: int
) -> None:
    """As ``assert_agreement``; or else the compiler says what would do."""
    try:
        compiled = compile_model(workload, chip, options())
    except MappingError as error:
        assert "would do" in str(error)
        return
    assert_agreement(net, workload, chip, compiled, seed)


def computes(net: Net, workload: Workload, compiled: Compiled, seed: int) -> bool:
    """Whether the Program's outputs are the network's, on its own addresses."""
    executor = Executor(compiled.program, numbers="float64", seed=seed)
    for tensor in compiled.program.tensors:
        if tensor.preloaded:
            executor.fill(tensor.name, net.values[tensor.name])
    executor.run()
    outputs = [name for name, tensor in workload.tensors.items() if tensor.kind == "output"]
    return all(np.array_equal(executor.values(name), net.values[name]) for name in outputs)
