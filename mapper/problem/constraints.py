"""Constraints on the search: those that speak of a layer, merged into one set of rules, and what they allow.

Rules that no mapping of the layer could obey are refused with the layer and the place of the constraint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from itertools import chain, combinations

from archsim.base.errors import MappingError, nearest
from archsim.ir.mapping import Constraint
from archsim.ir.workload import Layer
from archsim.spec.architecture import Architecture
from mapper.problem.menu import MenuTile, entries_of, tiles_of
from mapper.problem.operands import ACC, OUT
from mapper.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Rules:
    """What a search must respect. ``before``: (outer, inner) pairs of dims; ``units``: None = any; ``place``: whose.

    ``spatial``: axis of the array -> dims that may be spread over it; ``unspread``: dims that may not -> their axis;
    ``prefetch``: share of the units' memory that operands fill which are copied whole first (``prefetched``).
    ``menu``: the tiles that it may have (``problem.menu``); any where it is empty.
    """

    units: tuple[str, ...] | None = None
    before: tuple[tuple[str, str], ...] = ()
    tiles: Mapping[str, int] = field(default_factory=dict)
    stationary: tuple[str, ...] = ()
    spatial: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unspread: Mapping[str, str] = field(default_factory=dict)
    prefetch: Fraction | None = None
    menu: tuple[MenuTile, ...] = ()
    place: str = ""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.place)

    @property
    def temporal(self) -> tuple[str, ...]:
        """Keys of the constraints that speak of loops, tiles and what is kept."""
        stated = {
            "order": self.before,
            "tiles": self.tiles or self.menu,
            "stationary": self.stationary,
            "prefetch": self.prefetch,
        }
        return tuple(key for key, value in stated.items() if value)

    def on(self, engine: str) -> Rules:
        """The rules of an engine: what an array may not spread has tiles of one there."""
        if engine != "array":
            return replace(self, spatial={}, unspread={})
        return replace(self, tiles={**self.tiles, **dict.fromkeys(self.unspread, 1)})

    def chosen(self, problem: Problem) -> Iterator[Rules]:
        """These rules with the tiles of each entry of their menu that has those which they state; as they are where
        it has no entry for a problem. Raises MappingError where no entry has them."""
        entries, seen = entries_of(problem, self.menu), list[Mapping[str, int]]()
        if not entries:
            yield self
            return
        for entry in entries:
            tiles = tiles_of(problem, entry)
            if tiles not in seen and all(tiles[dim] == self.tiles[dim] for dim in tiles.keys() & self.tiles.keys()):
                seen.append(tiles)
                yield replace(self, menu=(), tiles={**self.tiles, **tiles})
        if not seen:
            stated = ", ".join(f"{tile} of '{dim}'" for dim, tile in self.tiles.items())
            raise MappingError(f"{self.place}: layer '{problem.layer.name}': no tiles of the menu are {stated}")

    def under(
        self, policy: str, units: tuple[str, ...], prefetch: Fraction | None, menu: tuple[MenuTile, ...]
    ) -> Rules:
        """These rules with what a schedule policy leaves of a layer's schedules; raises MappingError where that is
        nothing."""
        if not units and prefetch is None and not menu:
            return self
        allowed = units or self.units
        if units and self.units is not None:
            allowed = tuple(unit for unit in self.units if unit in units)
            if not allowed:
                stated, left = ", ".join(self.units), ", ".join(units)
                raise MappingError(f"{self.place}: units {stated}; policy '{policy}' allows {left}")
        place = " and ".join(filter(None, (self.place, f"policy '{policy}'")))
        return replace(self, units=allowed, prefetch=prefetch, menu=menu, place=place)

    def sorted(self, loops: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        """Loops (dim, tile) in an order that obeys, else as they came."""
        left, done = list(loops), list[tuple[str, int]]()
        while left:
            names = {dim for dim, _ in left}
            free = next(loop for loop in left if not any(o in names for o, i in self.before if i == loop[0]))
            left.remove(free)
            done.append(free)
        return tuple(done)


FREE = Rules()


def merge(layer: Layer, constraints: Iterable[Constraint]) -> Rules:
    """The rules of one layer; raises MappingError where its constraints contradict each other or name what it lacks."""
    found = [constraint for constraint in constraints if fnmatchcase(layer.name, constraint.layers)]
    if not found:
        return FREE
    for constraint in found:
        _check_names(layer, constraint)
    before = tuple(dict.fromkeys(pair for constraint in found for pair in combinations(constraint.order, 2)))
    return Rules(
        units=_units(layer, found),
        before=_acyclic(layer, before, found),
        tiles=_tiles(layer, found),
        stationary=tuple(dict.fromkeys(name for constraint in found for name in constraint.stationary)),
        spatial=_spatial(layer, found),
        place=" and ".join(constraint.place for constraint in found),
    )


def unused(layers: Iterable[Layer], constraints: Iterable[Constraint]) -> str:
    """What is wrong with a constraint that no layer matches ('' when there is none)."""
    names = [layer.name for layer in layers]
    for constraint in constraints:
        if not any(fnmatchcase(name, constraint.layers) for name in names):
            return (
                f"{constraint.place}.layers: '{constraint.layers}' matches no layer{nearest(constraint.layers, names)}"
            )
    return ""


def _check_names(layer: Layer, constraint: Constraint) -> None:
    where = f"{constraint.place}: layer '{layer.name}'"
    for dim in (*constraint.order, *constraint.tiles, *chain.from_iterable(constraint.spatial.values())):
        if dim not in layer.dims:
            raise MappingError(f"{where}: no dim '{dim}'{nearest(dim, layer.dims)}; it has {', '.join(layer.dims)}")
    for dim, tile in constraint.tiles.items():
        if tile > layer.dims[dim]:
            raise MappingError(f"{where}: tiles of {tile} of dim '{dim}'; allowed 1 to {layer.dims[dim]}")
    inputs = [operand.name for operand in layer.inputs]
    for name in constraint.stationary:
        if name not in inputs:
            hint = nearest(name, inputs)
            raise MappingError(f"{where}: no operand '{name}' that comes in{hint}; it has {', '.join(inputs)}")


def _units(layer: Layer, found: list[Constraint]) -> tuple[str, ...] | None:
    asked = [constraint for constraint in found if constraint.units]
    if not asked:
        return None
    units = tuple(unit for unit in asked[0].units if all(unit in other.units for other in asked))
    if not units:
        places = " and ".join(constraint.place for constraint in asked)
        raise MappingError(f"{places}: layer '{layer.name}': the units allowed contradict each other")
    return units


def _acyclic(layer: Layer, before: tuple[tuple[str, str], ...], found: list[Constraint]) -> tuple[tuple[str, str], ...]:
    graph: dict[str, list[str]] = {}
    for outer, inner in before:
        graph.setdefault(inner, []).append(outer)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        places = " and ".join(constraint.place for constraint in found if constraint.order)
        circle = " before ".join(error.args[1])
        raise MappingError(f"{places}: layer '{layer.name}': the orders contradict each other: {circle}") from None
    return before


def _tiles(layer: Layer, found: list[Constraint]) -> dict[str, int]:
    tiles: dict[str, tuple[int, str]] = {}
    for constraint in found:
        for dim, tile in constraint.tiles.items():
            size, place = tiles.setdefault(dim, (tile, constraint.place))
            if size != tile:
                raise MappingError(
                    f"{place} and {constraint.place}: layer '{layer.name}': tiles of '{dim}' are {size} and {tile}"
                )
    return {dim: size for dim, (size, _) in tiles.items()}


def _spatial(layer: Layer, found: list[Constraint]) -> dict[str, tuple[str, ...]]:
    """Dims that all constraints allow on each axis."""
    allowed: dict[str, tuple[str, ...]] = {}
    for constraint in found:
        for axis, dims in constraint.spatial.items():
            before = allowed.get(axis, dims)
            allowed[axis] = tuple(dim for dim in before if dim in dims)
            if before and dims and not allowed[axis]:
                places = " and ".join(other.place for other in found if axis in other.spatial)
                raise MappingError(f"{places}: layer '{layer.name}': the dims allowed on {axis} contradict each other")
    return allowed


def group_orders(problem: Problem, orders: Iterable[tuple[str, ...]], rules: Rules) -> list[tuple[str, ...]]:
    """The orders of groups that obey; raises MappingError when a tile cuts what is never cut."""
    _check_cuts(problem, rules)
    group_of = {dim: group for group, dims in problem.groups.items() for dim in dims}
    pairs = [(group_of[outer], group_of[inner]) for outer, inner in rules.before]
    return [order for order in orders if all(_stands_outside(order, *pair) for pair in pairs)]


def _stands_outside(order: tuple[str, ...], outer: str, inner: str) -> bool:
    """Whether all loops of one group, its strips too, stand outside those of another."""
    if outer == inner:
        return True
    last = max(at for at, group in enumerate(order) if group[0] == outer)
    return last < min(at for at, group in enumerate(order) if group[0] == inner)


def no_order(problem: Problem, rules: Rules) -> MappingError:
    """That no order of groups obeys."""
    wanted = ", ".join(f"{outer} before {inner}" for outer, inner in rules.before)
    return MappingError(
        f"{rules.place}: layer '{problem.layer.name}': no loop order of the space has {wanted}; "
        "batches are outermost and reductions innermost"
    )


def _check_cuts(problem: Problem, rules: Rules) -> None:
    for dim, tile in rules.tiles.items():
        if dim in problem.whole and tile < problem.dims[dim]:
            raise MappingError(
                f"{rules.place}: layer '{problem.layer.name}': dim '{dim}' is never cut; allowed {problem.dims[dim]}"
            )
    for name in rules.stationary:
        if name in (OUT, ACC):
            raise MappingError(f"{rules.place}: layer '{problem.layer.name}': '{name}' does not come in")


def units_of(architecture: Architecture) -> dict[str, str]:
    """The name of the unit of each engine that a chip has."""
    names = {"copy": architecture.dma.name}
    names |= {"array": architecture.arrays[0].name} if architecture.arrays else {}
    names |= {"vector": architecture.vectors[0].name} if architecture.vectors else {}
    return names


def able(units: tuple[str, ...], possible: list[str], architecture: Architecture) -> tuple[str, ...]:
    """Those of a policy's units that run one of the engines; none, which restricts nothing, where no one does."""
    names = units_of(architecture)
    return tuple(unit for unit in units if unit in {names.get(engine) for engine in possible})


def engines(layer: Layer, possible: list[str], rules: Rules, architecture: Architecture) -> list[str]:
    """Those of the engines whose unit the rules allow; raises MappingError when none is."""
    names = units_of(architecture)
    units = [names[engine] for engine in possible if engine in names]
    found = [engine for engine in possible if names.get(engine) in (rules.units or ())]
    if not found:
        asked = ", ".join(rules.units or ())
        hint = nearest(asked, units)
        raise MappingError(
            f"{rules.place}: layer '{layer.name}' ({layer.op}) may run on {asked} alone{hint}; allowed "
            f"{', '.join(units)}"
        )
    return found
