"""What every DRAM model takes and returns, whatever its fidelity.

A model is a machine of its own with its own clock. The event loop hands it strided transfers (``submit``)
and lets it run (``advance``) until the first completion or until the next event of the rest of the system; so
contention between streams is exact and Python is entered once per completion, not once per burst. The
caller's duties:

1. drain every other event of the instant t, then ``submit(t, ...)`` once, sorted by (port, sequence);
2. never pass to ``advance`` a bound beyond the next event that could submit;
3. deliver completions at their own time, before any other event of that time.

All times are integer picoseconds. Addresses and sizes are bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple, Protocol

from archsim.base.arrays import IntArray

MAX_OUTER_EXTENTS = 5


@dataclass(frozen=True, slots=True, eq=False)
class RowList:
    """``count`` rows that an engine asks for one after the other, each one or more runs of contiguous bytes.

    Run i, of row ``row[i]`` (never falling; a row without runs takes its turn all the same), is ``sizes[i]`` > 0 bytes
    from ``addresses[i]`` on. The engine asks for a row ``setup_cycles`` edges of its clock after the row before it, and
    with ``outstanding`` rows under way not before the first edge at or after the end of the oldest: row n not before
    row n - outstanding has ended. The model sees it at its first edge after that.
    """

    count: int
    addresses: IntArray
    sizes: IntArray
    row: IntArray
    setup_cycles: int
    engine_hz: int


class BurstAsker(NamedTuple):
    """Who asks a memory for bursts, an engine or a port: at most ``requests`` in a cycle of a clock of ``hz``.

    Over all channels and transfers of the asker of this ``name``, in their order: a burst that finds its queue full
    stops those behind it. Of a clock faster than the memory's, in a cycle of the memory's.
    """

    name: tuple[str, int]
    requests: int
    hz: int


@dataclass(slots=True)  # as of a Step: frozen ones take three times as long to make; nobody changes one
class Transfer:
    """A strided region that is read or written: runs of contiguous bytes repeated over outer loops.

    The first byte of run (i_0 .. i_k) is ``address + sum(i_d * strides[d])`` for ``0 <= i_d < extents[d]``;
    the last entry is the innermost loop. At most ``MAX_OUTER_EXTENTS`` loops. ``id`` comes back in the
    Completion, unread. With ``rows`` it is these instead, and the other fields are 0.

    ``outstanding``: bursts (of ``rows``: rows) under way at most, retired in order: burst n, in the order of the
    region, is not asked for before burst n - outstanding has had its last beat. None: as many as there is room for.
    ``askers``: an engine, and the port through which it asks, where these offer so many bursts a cycle and no more.
    """

    id: int
    write: bool
    address: int
    run_bytes: int
    extents: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    outstanding: int | None = None
    rows: RowList | None = None
    askers: tuple[BurstAsker, ...] = ()


def useful_bytes(transfer: Transfer) -> int:
    """Bytes that a transfer asks for: run bytes x extents, or all runs of its rows."""
    if transfer.rows is not None:
        return int(transfer.rows.sizes.sum())
    return transfer.run_bytes * math.prod(transfer.extents)


@dataclass(slots=True)
class TransferCompletion:
    """The end of a transfer: its last beat is on the data bus at ``time_ps``, its first began at
    ``first_beat_ps``.

    ``pin_bytes`` = bursts on the pins x burst size, ``useful_bytes`` = bytes that were asked for. Each burst on the
    pins is a row hit, a row miss (the bank was closed) or a row conflict (another row was open); ``activates``: rows
    that were opened for them. Memories without rows report none. ``asked_ps``: when the engine asked for the last of
    the transfer's ``rows``; 0 without.
    """

    id: int
    time_ps: int
    first_beat_ps: int
    write: bool
    useful_bytes: int
    pin_bytes: int
    row_hits: int
    row_misses: int
    row_conflicts: int
    activates: int
    asked_ps: int = 0


@dataclass(frozen=True, slots=True)
class DramCounters:
    """Totals since time 0. ``reads`` and ``writes`` are bursts on the pins, counted when their command is issued;
    useful bytes count when their transfer completes.

    ``refreshes`` = refresh commands issued, of a rank or of a bank. ``open_ps`` = time with an open row, from the
    activate to the precharge of the last one, summed over ranks and channels. ``busy_ps`` = data bus time per channel.
    """

    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    useful_read_bytes: int
    useful_write_bytes: int
    row_hits: int
    row_misses: int
    row_conflicts: int
    activates: int
    refreshes: int
    open_ps: int
    busy_ps: tuple[int, ...]


class DramModel(Protocol):
    """The interface of DRAM co-simulation."""

    fidelity: ClassVar[str]

    @property
    def peak_bytes_per_s(self) -> Fraction | None:
        """Of the data pins; None when infinite."""

    def least_ps(self, size_bytes: int, *, write: bool) -> int:
        """No transfer of ``size_bytes`` ends sooner after it was submitted."""

    def submit(self, at_ps: int, transfers: Sequence[Transfer]) -> None:
        """Hand over all transfers of the instant ``at_ps``, in service order; seen at the first edge after
        it.

        Raises SimulationError when ``at_ps`` is before the time reached or an earlier submit, or a malformed transfer.
        """

    def advance(self, until_ps: int) -> list[TransferCompletion]:
        """Run to the first instant <= ``until_ps`` with a completion and return all of that instant, or [].

        The time reached is that instant, or ``until_ps`` when nothing completes.
        """

    def next_event_ps(self) -> int | None:
        """A lower bound of the next completion; None when nothing is under way."""

    @property
    def rank_refreshes(self) -> int:
        """Refreshes since time 0 in whole ranks: those of some banks count for their share."""

    def entry(self, at_ps: int, *, align: bool) -> bytes:
        """Bring the idle model to ``at_ps`` and say in which state it is, relative to then: equal states go on equally.

        ``align``: let refresh begin anew there.
        """

    @property
    def stats(self) -> DramCounters:
        """Totals since time 0."""
