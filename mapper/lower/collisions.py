"""How much longer the commands of a mapping take since their bytes meet in banks, share a port, or lie apart in DRAM.

A grid's figures take every stream as contiguous. Here each command to which a mapping is lowered is taken with its
whole tile, and its regions are asked how many cycles they lose in the banks of their memory (``archsim.facts.banks``,
which the machine uses too), and how long DRAM serves their pattern (``StreamRates``); rings are taken to begin in the
first bank. So a ``Slowdown`` is at least 1, and figures that leave it out stay bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

from archsim.facts.banks import banking, lost_cycles
from archsim.ir.footprint import ByteFootprint, footprint
from archsim.ir.mapping import LayerMapping
from archsim.ir.program import Command, Region
from archsim.ir.unroll import Step
from archsim.spec.memories import Memory
from mapper.cost.chip_rates import STREAMS, ChipCosts, fold_function, vector_time
from mapper.cost.slowdown import Slowdown
from mapper.lower.frame import Frame, Stored
from mapper.lower.item import Item
from mapper.lower.layer import commands
from mapper.lower.partials import SUM
from mapper.problem.core_partition import of_core
from mapper.problem.operands import ACC, OUT
from mapper.problem.problem import Problem

ACC_READ, ACC_WRITE = "acc_read", "acc_write"  # streams of an array: its sums
KINDS = ("unit", "move", "pins")
NO_LEAD: Mapping[str, int] = {}


def slowdown(problem: Problem, mapping: LayerMapping, chip: ChipCosts) -> Slowdown:
    """Of a mapping of a problem."""
    frame = Frame(problem, of_core(problem, mapping), _stored(problem))
    asked, spent = _Collisions(frame, chip), dict[tuple[str, str], list[float]]()
    for item in commands(frame):
        runs = prod(frame.trips(at) for at in range(frame.spread, item.depth))
        for who, without, stretched in asked.seconds(item):
            before = spent.setdefault(who, [0.0, 0.0])
            spent[who] = [before[0] + runs * float(without), before[1] + runs * float(stretched)]
    slower = {who: stretched / without for who, (without, stretched) in spent.items() if without}
    by_kind = {kind: {name: of for (found, name), of in slower.items() if found == kind} for kind in KINDS}
    units = by_kind["unit"]
    return Slowdown(units.get("array", 1.0), units.get("vector", 1.0), by_kind["move"], by_kind["pins"])


def _stored(problem: Problem) -> dict[str, Stored]:
    """Tensors by operand, as if each began at the start of its memory."""
    return {
        plan.name: Stored(plan.tensor, 0, tuple([step * plan.element_bytes for step in plan.strides]), plan.shape)
        for plan in problem.operands
        if plan.tensor and not plan.is_stage
    }


class _Stream(NamedTuple):
    """A region that a command reads, or writes, ``elements`` of; 0: all of it once."""

    region: Region
    elements: int
    write: bool


class _Collisions:
    """Asks commands of one frame what they lose in banks."""

    def __init__(self, frame: Frame, chip: ChipCosts) -> None:
        self.frame, self.problem, self.chip = frame, frame.problem, chip
        self._env = dict.fromkeys(frame.vars, 0)
        self._memories = {frame.ring(plan.name): plan.level for plan in self.problem.operands}
        self._memories |= {stored.store: self._of_tensor(name) for name, stored in frame.stored.items()}
        self._memories[frame.ring(SUM)] = self.problem.operand(ACC).level if self.problem.accumulates else ""

    def _of_tensor(self, operand: str) -> str:
        """The memory of the tensor of an operand: the outermost of its plans'."""
        plans = [plan for plan in self.problem.operands if plan.operand == operand]
        outermost = min(plans, key=lambda plan: plan.edge)
        return outermost.level if outermost.resident else outermost.home

    def seconds(self, item: Item) -> Iterator[tuple[tuple[str, str], Fraction | float, Fraction | float]]:
        """What works for a command (``unit``: array or vector; ``move`` or ``pins``: the plan whose tiles it moves),
        and how long that takes without collisions and with them."""
        if item.command.op == "MATMUL":
            yield ("unit", "array"), *self._of_array(item.command)
        elif item.command.op == "VECTOR":
            yield ("unit", "vector"), *self._of_vector(item.command)
        elif item.command.op == "MOVE":
            name = item.operand or OUT
            yield ("move", name), *self._of_move(item.command)
            yield from ((("pins", name), *found) for found in self._on_pins(item.command))

    def _on_pins(self, command: Command) -> Iterator[tuple[float, float]]:
        """Of each side of a move in DRAM: at the peak, and as its pattern goes."""
        step = self._step(command)
        for number, region in enumerate((*command.reads, *command.writes)):
            outer = self.chip.outer.get(self._memories[region.store])
            if outer is not None and outer.rates is not None:
                touched = footprint(region, step, {})
                at_peak = touched.size_bytes / outer.peak_bytes_per_s
                if touched.size_bytes:
                    yield at_peak, max(at_peak, outer.rates.seconds(touched, write=number >= len(command.reads)))

    def _of_array(self, command: Command) -> tuple[Fraction, Fraction]:
        """Of a tile: as long as the slowest of its streams."""
        array = next(array for array in self.chip.architecture.arrays if array.name == self.problem.unit)
        step = self._step(command)
        dtypes = dict(zip(("inputs", "weights"), command.dtypes, strict=True))
        cycles, *accesses = fold_function(self.chip, self.problem.layer, array, dtypes)(tuple(step.extents.items()))
        elements = dict(zip(STREAMS, accesses, strict=True))
        by_name = {region.operand: region for region in (*command.reads, *command.writes)}
        asked = [name for name in STREAMS if command.fresh or name != ACC_READ]  # sums that begin anew are not read
        streams = [_Stream(by_name[name.partition("_")[0]], elements[name], name == ACC_WRITE) for name in asked]
        total = Fraction(cycles + array.startup_cycles, array.clock_hz)
        return total, self._stretched(step, streams, "array", total)

    def _of_vector(self, command: Command) -> tuple[Fraction, Fraction]:
        """Of a command: as long as the slowest of its streams."""
        unit = next(vector for vector in self.chip.architecture.vectors if vector.name == self.problem.vector)
        step, written = self._step(command), len(command.reads)
        elements = prod(step.extents.values())
        cycles = vector_time(elements, command.passes, command.slow, unit, command.dtypes[0])
        regions = enumerate((*command.reads, *command.writes))
        streams = [_Stream(region, _elements(region, step), number >= written) for number, region in regions]
        total = Fraction(cycles, unit.clock_hz)
        return total, self._stretched(step, streams, "vector", total)

    def _of_move(self, command: Command) -> tuple[Fraction, Fraction]:
        """Of a move: as long as the slower of its sides on chip."""
        step, regions = self._step(command), (*command.reads, *command.writes)
        outside = [region for region in regions if self._memory(region).kind == "dram"]
        lead = dict((*outside, *regions)[0].strides)
        streams = [_Stream(region, 0, number >= len(command.reads)) for number, region in enumerate(regions)]
        streams = [stream for stream in streams if self._memory(stream.region).kind != "dram"]
        total = max((self._alone(step, stream, lead) for stream in streams), default=Fraction(0))
        return total, self._stretched(step, streams, "dma", total, lead)

    def _alone(self, step: Step, stream: _Stream, lead: Mapping[str, int]) -> Fraction:
        """Seconds of one side of a move without collisions."""
        memory = self._memory(stream.region)
        rate = memory.bytes_per_cycle_of("dma", write=stream.write) * memory.clock_hz
        return Fraction(footprint(stream.region, step, {}, lead).size_bytes, rate)

    def _stretched(
        self, step: Step, streams: Sequence[_Stream], engine: str, total: Fraction, lead: Mapping[str, int] = NO_LEAD
    ) -> Fraction:
        """Seconds of a command that takes ``total`` beside its streams: those of all that go over one port, with what
        they lose in its banks."""
        over_port = dict[tuple[str, bool], Fraction]()
        for region, elements, write in streams:
            memory, touched = self._memory(region), footprint(region, step, {}, lead)
            size = elements * region.element_bytes or touched.size_bytes
            if not size:
                continue
            cycles = Fraction(size, memory.bytes_per_cycle_of(engine, write=write))
            lost = self._lost(memory, touched, engine, write=write)
            if lost:
                cycles += Fraction(lost * size, touched.size_bytes)
            port = memory.name, write and not memory.port_group(engine, write=write)[1].shared
            over_port[port] = over_port.get(port, Fraction(0)) + cycles / memory.clock_hz
        return max(total, *over_port.values()) if over_port else total

    def _lost(self, memory: Memory, touched: ByteFootprint, engine: str, *, write: bool) -> int:
        """Cycles of the memory that one pass over a region loses."""
        if not touched.size_bytes:
            return 0
        banks = banking(memory)
        ports = memory.port_group(engine, write=write)[1].count(write=write)
        first = touched.offset % banks.granule_bytes if banks.granule_bytes > memory.word_bytes else 0
        return lost_cycles(banks, ports, touched.run_bytes, touched.outer, first)

    def _memory(self, region: Region) -> Memory:
        return self.chip.architecture.memory(self._memories[region.store])

    def _step(self, command: Command) -> Step:
        """The command at its first turn."""
        extents = {extent.dim: extent.at(self._env) for extent in command.extents}
        return Step("", 0, command, self._env, extents, (), (), False, None, None, {})


def _elements(region: Region, step: Step) -> int:
    """Elements that a command touches of a region: the product of the extents that move it."""
    return prod(step.extents[dim] for dim, _ in region.strides)
