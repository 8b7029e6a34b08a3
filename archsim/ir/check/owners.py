"""Whether queues that write parts of one tensor, in any order, keep to bytes of their own.

The bytes of the tensor are painted with the queue that writes them; where two write the same, one finds the other's
colour. They are painted in the largest grains that all offsets, runs and strides are multiples of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

import numpy as np
from numpy.typing import NDArray

from archsim.ir.check.uses import READS, SCATTERS, IntArray, Uses
from archsim.ir.footprint import reachable
from archsim.ir.program import Region, Tensor
from archsim.ir.unroll import Step

MOST_BYTES = 1 << 26  # of a tensor that is painted
AT_ONCE = 1 << 20  # grains
NOBODY = -1

Shape = tuple[int, tuple[tuple[int, int], ...]]  # bytes of a run, (extent, stride bytes) over which it is repeated
Painted = tuple[IntArray, IntArray, Shape]  # first bytes and queues of the accesses of one shape


def owned_apart(uses: Uses, number: int, groups: IntArray) -> bool:
    """Whether no two of ``groups`` of store ``number``, of different queues, meet where one writes.

    False where that is not so, and where it is not found out: for rings, lookups and large tensors.
    """
    item = uses.items[number]
    kinds = uses.groups.kind[groups]
    if not isinstance(item, Tensor) or item.size_bytes > MOST_BYTES or (kinds == SCATTERS).any():
        return False
    writes = _by_shape(uses, groups[kinds != READS].tolist())
    reads = _by_shape(uses, groups[kinds == READS].tolist())
    grain = _grain([*writes, *reads])
    owner = np.full(item.size_bytes // grain + 1, NOBODY, dtype=np.int32)
    for at, queue in _grains(writes, grain):
        owner[at] = queue
    if any((owner[at] != queue).any() for at, queue in _grains(writes, grain)):
        return False
    return not any(((owner[at] != queue) & (owner[at] != NOBODY)).any() for at, queue in _grains(reads, grain))


def _by_shape(uses: Uses, groups: Iterable[int]) -> list[Painted]:
    """The accesses of some groups by the shape of what they touch."""
    found: dict[Shape, tuple[list[int], list[int]]] = {}
    known: dict[object, Shape] = {}
    for group in groups:
        accesses = uses.accesses(group)
        for number in np.unique(accesses.region).tolist():
            rows = accesses.region == number
            for index, low in _alike(uses, accesses.queue, accesses.index[rows], accesses.low[rows]):
                step = uses.ledger.steps[accesses.queue][index]
                lows, queues = found.setdefault(_shape(uses.regions[number], step, known), ([], []))
                lows += low.tolist()
                queues += [accesses.queue] * len(low)
    return [(np.array(lows), np.array(queues), shape) for shape, (lows, queues) in found.items()]


def _alike(uses: Uses, queue: int, index: IntArray, low: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Accesses of one operand in parts of one shape: a command of each, and first bytes."""
    command = uses.ledger.steps[queue][int(index[0])].command
    if all(not region.clips for region in (*command.reads, *command.writes)) and not any(
        extent.limits for extent in command.extents
    ):
        yield int(index[0]), low
    else:
        yield from zip(index.tolist(), low[:, None], strict=True)


def _shape(region: Region, step: Step, known: dict[object, Shape]) -> Shape:
    """What an access touches from its first byte on; ``known``: of those without clips and lookups."""
    plain = not region.clips and step.command.index is None
    key = (region.strides, region.element_bytes, tuple(step.extents.items())) if plain else None
    shape = known.get(key) if plain else None
    if shape is None:
        touched = reachable(region, step)
        shape = (touched.run_bytes, touched.outer)
        if plain:
            known[key] = shape
    return shape


def _grain(painted: Iterable[Painted]) -> int:
    """The largest number of bytes that divides all offsets, runs and strides."""
    grain = 0
    for lows, _, (run_bytes, outer) in painted:
        grain = gcd(grain, int(np.gcd.reduce(lows)), run_bytes, *(stride for _, stride in outer))
    return grain


def _grains(painted: Iterable[Painted], grain: int) -> Iterator[tuple[IntArray, NDArray[np.int64]]]:
    """Numbers of the grains that some accesses touch, one row each, and their queues as a column."""
    for lows, queues, (run_bytes, outer) in painted:
        inside = np.arange(run_bytes // grain)
        for extent, stride in reversed(outer):
            inside = (np.arange(extent)[:, None] * (stride // grain) + inside).ravel()
        rows = max(1, AT_ONCE // len(inside))
        for begin in range(0, len(lows), rows):
            part = slice(begin, begin + rows)
            yield (lows[part] // grain)[:, None] + inside, queues[part, None]
