"""When frames are released and due: rates as exact fractions, instants as whole picoseconds.

Frame n of a stream is released at offset + floor(n x period), due at offset + floor(n x period + deadline): boundaries
are rounded, never durations. The hyperperiod is the least whole number of picoseconds that all periods divide, so the
releases of one hyperperiod are those of every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, lcm

from archsim.base.errors import ConfigError
from archsim.lab.scenario.form import FrameStream

MOST_FRAMES = 100_000  # of a hyperperiod
_LONG_PS = 10**24


@dataclass(frozen=True, slots=True, order=True)
class ScenarioFrame:
    """Frame ``number`` of a stream (its place in the scenario); instants in ps."""

    release_ps: int
    stream: int
    number: int
    deadline_ps: int


def hyperperiod_ps(streams: Sequence[FrameStream]) -> int:
    """The period of all streams together; raises ConfigError when it holds too many frames."""
    found = lcm(*[stream.period_ps.numerator for stream in streams])
    frames = sum(frames_of(stream, found) for stream in streams)
    if frames > MOST_FRAMES:
        rates = ", ".join(f"{stream.name} {float(stream.rate_hz):g} Hz" for stream in streams)
        place, _, _ = streams[0].place.partition(": ")
        after = f"{found / 1e12:g}" if found < _LONG_PS else f"more than {_LONG_PS / 1e12:g}"
        raise ConfigError(
            f"{place}{': ' if place else ''}streams: rates {rates} meet again after {after} s and {frames:,} frames; "
            f"allowed rates whose common period holds at most {MOST_FRAMES:,}"
        )
    return found


def frames_of(stream: FrameStream, hyperperiod: int) -> int:
    """Frames of a stream in a hyperperiod."""
    return int(hyperperiod / stream.period_ps)


def released(streams: Sequence[FrameStream], until_ps: int) -> list[ScenarioFrame]:
    """All frames released before an instant, in order of release, then of streams."""
    found = []
    for place, stream in enumerate(streams):
        number = 0
        while (release := stream.offset_ps + floor(number * stream.period_ps)) < until_ps:
            due = stream.offset_ps + floor(number * stream.period_ps + stream.deadline_ps)
            found.append(ScenarioFrame(release, place, number, due))
            number += 1
    return sorted(found)
