"""How fast links are: what they carry in a second, and the cycles of the innermost network that a flit takes them.

``spec``: the section of a noc, as its file states it.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from archsim.facts.noc.routers import CROSSBAR, WIRE

MOST_PERIOD = 1024  # cycles; calendars of the compiled code reach so far
MOST_DELAY = 1024
MOST_TERM = 1 << 20  # of a period: times in parts of a cycle fit a word
_MOST_USUAL = 2  # cycles of a link, of a topology's own: folded rings


def bytes_per_s(spec: Any, clock_hz: int) -> Fraction:
    """Of a link of a level with a phy or a width, in one direction."""
    if spec.phy is not None:
        return Fraction(spec.phy.lanes * spec.phy.rate * spec.phy.coding / 8)
    return Fraction((spec.link or 0) * clock_hz)


def period(flit_bytes: int, network_hz: int, rate: Fraction) -> Fraction:
    """Cycles of the network for which a flit takes a link of ``rate`` bytes a second."""
    return flit_bytes * network_hz / rate


def delay_cycles(spec: Any, clock_hz: int, network_hz: int) -> int:
    """Cycles of the network on a link: of its phy, or of wires that take cycles of the level's own clock."""
    if spec.phy is not None:
        return ceil(Fraction(spec.phy.latency * network_hz, 10**12))
    return ceil(Fraction((spec.link_delay or _MOST_USUAL) * network_hz, clock_hz))


def busy_flits(spec: Any, delay: int, taken: Fraction) -> int:
    """Flits of a buffer that keep a link of ``delay`` cycles busy, of which each takes ``taken``: as many as leave
    until the first one's credit is back. ``spec``: the innermost network."""
    head = spec.routing_delay + (0 if spec.speculative else 1)
    back: int = CROSSBAR + 2 * (WIRE + delay) + spec.credit_delay + head + ceil(taken) - 1
    return ceil(back / taken)
