"""The event kernel: simulated time, processes, and compiled models that run beside them bit for bit.

Processes are SimPy processes over integer picoseconds; nothing ever ticks every cycle. A model (a DRAM controller)
is a machine of its own: it takes requests and is run forward to its first completion. The result equals one global
event loop because

1. all events of an instant are drained before that instant's requests are handed over, sorted by (port, sequence);
2. a model never runs past the next event of SimPy or of another model, which could feed it;
3. a completion is delivered at its own time, before any other event of that time.

SimPy returns silently when every process is blocked; ``run`` says so instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

import simpy
from simpy.events import URGENT, Event, Timeout

from archsim.errors import SimulationError

__all__ = ["Completed", "Event", "Kernel", "Model", "ProcessBody", "Request"]

ProcessBody = Generator[Event, Any, None]
HORIZON_PS = 1 << 62  # the bound of a model when no other event is pending: beyond every simulated time


class Request(Protocol):
    """What a model takes; ``id`` is unique among the requests under way."""

    @property
    def id(self) -> int:
        """Comes back in the completion."""


class Completed(Protocol):
    """What a model gives back."""

    @property
    def id(self) -> int:
        """The request's id."""

    @property
    def time_ps(self) -> int:
        """When the request ended."""


class Model(Protocol):
    """A machine that is simulated beside the processes, such as a DRAM controller."""

    def submit(self, at_ps: int, transfers: Sequence[Any], /) -> None:
        """Take the requests of one instant, in service order."""

    def advance(self, until_ps: int, /) -> Sequence[Completed]:
        """Run to the first instant <= ``until_ps`` with completions and return them, else []."""

    def next_event_ps(self) -> int | None:
        """A lower bound of the next time at which anything could happen; None when nothing is under way."""


class _Port:
    """A model with the requests handed to it in the present instant and those under way."""

    __slots__ = ("model", "pending", "waiting")

    def __init__(self, model: Model) -> None:
        self.model = model
        self.pending: list[tuple[tuple[int, ...], Request]] = []
        self.waiting: dict[int, Event] = {}


class Kernel:
    """Simulated time in integer picoseconds."""

    def __init__(self) -> None:
        self._env = simpy.Environment()
        self._ports: list[_Port] = []
        self._submitters: list[_Port] = []

    @property
    def now(self) -> int:
        """Present time in ps."""
        return int(self._env._now)

    def event(self) -> Event:
        """An event that someone will trigger with ``succeed``."""
        return Event(self._env)

    def timeout(self, delay_ps: int) -> Event:
        """An event ``delay_ps`` from now."""
        return Timeout(self._env, delay_ps)

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call ``callback`` at ``time_ps``, which is not in the past."""
        alarm = Timeout(self._env, time_ps - self.now)
        alarm.callbacks.append(lambda _: callback())

    def start(self, body: ProcessBody) -> Event:
        """Run ``body`` as a process from this instant on; the event happens when it ends."""
        return self._env.process(body)

    def attach(self, model: Model) -> int:
        """Register a model; returns its number for ``submit``."""
        self._ports.append(_Port(model))
        return len(self._ports) - 1

    def submit(self, model: int, order: tuple[int, ...], request: Request) -> Event:
        """Hand ``request`` to a model at the end of this instant; the event carries its completion.

        ``order`` = (port, sequence, ...) sorts the requests of one instant.
        """
        port = self._ports[model]
        if not port.pending:
            self._submitters.append(port)
        port.pending.append((order, request))
        done = Event(self._env)
        port.waiting[request.id] = done
        return done

    def run(self) -> None:
        """Run until nothing can happen any more: all processes have ended or are blocked for good."""
        env = self._env
        queue = env._queue
        while True:
            if self._ports:
                self._run_models()
            if not queue:
                return
            now = queue[0][0]
            while queue and queue[0][0] == now:
                env.step()
            if self._submitters:
                self._hand_over()

    def finish(self, time_ps: int) -> None:
        """Bring idle models to ``time_ps``, the end of the simulation, for what they count over time."""
        for port in self._ports:
            port.model.advance(time_ps)

    def _hand_over(self) -> None:
        now = self.now
        for port in self._submitters:
            port.pending.sort(key=lambda entry: entry[0])
            port.model.submit(now, [request for _, request in port.pending])
            port.pending.clear()
        self._submitters.clear()

    def _run_models(self) -> None:
        """Run the models up to the next event and schedule what completes before or at it."""
        queue = self._env._queue
        while True:
            first, second = self._next_of_models()
            bound = int(queue[0][0]) if queue else HORIZON_PS
            if first is None or first[0] > bound:
                return
            self._deliver(first[1], bound if second is None else min(bound, second[0]))

    def _next_of_models(self) -> tuple[tuple[int, _Port] | None, tuple[int, _Port] | None]:
        """The two models with requests under way that may do something first."""
        first = second = None
        for port in self._ports:
            if not port.waiting:
                continue
            time = port.model.next_event_ps()
            if time is None:
                continue
            if first is None or time < first[0]:
                first, second = (time, port), first
            elif second is None or time < second[0]:
                second = (time, port)
        return first, second

    def _deliver(self, port: _Port, bound: int) -> None:
        completions = port.model.advance(bound)
        if not completions and bound == HORIZON_PS:
            raise SimulationError(f"a memory model never completes {len(port.waiting)} requests under way")
        now = self.now
        for completion in completions:
            done = port.waiting.pop(completion.id)
            done._ok, done._value = True, completion
            self._env.schedule(done, URGENT, completion.time_ps - now)


def postpone(event: Event, delay_ps: int) -> Event:
    """Move a timeout that has not happened yet to ``delay_ps`` from now; returns the event that replaces it."""
    moved = Timeout(event.env, delay_ps)
    moved.callbacks, event.callbacks = event.callbacks, []
    return moved
