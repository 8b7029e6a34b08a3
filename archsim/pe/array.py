"""The array engine: one MATMUL tile at a time on a PE array.

The dataflow's ``fold`` gives the cycles of a tile (load, fill, stream, drain), the elements that cross the array's
edge and the actions inside; the compiler uses the same function. A tile takes load + startup + fill + stream + drain
cycles, while its edge streams draw evenly on the ports of the memories that hold its operands; when a port is short,
the whole tile is stretched. The bias is read once where the accumulation starts from it.

Not modelled: stalls of single operands inside a tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from archsim.base.errors import ProgramError
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Fold, Nest, streams_of
from archsim.ir.inside import counted
from archsim.ir.unroll import Step
from archsim.sim.clock import ClockDomain
from archsim.sim.protocols import CommandOutcome, CommandStreams, Demand, Execution, PlanFacts
from archsim.sim.tally import CommandBill, TallyEntry, memory_entries
from archsim.sim.tile_engine import EngineSurroundings, TileEngine, elements_of, number_of
from archsim.spec.architecture import Array

NOTHING = Fold(0, 0, 0, 0, streams_of(a=0, b=0, acc_read=0, acc_write=0), {"mac": 0})  # of a tile without any work
PHASES = ("weight_load", "fill_drain", "busy", "fill_drain", "sram_port")  # of a tile, in order


@dataclass(slots=True)
class ArrayTile:
    """A tile of given extents: cycles to the end of each stage, streams, actions."""

    load_end: int
    fill_end: int
    stream_end: int
    drain_end: int
    streams: CommandStreams
    bill: CommandBill
    macs: int
    slots_per_cycle: int


class ArrayEngine(TileEngine):
    """Runs the ``array`` queue of a core. Raises ConfigError for an unknown dataflow."""

    ops = ("MATMUL",)
    plan_ops = ("MATMUL",)
    ports = "array"

    def __init__(self, around: EngineSurroundings, spec: Array, core: int | None = None) -> None:
        super().__init__(around, ClockDomain(spec.clock_hz, spec.sync_stages), core)
        self._spec = spec
        self._fold = catalogue.get(spec.dataflow).fold
        self.family = f"array {spec.name}"
        self._tiles = self.plans(self.family, self._tile, self._moved)

    def run(self, step: Step) -> Execution:
        """One tile: load, fill, stream, drain, and the stretch by short ports at the end."""
        tile = self._tiles.of(step, self.places(step))
        event_loop, clock = self.around.event_loop, self.clock
        start_ps = event_loop.now
        yield self.begin(step, tile.streams).event
        tile.bill.times[step.command.layer] += 1
        self.around.tally.streamed(tile.streams.demands, start_ps, event_loop.now)
        ends = tile.load_end, tile.fill_end, tile.stream_end, tile.drain_end
        phases = tuple(zip(PHASES, (*clock.edges(start_ps, *ends), event_loop.now), strict=True))
        return CommandOutcome(phases, tile.macs, tile.slots_per_cycle)

    def planned(self, step: Step) -> PlanFacts:
        """What a tile is before it runs."""
        tile = self._tiles.of(step, self.places(step))
        ends = tile.load_end, tile.fill_end, tile.stream_end, tile.drain_end
        return PlanFacts("array", tile.streams, tile.bill, ends, tile.macs, tile.slots_per_cycle)

    def _tile(self, step: Step) -> ArrayTile:
        spec, command = self._spec, step.command
        if len(command.dtypes) != 2:
            raise ProgramError(f"{step.where} of {step.queue}: MATMUL needs two dtypes: inputs, weights")
        rate = spec.rate(*command.dtypes)
        fold = self._folded(step, rate)
        demands = self._demands(step, fold)
        load_end = fold.cycles_load
        fill_end = load_end + spec.startup_cycles + fold.cycles_fill
        stream_end = fill_end + fold.cycles_stream
        drain_end = stream_end + fold.cycles_drain
        actions = [TallyEntry(spec.name, action, count) for action, count in fold.inner_actions.items()]
        return ArrayTile(
            load_end,
            fill_end,
            stream_end,
            drain_end,
            self.storage.streams(demands, drain_end, self.clock),
            self.around.tally.bill([*actions, *memory_entries(demands)]),
            fold.inner_actions["mac"] and counted(step),
            ceil(spec.rows * spec.cols * rate),
        )

    def _moved(self, tile: ArrayTile, core: int | None) -> ArrayTile:
        streams = self.storage.moved(tile.streams, core, self.core)
        ends = tile.load_end, tile.fill_end, tile.stream_end, tile.drain_end
        return ArrayTile(*ends, streams, tile.bill, tile.macs, tile.slots_per_cycle)

    def _folded(self, step: Step, rate: Fraction) -> Fold:
        spec, nest = self._spec, step.command.nest
        if nest is None:
            raise ProgramError(f"{step.where} of {step.queue}: MATMUL needs a nest")
        if step.is_empty:
            return NOTHING
        options = spec.weight_double_buffer, spec.fold_overlap, spec.load_rows, spec.block
        shape = ArrayShape(spec.rows, spec.cols, rate, *options)
        parts = Nest(batch=nest.batch, m=nest.m, n=nest.n, k=nest.k, windows=nest.windows)
        return self._fold(parts, step.extents, shape, accumulate=not step.fresh)

    def _demands(self, step: Step, fold: Fold) -> list[Demand]:
        sums = number_of(step, "acc", write=True)
        demands = [
            self.demand(step, number_of(step, "a", write=False), fold.streams["a"].accesses, write=False),
            self.demand(step, number_of(step, "b", write=False), fold.streams["b"].accesses, write=False),
            self.demand(step, sums, fold.streams["acc_read"].accesses, write=False),
            self.demand(step, sums, fold.streams["acc_write"].accesses, write=True),
        ]
        if step.fresh and fold is not NOTHING:
            for number, region in enumerate(step.command.reads):
                if region.operand == "bias":
                    demands.append(self.demand(step, number, elements_of(region, step), write=False))
        return demands
