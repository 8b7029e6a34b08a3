"""Which activations stay on chip between layers, and where: greedy by traffic saved per layer of lifetime.

A tensor may stay when every layer that writes or reads it does so from the same on-chip memory. Padding that its
readers need becomes a border of zeros around it, written once. A share of the memory (``WORKING_SHARE``) is left to
each layer's own tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from archsim.ir.dtypes import size_bytes
from archsim.ir.workload import Layer, Operand, Workload
from archsim.spec.architecture import Architecture, Memory
from mapper.geometry import components
from mapper.placement import Block, Layout, Lifetime, highest_fit, layout, lifetimes, sliced_alike
from mapper.problem import OUT, base_of, inner, pad_bytes, port_role

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
    """The pinned tensors of a model."""

    memory: str
    capacity: int
    tensors: dict[str, Resident] = field(default_factory=dict)

    def free_bytes(self, layer: int) -> int:
        """Bytes below the lowest tensor pinned at ``layer``."""
        return min(
            (r.address for r in self.tensors.values() if r.life.first <= layer <= r.life.last),
            default=self.capacity,
        )

    def at(self, layer: int) -> list[Resident]:
        """Tensors pinned at ``layer``."""
        return [r for r in self.tensors.values() if r.life.first <= layer <= r.life.last]


@dataclass(frozen=True, slots=True)
class _Use:
    layer: int
    operand: Operand
    kind: Layer


def plan_residency(
    workload: Workload, architecture: Architecture, dtypes: Mapping[str, str], barred: frozenset[str]
) -> Residency:
    """Greedy choice; ``barred`` tensors stay in DRAM (their presence made a layer unmappable)."""
    memory = inner(architecture, "outputs")
    plan = Residency(memory.name, memory.capacity_bytes)
    if inner(architecture, "inputs").name != memory.name:
        return plan
    base = {name: base_of(workload, name) for name in workload.tensors}
    lives = lifetimes(workload, base)
    uses = _uses(workload, base)
    floor = memory.capacity_bytes // WORKING_SHARE
    for name in _ranked(workload, uses, lives):
        if name in barred:
            continue
        found = _try(
            name,
            workload,
            uses[name],
            lives[name],
            plan,
            memory.word_bytes,
            floor,
            size_bytes(dtypes["inputs"]),
            architecture,
            _pad_bytes(name, workload, memory),
        )
        if found is not None:
            plan.tensors[name] = found
    return plan


def _uses(workload: Workload, base: Mapping[str, str]) -> dict[str, list[_Use]]:
    found: dict[str, list[_Use]] = {}
    for index, layer in enumerate(workload.layers):
        for operand in (*layer.inputs, layer.output):
            found.setdefault(base[operand.tensor], []).append(_Use(index, operand, layer))
    return found


def _ranked(workload: Workload, uses: Mapping[str, list[_Use]], lives: Mapping[str, Lifetime]) -> list[str]:
    names = [
        name
        for name in uses
        if workload.tensors[name].kind == "activation"
        and lives[name].last > lives[name].first
        and not any(
            t.kind == "output" and base_of(workload, t.name) == name for t in workload.tensors.values() if t.view
        )
    ]
    return sorted(names, key=lambda n: (-len(uses[n]) / (lives[n].last - lives[n].first + 1), lives[n].first, n))


def _try(
    name: str,
    workload: Workload,
    uses: list[_Use],
    life: Lifetime,
    plan: Residency,
    align: int,
    floor: int,
    element_bytes: int,
    architecture: Architecture,
    pad_bytes: int,
) -> Resident | None:
    if not all(_on_chip(use, plan.memory, architecture) for use in uses):
        return None
    border = _border(name, workload, uses)
    if border is None:
        return None
    stored = layout(workload.tensors[name], element_bytes, border, pad_bytes)
    blocks = [Block(r.address, r.layout.size_bytes, r.life.first, r.life.last) for r in plan.tensors.values()]
    address = highest_fit(blocks, stored.size_bytes, life.first, life.last, align, plan.capacity)
    if address is None or address < floor:
        return None
    return Resident(name, plan.memory, address, stored, life)


def _pad_bytes(name: str, workload: Workload, memory: Memory) -> int:
    """Padding of a pinned tensor's rows: that of inputs, as it is read; none where reshaping views need it dense."""
    base = workload.tensors[name]
    views = [tensor for tensor in workload.tensors.values() if base_of(workload, tensor.name) == name]
    return pad_bytes(memory, "inputs") if all(sliced_alike(view, base) for view in views) else 0


def _on_chip(use: _Use, memory: str, architecture: Architecture) -> bool:
    if use.kind.kind == "host" or use.operand.rows is not None:
        return False
    role = "outputs" if use.operand.name == OUT else port_role(use.operand)
    return inner(architecture, role).name == memory


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
