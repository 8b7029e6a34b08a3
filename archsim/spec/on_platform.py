"""A chip as its platform runs it: the host's keys in place of the chip's, and what of clock and lanes is sustained."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TypeVar

from archsim.spec.architecture import Architecture
from archsim.spec.part import Part

P = TypeVar("P", bound=Part)


def on_platform(chip: Architecture) -> Architecture:
    """The chip with what its ``platform`` changes; the chip itself where it has none.

    Cycles of a run stay those of the chip's own clock: a platform that sustains less of it takes more of them. A part
    at that very clock goes with it, whether the file states the part's clock or not; one at another clock keeps it.
    """
    if not chip.platform:
        return chip
    found = chip.platforms[chip.platform]
    share = found.clock_share

    def paced(part: P) -> P:
        own = part.scope != "chip" or part.clock_hz != chip.clock_hz
        return part if own else dataclasses.replace(part, clock_hz=_share_of(part.clock_hz, share))

    host = dataclasses.replace(chip.host, **found.host.stated) if chip.host is not None else None
    return dataclasses.replace(
        chip,
        memories=tuple(map(paced, chip.memories)),
        caches=tuple(map(paced, chip.caches)),
        arrays=tuple(map(paced, chip.arrays)),
        vectors=tuple(dataclasses.replace(paced(unit), share=found.vector_share) for unit in chip.vectors),
        dma=paced(chip.dma),
        noc=paced(chip.noc) if chip.noc is not None else None,
        host=host,
        base=chip,
    )


def _share_of(hertz: int, share: Fraction) -> int:
    return max(1, round(hertz * share))
