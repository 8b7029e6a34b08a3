"""What layers are expected to take in their network: the first tiles of a layer come in beside the layer before it.

Each queue of a DMA engine goes on with the next layer as soon as it is through with one. What the layer before does not
make, weights and older tensors, then comes in while that layer still computes: the next layer is spared its way, and
the layer before pays for it where DRAM is what it waits for. A layer by itself is not spared it; so its mapping is
chosen by what it takes alone, and what it takes in its network is told beside that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from archsim.ir.mapping import LayerMapping
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from mapper.allocate.rings import wanted
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid_cost import Costs
from mapper.cost.latency import PINS
from mapper.given.priced import CELL, price
from mapper.lower.frame import Frame
from mapper.lower.model import Mapped
from mapper.lower.moves import load_order
from mapper.lower.tile_moves import first_tile
from mapper.problem.channels import load_channel
from mapper.problem.operands import OperandPlan
from mapper.problem.packed import base_of
from mapper.problem.problem import Problem

WORTH = 0.005  # of what a layer takes: less is not looked at


class Gap(NamedTuple):
    """Cycles of a layer: from when its loads are all asked for to its end, of the ``last`` tile that it stores, and for
    which it keeps DRAM ``busy``; ``in_order``: whether that serves one transfer after the other."""

    window: float
    last: float
    busy: float
    in_order: bool

    def shared(self, cycles: int, early: Collection[float], spared: int) -> tuple[int, int]:
        """What the layer takes where transfers for the next one come in beside it, ``early`` cycles of DRAM each, and
        of what these could spare that one what they do.

        In order the last results stand behind the transfer that is on its way. If that is the last one, the next layer
        waits for the results; else these are written before it is there, and the next layer waits for its own.
        """
        took = sum(early)
        if self.in_order:
            behind = max(0.0, took - max(0.0, self.window - self.last)) if self.last else 0.0
            mine = len(early) == 1
            return round(max(cycles, self.busy) + behind * mine), round(max(0.0, spared - behind * (not mine)))
        hidden = min(float(spared), self.window)
        return round(max(cycles, self.busy + min(took, self.window))), round(hidden)


class Overlap:
    """The layers of a mapped network of one core, one after the other."""

    def __init__(
        self, workload: Workload, architecture: Architecture, chip: ChipCosts, dtypes: Mapping[str, str]
    ) -> None:
        self._workload, self._architecture, self._chip, self._dtypes = workload, architecture, chip, dtypes
        self._known: dict[object, Costs] = {}

    def expected(self, mapped: Mapped) -> tuple[LayerMapping, ...]:
        """The mappings with what their layers are expected to take beside one another; members of groups have it of
        their group's forecast."""
        if self._architecture.noc is not None:
            return mapped.mappings
        held = [_held(*pair) for pair in zip(mapped.problems, mapped.mappings, strict=True)]
        cycles = [mapping.expected_cycles for mapping in mapped.mappings]
        came = [0.0] * len(cycles)  # cycles of DRAM of what came in beside the layer before
        grouped = {index for plan in mapped.groups for index in range(plan.first, plan.last + 1)}
        for index in range(1, len(cycles)):
            before, problem = mapped.problems[index - 1], mapped.problems[index]
            if before is None or problem is None or grouped & {index - 1, index}:
                continue
            free = mapped.residency.free_by_memory(index, self._architecture)
            roomy = {name for name, size in free.items() if held[index - 1][name] + held[index][name] <= size}
            early = self._early(mapped, index, roomy)
            came[index] = sum(early.values())
            if came[index] > WORTH * min(cycles[index], cycles[index - 1]):
                costs = self._costs(problem, mapped.mappings[index])
                spared = int(costs.cycles[CELL]) - int(_without(costs, frozenset(early)).cycles[CELL])
                gap = self._gap(before, mapped.mappings[index - 1], came[index - 1])
                if not all(problem.operand(name).level in roomy for name in early):
                    gap = gap._replace(window=gap.last)
                cycles[index - 1], spared = gap.shared(cycles[index - 1], early.values(), spared)
                cycles[index] -= spared
        return tuple(
            [replace(mapping, expected_cycles=each) for mapping, each in zip(mapped.mappings, cycles, strict=True)]
        )

    def _costs(self, problem: Problem, mapping: LayerMapping) -> Costs:
        """Of a layer in its mapping; those that are alike share them."""
        places = [(plan.home, plan.level, plan.shape, plan.strides, plan.resident) for plan in problem.operands]
        dims = tuple(problem.layer.dims.items())
        key = problem.layer.op, problem.layer.steps, dims, tuple(places), mapping.unit, mapping.nodes
        if key not in self._known:
            self._known[key] = price(problem, mapping, self._chip, self._dtypes)
        return self._known[key]

    def _gap(self, problem: Problem, mapping: LayerMapping, came: float) -> Gap:
        """What a layer, some of whose first tiles ``came`` in before, leaves of DRAM to the next one."""
        costs, channels = self._costs(problem, mapping), self._architecture.dma.channels
        cycles, queues = float(costs.cycles[CELL]), dict[int, float]()
        ahead = cycles
        for plan in problem.loads:
            flow = costs.flows[plan.name]
            moves = max(1.0, float(flow.moves[CELL]))
            stream = float(flow.touched[CELL]) * plan.element_bytes / self._chip.port_rate(plan.home, write=False)
            asked = stream + moves * self._chip.latency(plan.home, write=False)
            queue = load_channel(problem, plan, channels)
            queues[queue] = queues.get(queue, 0.0) + asked
            ahead = min(ahead, cycles * min(plan.slots, moves) / moves)
        last = 0.0
        for plan in problem.stores:
            tile = float(costs.flows[plan.name].touched[CELL]) / max(1.0, float(costs.flows[plan.name].moves[CELL]))
            last += tile * plan.element_bytes / self._chip.port_rate(plan.home, write=True)
        busy = max((float(each.flat[0]) for name, each in costs.terms.items() if name.endswith(PINS)), default=0.0)
        window = max(0.0, min(cycles - max(queues.values(), default=0.0), ahead + last))
        in_order = any(self._in_order(plan.home) for plan in problem.stores)
        return Gap(window, last, max(0.0, busy - came), in_order)

    def _early(self, mapped: Mapped, index: int, roomy: Set[str]) -> dict[str, float]:
        """Operands whose first tile comes in beside the layer before, and the cycles of DRAM that each takes;
        ``roomy``: memories in which the rings of both layers lie side by side."""
        problem, mapping = mapped.problems[index], mapped.mappings[index]
        assert problem is not None
        frame, found = Frame(problem, mapping, {}), dict[str, float]()
        for plan in self._ahead(mapped, index, frame, roomy):
            depth, sliding = frame.keeps[plan.name]
            slid = frame.loops[depth - 1].dim if sliding else None
            size = first_tile(frame, plan, depth, slid) * plan.element_bytes
            found[plan.name] = size / self._chip.port_rate(plan.home, write=False)
        return found

    def _ahead(self, mapped: Mapped, index: int, frame: Frame, roomy: Set[str]) -> Iterator[OperandPlan]:
        """Operands that DRAM serves before what the layer before makes, queue by queue, the outermost tiles first."""
        held, made = set[int](), base_of(self._workload, self._workload.layers[index - 1].output.tensor)
        kept = [plan for plan in load_order(frame.problem) if plan.name in frame.keeps and not plan.beyond]
        for plan in sorted(kept, key=lambda plan: frame.keeps[plan.name][0]):
            queue = load_channel(frame.problem, plan, self._architecture.dma.channels)
            waits = base_of(self._workload, plan.tensor) == made or not self._comes(mapped, index, plan, roomy)
            if waits:
                held.add(queue)
            elif queue not in held and self._architecture.memory(plan.home).kind == "dram" and plan.rows is None:
                yield plan

    def _comes(self, mapped: Mapped, index: int, plan: OperandPlan, roomy: Set[str]) -> bool:
        """Whether an operand's ring has a place before the layer before is done: beside that one's rings, or where DRAM
        serves one transfer after the other in their place, as soon as it has computed and before its last results."""
        if plan.level in roomy:
            return True
        before = mapped.problems[index - 1]
        assert before is not None
        return self._in_order(plan.home) and all(out.level != plan.level for out in before.stores)

    def _in_order(self, memory: str) -> bool:
        """Whether a DRAM serves one transfer after the other."""
        return self._architecture.memory(memory).standard == "constant"


def _held(problem: Problem | None, mapping: LayerMapping) -> Counter[str]:
    """Bytes of the rings of a layer in each memory."""
    found = Counter[str]()
    for ring in wanted(problem, mapping) if problem is not None else ():
        found[ring.memory] += ring.slots * ring.slot_bytes
    return found


def _without(costs: Costs, early: frozenset[str]) -> Costs:
    """The same where the first tiles of some operands are there before."""
    flows = dict(costs.flows)
    for name in early:
        flow = flows[name]
        flows[name] = flow._replace(
            filled=np.maximum(flow.filled - flow.first, 0.0), touched=np.maximum(flow.touched - flow.first, 0.0),
            first=flow.first * 0.0,
        )  # fmt: skip
    return replace(costs, flows=flows)
