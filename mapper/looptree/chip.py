"""A chip as a layer meets it: the memories on the ways of its operands, the array's fan-outs, registers and MACs.

Memories are those of the layer's problem: where each tensor lies, then the rings that its tiles pass; the accumulators
keep the sums in their own width. A tensor that stays on chip lies in a memory of its own (``l1_tensors``), since what
it takes is not free to tiles; it has the same prices. Rates are those of all ports of a direction, and of a DRAM's pins
for both, so that a latency is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Literal

from archsim.base.errors import MappingError
from archsim.energy.chip import tables_for
from archsim.energy.chip_tables import ChipTables
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, FanoutSpec
from archsim.spec.architecture import Array
from mapper.cost.chip_rates import ChipCosts
from mapper.looptree.einsum import Einsum
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.inside import least_inside
from mapper.looptree.layer import einsum_of
from mapper.problem.array_axes import OPERAND_OF, array_shape, shared, spread
from mapper.problem.operands import ACC, OUT, OperandPlan
from mapper.problem.problem import Problem

OPERANDS = ("a", "b", OUT)
_PARTS = 1 << 20  # of a bit: shares of a value, rounded down


@dataclass(frozen=True)
class Place:
    """A memory of the hierarchy: ``memory`` of the chip, whether whole tensors lie there or tiles of sums."""

    memory: str
    holds: str  # tensors | tiles | sums

    @property
    def name(self) -> str:
        """Of the memory in the hierarchy."""
        return self.memory if self.holds == "tiles" else f"{self.memory}_{self.holds}"


def ways(problem: Problem) -> dict[str, tuple[Place, ...]]:
    """The places of each operand, outermost first: its tensor's, then those of its tiles."""
    found = {}
    for name in OPERANDS:
        plans = sorted((plan for plan in problem.operands if plan.operand == name), key=lambda plan: plan.edge)
        rings = [plan for plan in plans if not plan.resident]
        way = [Place(rings[0].home if rings else plans[0].level, "tensors")]
        way += [Place(plan.level, "tiles") for plan in rings]
        if name == OUT:
            way.append(Place(problem.operand(ACC).level, "sums"))
        found[name] = tuple(way)
    return found


def bits_of(problem: Problem) -> dict[str, int]:
    """Bits of a value of each operand."""
    return {name: problem.operand(name).element_bytes * 8 for name in OPERANDS}


def layer_einsum(problem: Problem) -> Einsum:
    """The problem's layer with the widths of its operands."""
    return einsum_of(problem.layer, bits_of(problem))


def memories_of(problem: Problem, chip: ChipCosts) -> tuple[Memory, ...]:
    """The explicit memories that a, b and out pass, outermost first, the accumulators last."""
    return tuple(_memory(problem, chip, place) for place in places(problem, chip))


def places(problem: Problem, chip: ChipCosts) -> tuple[Place, ...]:
    """All places, outermost first, the accumulators' last."""
    used = {place for way in ways(problem).values() for place in way}
    order = [memory.name for memory in chip.architecture.memories]
    holds = ("tensors", "tiles", "sums")
    return tuple(sorted(used, key=lambda p: (p.holds == "sums", order.index(p.memory), holds.index(p.holds))))


def _memory(problem: Problem, chip: ChipCosts, place: Place) -> Memory:
    memory = chip.architecture.memory(place.memory)
    kept = frozenset(name for name, way in ways(problem).items() if place in way)
    bits = _bits(problem, place, kept)
    parts = _PARTS if place.holds == "tensors" and bits else 1
    actions = {way: _action(chip, place.memory, way, parts) for way in (READ, WRITE)}
    size = None if place.holds == "tensors" else float(problem.capacity[place.memory] * 8)
    rule: Literal["sum", "max"] = "sum" if memory.kind == "dram" else "max"
    return Memory(place.name, size, kept, frozenset(), actions, rule, bits=bits)


def _action(chip: ChipCosts, memory: str, way: str, parts: int) -> Action:
    energy_j = chip.energy_pj.get((memory, way), 0.0) * 1e-12 / 8
    rate = chip.port_rate(memory, write=way == WRITE) * chip.architecture.clock_hz * 8
    return Action(energy_j, rate, parts)


def _bits(problem: Problem, place: Place, kept: frozenset[str]) -> dict[str, int]:
    """Bits of values where they differ: sums are wider; of tensors with padding only what may lie inside counts."""
    if place.holds == "sums":
        return {OUT: problem.operand(ACC).element_bytes * 8}
    plans = [problem.operand(name) for name in OPERANDS if name in kept]
    shares = {plan.name: Fraction(1) if plan.name == OUT else _inside(plan, problem) for plan in plans}
    if place.holds == "tiles" or all(share == 1 for share in shares.values()):
        return {}
    return {plan.name: int(plan.element_bytes * 8 * _PARTS * shares[plan.name]) for plan in plans}


def _inside(plan: OperandPlan, problem: Problem) -> Fraction:
    return least_inside(plan.axes, plan.shape, problem.dims)


def hierarchy_of(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> Hierarchy:
    """Memories, the array's fan-outs, the registers of the operands that its dataflow holds, and the MACs.

    A fan-out that reduces has as many instances as reduction elements that its PEs take in one step: PEs x pack.
    """
    array, shape = array_of(problem, chip, dtypes)
    fanouts = catalogue.get(array.dataflow).fanouts(array.rows, array.cols)
    packs = shape.pack if any(spec["reduce"] for spec in fanouts) else 1
    mac_j = _tables(problem, chip, dtypes).pj(array.name, "mac", problem.layer.name) * 1e-12
    mac = Action(mac_j, float(shape.rate / packs * array.clock_hz), 0)
    parts: list[Memory | Axis] = [*memories_of(problem, chip), *(_axis(spec, shape) for spec in fanouts)]
    parts += (_register(problem, chip, dtypes, packs, role) for role in held_roles(array))
    return Hierarchy(chip.architecture.name, tuple(parts), Compute("MAC", mac))


def held_roles(array: Array) -> tuple[str, ...]:
    """The roles that the PEs hold. Raises MappingError for a dataflow that holds none."""
    roles = catalogue.held(catalogue.get(array.dataflow))
    for role in roles or ("",):
        if role not in OPERAND_OF:
            text = f"dataflow '{array.dataflow}' holds '{role}' in its PEs; allowed: {', '.join(OPERAND_OF)}"
            raise MappingError(text)
    return roles


def held(array: Array) -> tuple[str, ...]:
    """The operands that the PEs hold. Raises MappingError for a dataflow that holds none."""
    return tuple(OPERAND_OF[role] for role in held_roles(array))


def _register(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], packs: int, role: str) -> Memory:
    """What holds the operand of a role in each of the ``packs`` MACs of a PE."""
    array, shape = array_of(problem, chip, dtypes)
    flow, operand = catalogue.get(array.dataflow), OPERAND_OF[role]
    bits = {each: 8 * problem.operand(ACC if x == OUT else x).element_bytes for each, x in OPERAND_OF.items()}
    files = {each: file for file in flow.registers(bits, shape) for each in file["keeps"]}
    stream = "acc" if operand == OUT else operand
    tables = _tables(problem, chip, dtypes)
    pj = {way: tables.pj(array.name, f"register_{way}.{stream}", problem.layer.name) for way in (READ, WRITE)}
    return Memory(
        files[role]["name"],
        files[role]["size_bytes"] * 8 / packs,
        frozenset({operand}),
        frozenset(),
        {way: Action(each * 1e-12, inf, 0) for way, each in pj.items()},
        bits={operand: bits[role]},
    )


def _tables(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> ChipTables:
    """What a chip's parts cost in a layer that its array computes."""
    pair = problem.pair
    return tables_for(chip.architecture, dtypes, {problem.layer.name: (pair["inputs"], pair["weights"])})


def array_of(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> tuple[Array, ArrayShape]:
    """The array that a problem runs on, and as its dataflow sees it. Raises MappingError for another engine."""
    if problem.engine != "array":
        raise MappingError(f"layer '{problem.layer.name}' runs on '{problem.unit}', which is no array")
    array = next(part for part in chip.architecture.arrays if part.name == problem.unit)
    return array, array_shape(array, **problem.pair)


def _axis(spec: FanoutSpec, shape: ArrayShape) -> Axis:
    return Axis(spec["axis"], spec["size"] * (shape.pack if spec["reduce"] else 1), shared(spec))


def axis_dims(problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Dims that the dataflow lays over each fan-out."""
    array, shape = array_of(problem, chip, dtypes)
    return spread(problem.layer, array.dataflow, shape)
