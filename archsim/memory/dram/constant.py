"""Constant-rate memory: one port at an exact rate; no banks, rows, refresh or clock.

A transfer of n bytes submitted at t starts on the port at s = max(t, end of the one before), leaves it at s + n / rate
and completes ``latency_ps`` later, rounded up to a whole picosecond; the port itself keeps exact rational time, so a
stream of n transfers ends at ceil(sum of bytes / rate) and not n roundings later. With no rate (None) the port takes no
time. Empty transfers do not wait for the port. There are no bursts: a move is one request, however many may be
``outstanding``. Rows come to the port one by one when their engine asks for them; of one instant, those of transfers
under way come before new ones.

Compiled code keeps the time (compiled/constant_rate.py), as whole picoseconds and a rest over the denominator of
picoseconds per byte; this class tells it how long each shape and each row is on the port.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.errors import ConfigError, SimulationError
from archsim.base.units import PS_PER_S
from archsim.memory.dram import constant_state
from archsim.memory.dram.compiled import constant_records as k
from archsim.memory.dram.compiled.records import NEVER, USEFUL_READ, USEFUL_WRITTEN
from archsim.memory.dram.in_code import DramInCode
from archsim.memory.dram.interface import DramCounters, RowList, Transfer, useful_bytes
from archsim.memory.dram.region_records import folded

DAYS = NEVER // PS_PER_S // 86_400


class ConstantRateMemory(DramInCode):
    """The DRAM interface with a constant rate: what exact relations of a pipeline are tested on.

    ``bytes_per_ps``: exact rate of the port shared by reads and writes, None for infinite; ``latency_ps`` is
    added to each transfer without holding the port. Raises ConfigError on a rate <= 0, one whose numerator has more
    than 62 bits, or a latency that is negative or has more.
    """

    fidelity: ClassVar[str] = "constant_rate"

    def __init__(self, bytes_per_ps: Fraction | None, latency_ps: int = 0) -> None:
        from archsim.memory.dram.compiled import constant_rate  # the compiler is slow to import: only now

        if bytes_per_ps is not None and bytes_per_ps <= 0:
            raise ConfigError(
                f"constant-rate memory: bytes_per_ps: found {bytes_per_ps}; allowed > 0, or None for infinite"
            )
        if not 0 <= latency_ps < NEVER:
            raise ConfigError(f"constant-rate memory: latency_ps: found {latency_ps}; allowed >= 0 and < 2^62")
        self._ps_per_byte = Fraction(0) if bytes_per_ps is None else 1 / Fraction(bytes_per_ps)
        if self._ps_per_byte.denominator >= NEVER:
            raise ConfigError(
                f"constant-rate memory: bytes_per_ps: found {bytes_per_ps}; allowed numerators below 2^62: "
                "state the bandwidth with fewer digits"
            )
        initial = constant_state.initial(self._ps_per_byte.denominator, latency_ps)
        super().__init__(initial, (constant_rate.submit, constant_rate.advance))

    @property
    def peak_bytes_per_s(self) -> Fraction | None:
        """Of the port; None when infinite."""
        return PS_PER_S / self._ps_per_byte if self._ps_per_byte else None

    def least_ps(self, size_bytes: int, *, write: bool) -> int:
        """At the port's rate."""
        return math.floor(size_bytes * self._ps_per_byte)

    @property
    def rank_refreshes(self) -> int:
        """It has none."""
        return 0

    def entry(self, at_ps: int, *, align: bool) -> bytes:
        """For how long the port is still busy."""
        self.advance(at_ps)
        return str(max(Fraction(0), self._on_port(k.FREE_PS) - at_ps)).encode()

    @property
    def stats(self) -> DramCounters:
        """Totals of completed transfers; a transfer counts as one burst and its pins carry the useful bytes alone."""
        header = self._state.header
        reads, writes, read_bytes, write_bytes = header[[k.READS, k.WRITES, USEFUL_READ, USEFUL_WRITTEN]].tolist()
        return DramCounters(
            reads=reads,
            writes=writes,
            read_bytes=read_bytes,
            write_bytes=write_bytes,
            useful_read_bytes=read_bytes,
            useful_write_bytes=write_bytes,
            row_hits=0,
            row_misses=0,
            row_conflicts=0,
            activates=0,
            refreshes=0,
            open_ps=0,
            busy_ps=(math.ceil(self._on_port(k.BUSY_PS)),),
        )

    def _on_port(self, at: int) -> Fraction:
        """A time on the port."""
        whole, parts = self._state.header[at : at + 2].tolist()
        return Fraction(whole * self._ps_per_byte.denominator + parts, self._ps_per_byte.denominator)

    # ---- what the compiled code asks for

    def make_room(self) -> None:
        """Make what room the compiled code lacks. Raises SimulationError where a transfer ends too late, or all of
        them have too many bytes."""
        lacks = self._state.header[k.LACKS]
        if lacks == k.TIME:
            raise SimulationError(f"constant-rate memory: a transfer ends at 2^62 ps ({DAYS} days) or later")
        if lacks == k.BYTES:
            raise SimulationError("constant-rate memory: transfers have 2^62 B or more in all")
        more = constant_state.with_slots if lacks == k.SLOTS else constant_state.with_trace
        self._tell(more(self._state))

    def _add_shape(self, number: int, transfer: Transfer) -> None:
        if min(transfer.run_bytes, *transfer.extents, 0) < 0:
            raise SimulationError(f"DRAM: malformed {transfer}; allowed run_bytes >= 0, extents >= 0")
        useful = useful_bytes(transfer)
        row = transfer.write, useful, *self._time(useful)
        self._tell(constant_state.with_shape(self._state, number, row))

    def _staged(self, transfer: Transfer, rows: RowList) -> int:
        """Where the words of a list begin."""
        _, _, _, useful = folded(transfer, NEVER)
        if rows.engine_hz > PS_PER_S or rows.setup_cycles >= NEVER:
            raise SimulationError(
                f"constant-rate memory: rows asked for at {rows.engine_hz} Hz, {rows.setup_cycles} cycles apart; "
                "allowed up to 10^12 Hz, below 2^62 cycles"
            )
        most = min(transfer.outstanding or rows.count, rows.count)
        width = k.LIST_WIDTH + k.ROW_WIDTH * rows.count
        head = width, transfer.write, useful, rows.count, most, rows.setup_cycles, rows.engine_hz
        words = np.concatenate([np.array(head, np.int64), self._rows(rows).reshape(-1)])
        state, first = constant_state.with_list(self._state, words)
        self._tell(state)
        return first

    def _rows(self, rows: RowList) -> IntArray:
        """Bytes of each row, and how long they are on the port."""
        sizes = np.zeros(rows.count, np.int64)
        np.add.at(sizes, rows.row, rows.sizes)
        unlike, places = np.unique(sizes, return_inverse=True)
        return np.array([(size, *self._time(size)) for size in unlike.tolist()], np.int64)[places]

    def _time(self, size_bytes: int) -> tuple[int, int]:
        """How long bytes are on the port: picoseconds, and parts of one."""
        whole, parts = divmod(size_bytes * self._ps_per_byte.numerator, self._ps_per_byte.denominator)
        if max(whole, size_bytes) >= NEVER:
            raise SimulationError(
                f"constant-rate memory: a transfer of {size_bytes} B takes {whole} ps; "
                f"allowed below 2^62 of both ({DAYS} days)"
            )
        return whole, parts
