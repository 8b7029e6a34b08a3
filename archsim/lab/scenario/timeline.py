"""One chip serves frames from a queue: which runs when, to the picosecond.

The most urgent waiting frame runs to its end, or, where runs may be cut, to the first cut at which a more urgent one
waits; it goes on later from there. A chip that sleeps whenever no frame waits wakes at the next one's release.

The steady timeline is made of whole hyperperiods, mostly one, that begin as they end and so repeat. A chip that sleeps
may need several: it wakes late for one frame, and has no time to sleep before the next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from archsim.base.errors import SimulationError
from archsim.lab.scenario.form import FrameStream
from archsim.lab.scenario.frames import ScenarioFrame, released

Urgency = Callable[[ScenarioFrame], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class TimelineSlice:
    """The chip works on ``frame`` (None: it wakes) from start to end; ``last``: the frame is done at the end."""

    frame: ScenarioFrame | None
    start_ps: int
    end_ps: int
    last: bool = False


def urgency(policy: str, streams: Sequence[FrameStream]) -> Urgency:
    """A key of frames, the most urgent first; all of a scenario's frames have different ones."""
    rank = sorted(range(len(streams)), key=lambda place: (streams[place].period_ps, place))
    places = {place: at for at, place in enumerate(rank)}
    keys: Mapping[str, Urgency] = {
        "edf": lambda frame: (frame.deadline_ps, frame.release_ps, frame.stream, frame.number),
        "rate_monotonic": lambda frame: (places[frame.stream], frame.release_ps, frame.stream, frame.number),
        "fifo": lambda frame: (frame.release_ps, frame.stream, frame.number),
    }
    return keys[policy]


class FrameServer:
    """``cuts_ps``: for each stream the instants of its run at which it may be cut, the run's end the last;
    ``wake_ps``: None for a chip that never sleeps."""

    def __init__(self, cuts_ps: Sequence[Sequence[int]], key: Urgency, wake_ps: int | None = None) -> None:
        self._cuts, self._key, self._wake = cuts_ps, key, wake_ps

    def serve(self, frames: Sequence[ScenarioFrame]) -> list[TimelineSlice]:
        """The slices of all ``frames`` (in order of release), one behind the other."""
        self._frames, self._next = frames, 0
        self._ready: list[tuple[tuple[int, ...], ScenarioFrame]] = []
        self._done: dict[ScenarioFrame, int] = {}
        slices: list[TimelineSlice] = []
        now = 0
        while self._ready or self._next < len(frames):
            if not self._ready:
                now = self._rest(now, slices)
            self._admit(now)
            now = self._run(now, slices)
        return slices

    def _rest(self, now: int, slices: list[TimelineSlice]) -> int:
        """When the next frame may start: at its release, behind the wake-up where there was time to sleep."""
        release = self._frames[self._next].release_ps
        if release <= now or self._wake is None:
            return max(now, release)
        if self._wake:
            slices.append(TimelineSlice(None, release, release + self._wake))
        return release + self._wake

    def _admit(self, until: int) -> None:
        while self._next < len(self._frames) and self._frames[self._next].release_ps <= until:
            frame = self._frames[self._next]
            heappush(self._ready, (self._key(frame), frame))
            self._next += 1

    def _run(self, now: int, slices: list[TimelineSlice]) -> int:
        _, frame = heappop(self._ready)
        cuts, before = self._cuts[frame.stream], self._done.pop(frame, 0)
        end = now + cuts[-1] - before
        stop = end if len(cuts) == 1 else self._cut(frame, now, before, end)
        slices.append(TimelineSlice(frame, now, stop, stop == end))
        self._admit(stop)
        if stop < end:
            self._done[frame] = before + stop - now
            heappush(self._ready, (self._key(frame), frame))
        return stop

    def _cut(self, frame: ScenarioFrame, now: int, before: int, end: int) -> int:
        """When a frame that runs from ``now`` leaves: the first cut at or behind a more urgent one's release."""
        cuts, mine = self._cuts[frame.stream], self._key(frame)
        for number in range(self._next, len(self._frames)):
            other = self._frames[number]
            if other.release_ps >= end:
                break
            if self._key(other) < mine:
                return now + cuts[bisect_left(cuts, before + other.release_ps - now)] - before
        return end


_FIRST, _MOST = 4, 256  # hyperperiods that are looked at

TimelineState = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class FrameDone:
    """A frame and when it was done."""

    frame: ScenarioFrame
    end_ps: int

    @property
    def response_ps(self) -> int:
        """From its release to its end."""
        return self.end_ps - self.frame.release_ps

    @property
    def slack_ps(self) -> int:
        """From its end to its deadline; below 0 it is missed."""
        return self.frame.deadline_ps - self.end_ps


@dataclass(frozen=True, slots=True)
class SteadyWindow:
    """What repeats: its slices, cut at its ends, and the frames that are done in it."""

    start_ps: int
    length_ps: int
    slices: tuple[TimelineSlice, ...]
    done: tuple[FrameDone, ...]

    @property
    def busy_ps(self) -> int:
        """Time in which frames run."""
        return sum(each.end_ps - each.start_ps for each in self.slices if each.frame is not None)

    @property
    def wake_ps(self) -> int:
        """Time in which the chip wakes."""
        return sum(each.end_ps - each.start_ps for each in self.slices if each.frame is None)

    @property
    def rest_ps(self) -> int:
        """Time in which it does neither."""
        return self.length_ps - self.busy_ps - self.wake_ps


def steady(streams: Sequence[FrameStream], server: FrameServer, hyperperiod: int) -> SteadyWindow:
    """The first hyperperiods at whose ends the queue is the same; raises SimulationError when there are none."""
    lead = max(stream.offset_ps for stream in streams) // hyperperiod
    count = _FIRST
    while count <= _MOST:
        slices = server.serve(released(streams, (lead + count) * hyperperiod))
        states = [_state(slices, (lead + number) * hyperperiod) for number in range(count)]
        seen: dict[TimelineState, int] = {}
        for number, state in enumerate(states[1:], start=1):
            first = seen.setdefault(state, number)
            if first < number:
                return _window(slices, (lead + first) * hyperperiod, (number - first) * hyperperiod)
        count *= 4
    raise SimulationError(f"the queue of frames is not the same again after {_MOST} hyperperiods")


def _state(slices: Sequence[TimelineSlice], at_ps: int) -> TimelineState:
    """What is under way or waits at an instant, and whether the chip rested right before it.

    Of the slices alone: each frame that is not done, how long ago it was released and how much of it is done.
    """
    last_end, done = 0, dict[ScenarioFrame, int]()
    waking = 0
    pending: dict[ScenarioFrame, int] = {}
    for each in slices:
        if each.start_ps < at_ps:
            last_end = max(last_end, each.end_ps)
        if each.frame is None:
            waking += max(0, each.end_ps - at_ps) if each.start_ps < at_ps else 0
            continue
        if each.start_ps < at_ps:
            done[each.frame] = done.get(each.frame, 0) + min(each.end_ps, at_ps) - each.start_ps
        if each.last and each.end_ps > at_ps and each.frame.release_ps < at_ps:
            pending[each.frame] = at_ps - each.frame.release_ps
    queue = sorted((frame.stream, age, done.get(frame, 0)) for frame, age in pending.items())
    return last_end >= at_ps, waking, tuple(queue)


def _window(slices: Sequence[TimelineSlice], start_ps: int, length_ps: int) -> SteadyWindow:
    end_ps = start_ps + length_ps
    inside = [each for each in slices if each.end_ps > start_ps and each.start_ps < end_ps]
    cut = [
        TimelineSlice(
            each.frame, max(each.start_ps, start_ps), min(each.end_ps, end_ps), each.last and each.end_ps <= end_ps
        )
        for each in inside
    ]
    done = [FrameDone(each.frame, each.end_ps) for each in cut if each.last and each.frame is not None]
    return SteadyWindow(start_ps, length_ps, tuple(cut), tuple(done))
