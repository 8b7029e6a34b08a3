"""What DRAM models in compiled code have in common: how requests are handed over, and how completions come back.

A model is two entries and a table of words (``archsim.base.served``). Python's requests and those of the compiled
machine go the same way: rows of a shape, which is told once, and an address.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from archsim.base import served
from archsim.base.errors import SimulationError
from archsim.base.served import CompiledModel
from archsim.base.words import WordTable
from archsim.facts.dram.device import DramMemory
from archsim.memory.dram.compiled.records import CHARGES, LISTED, MOVED, NOW_PS, OUTSIDE, TRACES
from archsim.memory.dram.interface import BurstAsker, RowList, Transfer, TransferCompletion
from archsim.memory.dram.region_records import folded


class DramInCode(ABC):
    """A DRAM model in compiled code; ``state``: its arrays, a NamedTuple with header, completions, charged and moved.

    ``entries``: those to submit and to advance. A model adds: shapes (``_add_shape``), lists of rows (``_staged``) and
    room (``make_room``); and what it counts.
    """

    def __init__(self, state: Any, entries: tuple[Any, Any]) -> None:
        from archsim.base.addressed import called  # the compiler is slow to import: only now

        self._table = WordTable(state)
        self._called = called
        self._addresses = self._table.entry(entries[0]), self._table.entry(entries[1])
        self._submit, self._advance = map(called, self._addresses)
        self._shapes: dict[Any, int] = {}  # numbers
        self._askers: dict[BurstAsker, int] = {}
        self._submitted_ps = 0
        self.is_traced = False

    def submit(self, at_ps: int, transfers: Sequence[Transfer]) -> None:
        """Hand over all transfers of the instant ``at_ps``, in service order; seen at the first edge after it.

        Raises SimulationError when ``at_ps`` is before the time reached or before an earlier submit, or a transfer is
        malformed or outside the memory.
        """
        reached_ps = max(self._now_ps, self._submitted_ps)
        if at_ps < reached_ps:
            raise SimulationError(f"DRAM: transfer submitted at {at_ps} ps, after the memory reached {reached_ps} ps")
        self._submitted_ps = at_ps
        rows = np.zeros((len(transfers), served.REQUEST_WIDTH), np.int64)
        for row, transfer in zip(rows, transfers, strict=True):
            what, where, number = self.request(transfer)
            row[served.TICKET :] = number, served.NONE, what, where, number
        taken = 0
        while taken < len(rows):
            rest = rows[taken:]
            taken += self._submit(self._table.address, at_ps, rest.ctypes.data, len(rest))
            if taken < len(rows):
                self._make_room_for(transfers[taken])

    def advance(self, until_ps: int) -> list[TransferCompletion]:
        """Run to the first instant <= ``until_ps`` with a completion and return all of that instant, or []."""
        if until_ps < self._now_ps:
            raise SimulationError(f"DRAM: told to run to {until_ps} ps, already at {self._now_ps} ps")
        count = self._advance(self._table.address, until_ps, 0, 0)
        while count == served.NO_ROOM:
            self.make_room()
            count = self._advance(self._table.address, until_ps, 0, 0)
        return [_completion(*row) for row in self._state.completions[:count, :-1].tolist()]

    def next_event_ps(self) -> int | None:
        """A lower bound of the next completion; None when nothing is under way."""
        next_ps = int(self._state.header[served.NEXT_PS])
        return None if next_ps == served.NEVER else next_ps

    # ---- in the compiled machine (``base.served``)

    def compiled(self) -> CompiledModel:
        """Where its compiled code and its memory lie."""
        places = (int(array.ctypes.data) for array in (self._state.completions, self._state.header))
        return CompiledModel(*self._addresses, self._table.address, *places)

    def request(self, transfer: Transfer) -> tuple[int, int, int]:
        """What a request of Python's says: WHAT, WHERE and ID of its row."""
        if transfer.rows is not None:
            return LISTED, self._staged(transfer, transfer.rows), transfer.id
        return self.shape(transfer), transfer.address, transfer.id

    def completion(self, number: int, place: int) -> TransferCompletion:
        """That the transfer of this number has ended, as row ``place`` of the completions says."""
        return _completion(number, *self._state.completions[place, 1:-1].tolist())

    def charge_to(self, layers: int) -> None:
        """Charge what the machine moves to so many layers."""
        self._state.header[TRACES] = self.is_traced
        self._tell(self._state._replace(charged=np.zeros((layers, CHARGES), np.int64)))

    @property
    def charged(self) -> Any:
        """What was moved for layers: (layers, 6) bytes on the pins read and written, row hits, misses and conflicts,
        and activates."""
        return self._state.charged

    @property
    def moved(self) -> Any:
        """Transfers for layers, if it ``is_traced``: (transfers, 9) the fields of a Bandwidth behind its memory."""
        return self._state.moved[: int(self._state.header[MOVED])]

    def shape(self, transfer: Transfer) -> int:
        """The number of the shape of a transfer, wherever it begins. Raises SimulationError for a malformed one."""
        of_region = transfer.write, transfer.run_bytes, transfer.extents, transfer.strides
        key = (*of_region, transfer.outstanding, transfer.askers)
        number = self._shapes.get(key)
        if number is None:
            self._add_shape(len(self._shapes), transfer)
            number = self._shapes[key] = len(self._shapes)
        return number

    # ---- what a model adds

    @abstractmethod
    def _add_shape(self, number: int, transfer: Transfer) -> None:
        """Tell the compiled code of a shape."""

    @abstractmethod
    def _staged(self, transfer: Transfer, rows: RowList) -> int:
        """Where a list lies that is to be submitted."""

    @abstractmethod
    def make_room(self) -> None:
        """Make what room the compiled code lacks, or find what it does not know.

        Raises SimulationError for a transfer that cannot be.
        """

    def _make_room_for(self, transfer: Transfer) -> None:
        """Make the room that a transfer lacks. Raises SimulationError, which names it, where it cannot be."""
        self.make_room()

    @property
    def _state(self) -> Any:
        return self._table.value

    def _tell(self, state: Any) -> None:
        """Tell the compiled code where its arrays lie, if some are others now."""
        if any(array is not before for array, before in zip(state, self._table.value, strict=True)):
            self._table.write(state)

    @property
    def _now_ps(self) -> int:
        """The time reached."""
        return int(self._state.header[NOW_PS])


class DramPartInCode(DramInCode):
    """The model of a part with channels, bursts and a capacity."""

    def __init__(self, dram: DramMemory, state: Any, entries: tuple[Any, Any]) -> None:
        super().__init__(state, entries)
        self.dram = dram

    @property
    def peak_bytes_per_s(self) -> Fraction:
        """Of the data pins of all channels."""
        return Fraction(self.dram.peak_bytes_per_s)

    def make_room(self) -> None:
        """Make what room the compiled code lacks, or find what it does not know.

        Raises SimulationError for a transfer that leaves the memory.
        """
        if self._state.header[OUTSIDE]:
            raise SimulationError(f"DRAM: a transfer leaves the memory of {self.dram.capacity_bytes} B")
        self._make_room()

    @abstractmethod
    def _make_room(self) -> None:
        """Make what room the compiled code lacks."""

    def _make_room_for(self, transfer: Transfer) -> None:
        folded(transfer, self.dram.capacity_bytes)
        self.make_room()


def _completion(
    number: int, time_ps: int, first_ps: int, write: int, useful: int, pin_bytes: int, *rest: int
) -> TransferCompletion:
    return TransferCompletion(number, time_ps, first_ps, bool(write), useful, pin_bytes, *rest)
