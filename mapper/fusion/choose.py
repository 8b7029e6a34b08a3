"""Which layers of a network run as groups: those by whose groups the objective's figure falls most.

What a group spares is what its layers take one after the other, less what they are expected to take together; of
groups that share no layer those that spare most in sum are chosen. The network is then mapped with them, and kept so
where that is better by what is expected of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from archsim.ir.program import EngineKind
from mapper.allocate.residency import Residency
from mapper.cost.grid_cost import Costs
from mapper.fusion.candidates import chains
from mapper.fusion.chances import ChainChances, FusingMapper, one_by_one
from mapper.fusion.judging import Judge
from mapper.fusion.members import Fusion
from mapper.fusion.prospects import Prospect
from mapper.lower.item import unit_engine
from mapper.lower.model import Mapped
from mapper.problem.problem import Problem, content

CLOSE = 0.002  # of what the network takes: choices that differ by less are as good as one another
WORTH = 0.001  # of what layers take: a group that spares less is none


def chosen(layers: FusingMapper, mapped: Mapped) -> tuple[Fusion, ...]:
    """The groups of a network that is ``mapped`` layer by layer, in order.

    Chains are looked at more closely, those first that would be chosen by what is hoped of them, until no choice is
    hoped to spare noticeably more than the best of those that were searched. Hopes are good forecasts, but no bounds.
    """
    chooser = _Chooser(layers, mapped)
    found: dict[int, list[_Candidate]] = {}
    for members in chains(layers.workload):
        prospect = chooser.prospect(members)
        if prospect is not None:
            found.setdefault(members.start, []).append(_Candidate(members, prospect))
    count = len(layers.workload.layers)
    while True:
        hoped, hopeful = _most_spared(found, count, lambda prospect: prospect.hope)
        known, best = _most_spared(found, count, lambda prospect: prospect.known)
        unsettled = [each.prospect for each in hopeful if not each.prospect.settled]
        if not unsettled or hoped - known <= CLOSE:
            return tuple(Fusion(each.members, chooser.engines(each.members), each.prospect.loops) for each in best)
        for prospect in unsettled:
            prospect.look()


class _Candidate(NamedTuple):
    """A chain of layers, and what it may spare."""

    members: range
    prospect: Prospect


def _most_spared(
    found: Mapping[int, Sequence[_Candidate]], count: int, spared: Callable[[Prospect], float]
) -> tuple[float, tuple[_Candidate, ...]]:
    """What chains that share no layer spare in sum at the most, and which; ``found``: by their first layers."""
    behind: list[tuple[float, tuple[_Candidate, ...]]] = [(0.0, ())] * (count + 1)  # the best from each layer on
    for first in reversed(range(count)):
        options = [behind[first + 1]]
        for each in found.get(first, ()):
            more, others = behind[each.members.stop]
            if own := spared(each.prospect):
                options.append((own + more, (each, *others)))
        behind[first] = max(options, key=lambda option: option[0])
    return behind[0]


class _Chooser:
    """Makes prospects of chains; equal ones in equal room share one."""

    def __init__(self, layers: FusingMapper, mapped: Mapped) -> None:
        self.layers, self.mapped = layers, mapped
        self._costs: dict[int, Costs] = {}
        self._known: dict[object, Prospect] = {}
        indices = [index for index, problem in enumerate(mapped.problems) if problem is not None]
        self._judge = Judge(layers.objective, one_by_one(map(self._of, indices)))

    def engines(self, members: range) -> tuple[EngineKind, ...]:
        """Of layers as they are mapped one by one."""
        return tuple([unit_engine(problem) for problem in self._problems(members)])

    def prospect(self, members: range) -> Prospect | None:
        """Of these layers; None where they cannot be a group."""
        if any(self.mapped.problems[index] is None or not self.layers.is_free(index) for index in members):
            return None
        if "store" in self.engines(members):  # a copy
            return None
        apart = list(zip(self._problems(members), map(self._of, members), strict=True))
        residency = _without(self.mapped.residency, self.layers, members)
        chain = ChainChances(self.layers, Fusion(members, self.engines(members), ()), residency, apart, self._judge)
        return self._known.setdefault(self._key(members, residency, chain.before), Prospect(chain, WORTH))

    def _key(self, members: range, residency: Residency, before: float) -> object:
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
