"""Energy, latency and room of a LoopTree on a hierarchy, from its exact counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from archsim.base.errors import MappingError
from mapper.looptree.conventions import Convention
from mapper.looptree.counts import Count, counts
from mapper.looptree.hierarchy import COMPUTE, Action, Hierarchy, Memory
from mapper.looptree.nest import Nest

ROUNDING = 1e-9  # of a size in bits that need not be whole


@dataclass(frozen=True)
class Cost:
    """``actions``: (memory, operand, read | write) and (compute, '', compute) -> actions of all instances.

    ``held_bits``: of the fullest instance of each memory. ``instances``: used, of each memory and the compute units.
    """

    actions: Mapping[Count, float]
    energy_of_j: Mapping[str, float]
    latency_of_s: Mapping[str, float]
    held_bits: Mapping[str, int]
    instances: Mapping[str, int]

    @property
    def latency_s(self) -> float:
        """Of the slowest part; all work at the same time."""
        return max(self.latency_of_s.values())

    @property
    def energy_j(self) -> float:
        """Of all parts."""
        return sum(self.energy_of_j.values())

    @property
    def edp_js(self) -> float:
        """Energy times delay."""
        return self.energy_j * self.latency_s


def evaluate(nest: Nest, hierarchy: Hierarchy, convention: Convention) -> Cost:
    """Cost of a LoopTree that passes check.

    Raises MappingError naming memory, operand, need and room when tiles do not fit.
    """
    held = held_bits(nest, hierarchy, convention)
    for memory in hierarchy.memories:
        if memory.size_bits is not None and held[memory.name] > memory.size_bits * (1 + ROUNDING):
            raise MappingError(_overflow(memory, held_by(nest, hierarchy, convention)))
    used = {memory.name: _instances(nest, hierarchy, memory.name) for memory in hierarchy.memories}
    used[hierarchy.compute.name] = prod(nest.trips(at) for at, loop in nest.loops if loop.axis)
    actions = _actions(nest, hierarchy, convention, busiest=False)
    if convention.fractional:
        busiest = {key: count / used[key[0]] for key, count in actions.items()}
    else:
        busiest = _actions(nest, hierarchy, convention, busiest=True)
    latency = {memory.name: _latency(memory, busiest) for memory in hierarchy.memories}
    compute = hierarchy.compute
    rate = compute.actions_per_s or compute.action.per_s
    latency[compute.name] = busiest[compute.name, "", COMPUTE] / rate
    slowest = max(latency.values())
    energy = {memory.name: _energy(memory, actions) + memory.leak_w * slowest for memory in hierarchy.memories}
    energy[compute.name] = actions[compute.name, "", COMPUTE] * compute.action.energy_j + compute.leak_w * slowest
    return Cost(actions, energy, latency, held, used)


def held_bits(nest: Nest, hierarchy: Hierarchy, convention: Convention) -> dict[str, int]:
    """Bits that the fullest instance of each memory holds."""
    found = {memory.name: 0 for memory in hierarchy.memories}
    for (memory, _), bits in held_by(nest, hierarchy, convention).items():
        found[memory] += bits
    return found


def held_by(nest: Nest, hierarchy: Hierarchy, convention: Convention) -> dict[tuple[str, str], int]:
    """Bits that the fullest instance of a memory holds of an operand, by (memory, operand)."""
    found = {}
    for operand in nest.einsum.operands:
        for _, keep in nest.keeps[operand.name]:
            slots = keep.slots if convention.slots is None else convention.slots
            bits = hierarchy.memory(keep.level).bits.get(operand.name, operand.bits)
            found[keep.level, operand.name] = nest.held(operand, keep, convention.footprint) * bits * slots
    return found


def _actions(nest: Nest, hierarchy: Hierarchy, convention: Convention, *, busiest: bool) -> dict[Count, float]:
    found: dict[Count, float] = {}
    for key, count in counts(nest, hierarchy, convention, busiest).items():
        memory = hierarchy.memory(key[0])
        bits = memory.bits.get(key[1], nest.einsum.operand(key[1]).bits)
        found[key] = _called(memory.actions[key[2]], count, bits)
    spatial = [at for at, loop in nest.loops if loop.axis] if busiest else []
    macs = nest.iterations(nest.einsum.extents, len(nest.nodes), spatial)
    found[hierarchy.compute.name, "", COMPUTE] = macs
    return found


def _called(action: Action, values: int, bits: int) -> float:
    if not action.bits:
        return values
    return values * bits / action.bits


def _instances(nest: Nest, hierarchy: Hierarchy, name: str) -> int:
    parts = [part.name for part in hierarchy.parts]
    outside = set(parts[: parts.index(name)])
    return prod(nest.trips(at) for at, loop in nest.loops if loop.axis in outside)


def _of(memory: Memory, actions: Mapping[Count, float]) -> dict[str, float]:
    found = dict.fromkeys(memory.actions, 0.0)
    for (name, _, action), count in actions.items():
        if name == memory.name:
            found[action] += count
    return found


def _latency(memory: Memory, busiest: Mapping[Count, float]) -> float:
    called = _of(memory, busiest)
    if memory.actions_per_s is not None:
        return sum(called.values()) / memory.actions_per_s
    times = [count / memory.actions[action].per_s for action, count in called.items()]
    return max(times) if memory.combine == "max" else sum(times)


def _energy(memory: Memory, actions: Mapping[Count, float]) -> float:
    return sum(count * memory.actions[action].energy_j for action, count in _of(memory, actions).items())


def _overflow(memory: Memory, held: Mapping[tuple[str, str], int]) -> str:
    parts = {operand: bits for (name, operand), bits in held.items() if name == memory.name}
    shares = ", ".join(f"{operand} {bits:,}" for operand, bits in parts.items())
    return f"'{memory.name}' has {memory.size_bits:,.0f} bits; its tiles need {sum(parts.values()):,}: {shares}"
