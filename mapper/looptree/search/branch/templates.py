"""Outlines: every order of the tiles of all operands, with the loops that are worth having between them.

Between a tile Y and the next one X below it only those dims loop that change X and that do not index Y alone: a loop
over a dim that indexes Y alone costs no more above Y, where Y is smaller, and one that leaves X as it is costs no more
below X, which is then fetched less. Dims that a fan-out above X spreads may loop above it too where it would cut them
otherwise with their loops below it. Beside these, one dim of a window may slide: its loop comes first below the tile,
which holds the window and is filled with what is new. The order of other loops between Y and X does not matter.

An outline has the loops of every dim that may slide; its templates differ in which one does, if any. What they move is
the same but for loops that some lack, and each needs the room of a window over its dim: an outline whose tiles need
the room of windows over all of these at once bounds its templates, and is the only one where no tile has a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product

from archsim.base.errors import MappingError
from mapper.looptree.einsum import Coordinate, Operand
from mapper.looptree.hierarchy import Axis, Memory
from mapper.looptree.search.branch.whole import axis_orders, uneven_dims
from mapper.looptree.search.space import Space


@dataclass(frozen=True)
class Tile:
    """A tile of an operand; ``slides``: dims over which its window moves, of a template one at most.

    ``must_slide``: over more than one place; without that the tile is that of another template. ``reach``: tiles (of an
    outline: most tiles) between it and the loop over which it slides. ``still``: loops by slot and dim over which it
    stays as it is.
    """

    operand: str
    memory: str
    slides: tuple[str, ...] = ()
    must_slide: bool = False
    reach: int = 0
    still: frozenset[tuple[int, str]] = frozenset()


@dataclass(frozen=True)
class Slot:
    """Loops between two tiles: ``temporal`` dims, then the axes of fan-outs."""

    temporal: tuple[str, ...]
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Template:
    """``slots[i]`` lies above ``tiles[i]``, the last one above the compute units; ``top``: tiles above all loops."""

    top: tuple[Tile, ...]
    tiles: tuple[Tile, ...]
    slots: tuple[Slot, ...]

    @property
    def is_outline(self) -> bool:
        """Whether it stands for several templates."""
        return any(len(tile.slides) > 1 for tile in self.tiles)


@dataclass(frozen=True)
class Relations:
    """How dims index the operands, those of extent 1 left out. ``pairs``: coordinates of two dims.

    ``uneven``: by axis the dims whose loops above it cannot be moved below it.
    """

    dims: tuple[str, ...]
    relevant: dict[str, frozenset[str]]
    whole: dict[str, frozenset[str]]
    pairs: tuple[Coordinate, ...]
    uneven: Mapping[str, frozenset[str]]

    def fixed(self, axes: Iterable[str]) -> frozenset[str]:
        """Dims whose loops above axes cannot be moved below all of them."""
        return frozenset(dim for axis in axes for dim in self.uneven[axis])

    def partial(self, operand: str) -> tuple[str, ...]:
        """Dims whose tiles overlap in an operand."""
        return tuple(dim for dim in self.dims if dim in self.relevant[operand] - self.whole[operand])


def relations(space: Space) -> Relations:
    """Of the dims of an einsum that are larger than 1 (of its first one when none is)."""
    einsum = space.einsum
    dims = tuple(dim for dim, extent in einsum.extents.items() if extent > 1) or tuple(einsum.extents)[:1]
    relevant, whole = {}, {}
    pairs: list[Coordinate] = []
    for operand in einsum.operands:
        relevant[operand.name] = operand.dims & frozenset(dims)
        left = [tuple(term for term in coordinate if term[0] in dims) for coordinate in operand.coordinates]
        windows = space.windows(operand)
        whole[operand.name] = relevant[operand.name] - windows
        pairs += [c for c in left if any(dim in windows for dim, _ in c)]
    return Relations(dims, relevant, whole, tuple(dict.fromkeys(pairs)), uneven_dims(space))


def outlines(space: Space) -> list[Template]:
    """All outlines of a space. Raises MappingError when no memory outside the fan-outs has an operand whole."""
    known = relations(space)
    first, *inner = space.hierarchy.blocks()
    below = [_orders(space, block) for block in inner]
    found: list[Template] = []
    for top, groups in _tops(space, first):
        for order in _arranged(groups, in_order=space.in_order):
            found += [_outline(known, top, (tuple(order), *rest)) for rest in product(*below)]
    return found


def _tops(space: Space, block: tuple[Memory | Axis, ...]) -> Iterator[tuple[tuple[Tile, ...], list[list[Tile]]]]:
    """The outermost tile of every operand, and the others by memory, of the first run of memories."""
    memories = [memory for memory in block if isinstance(memory, Memory)]
    names = [operand.name for operand in space.einsum.operands]
    if lost := [name for name in names if all(name not in memory.allowed for memory in memories)]:
        raise MappingError(f"operand '{lost[0]}' is whole nowhere: no memory outside the fan-outs can keep it")
    for kept in product(*(_kept(memory, space.einsum.operands) for memory in memories)):
        groups = _groups(memories, kept)
        first = {tile.operand: tile for tile in reversed(list(chain.from_iterable(groups)))}
        rest = [[tile for tile in group if tile != first[tile.operand]] for group in groups]
        top = sorted((first[name] for name in names if name in first), key=lambda tile: _rank(memories, tile))
        outside = rest[: _rank(memories, top[-1])] if top else []
        if len(top) == len(names) and not (space.in_order and any(outside)):
            yield tuple(top), rest


def _groups(memories: list[Memory], kept: tuple[tuple[str, ...], ...]) -> list[list[Tile]]:
    return [[Tile(name, memory.name) for name in names] for memory, names in zip(memories, kept, strict=True)]


def _rank(memories: list[Memory], tile: Tile) -> int:
    return [memory.name for memory in memories].index(tile.memory)


def templates(space: Space, outline: Template) -> list[Template]:
    """Those that an outline stands for."""
    known = relations(space)
    axes = [slot.axes for slot in outline.slots]
    return [_template(known, outline.top, tiles, axes) for tiles in product(*map(_windows, outline.tiles))]


def _orders(space: Space, block: tuple[Memory | Axis, ...]) -> list[tuple[Tile | str, ...]]:
    """Orders of the tiles in a run of memories; the axes of a run of axes."""
    if not isinstance(block[0], Memory):
        return [*axis_orders(space, block)]
    memories = [memory for memory in block if isinstance(memory, Memory)]
    found: list[tuple[Tile | str, ...]] = []
    for kept in product(*(_kept(memory, space.einsum.operands) for memory in memories)):
        found += [tuple(order) for order in _arranged(_groups(memories, kept), in_order=space.in_order)]
    return found


def _kept(memory: Memory, operands: tuple[Operand, ...]) -> list[tuple[str, ...]]:
    must = [operand.name for operand in operands if operand.name in memory.keep]
    may = [operand.name for operand in operands if operand.name in memory.allowed and operand.name not in memory.keep]
    return [(*must, *some) for size in range(len(may) + 1) for some in combinations(may, size)]


def _arranged(groups: list[list[Tile]], *, in_order: bool) -> Iterator[list[Tile]]:
    """All orders in which each operand's tiles keep the order of the memories (or all tiles do)."""
    left = list(chain.from_iterable(groups))
    if not left:
        yield []
        return
    for tile in left:
        before = left[: left.index(tile)]
        if in_order and any(other.memory != tile.memory for other in before):
            continue
        if any(other.operand == tile.operand for other in before):
            continue
        rest = [[other for other in group if other != tile] for group in groups]
        for order in _arranged(rest, in_order=in_order):
            yield [tile, *order]


def _outline(known: Relations, top: tuple[Tile, ...], order: tuple[tuple[Tile | str, ...], ...]) -> Template:
    tiles: list[Tile] = []
    axes: list[tuple[str, ...]] = [()]
    for item in chain.from_iterable(order):
        if isinstance(item, Tile):
            tiles.append(replace(item, slides=known.partial(item.operand)))
            axes.append(())
        else:
            axes[-1] = (*axes[-1], item)
    return _template(known, top, tuple(tiles), axes)


def _template(
    known: Relations, top: tuple[Tile, ...], tiles: tuple[Tile, ...], axes: Sequence[tuple[str, ...]]
) -> Template:
    slots = tuple(Slot(_worth(known, tiles, i, names), names) for i, names in enumerate(axes))
    return Template(top, tiles, slots)


def _windows(tile: Tile) -> list[Tile]:
    found = [replace(tile, slides=(dim,), must_slide=i > 0) for i, dim in enumerate(tile.slides)]
    return found or [tile]


def _worth(known: Relations, tiles: tuple[Tile, ...], slot: int, axes: tuple[str, ...]) -> tuple[str, ...]:
    """Dims that loop above tile ``slot``; those that slide in the tile above come first."""
    below = known.relevant[tiles[slot].operand] | known.fixed(axes) if slot < len(tiles) else frozenset(known.dims)
    if slot == 0:
        return tuple(dim for dim in known.dims if dim in below)
    above = tiles[slot - 1]
    worth = [dim for dim in known.dims if dim in below and dim not in known.whole[above.operand]]
    return (*above.slides, *(dim for dim in worth if dim not in above.slides))
