"""Every way to cut one dim along the stages of a skeleton, and every order of the loops of a stage."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, permutations
from math import prod

from mapper.looptree.einsum import Einsum
from mapper.looptree.search.space import Factors, Space

Chain = tuple[int, ...]  # tile below each stage
Cut = tuple[int, ...]  # by stage: most trips a loop may have there, 0 when none; negative: of a fan-out


@lru_cache(maxsize=4096)
def chains(extent: int, cuts: Cut, factors: Factors) -> tuple[Chain, ...]:
    """All chains of a dim from its extent down to 1, in the order of the tiles of the first stage, then the next."""
    return tuple(chain for chain in _below(extent, cuts, factors) if _legal(extent, chain, cuts, factors))


def _below(extent: int, cuts: Cut, factors: Factors) -> Iterator[Chain]:
    if not cuts:
        if extent == 1:
            yield ()
        return
    spread_later = factors == "spatial" and any(cut < 0 for cut in cuts)
    for tile in range(extent, 0, -1):
        if tile < extent and -(-extent // tile) > abs(cuts[0]):
            continue
        if extent % tile == 0 or factors == "any" or spread_later:
            for rest in _below(tile, cuts[1:], factors):
                yield (tile, *rest)


def _legal(extent: int, chain: Chain, cuts: Cut, factors: Factors) -> bool:
    """Where only fan-outs need not divide: whether every tile is whole rounds of the instances inside it."""
    if factors != "spatial":
        return True
    above = (extent, *chain[:-1])
    trips = [-(-outer // tile) if cut < 0 else 1 for outer, tile, cut in zip(above, chain, cuts, strict=True)]
    rounds = -(-extent // prod(trips))
    for stage, tile in enumerate(chain):
        if tile == above[stage]:
            continue
        left, rest = divmod(tile, prod(trips[stage + 1 :]))
        if rest or rounds % left or (cuts[stage] < 0 and left != rounds):
            return False
        rounds = left
    return True


@lru_cache(maxsize=64)
def orders(irrelevant: tuple[int, ...], dims: int) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """Of every set of dims the orders that differ: (a set, then of each operand the dims that loop below its own).

    ``irrelevant``: of each operand the mask of dims that do not index it. Returns rows (mask of the set, *masks of the
    loops below the last one that indexes the operand) with an order that has them.
    """
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for count in range(dims + 1):
        for some in combinations(range(dims), count):
            mask = sum(1 << dim for dim in some)
            for order in permutations(some):
                found.setdefault((mask, *(_trailing(order, other) for other in irrelevant)), order)
    return tuple(found.items())


def _trailing(order: tuple[int, ...], irrelevant: int) -> int:
    mask = 0
    for dim in reversed(order):
        if not irrelevant >> dim & 1:
            break
        mask |= 1 << dim
    return mask


def window_masks(space: Space) -> tuple[int, ...]:
    """Of each operand the dims over which its tiles may slide."""
    names, operands = list(space.einsum.extents), space.einsum.operands
    return tuple(sum(1 << at for at, dim in enumerate(names) if dim in space.windows(one)) for one in operands)


def irrelevant_masks(einsum: Einsum) -> tuple[int, ...]:
    """Of each operand the dims that do not index it."""
    names = list(einsum.extents)
    return tuple(sum(1 << at for at, dim in enumerate(names) if dim not in operand.dims) for operand in einsum.operands)
