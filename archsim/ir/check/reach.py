"""What an engine can touch on a chip with several cores: arrays and vector units the memories of their own core.

The DMA engines of a core move bytes between all memories, over the network where it lies between them.
"""

from __future__ import annotations

from collections.abc import Mapping

from archsim.base.errors import ProgramError
from archsim.ir.check.ownership import commands_of
from archsim.ir.program import Command, Program, Queue, Ring, Tensor
from archsim.spec.architecture import Architecture
from archsim.spec.network import core_of, instance, queue_core

COMPUTING = ("MATMUL", "VECTOR", "SETUP")


def check_reach(program: Program, architecture: Architecture) -> None:
    """Raise ProgramError for a command that computes in memories that are not its core's own."""
    if architecture.noc is None:
        return
    stores: list[Tensor | Ring] = [*program.tensors, *program.rings]
    cores = {name: core_of(name) for name in dict.fromkeys(store.memory for store in stores)}
    places = {store.name: (store.memory, cores[store.memory]) for store in stores}
    for queue in program.queues:
        core = queue_core(queue.name)
        for command in commands_of(queue.body) if core is not None else ():
            if command.op in COMPUTING:
                _check_command(command, queue, core or 0, places, architecture)


def _check_command(
    command: Command,
    queue: Queue,
    core: int,
    places: Mapping[str, tuple[str, int | None]],
    architecture: Architecture,
) -> None:
    """``places``: of each store its memory and the core whose that is."""
    own, what = architecture.noc.inside if architecture.noc is not None else (), f"{command.name} of {queue.name}"
    for region in (*command.reads, *command.writes):
        memory, has = places[region.store]
        if has != core:
            raise ProgramError(
                f"{what}: operand '{region.operand}' is in '{memory}'; core[{core}] computes only in "
                f"memories of its own: {', '.join(instance(name, core) for name in own) or 'none'}"
            )
    weights = architecture.path("weights") if command.op == "SETUP" and command.nbytes else ()
    if weights and weights[-1].name not in own:
        raise ProgramError(
            f"{what} reads '{weights[-1].name}', where weights are nearest; it is above the network, and a SETUP reads "
            "what its core has"
        )
