"""Counts of mapped layers that outlive an estimate: what a mapped layer does is the same on all chips of a sweep that
differ in clocks, rates or room alone, and in all layers of a model that are alike.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from archsim.spec.architecture import Architecture
from mapper.analytic.expected_actions import expected_counts, far_moves
from mapper.cost.chip_rates import drain_steps
from mapper.lower.frame import Frame
from mapper.problem.operands import OperandPlan

MOST = 8192  # layers that a process keeps: some 20 MiB
Moves = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class CountedLayer:
    """``counts`` by (part, action), as of ``expected_counts``; ``moves`` of its plans by name: (bytes, how often)."""

    counts: Mapping[tuple[str, str], int]
    moves: Mapping[str, Moves]


_kept: OrderedDict[Hashable, CountedLayer] = OrderedDict()


class LayerCounter:
    """Counts the layers of one chip in number formats ``dtypes`` by role; ``bursts``: bytes of a burst by DRAM."""

    def __init__(self, architecture: Architecture, dtypes: Mapping[str, str], bursts: Mapping[str, int]) -> None:
        self._architecture, self._dtypes, self._bursts = architecture, dtypes, bursts
        words = [(memory.name, memory.kind, memory.word_bytes) for memory in architecture.memories]
        arrays = [replace(array, clock_hz=1) for array in architecture.arrays]
        self._chip = repr((words, arrays, architecture.dma.name, sorted(dtypes.items()), sorted(bursts.items())))

    def of(self, frame: Frame) -> CountedLayer:
        """Counts and moves of a mapped layer."""
        key = self._chip, *_content(frame)
        found = _kept.get(key)
        if found is None:
            if len(_kept) == MOST:
                _kept.popitem(last=False)
            found = _kept[key] = self._counted(frame)
        _kept.move_to_end(key)
        return found

    def _counted(self, frame: Frame) -> CountedLayer:
        counts = expected_counts(frame, self._architecture, self._dtypes, self._bursts)
        return CountedLayer(
            counts, {plan.name: tuple(far_moves(frame, plan)) for plan in frame.problem.operands if moves(plan)}
        )


def moves(plan: OperandPlan) -> bool:
    """Whether tiles of an operand are moved to or from a ring."""
    return plan.buffered and not plan.resident and not plan.made_of


def forget() -> None:
    """Keep none."""
    _kept.clear()


def _content(frame: Frame) -> tuple[Hashable, ...]:
    """What the counts of a layer depend on beside its chip: alike for equal layers, whatever they are called."""
    problem, layer = frame.problem, frame.problem.layer
    stored = [(name, place.strides, place.shape) for name, place in frame.stored.items()]
    steps = drain_steps(layer)[:2]
    nest = (layer.batch, layer.m, layer.n, layer.k, problem.windows, tuple(layer.dims.items()), layer.bounds)
    return (
        *(problem.engine, problem.unit, problem.vector, problem.spread, problem.accumulates),
        *(tuple(problem.dims.items()), nest, steps),
        *(frame.mapping.nodes, frame.way, tuple(stored)),
        tuple([replace(plan, tensor="") for plan in problem.operands]),
    )
