"""Addresses of each layer's rings: first fit below the pinned tensors, away from the previous layer's where possible.

Rings of neighbouring layers that do not overlap let the next layer's first moves run early (weights first).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from archsim.errors import MappingError
from archsim.ir.mapping import Keep, LayerMapping
from archsim.spec.architecture import Architecture
from mapper.geometry import components, slot_padding, slot_sizes
from mapper.operands import BIAS, OperandPlan
from mapper.placement import Block, lowest_fit
from mapper.problem import Problem
from mapper.strides import block_bytes

FIRST = ("b", BIAS, "acc", "out")


@dataclass(frozen=True, slots=True)
class Slot:
    """A ring of one layer's operand; ``operand``: the name of its plan. ``copies``: in a memory that cores share, one
    behind the other.
    """

    operand: str
    memory: str
    address: int
    slot_bytes: int
    slots: int
    copies: int = 1

    @property
    def size_bytes(self) -> int:
        """Bytes of all slots."""
        return self.slot_bytes * self.slots * self.copies

    def copy(self, number: int) -> int:
        """Address of one of its copies."""
        return self.address + number * self.slot_bytes * self.slots


def tiles_above(problem: Problem, mapping: LayerMapping, index: int) -> dict[str, int]:
    """Tile size of every dim below node ``index`` of the LoopTree."""
    tiles = dict(problem.dims)
    for node in mapping.nodes[:index]:
        if not isinstance(node, Keep):
            tiles[node.dim] = node.tile
    return tiles


def slot_bytes(problem: Problem, plan: OperandPlan, mapping: LayerMapping, keep: Keep) -> int:
    """Bytes of one slot of a kept operand."""
    tiles = tiles_above(problem, mapping, keep.reserve_at)
    parts = components(plan.axes, plan.shape, problem.layer.dims)
    padded = slot_padding(parts, problem.layer.dims, plan.element_bytes, plan.pad_bytes)
    return block_bytes(slot_sizes(parts, tiles), plan.element_bytes, padded)


def wanted(problem: Problem, mapping: LayerMapping) -> list[Slot]:
    """The rings that a layer needs, not yet placed: those of its Keeps with slots, in the order of placing."""
    keeps = [node for node in mapping.nodes if isinstance(node, Keep) and node.slots > 0]
    kept = [(keep, plan) for keep in keeps if (plan := problem.kept(keep.operand, keep.level)) and plan.buffered]
    kept.sort(key=lambda found: (found[0].operand not in FIRST, found[1].name))
    return [
        Slot(
            plan.name,
            plan.level,
            0,
            slot_bytes(problem, plan, mapping, keep),
            keep.slots,
            problem.times(plan, plan.level),
        )
        for keep, plan in kept
    ]


def allocate(
    problem: Problem,
    mapping: LayerMapping,
    architecture: Architecture,
    free: Mapping[str, int],
    before: Mapping[str, Slot],
) -> dict[str, Slot]:
    """Rings of one layer; ``free`` bytes from address 0 per memory, ``before`` the previous layer's rings.

    Tried in turn: all rings, only the weights', none of them apart from the previous layer's.
    """
    rings = wanted(problem, mapping)
    weights = {plan.name for plan in problem.operands if plan.operand in ("b", BIAS)}
    for apart in ({ring.operand for ring in rings}, weights, set[str]()):
        placed = _pack(rings, architecture, free, before, apart)
        if placed is not None:
            return placed
    raise MappingError(f"layer '{mapping.layer}': its rings do not fit the memory that its tiles were chosen for")


def _pack(
    rings: list[Slot],
    architecture: Architecture,
    free: Mapping[str, int],
    before: Mapping[str, Slot],
    apart: set[str],
) -> dict[str, Slot] | None:
    placed: dict[str, Slot] = {}
    for ring in rings:
        others = [*placed.values(), *(before.values() if ring.operand in apart else ())]
        blocks = [Block(s.address, s.size_bytes, 0, 0) for s in others if s.memory == ring.memory]
        address = lowest_fit(blocks, ring.size_bytes, 0, 0, architecture.memory(ring.memory).word_bytes)
        if address + ring.size_bytes > free[ring.memory]:
            return None
        placed[ring.operand] = replace(ring, address=address)
    return placed
