"""What the network needs of a layer at least: bytes into and out of a core, and over the ports of shared memories."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from archsim.spec.network import Noc
from mapper.costs import ChipCosts
from mapper.grid import Flow, Reals
from mapper.operands import OperandPlan
from mapper.problem import Problem

PASSAGE_CYCLES = 2  # of a head through the switch of a router and onto the wire


NONE: Reals = np.zeros(())


def network_terms(
    chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow], fetched: Reals = NONE, sent: Reals = NONE
) -> dict[str, Reals]:
    """Reference cycles that each kind of link at a node is busy; none where the layer is not spread.

    Where cores add up partial sums: bytes that one of them has ``fetched``, and that each of the others has ``sent``.
    """
    noc = chip.architecture.noc
    if noc is None or problem.spread is None:
        return {}
    rate = link_rate(chip, noc)
    into, out_of = fetched, np.zeros(())
    ports = dict[tuple[str, str], Reals]()
    for plan in problem.loads:
        if problem.crosses(plan):
            size = moved[plan.name].touched * plan.element_bytes
            into = into + size
            times = 1.0 if noc.multicast else problem.having(plan) / problem.copies(plan)
            _add(ports, plan, "out", size * (times * problem.share(plan, plan.home)))
    for plan in problem.stores:
        if problem.crosses(plan):
            size = moved[plan.name].touched * plan.element_bytes
            out_of = out_of + size
            _add(ports, plan, "in", size * problem.share(plan, plan.home))
    found = {f"{noc.name} into a core": into / rate, f"{noc.name} out of a core": np.maximum(out_of, sent) / rate}
    for (memory, way), size in ports.items():
        found[f"{noc.name} {way} of {memory}"] = size / (rate * len(noc.attach[memory]))
    return found


def trip(chip: ChipCosts, problem: Problem, plan: OperandPlan, *, both_ways: bool) -> float:
    """Reference cycles of a head over the network: half of its sides, once, or there and back for what asks first.

    0 for what does not cross it, and in bounds, since a port may be next to the core.
    """
    noc = chip.architecture.noc
    if noc is None or not chip.opens or not problem.crosses(plan):
        return 0.0
    router = noc.routing_delay_cycles + (0 if noc.speculative else 1) + PASSAGE_CYCLES
    hops = sum(noc.shape) / 2
    ways = 2 if both_ways and noc.request_flits else 1
    return ways * hops * (router + (noc.link_delay_cycles or 1)) / chip.scale(noc)


def link_rate(chip: ChipCosts, noc: Noc) -> float:
    """Bytes of payload that a link carries in a reference cycle at most, beside the headers of full packets."""
    flits = -(-noc.packet_bytes // noc.link_bytes)
    return noc.link_bytes * flits / (flits + noc.header_flits) * chip.scale(noc)


def _add(ports: dict[tuple[str, str], Reals], plan: OperandPlan, way: str, size: Reals) -> None:
    ports[plan.home, way] = ports.get((plan.home, way), np.zeros(())) + size
