"""Resolved DRAM timing: structure and integers, ready for a hot loop.

Times are picoseconds of whole clock cycles, rounded down as every edge of the machine is: n cycles of a clock
of hz are ``n * 10**12 // hz`` picoseconds, and ``ceil(t * hz / 10**12)`` gives n back exactly (hz <= 10**12).
Models count cycles inside, so no rounding error ever adds up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from archsim.errors import ConfigError

PS_PER_S = 10**12


def edge_ps(cycle: int, clock_hz: int) -> int:
    """Time in ps of clock edge ``cycle``."""
    return cycle * PS_PER_S // clock_hz


def edge_at_or_after(time_ps: int, clock_hz: int) -> int:
    """Number of the first edge at or after ``time_ps``."""
    return -(-time_ps * clock_hz // PS_PER_S)


def edge_after(time_ps: int, clock_hz: int) -> int:
    """Number of the first edge strictly after ``time_ps``."""
    return edge_at_or_after(time_ps + 1, clock_hz)


@dataclass(frozen=True, slots=True, kw_only=True)
class DramTiming:
    """One DRAM: structure per channel, clock and the constraints of its commands.

    ``banks`` counts all ranks and bank groups of a channel, ``row_bytes`` the row buffer of a channel's bank.
    ``t_burst_ps`` is the data-bus time of one burst of ``burst_bytes``. ``t_rtw_ps`` runs from a read command
    to a write command, ``t_wtr_ps`` and ``t_wr_ps`` from the last beat of a write to a read and to a
    precharge, ``t_rtp_ps`` from a read command to a precharge, ``t_faw_ps`` over any four activates of a
    rank. ``t_refi_ps = 0`` turns refresh off. ``source`` says where the numbers come from. Raises ConfigError
    when a value cannot work.
    """

    standard: str
    clock_hz: int
    channels: int
    ranks: int
    banks: int
    row_bytes: int
    burst_bytes: int
    capacity_bytes: int
    t_burst_ps: int
    t_rcd_ps: int
    t_rp_ps: int
    t_ras_ps: int
    t_rtp_ps: int
    t_cl_ps: int
    t_cwl_ps: int
    t_wr_ps: int
    t_wtr_ps: int
    t_rtw_ps: int
    t_rrd_ps: int
    t_faw_ps: int
    t_rfc_ps: int
    t_refi_ps: int
    source: str

    def __post_init__(self) -> None:
        """Refuse values that no controller can work with."""
        self._check_positive()
        self._check_structure()
        self._check_refresh()

    @property
    def peak_bytes_per_s(self) -> Fraction:
        """Data-bus peak over all channels: channels x burst bytes / burst time, exact."""
        return Fraction(self.channels * self.burst_bytes * self.clock_hz, self.cycles(self.t_burst_ps))

    def cycles(self, time_ps: int) -> int:
        """Clock cycles that cover ``time_ps``."""
        return edge_at_or_after(time_ps, self.clock_hz)

    def _check_positive(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, str) or (name == "t_refi_ps" and value == 0):
                continue
            if value <= 0:
                raise ConfigError(f"{self.standard}: {name}: found {value}; allowed > 0")
        if self.clock_hz > PS_PER_S:
            raise ConfigError(f"{self.standard}: clock_hz: found {self.clock_hz}; allowed <= {PS_PER_S} Hz")

    def _check_structure(self) -> None:
        for name in ("ranks", "banks", "row_bytes", "burst_bytes"):
            value = getattr(self, name)
            if value & (value - 1):
                raise ConfigError(f"{self.standard}: {name}: found {value}; allowed powers of two")
        if self.banks < self.ranks or self.row_bytes < self.burst_bytes:
            raise ConfigError(
                f"{self.standard}: found {self.banks} banks in {self.ranks} ranks, rows of {self.row_bytes} B, "
                f"bursts of {self.burst_bytes} B; allowed banks >= ranks, row_bytes >= burst_bytes"
            )
        if self.capacity_bytes % self.burst_bytes:
            raise ConfigError(
                f"{self.standard}: capacity_bytes: found {self.capacity_bytes} B; allowed multiples of the burst, "
                f"{self.burst_bytes} B"
            )

    def _check_refresh(self) -> None:
        if self.t_refi_ps == 0:
            return
        close_ps = max(self.t_ras_ps, self.t_rtp_ps, self.t_cwl_ps + self.t_burst_ps + self.t_wr_ps)
        least = self.cycles(close_ps) + self.cycles(self.t_rp_ps) + self.cycles(self.t_rfc_ps)
        if self.cycles(self.t_refi_ps) <= least + 2:
            raise ConfigError(
                f"{self.standard}: t_refi_ps: found {self.t_refi_ps}; allowed 0 (no refresh) or more than "
                f"{edge_ps(least + 2, self.clock_hz)} ps (precharge all banks, then refresh)"
            )
