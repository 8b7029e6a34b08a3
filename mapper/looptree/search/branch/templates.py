"""Templates: every order of the tiles of all operands, with the loops that are worth having between them.

Between a tile Y and the next one X below it only those dims loop that change X and that do not index Y alone: a loop
over a dim that indexes Y alone costs no more above Y, where Y is smaller, and one that leaves X as it is costs no more
below X, which is then fetched less. Beside these, one dim of a window may slide: its loop comes first below the tile,
which holds the window and is filled with what is new. The order of other loops between Y and X does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

from archsim.errors import MappingError
from mapper.looptree.einsum import Coordinate, Operand
from mapper.looptree.hierarchy import Memory
from mapper.looptree.search.space import Space


@dataclass(frozen=True)
class Tile:
    """A tile of an operand; ``slides``: the dim over which its window moves, '' for none.

    ``must_slide``: over more than one place; without that the tile is that of another template.
    """

    operand: str
    memory: str
    slides: str = ""
    must_slide: bool = False


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


@dataclass(frozen=True)
class Relations:
    """How dims index the operands, those of extent 1 left out. ``pairs``: coordinates of two dims."""

    dims: tuple[str, ...]
    relevant: dict[str, frozenset[str]]
    whole: dict[str, frozenset[str]]
    pairs: tuple[Coordinate, ...]

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
    return Relations(dims, relevant, whole, tuple(dict.fromkeys(pairs)))


def templates(space: Space) -> list[Template]:
    """All templates of a space. Raises MappingError when no memory outside the fan-outs has an operand whole."""
    known = relations(space)
    first, *inner = space.hierarchy.blocks()
    below = [_orders(space, block) for block in inner]
    found: list[Template] = []
    for top, groups in _tops(space, first):
        for order in _arranged(groups, in_order=space.in_order):
            for orders in product([order], *below):
                found += _with_windows(space, known, top, orders)
    return found


def _tops(space: Space, block: tuple[object, ...]) -> Iterator[tuple[tuple[Tile, ...], list[list[Tile]]]]:
    """The outermost tile of every operand, and the others by memory, of the first run of memories."""
    memories = [memory for memory in block if isinstance(memory, Memory)]
    names = [operand.name for operand in space.einsum.operands]
    if lost := [name for name in names if all(name not in memory.allowed for memory in memories)]:
        raise MappingError(f"operand '{lost[0]}' is whole nowhere: no memory outside the fan-outs can keep it")
    for kept in product(*(_kept(memory, space.einsum.operands) for memory in memories)):
        groups = [[Tile(name, memory.name) for name in names] for memory, names in zip(memories, kept, strict=True)]
        first = {tile.operand: tile for tile in reversed(list(chain.from_iterable(groups)))}
        rest = [[tile for tile in group if tile != first[tile.operand]] for group in groups]
        top = sorted((first[name] for name in names if name in first), key=lambda tile: _rank(memories, tile))
        outside = rest[: _rank(memories, top[-1])] if top else []
        if len(top) == len(names) and not (space.in_order and any(outside)):
            yield tuple(top), rest


def _rank(memories: list[Memory], tile: Tile) -> int:
    return [memory.name for memory in memories].index(tile.memory)


def _orders(space: Space, block: tuple[object, ...]) -> list[tuple[Tile | str, ...]]:
    """Orders of the tiles in a run of memories; the axes of a run of axes."""
    if not isinstance(block[0], Memory):
        return [tuple(axis.name for axis in block)]  # type: ignore[attr-defined]
    memories = [memory for memory in block if isinstance(memory, Memory)]
    found: list[tuple[Tile | str, ...]] = []
    for kept in product(*(_kept(memory, space.einsum.operands) for memory in memories)):
        groups = [[Tile(name, memory.name) for name in names] for memory, names in zip(memories, kept, strict=True)]
        found += [tuple(order) for order in _arranged(groups, in_order=space.in_order)]
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


def _with_windows(
    space: Space, known: Relations, top: tuple[Tile, ...], orders: Iterable[Sequence[Tile | str]]
) -> Iterator[Template]:
    tiles: list[Tile] = []
    axes: list[list[str]] = [[]]
    for item in chain.from_iterable(orders):
        if isinstance(item, Tile):
            tiles.append(item)
            axes.append([])
        else:
            axes[-1].append(item)
    for windows in product(*(_windows(known, tile) for tile in tiles)):
        placed = list(windows)
        slots = [Slot(_worth(known, placed, i), tuple(axes[i])) for i in range(len(axes))]
        yield Template(top, tuple(placed), tuple(slots))


def _windows(known: Relations, tile: Tile) -> list[Tile]:
    found = [
        Tile(tile.operand, tile.memory, dim, must_slide=i > 0) for i, dim in enumerate(known.partial(tile.operand))
    ]
    return found or [tile]


def _worth(known: Relations, tiles: list[Tile], slot: int) -> tuple[str, ...]:
    """Dims that loop above tile ``slot``; the sliding one of the tile above comes first."""
    below = known.relevant[tiles[slot].operand] if slot < len(tiles) else frozenset(known.dims)
    if slot == 0:
        return tuple(dim for dim in known.dims if dim in below)
    above = tiles[slot - 1]
    worth = [dim for dim in known.dims if dim in below and dim not in known.whole[above.operand]]
    slides = [above.slides] if above.slides else []
    return (*slides, *(dim for dim in worth if dim != above.slides))
