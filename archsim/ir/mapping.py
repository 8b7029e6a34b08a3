"""The Mapping: a LoopTree per layer - ordered loops and keeps - and where tensors live.

Loops state tile sizes; trips are ceil; extents clamp. A Keep above a loop whose dim its tensor does not index is
stationary over that loop. ``reserve_at`` deeper than the Keep = a sliding window over the loops between (halo kept).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from archsim.ir.schedule import Group


@dataclass(frozen=True, slots=True)
class Loop:
    """Iterate ``dim`` in tiles of ``tile``. ``axis`` is '' for a temporal loop, else the fan-out it is spread over."""

    dim: str
    tile: int
    axis: str = ""


@dataclass(frozen=True, slots=True)
class Keep:
    """Hold the tile of ``operand`` (a, b, bias, out, acc, in0, ...) in memory ``level`` with ``slots`` slots.

    ``reserve_at``: index into the node list from which capacity is held; equal to the Keep's own index unless sliding.
    """

    operand: str
    level: str
    slots: int
    reserve_at: int


MapNode = Loop | Keep
LayerFences = Literal["needed", "all"]


@dataclass(frozen=True, slots=True)
class LayerMapping:
    """LoopTree of one layer on one unit.

    ``resident``: operands whose whole tensor already lies (inputs) or stays (output) on chip at its inner memory, as
    a pinned tensor: no move. ``space``: candidates counted, ``evaluated``: the legal ones; ``bound_cycles``: the
    analytic latency (a lower bound of the simulated one) of the chosen mapping; ``proof``: 'optimal in space' or the
    reason not; ``simulated_cycles``: those of the layer alone where it was simulated for the choice, else 0;
    ``expected_cycles``: the analytic latency with what DRAM usually costs beside its beats (whole bursts, other rows
    open) and what collisions do, by which mappings are ranked; in a mapped network that of the layer between its
    neighbours, which may hide part of it, so that it can be less than ``bound_cycles``.
    """

    layer: str
    unit: str
    kind: Literal["matmul", "vector", "copy", "host"]
    nodes: tuple[MapNode, ...]
    resident: tuple[str, ...]
    bound_cycles: int
    space: int
    evaluated: int
    proof: str
    simulated_cycles: int = 0
    expected_cycles: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a tensor lies: ``memory``, byte ``base``, and the layers [first, last] over which it does."""

    tensor: str
    memory: str
    base: int
    size_bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ModelMapping:
    """The whole model's mapping: one LayerMapping per layer, tensor placements, dtypes by role.

    ``workload_sha256``, ``chip_sha256``: of what it was made for ('' where that is not known). ``fences``: between
    layers, ``needed`` (a command waits for those of earlier layers whose bytes it touches) or ``all`` (for every
    command of earlier layers). ``groups``: those of several layers, whose mappings are without what the groups share;
    every other layer runs by itself. ``schedule``: the schedule policy that it obeys, '' for none.
    """

    workload: str
    chip: str
    objective: str
    layers: tuple[LayerMapping, ...]
    placements: tuple[Placement, ...]
    dtypes: Mapping[str, str]
    workload_sha256: str = ""
    chip_sha256: str = ""
    fences: LayerFences = "needed"
    groups: tuple[Group, ...] = ()
    schedule: str = ""


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the search of the layers whose names match the pattern ``layers`` (as of a shell) has to respect.

    ``units``: names it may choose from (any when empty); ``order``: dims whose loops stand in this order, outermost
    first; ``tiles``: dim -> tile size; ``stationary``: operands of which no byte comes in twice; ``spatial``: axis of
    the array -> dims that may be spread over it; ``place``: where it is written, with its key path.
    """

    layers: str
    units: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    tiles: Mapping[str, int] = field(default_factory=dict)
    stationary: tuple[str, ...] = ()
    spatial: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    place: str = "constraint"


@dataclass(frozen=True, slots=True)
class MappingFile:
    """A mapping as a file states it: of some layers or all, by hand or exported; what it leaves out is searched.

    ``places``: key path (``layers[3].nodes[2]``) -> where it is written; ``dims``: extents by layer, where stated.
    """

    mapping: ModelMapping
    constraints: tuple[Constraint, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    dims: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
