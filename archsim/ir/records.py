"""What a unit has run, as columns: rows are made for those who ask for them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from archsim.base.arrays import IntArray
from archsim.ir.rows import Record


class CommandText(NamedTuple):
    """What a command is, whenever it is run."""

    name: str
    op: str
    layer: str
    role: str


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """The numbers of ``Record``, each of shape (commands,).

    ``text``: number in ``Records.texts``; ``critical_unit``: in ``Records.names``, -1 for none; ``phases``: how many
    phases there are up to the command's last one.
    """

    text: IntArray
    head_ps: IntArray
    start_ps: IntArray
    end_ps: IntArray
    critical_unit: IntArray
    critical_index: IntArray
    macs: IntArray
    slots_per_cycle: IntArray
    phases: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CommandStretches:
    """What commands did from ``start_ps`` to ``end_ps``: tiling each one's time, none empty. Shapes (stretches,).

    ``record``: which command; ``phase``: number in ``Records.names``, that of '' for time without phase.
    """

    record: IntArray
    start_ps: IntArray
    end_ps: IntArray
    phase: IntArray


_WIDTH = len(RecordColumns.__dataclass_fields__)


class Records(Sequence[Record]):
    """The commands of ``unit`` in order. ``texts``: what they are; ``names``: units and phases that they name."""

    __slots__ = ("_cells", "_numbers", "_phases", "names", "texts", "unit")

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.texts: list[CommandText] = []
        self.names: list[str] = [""]
        self._numbers: dict[CommandText | str, int] = {"": 0}
        self._cells = array("q")  # Columns, command by command
        self._phases = array("q")  # name and end of each

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
    def filled(
        cls, unit: str, texts: Iterable[CommandText], names: Iterable[str], cells: IntArray, phases: IntArray
    ) -> Records:
        """From columns: ``cells`` as of RecordColumns, a row a command; ``phases``: name and end of each, in order."""
        found = cls(unit)
        found.texts, found.names = list(texts), list(names)
        found._numbers = {name: number for number, name in enumerate(found.names)}
        found._cells.frombytes(np.ascontiguousarray(cells, dtype=np.int64).tobytes())
        found._phases.frombytes(np.ascontiguousarray(phases, dtype=np.int64).tobytes())
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
        row = text, *times_ps, unit, index, macs, slots_per_cycle, len(cells) // 2
        try:
            self._cells.extend(row)
        except BufferError:  # somebody holds columns, which stay as they were
            self._cells = self._cells[:]
            self._cells.extend(row)

    def columns(self) -> RecordColumns:
        """All numbers, as they are now: of the cells themselves, which are copied only if a command is added while
        somebody holds the columns. Nobody may change them."""
        cells = np.asarray(self._cells)
        cells.flags.writeable = False
        return RecordColumns(*cells.reshape(-1, _WIDTH).T)

    def stretches(self) -> CommandStretches:
        """What every command did, phase by phase."""
        columns = self.columns()
        tails = np.arange(len(self))
        counts = np.diff(columns.phases, prepend=0)
        record = np.concatenate((np.repeat(tails, counts), tails))
        phases = np.array(self._phases, dtype=np.int64).reshape(-1, 2)
        phase = np.concatenate((phases[:, 0], np.zeros(len(self), dtype=np.int64)))
        until = np.concatenate((phases[:, 1], columns.end_ps))
        order = np.argsort(record, kind="stable")
        record, phase, until = record[order], phase[order], until[order]
        since = np.maximum(columns.start_ps[record], np.concatenate(([0], until))[:-1])
        some = until > since
        return CommandStretches(record[some], since[some], until[some], phase[some])

    def __len__(self) -> int:
        return len(self._cells) // _WIDTH

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, index: int | slice) -> Record | tuple[Record, ...]:
        at = range(len(self))[index]
        return self._row(at) if isinstance(at, int) else tuple(map(self._row, at))

    def __iter__(self) -> Iterator[Record]:
        return map(self._row, range(len(self)))

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

    def _row(self, at: int) -> Record:
        text, head_ps, start_ps, end_ps, unit, index, macs, slots, last = self._cells[at * _WIDTH : (at + 1) * _WIDTH]
        first = self._cells[at * _WIDTH - 1] if at else 0
        cells, names = self._phases[2 * first : 2 * last], self.names
        return Record(
            self.unit,
            at,
            *self.texts[text],
            head_ps,
            start_ps,
            end_ps,
            None if unit < 0 else (names[unit], index),
            tuple([(names[cells[i]], cells[i + 1]) for i in range(0, len(cells), 2)]),
            macs,
            slots,
        )
