"""All templates of a space as arrays, made once for a hierarchy and the way an einsum indexes its operands.

What a group contributes depends only on where its loops may lie and which of its factors a template asks for: that is
its *shape*, and templates share shapes. A tiling of a group is tabulated once for each shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mapper.looptree.einsum import touched
from mapper.looptree.search.branch.columns import Builder
from mapper.looptree.search.branch.costing import Costing, DimGroup, Factor, Position, Ratio, groups
from mapper.looptree.search.branch.mirror import mirrored, swap_of
from mapper.looptree.search.branch.templates import Relations, Template, relations
from mapper.looptree.search.space import Space

TEMPORAL, NO_LOOP, MOVING = -1, -2, -3
PLAIN, WINDOW, RATIO = range(3)
FACTOR = 11  # kind, then figure, loops, collapsed, over of two dims, then the steps; of a ratio its two factors
MOST_LOOPS = 24
MOST_DIMS = 2  # of a group


class Arrays(NamedTuple):
    """What the compiled search reads. T templates, G groups, S shapes of a group, C columns, K terms, F times.

    ``loops`` (G, S, 2, MOST_LOOPS): axis of each loop of each dim, TEMPORAL, MOVING (more than one trip), or NO_LOOP;
    ``factors`` (G, S, C, FACTOR); ``limits`` (G, S, C): what has no room whatever the other groups do; ``sizes``
    (G, S): columns of a shape; ``shape`` (T, G); ``column`` (T, G, C): where a shape has a template's columns;
    ``columns``, ``terms_of``, ``times_of``, ``rooms_of`` (T): how many; ``terms`` (T, K, 3); ``energy`` (T, K) J;
    ``times`` (T, F, K) s; ``room`` (T, R, 2): memory and column, ``bits`` (T, R); ``size_bits`` by memory;
    ``fixed_j``: energy of the MACs.
    """

    loops: Any
    factors: Any
    limits: Any
    sizes: Any
    shape: Any
    column: Any
    columns: Any
    terms: Any
    terms_of: Any
    energy: Any
    times: Any
    times_of: Any
    room: Any
    bits: Any
    rooms_of: Any
    size_bits: Any
    leak_w: float
    fixed_j: float
    spans: int


class Plan(NamedTuple):
    """Templates and their arrays. ``positions``: by template and dim.

    ``swap``: dims that may be exchanged where their extents are equal, ``mirror``: a template's number with them
    exchanged.
    """

    known: Relations
    groups: tuple[DimGroup, ...]
    templates: list[Template]
    positions: list[dict[str, tuple[Position, ...]]]
    arrays: Arrays
    swap: Mapping[str, str]
    mirror: list[int]


def plan(space: Space, found: list[Template]) -> Plan:
    """Compile templates (or outlines) of a space."""
    known = relations(space)
    builders = [Builder(space, known, template) for template in found]
    costings = [builder.build() for builder in builders]
    axes = {axis.name: i for i, axis in enumerate(space.hierarchy.axes)}
    swap = swap_of(space, known)
    shapes = _Shapes(groups(known), axes, swap)
    rows = [shapes.enter(builder, costing) for builder, costing in zip(builders, costings, strict=True)]
    arrays = _arrays(space, shapes, rows, costings)
    places = [builder.at for builder in builders]
    return Plan(known, groups(known), found, places, arrays, swap, mirrored(found, swap))


class _Shapes:
    """The different shapes of each group."""

    def __init__(self, groups: tuple[DimGroup, ...], axes: dict[str, int], swap: Mapping[str, str]) -> None:
        self.groups, self.axes = groups, axes
        shared: dict[frozenset[tuple[str, ...]], dict[Any, int]] = {}
        same = [frozenset({group.dims, tuple(swap.get(dim, dim) for dim in group.dims)}) for group in groups]
        self.known: list[dict[Any, int]] = [shared.setdefault(name, {}) for name in same]

    def enter(self, builder: Builder, costing: Costing) -> tuple[list[int], list[list[int]]]:
        """Shape of each group of a template, and where it has the template's columns."""
        shapes, columns = [], []
        for g, group in enumerate(self.groups):
            wanted = [column[g] for column in costing.columns]
            plain = {f for f in wanted if isinstance(f, Factor)}
            plain |= {f for ratio in wanted if isinstance(ratio, Ratio) for f in ratio}
            ratios = {f for f in wanted if isinstance(f, Ratio)}
            factors = (*sorted(plain), *sorted(ratios))
            loops = tuple(tuple(self._kind(position) for position in builder.at[dim]) for dim in group.dims)
            shapes.append(self.known[g].setdefault((loops, factors), len(self.known[g])))
            columns.append([factors.index(factor) for factor in wanted])
        return shapes, columns

    def _kind(self, position: Position) -> int:
        return self.axes.get(position.axis, MOVING if position.moves else TEMPORAL)


def _arrays(space: Space, shapes: _Shapes, rows: list[Any], costings: list[Costing]) -> Arrays:
    count, kinds = len(shapes.groups), max(len(known) for known in shapes.known)
    most = max(len(factors) for known in shapes.known for _, factors in known)
    loops = np.full((count, kinds, MOST_DIMS, MOST_LOOPS), NO_LOOP, np.int64)
    factors = np.zeros((count, kinds, most, FACTOR), np.int64)
    sizes = np.zeros((count, kinds), np.int64)
    for g, known in enumerate(shapes.known):
        for (of_dims, of_columns), s in known.items():
            sizes[g, s] = len(of_columns)
            for d, places in enumerate(of_dims):
                loops[g, s, d, : len(places)] = places
            for c, factor in enumerate(of_columns):
                factors[g, s, c] = _encoded(factor, of_columns)
    memories = [memory for memory in space.hierarchy.memories if memory.size_bits is not None]
    total = len(costings)
    widest = max(len(costing.columns) for costing in costings)
    terms, times = max(len(c.terms) for c in costings), max(len(c.times_s) for c in costings)
    rooms = max(sum(map(len, c.room.values())) for c in costings)
    column = np.zeros((total, count, widest), np.int64)
    found = Arrays(
        loops=loops,
        factors=factors,
        limits=np.full(factors.shape[:3], np.inf),
        sizes=sizes,
        shape=np.array([shape for shape, _ in rows], np.int64),
        column=column,
        columns=np.array([len(c.columns) for c in costings], np.int64),
        terms=np.zeros((total, terms, 3), np.int64),
        terms_of=np.array([len(c.terms) for c in costings], np.int64),
        energy=np.zeros((total, terms)),
        times=np.zeros((total, times, terms)),
        times_of=np.array([len(c.times_s) for c in costings], np.int64),
        room=np.zeros((total, max(rooms, 1), 2), np.int64),
        bits=np.zeros((total, max(rooms, 1))),
        rooms_of=np.array([sum(map(len, c.room.values())) for c in costings], np.int64),
        size_bits=np.array([memory.size_bits for memory in memories] or [0.0], np.float64),
        leak_w=float(sum(m.leak_w for m in space.hierarchy.memories) + space.hierarchy.compute.leak_w),
        fixed_j=0.0,
        spans=int(space.convention.footprint is not touched),
    )
    numbers = {memory.name: i for i, memory in enumerate(memories)}
    for t, ((_, columns), costing) in enumerate(zip(rows, costings, strict=True)):
        column[t, :, : len(costing.columns)] = columns
        _fill(found, t, costing, numbers)
    _limit(found)
    return found


def _limit(arrays: Arrays) -> None:
    """Of a factor that several templates use the widest limit holds."""
    count, kinds, most = arrays.limits.shape
    widest = np.zeros((count, kinds, most))
    for t in range(arrays.shape.shape[0]):
        for i in range(arrays.rooms_of[t]):
            memory, column = arrays.room[t, i]
            limit = arrays.size_bits[memory] / arrays.bits[t, i]
            for g in range(count):
                at = (g, arrays.shape[t, g], arrays.column[t, g, column])
                widest[at] = max(widest[at], limit)
    arrays.limits[widest > 0] = widest[widest > 0]


def _fill(arrays: Arrays, t: int, costing: Costing, memories: dict[str, int]) -> None:
    arrays.terms[t, : len(costing.terms)] = costing.terms
    for term, energy in costing.energy_j.items():
        arrays.energy[t, term] = energy
    for f, form in enumerate(costing.times_s):
        for term, seconds in form.items():
            arrays.times[t, f, term] = seconds
    held = [(memories[name], column, bits) for name, tiles in costing.room.items() for column, bits in tiles]
    for i, (memory, number, bits) in enumerate(held):
        arrays.room[t, i], arrays.bits[t, i] = (memory, number), bits


def _encoded(factor: Factor | Ratio, factors: tuple[Factor | Ratio, ...]) -> list[int]:
    row = [0] * FACTOR
    if isinstance(factor, Ratio):
        row[:3] = [RATIO, factors.index(factor.upper), factors.index(factor.lower)]
        return row
    row[0] = WINDOW if factor.steps != (0, 0) else PLAIN
    for d, part in enumerate(factor.parts):
        row[1 + 4 * d : 5 + 4 * d] = part
    row[9:11] = factor.steps
    return row
