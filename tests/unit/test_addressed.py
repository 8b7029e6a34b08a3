"""Compiled entries by their addresses: they find arrays and numbers where the words say, also after these moved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from archsim.base.addressed import WordTable, address_of, call, called, value_at, word_at
from archsim.base.jit import addressed, entry, njit


class Counter(NamedTuple):
    """What the entry below works on: an array of two dims, a row of records, a number, a fraction."""

    cells: Any
    rows: Any
    step: int
    share: float


ROW = np.dtype([("a", np.int32), ("b", np.int64)])


@addressed
@njit
def add(ref: Any, table: int, row: int, column: int, more: int) -> int:
    """Add so many steps to a cell, and note it; the cell, the share of 8, and the note."""
    value = value_at(ref, table)
    value.cells[row, column] += more * value.step
    value.rows[row].b = value.cells[row, column]
    return int(value.cells[row, column] + value.share * 8 + 1000 * value.rows[row].b)


@entry
@njit
def through(m: Any, table: int) -> int:
    """Call the entry whose address is the first word of ``m``, with the second one, read where it lies."""
    return int(call(m[0], table, 1, 2, word_at(address_of(m, 1))))


def counter(start: int) -> Counter:
    """Arrays of which no two lie in one place."""
    return Counter(np.full((2, 3), start, np.int64), np.zeros(2, ROW), 5, 0.25)


@pytest.fixture(scope="module")
def table() -> WordTable:
    """The words of a counter."""
    return WordTable(counter(10))


def test_python_and_compiled_code_call_the_same_entry(table: WordTable) -> None:
    address, before = table.entry(add), table.address
    table.write(counter(10))
    assert called(address)(table.address, 1, 2, 3) == 25 + 2 + 25_000
    assert table.value.cells.tolist() == [[10, 10, 10], [10, 10, 25]]
    assert table.value.rows["b"].tolist() == [0, 25]
    assert through(np.array([address, 3], np.int64), table.address) == 40 + 2 + 40_000
    assert table.address == before


def test_other_arrays_are_found_at_the_same_address(table: WordTable) -> None:
    address, before = table.entry(add), table.address
    old = table.value
    table.write(counter(100))
    assert called(address)(table.address, 0, 0, 1) == 105 + 2 + 105_000
    assert table.address == before
    assert old.cells[0, 0] != 105 and table.value.cells[0, 0] == 105
