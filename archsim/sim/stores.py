"""Where the tensors and rings of a Program lie at run time: the machine never allocates, it looks up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from archsim.base.errors import ProgramError, nearest
from archsim.ir.program import PlacedTensor, Program, ProgramNode, Queue, Region, Ring
from archsim.ir.unroll import Step, unroll
from archsim.sim.wiring import commands_of


class SlotCount(Protocol):
    """The slots of a ring that a queue takes."""

    @property
    def taken(self) -> int:
        """How many so far."""


class SlotsByQueue(Protocol):
    """Who knows them (``sim.wiring.Wiring``)."""

    def slots(self, queue: str, ring: str) -> SlotCount:
        """Those of ``ring`` that ``queue`` takes; raises ProgramError when it takes none."""


class OperandSite:
    """Where an operand of a queue lies: at a base or, in a ring, in the slot that the queue took last.

    ``starts``: of a ring that retains bytes, at which byte of it each slot begins.
    """

    __slots__ = ("_base", "_queue", "_ring", "_taken", "starts")

    def __init__(self, queue: str, store: PlacedTensor | Ring, taken: SlotCount | None, starts: Sequence[int]) -> None:
        self._base = store.base
        self._queue = queue
        self._ring = store if isinstance(store, Ring) else None
        self._taken = taken
        self.starts = starts

    def address(self) -> int:
        """Byte address; raises ProgramError when the queue holds no slot."""
        if self._ring is None or self._taken is None:
            return self._base
        before = self._taken.taken - 1
        if before < 0:
            raise ProgramError(f"queue '{self._queue}' uses ring '{self._ring.name}' before it has taken a slot of it")
        if self.starts:
            return self._base + self.starts[before] % self._ring.size_bytes
        return self._base + before % self._ring.slots * self._ring.slot_bytes


class OperandStores:
    """Tensors and rings by name."""

    def __init__(self, program: Program) -> None:
        self._stores: dict[str, PlacedTensor | Ring] = {}
        stores: list[PlacedTensor | Ring] = [*program.tensors, *program.rings]
        for store in stores:
            if store.name in self._stores:
                raise ProgramError(f"two tensors or rings are called '{store.name}'")
            self._stores[store.name] = store
        self._wiring: SlotsByQueue | None = None
        self._bodies = {queue.name: queue for queue in program.queues}
        self._retaining: dict[str, list[Ring]] = {}  # by their writers
        for ring in program.rings:
            if ring.retain:
                self._retaining.setdefault(ring.writer, []).append(ring)
        self._starts: dict[str, Sequence[int]] = {}

    def tape(self, ring: Ring) -> Sequence[int]:
        """Of a ring that retains bytes, at which byte of it each slot begins, in the order in which they are taken."""
        if ring.name not in self._starts:
            self._starts |= _starts(self._bodies[ring.writer], self._retaining[ring.writer])
        return self._starts[ring.name]

    def connect(self, wiring: SlotsByQueue) -> None:
        """Give the stores the rings' counters, which say which slot a queue holds."""
        self._wiring = wiring

    def store(self, step: Step, region: Region) -> PlacedTensor | Ring:
        """The tensor or ring that holds ``region``; raises ProgramError when there is none of that name."""
        found = self._stores.get(region.store)
        if found is None:
            raise ProgramError(
                f"{step.where} of {step.queue}: operand '{region.operand}' is in unknown tensor or ring "
                f"'{region.store}'{nearest(region.store, self._stores)}"
            )
        return found

    def memory(self, step: Step, region: Region) -> str:
        """Name of the memory that holds ``region``."""
        return self.store(step, region).memory

    def role(self, step: Step, region: Region) -> str:
        """Role of the tensor or ring that holds ``region``."""
        return self.store(step, region).role

    def dtype(self, step: Step, region: Region) -> str:
        """Dtype of the elements of the tensor or ring that holds ``region``."""
        return self.store(step, region).dtype

    def address(self, step: Step, region: Region) -> int:
        """Byte address of the store's base or, in a ring, of the slot that the step's queue took last.

        Raises ProgramError for rings that keep bytes between slots (``retain``): those are for on-chip memories,
        whose addresses cost no time.
        """
        site = self.site(step, region)
        if site.starts:
            store = self.store(step, region)
            raise ProgramError(
                f"{step.where} of {step.queue}: ring '{store.name}' in {store.memory} cannot retain bytes"
            )
        return site.address()

    def slot_address(self, step: Step, region: Region) -> int:
        """As ``address``, also for rings on chip that keep bytes between slots."""
        return self.site(step, region).address()

    def site(self, step: Step, region: Region) -> OperandSite:
        """Where an operand lies, for all repetitions of the command."""
        found: OperandSite | None = step.kept.get(id(region))
        if found is None:
            found = step.kept[id(region)] = self._found(step.queue, self.store(step, region))
        return found

    def _found(self, queue: str, store: PlacedTensor | Ring) -> OperandSite:
        if isinstance(store, PlacedTensor):
            return OperandSite(queue, store, None, ())
        if self._wiring is None:
            raise ProgramError(f"ring '{store.name}' is not connected")
        starts = self.tape(store) if store.retain else ()
        return OperandSite(queue, store, self._wiring.slots(queue, store.name), starts)


def _starts(writer: Queue, rings: Sequence[Ring]) -> dict[str, Sequence[int]]:
    """Of each of ``rings``, which retain bytes: the byte of its tape at which each slot begins.

    In the order in which the ``writer`` takes them.
    """
    tapes: dict[str, tuple[Ring, list[int]]] = {f"{ring.name}.free": (ring, []) for ring in rings}
    body = tuple([node for node in writer.body if tapes.keys() & _taken(node)])
    for step in unroll(replace(writer, body=body)):
        for name, count in step.waits:
            if name in tapes and count == 1:
                ring, tape = tapes[name]
                kept = ring.retain if step.command.retains else 0
                tape.append(tape[-1] + ring.slot_bytes - kept if tape else 0)
    return {ring.name: tape for ring, tape in tapes.values()}


def _taken(node: ProgramNode) -> set[str]:
    return {token.name for command in commands_of((node,)) for token in command.waits}
