"""What no mapping of a layer can spare on a chip: the array's streams and cycles, and each value's way once.

The streams and cycles are those of the whole layer as one command. Those of commands for its parts add up to no less:
folds are rounded up and every fill, load and skew is paid in each. Dims that may not be spread over the array have
tiles of one in every command: then they are those of one command for each of their indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import Fold
from mapper.cost.chip_rates import ChipCosts, drain_steps, vector_time
from mapper.looptree.chip import Place, array_of, layer_einsum, ways
from mapper.looptree.einsum import touched
from mapper.looptree.inside import least_inside
from mapper.problem.operands import ACC, BIAS, EPILOGUE, OUT, OperandPlan
from mapper.problem.problem import Problem, nest_of

_STREAMS = {"a": ("a", "read"), "b": ("b", "read"), "acc_read": (OUT, "read"), "acc_write": (OUT, "write")}
Flow = tuple[str, str, float]  # memory of the chip, read | write, bytes


@dataclass(frozen=True)
class Unspared:
    """Of a matmul on an array. Raises MappingError as ``layer_einsum`` and ``array_of``.

    ``unspread``: dims that may not be spread over the array.
    """

    problem: Problem
    chip: ChipCosts
    dtypes: Mapping[str, str]
    unspread: frozenset[str] = frozenset()

    @cached_property
    def fed(self) -> frozenset[Place]:
        """Places that the array reads its inputs from."""
        return frozenset(ways(self.problem)[name][-1] for name in ("a", "b"))

    @property
    def energy_pj(self) -> float:
        """Of the array's streams, of what else is read where it reads, of the drain's other operand, and of draining
        them."""
        flows = [*self._streams(), *self._passing(), *self._added()]
        return sum(size * self.chip.energy_pj.get((memory, way), 0.0) for memory, way, size in flows)

    @property
    def cycles(self) -> float:
        """Reference cycles of the longest of: array, vector unit, load engine, a port of the array's streams."""
        ports: dict[tuple[str, str], float] = {}
        for memory, way, size in self._streams():
            ports[memory, way] = ports.get((memory, way), 0.0) + size
        times = [size / self.chip.port_rate(m, write=way == "write") for (m, way), size in ports.items()]
        behind = self._vector_cycles(1) + self._stored_cycles()
        array, shape = array_of(self.problem, self.chip, self.dtypes)
        cycles = sum(times * (fold.cycles + array.startup_cycles) for times, fold in self._folds)
        work = cycles / self.chip.scale(array)
        outputs = prod(self.problem.dims[dim] for dim in self.problem.operand(OUT).dims)
        last = self._vector_cycles(outputs) + self._stored_cycles()
        return max(*times, self._first_cycles() + max(work + behind, last), self._load_cycles() + behind)

    @cached_property
    def _folds(self) -> tuple[tuple[int, Fold], ...]:
        """(times, fold) of the commands that make sums, and of those that add to them."""
        array, shape = array_of(self.problem, self.chip, self.dtypes)
        layer, dims = self.problem.layer, self.problem.dims
        flow, nest = catalogue.get(array.dataflow), nest_of(layer, array.dataflow)
        extents = {**dims, **dict.fromkeys(self.unspread, 1)}
        first = prod(dims[dim] for dim in self.unspread if dim not in layer.k)
        added = prod(dims[dim] for dim in self.unspread) - first
        return tuple(
            (times, flow.fold(nest, extents, shape, accumulate=accumulate))
            for times, accumulate in ((first, False), (added, True))
            if times
        )

    def _streams(self) -> Iterator[Flow]:
        """What the array reads and writes, and the sums that the vector unit reads."""
        sums = self.problem.operand(ACC)
        for stream, (operand, way) in _STREAMS.items():
            plan = sums if operand == OUT else self.problem.operand(operand)
            accesses = sum(times * fold.streams[stream].accesses for times, fold in self._folds)
            yield plan.level, way, accesses * plan.element_bytes
        yield sums.level, "read", self._values(OUT) * sums.element_bytes

    def _passing(self) -> Iterator[Flow]:
        """Values that others read once at least where the array reads: outputs on their way out, staged inputs."""
        for operand, way in ways(self.problem).items():
            for number, place in enumerate(way):
                if place not in self.fed or (operand == OUT and number == 0) or (operand != OUT and place == way[-1]):
                    continue
                plan = self.problem.operand(operand)
                share = least_inside(plan.axes, plan.shape, self.problem.dims) if place.holds == "tensors" else 1
                yield place.memory, "read", float(self._values(operand) * share) * plan.element_bytes

    def _added(self) -> Iterator[Flow]:
        """The bias, and what the drain reads beside the sums."""
        for plan in self.problem.loads:
            if plan.operand in (BIAS, EPILOGUE):
                size = prod(self.problem.dims[dim] for dim in plan.dims) * plan.element_bytes
                yield from ((plan.home, "read", size), (plan.level, "write", size))
        for plan in self.problem.added:
            yield plan.level, "read", self._values(OUT) * plan.element_bytes

    def _values(self, operand: str) -> int:
        einsum = layer_einsum(self.problem)
        return prod(touched(coordinate, dict(einsum.extents)) for coordinate in einsum.operand(operand).coordinates)

    def _load_cycles(self) -> float:
        """Of the load engine that brings most from DRAM."""
        most: dict[tuple[str, str], float] = {}
        for plan in self._loads():
            if self.chip.architecture.memory(plan.home).kind == "dram":
                share = least_inside(plan.axes, plan.shape, self.problem.dims)
                values = float(self._values(plan.operand) * share)
                on_pins = values * plan.element_bytes / self.chip.read_rate(plan.home)
                asked = float(self.chip.asked(np.asarray(values), plan.element_bytes, plan.home))
                most[plan.home, plan.name] = max(on_pins, asked)
        return max(most.values(), default=0.0)

    def _loads(self) -> list[OperandPlan]:
        return [plan for plan in self.problem.loads if plan.operand not in (BIAS, EPILOGUE)]

    def _first_cycles(self) -> float:
        """Until the first values of both inputs can have come over all their edges."""
        way: dict[str, float] = {}
        for plan in self._loads():
            floor = max(self.chip.move_floor(plan.home, write=False), self.chip.edge)
            way[plan.operand] = way.get(plan.operand, 0.0) + floor
        return max(way.values(), default=0.0)

    def _stored_cycles(self) -> float:
        floors = (self.chip.move_floor(plan.home, write=True) for plan in self.problem.stores)
        return sum(max(floor, self.chip.edge) for floor in floors)

    def _vector_cycles(self, elements: int) -> float:
        """Of draining sums, as one command."""
        unit = next((part for part in self.chip.architecture.vectors if part.name == self.problem.vector), None)
        if unit is None:
            return 0.0
        dtype = self.problem.operand(OUT).dtype
        return vector_time(elements, drain_steps(self.problem.layer), unit, dtype) / self.chip.scale(unit)
