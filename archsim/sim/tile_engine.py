"""What all engines of a core share: time, the on-chip memories, the Program's stores, the books; SETUP and SYNC."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from archsim.base.errors import ProgramError
from archsim.ir.footprint import ByteFootprint, footprint
from archsim.ir.program import Affine, Op, Region
from archsim.ir.unroll import Step
from archsim.sim.clock import ClockDomain
from archsim.sim.events import EventLoop
from archsim.sim.plans import EnginePlans, SharedPlans, _Plan
from archsim.sim.protocols import (
    CommandOutcome,
    CommandStreams,
    Demand,
    Execution,
    OnChip,
    PlanFacts,
    RunningStreams,
    StreamPlace,
)
from archsim.sim.stores import OperandSite, OperandStores
from archsim.sim.tally import Tally, memory_entries
from archsim.spec.network import core_of, instance


@dataclass(frozen=True, slots=True)
class EngineSurroundings:
    """The machine around an engine. ``setup_memory``: where the data of SETUP commands comes from.

    ``own``: memories of which each core has a copy of its own; none on chips without a network. ``plans``: what
    engines keep of commands.
    """

    event_loop: EventLoop
    storage: OnChip
    stores: OperandStores
    tally: Tally
    setup_memory: str
    own: tuple[str, ...] = ()
    plans: SharedPlans = field(default_factory=SharedPlans)


class TileEngine(ABC):
    """An engine with commands of its own (``ops``), beside SETUP and SYNC; ``ports``: whose it uses.

    ``plan_ops``: those that are planned whole before they run; engines of one ``family`` make the same plans.

    SETUP reads ``nbytes`` (weights to shift in, a scan chain, a descriptor) from ``setup_memory``, as fast as its port
    goes. SYNC takes no time: it only moves tokens. An engine of a ``core`` of several touches only what is that core's.
    """

    ops: tuple[Op, ...]
    plan_ops: tuple[Op, ...] = ()
    ports: str
    family: str

    def __init__(self, around: EngineSurroundings, clock: ClockDomain, core: int | None = None) -> None:
        self.around = around
        self.clock = clock
        self.core = core
        self.storage = around.storage.seen_by(self.ports)

    def execute(self, step: Step) -> Execution:
        """Run ``step``; raises ProgramError for a command that this engine does not have."""
        op = step.command.op
        if op in self.ops:
            return self.run(step)
        if op == "SETUP":
            return self._set_up(step)
        if op == "SYNC":
            return _nothing()
        raise ProgramError(
            f"{step.where}: queue '{step.queue}' cannot run {op}; it runs {', '.join(self.ops)}, SETUP and SYNC"
        )

    @abstractmethod
    def run(self, step: Step) -> Execution:
        """Run a command of the engine's own."""

    @abstractmethod
    def planned(self, step: Step) -> PlanFacts:
        """What a command of ``plan_ops`` is before it runs; raises ProgramError for one that cannot."""

    def plan(self, step: Step) -> PlanFacts:
        """What a command of ``plan_ops``, or SETUP, is before it runs."""
        if step.command.op != "SETUP":
            return self.planned(step)
        if not step.command.nbytes:
            return PlanFacts("launch", None, None)
        demands, streams = self._setup_streams(step)
        return PlanFacts("launch", streams, self.around.tally.bill(memory_entries(demands)))

    def plans(
        self, family: str, make: Callable[[Step], _Plan], move: Callable[[_Plan, int | None], _Plan]
    ) -> EnginePlans[_Plan]:
        """What the engine keeps of its commands; ``family``: engines of one name make the same plans."""
        return EnginePlans(self.around.plans, family, self.around.stores, self.core, make, move)

    def demand(self, step: Step, number: int, elements: int, *, write: bool) -> Demand:
        """The stream of ``elements`` of an operand; raises ProgramError when it is not on chip."""
        region = step.operand(number)
        memory, touched = self.around.stores.memory(step, region), footprint(region, step, {})
        try:
            self._reach(memory)
            place = self.place(step, number, touched)
            return self.storage.demand(memory, elements * region.element_bytes, write=write, place=place)
        except ProgramError as error:
            raise ProgramError(f"{step.where} of {step.queue}: operand '{region.operand}': {error}") from error

    def places(self, step: Step) -> tuple[int, ...]:
        """Where in the pattern of the banks the operands of ``step`` begin, for those to which it matters."""
        if not self.storage.granular:
            return ()
        placed = step.kept.get("placed")
        if placed is None:
            placed = step.kept["placed"] = self._placed(step)
        if not placed:
            return ()
        env = step.env
        return tuple([(site.address() + offset.at(env)) % granule for site, offset, granule in placed])

    def _placed(self, step: Step) -> list[tuple[OperandSite, Affine, int]]:
        regions = [(region, self._granule(step, region)) for region in (*step.command.reads, *step.command.writes)]
        return [(self.around.stores.site(step, r), r.offset, granule) for r, granule in regions if granule > 1]

    def place(self, step: Step, number: int, touched: ByteFootprint) -> StreamPlace:
        """Where a stream over an operand goes."""
        region = step.operand(number)
        granule, shift = self._granule(step, region), touched.offset - region.offset.at(step.env)
        first_byte = (self._address(step, region) + shift) % granule if granule > 1 else 0
        return StreamPlace(touched, number, shift, first_byte)

    def begin(self, step: Step, streams: CommandStreams) -> RunningStreams:
        """Start the streams of a command now, in the banks where its operands lie."""
        places = streams.places
        if places:
            firsts = [self._address(step, step.operand(item.operand)) + item.shift for item in places]
            streams = streams.at(tuple(firsts))
        return streams.begin()

    def _reach(self, memory: str) -> None:
        """Raise ProgramError for a memory that is not the core's own, where there are several cores."""
        if self.core is not None and core_of(memory) != self.core:
            own = ", ".join(instance(name, self.core) for name in self.around.own) or "none"
            raise ProgramError(f"core[{self.core}] computes only in memories of its own ({own}), not in '{memory}'")

    def _granule(self, step: Step, region: Region) -> int:
        return self.storage.address_granule(self.around.stores.memory(step, region))

    def _address(self, step: Step, region: Region) -> int:
        return self.around.stores.site(step, region).address() + region.offset.at(step.env)

    def _set_up(self, step: Step) -> Execution:
        around, command = self.around, step.command
        if not command.nbytes:
            return CommandOutcome()
        demands, streams = self._setup_streams(step)
        start_ps = around.event_loop.now
        flow = streams.begin()
        yield flow.event
        around.tally.bill(memory_entries(demands)).times[command.layer] += 1
        around.tally.streamed(demands, start_ps, around.event_loop.now)
        return CommandOutcome((("launch", around.event_loop.now),))

    def _setup_streams(self, step: Step) -> tuple[tuple[Demand, ...], CommandStreams]:
        """What a SETUP reads."""
        around, memory = self.around, self.around.setup_memory
        if self.core is not None and memory in around.own:
            memory = instance(memory, self.core)
        try:
            self._reach(memory)
        except ProgramError as error:
            raise ProgramError(f"{step.where} of {step.queue}: {error}") from error
        demands = (self.storage.demand(memory, step.command.nbytes, write=False),)
        return demands, self.storage.streams(demands, self.storage.shortest(demands, self.clock), self.clock)


def _nothing() -> Execution:
    return CommandOutcome()
    yield


def elements_of(region: Region, step: Step) -> int:
    """Elements that a command touches of ``region``: the product of the extents that move it."""
    return 0 if step.is_empty else prod(step.extents[dim] for dim, _ in region.strides)


def number_of(step: Step, operand: str, *, write: bool) -> int:
    """The number of the operand of this name among what a command reads, then writes.

    Raises ProgramError when it reads, or writes, none of that name.
    """
    command = step.command
    before = len(command.reads) if write else 0
    for number, region in enumerate(command.writes if write else command.reads):
        if region.operand == operand:
            return before + number
    raise ProgramError(f"{step.where} of {step.queue}: {step.command.op} has no operand '{operand}'")
