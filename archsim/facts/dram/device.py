"""What a DRAM channel is: its organisation, its timing constraints as data, and how its controller behaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from archsim.base.errors import ConfigError

DramLevel = Literal["channel", "rank", "stack", "bankgroup", "bank"]
CommandProtocol = Literal["single", "split", "dual"]
RowPolicy = Literal["open", "closed", "timeout"]
RefreshPolicy = Literal["all_bank", "per_bank", "none"]
ROW_TIMEOUT_PS = 100_000  # about two row cycles (tRC of 45 to 60 ns): a row idle so long has lost its stream of hits
LEVELS: tuple[DramLevel, ...] = ("channel", "rank", "stack", "bankgroup", "bank")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingConstraint:
    """At least ``cycles`` from any command of ``before`` to any of ``after`` in one instance of ``level``.

    ``siblings``: to the other instances within the same parent instead; ``window``: from the window-th last.
    """

    level: DramLevel
    before: tuple[str, ...]
    after: tuple[str, ...]
    cycles: int
    window: int = 1
    siblings: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DramChannel:
    """One channel of a DRAM. Times are cycles of the command clock.

    ``banks`` per bank group, ``groups`` per rank, ``ranks`` per channel (of HBM: pseudo-channels, which share the
    command buses); ``stacks``: parts of a rank between which other constraints hold (stack IDs of HBM3);
    ``columns`` in bursts of ``burst_bytes``. ``protocol``: single, one command a cycle; split,
    activates in two commands and a data clock that is started by a CAS (LPDDR5); dual, a column and a row command a
    cycle (HBM). ``activate_window``: from the first half of an activate to its second at the latest;
    ``clock_linger``: for which the data clock runs on after the last beat, 0 when it never stops.
    ``refresh_cycles``: interval of refreshes of a rank, 0 for none. ``bank_refresh_cycles``: interval of refreshes
    bank by bank on the channel, 0 where there are none; each is of ``bank_refresh_banks`` banks of a rank that are
    equally far apart.
    """

    standard: str
    clock_hz: int
    ranks: int
    groups: int
    banks: int
    columns: int
    burst_bytes: int
    protocol: CommandProtocol
    read_latency: int
    write_latency: int
    burst_cycles: int
    refresh_cycles: int
    constraints: tuple[TimingConstraint, ...]
    stacks: int = 1
    bank_refresh_cycles: int = 0
    bank_refresh_banks: int = 1
    activate_window: int = 0
    clock_linger: int = 0

    @property
    def row_cycles(self) -> int:
        """Cycles to close a row of a bank and open another one before it is read: tRP + tRCD."""

        def of_bank(before: frozenset[str], after: str) -> int:
            between = (c for c in self.constraints if c.level == "bank" and c.window == 1 and not c.siblings)
            return max((c.cycles for c in between if before & set(c.before) and after in c.after), default=0)

        opening = next(name for name in ("ACT", "ACT1") if of_bank(frozenset({name}), "RD"))
        return of_bank(frozenset({"PREpb"}), opening) + of_bank(frozenset({opening}), "RD")

    def __post_init__(self) -> None:
        """Refuse what no controller can work with."""
        for name in ("ranks", "groups", "banks", "columns", "burst_bytes", "stacks", "bank_refresh_banks"):
            value = getattr(self, name)
            if value < 1 or value & (value - 1):
                raise ConfigError(f"{self.standard}: {name}: found {value}; allowed powers of two")
        if self.groups * self.banks == 1:
            raise ConfigError(f"{self.standard}: banks: found 1 in a rank; allowed 2 or more")
        if self.bank_refresh_banks * 2 > self.groups * self.banks and self.bank_refresh_cycles:
            raise ConfigError(
                f"{self.standard}: bank_refresh_banks: found {self.bank_refresh_banks}; allowed half a rank"
            )

    @property
    def peak_bytes_per_s(self) -> int:
        """Of the channel's data pins; pseudo-channels have pins of their own."""
        return self.buses * self.burst_bytes * self.clock_hz // self.burst_cycles

    @property
    def buses(self) -> int:
        """Data buses of the channel."""
        return self.ranks if self.protocol == "dual" else 1

    @property
    def all_banks(self) -> int:
        """Banks of the channel."""
        return self.ranks * self.groups * self.banks

    def size_of(self, level: DramLevel) -> int:
        """Banks of one instance of a level."""
        of_rank = self.groups * self.banks
        sizes = {"rank": of_rank, "stack": of_rank // self.stacks, "bankgroup": self.banks, "bank": 1}
        return sizes.get(level, self.all_banks)

    def around(self, level: DramLevel) -> int:
        """Banks of the instance that an instance of ``level`` lies in."""
        return self.size_of(LEVELS[max(0, LEVELS.index(level) - 1)])


@dataclass(frozen=True, slots=True, kw_only=True)
class DramMemory:
    """A memory of equal native channels: those that have command buses of their own. ``source`` of its numbers."""

    device: DramChannel
    channels: int
    capacity_bytes: int
    source: str

    @property
    def peak_bytes_per_s(self) -> int:
        """Of all data pins."""
        return self.channels * self.device.peak_bytes_per_s

    @property
    def rows(self) -> int:
        """Rows of a bank, as far as the capacity needs them."""
        row_bytes = self.device.columns * self.device.burst_bytes
        return -(-self.capacity_bytes // (self.channels * self.device.all_banks * row_bytes))


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerPolicy:
    """How a controller chooses: room of its queues, when it drains writes, what it does with rows and refreshes.

    It drains writes above ``write_high`` of its write queue, or while no read waits, until fewer than ``write_low``
    of it are left and a read waits. ``rows``: open (closed on demand), closed (with the access after which no queued
    one goes to the row) or timeout (closed ``row_timeout_ps`` after the last access in a cycle without another
    command, unless a queued access goes to it). ``refresh``: all banks of a rank at once, or bank by bank.
    ``turn_bursts``: of a transfer that a channel takes in before it goes on to the next one.
    """

    read_queue: int = 32
    write_queue: int = 32
    write_high: float = 0.8
    write_low: float = 0.2
    rows: RowPolicy = "open"
    row_timeout_ps: int = ROW_TIMEOUT_PS
    refresh: RefreshPolicy = "all_bank"
    turn_bursts: int = 16

    def in_ranks(self, device: DramChannel, refreshes: int) -> int:
        """Refresh commands in whole ranks: one of some banks counts for their share."""
        if self.refresh == "per_bank":
            return refreshes * device.bank_refresh_banks // device.size_of("rank")
        return refreshes


@dataclass(frozen=True, slots=True)
class AddressMap:
    """Which bits of a burst's number on its channel choose what: fields from the lowest bit up, then XORs.

    ``fields``: (name, bits) of column, rank, bankgroup, bank, row; what is left above them is the row's too. ``xors``:
    (field, other, bit): into the field the bits of the other one from this bit on are XORed, one after another.
    """

    fields: tuple[tuple[str, int], ...]
    xors: tuple[tuple[str, str, int], ...] = field(default=())
