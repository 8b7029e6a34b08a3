"""Why a layer runs in the group that it does: what cutting it would cost, why its neighbours are not in it, and which
layers would run together in a memory twice as large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from archsim.lab.run.network_shares import network_shares
from archsim.lab.run.offchip import outer_rates
from archsim.spec.architecture import Architecture
from archsim.spec.load import replace as changed
from mapper.fusion.judging import Figure
from mapper.fusion.reasons import GroupReasons, Neighbour, Reasons
from mapper.groups.plan import GroupPlan
from mapper.layers import Layers
from mapper.lower.model import Mapped
from mapper.options import BEST


@dataclass(frozen=True)
class GroupExplanation:
    """``reasons`` of the group, or of the layer by itself; ``others``: neighbours that run in groups of their own, with
    the first and the last layer of these; ``larger``: the layers of its group where ``memory`` is twice as large."""

    reasons: GroupReasons
    others: Mapping[str, tuple[str, str]]
    memory: str
    larger: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        found = self.reasons
        return {
            "layers": list(found.layers),
            "loops": dict(found.loops),
            "together": _figure(found.together),
            "apart": _figure(found.apart),
            "cuts": [{"behind": cut.layer, **_figure(cut.figure)} for cut in found.cuts],
            "beside": [_beside(each, self.others.get(each.layer, ())) for each in found.beside],
            "larger": {"memory": self.memory, "layers": list(self.larger)},
        }


def _figure(figure: Figure) -> dict[str, float]:
    return {"cycles": figure.cycles, "energy_pj": figure.energy_pj}


def _beside(found: Neighbour, others: Sequence[str]) -> dict[str, Any]:
    told: dict[str, Any] = {"layer": found.layer, "group": list(others)}
    if found.together is None or found.apart is None:
        return {**told, "reason": found.reason}
    return {**told, "together": _figure(found.together), "apart": _figure(found.apart)}


def explained_group(layers: Layers, mapped: Mapped, index: int) -> GroupExplanation | None:
    """Of layer number ``index`` of a network that is ``mapped`` layer by layer; None where nothing may be a group."""
    chip, memory = layers.architecture, layers.architecture.inner("inputs")
    if not _of(layers, chip).may_have_groups:
        return None
    groups = _groups(layers, chip)
    plan = _holding(groups, index)
    members = _members(plan, index)
    loops = tuple([(loop.dim, loop.tile) for loop in plan.group.loops]) if plan is not None else ()
    reasons = Reasons(layers, mapped).of(members, loops)
    if reasons is None:
        return None
    twice = changed(chip, {f"{memory.name}.size": f"{2 * memory.capacity_bytes} B"})
    larger = _members(_holding(_groups(layers, twice), index), index)
    names = [layer.name for layer in layers.workload.layers]
    others = {
        names[at]: (names[other.first], names[other.last])
        for at in (members.start - 1, members.stop)
        if (other := _holding(groups, at)) is not None
    }
    return GroupExplanation(reasons, others, memory.name, tuple(names[larger.start : larger.stop]))


def _groups(layers: Layers, chip: Architecture) -> tuple[GroupPlan, ...]:
    return _of(layers, chip).map().groups


def _holding(groups: Sequence[GroupPlan], index: int) -> GroupPlan | None:
    return next((plan for plan in groups if plan.first <= index <= plan.last), None)


def _members(plan: GroupPlan | None, index: int) -> range:
    return range(plan.first, plan.last + 1) if plan is not None else range(index, index + 1)


def _of(layers: Layers, chip: Architecture) -> Layers:
    """The same network with groups on a chip."""
    options = replace(layers.options, schedule=BEST)
    if chip is not layers.architecture:
        options = replace(options, outer=outer_rates(chip), network_shares=network_shares(chip))
    return Layers(layers.workload, chip, layers.dtypes, options)
