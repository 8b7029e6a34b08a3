"""What an engine can touch on a chip with several cores: arrays and vector units the memories of their own core.

The DMA engines of a core move bytes between all memories, over the network where it lies between them.
"""

from __future__ import annotations

from archsim.errors import ProgramError
from archsim.ir.check.ownership import commands_of
from archsim.ir.program import Program
from archsim.spec.architecture import Architecture
from archsim.spec.network import core_of, instance, queue_core

COMPUTING = ("MATMUL", "VECTOR", "SETUP")


def check_reach(program: Program, architecture: Architecture) -> None:
    """Raise ProgramError for a command that computes in memories that are not its core's own."""
    if architecture.noc is None:
        return
    own = architecture.noc.inside
    memories = {store.name: store.memory for store in (*program.tensors, *program.rings)}
    weights = architecture.path("weights")
    for queue in program.queues:
        core = queue_core(queue.name)
        if core is None:
            continue
        for command in commands_of(queue.body):
            if command.op not in COMPUTING:
                continue
            what = f"{command.name} of {queue.name}"
            for region in (*command.reads, *command.writes):
                if core_of(memories[region.store]) != core:
                    raise ProgramError(
                        f"{what}: operand '{region.operand}' is in '{memories[region.store]}'; core[{core}] computes "
                        f"only in memories of its own: {', '.join(instance(name, core) for name in own) or 'none'}"
                    )
            if command.op == "SETUP" and command.nbytes and weights and weights[-1].name not in own:
                raise ProgramError(
                    f"{what} reads '{weights[-1].name}', where weights are nearest; it is above network "
                    f"'{architecture.noc.name}', and a SETUP reads what its core has"
                )
