"""Who is asking: how many of the transfers under way wait for one before them of the same asker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from archsim.memory.dram.interface import Asker


class Asking:
    """The askers of the transfers under way. Those of one asker come one after the other, for it keeps their order."""

    def __init__(self) -> None:
        self._under_way: Counter[Asker] = Counter()

    def begin(self, askers: Sequence[Asker]) -> None:
        """A transfer of them comes."""
        self._under_way.update(askers)

    def end(self, askers: Sequence[Asker]) -> None:
        """A transfer of them is through."""
        self._under_way.subtract(askers)
        for asker in askers:
            if not self._under_way[asker]:
                del self._under_way[asker]

    @property
    def behind_others(self) -> int:
        """Transfers that another one of their engine, or of their port, comes before."""
        behind: Counter[str] = Counter()
        for asker, transfers in self._under_way.items():
            behind[asker.name[0]] += transfers - 1
        return max(behind.values(), default=0)
