"""Tiles that stay: over loops that leave a tile as it is, with none between that changes it, it is not fetched again.

A tile that may move up to such loops needs not stay: it is placed above them. One below a border (a fan-out, or in
order another memory's tiles) cannot, and there the order of loops counts. So an outline stands for skeletons: of each
slot the classes of loops (dims that index the same operands) in their order. Loops of a skeleton count as if all had
more than one trip; where one has not, another skeleton tells what it costs. Left out are skeletons that another is no
worse than, whatever the tiles are:
- the last loops above a tile change it, others can lie below it (unless a fan-out between cuts them otherwise then);
- loops that do not change it stand before those where a tile further in stays over the latter;
- the first loops below a tile do not index it alone, unless it stays: others can lie above it;
- of two orders in which the same loops are repeated, one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

from mapper.looptree.search.branch.templates import Relations, Slot, Template, Tile, relations
from mapper.looptree.search.branch.windows import ending, is_inside
from mapper.looptree.search.space import Space


@dataclass(frozen=True)
class _Run:
    """Loops side by side whose ``dims`` index the same ``operands``."""

    operands: frozenset[str]
    dims: tuple[str, ...]


@dataclass(frozen=True)
class _Fate:
    """Of a tile at a slot: the dims over whose loops it ``stays``, and whether one of them ``changes`` it."""

    stays: frozenset[str] = frozenset()
    changes: bool = False

    def is_no_worse(self, other: _Fate) -> bool:
        """Whether a tile is fetched no more often than with another."""
        return self.stays >= other.stays and self.changes <= other.changes


_Loops = frozenset[tuple[int, str]]  # slot, dim
_Stays = frozenset[tuple[int, int, str]]  # tile, slot, dim
Fates = Mapping[int, _Fate]  # by the number of a tile


@dataclass(frozen=True)
class _Option:
    """What may loop in a slot. ``early``: runs that are no worse before all others."""

    runs: tuple[_Run, ...]
    fates: Fates
    early: frozenset[_Run]

    def covers(self, other: _Option) -> bool:
        """Whether it has all loops of another, and no tile is worse for that."""
        return set(self.runs) >= set(other.runs) and _no_worse(self.fates, other.fates)


def border(space: Space, template: Template, child: int) -> int:
    """The lowest slot above a tile that it cannot be moved across; -1 where there is none."""
    tiles = template.tiles
    for slot in range(child, 0 if space.in_order else -1, -1):
        moved = space.in_order and tiles[slot].memory != tiles[slot - 1].memory
        if template.slots[slot].axes or moved:
            return slot
    return 0 if template.slots[0].axes else -1


def hopeful(space: Space, outline: Template) -> Template:
    """An outline whose tiles below a border stay over every loop above it that leaves them as they are.

    No LoopTree of the outline costs less that may not be had, for no more, with its tiles in another order; where a
    class of dims leaves more than one operand as it is, over every loop. A tile that must slide does not stay.
    """
    known = relations(space)
    names = [operand.name for operand in space.einsum.operands]
    one = all(len(operands) >= len(names) - 1 for operands in _classes(known))
    tiles = []
    for i, tile in enumerate(outline.tiles):
        edge = border(space, outline, i)
        last = i if edge >= 0 and not one else edge
        loops = [(slot, dim) for slot in range(last + 1) for dim in outline.slots[slot].temporal]
        still = frozenset(loop for loop in loops if loop[1] not in known.relevant[tile.operand])
        tiles.append(tile if tile.must_slide else replace(tile, still=still))
    return replace(outline, tiles=tuple(tiles))


def staying(space: Space, outline: Template) -> list[Template]:
    """Those that an outline with its windows stands for, without those that have no loop and no stay of their own."""
    found: list[tuple[Template, _Loops, _Stays]] = []
    for one in dict.fromkeys(_Skeletons(space, outline).all()):
        loops = frozenset((i, dim) for i, slot in enumerate(one.slots) for dim in slot.temporal)
        stays = frozenset((i, *loop) for i, tile in enumerate(one.tiles) for loop in tile.still)
        if not any(loops <= more and stays <= longer for _, more, longer in found):
            found = [each for each in found if not (each[1] <= loops and each[2] <= stays)] + [(one, loops, stays)]
    return [one for one, _, _ in found]


def _classes(known: Relations) -> dict[frozenset[str], tuple[str, ...]]:
    """Dims by the operands that they index."""
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for dim in known.dims:
        operands = frozenset(name for name, dims in known.relevant.items() if dim in dims)
        found[operands] = (*found.get(operands, ()), dim)
    return found


def _no_worse(first: Fates, second: Fates) -> bool:
    return all(fate.is_no_worse(second[tile]) for tile, fate in first.items() if tile in second)


class _Skeletons:
    """Of tiles in an order, with their windows. Slots are filled from the compute units outwards.

    ``edges``: the border of each tile that may stay.
    """

    def __init__(self, space: Space, template: Template) -> None:
        self.known, self.template = relations(space), template
        self.classes = _classes(self.known)
        borders = {i: border(space, template, i) for i, tile in enumerate(template.tiles) if not tile.must_slide}
        self.edges = {i: edge for i, edge in borders.items() if edge >= 0}
        self.options = cache(self._options)

    def all(self) -> Iterator[Template]:
        """Every skeleton as a template."""
        return self._outwards(len(self.template.slots) - 1, frozenset(), ())

    def _outwards(self, slot: int, open_tiles: frozenset[int], inner: tuple[_Option, ...]) -> Iterator[Template]:
        """``open_tiles``: what may stay over loops above, ``inner``: the options of the slots below."""
        if slot < 0:
            yield self._template(inner)
            return
        below = open_tiles | {slot} if slot in self.edges else open_tiles
        for option in self.options(slot, below):
            still_open = frozenset(tile for tile, fate in option.fates.items() if not fate.changes)
            yield from self._outwards(slot - 1, still_open, (option, *inner))

    def _options(self, slot: int, tiles: frozenset[int]) -> list[_Option]:
        """What may loop in a slot while ``tiles`` below it have not been changed by loops inside."""
        window = self._window(slot)
        slides = {dim for run in window for dim in run.dims}
        left = [_Run(ops, tuple(dim for dim in dims if dim not in slides)) for ops, dims in self.classes.items()]
        left = [run for run in left if run.dims]
        most = 0 if is_inside(self.template.tiles, slot) else len(left)
        orders = [order for many in range(most, -1, -1) for order in permutations(left, many)]
        found: list[_Option] = []
        for order in orders:
            if self._is_worth(slot, window, order, tiles):
                option = self._option(slot, (*window, *order), tiles)
                if not any(other.covers(option) for other in found):
                    found = [other for other in found if not option.covers(other)] + [option]
        return found

    def _window(self, slot: int) -> tuple[_Run, ...]:
        """The loop over which tiles above slide, which comes first."""
        slides = dict.fromkeys(dim for tile in ending(self.template.tiles, slot) for dim in tile.slides)
        return tuple(
            _Run(frozenset(name for name, dims in self.known.relevant.items() if dim in dims), (dim,)) for dim in slides
        )

    def _is_worth(self, slot: int, window: tuple[_Run, ...], order: tuple[_Run, ...], tiles: frozenset[int]) -> bool:
        """Whether no loops in an order are better below the tile of the slot."""
        if slot == len(self.template.tiles) or self.template.tiles[slot].reach:
            return True
        own, others = self.template.tiles[slot], tiles - {slot}
        now = self._fates(slot, (*window, *order), others)
        fixed = self.known.fixed(self.template.slots[slot].axes)
        for run in order:
            if own.operand in run.operands or not fixed.isdisjoint(run.dims):
                continue
            if own.slides and any(self.template.tiles[tile].operand in run.operands for tile in others):
                continue  # they stay over the window's loop, which would lie above these
            moved = (*window, *(other for other in order if other != run), run)
            if _no_worse(self._fates(slot, moved, others), now):
                return False
        return True

    def _option(self, slot: int, runs: tuple[_Run, ...], tiles: frozenset[int]) -> _Option:
        fates = self._fates(slot, runs, tiles)
        moved = {run: (run, *(other for other in runs if other != run)) for run in runs}
        early = frozenset(run for run, order in moved.items() if _no_worse(self._fates(slot, order, tiles), fates))
        return _Option(runs, fates, early)

    def _fates(self, slot: int, runs: tuple[_Run, ...], tiles: frozenset[int]) -> Fates:
        return {tile: self._fate(slot, runs, tile) for tile in sorted(tiles)}

    def _fate(self, slot: int, runs: tuple[_Run, ...], tile: int) -> _Fate:
        """A tile stays over the last loops that do not change it; below its border it could be moved above them."""
        stays: frozenset[str] = frozenset()
        for run in reversed(runs):
            if self.template.tiles[tile].operand in run.operands or slot > self.edges[tile]:
                return _Fate(stays, True)
            stays |= frozenset(run.dims)
        return _Fate(stays, False)

    def _template(self, options: tuple[_Option, ...]) -> Template:
        still: dict[int, set[tuple[int, str]]] = {i: set() for i in range(len(self.template.tiles))}
        for slot, option in enumerate(options):
            for tile, fate in option.fates.items():
                still[tile] |= {(slot, dim) for dim in fate.stays}
        tiles = tuple(replace(tile, still=frozenset(still[i])) for i, tile in enumerate(self.template.tiles))
        slots = tuple(
            Slot(self._loops(slot, option, tiles), self.template.slots[slot].axes)
            for slot, option in enumerate(options)
        )
        loops = {(i, dim) for i, slot in enumerate(slots) for dim in slot.temporal}
        return Template(self.template.top, tuple(replace(tile, still=tile.still & loops) for tile in tiles), slots)

    def _loops(self, slot: int, option: _Option, tiles: tuple[Tile, ...]) -> tuple[str, ...]:
        """Without those that can as well lie above the tile above."""
        fixed = slot == 0 or tiles[slot - 1].still or any(tile.reach for tile in ending(tiles, slot))
        barred = frozenset() if fixed else self.known.whole[tiles[slot - 1].operand]
        return tuple(dim for run in option.runs for dim in run.dims if not (run in option.early and dim in barred))
