"""The LoopTree of a template and the tiles that were found for it."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.ir.mapping import Keep, Loop, MapNode
from mapper.looptree.search.branch.plan import Plan
from mapper.looptree.search.branch.templates import Template, Tile
from mapper.looptree.search.space import Space


def nodes_of(space: Space, plan: Plan, t: int, tiles: Mapping[str, list[int]]) -> tuple[MapNode, ...]:
    """The LoopTree of a template with the tiles below each loop of each dim; loops of one trip are left out."""
    template = plan.templates[t]
    nodes: list[MapNode] = [Keep(tile.operand, tile.memory, 1, i) for i, tile in enumerate(template.top)]
    at = {dim: list(zip(plan.positions[t][dim], sizes, strict=True)) for dim, sizes in tiles.items()}
    now = dict(space.einsum.extents)
    for slot in range(len(template.slots)):
        for dim, axis in _loops(template, slot):
            inner = next(
                (tile for position, tile in at[dim] if (position.slot, position.axis) == (slot, axis)), now[dim]
            )
            if inner < now[dim]:
                nodes.append(Loop(dim, inner, axis))
                now[dim] = inner
        if slot < len(template.tiles):
            nodes.append(_keep(space, template.tiles[slot], len(nodes)))
    return _with_windows(template, nodes)


def _loops(template: Template, slot: int) -> list[tuple[str, str]]:
    dims = template.slots[slot]
    return [*((dim, "") for dim in dims.temporal), *((dim, axis) for axis in dims.axes for dim in _all(template))]


def _all(template: Template) -> list[str]:
    return sorted({dim for slot in template.slots for dim in slot.temporal})


def _keep(space: Space, tile: Tile, place: int) -> Keep:
    return Keep(tile.operand, tile.memory, space.slots, place)


def _with_windows(template: Template, nodes: list[MapNode]) -> tuple[MapNode, ...]:
    sliding = {(tile.operand, tile.memory): tile for tile in template.tiles if tile.slides}
    for place, node in enumerate(nodes):
        if isinstance(node, Keep) and (node.operand, node.level) in sliding:
            tile = sliding[node.operand, node.level]
            at = place + 1 + tile.reach
            below = nodes[at] if at < len(nodes) else None
            if isinstance(below, Loop) and not below.axis and (below.dim,) == tile.slides:
                nodes[place] = Keep(node.operand, node.level, node.slots, at + 1)
    return tuple(nodes)
