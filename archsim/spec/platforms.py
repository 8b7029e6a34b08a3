"""Platforms: the software that runs a chip (a framework, a library, a compiler), and what it changes of the chip.

A chip file states the silicon, and under ``platforms`` what each platform makes of it: how its host launches kernels,
which clock it sustains, and by which schedule policy its compiler works. ``archsim.spec.on_platform`` makes of a chip
the one that its platform runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from archsim.base import units
from archsim.spec import value_domains as d
from archsim.spec.by_name import ByName, by_name
from archsim.spec.keys import Key, SectionOf

_TIME = by_name(d.whole(units.TIME, "0 s", "1 s"), "{default: 5 us, Softmax: 7 us}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformHost:
    """Keys of the host in place of the chip's; None: as the chip has it."""

    launch: Annotated[ByName[int] | None, Key("launch", _TIME, "latency of one launch")] = None
    depth: Annotated[int | None, Key("depth", d.count(1, 1024), "launches in flight")] = None
    issue: Annotated[ByName[int] | None, Key("issue", _TIME, "interval between launches")] = None
    floor: Annotated[
        ByName[int] | None,
        Key("floor", _TIME, "from the end of a kernel to the next one's first command"),
    ] = None
    per: Annotated[str | None, Key("per", d.choice("program", "kernel"), "what the host launches")] = None

    @property
    def times(self) -> dict[str, ByName[int]]:
        """The times that are stated, by their keys."""
        found = {"launch": self.launch, "issue": self.issue, "floor": self.floor}
        return {key: time for key, time in found.items() if time is not None}

    @property
    def stated(self) -> dict[str, Any]:
        """The fields of ``Host`` that are stated: times for all kernels, and those of an operator beside them."""
        found: dict[str, Any] = {f"{key}_ps": time.default for key, time in self.times.items()}
        plain = {"depth": self.depth, "per": self.per, "by_operator": self.times or None}
        return found | {name: value for name, value in plain.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What a platform changes of a chip. ``policy``: the schedule policy of its compiler; '' for none."""

    name: str
    policy: Annotated[
        str,
        Key(
            "policy",
            d.name("the name of a schedule policy"),
            "what `--schedule platform` allows of schedules",
            write=lambda name, _: name or None,
        ),
    ] = ""
    host: Annotated[
        PlatformHost, Key("host", SectionOf("PlatformHost", PlatformHost), "keys of the host in place of the chip's")
    ] = PlatformHost()
    clock_share: Annotated[
        Fraction,
        Key(
            "clock_share",
            d.ratio("1/100", "1"),
            "share of the chip's clock that the parts which run at it sustain; DRAM, the host, networks around the "
            "innermost one and parts at another clock than the chip's keep theirs",
        ),
    ] = Fraction(1)
    vector_share: Annotated[
        ByName[Fraction],
        Key(
            "vector_share",
            by_name(d.ratio("1/1000", "1"), "{default: 1, softmax: 0.25}"),
            "share of the vector units' rate that the kernels of the platform's library reach, of every function or by "
            "the names of functions in Programs; a command of several goes at the least of theirs",
        ),
    ] = ByName(Fraction(1))
    prefetch: Annotated[
        Fraction | None,
        Key(
            "prefetch",
            d.ratio("0", "1"),
            "for policies that copy operands whole before a product begins: the share of the innermost memory that "
            "they may fill",
        ),
    ] = None
