"""How much of a move a DRAM is asked for at once, when it is asked in parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from archsim.sim.kernel import Event


class Window:
    """Parts of a move that a DRAM is asked for in order, while at most ``most`` bursts are under way (None: any)."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._under_way = 0
        self._waiting: deque[tuple[int, Callable[[], Event], Callable[[Event], None]]] = deque()

    def ask(self, bursts: int, submit: Callable[[], Event], then: Callable[[Event], None]) -> None:
        """Submit a part of so many bursts when there is room, and go on with ``then`` when it has ended."""
        if self._most is None:
            submit().callbacks.append(then)
            return
        self._waiting.append((bursts, submit, then))
        self._pump()

    def _pump(self) -> None:
        while self._waiting and self._most is not None:
            bursts, submit, then = self._waiting[0]
            if self._under_way and self._under_way + bursts > self._most:
                return
            self._waiting.popleft()
            self._under_way += bursts
            event = submit()
            event.callbacks.append(partial(self._ended, bursts))
            event.callbacks.append(then)

    def _ended(self, bursts: int, _: Event) -> None:
        self._under_way -= bursts
        self._pump()
