"""From a standard's organisation and timings to a memory of native channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archsim.base.errors import ConfigError
from archsim.facts.dram.constraints import DramTimings
from archsim.facts.dram.device import DramChannel, DramMemory
from archsim.facts.dram.families import DramFamily
from archsim.facts.dram.standards._resolve import CommandClock, check_counts, check_width, ranks_and_density


@dataclass(frozen=True, slots=True, kw_only=True)
class DramDie:
    """What one density is: a device of ``Channel.die_bits``, or a native channel of the standards that have none.

    ``banks`` per bank group, ``groups`` per rank, all stacks' ones together; ``columns`` in bursts.
    """

    groups: int
    banks: int
    columns: int
    t_rfc_ps: int
    t_rfc_bank_ps: int = 0
    stacks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeChannel:
    """A standard's native channel: what has a command bus of its own.

    Channels of a chip are ``unit_bits`` to ``most_bits`` wide; wider than ``native_bits`` they are several native
    ones, and narrower than those of a family with pseudo-channels they must be enough for whole ones. ``die_bits``:
    of one device, where a channel is several in step. ``transfers`` a pin and cycle, ``burst`` transfers long.
    ``refresh_banks``: refreshed by one command bank by bank, 0 where there is none. ``most_ranks``: HBM has one.
    """

    standard: str
    family: DramFamily
    unit_bits: int
    native_bits: int
    most_bits: int
    transfers: int
    burst: int
    dies: Mapping[int, DramDie]
    die_bits: int = 0
    pseudo_channels: int = 1
    refresh_banks: int = 0
    most_ranks: int = 1 << 10

    @property
    def burst_cycles(self) -> int:
        """Of a burst on the data bus."""
        return self.burst // self.transfers

    def clock(self, speed_mts: int) -> CommandClock:
        """The command clock."""
        return CommandClock(speed_mts * 1_000_000 // self.transfers)

    def fitted(self, width_bits: int, channels: int, capacity_bytes: int) -> FittedChannel:
        """Native channels, their width, ranks and density; raises ConfigError for what the standard does not have."""
        check_width(self.standard, width_bits, self.unit_bits, self.most_bits)
        check_counts(self.standard, channels, width_bits, self.native_bits, capacity_bytes)
        native_bits = min(width_bits, self.native_bits) if self.pseudo_channels == 1 else self.native_bits
        native, left = divmod(channels * width_bits, native_bits)
        if left:
            raise ConfigError(
                f"{self.standard}: channels: found {channels} of {width_bits} b; allowed whole pairs of "
                f"pseudo-channels, {native_bits} b"
            )
        dies = channels * width_bits // self.die_bits if self.die_bits else native
        ranks, density_gbit = ranks_and_density(dies, capacity_bytes, self.dies)
        if ranks > self.most_ranks:
            most = native * max(self.dies) >> 3
            raise ConfigError(f"{self.standard}: capacity: found {capacity_bytes} B; allowed at most {most} GiB")
        return FittedChannel(self, native, native_bits, ranks, density_gbit, capacity_bytes)


@dataclass(frozen=True, slots=True)
class FittedChannel:
    """A native channel with its density chosen."""

    channel: NativeChannel
    native: int
    native_bits: int
    ranks: int
    density_gbit: int
    capacity_bytes: int

    @property
    def die(self) -> DramDie:
        """Of the density."""
        return self.channel.dies[self.density_gbit]

    def interval_of_banks(self, t_refi_ps: int, clock: CommandClock) -> int:
        """Whole cycles, at most, from one refresh bank by bank to the next on a channel.

        Each bank gets one within ``t_refi_ps``, which JEDEC states as the longest average, and each is of several
        banks where the standard says so.
        """
        units = self.buses * self.ranks * self.die.groups * self.die.banks // self.channel.refresh_banks
        return t_refi_ps * clock.hz // (10**12 * units)

    @property
    def buses(self) -> int:
        """Pseudo-channels."""
        return self.channel.pseudo_channels

    def dram(
        self, clock: CommandClock, t: DramTimings, source: str, activate_window: int = 0, clock_linger: int = 0
    ) -> DramMemory:
        """All of it."""
        family, die = self.channel.family, self.die
        device = DramChannel(
            standard=self.channel.standard,
            clock_hz=clock.hz,
            ranks=self.ranks * self.buses,
            groups=die.groups,
            banks=die.banks,
            columns=die.columns,
            burst_bytes=self.native_bits // self.buses * self.channel.burst // 8,
            protocol=family.protocol,
            read_latency=family.read_latency(t),
            write_latency=family.write_latency(t),
            burst_cycles=t.bl,
            refresh_cycles=t.refi,
            constraints=family.constraints(t),
            stacks=die.stacks,
            bank_refresh_cycles=t.refipb,
            bank_refresh_banks=max(1, self.channel.refresh_banks),
            activate_window=activate_window,
            clock_linger=clock_linger,
        )
        return DramMemory(device=device, channels=self.native, capacity_bytes=self.capacity_bytes, source=source)
