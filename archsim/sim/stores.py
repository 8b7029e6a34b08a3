"""Where the tensors and rings of a Program lie at run time: the machine never allocates, it looks up."""

from __future__ import annotations

from archsim.errors import ProgramError, nearest
from archsim.ir.program import Program, Region, Ring, Tensor
from archsim.ir.unroll import Step, unroll
from archsim.sim.wiring import Wiring


class Stores:
    """Tensors and rings by name."""

    def __init__(self, program: Program) -> None:
        self._stores: dict[str, Tensor | Ring] = {}
        stores: list[Tensor | Ring] = [*program.tensors, *program.rings]
        for store in stores:
            if store.name in self._stores:
                raise ProgramError(f"two tensors or rings are called '{store.name}'")
            self._stores[store.name] = store
        self._wiring: Wiring | None = None
        self._program = program
        self._starts: dict[str, list[int]] = {}

    def connect(self, wiring: Wiring) -> None:
        """Give the stores the rings' counters, which say which slot a queue holds."""
        self._wiring = wiring

    def memory(self, step: Step, region: Region) -> str:
        """Name of the memory that holds ``region``."""
        return self._store(step, region).memory

    def role(self, step: Step, region: Region) -> str:
        """Role of the tensor or ring that holds ``region``."""
        return self._store(step, region).role

    def address(self, step: Step, region: Region) -> int:
        """Byte address of the store's base or, in a ring, of the slot that the step's queue took last.

        Raises ProgramError for rings that keep bytes between slots (``retain``): those are for on-chip memories,
        whose addresses cost no time.
        """
        store = self._store(step, region)
        if isinstance(store, Tensor):
            return store.base
        if store.retain:
            raise ProgramError(
                f"{step.where} of {step.queue}: ring '{store.name}' in {store.memory} cannot retain bytes"
            )
        if self._wiring is None:
            raise ProgramError(f"ring '{store.name}' is not connected")
        return store.base + self._wiring.slot(step.queue, store.name) * store.slot_bytes

    def slot_address(self, step: Step, region: Region) -> int:
        """As ``address``, also for rings on chip that keep bytes between slots."""
        store = self._store(step, region)
        if isinstance(store, Tensor) or not store.retain or self._wiring is None:
            return self.address(step, region)
        if store.name not in self._starts:
            self._starts |= _starts(store.writer, self._program)
        starts = self._starts[store.name]
        return store.base + starts[self._wiring.taken(step.queue, store.name)] % store.size_bytes

    def _store(self, step: Step, region: Region) -> Tensor | Ring:
        found = self._stores.get(region.store)
        if found is None:
            raise ProgramError(
                f"{step.where} of {step.queue}: operand '{region.operand}' is in unknown tensor or ring "
                f"'{region.store}'{nearest(region.store, self._stores)}"
            )
        return found


def _starts(writer: str, program: Program) -> dict[str, list[int]]:
    """Of each ring of ``writer`` that retains bytes: the byte of its tape at which each slot begins.

    In the order in which the writer takes them.
    """
    rings = {f"{ring.name}.free": ring for ring in program.rings if ring.writer == writer and ring.retain}
    starts: dict[str, list[int]] = {ring.name: [] for ring in rings.values()}
    for queue in program.queues:
        for step in unroll(queue) if queue.name == writer else ():
            for name, count in step.waits:
                ring = rings.get(name)
                if ring is None or count != 1:
                    continue
                kept = ring.retain if step.command.retains else 0
                tape = starts[ring.name]
                tape.append(tape[-1] + ring.slot_bytes - kept if tape else 0)
    return starts
