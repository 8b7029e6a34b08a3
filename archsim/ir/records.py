"""What a unit has run, as columns: rows are made for those who ask for them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from archsim.base.arrays import AnyArray, IntArray, narrow
from archsim.ir.rows import Record


class CommandText(NamedTuple):
    """What a command is, whenever it is run."""

    name: str
    op: str
    layer: str
    role: str


@dataclass(frozen=True, slots=True, eq=False)
class PackedRecords:
    """Columns in as few bytes as their numbers need: whole numbers, each of shape (commands,).

    ``text`` and ``critical_unit`` as in RecordColumns; ``wait_ps``: from head to start, ``run_ps``: from start to end;
    ``kind``: place in ``macs`` and ``slots_per_cycle``, shape (kinds,); ``phases``: how many there are up to the
    command's last one. ``phase``: number of each, ``left_ps``: from its end to that of its command; shape (phases,).
    """

    text: AnyArray
    end_ps: IntArray
    wait_ps: AnyArray
    run_ps: AnyArray
    critical_unit: AnyArray
    critical_index: AnyArray
    kind: AnyArray
    phases: AnyArray
    phase: AnyArray
    left_ps: AnyArray
    macs: IntArray
    slots_per_cycle: IntArray


class RecordColumns:
    """The numbers of ``Record``, each of shape (commands,), made when they are asked for. Nobody may change them.

    ``text``: number in ``Records.texts``; ``critical_unit``: in ``Records.names``, -1 for none; ``phases``: how many
    phases there are up to the command's last one.
    """

    __slots__ = ("_packed",)

    def __init__(self, packed: PackedRecords) -> None:
        self._packed = packed

    @property
    def text(self) -> IntArray:
        """What each command is."""
        return self._packed.text.astype(np.int64)

    @property
    def head_ps(self) -> IntArray:
        """When each reached the head of its queue."""
        found: IntArray = self.start_ps - self._packed.wait_ps
        return found

    @property
    def start_ps(self) -> IntArray:
        """When each started."""
        found: IntArray = self._packed.end_ps - self._packed.run_ps
        return found

    @property
    def end_ps(self) -> IntArray:
        """When each ended."""
        return self._packed.end_ps

    @property
    def critical_unit(self) -> IntArray:
        """Whose signal met the last wait of each."""
        return self._packed.critical_unit.astype(np.int64)

    @property
    def critical_index(self) -> IntArray:
        """The command that raised it."""
        return self._packed.critical_index.astype(np.int64)

    @property
    def macs(self) -> IntArray:
        """MACs of each."""
        return self._packed.macs[self._packed.kind]

    @property
    def slots_per_cycle(self) -> IntArray:
        """MACs that an array could do in a cycle of each."""
        return self._packed.slots_per_cycle[self._packed.kind]

    @property
    def phases(self) -> IntArray:
        """Where the phases of each end among all."""
        return self._packed.phases.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CommandStretches:
    """What commands did from ``start_ps`` to ``end_ps``: tiling each one's time, none empty. Shapes (stretches,).

    ``record``: which command; ``phase``: number in ``Records.names``, that of '' for time without phase.
    """

    record: IntArray
    start_ps: IntArray
    end_ps: IntArray
    phase: IntArray


_WIDTH = 9  # text, head, start, end, critical unit and index, MACs, slots, phases
_AHEAD = 4096  # rows that are made at a time for those who want all


class Records(Sequence[Record]):
    """The commands of ``unit`` in order. ``texts``: what they are; ``names``: units and phases that they name."""

    __slots__ = ("_cells", "_numbers", "_packed", "_phases", "names", "texts", "unit")

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.texts: list[CommandText] = []
        self.names: list[str] = [""]
        self._numbers: dict[CommandText | str, int] = {"": 0}
        self._cells = array("q")  # of commands added since, one after the other
        self._phases = array("q")  # of these: name and end of each
        self._packed = _packed(np.zeros((0, _WIDTH), dtype=np.int64), np.zeros((0, 2), dtype=np.int64))

    @classmethod
    def of(cls, unit: str, rows: Iterable[Record]) -> Records:
        """The columns of ``rows``."""
        found = cls(unit)
        for row in rows:
            text = found.text(CommandText(row.name, row.op, row.layer, row.role))
            times = row.head_ps, row.start_ps, row.end_ps
            found.add(text, times, row.critical, row.phases, row.macs, row.slots_per_cycle)
        return found

    @classmethod
    def filled(cls, unit: str, texts: list[CommandText], names: list[str], packed: PackedRecords) -> Records:
        """From columns; ``texts`` and ``names`` may be shared by units, and nothing is added."""
        found = cls(unit)
        found.texts, found.names, found._packed = texts, names, packed
        return found

    def text(self, text: CommandText) -> int:
        """The number of ``text`` in ``texts``, where it is put if it is new."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def add(
        self,
        text: int,
        times_ps: tuple[int, int, int],
        critical: tuple[str, int] | None,
        phases: Iterable[tuple[str, int]],
        macs: int,
        slots_per_cycle: int,
    ) -> None:
        """Append a command; ``times_ps``: head, start, end.

        ``phases``: empty ones are left out, and the one that reaches to the end is the last.
        """
        _, before, end_ps = times_ps
        cells, numbers = self._phases, self._numbers
        for phase, until_ps in phases:
            if until_ps > before:
                before = until_ps if until_ps < end_ps else end_ps
                number = numbers.get(phase)
                cells.extend((self._name(phase) if number is None else number, before))
                if before == end_ps:
                    break
        unit, index = (-1, 0) if critical is None else (self._name(critical[0]), critical[1])
        self._cells.extend((text, *times_ps, unit, index, macs, slots_per_cycle, len(cells) // 2))

    def columns(self) -> RecordColumns:
        """All numbers, as they are now."""
        return RecordColumns(self.packed())

    def stretches(self, commands: AnyArray | None = None) -> CommandStretches:
        """What commands did, phase by phase, one command after the other: all, or those of these numbers."""
        packed = self.packed()
        own = np.arange(len(packed.end_ps)) if commands is None else commands
        last_phase = packed.phases.astype(np.int64)
        counts = np.diff(last_phase, prepend=0)[own]
        tails, of_phase = np.arange(len(own)), np.repeat(np.arange(len(own)), counts)
        place = np.arange(len(of_phase)) + (last_phase[own] - np.cumsum(counts))[of_phase]
        at = np.concatenate((of_phase, tails))
        phase = np.concatenate((packed.phase[place], np.zeros(len(own), dtype=np.int64)))
        end_ps = packed.end_ps[own]
        until = np.concatenate((end_ps[of_phase] - packed.left_ps[place], end_ps))
        order = np.argsort(at, kind="stable")
        at, phase, until = at[order], phase[order], until[order]
        since = np.maximum((end_ps - packed.run_ps[own])[at], np.concatenate(([0], until))[:-1])
        some = until > since
        return CommandStretches(own[at[some]], since[some], until[some], phase[some])

    def __len__(self) -> int:
        return len(self._packed.end_ps) + len(self._cells) // _WIDTH

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, index: int | slice) -> Record | tuple[Record, ...]:
        at = range(len(self))[index]
        return self._row(at) if isinstance(at, int) else tuple(map(self._row, at))

    def __iter__(self) -> Iterator[Record]:
        for first in range(0, len(self), _AHEAD):
            yield from self._rows(first, first + _AHEAD)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Records):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # may grow

    def _name(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number

    def packed(self) -> PackedRecords:
        """The columns of all commands; those added since the last time are packed with those before."""
        if self._cells:
            cells = np.array(self._cells, dtype=np.int64).reshape(-1, _WIDTH)
            phases = np.array(self._phases, dtype=np.int64).reshape(-1, 2)
            if len(self._packed.end_ps):
                before, ends = self._unpacked()
                cells[:, -1] += len(ends)
                cells, phases = np.concatenate((before, cells)), np.concatenate((ends, phases))
            self._packed = _packed(cells, phases)
            self._cells, self._phases = array("q"), array("q")
        return self._packed

    def _unpacked(self) -> tuple[IntArray, IntArray]:
        """Cells of commands and of phases, as ``_packed`` takes them."""
        packed, columns = self._packed, RecordColumns(self._packed)
        times = columns.head_ps, columns.start_ps, columns.end_ps
        critical = columns.critical_unit, columns.critical_index
        of_phase = np.repeat(np.arange(len(packed.end_ps)), np.diff(columns.phases, prepend=0))
        return (
            np.column_stack((columns.text, *times, *critical, columns.macs, columns.slots_per_cycle, columns.phases)),
            np.column_stack((packed.phase, packed.end_ps[of_phase] - packed.left_ps)).astype(np.int64),
        )

    def _row(self, at: int) -> Record:
        return next(self._rows(at, at + 1))

    def _rows(self, first: int, last: int) -> Iterator[Record]:
        packed, names, part = self.packed(), self.names, slice(first, last)
        begin = int(packed.phases[first - 1]) if first else 0
        kinds = packed.kind[part]
        columns = (
            *(packed.text[part], packed.end_ps[part], packed.run_ps[part], packed.wait_ps[part]),
            *(packed.critical_unit[part], packed.critical_index[part], packed.phases[part]),
            *(packed.macs[kinds], packed.slots_per_cycle[kinds]),
        )
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for at, (text, end_ps, run_ps, wait_ps, unit, index, end, macs, slots) in enumerate(rows, first):
            phases = zip(packed.phase[begin:end].tolist(), packed.left_ps[begin:end].tolist(), strict=True)
            begin = end
            what: CommandText = self.texts[text]
            yield Record(
                self.unit,
                at,
                *what,
                end_ps - run_ps - wait_ps,
                end_ps - run_ps,
                end_ps,
                None if unit < 0 else (names[unit], index),
                tuple([(names[phase], end_ps - left_ps) for phase, left_ps in phases]),
                macs,
                slots,
            )


def _packed(cells: IntArray, phases: IntArray) -> PackedRecords:
    """Columns of ``cells``, a row a command, and of ``phases``: name and end of each."""
    text, head_ps, start_ps, end_ps, unit, index, macs, slots, last = cells.T
    kinds, kind = np.unique(np.column_stack((macs, slots)), axis=0, return_inverse=True)
    of_phase = np.repeat(np.arange(len(cells)), np.diff(last, prepend=0))
    end_ps = end_ps.copy()
    end_ps.flags.writeable = False
    return PackedRecords(
        text=narrow(text),
        end_ps=end_ps,
        wait_ps=narrow(start_ps - head_ps),
        run_ps=narrow(end_ps - start_ps),
        critical_unit=narrow(unit),
        critical_index=narrow(index),
        kind=narrow(kind.reshape(-1)),
        phases=narrow(last),
        phase=narrow(phases[:, 0]),
        left_ps=narrow(end_ps[of_phase] - phases[:, 1]),
        macs=kinds[:, 0].copy(),
        slots_per_cycle=kinds[:, 1].copy(),
    )
