"""What the network needs of a layer at least: bytes into and out of a core, and over the ports of shared memories."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from archsim.spec.network import Noc
from mapper.costs import ChipCosts
from mapper.grid import Flow, Reals
from mapper.operands import OperandPlan
from mapper.problem import Problem


def network_terms(chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow]) -> dict[str, Reals]:
    """Reference cycles that each kind of link at a node is busy; none where the layer is not spread."""
    noc = chip.architecture.noc
    if noc is None or problem.spread is None:
        return {}
    rate = link_rate(chip, noc)
    into, out_of = np.zeros(()), np.zeros(())
    ports = dict[tuple[str, str], Reals]()
    for plan in problem.loads:
        if problem.crosses(plan):
            size = moved[plan.name].touched * plan.element_bytes
            into = into + size
            sent = 1.0 if noc.multicast else problem.spread.cores / problem.copies(plan)
            _add(ports, plan, "out", size * (sent * problem.share(plan, plan.home)))
    for plan in problem.stores:
        if problem.crosses(plan):
            size = moved[plan.name].touched * plan.element_bytes
            out_of = out_of + size
            _add(ports, plan, "in", size * problem.share(plan, plan.home))
    found = {f"{noc.name} into a core": into / rate, f"{noc.name} out of a core": out_of / rate}
    for (memory, way), size in ports.items():
        found[f"{noc.name} {way} of {memory}"] = size / (rate * len(noc.attach[memory]))
    return found


def link_rate(chip: ChipCosts, noc: Noc) -> float:
    """Bytes of payload that a link carries in a reference cycle at most, beside the headers of full packets."""
    flits = -(-noc.packet_bytes // noc.link_bytes)
    return noc.link_bytes * flits / (flits + noc.header_flits) * chip.scale(noc)


def _add(ports: dict[tuple[str, str], Reals], plan: OperandPlan, way: str, size: Reals) -> None:
    ports[plan.home, way] = ports.get((plan.home, way), np.zeros(())) + size
