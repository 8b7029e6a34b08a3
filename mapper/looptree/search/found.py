"""What a search returns, and how long it may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from mapper.looptree.cost import Cost
from mapper.looptree.nest import Nest


@dataclass(frozen=True)
class Found:
    """The best LoopTree that was found. ``bound``: no LoopTree of the space has a smaller objective.

    ``evaluated``: partial and whole LoopTrees that were bounded or costed. ``doubt``: what in the space a search that
    ran to its end cannot prove; '' where there is nothing.
    """

    nest: Nest
    cost: Cost
    value: float
    bound: float
    evaluated: int
    counted: Callable[[], float] = field(repr=False)
    doubt: str = ""

    @cached_property
    def size(self) -> float:
        """LoopTrees of the space that the search tells apart; counted when it is asked for."""
        return self.counted()

    @property
    def proven(self) -> bool:
        """Whether nothing in the space is better."""
        return self.bound >= self.value * (1 - 1e-12)

    @property
    def gap(self) -> float:
        """How much smaller than found the optimum may be, as a fraction of what was found."""
        return max(0.0, 1 - self.bound / self.value)


@dataclass
class Budget:
    """A search ends when either is used up; it then returns the best so far. None: no limit."""

    seconds: float | None = None
    evaluations: int | None = None
    _begun: float = field(default_factory=time.process_time, init=False)

    def over(self, evaluated: int) -> bool:
        """Whether no more may be evaluated."""
        if self.evaluations is not None and evaluated >= self.evaluations:
            return True
        return self.seconds is not None and time.process_time() - self._begun >= self.seconds

    def spent(self, evaluated: int) -> float:
        """Part that is used up, 0 to 1; of two limits the nearer one counts."""
        parts = [0.0]
        if self.evaluations is not None:
            parts.append(evaluated / max(1, self.evaluations))
        if self.seconds is not None:
            parts.append((time.process_time() - self._begun) / max(1e-9, self.seconds))
        return min(1.0, max(parts))
