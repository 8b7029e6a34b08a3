"""How evenly cores use the ports of a memory that they share, to rank mappings by.

A tile goes in messages, each through the port whose turn its first byte's address is (``archsim.facts.noc.port_turns``,
which the machine uses too). Where tiles of a tensor begin follows from how the layer is spread over cores: many small
ones may begin in the same few messages' room, and then all of them go through the same few ports. Where tiles of a ring
begin nobody knows yet; there they are taken to meet by chance. None of this counts in bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from archsim.facts.noc.port_turns import turns
from archsim.spec.network import Noc
from mapper.cost.grid import Flow, Reals
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import Problem

Starts = tuple[tuple[int, int], ...]  # of tiles: how many along each dim that is spread, and bytes from one to the next


def behind_others(
    noc: Noc, problem: Problem, plans: Sequence[OperandPlan], moved: Mapping[str, Flow], rate: float
) -> Reals:
    """Cycles that the busiest port of a shared memory works longer than all do on average, over a whole layer.

    ``plans``: the operands that it sends, or takes; ``rate``: bytes of a cycle over a port. In a step, in which each
    operand has a tile or several, cores wait for the last port.
    """
    ports, longer = len(noc.shared[plans[0].home]), np.zeros(())
    moves = [np.maximum(moved[plan.name].moves, 1.0) for plan in plans]
    steps, variance = reduce(np.minimum, moves), np.zeros(())
    for plan, times in zip(plans, moves, strict=True):
        tile = moved[plan.name].filled * plan.element_bytes / times
        alike = asked_alike(noc, problem, plan)
        if plan.beyond:
            odd = np.ceil(tile / noc.message_bytes) % ports / ports
            message = np.minimum(tile, noc.message_bytes) * (alike / rate)
            variance = variance + times / steps * problem.different(plan) * odd * (1 - odd) * message**2
            continue
        sent = times * tile * (problem.different(plan) * alike)
        longer = longer + sent * (busiest_share(noc, problem, plan, tile) - 1 / ports) / rate
    found: Reals = longer + steps * np.sqrt(variance) * NormalDist().inv_cdf((ports - 0.375) / (ports + 0.25))
    return found


def passage(noc: Noc, problem: Problem, plan: OperandPlan, elements: Reals, rate: float) -> Reals:
    """Cycles in which tiles of ``elements`` that a shared memory sends at a time have passed the network's ends.

    Where the network does not copy what it carries, a port sends a message once for each core that gets it. Every core
    takes its whole tile in over one link.
    """
    size, ports = elements * plan.element_bytes, len(noc.shared[plan.home])
    alike = asked_alike(noc, problem, plan)
    one_by_one = np.ceil(size / noc.message_bytes / ports) * np.minimum(size, noc.message_bytes) * alike
    share: Reals | float = 1 / ports if plan.beyond else busiest_share(noc, problem, plan, size)
    of_all = size * share * (problem.different(plan) * alike)
    found: Reals = np.maximum(np.maximum(one_by_one, of_all), size) / rate
    return found


def asked_alike(noc: Noc, problem: Problem, plan: OperandPlan) -> float:
    """How often a port sends the same message at about the same time, since cores that need the same are in step."""
    return 1.0 if noc.multicast else max(1.0, problem.having(plan) / problem.different(plan))


def busiest_share(noc: Noc, problem: Problem, plan: OperandPlan, tile_bytes: Reals) -> Reals:
    """Of the bytes of an operand's tiles that cores move at a time the share of the port with most of them, where the
    operand's tensor lies in a shared memory."""
    ports = len(noc.shared[plan.home])
    shares = _shares(ports, noc.message_bytes, _starts(problem, plan))
    messages = np.clip(np.ceil(tile_bytes / noc.message_bytes), 1, ports)
    found: Reals = shares[messages.astype(np.int64) - 1]
    return found


def _starts(problem: Problem, plan: OperandPlan) -> Starts:
    """Where the first tiles of all cores begin in an operand's tensor."""
    assert problem.spread is not None
    found = []
    for (dim, tile), parts in zip(problem.spread.loops, problem.spread.parts, strict=True):
        if dim in plan.dims:
            steps = zip(plan.axes, plan.strides, strict=True)
            step = sum(stride * coef for axis, stride in steps for name, coef in axis.terms if name == dim)
            found.append((parts, step * tile * plan.element_bytes))
    return tuple(found)


@lru_cache(maxsize=4096)
def _shares(ports: int, message_bytes: int, starts: Starts) -> NDArray[np.float64]:
    """By number of messages of a tile, from 1 on, the share of the busiest port; (ports,)."""
    first = np.zeros(1, dtype=np.int64)
    for count, step in starts:
        first = np.add.outer(first, np.arange(count, dtype=np.int64) * step).reshape(-1)
    begun = np.bincount(turns(np.abs(first) // message_bytes, ports), minlength=ports) / first.size
    before = np.concatenate([[0.0], np.cumsum(np.tile(begun, 2))])
    return np.array([(before[n : n + ports] - before[:ports]).max() / n for n in range(1, ports + 1)])
