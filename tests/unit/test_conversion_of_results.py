"""Results of products in formats that an array does not read are made by the vector unit, in a pass of their own."""

from __future__ import annotations

import pytest

from archsim.ir.program import Command, Program
from archsim.lab.run.job import Job, build
from archsim.sim.wiring import commands_of

SIZES = {"m": 64, "n": 96, "k": 128}


def drains(program: Program) -> list[Command]:
    """The commands that take sums out of the accumulators."""
    commands = [command for queue in program.queues for command in commands_of(queue.body)]
    return [command for command in commands if command.name.endswith(".drain")]


@pytest.mark.parametrize(
    ("chip", "dtype", "functions", "passes"),
    [
        ("tpu_v4", "bf16", "requantise", 1),
        ("tpu_v4", "fp16", "requantise+convert", 2),
        ("tpu_v4", "fp32", "requantise", 1),
        ("tpu_v6e", "fp8", "requantise+convert", 2),
        ("a100", "fp16", "requantise", 1),
        ("edge_npu", "int8", "requantise", 1),
    ],
)
def test_a_format_that_the_array_reads_costs_no_pass(chip: str, dtype: str, functions: str, passes: int) -> None:
    """All others cost one more than the drain has."""
    found = drains(build(Job("gemm", chip, parameters=SIZES, dtype=dtype)).program)
    assert found
    assert {(command.function, command.passes) for command in found} == {(functions, passes)}
