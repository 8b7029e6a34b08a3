"""The whole machine: parts built from an Architecture, wired to the queues of a Program, run to the end.

``simulate`` is what the compiler's re-ranking, the lab and the command line call. The Program is taken as checked
(``archsim.ir.check``); what remains at run time is deadlock and token underflow, which raise SimulationError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from archsim.base.errors import ProgramError, SimulationError
from archsim.base.memory import give_back
from archsim.base.progress import stretch
from archsim.host.runtime import HostRuntime
from archsim.ir.activity import Activity, edge_ps
from archsim.ir.columns import ProgramColumns
from archsim.ir.program import Program, Queue
from archsim.ir.records import Records
from archsim.ir.unroll import count_commands
from archsim.memory.cache import TableCache
from archsim.memory.chip_ports import ChipPorts
from archsim.memory.dma import DmaEngine
from archsim.memory.memory_port import PortStreams
from archsim.memory.offchip import OffChip
from archsim.memory.scratchpad import Scratchpads
from archsim.memory.stream_facts import stream_facts
from archsim.pe.core import compute_engine, core_number, idle_names
from archsim.sim.clock import ClockDomain
from archsim.sim.deadlock import report
from archsim.sim.events import EventLoop, ProcessBody
from archsim.sim.given_up import GivenUpError
from archsim.sim.machine_choice import OF_PROCESS
from archsim.sim.plan_texts import QueueFacts
from archsim.sim.program_tables import ProgramTables
from archsim.sim.protocols import Engine
from archsim.sim.queue import CommandQueue, PipelinedQueue
from archsim.sim.stores import OperandStores
from archsim.sim.tally import Tally
from archsim.sim.tile_engine import EngineSurroundings
from archsim.sim.wiring import Wiring
from archsim.spec.architecture import Architecture

if TYPE_CHECKING:
    from archsim.noc.fabric import Fabric
    from archsim.sim.compiled_core import CompiledCore


def simulate(
    program: Program, architecture: Architecture, *, trace_bandwidth: bool = True, columns: ProgramColumns | None = None
) -> Activity:
    """Run ``program`` on ``architecture`` from the doorbell at time 0 to its last command's end.

    ``trace_bandwidth``: keep who moved bytes when (Activity.bandwidth). ``columns``: of the Program, where they are
    there already. Raises ProgramError for what the machine cannot run, ConfigError for a part that cannot be built,
    SimulationError for deadlock (who waits for whom) and token underflow.
    """
    columns = columns or ProgramColumns(program)
    if OF_PROCESS.is_compiled(int(columns.runs.sum())):
        try:
            return Machine(program, architecture, trace=trace_bandwidth, compiled=True, columns=columns).run()
        except GivenUpError:
            pass  # the machine of processes runs it, or says what is wrong
    return Machine(program, architecture, trace=trace_bandwidth).run()


class Machine:
    """The parts of one chip, loaded with one Program."""

    def __init__(
        self,
        program: Program,
        architecture: Architecture,
        *,
        trace: bool,
        compiled: bool = False,
        columns: ProgramColumns | None = None,
    ) -> None:
        """``compiled``: queues, engines and ports run in compiled code; raises UnsuitedError where they cannot.
        ``columns``: of the Program, where they are there already."""
        self._program = program
        self._architecture = architecture
        self._event_loop = EventLoop()
        self._tally = Tally(trace=trace)
        explicit = [memory for memory in architecture.memories if memory.filled_by == "dma"]
        self._drams = {
            memory.name: OffChip(memory, self._event_loop, self._tally) for memory in explicit if memory.kind == "dram"
        }
        self._caches = {cache.name: TableCache(cache, list(self._drams)) for cache in architecture.caches}
        on_chip = [memory for memory in explicit if memory.kind != "dram"]
        scratchpads = {name: memory for memory in on_chip for name in architecture.instances(memory)}
        self._fabric = _fabric(architecture, self._event_loop, self._tally)
        self._ports = LatePorts() if compiled else ChipPorts(self._event_loop)
        self._pads = Scratchpads(scratchpads | {cache.name: cache for cache in architecture.caches}, self._ports)
        self._trace = trace
        self._host = HostRuntime(self._tally, architecture.host) if architecture.host is not None else None
        self._core: CompiledCore | None = None
        self._clocks: list[ClockDomain] = []  # of the queues in it
        self._load(columns)

    def _load(self, columns: ProgramColumns | None = None) -> None:
        """Fresh queues, with the tokens that they have at time 0, on the parts as they are."""
        program = self._program
        stores = OperandStores(program)
        weights = self._architecture.path("weights")
        self._around = EngineSurroundings(
            event_loop=self._event_loop,
            storage=self._pads,
            stores=stores,
            tally=self._tally,
            setup_memory=weights[-1].name if weights else "",
            own=self._architecture.noc.inside if self._architecture.noc is not None else (),
        )
        if isinstance(self._ports, LatePorts):
            self._compile(stores, self._ports, columns or ProgramColumns(program))
            return
        self._queues = [self._queue(rank, queue) for rank, queue in enumerate(program.queues)]
        self._wiring = Wiring(
            program,
            self._event_loop,
            {queue.name: queue.clock for queue in self._queues},
            {queue.name: queue.notify for queue in self._queues},
        )
        stores.connect(self._wiring)
        for queue in self._queues:
            queue.connect(self._wiring)

    def _compile(self, stores: OperandStores, ports: LatePorts, columns: ProgramColumns) -> None:
        """All queues but the host's in compiled code."""
        from archsim.sim.compiled_core import CompiledCore
        from archsim.sim.outside_wiring import OutsideWiring

        program, architecture = self._program, self._architecture
        engines: dict[str, Any] = {
            queue.name: self._engine(rank, queue) for rank, queue in enumerate(program.queues) if queue.engine != "host"
        }
        self._clocks = [engine.clock for engine in engines.values()]
        facts = {name: _facts(engine) for name, engine in engines.items()}
        host = {queue.name: self._host.clock for queue in program.queues if queue.engine == "host" and self._host}
        tables = ProgramTables(columns, facts, stores.tape, host)
        give_back()
        cores = architecture.cores if architecture.noc is not None else 1
        self._core = ports.core = CompiledCore(
            tables, engines, self._event_loop, cores, edge_ps(architecture.dma.setup_cycles, architecture.dma.clock_hz),
            lambda streams, placed: stream_facts(streams, placed=placed),
            trace=self._trace,
        )  # fmt: skip
        stores.connect(self._core)
        self._queues = [self._queue(rank, queue) for rank, queue in enumerate(program.queues) if queue.engine == "host"]
        for queue in self._queues:
            queue.connect(OutsideWiring(self._core, queue.name, queue.clock, queue.notify, self._event_loop))

    def run(self) -> Activity:
        """Simulate to the end and give the account."""
        event_loop, queues = self._event_loop, self._queues
        for queue in queues:
            event_loop.start(queue.run())
        self._simulate()
        records = {queue.name: queue.records for queue in queues}
        if self._core is not None:
            done, streams = self._core.results()
            records = {queue.name: (records | done)[queue.name] for queue in self._program.queues}
            self._core.settle_bills()
            layers = [*self._core.tables.layers]
            for part in self._drams.values():
                part.settle(layers)
            if self._fabric is not None:
                self._fabric.settle(layers)
            self._tally.plan(streams)
            self._core.close()
        total_ps = max((rows[-1].end_ps for rows in records.values() if rows), default=0)
        event_loop.finish(total_ps)
        dram = {name: part.close() for name, part in self._drams.items()}
        noc = self._fabric.close() if self._fabric is not None else None
        idle = idle_names(self._architecture, self._program.queues)
        return Activity(
            program=self._program.name,
            total_ps=total_ps,
            clock_hz=self._architecture.clock_hz,
            records=records | {name: Records(name) for name in idle},
            counts=self._tally.counts(),
            dram=dram,
            bandwidth=self._tally.bandwidth(),
            fidelity=self._fidelity(),
            caches={name: cache.stats for name, cache in self._caches.items()},
            noc=noc,
            roles=self._tally.roles(self._drams),
        )

    def _fidelity(self) -> dict[str, str]:
        """What was simulated how, by part."""
        found = {name: part.model.fidelity for name, part in self._drams.items()}
        noc = self._architecture.noc
        return found if noc is None else found | {noc.name: noc.fidelity}

    def repeat(self, at_end: Callable[[int, Machine], bool]) -> None:
        """Run the Program again and again, each time from the instant at which it has ended.

        ``at_end`` is told when a run begins (at 0 too), with nothing under way, and says whether to go on.
        """
        if self._core is None:
            self._event_loop.start(self._repetitions(at_end))
            self._simulate()
            return
        goes_on = at_end(self._event_loop.now, self)
        while goes_on:
            for queue in self._queues:
                self._event_loop.start(queue.run())
            self._simulate()
            if self._end_ps() != self._event_loop.now:
                raise GivenUpError("something goes on when all queues have ended")
            self._core.close()
            goes_on = at_end(self._event_loop.now, self)
            if goes_on:
                self._load()

    def _end_ps(self) -> int:
        """When the last command so far has ended."""
        ends = [queue.records[-1].end_ps for queue in self._queues if queue.records]
        return max(ends, default=0) if self._core is None else max([*ends, self._core.end_ps])

    def entry(self, at_ps: int, *, align: bool) -> bytes:
        """In which state the idle machine is at ``at_ps``, relative to then; see DramModel.

        With a network no two instants are alike: who comes first at its routers is kept from run to run.
        """
        clocks = dict.fromkeys([*self._clocks, *(queue.clock for queue in self._queues)])
        parts = [part.model.entry(at_ps, align=align) for part in self._drams.values()]
        held = [cache.state for cache in self._caches.values()]
        if self._fabric is not None:
            held.append(at_ps.to_bytes(8, "little"))
        host = self._host.entry(at_ps) if self._host is not None else b""
        return b"".join([*parts, *held, *(clock.phase(at_ps) for clock in clocks), host])

    def _repetitions(self, at_end: Callable[[int, Machine], bool]) -> ProcessBody:
        event_loop = self._event_loop
        while at_end(event_loop.now, self):
            yield from [event_loop.start(queue.run()) for queue in self._queues]
            self._load()

    def _simulate(self) -> None:
        """To the end of all that can happen; raises SimulationError when a queue is left."""
        queues = self._program.queues
        with stretch("simulating", "commands", lambda: sum(map(count_commands, queues)), done=self._ended):
            self._event_loop.run()
        if self._core is not None and not self._core.is_ended:
            raise GivenUpError("not all queues ended")
        if not all(queue.ended for queue in self._queues if queue.head is not None):
            raise SimulationError(report(self._queues, self._wiring, self._event_loop.now))

    def _ended(self) -> int:
        """Commands that have ended."""
        return sum(len(queue.records) for queue in self._queues) + (self._core.ended if self._core is not None else 0)

    def _queue(self, rank: int, queue: Queue) -> CommandQueue | PipelinedQueue:
        if queue.engine != "host":
            return CommandQueue(self._event_loop, queue, self._engine(rank, queue))
        if self._host is None:
            raise ProgramError(f"queue '{queue.name}': chip '{self._architecture.name}' has no host")
        return PipelinedQueue(self._event_loop, queue, self._host)

    def _engine(self, rank: int, queue: Queue) -> Engine:
        if queue.engine in ("load", "store"):
            by_role = {role: self._caches[cache.name] for cache in self._architecture.caches for role in cache.keeps}
            core = core_number(queue.name, self._architecture)
            return DmaEngine(self._around, self._architecture.dma, self._drams, by_role, rank, core, self._fabric)
        return compute_engine(queue, self._architecture, self._around)


class LatePorts:
    """Ports of the compiled machine, which is built when the engines that use them are there."""

    core: CompiledCore

    def begin(self, streams: PortStreams) -> Any:
        """Start ``streams`` now."""
        return self.core.begin(streams)


def _facts(engine: Any) -> QueueFacts:
    planned = frozenset((*engine.plan_ops, "SETUP"))
    return QueueFacts(engine.clock, engine.core, engine.family, engine.storage.address_granule, planned)


def _fabric(architecture: Architecture, event_loop: EventLoop, tally: Tally) -> Fabric | None:
    """The network, on chips that have one."""
    noc = architecture.noc
    if noc is None:
        return None
    from archsim.noc.fabric import Fabric
    from archsim.noc.network import Network

    return Fabric(noc, Network(noc), event_loop, tally)
