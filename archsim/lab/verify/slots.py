"""Puts a tensor together that lies in a window of a group, slot by slot as each is whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mapper.execute.run import Executor
from mapper.groups.windows import WindowPlan

Array = npt.NDArray[Any]


class WindowedResult:
    """Of one execution; ``values``: what slots have held so far, in memory order."""

    def __init__(self, plan: WindowPlan) -> None:
        self.plan = plan
        self.values = np.full(plan.tensor.shape, np.nan)
        self._slots = 0

    def collect(self, executor: Executor) -> None:
        """Take what the next slot holds, which its maker has just signalled full."""
        index, numbers = self._slots, list[int]()
        for trips in reversed(self.plan.trips):
            numbers.append(index % trips)
            index //= trips
        numbers.reverse()
        offset, shape, place = 0, [], []
        for span, extent, step in zip(self.plan.spans, self.plan.tensor.shape, self.plan.stored.strides, strict=True):
            begin = span.start + (span.advance.step * numbers[span.advance.loop] if span.advance is not None else 0)
            low, high = max(0, begin), min(extent, begin + span.size)
            offset += (low - begin) * step
            shape.append(max(0, high - low))
            place.append(slice(low, max(low, high)))
        if all(shape):
            held = executor.slot_values(self.plan.name, self._slots, tuple(shape), offset, self.plan.stored.strides)
            self.values[tuple(place)] = held
        self._slots += 1
