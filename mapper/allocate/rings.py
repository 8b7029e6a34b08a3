"""Addresses of each layer's rings: first fit below the pinned tensors, away from those of earlier layers.

Whoever comes to bytes that an earlier layer has used must wait for it. So each memory's rings stay off those of as many
layers before as there is room for, and their first moves run as early as that many layers ahead (weights first, where
there is no room for all to stay off even the last layer's).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep, LayerMapping
from archsim.spec.architecture import Architecture
from mapper.allocate.placement import Block, lowest_fit, united
from mapper.problem.geometry import components, slot_padding, slot_sizes
from mapper.problem.operands import BIAS, OperandPlan
from mapper.problem.problem import Problem
from mapper.problem.strides import block_bytes

FIRST = ("b", BIAS, "acc", "out")


@dataclass(frozen=True, slots=True)
class Slot:
    """A ring of one layer's operand; ``operand``: the name of its plan. ``copies``: in a memory that cores share, one
    behind the other. ``span``: bytes of all slots where these share some.
    """

    operand: str
    memory: str
    address: int
    slot_bytes: int
    slots: int
    copies: int = 1
    span: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of all slots."""
        return (self.span or self.slot_bytes * self.slots) * self.copies

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
    of = [(keep, plan) for keep in keeps if (plan := problem.kept(keep.operand, keep.level)) and plan.buffered]
    kept = [(keep, each) for keep, plan in of for each in problem.kept_with(plan)]
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
    rings: Sequence[Slot],
    weights: Set[str],
    architecture: Architecture,
    free: Mapping[str, int],
    before: Sequence[Mapping[str, Sequence[Block]]],
    name: str,
) -> dict[str, Slot]:
    """Rings of a layer or a group called ``name``; ``weights``: those of them that stay off earlier ones first,
    ``free`` bytes from address 0 per memory, ``before``: where those of the layers before it lie (``taken``)."""
    placed: dict[str, Slot] = {}
    for memory in dict.fromkeys(ring.memory for ring in rings):
        inside = [ring for ring in rings if ring.memory == memory]
        earlier = [blocks.get(memory, ()) for blocks in reversed(before)]
        found = _apart(inside, architecture.memory(memory).word_bytes, free[memory], earlier, weights)
        if found is None:
            need = sum(ring.size_bytes for ring in inside)
            raise MappingError(
                f"{name}: its rings, of {need:,} bytes in all, do not fit '{memory}', which has {free[memory]:,} free"
            )
        placed |= {slot.operand: slot for slot in found}
    return {ring.operand: placed[ring.operand] for ring in rings}


def weights_of(problem: Problem) -> frozenset[str]:
    """Rings of a layer's weights."""
    return frozenset(plan.name for plan in problem.operands if plan.operand in ("b", BIAS))


def taken(rings: Mapping[str, Slot]) -> dict[str, list[Block]]:
    """Where the rings of a layer lie, by memory."""
    found: dict[str, list[Slot]] = {}
    for slot in rings.values():
        found.setdefault(slot.memory, []).append(slot)
    return {memory: _blocks(slots) for memory, slots in found.items()}


def fit(problem: Problem, mapping: LayerMapping, architecture: Architecture, free: Mapping[str, int]) -> bool:
    """Whether a layer's rings fit its memories where no other layer's are in their way: then ``allocate`` places them
    whatever was before."""
    rings = wanted(problem, mapping)
    return all(
        _pack([ring for ring in rings if ring.memory == name], architecture.memory(name).word_bytes, free[name], (), ())
        is not None
        for name in {ring.memory: None for ring in rings}
    )


def _apart(
    rings: Sequence[Slot], align: int, room: int, earlier: Sequence[Sequence[Block]], weights: Set[str]
) -> list[Slot] | None:
    """The rings of one memory apart from those of as many layers as can be, of ``earlier`` ones, the last first."""
    depth = len(earlier)
    while depth:
        others = united(chain.from_iterable(earlier[:depth]))
        found = _pack(rings, align, room, others, {ring.operand for ring in rings})
        if found is not None:
            return found
        depth //= 2
    last = united(earlier[0]) if earlier else ()
    found = _pack(rings, align, room, last, weights)
    return found if found is not None else _pack(rings, align, room, (), weights)


def _pack(
    rings: Sequence[Slot], align: int, room: int, others: Sequence[Block], apart: Container[str]
) -> list[Slot] | None:
    """The rings at the lowest addresses, those named ``apart`` off the ``others``; None where there is no room."""
    placed: list[Slot] = []
    for ring in rings:
        own = _blocks(placed)
        blocks = [*others, *own] if ring.operand in apart else own
        address = lowest_fit(blocks, ring.size_bytes, 0, 0, align)
        if address + ring.size_bytes > room:
            return None
        placed.append(replace(ring, address=address))
    return placed


def _blocks(slots: Iterable[Slot]) -> list[Block]:
    """Where rings lie; each layer's at any time, for those of other layers run beside them."""
    return [Block(slot.address, slot.size_bytes, 0, 0) for slot in slots]
