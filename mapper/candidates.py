"""The stated space of tile sizes: ceil splits of each group, cut from its outermost dim inwards.

B, M: any split into equal ceil parts. N and K of a matmul: the same, rounded up to the array's columns and rows.
Beside each cut of a dim, the dim inside it is cut in halves and quarters too (column strips of a window). The numbers
of parts per dim are 1 .. ``FEW``, then grow by half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from archsim.pe.dataflows.fold import ceil_div
from mapper.constrain import Rules
from mapper.problem import Problem

FEW = 6
STRIPS = 4


@dataclass(frozen=True, slots=True)
class Cut:
    """Tile sizes of one group's dims (all of them) and its loops, outermost first."""

    tiles: Mapping[str, int]
    loops: tuple[tuple[str, int], ...]

    def trips(self, dims: Mapping[str, int]) -> int:
        """Product of ceil trips."""
        count = 1
        for dim, tile in self.loops:
            count *= -(-dims[dim] // tile)
        return count


def splits(extent: int, multiple: int = 1, beside: int = 1) -> list[int]:
    """Tile sizes ceil(extent / n) for the numbers of parts tried, rounded up to ``multiple``; descending, unique.

    Below one multiple: ``multiple // beside`` (what fills a side beside ``beside`` filter taps) and quarters of it.
    """
    parts = list(range(1, min(FEW, extent) + 1))
    while parts[-1] < extent:
        parts.append(min(extent, max(parts[-1] + 1, parts[-1] * 3 // 2)))
    sizes = {min(extent, ceil_div(ceil_div(extent, n), multiple) * multiple) for n in parts}
    small = multiple // beside
    while small > 0 and multiple > 1:
        sizes.add(min(extent, small))
        small //= 4
    return sorted(sizes, reverse=True)


def cuts(problem: Problem, group: str, multiple: int, innermost: str | None, rules: Rules) -> list[Cut]:
    """All cuts of a group; ``innermost`` is the dim whose loop goes innermost (the sliding one)."""
    dims = problem.dims
    cuttable = [dim for dim in problem.groups[group] if dim not in problem.whole and dims[dim] > 1]
    free = [dim for dim in cuttable if dim not in rules.tiles]
    fixed = {dim: rules.tiles.get(dim, dims[dim]) for dim in problem.groups[group]}
    found: dict[tuple[int, ...], Cut] = {}
    taps = prod(dims[dim] for dim in problem.groups[group] if dim in problem.whole)
    for tiles in _chain(free, dims, multiple, taps):
        sizes = {**fixed, **tiles}
        loops = [(dim, sizes[dim]) for dim in cuttable if sizes[dim] < dims[dim]]
        loops.sort(key=lambda loop: loop[0] == innermost)
        found.setdefault(tuple(sizes.values()), Cut(sizes, rules.sorted(loops)))
    return list(found.values())


def _chain(free: list[str], dims: Mapping[str, int], multiple: int, taps: int) -> Iterator[dict[str, int]]:
    """Cut the outermost dim; once it is down to 1 cut the next (with a few strips of the one after)."""
    if not free:
        yield {}
        return
    done: dict[str, int] = {}
    for position, dim in enumerate(free):
        is_last = position == len(free) - 1
        for tile in splits(dims[dim], multiple if is_last else 1, taps):
            yield {**done, dim: tile}
            if not is_last:
                yield from _strips({**done, dim: tile}, free[position + 1], dims)
        done[dim] = 1


def _strips(tiles: dict[str, int], dim: str, dims: Mapping[str, int]) -> Iterator[dict[str, int]]:
    parts = 2
    while parts <= STRIPS and dims[dim] >= 2 * parts:
        yield {**tiles, dim: -(-dims[dim] // parts)}
        parts *= 2
