"""The DMA engines: MOVE commands between memories, one at a time, strided, clipped at tensor edges.

A move reads the indices that exist at its source and at its destinations; it writes the whole destination, also
what was clipped at the source (``fill``), which is on-chip traffic without source traffic; a move without source
fills its destination. It goes through its indices in the address order of its side in DRAM, else of what it reads;
where the other side is contiguous in another order (a transposition), its elements are accesses of their own there, and
may collide in banks. Several destinations are one read and several writes. ``combine`` (add, max) reads what it
combines with at the destination; each element is one addition of the engine, in the destination's dtype.

Time: ``setup`` cycles for the descriptor and ``run_setup`` for each contiguous run in DRAM, then two things at once:
the transfers on DRAM (burst for burst in the DRAM model), and the streams on on-chip ports, at the DRAM's peak rate or
the ports' if lower. The move ends at the first edge at or after both; the part until the last beat, seen on an edge, is
the DRAM's. A move over the network is the network's until its last flit, one between places on chip beside it for as
long as it takes alone, without conflicts in banks: its descriptor and its bytes at the rate of the narrowest port. What
follows is the ports'. Not modelled: the time until the first beat does not delay the on-chip stream; DRAM and stream do
not slow each other beyond that. With ``outstanding`` n a move has at most n bursts under way in a DRAM: burst i, in the
order of its region, is not asked for before burst i - n has had its last beat (``memory.dram.compiled.intake``).
With ``requests`` n it offers at most n bursts a cycle, over all channels and in order
(``memory.dram.compiled.intake``).

GATHER and SCATTER are in ``archsim.memory.row_engine``, what goes over a network in ``archsim.memory.crossing``. A move
passes caches by; it drops their lines that it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from archsim.base.errors import NotBuiltError, ProgramError
from archsim.ir.activity import charged_to
from archsim.ir.footprint import ByteFootprint, clip, footprint
from archsim.ir.unroll import Step
from archsim.memory.cache import TableCache
from archsim.memory.combined import combined
from archsim.memory.crossing import NetworkCrossings
from archsim.memory.dram.interface import MAX_OUTER_EXTENTS, TransferCompletion
from archsim.memory.dram_side import DramSide
from archsim.memory.journey import Journey
from archsim.memory.move_routes import FabricView, MoveRoute, MoveSide
from archsim.memory.offchip import OffChip, asker_of
from archsim.memory.outer_moves import DramMove, MoverFacts, ShippedMove
from archsim.memory.row_engine import RowEngine
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event
from archsim.sim.protocols import CommandOutcome, CommandStreams, Demand, Execution, PlanFacts
from archsim.sim.tally import CommandBill, TallyEntry, memory_entries
from archsim.sim.tile_engine import EngineSurroundings, TileEngine
from archsim.spec.architecture import Dma
from archsim.spec.network import core_of


@dataclass(slots=True)
class MovePlan:
    """A move of given extents and clips, wherever it starts. ``own_cycles``: of a move on chip alone on its ports (0:
    of others). ``legs``: transfers of DRAM, but those of ``routes``, which are over the network; ``reads``: from DRAM.
    """

    setup_cycles: int
    own_cycles: int
    legs: tuple[DramSide, ...]
    routes: tuple[MoveRoute, ...]
    reads: bool
    streams: CommandStreams
    bill: CommandBill


class MoveTransfers(NamedTuple):
    """What of a move is under way: parts in a DRAM with their ends, and what travels over the network."""

    legs: list[tuple[DramSide, Event]]
    journey: Journey | None


class DmaEngine(TileEngine):
    """Runs a ``load`` or ``store`` queue. ``port``: its rank among the DMA engines where they meet in one instant;
    ``caches``: in front of the DRAM, by the role that they keep.
    """

    ops = ("MOVE", "GATHER", "SCATTER")
    plan_ops = ("MOVE",)
    ports = "dma"
    family = "dma"

    def __init__(
        self,
        around: EngineSurroundings,
        spec: Dma,
        drams: Mapping[str, OffChip],
        caches: Mapping[str, TableCache],
        port: int,
        core: int | None = None,
        fabric: FabricView | None = None,
    ) -> None:
        super().__init__(around, ClockDomain(spec.clock_hz, spec.sync_stages), core)
        self._spec = spec
        self._drams = drams
        self._caches = caches
        self._port = port
        self._asker = asker_of(spec, port)
        self._crossings: NetworkCrossings | None = None
        if fabric is not None and core is not None:
            self._crossings = NetworkCrossings(around, fabric, self.clock, core, port, spec)
        self._rows = RowEngine(around, spec, drams, caches, port, self._crossings)
        self._moves = self.plans(self.family, self._make, self._moved)

    def run(self, step: Step) -> Execution:
        """Rows by index, or one move."""
        return self._move(step) if step.command.op == "MOVE" else self._rows.run(step)

    def _move(self, step: Step) -> Execution:
        """One move: descriptors, then DRAM and on-chip streams at once, to the end of both."""
        plan = self._moves.of(step, self.places(step))
        event_loop, clock = self.around.event_loop, self.clock
        if plan.setup_cycles:
            (ready_ps,) = clock.edges(event_loop.now, plan.setup_cycles)
            yield event_loop.timeout(ready_ps - event_loop.now)
        start_ps = event_loop.now
        transfers = [self._submit(step, leg, number) for number, leg in enumerate(plan.legs)]
        journey = self._crossings.begin(step, plan.routes) if self._crossings and plan.routes else None
        flow = self.begin(step, plan.streams)
        for leg, transfer in zip(plan.legs, transfers, strict=True):
            completion: TransferCompletion = yield transfer
            leg.dram.charge(charged_to(step.command), completion)
        last_beat_ps = event_loop.now
        if journey is not None and journey.left:
            yield journey.event
        if not flow.ended:
            yield flow.event
        plan.bill.times[charged_to(step.command)] += 1
        self.around.tally.streamed(plan.streams.demands, start_ps, flow.end_ps)
        if journey is not None:
            return CommandOutcome(journey.phases(last_beat_ps, reads=plan.reads))
        if transfers:
            return CommandOutcome((("dram", last_beat_ps), ("sram_port", event_loop.now)))
        if not plan.own_cycles:
            return CommandOutcome((("sram_port", event_loop.now),))
        return CommandOutcome(
            (("noc", clock.edge(clock.cycle(start_ps) + plan.own_cycles)), ("sram_port", event_loop.now))
        )

    def planned(self, step: Step) -> PlanFacts:
        """What a move is before it runs."""
        plan = self._moves.of(step, self.places(step))
        return PlanFacts(
            "move", plan.streams, plan.bill, setup=plan.setup_cycles, own=plan.own_cycles, legs=len(plan.legs),
            travels=bool(plan.routes and self._crossings), reads=plan.reads, outer=_outer(plan),
        )  # fmt: skip

    @property
    def rank(self) -> int:
        """Its place among the DMA engines where they meet in one instant."""
        return self._port

    def outer(self, step: Step) -> DramMove | ShippedMove:
        """What of a move goes to DRAM or over the network, where the plan says which its one outer operand is."""
        plan = self._moves.of(step, self.places(step))
        mover = MoverFacts(self._port, self.clock, self._asker)
        if plan.legs or self._crossings is None:
            return DramMove(plan.legs[0], mover)
        return ShippedMove(plan.routes, self._crossings.routes, mover, self._crossings.fabric.send)

    def transfers(self, step: Step) -> MoveTransfers:
        """Start what a move does in DRAM and on the network, at its place in this instant."""
        plan = self._moves.of(step, self.places(step))
        legs = [(leg, self._submit(step, leg, number)) for number, leg in enumerate(plan.legs)]
        return MoveTransfers(
            legs, self._crossings.begin(step, plan.routes) if self._crossings and plan.routes else None
        )

    def _submit(self, step: Step, leg: DramSide, number: int) -> Event:
        region = step.operand(leg.operand)
        address = self.around.stores.address(step, region) + region.offset.at(step.env) + leg.shift
        leg.drop(address)
        order = (self._port, step.index, number)
        return leg.dram.submit(order, leg.shape, address, self.clock, engine=self._asker)

    def _moved(self, plan: MovePlan, core: int | None) -> MovePlan:
        routes = plan.routes
        if self._crossings is not None and core is not None:
            routes = tuple([self._crossings.routes.moved(route, core) for route in routes])
        streams = self.storage.moved(plan.streams, core, self.core)
        return MovePlan(plan.setup_cycles, plan.own_cycles, plan.legs, routes, plan.reads, streams, plan.bill)

    def _make(self, step: Step) -> MovePlan:
        command, storage = step.command, self.storage
        moved = _common([clip(region, step) for region in (*command.reads, *command.writes)])
        lead = self._lead(step)
        first = len(command.reads)
        sources = [self._side(step, n, False, footprint(r, step, moved, lead)) for n, r in enumerate(command.reads)]
        targets = [
            self._side(step, n, True, footprint(r, step, None, lead)) for n, r in enumerate(command.writes, first)
        ]
        legs = [side.leg for side in (*sources, *targets) if side.leg is not None]
        if len({leg.shape.write for leg in legs}) > 1:
            raise ProgramError(f"{step.where} of {step.queue}: a move from DRAM to DRAM has no path on the chip")
        routes = self._crossings.routes.of(next(iter(sources), None), targets) if self._crossings else ()
        demands = [demand for side in sources for demand in self._demands(step, side, False, bool(routes))]
        demands += [demand for side in targets for demand in self._demands(step, side, True, bool(routes))]
        over = [route.side.leg for route in routes if route.side is not None]
        cycles = max(storage.shortest(demands, self.clock), _shortest(legs, self.clock), self._on_links(routes))
        adds = [
            entry
            for side in targets
            for entry in combined(
                self._spec, self.around.stores, step, step.operand(side.operand), side.touched.size_bytes
            )
        ]
        on_chip = not legs and any(side.touched.size_bytes for side in sources)
        return MovePlan(
            self._spec.setup_cycles + self._spec.run_setup_cycles * sum(leg.touched.runs for leg in legs),
            ceil(cycles) if on_chip else 0,
            tuple(leg for leg in legs if not any(leg is other for other in over)),
            routes,
            any(not leg.shape.write for leg in legs),
            storage.streams(demands, cycles, self.clock),
            self.around.tally.bill([*memory_entries(demands), *_dram_entries(legs), *adds]),
        )

    def _on_links(self, routes: Sequence[MoveRoute]) -> Fraction:
        """Cycles of the engine that what crosses takes at least on the link of one core."""
        if self._crossings is None:
            return Fraction(0)
        return self._crossings.fabric.cycles(sum(route.size_bytes for route in routes), self.clock)

    def _side(self, step: Step, number: int, write: bool, touched: ByteFootprint) -> MoveSide:
        region = step.operand(number)
        memory = self.around.stores.memory(step, region)
        shift = touched.offset - region.offset.at(step.env)
        return MoveSide(number, memory, shift, touched, self._leg(step, number, write, touched))

    def _lead(self, step: Step) -> Mapping[str, int]:
        """Strides of the side in whose address order the move goes: in DRAM, else what it reads."""
        regions = (*step.command.reads, *step.command.writes)
        leading = [region for region in regions if self.around.stores.memory(step, region) in self._drams]
        return dict((*leading, *regions)[0].strides)

    def _leg(self, step: Step, number: int, write: bool, touched: ByteFootprint) -> DramSide | None:
        region = step.operand(number)
        dram = self._drams.get(self.around.stores.memory(step, region))
        if dram is None or not touched.size_bytes:
            return None
        if step.command.combine and write:
            raise NotBuiltError(f"{step.where} of {step.queue}: combine '{step.command.combine}' onto DRAM")
        if len(touched.outer) > MAX_OUTER_EXTENTS:
            raise ProgramError(
                f"{step.where} of {step.queue}: operand '{region.operand}' repeats its runs over {len(touched.outer)} "
                f"extents in DRAM; allowed at most {MAX_OUTER_EXTENTS}"
            )
        shift = touched.offset - region.offset.at(step.env)
        cache = self._caches.get(self.around.stores.role(step, region))
        shape = dram.shape(touched, write=write, outstanding=self._spec.outstanding)
        return DramSide(dram, number, shift, touched, shape, cache)

    def _demands(self, step: Step, side: MoveSide, write: bool, crosses: bool) -> list[Demand]:
        """``crosses``: over the network, whose ports gather a message in any order of the banks of a shared memory."""
        memory, touched = side.memory, side.touched
        if memory in self._drams or not touched.size_bytes:
            return []
        accesses = touched.accesses(self.storage.word_bytes(memory))
        place = None if crosses and core_of(memory) is None else self.place(step, side.operand, touched)
        ways = (write, False) if write and step.command.combine else (write,)
        size = touched.size_bytes
        return [self.storage.demand(memory, size, write=way, accesses=accesses, place=place) for way in ways]


def _outer(plan: MovePlan) -> int | None:
    """The one operand of a move that is outside its core, -1 where none is, None where there are several or it is cut
    in parts that are asked of a DRAM."""
    if len(plan.legs) == 1 and not plan.routes:
        return plan.legs[0].operand
    sides = [route.side for route in plan.routes if route.side is not None]
    if plan.legs or any(side.leg is not None for side in sides) or len({side.operand for side in sides}) > 1:
        return None
    return sides[0].operand if sides else -1


def _common(sides: Iterable[Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    """Index ranges that lie inside all sides."""
    common: dict[str, tuple[int, int]] = {}
    for ranges in sides:
        for dim, (low, high) in ranges.items():
            before = common.get(dim, (low, high))
            common[dim] = (max(low, before[0]), min(high, before[1]))
    return common


def _shortest(legs: Iterable[DramSide], clock: ClockDomain) -> Fraction:
    """Cycles of ``clock`` that the transfers take at least, at the peak rate of their DRAM."""
    seconds: dict[str, Fraction] = {}
    for leg in legs:
        peak = leg.dram.peak_bytes_per_s
        if peak is not None:
            seconds[leg.dram.name] = seconds.get(leg.dram.name, Fraction(0)) + leg.size_bytes / peak
    return max(seconds.values(), default=Fraction(0)) * clock.hz


def _dram_entries(legs: Iterable[DramSide]) -> list[TallyEntry]:
    return [
        TallyEntry(leg.dram.name, "write_bytes" if leg.shape.write else "read_bytes", leg.size_bytes) for leg in legs
    ]
