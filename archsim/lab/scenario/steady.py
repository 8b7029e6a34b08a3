"""The steady timeline: whole hyperperiods, mostly one, that begin as they end and so repeat.

A chip that sleeps may need several: it wakes late for one frame, and has no time to sleep before the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archsim.base.errors import SimulationError
from archsim.lab.scenario.form import Stream
from archsim.lab.scenario.frames import Frame, released
from archsim.lab.scenario.timeline import Server, Slice

_FIRST, _MOST = 4, 256  # hyperperiods that are looked at

State = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """A frame and when it was done."""

    frame: Frame
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
class Window:
    """What repeats: its slices, cut at its ends, and the frames that are done in it."""

    start_ps: int
    length_ps: int
    slices: tuple[Slice, ...]
    done: tuple[Done, ...]

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


def steady(streams: Sequence[Stream], server: Server, hyperperiod: int) -> Window:
    """The first hyperperiods at whose ends the queue is the same; raises SimulationError when there are none."""
    lead = max(stream.offset_ps for stream in streams) // hyperperiod
    count = _FIRST
    while count <= _MOST:
        slices = server.serve(released(streams, (lead + count) * hyperperiod))
        states = [_state(slices, (lead + number) * hyperperiod) for number in range(count)]
        seen: dict[State, int] = {}
        for number, state in enumerate(states[1:], start=1):
            first = seen.setdefault(state, number)
            if first < number:
                return _window(slices, (lead + first) * hyperperiod, (number - first) * hyperperiod)
        count *= 4
    raise SimulationError(f"the queue of frames is not the same again after {_MOST} hyperperiods")


def _state(slices: Sequence[Slice], at_ps: int) -> State:
    """What is under way or waits at an instant, and whether the chip rested right before it.

    Of the slices alone: each frame that is not done, how long ago it was released and how much of it is done.
    """
    last_end, done = 0, dict[Frame, int]()
    waking = 0
    pending: dict[Frame, int] = {}
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


def _window(slices: Sequence[Slice], start_ps: int, length_ps: int) -> Window:
    end_ps = start_ps + length_ps
    inside = [each for each in slices if each.end_ps > start_ps and each.start_ps < end_ps]
    cut = [
        Slice(each.frame, max(each.start_ps, start_ps), min(each.end_ps, end_ps), each.last and each.end_ps <= end_ps)
        for each in inside
    ]
    done = [Done(each.frame, each.end_ps) for each in cut if each.last and each.frame is not None]
    return Window(start_ps, length_ps, tuple(cut), tuple(done))
