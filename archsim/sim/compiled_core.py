"""The compiled machine beside the event loop: it runs queues, tokens, engines and ports; Python does the rest.

What a command is before it runs, its plan, is asked of its engine once for all commands that are alike. Networks and
DRAMs are called from within it (``models_beside``). Transfers of memories of a constant rate, journeys of DRAM parts
over a network, rows by index, and queues of the host are processes of the event loop: the machine asks for them within
the instant, and is told when they have ended. It runs ahead by itself as far as nobody else has anything to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from archsim.ir.activity import charged_to
from archsim.ir.records import Records
from archsim.ir.unroll import Step
from archsim.sim.clock import ClockDomain
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.run import run
from archsim.sim.compiled.text import write_key
from archsim.sim.core_arena import FOREIGN_FLOWS, new_arena, tell_rooms
from archsim.sim.core_handles import CoreFlow, CoreSink, LegEnd, Mover, SlotsTaken
from archsim.sim.events import EventLoop, ProcessBody
from archsim.sim.given_up import GivenUpError
from archsim.sim.models_beside import ModelsBeside
from archsim.sim.plan_rows import PlanRows
from archsim.sim.planned_streams import PlannedStreams
from archsim.sim.program_tables import ProgramTables
from archsim.sim.protocols import PlanFacts, StreamFacts
from archsim.sim.record_pages import RecordPages
from archsim.sim.tokens import TokenSink

IDLE_PS = 1 << 62


class CoreEngine(Protocol):
    """An engine as the compiled machine needs it (``sim.tile_engine.TileEngine``)."""

    clock: ClockDomain
    core: int | None

    def plan(self, step: Step) -> PlanFacts:
        """What a command is before it runs."""

    def execute(self, step: Step) -> Any:
        """Run a command that Python has to run."""


class MovingEngine(CoreEngine, Protocol):
    """An engine with transfers in DRAM and on the network."""

    def transfers(self, step: Step) -> Any:
        """Start those of a move."""


class CompiledCore:
    """``engines`` by queue run the commands of ``tables``; ``facts_of``: of streams, those of them that are placed.

    ``least_setup_ps``: what a move takes at least before it asks a DRAM or a network.

    Raises UnsuitedError for what it cannot run.
    """

    def __init__(
        self,
        tables: ProgramTables,
        engines: Mapping[str, CoreEngine],
        event_loop: EventLoop,
        cores: int,
        least_setup_ps: int,
        facts_of: Callable[[Any, bool], StreamFacts],
        trace: bool,
    ) -> None:
        self.tables = tables
        self._engines = [engines[queue.name] for queue in tables.queues]
        self._event_loop = event_loop
        self._facts_of = facts_of
        self._cores = max(1, cores)
        self._bills: list[Any] = []
        self._streams: dict[int, tuple[Any, int]] = {}
        self._kept: dict[int, dict[Any, Any]] = {}
        self._movers = [Mover(self, number) for number in range(len(tables.queues))]
        self._running: dict[int, CoreFlow] = {}
        self._units = sorted(tables.ranks, key=tables.ranks.__getitem__)
        self._told: list[tuple[int, ...]] = []
        self._free_flows = list(range(len(tables.queues), len(tables.queues) + FOREIGN_FLOWS))
        self._outside: dict[int, TokenSink] = {}
        self._awake = False
        self.submits_ps = event_loop.now  # nothing is asked of a model before
        self.models_ps = ModelsBeside.IDLE_PS  # its own models complete nothing before
        self.next_ps = (
            event_loop.now
        )  # the next instant in which the machine has something to do; IDLE_PS: there is none
        self.arena = new_arena(tables, self._cores, event_loop.now)
        self.arena.m[k.LEAST_SETUP_PS] = least_setup_ps
        self._rows = PlanRows(self.arena, facts_of, trace)
        self._models = ModelsBeside(self.arena, event_loop.join(self), len(tables.layers))
        self._pages = RecordPages()

    # ---- to the event loop

    def run_ahead(self, until_ps: int) -> int:
        """Run the instants up to ``until_ps``, in which nobody else does anything; the instant reached: the first in
        which something is asked of Python, else the last one."""
        self.arena.m[k.NOW] = self._event_loop.now
        self._run(until_ps, k.AHEAD)
        return int(self.arena.m[k.NOW])

    def run_model(self, until_ps: int) -> None:
        """Run the first of the models to what it completes, up to ``until_ps``."""
        self.arena.m[k.NOW] = self._event_loop.now
        self._run(until_ps, k.MODELS_ALONE)

    @property
    def has_requests(self) -> bool:
        """Whether something was asked of the models in the present instant."""
        return bool(self.arena.m[k.REQUEST_COUNT])

    def request(self, model: int, order: tuple[int, ...], request: Any) -> None:
        """Ask a model for something at the end of this instant; the event loop is told when it has ended."""
        rank, index, number = order
        self.tell(k.HAVE_REQUEST, self._models.numbers[model], rank, index, number, *self._models.row(model, request))

    def wake(self) -> None:
        """Have the machine go on within the present instant."""
        if not self._awake:
            self._awake = True
            self._event_loop.at_end(self._go_on)

    def tell(self, *row: int) -> None:
        """Tell the machine what has happened now."""
        self._told.append(row)
        self.wake()

    def _hand_over(self) -> None:
        """Write what is told where the machine reads it."""
        told = self._told
        self._models.more_tickets(len(told))
        m = self.arena.m
        if len(told) > self.arena.rows["TOLD"]:
            raise GivenUpError("too much at once")
        at = int(m[k.TOLD_AT])
        for row in told:
            m[at : at + len(row)] = row
            at += k.TOLD_WIDTH
        m[k.TOLD_COUNT] = len(told)
        told.clear()

    def _go_on(self) -> None:
        self._awake = False
        self.arena.m[k.NOW] = self._event_loop.now
        self._run(self._event_loop.now, k.WITHIN)

    def _run(self, until_ps: int, how: int) -> None:
        arena = self.arena
        if self._told:
            self._hand_over()
        while True:
            asked = run(arena.m, arena.x, arena.r, until_ps, how)
            failed = int(arena.m[k.FAILED])
            if failed not in (k.FINE, k.FULL, k.MODEL_FULL):
                raise GivenUpError(f"reason {failed}")
            if failed == k.FINE:
                break
            if failed == k.MODEL_FULL:
                self._models.make_room()
            else:
                self._more_room()
            arena.m[k.FAILED] = k.FINE
        m = arena.m
        self.submits_ps = int(m[k.SUBMITS_PS])
        models_ps = int(m[k.MODELS_PS])
        self.models_ps = models_ps if models_ps < k.NEVER else ModelsBeside.IDLE_PS
        self.next_ps = int(m[m[k.EVENTS_AT]]) if m[k.EVENT_COUNT] else IDLE_PS
        if asked:
            self._event_loop.reach(int(m[k.NOW]))
            self._answer(arena.table("ASKED")[:asked].tolist())

    def _more_room(self) -> None:
        """An empty page for records, and room for events and moves."""
        self._turn_page()
        most = 4 * len(self._engines) + 64
        self.arena.room("EVENTS", int(self.arena.m[k.EVENT_COUNT]) + 4 * most)
        tell_rooms(self.arena)
        self._models.more_tickets(most)

    def _turn_page(self) -> None:
        """Pack what is recorded."""
        m, table = self.arena.m, self.arena.table
        self._pages.take(table("RECORDS")[: int(m[k.RECORD_COUNT])], table("PHASES")[: int(m[k.PHASE_COUNT])])
        m[k.RECORD_COUNT] = m[k.PHASE_COUNT] = 0

    # ---- what the machine asks

    def _answer(self, asked: Iterable[list[int]]) -> None:
        for kind, what, a, b, c, d in asked:
            if kind == k.COMPLETED:
                self._event_loop.completed(*self._models.completed(what, a, b))
                continue
            self.wake()
            if kind == k.WANT_PLAN:
                self._plan(what)
            elif kind == k.WANT_TRANSFERS:
                self._transfer(what, a, b, c, d)
            elif kind == k.WANT_FOREIGN:
                self._event_loop.start(self._foreign(what, self._step(what)))
            elif kind == k.FLOW_ENDED:
                self._end_flow(what)
            else:
                self._outside[what].give(a, (b, self._units[c], d))

    def _step(self, q: int) -> Step:
        """The command that a queue is at."""
        m, tables = self.arena.m, self.tables
        queue = self._queue_at(q)
        current = int(m[queue + k.CURRENT])
        command, inside = tables.commands[current], tables.variables(current)
        first = int(m[k.ENV_AT]) + q * tables.depth
        env = dict(zip(inside, m[first : first + len(inside)].tolist(), strict=True))
        kept = self._kept.setdefault(current, {})
        sizes = tuple([extent.at(env) for extent in command.extents])
        extents = kept.get(sizes)
        if extents is None:  # plans are kept by this object
            extents = kept[sizes] = dict(zip([extent.dim for extent in command.extents], sizes, strict=True))
        row = int(m[k.COMMANDS_AT]) + current * k.COMMAND_WIDTH
        fresh = m[queue + k.BITS] & m[row + k.FRESH_BITS] == m[row + k.FRESH]
        name, index = tables.queues[q].name, int(m[queue + k.INDEX])
        return Step(name, index, command, env, extents, (), (), bool(fresh), None, None, kept)

    def _plan(self, q: int) -> None:
        """Ask the engine for the plan of a command; of several queues that ask for the same, the first is asked."""
        found = self._engines[q].plan(self._step(q))
        plan = len(self._bills)
        arena = self.arena
        arena.room("PLANS", plan + 1)
        arena.room("PLAN_KEYS", plan + 1)
        arena.room("COUNTS", plan + 1)
        if 2 * plan >= arena.rows["PLAN_TABLE"]:
            self._rehash()
        self._bills.append(found.bill)
        arena.table("PLANS")[plan] = self._rows.row(plan, found, self._engines[q].core)
        arena.table("PLAN_KEYS")[plan] = self._key(q)
        self.tell(k.HAVE_PLAN, q, plan)

    def _key(self, q: int) -> Any:
        """What the plan of the command that a queue is at follows from, as the machine works it out."""
        m = self.arena.m
        size = write_key(m, q)
        at = int(m[k.KEY])
        found = m[at : at + int(m[k.KEY_WIDTH])].copy()
        found[size:] = 0
        found[-1] = size
        return found

    def _rehash(self) -> None:
        """Twice the room for finding plans."""
        arena = self.arena
        arena.room("PLAN_TABLE", 2 * arena.rows["PLAN_TABLE"])
        table = arena.table("PLAN_TABLE")
        size = 1 << (len(table).bit_length() - 1)
        table[:] = k.NONE
        arena.m[k.PLAN_MASK] = size - 1
        for plan in range(len(self._bills)):
            self.tell(k.HAVE_PLAN, k.NONE, plan)

    def _transfer(self, q: int, plan: int, address: int, index: int, begun: int) -> None:
        """Start what the move of a queue does in DRAM and on the network; ``plan``: NONE where each is begun anew,
        ``begun``: NONE where it has not been begun yet."""
        if plan == k.NONE:
            self._transfer_anew(q)
            return
        mover = self._movers[q]
        if begun == k.NONE:
            engine: Any = self._engines[q]
            mover.moves[plan] = engine.outer(self._step(q))
            if self._models.begin(q, plan, engine.rank, mover.moves[plan].parcels()):
                del mover.moves[plan]
                self.tell(k.HAVE_BEGUN, q, address)
                return
        move = mover.moves[plan]
        command = self.tables.commands[int(self.arena.m[self._queue_at(q) + k.CURRENT])]
        move.begin(address, index, charged_to(command), mover.leg_ended, mover.travelled)

    def _queue_at(self, q: int) -> int:
        """Where the row of a queue begins."""
        return int(self.arena.m[k.QUEUES_AT]) + q * k.QUEUE_WIDTH

    def _transfer_anew(self, q: int) -> None:
        engine: Any = self._engines[q]
        step = self._step(q)
        legs, journey = engine.transfers(step)
        for leg, event in legs:
            event.callbacks.append(LegEnd(self, q, leg, charged_to(step.command)))
        if journey is not None:
            if journey.left:
                journey.event.callbacks.append(lambda _: self._arrived(q, journey))
            else:
                self._arrived(q, journey)

    def _arrived(self, q: int, journey: Any) -> None:
        self.tell(k.TRAVEL_ENDED, q, journey.beat_ps, journey.flit_ps)

    def _foreign(self, q: int, step: Step) -> ProcessBody:
        """A command that Python runs."""
        outcome = yield from self._engines[q].execute(step)
        phases = [(k.PHASE_NAMES.index(name), until_ps) for name, until_ps in outcome.phases]
        self.tell(k.FOREIGN_ENDED, q, len(phases), *[number for phase in phases for number in phase])

    # ---- ports, for commands that Python runs; see memory.memory_port.StreamStarter

    def begin(self, streams: Any) -> CoreFlow:
        """Start ``streams`` now."""
        if not self._free_flows:
            raise GivenUpError("too many streams")
        known = self._streams.get(id(streams))
        if known is None:
            known = self._streams[id(streams)] = streams, self._rows.stream(self._facts_of(streams, True), None)
        flow, number = CoreFlow(self._event_loop.event()), self._free_flows.pop()
        self._running[number] = flow
        self.tell(k.BEGIN_FLOW, number, known[1], 0, self.tables.clock(streams.clock))
        return flow

    def _end_flow(self, number: int) -> None:
        flow = self._running.pop(number)
        self._free_flows.append(number)
        flow.ended, flow.end_ps = True, self._event_loop.now
        flow.event.succeed()

    # ---- tokens, for queues outside and for the addresses of operands

    def slots(self, queue: str, ring: str) -> SlotsTaken:
        """The slots of ``ring`` that ``queue`` takes (of ``sim.wiring.Wiring``)."""
        return SlotsTaken(self, self.tables.counter(self._rings[ring], queue))

    @cached_property
    def _rings(self) -> dict[str, int]:
        return {ring.name: number for number, ring in enumerate(self.tables.program.rings)}

    def sinks(self, queue: str, token: str) -> list[tuple[CoreSink, str]]:
        """Where signals of a queue outside go, and who takes them."""
        return [(CoreSink(self, kind, sink), taker) for kind, sink, taker in self.tables.sinks(token)]

    def hand_to(self, sink: int, counter: TokenSink) -> None:
        """Give tokens of ``tables.outside`` to a counter of a queue outside."""
        self._outside[sink] = counter

    # ---- what was done

    @property
    def is_ended(self) -> bool:
        """Whether all queues have run to their ends."""
        return bool((self.arena.table("QUEUES")[:, k.STATE] == k.ENDED).all())

    @property
    def ended(self) -> int:
        """Commands that have ended."""
        return self._pages.count + int(self.arena.m[k.RECORD_COUNT])

    @property
    def end_ps(self) -> int:
        """When the last command so far has ended; 0 before the first one."""
        self._turn_page()
        return self._pages.end_ps

    def settle_bills(self) -> None:
        """Stamp the bills of all plans, as often as they were performed for each layer."""
        counts = self.arena.table("COUNTS")[: len(self._bills)]
        layers = list(self.tables.layers)
        for plan, layer in np.argwhere(counts > 0).tolist():
            self._bills[plan].times[layers[layer]] += int(counts[plan, layer])

    def close(self) -> None:
        """Give its memory back at once: what is left of a machine that has stopped is searched for seldom."""
        self.arena.close()

    def results(self) -> tuple[dict[str, Records], PlannedStreams]:
        """The records of all queues, and their streams on on-chip memories; both are handed over."""
        tables = self.tables
        self._turn_page()
        names = [*k.PHASE_NAMES, *self._units]
        plans = self.arena.table("PLANS")[: len(self._bills)]
        of_plans = [np.append(plans[:, column], 0) for column in (k.MACS, k.SLOTS_PER_CYCLE)]
        columns = self._pages.close(len(tables.queues), *of_plans)
        found = {
            queue.name: Records.filled(queue.name, texts, names, own.packed)
            for queue, texts, own in zip(tables.queues, tables.texts, columns, strict=True)
        }
        cores = self.arena.table("QUEUES")[:, k.CORE].tolist()
        return found, self._rows.streams(list(zip(cores, columns, strict=True)))
