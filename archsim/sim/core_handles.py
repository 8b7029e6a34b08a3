"""What Python holds of the compiled machine: its flows, its tokens, and the ends of moves that it is told of."""

from __future__ import annotations

from typing import Any, Protocol

from archsim.sim.arena import Arena
from archsim.sim.compiled import layout as k
from archsim.sim.events import Event
from archsim.sim.program_tables import ProgramTables
from archsim.sim.tokens import TokenArrival


class ToldMachine(Protocol):
    """The compiled machine, as these ask and tell it (``sim.compiled_core.CompiledCore``)."""

    arena: Arena
    tables: ProgramTables

    def tell(self, *row: int) -> None:
        """Tell it what has happened now."""


class CoreFlow:
    """The streams of a command that Python runs (``sim.protocols.RunningStreams``)."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.ended = False
        self.end_ps = 0


class SlotsTaken:
    """The slots of a ring that a queue has taken, in the compiled machine (of ``sim.tokens.TokenCounter``)."""

    def __init__(self, core: ToldMachine, counter: int) -> None:
        self._core, self._counter = core, counter

    @property
    def taken(self) -> int:
        """How many so far."""
        m = self._core.arena.m
        return int(m[m[k.COUNTERS_AT] + self._counter * k.COUNTER_WIDTH + k.TAKEN])


class CoreSink:
    """Where signals of a queue outside go."""

    def __init__(self, core: ToldMachine, kind: int, sink: int) -> None:
        self._core, self._kind, self._sink = core, kind, sink

    def give(self, count: int, arrival: TokenArrival) -> None:
        """Hand tokens to the machine."""
        seen_ps, unit, index = arrival
        rank = self._core.tables.ranks[unit]
        self._core.tell(k.GIVE_TOKEN, self._sink, self._kind, count, seen_ps, rank, index)


class Mover:
    """What a queue has begun in DRAM and on the network. ``moves``: how its plans are begun."""

    __slots__ = ("_core", "_q", "moves")

    def __init__(self, core: ToldMachine, q: int) -> None:
        self._core, self._q = core, q
        self.moves: dict[int, Any] = {}

    def leg_ended(self) -> None:
        """The transfer of the present move has ended."""
        self._core.tell(k.LEG_ENDED, self._q)

    def travelled(self, beat_ps: int, flit_ps: int) -> None:
        """All that it sends has arrived."""
        self._core.tell(k.TRAVEL_ENDED, self._q, beat_ps, flit_ps)


class LegEnd:
    """Tells the machine of the end of a transfer of a move in a DRAM."""

    __slots__ = ("_core", "_layer", "_leg", "_q")

    def __init__(self, core: ToldMachine, q: int, leg: Any, layer: str) -> None:
        self._core, self._q, self._leg, self._layer = core, q, leg, layer

    def __call__(self, event: Event) -> None:
        """The transfer has ended: its layer is charged, and the machine told."""
        self._leg.dram.charge(self._layer, event.value)
        self._core.tell(k.LEG_ENDED, self._q)
