"""What the network needs of a layer at least: bytes into and out of a core, over the ports of shared memories, and over
the links between chips beside those ports."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from archsim.spec.network import Noc
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid import Flow, Reals
from mapper.cost.network_loads import carried, ways_of
from mapper.problem.operands import OUT, OperandPlan
from mapper.problem.problem import Problem

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
    away = dict[tuple[str, str], Reals]()
    for plan in problem.loads:
        if problem.crosses(plan):
            size = moved[plan.name].touched * plan.element_bytes
            into = into + size
            total = sent_each(noc, problem, plan) * problem.share(plan, plan.home)
            _add(ports, plan, "out", size * total)
            _add(away, plan, "out", size * away_tiles(noc, plan.home, problem.spread.cores, total))
    for plan in problem.stores:
        if problem.crosses(plan):
            size = moved[plan.name].touched * plan.element_bytes
            out_of = out_of + size
            total = problem.share(plan, plan.home)
            _add(ports, plan, "in", size * total)
            _add(away, plan, "in", size * away_tiles(noc, plan.home, problem.spread.cores, total))
    found = {f"{noc.name} into a core": into / rate, f"{noc.name} out of a core": np.maximum(out_of, sent) / rate}
    for (memory, way), size in ports.items():
        found[f"{noc.name} {way} of {memory}"] = size / (rate * len(noc.shared[memory]))
        if chip.opens:
            plans = problem.loads if way == "out" else problem.stores
            crossing = [plan for plan in plans if plan.home == memory and problem.crosses(plan)]
            rates = {plan.name: usual_rate(chip, noc, problem, plan) for plan in crossing}
            found[f"{noc.name} {way} of {memory}"] = carried(noc, problem, crossing, moved, rates)
    for (memory, way), size in away.items():
        beside = away_rate(chip, noc, memory)
        if beside is not None:
            found[f"{noc.outer[-1].name} {way} beside {memory}"] = size / beside
    return found


def trip(chip: ChipCosts, problem: Problem, plan: OperandPlan, *, both_ways: bool) -> float:
    """Reference cycles of a head between a shared memory and the core that is farthest from its ports: once, or there
    and back for what asks first.

    0 for what does not cross the network, and in bounds, since a port may be next to the core.
    """
    noc = chip.architecture.noc
    if noc is None or problem.spread is None or not chip.opens or not problem.crosses(plan):
        return 0.0
    ways, cores = ways_of(noc), problem.spread.cores
    cycles = ways.head_cycles(plan.home, cores, writes=not both_ways)
    if both_ways and noc.request_flits:
        cycles += ways.head_cycles(plan.home, cores, writes=True)
    return cycles / chip.scale(noc)


def sent_each(noc: Noc, problem: Problem, plan: OperandPlan) -> float:
    """How often a shared memory sends what is brought once for several cores: once where the network copies it, else to
    each of them."""
    return 1.0 if noc.multicast else max(1.0, problem.having(plan) / problem.copies(plan))


def link_rate(chip: ChipCosts, noc: Noc) -> float:
    """Bytes of payload that a link of a flit a cycle carries in a reference cycle at most, beside the headers of full
    packets: into a core, and of a port.
    """
    flits = -(-noc.packet_bytes // noc.link_bytes)
    return noc.link_bytes * flits / (flits + noc.header_flits) * chip.scale(noc)


def usual_rate(chip: ChipCosts, noc: Noc, problem: Problem, plan: OperandPlan) -> float:
    """The same where packets for several cores, or from them, wait for one another: on average over the time in which
    the network carries an operand."""
    if noc.multicast and problem.different(plan) == 1:
        return link_rate(chip, noc)
    return link_rate(chip, noc) * chip.shares.get((plan.home, "write" if plan.operand == OUT else "read"), 1.0)


def away_tiles(noc: Noc, memory: str, cores: int, tiles: float) -> float:
    """Of ``tiles`` of a shared memory that the first ``cores`` need, those that others need than the cores in chips
    with a port of it, which have one each: they pass a link between chips."""
    each = noc.cores // noc.outer[-1].nodes if noc.outer else noc.cores
    return max(0.0, tiles - sum(min(each, max(0, cores - router * each)) for router in _routers(noc, memory)))


def away_rate(chip: ChipCosts, noc: Noc, memory: str) -> float | None:
    """Bytes of payload in a reference cycle of all links between chips, in one direction, beside the ports of a shared
    memory; None where there are none."""
    places = [place for each in noc.shared.values() for place in each]
    routers = _routers(noc, memory).items()
    links = sum(noc.levels[-1].ports[router][1] - 1 - places.count(place) for router, place in routers)
    return link_rate(chip, noc) * links / float(noc.outer[-1].period) if links else None


def _routers(noc: Noc, memory: str) -> dict[int, tuple[int, ...]]:
    """Routers of the network between chips at which a shared memory has ports, and their places; none where its routers
    are not its nodes."""
    outer = noc.levels[-1]
    if not noc.outer or not prod(outer.shape) == len(outer.ports) == noc.outer[-1].nodes:
        return {}
    return {sum(at * prod(outer.shape[:dim]) for dim, at in enumerate(place)): place for place in noc.shared[memory]}


def _add(ports: dict[tuple[str, str], Reals], plan: OperandPlan, way: str, size: Reals) -> None:
    ports[plan.home, way] = ports.get((plan.home, way), np.zeros(())) + size
