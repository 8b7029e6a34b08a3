"""One chip serves frames from a queue: which runs when, to the picosecond.

The most urgent waiting frame runs to its end, or, where runs may be cut, to the first cut at which a more urgent one
waits; it goes on later from there. A chip that sleeps whenever no frame waits wakes at the next one's release.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from archsim.lab.scenario.form import Stream
from archsim.lab.scenario.frames import Frame

Urgency = Callable[[Frame], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Slice:
    """The chip works on ``frame`` (None: it wakes) from start to end; ``last``: the frame is done at the end."""

    frame: Frame | None
    start_ps: int
    end_ps: int
    last: bool = False


def urgency(policy: str, streams: Sequence[Stream]) -> Urgency:
    """A key of frames, the most urgent first; all of a scenario's frames have different ones."""
    rank = sorted(range(len(streams)), key=lambda place: (streams[place].period_ps, place))
    places = {place: at for at, place in enumerate(rank)}
    keys: Mapping[str, Urgency] = {
        "edf": lambda frame: (frame.deadline_ps, frame.release_ps, frame.stream, frame.number),
        "rate_monotonic": lambda frame: (places[frame.stream], frame.release_ps, frame.stream, frame.number),
        "fifo": lambda frame: (frame.release_ps, frame.stream, frame.number),
    }
    return keys[policy]


class Server:
    """``cuts_ps``: for each stream the instants of its run at which it may be cut, the run's end the last;
    ``wake_ps``: None for a chip that never sleeps."""

    def __init__(self, cuts_ps: Sequence[Sequence[int]], key: Urgency, wake_ps: int | None = None) -> None:
        self._cuts, self._key, self._wake = cuts_ps, key, wake_ps

    def serve(self, frames: Sequence[Frame]) -> list[Slice]:
        """The slices of all ``frames`` (in order of release), one behind the other."""
        self._frames, self._next = frames, 0
        self._ready: list[tuple[tuple[int, ...], Frame]] = []
        self._done: dict[Frame, int] = {}
        slices: list[Slice] = []
        now = 0
        while self._ready or self._next < len(frames):
            if not self._ready:
                now = self._rest(now, slices)
            self._admit(now)
            now = self._run(now, slices)
        return slices

    def _rest(self, now: int, slices: list[Slice]) -> int:
        """When the next frame may start: at its release, behind the wake-up where there was time to sleep."""
        release = self._frames[self._next].release_ps
        if release <= now or self._wake is None:
            return max(now, release)
        if self._wake:
            slices.append(Slice(None, release, release + self._wake))
        return release + self._wake

    def _admit(self, until: int) -> None:
        while self._next < len(self._frames) and self._frames[self._next].release_ps <= until:
            frame = self._frames[self._next]
            heappush(self._ready, (self._key(frame), frame))
            self._next += 1

    def _run(self, now: int, slices: list[Slice]) -> int:
        _, frame = heappop(self._ready)
        cuts, before = self._cuts[frame.stream], self._done.pop(frame, 0)
        end = now + cuts[-1] - before
        stop = end if len(cuts) == 1 else self._cut(frame, now, before, end)
        slices.append(Slice(frame, now, stop, stop == end))
        self._admit(stop)
        if stop < end:
            self._done[frame] = before + stop - now
            heappush(self._ready, (self._key(frame), frame))
        return stop

    def _cut(self, frame: Frame, now: int, before: int, end: int) -> int:
        """When a frame that runs from ``now`` leaves: the first cut at or behind a more urgent one's release."""
        cuts, mine = self._cuts[frame.stream], self._key(frame)
        for number in range(self._next, len(self._frames)):
            other = self._frames[number]
            if other.release_ps >= end:
                break
            if self._key(other) < mine:
                return now + cuts[bisect_left(cuts, before + other.release_ps - now)] - before
        return end
