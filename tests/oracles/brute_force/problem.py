"""Einsum, hierarchy and convention as plain arrays, for the compiled walk."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mapper.looptree.einsum import Einsum, touched
from mapper.looptree.hierarchy import READ, WRITE, Hierarchy
from mapper.looptree.search.objective import Objective
from mapper.looptree.search.space import Space
from tests.oracles.brute_force.chains import irrelevant_masks, window_masks

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Problem(NamedTuple):
    """Memories, then the compute units, by number; operands and dims by number. Sizes, rates as in their classes."""

    extents: Ints  # [dim]
    irrelevant: Ints  # [operand]: mask of dims that do not index it
    windows: Ints  # [operand]: mask of dims over which its tiles may slide
    coordinates: Ints  # [operand, coordinate, 4]: dim, step, dim or -1, step
    coordinate_count: Ints  # [operand]
    output: int
    size: Floats  # [memory], inf where nothing limits it
    slots: int
    bits: Ints  # [memory, operand]
    energy: Floats  # [memory, read | write]
    rate: Floats  # [memory, read | write]
    action_bits: Floats  # [memory, read | write], 0: an action a value
    flat_rate: Floats  # [memory], 0: by action
    is_max: Ints  # [memory]
    leak: Floats  # [memory]
    compute: Floats  # energy, rate, leak
    outside: Ints  # [memory or compute, axis]: 1 where the axis lies outside it
    fanout: Ints  # [axis]
    least_rounds: Ints  # [axis], 0: may be used less
    drain_reads: bool
    bill_all: bool
    whole_span: bool  # of a strided window all values from the first to the last
    fractional: bool
    powers: Floats  # of energy and delay


def encode(space: Space, objective: Objective) -> Problem:
    """A space and what is minimised in it."""
    einsum, hierarchy, convention = space.einsum, space.hierarchy, space.convention
    memories, compute = hierarchy.memories, hierarchy.compute
    actions = [[memory.actions[name] for name in (READ, WRITE)] for memory in memories]
    coordinates, count = _coordinates(einsum)
    return Problem(
        extents=_ints(einsum.extents.values()),
        irrelevant=_ints(irrelevant_masks(einsum)),
        windows=_ints(window_masks(space)),
        coordinates=coordinates,
        coordinate_count=count,
        output=len(einsum.operands) - 1,
        size=_floats(np.inf if memory.size_bits is None else memory.size_bits for memory in memories),
        slots=space.slots,
        bits=_ints([[m.bits.get(operand.name, operand.bits) for operand in einsum.operands] for m in memories]),
        energy=_floats([[action.energy_j for action in two] for two in actions]),
        rate=_floats([[action.per_s for action in two] for two in actions]),
        action_bits=_floats([[action.bits for action in two] for two in actions]),
        flat_rate=_floats(memory.actions_per_s or 0.0 for memory in memories),
        is_max=_ints(memory.combine == "max" for memory in memories),
        leak=_floats(memory.leak_w for memory in memories),
        compute=_floats(
            [compute.action.energy_j, compute.actions_per_s or compute.action.per_s, compute.leak_w],
        ),
        outside=_outside(hierarchy),
        fanout=_ints(axis.fanout for axis in hierarchy.axes),
        least_rounds=_ints(space.least_rounds.get(axis.name, 0) for axis in hierarchy.axes),
        drain_reads=convention.drain_reads,
        bill_all=convention.bill_all,
        whole_span=convention.footprint is not touched,
        fractional=convention.fractional,
        powers=_floats([objective.energy_power, objective.delay_power]),
    )


def _coordinates(einsum: Einsum) -> tuple[Ints, Ints]:
    numbers = {dim: number for number, dim in enumerate(einsum.extents)}
    most = max(len(operand.coordinates) for operand in einsum.operands)
    found = np.full((len(einsum.operands), most, 4), -1, np.int64)
    for at, operand in enumerate(einsum.operands):
        for place, coordinate in enumerate(operand.coordinates):
            terms = sorted(coordinate, key=lambda term: -term[1])  # the longer step first
            for term, (dim, step) in enumerate(terms):
                found[at, place, 2 * term : 2 * term + 2] = numbers[dim], step
    return found, _ints(len(operand.coordinates) for operand in einsum.operands)


def _outside(hierarchy: Hierarchy) -> Ints:
    parts = [part.name for part in hierarchy.parts]
    places = [parts.index(memory.name) for memory in hierarchy.memories] + [len(parts)]
    axes = [parts.index(axis.name) for axis in hierarchy.axes]
    return _ints([[axis < place for axis in axes] for place in places]).reshape(len(places), len(axes))


def _ints(values: Any) -> Ints:
    return np.array(list(values), np.int64)


def _floats(values: Any) -> Floats:
    return np.array(list(values), np.float64)
