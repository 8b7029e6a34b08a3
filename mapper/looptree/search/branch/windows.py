"""Windows over a loop that lies below other tiles: those that cannot be moved above the window.

A tile slides over one temporal loop (search/space). Tiles between it and that loop are of the same operand, or, in
order, of memories further in; any other could as well lie above it. Two such tiles may slide over the same loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from mapper.looptree.search.branch.templates import Relations, Slot, Template, Tile, relations
from mapper.looptree.search.space import Space


def reach(space: Space, outline: Template, place: int) -> int:
    """The most tiles that may lie between a tile and the loop over which it slides."""
    own, found = outline.tiles[place], 0
    if not own.slides or space.hierarchy.memory(own.memory).size_bits is None:
        return 0
    for slot in range(place + 1, len(outline.tiles)):
        other = outline.tiles[slot]
        movable = other.operand != own.operand and not (space.in_order and other.memory != own.memory)
        if outline.slots[slot].axes or movable:
            break
        found += 1
    return found


def reaching(space: Space, outline: Template) -> Template:
    """An outline with every dim around the tiles that windows may reach over: loops there cannot change places."""
    known = relations(space)
    tiles = tuple(replace(tile, reach=reach(space, outline, i)) for i, tile in enumerate(outline.tiles))
    around = {slot for i, tile in enumerate(tiles) if tile.reach for slot in range(i, i + tile.reach + 2)}
    slots = tuple(Slot(known.dims, slot.axes) if i in around else slot for i, slot in enumerate(outline.slots))
    return Template(outline.top, tiles, slots)


def with_windows(space: Space, outline: Template) -> Iterator[Template]:
    """An outline that reaches with every set of tiles that slide, each over one loop."""
    known = relations(space)
    for tiles in product(*(_choices(space, tile) for tile in outline.tiles)):
        if _is_possible(tiles):
            slots = (Slot(_worth(known, tiles, i, slot.axes), slot.axes) for i, slot in enumerate(outline.slots))
            yield Template(outline.top, tiles, tuple(slots))


def ending(tiles: tuple[Tile, ...], slot: int) -> list[Tile]:
    """The tiles that slide over the first loop of a slot."""
    return [tile for i, tile in enumerate(tiles) if tile.must_slide and i + 1 + tile.reach == slot]


def is_inside(tiles: tuple[Tile, ...], slot: int) -> bool:
    """Whether a slot lies between a tile and the loop over which it slides, so that it can have none."""
    return any(tile.must_slide and i < slot < i + 1 + tile.reach for i, tile in enumerate(tiles))


def _choices(space: Space, tile: Tile) -> list[Tile]:
    """A tile that does not slide; where room is limited also those that do."""
    limited = space.hierarchy.memory(tile.memory).size_bits is not None
    ways = product(tile.slides if limited else (), range(tile.reach + 1))
    slides = [replace(tile, slides=(dim,), must_slide=True, reach=tiles) for dim, tiles in ways]
    return [replace(tile, slides=(), reach=0), *slides]


def _is_possible(tiles: tuple[Tile, ...]) -> bool:
    for slot in range(len(tiles) + 1):
        dims = {tile.slides for tile in ending(tiles, slot)}
        if len(dims) > 1 or (dims and is_inside(tiles, slot)):
            return False
    return True


def _worth(known: Relations, tiles: tuple[Tile, ...], slot: int, axes: tuple[str, ...]) -> tuple[str, ...]:
    """Dims that loop in a slot; other than next to a window that reaches over tiles as in templates."""
    if is_inside(tiles, slot):
        return ()
    ends = ending(tiles, slot)
    own = tiles[slot] if slot < len(tiles) else None
    changed = known.relevant[own.operand] | known.fixed(axes) if own is not None else frozenset[str]()
    worth = changed if own is not None and not own.reach else frozenset(known.dims)
    if slot and not any(tile.reach for tile in ends):
        worth -= known.whole[tiles[slot - 1].operand]
    window = tuple(dict.fromkeys(dim for tile in ends for dim in tile.slides))
    return (*window, *(dim for dim in known.dims if dim in worth and dim not in window))
