"""One direction of one on-chip memory as a port, the commands on it, and what their streams ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd
from typing import NamedTuple, Protocol

from archsim.facts.banks import Banking
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event
from archsim.sim.protocols import Cycles, Demand, StreamPlace

ROUNDING = 1e-6  # far more than the error of adding and subtracting a million shares as floating-point numbers
FULL = 1 - ROUNDING
ShareKinds = tuple[tuple["MemoryPort", int], ...]


class MemoryPort:
    """One direction of one memory, with the commands on it; ``rough``: the sum of their shares, rounded.

    ``uneven``: those that load its banks unevenly, by how much one bank more than the port at most, rounded; ``peak``:
    the sum of that. ``banks``: ports of its banks, by what commands load them; none while none can be overfull.
    ``is_bank``: of those. ``is_pool``: all commands on it are held up by it alone (``pool``).
    """

    __slots__ = (
        *("_overfull", "banks", "bytes_per_s", "flows", "is_bank", "is_pool", "name", "peak", "rough", "uneven"),
    )

    def __init__(self, name: str, bytes_per_s: int, *, is_bank: bool = False) -> None:
        self.name = name
        self.is_bank = is_bank
        self.is_pool = False
        self.bytes_per_s = bytes_per_s
        self.flows: dict[PortFlow, None] = {}
        self.rough = 0.0
        self._overfull: bool | None = None  # what rational numbers said of the commands now on the port
        self.uneven: dict[PortFlow, float] = {}
        self.peak = 0.0
        self.banks: list[MemoryPort] = []

    def add(self, flow: PortFlow, share: float) -> bool:
        """Put ``flow`` on the port; whether the port, or a bank of it, may hold it up."""
        self.flows[flow] = None
        self.rough += share
        self._overfull = None
        return self.is_pool or (self.rough + self.peak >= FULL and (self.peak > 0 or self.overfull()))

    def remove(self, flow: PortFlow, share: float) -> None:
        """Take ``flow`` off the port."""
        del self.flows[flow]
        self.rough = self.rough - share if self.flows else 0.0
        self._overfull = None

    def add_uneven(self, flow: PortFlow, more: float) -> None:
        """``flow``, which is on the port, loads its banks unevenly."""
        self.uneven[flow] = more
        self.peak += more

    def remove_uneven(self, flow: PortFlow) -> None:
        """``flow`` does so no more."""
        more = self.uneven.pop(flow)
        self.peak = self.peak - more if self.uneven else 0.0

    def crowded(self) -> bool:
        """Whether the demands may exceed the port or a bank of it."""
        return self.rough + self.peak >= FULL

    def overfull(self) -> bool:
        """Whether the demands exceed the port, exactly; rational numbers are added only near the limit."""
        if not FULL <= self.rough <= 1 + ROUNDING:
            return self.rough > 1
        if self._overfull is None:
            first, *others = [flow.exact[self] for flow in self.flows]
            self._overfull = sum(others, first) > 1
        return self._overfull


@dataclass(frozen=True, slots=True)
class UnevenBanks:
    """What a command takes of the banks of a port at full pace, as fractions of each.

    ``even`` of all of them, ``more`` of some.
    """

    even: Fraction
    more: Mapping[int, Fraction]


class PortWork(NamedTuple):
    """``share`` / ``per`` of a port, over all cycles of a command ``work`` / ``work_per``."""

    share: int
    per: int
    work: int
    work_per: int


@dataclass(slots=True, eq=False)
class BankConflict:
    """A stream that loads some banks of ``port`` more than others.

    When it is at address 0 it takes ``loads`` x ``unit`` of the banks.
    """

    port: MemoryPort
    place: StreamPlace
    banking: Banking
    loads: Sequence[int]
    unit: Fraction

    def on(self, ports: Mapping[MemoryPort, MemoryPort]) -> BankConflict:
        """The same on another port, if it is named."""
        return BankConflict(ports.get(self.port, self.port), self.place, self.banking, self.loads, self.unit)

    def turned(self, turn: int) -> Iterable[tuple[int, Fraction]]:
        """(bank, share) where the region lies so many banks further on."""
        banks = self.banking.banks
        return [((bank + turn) % banks, load * self.unit) for bank, load in enumerate(self.loads) if load]


@dataclass(slots=True, eq=False)
class PortStreams:
    """The streams of a command.

    ``shares``: each port with the demand on it, as a fraction of the port at full pace; ``exact`` the same, exactly.
    ``conflicts``: which of its streams load banks unevenly, ``places``: where these go; ``even``: what the others take
    of the ports of those; ``peaks``: by how much one bank of these ports is loaded more than the port at most, rounded.
    ``turns``: where the streams of the conflicts lie, in banks from address 0; none until placed, or if none collides.
    ``kinds``: the ports, each with the number of its share among all shares, once it has one.
    """

    starter: StreamStarter
    clock: ClockDomain
    cycles: Cycles
    demands: tuple[Demand, ...]
    exact: Mapping[MemoryPort, Fraction]
    shares: tuple[tuple[MemoryPort, float], ...]
    whole_cycles: int
    conflicts: tuple[BankConflict, ...] = ()
    places: tuple[StreamPlace, ...] = ()
    even: Mapping[MemoryPort, Fraction] = field(default_factory=dict)
    peaks: tuple[tuple[MemoryPort, float], ...] = ()
    turns: tuple[int, ...] = ()
    found: dict[MemoryPort, UnevenBanks] = field(default_factory=dict)
    works: dict[MemoryPort, PortWork] = field(default_factory=dict)
    placed: dict[tuple[int, ...], PortStreams] = field(default_factory=dict)
    turned: dict[tuple[int, ...], PortStreams] = field(default_factory=dict)
    kinds: ShareKinds = ()
    work_cycles: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.work_cycles = self.cycles.as_integer_ratio()

    def at(self, first_bytes: tuple[int, ...]) -> PortStreams:
        """The same with the ``places`` at these addresses."""
        found = self.placed.get(first_bytes)
        if found is None:
            turns = tuple([c.banking.turn(at) for c, at in zip(self.conflicts, first_bytes, strict=True)])
            if turns not in self.turned:
                self.turned[turns] = replace(self, turns=turns, found={})
            found = self.placed[first_bytes] = self.turned[turns]
        return found

    def uneven(self, port: MemoryPort) -> UnevenBanks:
        """What the command takes of the banks of a port that it loads unevenly, where it lies."""
        if port not in self.found:
            more: dict[int, Fraction] = {}
            for conflict, turn in zip(self.conflicts, self.turns, strict=True):
                if conflict.port is port:
                    for bank, share in conflict.turned(turn):
                        more[bank] = more.get(bank, Fraction(0)) + share
            self.found[port] = UnevenBanks(self.even[port], more)
        return self.found[port]

    def work(self, port: MemoryPort) -> PortWork:
        """What the command asks of a port."""
        found = self.works.get(port)
        if found is None:
            share = self.exact[port]
            work = self.cycles * share
            found = self.works[port] = PortWork(share.numerator, share.denominator, work.numerator, work.denominator)
        return found

    def on(self, ports: Mapping[MemoryPort, MemoryPort], demands: tuple[Demand, ...]) -> PortStreams:
        """The same streams on other ports, those that are named, for ``demands``."""
        other = PortStreams(
            self.starter, self.clock, self.cycles, demands,
            {ports.get(port, port): share for port, share in self.exact.items()},
            tuple([(ports.get(port, port), share) for port, share in self.shares]),
            self.whole_cycles,
        )  # fmt: skip
        if self.conflicts:
            other.conflicts = tuple([conflict.on(ports) for conflict in self.conflicts])
            other.places = self.places
            other.even = {ports.get(port, port): share for port, share in self.even.items()}
            other.peaks = tuple([(ports.get(port, port), peak) for port, peak in self.peaks])
        return other

    def begin(self) -> PortFlow:
        """Start at the present instant, an edge of the clock."""
        return self.starter.begin(self)


class PortFlow:
    """A command on its ports. ``pooled``: the one of them that is a pool; no other one is full then.

    At ``since`` (own cycles since time 0) ``left`` was to be done, in cycles at full pace; both are a numerator and a
    denominator. ``kinds``: its ports, each with the number of its share among all shares.
    """

    __slots__ = (
        *("clock", "end_ps", "ended", "event", "exact", "kinds", "left", "number", "pace", "peaks", "pooled"),
        *("shares", "since", "streams"),
    )

    def __init__(self, number: int, streams: PortStreams, now_ps: int) -> None:
        self.number = number
        self.streams = streams
        self.exact = streams.exact
        self.shares = streams.shares
        self.kinds = streams.kinds
        self.peaks = streams.peaks if streams.turns else ()
        clock = self.clock = streams.clock
        self.pace: Cycles = 1
        self.left = streams.work_cycles
        cycle, self.end_ps = clock.span(now_ps, streams.whole_cycles)
        self.since = cycle, 1
        self.ended = False
        self.pooled: MemoryPort | None = None
        self.event: Event

    def change(self, pace: Cycles, now_ps: int) -> None:
        """Go on at ``pace`` from now."""
        if self.worked(now_ps):
            self.pace = pace
        else:
            self.resume(*self.left, pace, now_ps)

    def worked(self, now_ps: int) -> bool:
        """Count what is done until now; whether that is all, though the end may be at an edge to come."""
        position = self.clock.position(now_ps)
        if position != self.since:
            at, parts = position
            before, parts_before = self.since
            pace, per_pace = self.pace.as_integer_ratio()
            left, per = self.left
            done, per_done = (at * parts_before - before * parts) * pace, parts * parts_before * per_pace
            left, per = left * per_done - done * per, per * per_done
            common = gcd(left, per)
            self.left = left // common, per // common
            self.since = position
        return self.left[0] <= 0

    def finish(self, end_ps: int) -> None:
        """The work was done before now, and ends at this edge."""
        self.end_ps = end_ps
        self.left = 0, 1

    def resume(self, left: int, per: int, pace: Cycles, now_ps: int) -> None:
        """Go on by itself from now, with ``left / per`` cycles at full pace to do."""
        at, parts = self.since = self.clock.position(now_ps)
        self.left = left, per
        self.pace = pace
        cycles, per_cycles = pace.as_integer_ratio()
        cycles *= per
        self.end_ps = self.clock.edge(-(-(at * cycles + left * per_cycles * parts) // (parts * cycles)))

    def join(self, banks: Mapping[MemoryPort, Fraction]) -> None:
        """Load ports of banks too."""
        loads = {bank: share for bank, share in banks.items() if share}
        rounded = [(bank, float(share)) for bank, share in loads.items()]
        self.exact = {**self.exact, **loads}
        self.shares = (*self.shares, *rounded)
        self.kinds = ()
        for bank, share in rounded:
            bank.add(self, share)

    def leave(self, banks: Set[MemoryPort]) -> None:
        """Load them no more; they are to be forgotten."""
        self.exact = {port: share for port, share in self.exact.items() if port not in banks}
        self.shares = tuple([entry for entry in self.shares if entry[0] not in banks])
        self.kinds = ()


class StreamStarter(Protocol):
    """All ports of the chip, as streams see them."""

    def begin(self, streams: PortStreams) -> PortFlow:
        """Start ``streams`` now."""
