"""Why layers run as a group and their neighbours do not: what they take together, cut in two, and with a layer more.

Figures are those by which groups are chosen, beside what stays on chip where layers run one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mapper.fusion.candidates import Loops, barrier
from mapper.fusion.chances import FusingMapper
from mapper.fusion.choose import WORTH, Chooser
from mapper.fusion.judging import Figure, judges
from mapper.lower.model import Mapped


class Cut(NamedTuple):
    """What the layers take where the group ends behind ``layer`` and another one begins."""

    layer: str
    figure: Figure


class Neighbour(NamedTuple):
    """What the layers take with one more: as a group (``together``) and with it by itself (``apart``); without figures
    where ``reason`` says why they are no group."""

    layer: str
    reason: str
    together: Figure | None = None
    apart: Figure | None = None


class GroupReasons(NamedTuple):
    """Of one layer by itself, or of layers in a group with these ``loops`` (dim of the last one, tile)."""

    layers: tuple[str, ...]
    loops: Loops
    together: Figure
    apart: Figure
    cuts: tuple[Cut, ...]
    beside: tuple[Neighbour, ...]


class Reasons:
    """Tells of a network that is ``mapped`` layer by layer."""

    def __init__(self, layers: FusingMapper, mapped: Mapped) -> None:
        self._layers = layers.workload.layers
        self._workload = layers.workload
        self._chooser = Chooser(layers, mapped)
        self._judge = next(judges(layers.objective, self._chooser.whole))

    def of(self, members: range, loops: Loops) -> GroupReasons | None:
        """Of the group of these layers, or of one by itself; None of layers of the host or a copy, and where a file or
        a constraint says how they run."""
        chain = self._chooser.chances(members)
        if chain is None:
            return None
        together = chain.searched(loops) if len(members) > 1 else chain.before
        cuts = [self._cut(members, at) for at in members[1:]]
        return GroupReasons(
            tuple([self._layers[at].name for at in members]), loops, together or chain.before, chain.before,
            tuple(cuts), tuple(self._beside(members, together or chain.before)),
        )  # fmt: skip

    def _cut(self, members: range, at: int) -> Cut:
        parts = [self._best(part) for part in (range(members.start, at), range(at, members.stop))]
        return Cut(self._layers[at - 1].name, _sum(*(part for part in parts if part is not None)))

    def _beside(self, members: range, together: Figure) -> Iterator[Neighbour]:
        wider = [(members.start - 1, range(members.start - 1, members.stop))] if members.start else []
        if members.stop < len(self._layers):
            wider.append((members.stop, range(members.start, members.stop + 1)))
        for at, more in wider:
            yield self._neighbour(self._layers[at].name, at, more, together)

    def _neighbour(self, name: str, at: int, more: range, together: Figure) -> Neighbour:
        reason = barrier(self._workload, more)
        prospect = None if reason else self._chooser.prospect(more)
        alone = None if reason else self._chooser.prospect(range(at, at + 1))
        if prospect is None or alone is None:
            return Neighbour(name, reason or "a file or a constraint says how one of them runs")
        while not prospect.settled(self._judge):
            prospect.look(self._judge)
        if not prospect.looked_at:
            return Neighbour(name, "no loop over rows of the last result moves all of them")
        if not prospect.fits:
            return Neighbour(name, f"they do not fit: {prospect.fault}" if prospect.fault else _SPARES_NOTHING)
        return Neighbour(name, "", prospect.best(self._judge).figure, _sum(together, alone.before))

    def _best(self, part: range) -> Figure | None:
        """As a group where that spares something, else one by one."""
        prospect = self._chooser.prospect(part)
        if prospect is None:
            return None
        if len(part) == 1 or barrier(self._workload, part):
            return prospect.before
        while not prospect.settled(self._judge):
            prospect.look(self._judge)
        return prospect.best(self._judge).figure if prospect.known(self._judge) else prospect.before


_SPARES_NOTHING = f"no group of them is hoped to spare {100 * WORTH:g} % of what they take"


def _sum(*parts: Figure) -> Figure:
    return Figure(sum(part.cycles for part in parts), sum(part.energy_pj for part in parts))
