"""The vector unit: one VECTOR command at a time over its lanes.

Cycles by ``facts.vector_cost`` (startup, groups of lanes, plain passes, slow functions), the same formula that the
compiler uses. Each input is read once per index point that moves it, the output written likewise; the streams draw
evenly on their memories' ports over the whole command, which is stretched when a port is short.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from archsim.base.errors import ProgramError
from archsim.facts.vector_cost import vector_cycles
from archsim.ir.inside import MAC, counted
from archsim.ir.unroll import Step
from archsim.sim.clock import ClockDomain
from archsim.sim.protocols import CommandOutcome, CommandStreams, Execution, PlanFacts
from archsim.sim.tally import CommandBill, TallyEntry, memory_entries
from archsim.sim.tile_engine import EngineSurroundings, TileEngine, elements_of
from archsim.spec.architecture import Vector


@dataclass(slots=True)
class VectorPass:
    """A VECTOR command of given extents: cycles, streams, actions, and the MACs that it is where it multiplies and
    adds up."""

    cycles: int
    streams: CommandStreams
    bill: CommandBill
    macs: int


class VectorEngine(TileEngine):
    """Runs the ``vector`` queue of a core."""

    ops = ("VECTOR",)
    plan_ops = ("VECTOR",)
    ports = "vector"

    def __init__(self, around: EngineSurroundings, spec: Vector, core: int | None = None) -> None:
        super().__init__(around, ClockDomain(spec.clock_hz, spec.sync_stages), core)
        self._spec = spec
        self.family = f"vector {spec.name}"
        self._passes = self.plans(self.family, self._pass, self._moved)

    def run(self, step: Step) -> Execution:
        """One command: busy, and the stretch by short ports at the end."""
        work = self._passes.of(step, self.places(step))
        event_loop = self.around.event_loop
        start_ps = event_loop.now
        yield self.begin(step, work.streams).event
        work.bill.times[step.command.layer] += 1
        self.around.tally.streamed(work.streams.demands, start_ps, event_loop.now)
        (busy_end_ps,) = self.clock.edges(start_ps, work.cycles)
        return CommandOutcome((("busy", busy_end_ps), ("sram_port", event_loop.now)), work.macs)

    def planned(self, step: Step) -> PlanFacts:
        """What a command is before it runs."""
        work = self._passes.of(step, self.places(step))
        return PlanFacts("vector", work.streams, work.bill, (work.cycles,), work.macs)

    def _moved(self, work: VectorPass, core: int | None) -> VectorPass:
        return VectorPass(work.cycles, self.storage.moved(work.streams, core, self.core), work.bill, work.macs)

    def _pass(self, step: Step) -> VectorPass:
        spec, command = self._spec, step.command
        elements = prod(step.extents.values())
        if len(command.dtypes) != 1:
            raise ProgramError(f"{step.where} of {step.queue}: VECTOR needs one dtype, that of its lanes")
        if elements and not command.passes and not command.slow:
            raise ProgramError(f"{step.where} of {step.queue}: '{command.function}' states no passes: nothing is free")
        cycles = vector_cycles(
            elements,
            spec.lane_count(command.dtypes[0]),
            spec.group_cycles(command.passes, command.slow, (function.name for function in command.functions)),
            spec.startup_cycles,
        )
        demands = [
            self.demand(step, number, elements_of(region, step), write=number >= len(command.reads))
            for number, region in enumerate((*command.reads, *command.writes))
        ]
        actions = [TallyEntry(spec.name, "lane_ops", elements * command.passes)]
        actions += [TallyEntry(spec.name, name, elements) for name in command.slow]
        return VectorPass(
            cycles,
            self.storage.streams(demands, cycles, self.clock),
            self.around.tally.bill([*actions, *memory_entries(demands)]),
            counted(step) if command.function == MAC else 0,
        )
