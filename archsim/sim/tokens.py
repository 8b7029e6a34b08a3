"""Tokens at run time: counting semaphores and the two counters of each ring.

A token knows when its taker saw it and which command gave it, so that a command can tell which of its waits was met
last. Each counter has exactly one taking queue; a signal from another clock domain is seen later (``clock``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Protocol

from archsim.base.errors import SimulationError
from archsim.sim.clock import ClockDomain
from archsim.sim.events import EventLoop

TokenArrival = tuple[
    int, str, int
]  # when a token was seen (ps), and the command (unit, number in its queue) that gave it
INITIAL: TokenArrival = (-1, "", -1)  # of tokens that are there before time 0


class TokenSink(Protocol):
    """Where tokens go."""

    def give(self, count: int, arrival: TokenArrival) -> None:
        """Take in ``count`` tokens."""


class TokenCounter:
    """The tokens of one semaphore, oldest first, as its taking queue sees them.

    ``need``: how many that queue waits for, 0 when it waits for none; ``taken``: how many it has taken so far.
    """

    __slots__ = ("_notify", "name", "need", "taken", "tokens")

    def __init__(self, name: str, initial: int, notify: Callable[[], None]) -> None:
        self.name = name
        self.tokens = [INITIAL] * initial
        self.taken = 0
        self.need = 0
        self._notify = notify

    def give(self, count: int, arrival: TokenArrival) -> None:
        """Add tokens; tells the taking queue once there are as many as it waits for."""
        if count == 1:
            self.tokens.append(arrival)
        else:
            self.tokens.extend([arrival] * count)
        if self.need and len(self.tokens) >= self.need:
            self.need = 0
            self._notify()

    def take(self, count: int) -> TokenArrival:
        """Take ``count`` >= 1 tokens that are here; returns the last one."""
        self.taken += count
        if count > 1:
            del self.tokens[: count - 1]
        return self.tokens.pop(0)


class ClockCrossing:
    """The border of a clock domain in front of a counter."""

    __slots__ = ("_clock", "_event_loop", "_sink")

    def __init__(self, event_loop: EventLoop, clock: ClockDomain, sink: TokenSink) -> None:
        self._event_loop = event_loop
        self._clock = clock
        self._sink = sink

    def give(self, count: int, arrival: TokenArrival) -> None:
        """Hand the tokens on when the receiving clock sees them."""
        given_ps, unit, number = arrival
        seen_ps = self._clock.seen(given_ps)
        self._event_loop.at(seen_ps, partial(self._sink.give, count, (seen_ps, unit, number)))


class HeldSlots:
    """Guard of a ring: a queue may signal no more slots than it has taken."""

    __slots__ = ("_given", "_taken", "token")

    def __init__(self, token: str, taken: TokenCounter) -> None:
        self.token = token
        self._taken = taken
        self._given = 0

    def give(self, count: int, arrival: TokenArrival) -> None:
        """Check a signal; raises SimulationError naming the command that holds no slot."""
        self._given += count
        if self._given > self._taken.taken:
            time_ps, unit, number = arrival
            raise SimulationError(
                f"token underflow at {time_ps} ps: command {number} of {unit} signals "
                f"{self.token} for the {self._given}th time, having taken {self._taken.taken} of "
                f"{self._taken.name}"
            )


class RingSlots:
    """The free slots of a ring: one is free again when all of its readers have signalled it."""

    __slots__ = ("_free", "_freed", "_holding", "readers")

    def __init__(self, free: TokenCounter, readers: tuple[str, ...]) -> None:
        self._free = free
        self._freed = 0
        self._holding = len(readers)  # readers that hold the oldest slot that is not free
        self.readers = {reader: SlotRelease(self) for reader in readers}

    def released(self, before: int, arrival: TokenArrival) -> None:
        """A reader has signalled, ``before`` slots earlier: free the slots that this one was the last to hold."""
        if before > self._freed:
            return
        self._holding -= 1
        if not self._holding:
            given = list(map(_GIVEN, self.readers.values()))
            freed = min(given)
            self._holding = given.count(freed)
            self._free.give(freed - self._freed, arrival)
            self._freed = freed

    def lagging(self) -> tuple[str, ...]:
        """The readers that hold the oldest slot that is not free."""
        return tuple(reader for reader, release in self.readers.items() if release.given == self._freed)


_GIVEN = attrgetter("given")


class SlotRelease:
    """The slots of a ring that one reader has signalled."""

    __slots__ = ("_slots", "given")

    def __init__(self, slots: RingSlots) -> None:
        self._slots = slots
        self.given = 0

    def give(self, count: int, arrival: TokenArrival) -> None:
        """Count the reader's signal of ``count`` >= 1 slots."""
        before = self.given
        self.given += count
        self._slots.released(before, arrival)
