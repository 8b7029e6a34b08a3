"""How much longer the commands of a mapping take since their bytes meet in banks, share a port, or lie apart in DRAM.

A grid's figures take every stream as contiguous. Here each command to which a mapping is lowered is taken with its
whole tile, and its regions are asked how many cycles they lose in the banks of their memory (``archsim.facts.banks``,
which the machine uses too), and how long DRAM serves their pattern (``StreamRates``); rings are taken to begin in the
first bank. So a ``Slowdown`` is at least 1, and figures that leave it out stay bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from archsim.facts.banks import banking, lost_cycles
from archsim.ir.footprint import ByteFootprint, footprint
from archsim.ir.mapping import LayerMapping
from archsim.ir.program import Command, Region
from archsim.ir.unroll import Step
from archsim.spec.memories import Memory
from mapper.cost.chip_rates import STREAMS, ChipCosts, LaneWork, fold_function, vector_time
from mapper.cost.slowdown import Slowdown
from mapper.lower.first_turn import FirstTurn
from mapper.lower.frame import Stored
from mapper.lower.item import Item
from mapper.lower.layer import commands
from mapper.lower.partials import SUM
from mapper.problem.core_partition import of_core
from mapper.problem.operands import ACC, OUT
from mapper.problem.problem import Problem

ACC_READ, ACC_WRITE = "acc_read", "acc_write"  # streams of an array: its sums
KINDS = ("unit", "move", "pins")


def slowdown(problem: Problem, mapping: LayerMapping, chip: ChipCosts) -> Slowdown:
    """Of a mapping of a problem."""
    return Collisions(problem, chip).slowdown(mapping)


def _stored(problem: Problem) -> dict[str, Stored]:
    """Tensors by operand, as if each began at the start of its memory."""
    return {
        plan.operand: Stored(plan.tensor, 0, tuple([step * plan.element_bytes for step in plan.strides]), plan.shape)
        for plan in problem.operands
        if plan.tensor and not plan.made_of
    }


class _Stream(NamedTuple):
    """Bytes that a command reads, or writes, of what it ``touched`` in a memory."""

    memory: Memory
    touched: ByteFootprint
    size_bytes: int
    write: bool


class Spent(NamedTuple):
    """Seconds of a command without collisions, and with them."""

    without: float
    stretched: float


def _turns(frame: FirstTurn, at: int, command: Command) -> int:
    """In how many iterations of a loop a command runs, of those outside one: in all, the first, or all others."""
    trips, var = frame.trips(at), frame.vars[at]
    for edge in command.when:
        if edge.var == var:
            trips = trips - 1 if edge.negated else 1
    return trips


Ratio = tuple[int, int]  # of whole numbers, as it comes
Asked = tuple[tuple[str, str], Spent]  # what works for a command, and how long


class Collisions:
    """Asks commands of mappings of one problem what they lose in banks, equal ones once."""

    def __init__(self, problem: Problem, chip: ChipCosts) -> None:
        self.problem, self.chip = problem, chip
        self._stored = _stored(problem)
        frame = self._plain(LayerMapping(problem.layer.name, problem.unit, problem.layer.kind, (), (), 0, 1, 1, ""))
        self._parts = frame.parts
        self._levels = {frame.ring(plan.name): plan.level for plan in problem.operands}
        self._levels |= {stored.store: self._of_tensor(name) for name, stored in self._stored.items()}
        self._levels[frame.ring(SUM)] = problem.operand(ACC).level if problem.accumulates else ""
        self._known: dict[tuple[object, ...], tuple[Asked, ...]] = {}

    def _plain(self, mapping: LayerMapping) -> FirstTurn:
        return FirstTurn(self.problem, mapping, self._stored)

    def frame(self, mapping: LayerMapping) -> FirstTurn:
        """Of one of the problem's mappings."""
        found = self._plain(of_core(self.problem, mapping))
        vars(found)["parts"] = self._parts  # alike in all of them
        return found

    def slowdown(self, mapping: LayerMapping) -> Slowdown:
        """Of a mapping of the problem."""
        frame, spent = self.frame(mapping), dict[tuple[str, str], list[float]]()
        for item in commands(frame):
            runs = prod([_turns(frame, at, item.command) for at in range(frame.spread, item.depth)])
            for who, (without, stretched) in self.seconds(item):
                before = spent.setdefault(who, [0.0, 0.0])
                before[0] += runs * without
                before[1] += runs * stretched
        slower = {who: stretched / without for who, (without, stretched) in spent.items() if without}
        by_kind = {kind: {name: of for (found, name), of in slower.items() if found == kind} for kind in KINDS}
        units = by_kind["unit"]
        return Slowdown(units.get("array", 1.0), units.get("vector", 1.0), by_kind["move"], by_kind["pins"])

    def _of_tensor(self, operand: str) -> str:
        """The memory of the tensor of an operand: the outermost of its plans'."""
        plans = [plan for plan in self.problem.operands if plan.operand == operand]
        outermost = min(plans, key=lambda plan: plan.edge)
        return outermost.level if outermost.resident else outermost.home

    def seconds(self, item: Item) -> tuple[Asked, ...]:
        """What works for a command (``unit``: array or vector; ``move`` or ``pins``: the plan whose tiles it moves),
        and how long that takes."""
        command = item.command
        key = (command.op, item.operand, command.extents, command.reads, command.writes, command.passes, command.fresh)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._seconds(item))
        return found

    def _seconds(self, item: Item) -> Iterator[Asked]:
        step = _step(item.command)
        if item.command.op == "MATMUL":
            yield ("unit", "array"), self._of_array(step)
        elif item.command.op == "VECTOR":
            yield ("unit", "vector"), self._of_vector(step)
        elif item.command.op == "MOVE":
            name = item.operand or OUT
            yield ("move", name), self._of_move(step)
            yield from ((("pins", name), found) for found in self._on_pins(step))

    def _on_pins(self, step: Step) -> Iterator[Spent]:
        """Of each side of a move in DRAM: at the peak, and as its pattern goes."""
        command = step.command
        for number, region in enumerate((*command.reads, *command.writes)):
            outer = self.chip.outer.get(self._levels[region.store])
            if outer is not None and outer.rates is not None:
                touched = footprint(region, step, {})
                at_peak = touched.size_bytes / outer.peak_bytes_per_s
                if touched.size_bytes:
                    slow = outer.rates.seconds(touched, write=number >= len(command.reads))
                    yield Spent(at_peak, max(at_peak, slow))

    def _of_array(self, step: Step) -> Spent:
        """Of a tile: as long as the slowest of its streams."""
        command = step.command
        array = next(array for array in self.chip.architecture.arrays if array.name == self.problem.unit)
        dtypes = dict(zip(("inputs", "weights"), command.dtypes, strict=True))
        cycles, *accesses = fold_function(self.chip, self.problem.layer, array, dtypes)(tuple(step.extents.items()))
        elements = dict(zip(STREAMS, accesses, strict=True))
        by_name = {region.operand: region for region in (*command.reads, *command.writes)}
        asked = [name for name in STREAMS if command.fresh or name != ACC_READ]  # sums that begin anew are not read
        streams = [
            self._stream(step, by_name[name.partition("_")[0]], elements[name], write=name == ACC_WRITE)
            for name in asked
        ]
        return self._stretched(streams, "array", (cycles + array.startup_cycles, array.clock_hz))

    def _of_vector(self, step: Step) -> Spent:
        """Of a command: as long as the slowest of its streams."""
        command = step.command
        unit = next(vector for vector in self.chip.architecture.vectors if vector.name == self.problem.vector)
        work = LaneWork(command.passes, command.slow, command.functions)
        cycles = vector_time(prod(step.extents.values()), work, unit, command.dtypes[0])
        streams = [
            self._stream(step, region, _elements(region, step), write=number >= len(command.reads))
            for number, region in enumerate((*command.reads, *command.writes))
        ]
        return self._stretched(streams, "vector", (cycles, unit.clock_hz))

    def _of_move(self, step: Step) -> Spent:
        """Of a move: as long as the slower of its sides on chip."""
        regions = (*step.command.reads, *step.command.writes)
        outside = [region for region in regions if self._memory(region).kind == "dram"]
        lead = dict((*outside, *regions)[0].strides)
        streams = [
            self._stream(step, region, 0, write=number >= len(step.command.reads), lead=lead)
            for number, region in enumerate(regions)
            if self._memory(region).kind != "dram"
        ]
        return self._stretched(streams, "dma", _longest([self._alone(stream) for stream in streams]))

    def _alone(self, stream: _Stream) -> Ratio:
        """Seconds of one side of a move without collisions."""
        memory = stream.memory
        return stream.size_bytes, memory.bytes_per_cycle_of("dma", write=stream.write) * memory.clock_hz

    def _stream(
        self, step: Step, region: Region, elements: int, *, write: bool, lead: Mapping[str, int] | None = None
    ) -> _Stream:
        """That of a region, ``elements`` of it or all of it once (0)."""
        touched = footprint(region, step, {}, lead)
        size = elements * region.element_bytes or touched.size_bytes
        return _Stream(self._memory(region), touched, size, write)

    def _stretched(self, streams: Sequence[_Stream], engine: str, total: Ratio) -> Spent:
        """Seconds of a command that takes ``total`` beside its streams: with those of all that go over one port, and
        what they lose in its banks."""
        over_port = dict[tuple[str, bool], Ratio]()
        for memory, touched, size, write in streams:
            if not size:
                continue
            rate = memory.bytes_per_cycle_of(engine, write=write)
            cycles = size, rate
            lost = self._lost(memory, touched, engine, write=write)
            if lost:
                cycles = _sum(cycles, (lost * size, touched.size_bytes))
            port = memory.name, write and not memory.port_group(engine, write=write)[1].shared
            taken = cycles[0], cycles[1] * memory.clock_hz
            over_port[port] = _sum(over_port[port], taken) if port in over_port else taken
        most = _longest([total, *over_port.values()])
        return Spent(total[0] / total[1], most[0] / most[1])

    def _lost(self, memory: Memory, touched: ByteFootprint, engine: str, *, write: bool) -> int:
        """Cycles of the memory that one pass over a region loses."""
        if not touched.size_bytes:
            return 0
        banks = banking(memory)
        ports = memory.port_group(engine, write=write)[1].count(write=write)
        first = touched.offset % banks.granule_bytes if banks.granule_bytes > memory.word_bytes else 0
        return lost_cycles(banks, ports, touched.run_bytes, touched.outer, first)

    def _memory(self, region: Region) -> Memory:
        return self.chip.architecture.memory(self._levels[region.store])


def _step(command: Command) -> Step:
    """The command at its first turn."""
    extents = {extent.dim: max(0, extent.size) for extent in command.extents}
    return Step("", 0, command, {}, extents, (), (), False, None, None, {})


def _sum(one: Ratio, other: Ratio) -> Ratio:
    return one[0] * other[1] + other[0] * one[1], one[1] * other[1]


def _longest(ratios: Sequence[Ratio]) -> Ratio:
    """The largest; 0 of none."""
    found = (0, 1)
    for each in ratios:
        if each[0] * found[1] > found[0] * each[1]:
            found = each
    return found


def _elements(region: Region, step: Step) -> int:
    """Elements that a command touches of a region: the product of the extents that move it."""
    return prod(step.extents[dim] for dim, _ in region.strides)
