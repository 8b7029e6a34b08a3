"""What the cost of a template is made of: factors of groups, columns, terms.

A group is one dim, or two that index an operand together (output row and filter row). A loop cuts one dim, so what a
group's tiling contributes to a figure does not depend on the other groups. A column is such a product; a term is a
column, or the difference of two (partial sums less those that are the first); energy and the time of each part are
sums of terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from mapper.looptree.search.branch.templates import Relations, Template
from mapper.looptree.search.space import Space

ONE, COUNT, SUM, LARGEST = range(4)  # of the tiles of a dim at a place: 1, how many, their sizes added, the largest


class Part(NamedTuple):
    """What a dim contributes: the figure of its first ``loops`` loops, some collapsed, over the trips of others."""

    figure: int = ONE
    loops: int = 0
    collapsed: int = 0  # bit i: its loop i
    over: int = 0


class Factor(NamedTuple):
    """A group's factor of a column: the product of its dims' parts, or their window (with the steps of its dims)."""

    parts: tuple[Part, ...]
    steps: tuple[int, int] = (0, 0)


class Ratio(NamedTuple):
    """A group's factor of the ratio of two columns."""

    upper: Factor
    lower: Factor


Column = tuple[Factor | Ratio, ...]  # by group


@dataclass(frozen=True)
class DimGroup:
    """Dims whose tilings are chosen together."""

    dims: tuple[str, ...]


@dataclass(frozen=True)
class Position:
    """A loop of a dim: in a slot, temporal ('') or on an axis; ``moves``: it has more than one trip."""

    slot: int
    axis: str
    moves: bool = False


@dataclass
class Costing:
    """Columns of a template and what is made of them.

    ``terms``: (-1, column, column), or (lower, ratio, upper) for lower x (ratio - 1), which is upper - lower.
    ``energy_j``: by term; ``times_s``: each a sum by term, the latency is the largest; ``room``: by memory, (column,
    bits) of which the sum must fit.
    """

    columns: list[Column] = field(default_factory=list)
    numbers: dict[Column, int] = field(default_factory=dict)
    terms: list[tuple[int, int, int]] = field(default_factory=list)
    energy_j: dict[int, float] = field(default_factory=dict)
    times_s: list[dict[int, float]] = field(default_factory=list)
    room: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def column(self, column: Column) -> int:
        """Its number."""
        if column not in self.numbers:
            self.numbers[column] = len(self.columns)
            self.columns.append(column)
        return self.numbers[column]

    def term(self, column: Column, less: Column | None = None) -> int:
        """The number of the term ``column - less``."""
        if less is None:
            triple = (-1, self.column(column), self.column(column))
        else:
            ratio = tuple(
                Ratio(a, b)
                for a, b in zip(column, less, strict=True)
                if isinstance(a, Factor) and isinstance(b, Factor)
            )
            triple = (self.column(less), self.column(ratio), self.column(column))
        if triple not in self.terms:
            self.terms.append(triple)
        return self.terms.index(triple)


def groups(known: Relations) -> tuple[DimGroup, ...]:
    """The groups of an einsum."""
    together = [tuple(dim for dim, _ in pair) for pair in known.pairs if len(pair) > 1]
    alone = [(dim,) for dim in known.dims if not any(dim in pair for pair in together)]
    return tuple(DimGroup(dims) for dims in dict.fromkeys((*together, *alone)))


def positions(space: Space, template: Template, dim: str) -> tuple[Position, ...]:
    """The loops that a dim may have in a template, outermost first."""
    found: list[Position] = []
    moving = {i + 1 + tile.reach for i, tile in enumerate(template.tiles) if tile.must_slide and dim in tile.slides}
    for slot, loops in enumerate(template.slots):
        found += [Position(slot, "", slot in moving)] if dim in loops.temporal else []
        found += [Position(slot, axis) for axis in loops.axes if dim in space.spread[axis]]
    return tuple(found)
