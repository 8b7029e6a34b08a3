"""Rows and columns of an image may be exchanged: what is the same both ways is searched once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mapper.looptree.search.branch.templates import Relations, Template
from mapper.looptree.search.space import Space


def swap_of(space: Space, known: Relations) -> Mapping[str, str]:
    """Dims to exchange that no operand and no axis tells apart; empty when there are none."""
    pairs = [pair for pair in known.pairs if len(pair) == 2]
    if len(pairs) != 2 or [step for _, step in pairs[0]] != [step for _, step in pairs[1]]:
        return {}
    swap: dict[str, str] = {}
    for (first, _), (second, _) in zip(*pairs, strict=True):
        swap |= {first: second, second: first}
    sets = [*known.relevant.values(), *known.whole.values(), *map(frozenset, space.spread.values())]
    closed = all(frozenset(swap.get(dim, dim) for dim in dims) == dims for dims in sets)
    return swap if closed and set(swap) <= set(known.dims) else {}


def mirrored(templates: list[Template], swap: Mapping[str, str]) -> list[int]:
    """The template that each one becomes when dims are exchanged; itself when none does."""
    numbers = {_known_by(template): i for i, template in enumerate(templates)}
    found = []
    for i, template in enumerate(templates):
        found.append(numbers.get(_known_by(_exchanged(template, swap)), i))
    return found


def _exchanged(template: Template, swap: Mapping[str, str]) -> Template:
    tiles = tuple(
        replace(
            tile,
            slides=tuple(swap.get(dim, dim) for dim in tile.slides),
            still=frozenset((slot, swap.get(dim, dim)) for slot, dim in tile.still),
        )
        for tile in template.tiles
    )
    slots = tuple(replace(slot, temporal=tuple(swap.get(dim, dim) for dim in slot.temporal)) for slot in template.slots)
    return replace(template, tiles=tiles, slots=slots)


def _known_by(template: Template) -> tuple[object, ...]:
    tiles = (
        (tile.operand, tile.memory, tile.slides, tile.reach, tile.still) for tile in (*template.top, *template.tiles)
    )
    return (*tiles, *((frozenset(slot.temporal), slot.axes) for slot in template.slots))
