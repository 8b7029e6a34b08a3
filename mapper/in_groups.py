"""A network in groups: what may be chosen is mapped as a whole, since only then is seen what stays on chip beside it.

The best network is kept by what is expected of it, the one layer by layer among them; its choice of groups is kept too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from mapper.fusion.candidates import chains
from mapper.fusion.chances import FusingMapper
from mapper.fusion.choice_file import ChoiceFile
from mapper.fusion.choose import choices
from mapper.fusion.judging import Figure, best_of
from mapper.fusion.members import Fusion
from mapper.given.priced import CELL
from mapper.lower.model import Mapped
from mapper.overlap import Overlap
from mapper.pressure import NetworkMapper, relieved


class GroupingMapper(FusingMapper, NetworkMapper, Protocol):
    """What maps a network, layer by layer or in groups."""

    def in_groups(self, fusions: Sequence[Fusion]) -> GroupingMapper:
        """The same where these layers run as groups."""


class _Network(NamedTuple):
    """A network mapped with these groups."""

    fusions: tuple[Fusion, ...]
    mapped: Mapped


def with_groups(layers: GroupingMapper, mapped: Mapped) -> Mapped:
    """The best network, of which ``mapped`` is the one layer by layer."""
    if next(chains(layers.workload), None) is None:
        return mapped
    known = ChoiceFile(layers.options.cache, layers, mapped)
    kept = known.read()
    if kept is not None:
        return _mapped(layers, mapped, kept)
    found = _best(layers, mapped, choices(layers, mapped))
    known.write(found.fusions)
    return found.mapped


def _mapped(layers: GroupingMapper, mapped: Mapped, fusions: tuple[Fusion, ...]) -> Mapped:
    """The network with these groups; ``mapped`` itself without any."""
    if not fusions:
        return mapped
    other = layers.in_groups(fusions)
    return relieved(other, other.mapped(frozenset()))


def _best(layers: GroupingMapper, mapped: Mapped, tried: Iterable[tuple[Fusion, ...]]) -> _Network:
    found = [_Network(fusions, _mapped(layers, mapped, fusions)) for fusions in dict.fromkeys([(), *tried])]
    return found[best_of(layers.objective, [_figure(layers, each.mapped) for each in found])]


def _figure(layers: GroupingMapper, mapped: Mapped) -> Figure:
    """Cycles and energy of a mapped network, whose layers hide a part of one another's."""
    expected = Overlap(layers.workload, layers.architecture, layers.chip, layers.dtypes).expected(mapped)
    cycles = float(sum(mapping.expected_cycles for mapping in expected))
    work = 0.0
    for problem, mapping in zip(mapped.problems, mapped.mappings, strict=True):
        if problem is not None:
            costs = layers.priced(problem, mapping)
            work += float(costs.energy(costs.cycles * 0).flat[CELL])
    return Figure(cycles, work + cycles * layers.chip.standing_pj)
