"""The stated space of tile sizes: ceil splits of each group, cut from its outermost dim inwards.

B, M: any split into equal ceil parts. N and K of a matmul: the same, rounded up to the array's columns and rows.
Beside each cut of a dim, the dim inside it is cut in halves and quarters too (column strips of a window). The numbers
of parts per dim are 1 .. ``FEW``, then grow by half.

Where operands are staged, tiles of the outermost dim of a group may lie in strips: a second loop over that dim further
out. A strip holds 2, 4, 8, ... of the tiles or the most that divide them, and every strip as many.

Filter taps are whole, or there is one of them at a time, of all dims of taps or of the outermost ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isqrt, prod

from archsim.facts.dataflows.fold import ceil_div
from mapper.problem.constraints import Rules
from mapper.problem.problem import Problem

FEW = 6
STRIPS = 4


@dataclass(frozen=True, slots=True)
class Cut:
    """Tile sizes of one group's dims (all of them) and its loops, outermost first; ``strip``: (dim, size) of strips."""

    tiles: Mapping[str, int]
    loops: tuple[tuple[str, int], ...]
    strip: tuple[str, int] | None = None

    def trips(self, dims: Mapping[str, int]) -> int:
        """Product of ceil trips."""
        return prod(self.trips_of(dim, tile, dims) for dim, tile in self.loops)

    def trips_of(self, dim: str, tile: int, dims: Mapping[str, int]) -> int:
        """Ceil trips of a loop, within its strip."""
        return -(-self.reach(dim, dims) // tile)

    def reach(self, dim: str, dims: Mapping[str, int]) -> int:
        """What the loops over ``dim`` run over: its strip, or the whole dim."""
        return self.strip[1] if self.strip is not None and self.strip[0] == dim else dims[dim]

    def strips(self, dims: Mapping[str, int], names: tuple[str, ...]) -> Cut:
        """The cut into strips alone; ``names``: the group's dims."""
        assert self.strip is not None
        dim, size = self.strip
        return Cut({**{name: dims[name] for name in names}, dim: size}, ((dim, size),))


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
    """All cuts of a group that leave filter taps as the rules do; ``innermost``: the dim whose loop goes innermost, as
    windows slide over it."""
    dims = problem.dims
    cuttable = [dim for dim in problem.groups[group] if dim not in problem.whole and dims[dim] > 1]
    free = [dim for dim in cuttable if dim not in rules.tiles and dim not in problem.taps]
    fixed = {dim: rules.tiles.get(dim, dims[dim]) for dim in problem.groups[group]}
    found: dict[tuple[int, ...], Cut] = {}
    taps = prod(fixed[dim] for dim in problem.groups[group] if dim in problem.beside)
    for tiles in _chain(free, dims, multiple, taps):
        sizes = {**fixed, **tiles}
        loops = [(dim, sizes[dim]) for dim in cuttable if sizes[dim] < dims[dim]]
        loops.sort(key=lambda loop: loop[0] == innermost)
        found.setdefault(tuple(sizes.values()), Cut(sizes, rules.sorted(loops)))
    return list(found.values())


def tapped(problem: Problem, multiple: int, innermost: str | None, rules: Rules) -> list[Cut]:
    """The cuts of the reduction with one filter tap at a time, of all their dims or the outermost ones.

    That makes room for the rest of the sum, so a tile has all of it, or whole rounds of ``multiple``.
    """
    taps = [dim for dim in problem.groups["K"] if dim in problem.taps and dim not in rules.tiles]
    found: list[Cut] = []
    for number in range(1, len(taps) + 1):
        ones = replace(rules, tiles={**rules.tiles, **dict.fromkeys(taps[:number], 1)})
        made = cuts(problem, "K", multiple, innermost, ones)
        found += [cut for cut in made if cut is made[0] or (number == len(taps) and _rounds(cut, problem, multiple))]
    return found


def _rounds(cut: Cut, problem: Problem, multiple: int) -> bool:
    """Whether a tile has whole rounds of ``multiple`` of the reduction."""
    return multiple > 1 and prod(cut.tiles[dim] for dim in problem.groups["K"]) >= multiple


def striped(found: list[Cut], problem: Problem) -> list[Cut]:
    """The cuts whose outermost loop, but over filter taps, runs in strips."""
    made: list[Cut] = []
    for cut in found:
        dim, tile = next((loop for loop in cut.loops if loop[0] not in problem.taps), ("", 1))
        tiles = -(-problem.dims[dim] // tile) if dim else 1
        made += [replace(cut, strip=(dim, count * tile)) for count in _counts(tiles)]
    return made


def _counts(tiles: int) -> list[int]:
    """Tiles in a strip: powers of two, and the most, that divide ``tiles``."""
    powers = [1 << i for i in range(1, tiles.bit_length()) if tiles % (1 << i) == 0 and 1 << i < tiles]
    most = next((tiles // p for p in range(2, isqrt(tiles) + 1) if tiles % p == 0), 0)
    return sorted({*powers, most} - {0})


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
