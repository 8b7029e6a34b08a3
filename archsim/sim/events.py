"""The event loop: simulated time, processes, and compiled models that run beside them bit for bit.

Processes wait for SimPy events over integer picoseconds; nothing ever ticks every cycle. A model (a DRAM controller)
is a machine of its own: it takes requests and is run forward to its first completion. The result equals one global
event loop because

1. all events of an instant are drained before that instant's requests are handed over, sorted by (port, sequence);
   in between, whoever asked for it settles what follows from all of them (``at_end``);
2. a model never runs past the next event of SimPy or of another model, which could feed it;
3. a completion is delivered at the first edge of its receiver at or after it, before any other event of that time.

Events never fail: what a process raises leaves ``run``. This returns silently when every process is blocked.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol

import simpy
from simpy.events import NORMAL, URGENT, Event

from archsim.base.errors import SimulationError
from archsim.sim.clock import ClockDomain

__all__ = ["Event", "EventLoop", "ProcessBody", "SideCompletion", "SideModel", "SideRequest"]

ProcessBody = Generator[Event, Any, None]
HORIZON_PS = 1 << 62  # the bound of a model when no other event is pending: beyond every simulated time
IDLE_PS = HORIZON_PS + 1


class SideRequest(Protocol):
    """What a model takes; ``id`` is unique among the requests under way."""

    @property
    def id(self) -> int:
        """Comes back in the completion."""


class SideCompletion(Protocol):
    """What a model gives back."""

    @property
    def id(self) -> int:
        """The request's id."""

    @property
    def time_ps(self) -> int:
        """When the request ended."""


class SideModel(Protocol):
    """A machine that is simulated beside the processes, such as a DRAM controller."""

    def submit(self, at_ps: int, transfers: Sequence[Any], /) -> None:
        """Take the requests of one instant, in service order."""

    def advance(self, until_ps: int, /) -> Sequence[SideCompletion]:
        """Run to the first instant <= ``until_ps`` with completions and return them, else []."""

    def next_event_ps(self) -> int | None:
        """A lower bound of the next time at which anything could happen; None when nothing is under way."""


class AheadMachine(Protocol):
    """A machine that shares the loop's instants: what it does in one may make events of that instant.

    It runs the models that are in compiled code too (``base.served``), whoever asks them for something.
    """

    @property
    def next_ps(self) -> int:
        """When the next instant is in which it has something to do."""

    @property
    def submits_ps(self) -> int:
        """Before when it gives no model anything to do."""

    @property
    def models_ps(self) -> int:
        """Before when its models complete nothing."""

    @property
    def has_requests(self) -> bool:
        """Whether something was asked of its models in the present instant."""

    def request(self, model: int, order: tuple[int, ...], request: Any) -> None:
        """Ask one of its models for something at the end of this instant; ``EventLoop.completed`` is called then."""

    def run_model(self, until_ps: int) -> None:
        """Run the first of its models to what it completes, up to ``until_ps``."""

    def run_ahead(self, until_ps: int) -> int:
        """Run by itself up to ``until_ps``, or to the first instant in which others have something to do then; the
        instant reached."""

    def wake(self) -> None:
        """Have it go on at the end of the present instant."""


class _Port:
    """A model with the requests handed to it in the present instant and those under way.

    ``next_ps``: a lower bound of the next completion, IDLE_PS when nothing is under way, or where the machine that
    shares the instants runs the model (``is_compiled``).
    """

    __slots__ = ("earliest", "is_compiled", "model", "next_ps", "pending", "waiting")

    def __init__(self, model: SideModel) -> None:
        self.model = model
        self.pending: list[tuple[tuple[int, ...], SideRequest]] = []
        self.waiting: dict[int, tuple[Event, ClockDomain]] = {}  # request -> who waits, on edges of which clock
        self.earliest: list[tuple[int, int]] = []  # heap of (no end before, request), also of requests that have ended
        self.next_ps = IDLE_PS
        self.is_compiled = False

    def look_ahead(self) -> None:
        """Find ``next_ps`` anew, after the model was given requests or was run."""
        next_ps = self.model.next_event_ps() if self.waiting else None
        if next_ps is None:
            self.next_ps = IDLE_PS
        else:
            earliest = self.earliest
            while earliest[0][1] not in self.waiting:
                heappop(earliest)
            first_ps = earliest[0][0]
            self.next_ps = first_ps if first_ps > next_ps else next_ps


class _Process:
    """A body that goes on whenever the event that it waits for has happened. ``ended``: happens at its end."""

    __slots__ = ("_send", "ended", "resume")

    def __init__(self, body: ProcessBody, ended: Event) -> None:
        self._send = body.send
        self.ended = ended
        self.resume = self._go_on

    def _go_on(self, event: Event) -> None:
        try:
            awaited = self._send(event._value)
            while awaited.callbacks is None:
                awaited = self._send(awaited._value)
        except StopIteration:
            self.ended.succeed()
        else:
            awaited.callbacks.append(self.resume)


class EventLoop:
    """Simulated time; ``now`` is the present instant in ps."""

    def __init__(self) -> None:
        self.now = 0
        self._env = simpy.Environment()
        self._ports: list[_Port] = []
        self._submitters: list[_Port] = []
        self._settling: list[Callable[[], None]] = []
        self._machine: AheadMachine | None = None

    def join(self, machine: AheadMachine) -> dict[int, Any]:
        """Let a machine share the loop's instants, one at most; the models that it runs from now on, by number."""
        self._machine = machine
        for port in self._ports:
            port.is_compiled = hasattr(port.model, "compiled")
        return {number: port.model for number, port in enumerate(self._ports) if port.is_compiled}

    def reach(self, time_ps: int) -> None:
        """The machine has run ahead to this instant."""
        self.now = self._env._now = time_ps

    def event(self) -> Event:
        """An event that someone will trigger with ``succeed``."""
        return Event(self._env)

    def timeout(self, delay_ps: int) -> Event:
        """An event ``delay_ps`` from now."""
        if delay_ps < 0:
            raise ValueError(f"an event {-delay_ps} ps ago")
        env = self._env
        event = Event(env)
        event._ok, event._value = True, None
        heappush(env._queue, (env._now + delay_ps, NORMAL, next(env._eid), event))
        return event

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call ``callback`` at ``time_ps``, which is not in the past."""
        self.timeout(time_ps - self.now).callbacks.append(lambda _: callback())

    def at_end(self, settle: Callable[[], None]) -> None:
        """Call ``settle`` once when all events of the present instant have happened."""
        self._settling.append(settle)

    def start(self, body: ProcessBody) -> Event:
        """Run ``body`` as a process from this instant on; the event happens when it ends."""
        process, first = _Process(body, Event(self._env)), Event(self._env)
        first.callbacks.append(process.resume)
        _schedule(first, 0, URGENT)
        return process.ended

    def attach(self, model: SideModel) -> int:
        """Register a model; returns its number for ``submit``."""
        self._ports.append(_Port(model))
        return len(self._ports) - 1

    def submit(
        self, model: int, order: tuple[int, ...], request: SideRequest, clock: ClockDomain, least_ps: int = 0
    ) -> Event:
        """Hand ``request`` to a model at the end of this instant.

        The event carries the completion; it happens at the first edge of ``clock`` at or after it. ``order`` =
        (port, sequence, ...) sorts the requests of one instant. ``least_ps``: a duration that the request cannot
        undercut, which spares looking at the model before.
        """
        port = self._ports[model]
        done = Event(self._env)
        port.waiting[request.id] = (done, clock)
        if port.is_compiled and self._machine is not None:
            self._machine.request(model, order, request)
            return done
        if not port.pending:
            self._submitters.append(port)
        port.pending.append((order, request))
        heappush(port.earliest, (self.now + least_ps, request.id))
        return done

    def completed(self, model: int, completion: SideCompletion) -> None:
        """The machine's model has completed what Python waits for: let it happen, at an edge of who does."""
        done, clock = self._ports[model].waiting.pop(completion.id)
        _schedule(done, clock.at_or_after(completion.time_ps) - self.now, URGENT, completion)

    def run(self) -> None:
        """Run until nothing can happen any more: all processes have ended or are blocked for good."""
        env = self._env
        while True:
            while self._settling:
                self._settle()
                self._drain()
            if self._submitters:
                self._hand_over()
            if self._machine is not None and self._run_ahead(self._machine):
                continue
            self._run_models()
            next_ps = self._next_ps()
            if next_ps >= HORIZON_PS:
                return
            if self._is_first(next_ps):
                continue
            self.now = env._now = next_ps
            self._drain()
            if self._machine is not None and self._machine.next_ps == self.now:
                self._machine.wake()

    def finish(self, time_ps: int) -> None:
        """Bring idle models to ``time_ps``, the end of the simulation, for what they count over time."""
        for port in self._ports:
            port.model.advance(time_ps)

    def _next_ps(self) -> int:
        """The next instant at which something happens, models aside."""
        queue = self._env._queue
        head = int(queue[0][0]) if queue else HORIZON_PS
        return head if self._machine is None else min(head, self._machine.next_ps)

    def _is_first(self, next_ps: int) -> bool:
        """Whether nobody but the machine has anything to do then."""
        queue = self._env._queue
        return self._machine is not None and (not queue or next_ps < queue[0][0])

    def _run_ahead(self, machine: AheadMachine) -> bool:
        """Let the machine run by itself up to what others have to do; whether it wants to go on within the instant."""
        queue = self._env._queue
        first_ps = min([int(queue[0][0]) if queue else HORIZON_PS, *(port.next_ps for port in self._ports)])
        if machine.has_requests or machine.next_ps < first_ps or machine.models_ps < first_ps:
            self.now = self._env._now = machine.run_ahead(first_ps - 1)
        return bool(self._settling)

    def _drain(self) -> None:
        """Let all events of the present instant happen."""
        queue, now = self._env._queue, self.now
        while queue and queue[0][0] == now:
            event: Any = heappop(queue)[3]
            callbacks, event.callbacks = event.callbacks, None
            for callback in callbacks:
                callback(event)

    def _settle(self) -> None:
        settling, self._settling = self._settling, []
        for settle in settling:
            settle()

    def _hand_over(self) -> None:
        for port in self._submitters:
            if len(port.pending) > 1:
                port.pending.sort(key=_order)
            port.model.submit(self.now, [request for _, request in port.pending])
            port.pending.clear()
            port.look_ahead()
        self._submitters.clear()

    def _run_models(self) -> None:
        """Run the models up to the next event and schedule what completes before or at it."""
        queue, machine = self._env._queue, self._machine
        while True:
            bound = int(queue[0][0]) if queue else HORIZON_PS
            if machine is not None:
                bound = min(bound, machine.submits_ps)
            first = None
            first_ps = limit = bound
            for port in self._ports:
                if first is None and port.next_ps <= bound or port.next_ps < first_ps:
                    first, first_ps, limit = port, port.next_ps, first_ps
                else:
                    limit = min(limit, port.next_ps)
            if machine is not None and machine.models_ps <= bound and (first is None or machine.models_ps < first_ps):
                machine.run_model(min(first_ps, limit))
            elif first is None:
                return
            else:
                self._deliver(first, limit if machine is None else min(limit, machine.models_ps))

    def _deliver(self, port: _Port, bound: int) -> None:
        completions = port.model.advance(bound)
        if not completions and bound == HORIZON_PS:
            raise SimulationError(f"a memory model never completes {len(port.waiting)} requests under way")
        for completion in completions:
            done, clock = port.waiting.pop(completion.id)
            _schedule(done, clock.at_or_after(completion.time_ps) - self.now, URGENT, completion)
        port.look_ahead()


def _order(entry: tuple[tuple[int, ...], SideRequest]) -> tuple[int, ...]:
    return entry[0]


def _schedule(event: Event, delay_ps: int, priority: Any = NORMAL, value: Any = None) -> None:
    """Let an event happen ``delay_ps`` from now. Raises ValueError when that is in the past."""
    if delay_ps < 0:
        raise ValueError(f"an event {-delay_ps} ps ago")
    env = event.env
    event._ok, event._value = True, value
    heappush(env._queue, (env._now + delay_ps, priority, next(env._eid), event))


def happen(event: Event, delay_ps: int) -> None:
    """Let an event that has no time yet happen ``delay_ps`` from now."""
    _schedule(event, delay_ps)


def postpone(event: Event, delay_ps: int) -> Event:
    """Move a timeout that has not happened yet to ``delay_ps`` from now; returns the event that replaces it."""
    moved = Event(event.env)
    moved.callbacks, event.callbacks = event.callbacks, []
    _schedule(moved, delay_ps)
    return moved


def hold(event: Event) -> Event:
    """Take the time from a timeout that has not happened yet; returns the event that replaces it, for ``postpone``."""
    held = Event(event.env)
    held.callbacks, event.callbacks = event.callbacks, []
    return held
