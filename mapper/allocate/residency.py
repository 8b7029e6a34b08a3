"""Which activations stay on chip between layers, and where: greedy by traffic saved per layer of lifetime.

A tensor may stay in an on-chip memory that is on the path of every layer that writes or reads it, the outermost first.
Padding that units need which read it there becomes a border of zeros around it, written once. A share of the memory
(``WORKING_SHARE``) is left to each layer's own tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from archsim.ir.dtypes import size_bytes
from archsim.ir.mapping import Placement
from archsim.ir.workload import Layer, Operand, Workload
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory
from mapper.allocate.placement import (
    Block,
    Layout,
    Lifetime,
    PlaceError,
    Spans,
    check_stated,
    highest_fit,
    layout,
    lifetimes,
    sliced_alike,
)
from mapper.problem.capacity import shared
from mapper.problem.geometry import components
from mapper.problem.operands import pad_bytes, port_role
from mapper.problem.packed import base_of

WORKING_SHARE = 4  # one part in four of the memory stays free for tiles


@dataclass(frozen=True, slots=True)
class Resident:
    """A tensor pinned at ``address`` of ``memory`` over its lifetime."""

    tensor: str
    memory: str
    address: int
    layout: Layout
    life: Lifetime


@dataclass
class Residency:
    """The pinned tensors of a model. ``capacity``: bytes of each memory in which tensors may stay."""

    capacity: Mapping[str, int]
    tensors: dict[str, Resident] = field(default_factory=dict)

    def free_by_memory(self, layer: int, architecture: Architecture) -> dict[str, int]:
        """Bytes free from address 0 of every memory at ``layer``: those below the lowest tensor pinned there."""
        free = {memory.name: memory.capacity_bytes for memory in architecture.memories}
        for pinned in self.at(layer):
            free[pinned.memory] = min(free[pinned.memory], pinned.address)
        return free

    def free_beside(self, layers: Iterable[int], architecture: Architecture) -> dict[str, int]:
        """The same for layers that run beside one another."""
        each = [self.free_by_memory(layer, architecture) for layer in layers]
        return {name: min(free[name] for free in each) for name in each[0]}

    def at(self, layer: int) -> list[Resident]:
        """Tensors pinned at ``layer``."""
        return [r for r in self.tensors.values() if r.life.first <= layer <= r.life.last]


@dataclass(frozen=True, slots=True)
class _Use:
    layer: int
    operand: Operand
    kind: Layer


def plan_residency(
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    barred: frozenset[str],
    placed: Mapping[str, Placement],
    groups: Spans = (),
) -> Residency:
    """Greedy choice; ``barred`` tensors stay in DRAM (their presence made a layer unmappable), ``placed`` ones where
    they are stated to be; ``groups``: first and last layers of each.

    Raises PlaceError where a stated place is impossible.
    """
    memories = shared(architecture)
    plan = Residency({memory.name: memory.capacity_bytes for memory in memories})
    if not memories:
        _refuse_on_chip(placed.values(), architecture)
        return plan
    base = {name: base_of(workload, name) for name in workload.tensors}
    lives = lifetimes(workload, base, groups)
    uses = _uses(workload, base)
    search = _Search(workload, architecture, memories, plan, size_bytes(dtypes["inputs"]), lives)
    for name, place in placed.items():
        if architecture.memory(place.memory).kind != "dram":
            plan.tensors[name] = search.stated(place, uses[name])
    for name in _ranked(workload, uses, lives):
        if name in barred or name in placed:
            continue
        found = search.greedy(name, uses[name])
        if found is not None:
            plan.tensors[name] = found
    return plan


def _refuse_on_chip(places: Iterable[Placement], architecture: Architecture) -> None:
    for place in places:
        if architecture.memory(place.memory).kind != "dram":
            raise PlaceError(
                place.tensor,
                f"tensor '{place.tensor}' cannot stay in '{place.memory}': this chip keeps inputs and outputs apart",
            )


def _uses(workload: Workload, base: Mapping[str, str]) -> dict[str, list[_Use]]:
    found: dict[str, list[_Use]] = {}
    for index, layer in enumerate(workload.layers):
        for operand in (*layer.inputs, layer.output):
            found.setdefault(base[operand.tensor], []).append(_Use(index, operand, layer))
    return found


def _ranked(workload: Workload, uses: Mapping[str, list[_Use]], lives: Mapping[str, Lifetime]) -> list[str]:
    names = [name for name in uses if _may_stay(name, workload, lives)]
    return sorted(names, key=lambda n: (-len(uses[n]) / (lives[n].last - lives[n].first + 1), lives[n].first, n))


def _may_stay(name: str, workload: Workload, lives: Mapping[str, Lifetime]) -> bool:
    """Whether a tensor is made and read by layers alone."""
    views = (t for t in workload.tensors.values() if t.view and t.kind == "output")
    return (
        workload.tensors[name].kind == "activation"
        and lives[name].last > lives[name].first
        and not any(base_of(workload, view.name) == name for view in views)
    )


@dataclass(frozen=True)
class _Search:
    """Places tensors one by one into ``plan``."""

    workload: Workload
    architecture: Architecture
    memories: tuple[Memory, ...]
    plan: Residency
    element_bytes: int
    lives: Mapping[str, Lifetime]

    def greedy(self, name: str, uses: list[_Use]) -> Resident | None:
        """The tensor in the first memory that has room for it; None: none has."""
        return next((found for memory in self.memories if (found := self._in(memory, name, uses)) is not None), None)

    def _in(self, memory: Memory, name: str, uses: list[_Use]) -> Resident | None:
        """The tensor at the highest address that is free, above the share of each layer's own tiles.

        Where no other tensor lies at any time, if there is such a place in the topmost part: then nobody has to wait
        until the bytes are free.
        """
        stored = self._layout(name, uses, memory)
        if stored is None:
            return None
        life, size, capacity = self.lives[name], stored.size_bytes, memory.capacity_bytes
        blocks = self._blocks(memory.name)
        address = highest_fit(blocks, size, -1, len(self.workload.layers), memory.word_bytes, capacity)
        if address is None or address < capacity - capacity // WORKING_SHARE:
            address = highest_fit(blocks, size, life.first, life.last, memory.word_bytes, capacity)
        if address is None or address < capacity // WORKING_SHARE:
            return None
        return Resident(name, memory.name, address, stored, life)

    def stated(self, place: Placement, uses: list[_Use]) -> Resident:
        """The tensor where ``place`` says; raises PlaceError when it cannot lie there."""
        memory, life = self.architecture.memory(place.memory), self.lives[place.tensor]
        stored = self._layout(place.tensor, uses, memory) if memory in self.memories else None
        where = f"tensor '{place.tensor}' in '{place.memory}'"
        if stored is None or not _may_stay(place.tensor, self.workload, self.lives):
            raise PlaceError(
                place.tensor, f"{where}: it cannot stay on chip there: not all its layers reach it in one memory"
            )
        check_stated(place, stored.size_bytes, life, memory.capacity_bytes)
        word = memory.word_bytes
        if place.base % word:
            raise PlaceError(place.tensor, f"{where} at {place.base:,}: allowed multiples of its word, {word} bytes")
        end = place.base + place.size_bytes
        if any(block.meets(place.base, end, life.first, life.last) for block in self._blocks(memory.name)):
            raise PlaceError(place.tensor, f"{where} at {place.base:,}: another tensor lies there at the same time")
        return Resident(place.tensor, memory.name, place.base, stored, life)

    def _blocks(self, memory: str) -> list[Block]:
        placed = (found for found in self.plan.tensors.values() if found.memory == memory)
        return [Block(r.address, r.layout.size_bytes, r.life.first, r.life.last) for r in placed]

    def _layout(self, name: str, uses: list[_Use], memory: Memory) -> Layout | None:
        """The layout of a tensor in a memory, None where it cannot stay there."""
        if not all(self._passes(use, memory) for use in uses):
            return None
        border = _border(name, self.workload, [use for use in uses if self._is_read_there(use, memory)])
        if border is None:
            return None
        pad = _pad_bytes(name, self.workload, memory)
        return layout(self.workload.tensors[name], self.element_bytes, border, pad)

    def _passes(self, use: _Use, memory: Memory) -> bool:
        """Whether the memory is on the operand's path."""
        if use.kind.kind == "host" or use.operand.rows is not None:
            return False
        role = port_role(use.operand)
        return memory in self.architecture.inside(role, self.architecture.outer(role).name)

    def _is_read_there(self, use: _Use, memory: Memory) -> bool:
        """Whether a unit reads the operand in the memory itself, or a copy moves it from there."""
        return use.kind.kind == "copy" or self.architecture.inner(port_role(use.operand)) == memory


def _pad_bytes(name: str, workload: Workload, memory: Memory) -> int:
    """Padding of a pinned tensor's rows: that of inputs, as it is read; none where reshaping views need it dense."""
    base = workload.tensors[name]
    views = [tensor for tensor in workload.tensors.values() if base_of(workload, tensor.name) == name]
    return pad_bytes(memory, "inputs") if all(sliced_alike(view, base) for view in views) else 0


def _border(name: str, workload: Workload, uses: list[_Use]) -> tuple[tuple[int, int], ...] | None:
    """Border per axis; None when a padded reader reads through a reshaping view."""
    base = workload.tensors[name]
    edges = [(0, 0)] * len(base.shape)
    for use in uses:
        tensor = workload.tensors[use.operand.tensor]
        for part in components(use.operand.axes, tensor.shape, use.kind.dims):
            if part.clip is None:
                continue
            if not sliced_alike(tensor, base) or tensor.shape[part.axis] != base.shape[part.axis]:
                return None
            high = part.offset + part.size(use.kind.dims) - part.clip
            low, old = max(0, -part.offset), edges[part.axis]
            edges[part.axis] = (max(old[0], low), max(old[1], high))
    padded = any(edge != (0, 0) for edge in edges)
    views = [t for t in workload.tensors.values() if t.view is not None and base_of(workload, t.name) == name]
    return None if padded and not all(sliced_alike(view, base) for view in views) else tuple(edges)
