"""Records as columns: what their rows say, and what commands did phase by phase."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archsim.ir.records import Records
from archsim.ir.rows import Record
from tests.oracles.by_rows import phases

TIMES = st.integers(0, 3)
PHASES = ("dram", "noc", "sram_port")
ROWS = (
    Record("u", 0, "a", "MOVE", "l0", "weights", 0, 1, 9, ("v", 3), (("dram", 4), ("sram_port", 9))),
    Record("u", 1, "b", "MATMUL", "l0", "", 9, 9, 12, None, (("busy", 11),), 7, 4),
    Record("u", 2, "a", "MOVE", "l0", "weights", 12, 12, 12, None, ()),
)


def test_rows_come_back() -> None:
    """By number, from the end, as a slice, in order; after pickling too."""
    records = Records.of("u", ROWS)
    assert len(records) == 3 and tuple(records) == ROWS == pickle.loads(pickle.dumps(records))[:]
    assert records[-1] == ROWS[2] and records[1:] == ROWS[1:] and records[::-1] == ROWS[::-1]
    assert len(records.texts) == 2 and records.columns().text.tolist() == [0, 1, 0]
    with pytest.raises(IndexError):
        records[3]


def test_records_that_differ() -> None:
    """In a row, in how many, in the unit."""
    records = Records.of("u", ROWS)
    assert records == Records.of("u", ROWS)
    assert records != Records.of("u", ROWS[:2])
    assert records != Records.of("v", ROWS)
    for place in range(3):
        changed = Records("u")
        for row in ROWS:
            end_ps = row.end_ps + (row.index == place)
            text = changed.text(records.texts[row.name == "b"])
            changed.add(text, (row.head_ps, row.start_ps, end_ps), row.critical, (), 0, 0)
        assert records != changed


def test_columns_stay_as_they_were() -> None:
    """When a command is added later; nobody can change them."""
    records = Records.of("u", ROWS[:2])
    before = records.columns()
    records.add(records.text(records.texts[0]), (12, 12, 12), None, (), 0, 0)
    assert before.end_ps.tolist() == [9, 12] and records.columns().end_ps.tolist() == [9, 12, 12]
    assert tuple(records) == ROWS and not before.end_ps.flags.writeable


def test_time_without_phase() -> None:
    """At the end of a command: the phase is ''. A command without length has none."""
    records = Records.of("u", ROWS)
    found = records.stretches()
    names = [records.names[number] for number in found.phase.tolist()]
    assert names == ["dram", "sram_port", "busy", ""]
    assert found.record.tolist() == [0, 0, 1, 1]
    assert found.start_ps.tolist() == [1, 4, 9, 11] and found.end_ps.tolist() == [4, 9, 11, 12]


@given(st.lists(st.tuples(TIMES, st.lists(st.tuples(st.sampled_from(PHASES), TIMES), max_size=3), TIMES), max_size=6))
def test_stretches_are_the_phases_of_every_row(drawn: list[tuple[int, list[tuple[str, int]], int]]) -> None:
    """Of commands that wait, do phases, some without length, and have time left."""
    rows: list[Record] = []
    now = 0
    for index, (wait, lengths, rest) in enumerate(drawn):
        head, start = now, now + wait
        ends = list(accumulate((length for _, length in lengths), initial=start))[1:]
        named = tuple((phase, end) for (phase, _), end in zip(lengths, ends, strict=True))
        now = (ends[-1] if ends else start) + rest
        rows.append(Record("u", index, f"c{index % 2}", "MOVE", "l0", "", head, start, now, None, named))
    records = Records.of("u", rows)
    rows = [replace(row, phases=_some(row)) for row in rows]
    found = records.stretches()
    columns = (found.record, found.start_ps, found.end_ps, found.phase)
    told = [
        (record, start, end, records.names[phase])
        for record, start, end, phase in zip(*(column.tolist() for column in columns), strict=True)
    ]
    assert tuple(records) == tuple(rows) and told == [(row.index, *stretch) for row in rows for stretch in phases(row)]


def _some(row: Record) -> tuple[tuple[str, int], ...]:
    """The phases that have a length."""
    starts = [row.start_ps, *(end for _, end in row.phases)]
    return tuple(phase for phase, start in zip(row.phases, starts, strict=False) if phase[1] > start)
