"""Clock domains: edges in integer picoseconds, and what a receiver in another domain sees.

Edge n of a clock of ``hz`` is at ``n * 10**12 // hz``. Engines start and end on edges of their own clock. A signal
that crosses into a domain of another frequency is seen at the receiver's first edge strictly after it was given,
plus ``sync_stages`` of the receiver's edges (the flip-flops of its synchroniser). Domains of equal frequency are one
domain: edges coincide and a signal is seen the same instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from archsim.base.units import PS_PER_S


@dataclass(frozen=True, slots=True)
class ClockDomain:
    """One clock domain: frequency and the synchroniser stages at its border."""

    hz: int
    sync_stages: int = 0

    def edge(self, cycle: int) -> int:
        """Time in ps of edge ``cycle``."""
        return cycle * PS_PER_S // self.hz

    def cycle(self, time_ps: int) -> int:
        """Number of the first edge at or after ``time_ps``."""
        return -(-time_ps * self.hz // PS_PER_S)

    def at_or_after(self, time_ps: int) -> int:
        """Time in ps of the first edge at or after ``time_ps``."""
        return -(-time_ps * self.hz // PS_PER_S) * PS_PER_S // self.hz

    def edges(self, time_ps: int, *cycles: int) -> list[int]:
        """Times in ps of the edges so many cycles after the first one at or after ``time_ps``."""
        hz = self.hz
        first = -(-time_ps * hz // PS_PER_S)
        return [(first + more) * PS_PER_S // hz for more in cycles]

    def span(self, time_ps: int, cycles: int) -> tuple[int, int]:
        """Number of the first edge at or after ``time_ps``, and time in ps of the edge so many cycles after it."""
        hz = self.hz
        first = -(-time_ps * hz // PS_PER_S)
        return first, (first + cycles) * PS_PER_S // hz

    def phase(self, time_ps: int) -> bytes:
        """Where ``time_ps`` lies between edges; from equal phases on edges lie equally."""
        return (time_ps * self.hz % PS_PER_S).to_bytes(8, "little")

    @property
    def parts(self) -> int:
        """Into how many parts a cycle is divided for every ps to be at a whole number of them."""
        return PS_PER_S // gcd(PS_PER_S, self.hz)

    def position(self, time_ps: int) -> tuple[int, int]:
        """``time_ps`` in cycles of this clock, exactly, as a numerator and a denominator: whole on an edge."""
        hz = self.hz
        cycle = -(-time_ps * hz // PS_PER_S)
        return (cycle, 1) if cycle * PS_PER_S // hz == time_ps else (time_ps * hz, PS_PER_S)

    def position_in(self, parts: int, time_ps: int) -> int:
        """``time_ps`` in ``parts`` of a cycle, exactly: whole cycles on an edge."""
        cycle = -(-time_ps * self.hz // PS_PER_S)
        return cycle * parts if cycle * PS_PER_S // self.hz == time_ps else time_ps * self.hz * parts // PS_PER_S

    def crosses(self, giver: ClockDomain) -> bool:
        """Whether a signal from ``giver`` enters this domain from another one."""
        return self.hz != giver.hz

    def seen(self, given_ps: int) -> int:
        """Time in ps at which a signal given at ``given_ps`` in another domain is seen in this one."""
        return self.edge(self.cycle(given_ps + 1) + self.sync_stages)
