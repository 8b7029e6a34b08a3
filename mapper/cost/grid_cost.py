"""Analytic cost over a tiling grid: latency (a lower bound of the simulated one), energy and bytes held.

Latency is the largest of: every engine's own work with the first tile's way to it and the last tile's way from it, and
the bytes over every memory port and DRAM. Convention ``archsim``: slots as given, a drain is a read, the first
partial-sum read is elided, loops that do not move an operand cost only where they lie outside one that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from mapper.cost.chip_rates import ChipCosts, drain_steps
from mapper.cost.conversions import converted_tiles, lane_operations
from mapper.cost.dram_contention import behind, brought_before, paced, together
from mapper.cost.grid import Flow, Reals, Traffic
from mapper.cost.latency import PINS, Terms, largest, latency_terms
from mapper.cost.least_work import least_flows, least_work
from mapper.cost.partial_sums import WAYS, adding, adding_bytes, spared_bytes
from mapper.cost.slowdown import NONE, Slowdown
from mapper.cost.unit_cycles import Work, joined_work
from mapper.problem.operands import ACC, OUT, OperandPlan
from mapper.problem.problem import Problem

Cells = NDArray[np.intp]


@dataclass(frozen=True)
class Costs:
    """Figures of cells of one template or several, each worked out when it is asked for: (n,) arrays.

    ``cells``: (n,) flat indices in their grids, one or more to ask for figures; there, (n,) arrays as well: ``done`` by
    the units, ``flows`` of every operand, bytes ``held`` in all memories. ``slowdown``: of all cells, by collisions.
    """

    problem: Problem
    chip: ChipCosts
    cells: Cells
    done: Work
    flows: Mapping[str, Flow]
    held: Reals
    slowdown: Slowdown = NONE

    @cached_property
    def bound(self) -> Reals:
        """Reference cycles that no run can undercut."""
        flows = {plan.name: _spared(plan, self.flows[plan.name]) for plan in self.problem.operands}
        done = self.done
        if self.problem.layer.bounds:
            done = least_work(self.problem, self.chip, done)
            flows = least_flows(self.problem, flows)
        counts = self._at_memories(flows, flows)
        return np.ceil(largest(latency_terms(self.problem, self.chip, done, flows, counts).cycles) - 1e-6)

    @property
    def floor(self) -> float:
        """Cycles that no cell undercuts, since its units work as long, or DRAM at its peak."""
        return most_certain(self.certain)

    @property
    def certain(self) -> dict[str, float]:
        """The least cycles in any cell of what works: the busier unit of a core, each DRAM at its peak."""
        busiest = np.maximum(self.done.array_total, self.done.vector_total)
        found = {"units": float(busiest.min())}
        for plan in (*self.problem.loads, *self.problem.stores):
            if not plan.cached and self.chip.architecture.memory(plan.home).kind == "dram":
                size = float(self.flows[plan.name].touched.min()) * plan.element_bytes
                size *= self.problem.share(plan, plan.home)
                rate = self.chip.port_rate(plan.home, write=plan.operand == OUT)
                found[plan.home] = found.get(plan.home, 0.0) + size / rate
        return found

    @cached_property
    def cycles(self) -> Reals:
        """The same with DRAM traffic in whole bursts and a row that each move has to open, to rank mappings by; of a
        layer that is spread over cores with what resources hold one another up. Of a pass behind others, its part of
        what it takes before the first and behind the last one."""
        if self.problem.spread is None:
            most = largest(self._terms.cycles)
            if self.problem.passes > 1:
                works = largest(self._terms.work)
                most = works + (most - works) / self.problem.passes
            return np.ceil(most - 1e-6)
        return np.ceil(together(self._terms.by_resource()) - 1e-6)

    @property
    def alone_cycles(self) -> Reals:
        """Those of a layer by itself, before which no tiles can come in, and no other layer's work holds it up: cores
        are as late as their engines and the resources that they share are busy."""
        if self.problem.spread is None:
            return self.cycles
        terms = self._of_cores(paced(self.chip.usual(), self.problem, self._bursts))
        return np.ceil(largest(terms.cycles) + together(terms.work.values()) - largest(terms.work) - 1e-6)

    @property
    def terms(self) -> dict[str, Reals]:
        """What each resource alone needs of ``cycles`` (the largest is the figure)."""
        return self._terms.cycles

    @property
    def work(self) -> dict[str, Reals]:
        """How long each resource alone works, whatever comes before and behind."""
        return self._terms.work

    @cached_property
    def _terms(self) -> Terms:
        usual, problem, slow = self.chip.usual(), self.problem, self.slowdown
        if problem.spread is not None:
            return self._of_cores(brought_before(usual, problem, paced(usual, problem, self._bursts)))
        done, timed = self.done.slowed(slow.array, slow.vector), self._timed
        counts = memory_bytes(problem, done, self.flows, timed)
        chip = self.chip if slow.pins else usual
        return latency_terms(problem, chip, done, timed, counts, slow.moves, in_turns=True, slow_vector=slow.vector)

    def _of_cores(self, off_chip: Mapping[str, Flow]) -> Terms:
        """What each resource needs of a layer that is spread over cores, where DRAM sees the traffic ``off_chip``."""
        usual, problem, slow = self.chip.usual(), self.problem, self.slowdown
        done = self.done.slowed(slow.array, slow.vector)
        counts = memory_bytes(problem, done, self.flows, off_chip)
        found = latency_terms(problem, usual, done, off_chip, counts, slow.moves, slow_vector=slow.vector)
        busiest = np.maximum(done.array_total, done.vector_total)
        pins = {name: name.removesuffix(PINS) for name in found.work if name.endswith(PINS)}
        late = {name: behind(problem, memory, off_chip, busiest) for name, memory in pins.items()}
        return Terms({name: cycles + late.get(name, 0.0) for name, cycles in found.cycles.items()}, found.work)

    @property
    def energy_pj(self) -> Reals:
        """Of all accesses to memories, of what the units do, and of the time that all this is expected to take."""
        return self.energy(self.cycles)

    def energy(self, cycles: Reals) -> Reals:
        """The same where it takes so many ``cycles``."""
        converted = lane_operations(self.problem, self.flows) * self._cores * _lane_pj(self.problem, self.chip)
        work: Reals = self.accesses_pj + operations_pj(self.problem, self.chip) + converted
        return work + cycles * self.chip.standing_pj

    @property
    def _cores(self) -> int:
        """Cores that have a part of the layer."""
        return self.problem.spread.cores if self.problem.spread is not None else 1

    @cached_property
    def accesses_pj(self) -> Reals:
        """Of all accesses to memories."""
        total: Reals = np.zeros(self.cells.shape)
        for (memory, direction), count in self._counts.items():
            finite = np.where(np.isfinite(count), count, 0.0) * _instances(self.problem, memory)
            total = total + finite * self.chip.energy_pj.get((memory, direction), 0.0)
        if self.problem.adders > 1:
            added = adding(self.problem, self.chip, self.flows[ACC])
            for key, count in spared_bytes(self.problem, self.flows, added).items():
                total = total - count * self.chip.energy_pj.get(key, 0.0)
        return total

    @cached_property
    def commands(self) -> Reals:
        """Moves, and what the units do with their tiles."""
        total: Reals = self.done.commands
        for plan in self.problem.operands:
            total = total + self.flows[plan.name].moves
        return total

    @property
    def ways(self) -> list[str]:
        """By which collective the cores add up partial sums, where a reduction is spread."""
        return [WAYS[int(number)] for number in adding(self.problem, self.chip, self.flows[ACC]).way]

    @cached_property
    def _bursts(self) -> dict[str, Flow]:
        """The traffic that DRAM sees."""
        return {plan.name: _whole_bursts(self.chip, plan, self.flows[plan.name]) for plan in self.problem.operands}

    @property
    def _timed(self) -> dict[str, Flow]:
        """The traffic of DRAM stretched to what it takes: by its patterns where they are known, else to the least that
        whole bursts take."""
        found = dict(self._bursts)
        for plan in (*self.problem.loads, *self.problem.stores):
            outer = self.chip.outer.get(plan.home)
            if outer is not None and outer.rates is not None and plan.name not in self.slowdown.pins:
                flow, least = found[plan.name], 1 / outer.rates.most
                found[plan.name] = flow._replace(touched=flow.touched * least, first=flow.first * least)
        for name, slower in self.slowdown.pins.items():
            flow = self.flows[name]
            found[name] = flow._replace(touched=flow.touched * slower, first=flow.first * slower)
        return found

    @cached_property
    def _counts(self) -> dict[tuple[str, str], Reals]:
        return self._at_memories(self.flows, self._bursts)

    def _at_memories(self, flows: Mapping[str, Flow], off_chip: Mapping[str, Flow]) -> dict[tuple[str, str], Reals]:
        """Bytes read and written at every memory, those of adding up partial sums too."""
        found = memory_bytes(self.problem, self.done, flows, off_chip)
        if self.problem.adders > 1:
            for key, count in adding_bytes(self.problem, adding(self.problem, self.chip, flows[ACC])).items():
                found[key] = found[key] + count
        return found

    def alone(self, place: int, slow: Slowdown) -> Costs:
        """The cell that stands at a ``place`` among these, with what its commands lose by collisions; its figures are
        numbers."""
        flows = {name: Flow(*[field[place] for field in flow]) for name, flow in self.flows.items()}
        return Costs(self.problem, self.chip, self.cells[place], self.done.at(place), flows, self.held[place], slow)

    def of(self, wanted: NDArray[np.bool_]) -> Costs:
        """The same for the cells that are ``wanted`` of these."""
        flows = {name: Flow(*(field[wanted] for field in flow)) for name, flow in self.flows.items()}
        done = self.done.at(np.flatnonzero(wanted))
        found = Costs(self.problem, self.chip, self.cells[wanted], done, flows, self.held[wanted], self.slowdown)
        vars(found).update(_worked_out(self, wanted))
        return found


def _worked_out(costs: Costs, places: NDArray[np.bool_]) -> dict[str, Reals]:
    """Figures of some of the cells that were worked out for all."""
    return {name: vars(costs)[name][places] for name in ("cycles", "accesses_pj", "commands") if name in vars(costs)}


def most_certain(certain: Mapping[str, float]) -> float:
    """Cycles that nothing undercuts of which each part works so many."""
    return float(np.ceil(max(certain.values()) - 1e-6))


def joined(parts: Sequence[Costs]) -> Costs:
    """Costs of one problem as one, one after the other."""
    first = parts[0]
    flows = {
        name: Flow(*(np.concatenate(field) for field in zip(*(part.flows[name] for part in parts), strict=True)))
        for name in first.flows
    }
    cells, held = (np.concatenate(column) for column in zip(*((part.cells, part.held) for part in parts), strict=True))
    return Costs(first.problem, first.chip, cells, joined_work([part.done for part in parts]), flows, held)


def operations_pj(problem: Problem, chip: ChipCosts) -> float:
    """Energy of what the units do, which is the same in all cells: MACs on the array or in lanes, and passes over the
    outputs. Of layers with bounds what lies inside them."""
    outputs = prod(size for dim, size in problem.layer.dims.items() if dim not in problem.groups["K"])
    volume = problem.layer.points
    passes = drain_steps(problem.layer).passes
    lanes = _lane_pj(problem, chip)
    if not problem.accumulates:
        return volume * passes * lanes if problem.vector else 0.0
    mac = chip.energy_pj.get((problem.unit, "mac"), 0.0) if problem.engine == "array" else lanes
    return volume * mac + outputs * passes * lanes


def _lane_pj(problem: Problem, chip: ChipCosts) -> float:
    """Of one pass over one element in a lane."""
    return chip.energy_pj.get((problem.vector, "lane_ops"), 0.0)


def held_bytes(problem: Problem, moved: Mapping[str, Traffic]) -> dict[str, Reals]:
    """Bytes that all operands hold in each memory."""
    used: dict[str, Reals] = {}
    for plan in problem.operands:
        need = moved[plan.name].needs * problem.times(plan, plan.level)
        used[plan.level] = used[plan.level] + need if plan.level in used else need
    return used


def far_bytes(problem: Problem, moved: Mapping[str, Traffic]) -> dict[str, Reals]:
    """Bytes that tiles move at the memories that they come from and go to, by these, without whole bursts; of copies,
    which may be repeated, none."""
    found: dict[str, Reals] = {}
    for plan in (*problem.loads, *problem.stores) if problem.engine != "copy" else ():
        size = moved[plan.name].touched * (plan.element_bytes * problem.share(plan, plan.home))
        found[plan.home] = found.get(plan.home, np.zeros(())) + size
    return found


def _instances(problem: Problem, memory: str) -> int:
    """How many copies of a memory the cores at work have."""
    return 1 if problem.spread is None or memory in problem.spread.shared else problem.spread.cores


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
    for plan, direction in converted_tiles(problem):
        add(plan, plan.level, direction, moved[plan.name].filled)
    out = problem.operand(OUT)
    add(out, out.level, "write", moved[OUT].touched)
    for plan in problem.stores:
        add(plan, plan.level, "read", moved[plan.name].touched)
        add(plan, plan.home, "write", off_chip[plan.name].touched)
    if problem.accumulates:
        acc = problem.operand(ACC)
        add(acc, acc.level, "read", moved[OUT].touched)
        for plan in problem.added:
            add(plan, plan.level, "read", moved[OUT].touched)
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
