"""Which dims of a group's members its shared loops run over, and in which tiles.

The loops run over dims of the last member. Another member makes, in a pass, what the readers of its result need and no
pass before has made: an axis of the result moves on by what its readers do, and its dim runs in tiles of that size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

from archsim.base.errors import MappingError, nearest
from archsim.ir.schedule import Group
from archsim.ir.workload import Layer, Operand


class Tie(NamedTuple):
    """A dim of a member that a shared loop runs over, in tiles of ``tile``."""

    dim: str
    tile: int


class Advance(NamedTuple):
    """An axis of a tensor that moves on by ``step`` with each iteration of shared loop number ``loop``."""

    loop: int
    step: int


Ties = Mapping[str, tuple[Tie, ...]]  # of each member, one for each shared loop


class GroupError(MappingError):
    """A stated group, called ``name``, is none that can be run."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(f"group '{name}': {said}")
        self.name = name


def refuse(group: Group, said: str) -> NoReturn:
    """Raise GroupError."""
    raise GroupError(group.name, said)


def ties_of(group: Group, layers: Sequence[Layer]) -> Ties:
    """Of every member, ``layers`` in their order. Raises GroupError where a loop moves nothing that a member has."""
    last = layers[-1]
    found: dict[str, tuple[Tie, ...]] = {last.name: tuple(_stated(group, last))}
    for at in range(len(layers) - 2, -1, -1):
        maker = layers[at]
        made = maker.output.tensor
        moved = [
            advances(operand, found[reader.name])
            for reader in layers[at + 1 :]
            for operand in reader.inputs
            if operand.tensor == made
        ]
        if not moved:
            refuse(group, f"no later member reads what layer '{maker.name}' makes")
        if any(each != moved[0] for each in moved):
            refuse(group, f"the readers of '{made}' move on by different steps; allowed one step for all of them")
        found[maker.name] = tuple(_followed(group, maker, moved[0]))
    return found


def advances(operand: Operand, ties: Sequence[Tie]) -> tuple[Advance | None, ...]:
    """How each axis of what a member reads moves on from pass to pass."""
    found: list[Advance | None] = []
    for axis in operand.axes:
        steps = dict(axis.terms)
        moving = [Advance(loop, steps[tie.dim] * tie.tile) for loop, tie in enumerate(ties) if tie.dim in steps]
        found.append(moving[0] if moving else None)
    return tuple(found)


def _stated(group: Group, last: Layer) -> Iterator[Tie]:
    seen = set[str]()
    made = {dim for axis in last.output.axes for dim, _ in axis.terms}
    for loop in group.loops:
        if loop.layer != last.name:
            refuse(
                group, f"a shared loop over '{loop.layer}.{loop.dim}'; allowed dims of its last member, '{last.name}'"
            )
        if loop.dim not in made:
            refuse(
                group,
                f"a shared loop over '{loop.layer}.{loop.dim}'{nearest(loop.dim, made)}; allowed dims of its result: "
                f"{', '.join(dim for dim in last.dims if dim in made)}",
            )
        if loop.dim in seen or not 1 <= loop.tile <= last.dims[loop.dim]:
            refuse(
                group,
                f"tiles of {loop.tile} of '{loop.layer}.{loop.dim}'; allowed one loop over a dim, 1 to "
                f"{last.dims[loop.dim]}",
            )
        seen.add(loop.dim)
        yield Tie(loop.dim, loop.tile)


def _followed(group: Group, maker: Layer, moved: Sequence[Advance | None]) -> Iterator[Tie]:
    """The dims of a member that follow from how the axes of its result move on."""
    for number, loop in enumerate(group.loops):
        along = [at for at, each in enumerate(moved) if each is not None and each.loop == number]
        axis = maker.output.axes[along[0]] if len(along) == 1 else None
        if axis is None or len(axis.terms) != 1 or axis.terms[0][1] != 1 or axis.offset:
            refuse(
                group,
                f"the loop over '{loop.layer}.{loop.dim}' moves no axis of '{maker.output.tensor}' that is one dim of "
                f"layer '{maker.name}'; allowed loops that every member follows",
            )
        advance = moved[along[0]]
        assert advance is not None
        dim = axis.terms[0][0]
        yield Tie(dim, min(advance.step, maker.dims[dim]))
