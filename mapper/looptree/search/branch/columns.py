"""The cost of a template as sums of products: which loops count in each traffic, tile and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf

from mapper.looptree.hierarchy import READ, WRITE, Memory
from mapper.looptree.search.branch.costing import (
    COUNT,
    LARGEST,
    SUM,
    Column,
    Costing,
    DimGroup,
    Factor,
    Part,
    Position,
    groups,
    positions,
)
from mapper.looptree.search.branch.templates import Relations, Template, Tile
from mapper.looptree.search.space import Space

Masks = tuple[int, ...]  # by dim: bit i stands for its loop i


def _either(first: Masks, second: Masks) -> Masks:
    return tuple(a | b for a, b in zip(first, second, strict=True))


class Builder:
    """Makes the Costing of one template."""

    def __init__(self, space: Space, known: Relations, template: Template) -> None:
        self.space, self.known, self.template = space, known, template
        self.groups = groups(known)
        self.at = {dim: positions(space, template, dim) for dim in known.dims}
        self.costing = Costing()
        self.busy: dict[str, dict[str, dict[int, float]]] = {}
        self.none: Masks = (0,) * len(known.dims)
        slots = range(len(template.slots))
        self.loops = [[sum(p.slot <= slot for p in places) for slot in slots] for places in self.at.values()]
        self.products: dict[tuple[str, int, Masks, Masks], Column] = {}
        self.outsides: dict[str, Masks] = {}

    def build(self) -> Costing:
        """All of it."""
        self._room()
        for operand in self.space.einsum.operands:
            for edge in self._edges(operand.name):
                if operand.is_output:
                    self._output(operand.name, *edge)
                else:
                    self._input(operand.name, *edge)
        for memory in self.space.hierarchy.memories:
            self._times(memory)
        self._compute()
        return self.costing

    def _edges(self, operand: str) -> Iterator[tuple[str, int, str, int]]:
        """Outer memory, number of its tile (-1 at the top), inner memory (or none) and its tile (or the last slot)."""
        top = next(tile.memory for tile in self.template.top if tile.operand == operand)
        places = [(top, -1)]
        places += [(tile.memory, i) for i, tile in enumerate(self.template.tiles) if tile.operand == operand]
        for outer, inner in zip(places, [*places[1:], ("", len(self.template.tiles))], strict=True):
            yield (*outer, *inner)

    def _input(self, operand: str, outer: str, parent: int, inner: str, child: int) -> None:
        still = self._still(child)
        self._add(outer, operand, READ, child, _either(self._shared(operand, parent), still))
        if inner:
            self._add(inner, operand, WRITE, child, still)

    def _output(self, operand: str, outer: str, parent: int, inner: str, child: int) -> None:
        still, shared = self._still(child), self._shared(operand, parent)
        self._add(outer, operand, WRITE, child, _either(shared, still))
        self._add(outer, operand, READ, child, _either(shared, still), self._once(operand, parent, self.none))
        if inner:
            if self.space.convention.drain_reads:
                self._add(inner, operand, READ, child, still)
            self._add(inner, operand, WRITE, child, still, self._once(operand, parent, shared))

    def _still(self, child: int) -> Masks:
        """Temporal loops over which an inner tile stays."""
        still = self.template.tiles[child].still if child < len(self.template.tiles) else frozenset()
        return self._masks(lambda dim, place: not place.axis and (place.slot, dim) in still)

    def _masks(self, chosen: Callable[[str, Position], bool]) -> Masks:
        return tuple(
            sum(1 << i for i, place in enumerate(places) if chosen(dim, place)) for dim, places in self.at.items()
        )

    def _shared(self, operand: str, parent: int) -> Masks:
        """Loops of axes below the parent that share its tile."""
        relevant, axis = self.known.relevant[operand], self.space.hierarchy.axis
        return self._masks(
            lambda dim, place: (
                dim not in relevant
                and place.slot > parent
                and bool(place.axis)
                and operand in axis(place.axis).may_reuse
            )
        )

    def _once(self, operand: str, parent: int, but: Masks) -> Masks:
        """Loops that do not repeat the first partial sums."""
        relevant = self.known.relevant[operand]
        every = self._masks(lambda dim, place: dim not in relevant and (place.slot > parent or not place.axis))
        return tuple(mask & ~other for mask, other in zip(every, but, strict=True))

    def _add(
        self, memory: str, operand: str, name: str, child: int, collapsed: Masks, first: Masks | None = None
    ) -> None:
        """Actions of a memory for the values of an operand at a place (less those that are the first)."""
        part = self.space.hierarchy.memory(memory)
        action = part.actions[name]
        bits = part.bits.get(operand, self.space.einsum.operand(operand).bits)
        calls = bits / action.bits if action.bits else 1.0
        if action.energy_j:
            term = self._term(operand, child, collapsed, first, self.none)
            self.costing.energy_j[term] = self.costing.energy_j.get(term, 0.0) + calls * action.energy_j
        if part.actions_per_s is not None or action.per_s != inf:
            term = self._term(operand, child, collapsed, first, self._outside(memory))
            busy = self.busy.setdefault(memory, {}).setdefault(name, {})
            busy[term] = busy.get(term, 0.0) + calls

    def _term(self, operand: str, child: int, collapsed: Masks, first: Masks | None, spread: Masks) -> int:
        column = self._column(operand, child, collapsed, spread)
        return self.costing.term(column, None if first is None else self._column(operand, child, first, spread))

    def _outside(self, part: str) -> Masks:
        """Loops of the axes outside a part."""
        if part not in self.outsides:
            names = [other.name for other in self.space.hierarchy.parts]
            outside = set(names[: names.index(part)] if part in names else names)
            self.outsides[part] = self._masks(lambda dim, place: place.axis in outside)
        return self.outsides[part]

    def _column(self, operand: str, child: int, collapsed: Masks, spread: Masks) -> Column:
        """Values at a place, of all instances (nothing ``spread``) or of one of those that ``spread`` loops over."""
        if self.space.convention.fractional:
            return self._product(operand, child, collapsed, spread)
        return self._product(operand, child, _either(collapsed, spread), self.none)

    def _product(self, operand: str, child: int, collapsed: Masks, over: Masks) -> Column:
        key = (operand, child, collapsed, over)
        if key not in self.products:
            relevant, whole = self.known.relevant[operand], self.known.whole[operand]
            parts = {}
            for d, dim in enumerate(self.known.dims):
                loops = self.loops[d][child]
                above = (1 << loops) - 1
                parts[dim] = Part(SUM if dim in whole else COUNT, loops, collapsed[d] & above, over[d] & above)
            self.products[key] = self._factors(parts, relevant - whole)
        return self.products[key]

    def _factors(self, parts: Mapping[str, Part], windows: frozenset[str]) -> Column:
        found = []
        for group in self.groups:
            steps = self._steps(group) if windows.intersection(group.dims) else (0, 0)
            found.append(Factor(tuple(parts[dim] for dim in group.dims), steps))
        return tuple(found)

    def _steps(self, group: DimGroup) -> tuple[int, int]:
        pair = next(pair for pair in self.known.pairs if {dim for dim, _ in pair} == set(group.dims))
        step = dict(pair)
        return step[group.dims[0]], step[group.dims[-1]] if len(group.dims) > 1 else 0

    def _room(self) -> None:
        for place, tile in enumerate(self.template.tiles):
            memory = self.space.hierarchy.memory(tile.memory)
            if memory.size_bits is None:
                continue
            bits = memory.bits.get(tile.operand, self.space.einsum.operand(tile.operand).bits)
            column = self.costing.column(self._held(tile, place))
            self.costing.room.setdefault(tile.memory, []).append((column, float(bits * self.space.slots)))

    def _held(self, tile: Tile, place: int) -> Column:
        relevant, whole = self.known.relevant[tile.operand], self.known.whole[tile.operand]
        parts = {}
        for d, dim in enumerate(self.known.dims):
            loops = self.loops[d][place + tile.reach] + 1 if dim in tile.slides else self.loops[d][place]
            parts[dim] = Part(LARGEST, loops) if dim in relevant else Part()
        return self._factors(parts, relevant - whole)

    def _times(self, memory: Memory) -> None:
        busy = self.busy.get(memory.name, {})
        forms = []
        for name, terms in busy.items():
            rate = memory.actions[name].per_s if memory.actions_per_s is None else memory.actions_per_s
            forms.append({term: calls / rate for term, calls in terms.items()})
        if memory.combine == "sum" or memory.actions_per_s is not None:
            forms = [_added(forms)] if forms else []
        self.costing.times_s += forms

    def _compute(self) -> None:
        """All MACs over the instances (fractional), or the rounds of the busiest one."""
        compute = self.space.hierarchy.compute
        spread = self._outside(compute.name)
        fractional = self.space.convention.fractional
        parts = {}
        for d, dim in enumerate(self.known.dims):
            loops = len(self.at[dim])
            parts[dim] = Part(SUM, loops, 0, spread[d]) if fractional else Part(COUNT, loops, spread[d])
        rate = compute.actions_per_s or compute.action.per_s
        self.costing.times_s.append({self.costing.term(self._factors(parts, frozenset())): 1.0 / rate})


def _added(forms: list[dict[int, float]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for form in forms:
        for term, seconds in form.items():
            found[term] = found.get(term, 0.0) + seconds
    return found
