"""Which layers of a network may run as groups: those by whose groups the objective's figure falls most.

What a group spares is what its layers take one after the other, less what they are expected to take together; of
groups that share no layer those that spare most in sum are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from archsim.ir.program import EngineKind
from mapper.allocate.residency import Residency
from mapper.cost.grid_cost import Costs
from mapper.fusion.candidates import chains
from mapper.fusion.chances import ChainChances, FusingMapper, one_by_one
from mapper.fusion.judging import Figure, Judge, judges
from mapper.fusion.members import Fusion
from mapper.fusion.prospects import Prospect
from mapper.lower.item import unit_engine
from mapper.lower.model import Mapped
from mapper.problem.problem import Problem, content

CLOSE = 0.002  # of what the network takes: choices that differ by less are as good as one another
WORTH = 0.001  # of what layers take: a group that spares less is none


def choices(layers: FusingMapper, mapped: Mapped) -> tuple[tuple[Fusion, ...], ...]:
    """What the groups may be of a network that is ``mapped`` layer by layer, as the objective's judges choose them."""
    chooser = Chooser(layers, mapped)
    found: dict[int, list[_Candidate]] = {}
    for members in chains(layers.workload):
        prospect = chooser.prospect(members)
        if prospect is not None:
            found.setdefault(members.start, []).append(_Candidate(members, prospect))
    count = len(layers.workload.layers)
    best = ((judge, _choice(found, count, judge)) for judge in judges(layers.objective, chooser.whole))
    return tuple(dict.fromkeys(
        tuple(Fusion(each.members, chooser.engines(each.members), each.prospect.best(judge).loops) for each in choice)
        for judge, choice in best
    ))  # fmt: skip


class _Candidate(NamedTuple):
    """A chain of layers, and what it may spare."""

    members: range
    prospect: Prospect


_Choice = tuple[_Candidate, ...]


def _choice(found: Mapping[int, Sequence[_Candidate]], count: int, judge: Judge) -> _Choice:
    """The best by a judge.

    Chains are looked at more closely, those first that would be chosen by what is hoped of them, until no choice is
    hoped to spare noticeably more than the best of those that were searched. Hopes are good forecasts, but no bounds.
    """
    while True:
        hoped, hopeful = _most_spared(found, count, lambda prospect: prospect.hope(judge))
        known, best = _most_spared(found, count, lambda prospect: prospect.known(judge))
        unsettled = [each.prospect for each in hopeful if not each.prospect.settled(judge)]
        if not unsettled or hoped - known <= CLOSE * judge.of(judge.whole):
            return best
        for prospect in dict.fromkeys(unsettled):
            prospect.look(judge)


def _most_spared(
    found: Mapping[int, Sequence[_Candidate]], count: int, spared: Callable[[Prospect], float]
) -> tuple[float, _Choice]:
    """What chains that share no layer spare in sum at the most, and which; ``found``: by their first layers."""
    behind: list[tuple[float, _Choice]] = [(0.0, ())] * (count + 1)  # the best from each layer on
    for first in reversed(range(count)):
        options = [behind[first + 1]]
        for each in found.get(first, ()):
            more, others = behind[each.members.stop]
            if own := spared(each.prospect):
                options.append((own + more, (each, *others)))
        behind[first] = max(options, key=lambda option: option[0])
    return behind[0]


class Chooser:
    """Makes prospects of chains; equal ones in equal room share one."""

    def __init__(self, layers: FusingMapper, mapped: Mapped) -> None:
        self.layers, self.mapped = layers, mapped
        self._costs: dict[int, Costs] = {}
        self._known: dict[object, Prospect] = {}
        indices = [index for index, problem in enumerate(mapped.problems) if problem is not None]
        self.whole = one_by_one(map(self._of, indices))

    def engines(self, members: range) -> tuple[EngineKind, ...]:
        """Of layers as they are mapped one by one."""
        return tuple([unit_engine(problem) for problem in self._problems(members)])

    def prospect(self, members: range) -> Prospect | None:
        """Of these layers; None where they cannot be a group."""
        chain = self.chances(members)
        if chain is None:
            return None
        return self._known.setdefault(self._key(members, chain.residency, chain.before), Prospect(chain, WORTH))

    def chances(self, members: range) -> ChainChances | None:
        """The same before anything is found out."""
        if any(self.mapped.problems[index] is None or not self.layers.is_free(index) for index in members):
            return None
        if "store" in self.engines(members):  # a copy
            return None
        apart = list(zip(self._problems(members), map(self._of, members), strict=True))
        residency = _without(self.mapped.residency, self.layers, members)
        return ChainChances(self.layers, Fusion(members, self.engines(members), ()), residency, apart)

    def _key(self, members: range, residency: Residency, before: Figure) -> object:
        """Equal for layers of equal content that read one another alike, in equal room."""
        network = self.layers.workload
        made = {network.layers[index].output.tensor: place for place, index in enumerate(members)}
        read = [tuple(made.get(op.tensor, -1) for op in network.layers[index].inputs) for index in members]
        free = sorted(residency.free_beside(members, self.layers.architecture).items())
        return repr((*(content(problem) for problem in self._problems(members)), read, free, before))

    def _problems(self, members: range) -> list[Problem]:
        return [problem for index in members if (problem := self.mapped.problems[index]) is not None]

    def _of(self, index: int) -> Costs:
        if index not in self._costs:
            problem = self.mapped.problems[index]
            assert problem is not None
            self._costs[index] = self.layers.priced(problem, self.mapped.mappings[index])
        return self._costs[index]


def _without(residency: Residency, layers: FusingMapper, members: range) -> Residency:
    """What stays on chip when the tensors that members make for one another lie in windows."""
    gone = {layers.workload.layers[index].output.tensor for index in members[:-1]}
    kept = {name: found for name, found in residency.tensors.items() if name not in gone}
    return Residency(residency.capacity, kept)
