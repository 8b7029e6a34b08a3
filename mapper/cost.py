"""Analytic cost over a tiling grid: latency (a lower bound of the simulated one), energy and bytes held.

Latency is the largest of: every engine's own work with the first tile's way to it and the last tile's way from it, and
the bytes over every memory port and DRAM. Convention ``archsim``: slots as given, a drain is a read, the first
partial-sum read is elided, loops that do not move an operand cost only where they lie outside one that does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapper.adding import WAYS, adding, adding_bytes, spared_bytes
from mapper.channels import load_channel
from mapper.costs import ChipCosts
from mapper.crowd import behind, last_written, paced, together
from mapper.grid import Flow, Grid, Reals, Traffic
from mapper.looked_up import row_elements
from mapper.network import network_terms, trip
from mapper.operands import ACC, OUT, OperandPlan
from mapper.problem import Problem
from mapper.work import Work

NEAR = 100  # latencies of spread layers that differ by less than one part in so many are alike
PINS = " pins"
Depths = Mapping[str, int]
Cells = NDArray[np.intp]


@dataclass(frozen=True)
class Costs:
    """Figures of the legal cells of a template, each worked out when it is asked for: (n,) arrays.

    ``cells``: (n,) flat indices in the grid, ascending, one or more to ask for figures; ``work`` of the units and
    ``moved``, every operand's traffic: in the whole grid.
    """

    problem: Problem
    chip: ChipCosts
    cells: Cells
    work: Work
    moved: Mapping[str, Traffic]

    @cached_property
    def bound(self) -> Reals:
        """Reference cycles that no run can undercut."""
        flows = {plan.name: _spared(plan, self._flows[plan.name]) for plan in self.problem.operands}
        counts = self._at_memories(flows, flows)
        return np.ceil(_largest(latency_terms(self.problem, self.chip, self._done, flows, counts)) - 1e-6)

    @property
    def floor(self) -> float:
        """Cycles that no cell undercuts, since its units work as long."""
        busiest = np.maximum(self._done.array_total, self._done.vector_total)
        return float(np.ceil(busiest.min() - 1e-6))

    @cached_property
    def cycles(self) -> Reals:
        """The same with DRAM traffic in whole bursts and a row that each move has to open, to rank mappings by.

        Of a layer that is spread over cores in steps of a hundredth of what its units need: less than the cores can
        hold one another up on the network, so that among those the lesser energy and fewer moves decide.
        """
        found = _largest(self.terms)
        if self.problem.spread is not None:
            found = together(self.terms.values())
            step = max(1.0, self.floor / NEAR)
            found = np.ceil(found / step) * step
        return np.ceil(found - 1e-6)

    @cached_property
    def terms(self) -> dict[str, Reals]:
        """What each resource alone needs of ``cycles`` (the largest is the figure)."""
        usual, problem, done = self.chip.usual(), self.problem, self._done
        if problem.spread is None:
            return latency_terms(problem, usual, done, self._bursts, self._counts)
        off_chip = paced(usual, problem, self._bursts)
        found = latency_terms(problem, usual, done, off_chip, memory_bytes(problem, done, self._flows, off_chip))
        late = {name: behind(problem, off_chip, done.array_total) for name in found if name.endswith(PINS)}
        late["array"] = last_written(usual, problem, off_chip)
        return {name: cycles + late.get(name, 0.0) for name, cycles in found.items()}

    @cached_property
    def energy_pj(self) -> Reals:
        """Of all accesses to memories."""
        total: Reals = np.zeros(self.cells.shape)
        for (memory, direction), count in self._counts.items():
            finite = np.where(np.isfinite(count), count, 0.0) * _instances(self.problem, memory)
            total = total + finite * self.chip.energy_pj.get((memory, direction), 0.0)
        if self.problem.adders > 1:
            added = adding(self.problem, self.chip, self._flows[ACC])
            for key, count in spared_bytes(self.problem, self._flows, added).items():
                total = total - count * self.chip.energy_pj.get(key, 0.0)
        return total

    @cached_property
    def held(self) -> Reals:
        """Bytes in all memories."""
        total: Reals = np.zeros(self.cells.shape)
        for need in held_bytes(self.problem, self.moved).values():
            total = total + need.reshape(-1)[self.cells]
        return total

    @cached_property
    def commands(self) -> Reals:
        """Moves."""
        total: Reals = np.zeros(self.cells.shape)
        for plan in self.problem.operands:
            total = total + self._flows[plan.name].moves
        return total

    @property
    def ways(self) -> list[str]:
        """By which collective the cores add up partial sums, where a reduction is spread."""
        return [WAYS[int(number)] for number in adding(self.problem, self.chip, self._flows[ACC]).way]

    @cached_property
    def _flows(self) -> dict[str, Flow]:
        return {plan.name: self.moved[plan.name].at(self.cells) for plan in self.problem.operands}

    @cached_property
    def _bursts(self) -> dict[str, Flow]:
        """The traffic that DRAM sees."""
        return {plan.name: _whole_bursts(self.chip, plan, self._flows[plan.name]) for plan in self.problem.operands}

    @cached_property
    def _counts(self) -> dict[tuple[str, str], Reals]:
        return self._at_memories(self._flows, self._bursts)

    def _at_memories(self, flows: Mapping[str, Flow], off_chip: Mapping[str, Flow]) -> dict[tuple[str, str], Reals]:
        """Bytes read and written at every memory, those of adding up partial sums too."""
        found = memory_bytes(self.problem, self._done, flows, off_chip)
        if self.problem.adders > 1:
            for key, count in adding_bytes(self.problem, adding(self.problem, self.chip, flows[ACC])).items():
                found[key] = found[key] + count
        return found

    @cached_property
    def _done(self) -> Work:
        return self.work.at(self.cells)

    def where(self, legal: NDArray[np.bool_]) -> Costs:
        """The same for those cells that are ``legal`` (n,)."""
        return replace(self, cells=self.cells[legal])


def evaluate(grid: Grid, chip: ChipCosts, done: Work, order: tuple[str, ...], depths: Depths) -> Costs:
    """Cost of one template, a loop order of the groups and a keep depth of each operand, in the cells where it fits."""
    moved = {plan.name: grid.traffic(plan, order, depths[plan.name]) for plan in grid.problem.operands}
    legal = np.isfinite(done.array_total)
    for level, need in held_bytes(grid.problem, moved).items():
        legal &= need <= grid.problem.capacity[level]
    return Costs(grid.problem, chip, np.flatnonzero(legal), done, moved)


def held_bytes(problem: Problem, moved: Mapping[str, Traffic]) -> dict[str, Reals]:
    """Bytes that all operands hold in each memory."""
    used: dict[str, Reals] = {}
    for plan in problem.operands:
        need = moved[plan.name].needs * problem.times(plan, plan.level)
        used[plan.level] = used[plan.level] + need if plan.level in used else need
    return used


def _instances(problem: Problem, memory: str) -> int:
    """How many copies of a memory the cores at work have."""
    return 1 if problem.spread is None or memory in problem.spread.shared else problem.spread.cores


def _largest(terms: Mapping[Any, Reals]) -> Reals:
    return reduce(np.maximum, terms.values(), np.zeros(()))


def _spared(plan: OperandPlan, flow: Flow) -> Flow:
    """The least traffic: of rows that go through a cache all may be held, which depends on all that came before."""
    if not plan.cached:
        return flow
    return flow._replace(touched=np.zeros(flow.touched.shape), first=np.zeros(flow.first.shape))


def _whole_bursts(chip: ChipCosts, plan: OperandPlan, flow: Flow) -> Flow:
    """The same traffic with every contiguous run of a tile rounded up to bursts of its DRAM."""
    burst = chip.burst_bytes(plan.home)
    if burst == 1 or plan.resident or plan.name == ACC:
        return flow
    run = flow.run * plan.element_bytes
    known = np.maximum(run, 1.0)
    factor = np.where(run > 0, np.ceil(known / burst) * burst / known, 1.0)
    return flow._replace(touched=flow.touched * factor)


def latency_terms(
    problem: Problem,
    chip: ChipCosts,
    done: Work,
    off_chip: Mapping[str, Flow],
    counts: Mapping[tuple[str, str], Reals],
) -> dict[str, Reals]:
    """Cycles that each engine and each port needs at least; ``off_chip``: the traffic that DRAM sees, ``counts``: bytes
    at each memory.

    An engine's: its own work, the first tile's way to it and the last tile's way from it.
    """
    load_total, load_first = _load_times(chip, problem, off_chip)
    store_total, store_last = _store_times(chip, problem, off_chip)
    compute_first = done.array_first + done.vector_first
    compute_last = done.array_last + done.vector_last
    terms, between, links = dict[str, Reals](), 0.0, network_terms(chip, problem, off_chip)
    if problem.adders > 1:
        added = adding(problem, chip, off_chip[ACC])
        stored, _ = _store_time(chip, problem, problem.stores[0], off_chip)
        in_turn = added.engine + done.vector_total + stored  # one tile after the other
        terms["adding engine"] = np.maximum(load_first + done.array_first, added.ahead) + in_turn
        between, links = added.last, network_terms(chip, problem, off_chip, added.fetched, added.copied)
    terms |= {
        "load engine": load_total + between + compute_last + store_last,
        "array": load_first + done.array_total + between + done.vector_last + store_last,
        "vector unit": load_first + done.array_first + between + done.vector_total + store_last,
        "store engine": load_first + compute_first + between + store_total,
    }
    return terms | _port_terms(chip, counts) | links


def _load_times(chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow]) -> tuple[Reals, Reals]:
    """Work of the busiest load engine, and when the first tiles of all operands can be there.

    That is when each engine has brought its own, when each operand's tile has come over all its edges, and when each
    memory has served all of them.
    """
    channels = chip.architecture.dma.channels
    total, first, way = dict[tuple[str, int], Reals](), dict[tuple[str, int], Reals](), dict[str, Reals]()
    none, pins = np.zeros(()), dict[str, Reals]()
    for plan in problem.loads:
        pins[plan.home] = pins.get(plan.home, none) + _first_on_pins(chip, problem, plan, moved[plan.name])
        lane = problem.engines_of(plan), load_channel(problem, plan, channels)
        all_tiles, first_tile = _load_time(chip, problem, plan, moved[plan.name])
        total[lane], first[lane] = total.get(lane, none) + all_tiles, first.get(lane, none) + first_tile
        way[plan.operand] = way.get(plan.operand, none) + first_tile
    return _largest(total), np.maximum(np.maximum(_largest(first), _largest(way)), _largest(pins))


def _first_on_pins(chip: ChipCosts, problem: Problem, plan: OperandPlan, flow: Flow) -> Reals:
    """Cycles of the memory that an operand comes from for the first tiles of all cores with whole parts: the last of
    these begins when it has served them all.
    """
    rate = chip.port_rate(plan.home, write=False)
    return flow.first * (plan.element_bytes * problem.whole_parts(plan, plan.home)) / rate


def _load_time(chip: ChipCosts, problem: Problem, plan: OperandPlan, flow: Flow) -> tuple[Reals, Reals]:
    """Engine time of all of an operand's tiles, and of the first one."""
    read, write = chip.read_rate(plan.home), chip.write_rate(plan.level)
    floor = chip.setup if plan.cached else chip.move_floor(plan.home, write=False)
    floor += trip(chip, problem, plan, both_ways=True)
    pin = np.maximum(flow.touched * plan.element_bytes / read, flow.filled * plan.element_bytes / write)
    begun = flow.first * (plan.element_bytes * problem.whole_parts(plan, plan.home)) / read  # of the last to start
    if plan.rows is not None:
        row = row_elements(plan.axes, plan.rows, problem.dims)
        pin = np.maximum(pin, flow.filled / row * chip.row_setup)
        begun = np.maximum(begun, chip.row_setup)
    else:
        pin = pin + _descriptors(chip, plan, flow, flow.touched)
        begun = begun + _descriptors(chip, plan, flow, flow.first)
    return np.maximum(pin + flow.moves * floor, flow.moves * chip.edge), np.maximum(begun + floor, chip.edge)


def _descriptors(chip: ChipCosts, plan: OperandPlan, flow: Flow, elements: Reals) -> Reals:
    """Cycles of the descriptors of ``elements`` in DRAM, one for each contiguous run (none where that is not known)."""
    if not chip.run_setup or chip.architecture.memory(plan.home).kind != "dram":
        return np.zeros(())
    return np.where(flow.run > 0, elements / np.maximum(flow.run, 1.0), 0.0) * chip.run_setup


def _store_times(chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow]) -> tuple[Reals, Reals]:
    """Work of the busiest store engine, and of the last tile on its way out."""
    total, last = np.zeros(()), np.zeros(())
    for out in problem.stores:
        all_tiles, last_tile = _store_time(chip, problem, out, moved)
        total, last = np.maximum(total, all_tiles), last + last_tile
    return total, last


def _store_time(chip: ChipCosts, problem: Problem, out: OperandPlan, moved: Mapping[str, Flow]) -> tuple[Reals, Reals]:
    """Engine time of all of an output's tiles, and of the last one."""
    flow = moved[out.name]
    copied = problem.engine == "copy"
    source = moved["in0"].touched if copied else flow.touched  # repetition reads once and writes often
    moves = moved["in0"].moves if copied and problem.operand("in0").buffered else flow.moves
    written = flow.touched * out.element_bytes / chip.write_rate(out.home)
    pin = np.maximum(written, source * out.element_bytes / chip.read_rate(out.level))
    floor = chip.move_floor(out.home, write=True) + trip(chip, problem, out, both_ways=False)
    runs = _descriptors(chip, out, flow, flow.touched)
    total = np.maximum(pin + moves * floor + runs, moves * chip.edge)
    return total, np.zeros(()) + max(floor, chip.edge)


def _port_terms(chip: ChipCosts, counts: Mapping[tuple[str, str], Reals]) -> dict[str, Reals]:
    """Bytes over each memory's read and write ports; a DRAM's pins are one port for both."""
    used: dict[tuple[str, str], Reals] = {}
    for (memory, direction), count in counts.items():
        is_dram = chip.architecture.memory(memory).kind == "dram"
        key = (memory, "any" if is_dram else direction)
        used[key] = used.get(key, np.zeros(())) + count
    names = {key: f"{key[0]}{PINS}" if key[1] == "any" else f"{key[0]} {key[1]} ports" for key in used}
    return {names[m, d]: count / chip.port_rate(m, write=d == "write") for (m, d), count in used.items()}


def memory_bytes(
    problem: Problem, done: Work, moved: Mapping[str, Flow], off_chip: Mapping[str, Flow]
) -> dict[tuple[str, str], Reals]:
    """Bytes read and written at every memory: fills, drains, and the units' streams."""
    if problem.engine == "copy":
        return _copied_bytes(problem, moved, off_chip)
    found: dict[tuple[str, str], Reals] = {}

    def add(plan: OperandPlan, memory: str, direction: str, elements: Reals) -> None:
        count = elements * (plan.element_bytes * problem.share(plan, memory))
        found[memory, direction] = found.get((memory, direction), np.zeros(())) + count

    for plan in problem.loads:
        add(plan, plan.home, "read", off_chip[plan.name].touched)
        add(plan, plan.level, "write", moved[plan.name].filled)
    out = problem.operand(OUT)
    add(out, out.level, "write", moved[OUT].touched)
    for plan in problem.stores:
        add(plan, plan.level, "read", moved[plan.name].touched)
        add(plan, plan.home, "write", off_chip[plan.name].touched)
    if problem.accumulates:
        acc = problem.operand(ACC)
        add(acc, acc.level, "read", moved[OUT].touched)
        for name, direction in (("acc_read", "read"), ("acc_write", "write")):
            add(acc, acc.level, direction, done.edge[name])
        for name in ("a", "b"):
            plan = problem.operand(name)
            add(plan, plan.level, "read", done.edge[name])
    return found


def _copied_bytes(
    problem: Problem, moved: Mapping[str, Flow], off_chip: Mapping[str, Flow]
) -> dict[tuple[str, str], Reals]:
    """Bytes of a copy: into a ring and out of it, or straight where either end is on chip."""
    source, out = problem.operand("in0"), problem.operand(OUT)
    found: dict[tuple[str, str], Reals] = {}

    def add(plan: OperandPlan, memory: str, direction: str, elements: Reals) -> None:
        count = elements * (plan.element_bytes * problem.share(plan, memory))
        found[memory, direction] = found.get((memory, direction), np.zeros(())) + count

    if not source.resident:
        add(source, source.home, "read", off_chip["in0"].touched)
    if source.resident or source.buffered:
        add(source, source.level, "read", moved["in0"].touched)
    if source.buffered:
        add(source, source.level, "write", moved["in0"].filled)
    if out.resident:
        add(out, out.level, "write", moved[OUT].touched)
    else:
        add(out, out.home, "write", off_chip[OUT].touched)
    return found
