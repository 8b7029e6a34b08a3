"""Compiled entries by their addresses: they find arrays and numbers where the words say, also after these moved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from archsim.base.addressed import address_of, call, called, value_at, word_at
from archsim.base.jit import addressed, entry, njit
from archsim.base.words import UnknownKindError, WordTable, described, many_words


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


@entry
@njit
def added(first: Any, steps: int, second: Any, share: float) -> int:
    """Add steps to the first cell of one counter; the cell, and what the other's first cell is times a share."""
    first.cells[0, 0] += steps * first.step
    return int(first.cells[0, 0] + second.cells[0, 0] * share * second.share)


def test_an_entry_takes_a_value_or_where_it_lies() -> None:
    """Any of the arguments; what is written later is found there."""
    one, two = counter(100), counter(16)
    expected = [105 + 2, 110 + 2, 115 + 2]
    assert [added(one, 1, two, 0.5), added(WordTable(one), 1, two, 0.5), added(one, 1, WordTable(two), 0.5)] == expected
    place = WordTable(one)
    assert added(place, 0, place, 0.0) == 115
    place.write(two)
    assert added(place, 2, WordTable(one), 0.0) == 26 and one.cells[0, 0] == 115


def test_where_no_words_are_taken_the_value_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's own calls, on machines whose object files are not read here, take the values of tables."""
    monkeypatch.setattr(added, "_is_native", False)
    one = counter(100)
    assert added(WordTable(one), 1, one, 0.0) == 105


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 4)), np.zeros((3, 4))[1:], np.asfortranarray(np.zeros((3, 4))), np.zeros((4, 4))[:, ::2],
        np.zeros(0), np.broadcast_to(np.zeros(1), (5,)), np.zeros(3, ROW),
    ],
)  # fmt: skip
def test_words_of_arrays_say_where_they_lie(array: Any) -> None:
    """Whether in rows or columns, cut, empty, read alone or of records."""
    words: list[Any] = []
    described((array,), [], words)
    assert words == [0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides]
    assert many_words(array) == len(words)


@entry
@njit
def weighed(pair: Any, more: Any) -> int:
    """A number that tells where each part was found."""
    return int(1000 * pair[0] + 10 * pair[1] + more)


@entry
@njit
def part(pair: Any) -> int:
    """Called as compiled code calls its own function."""
    return int(pair[0] - pair[1])


@pytest.mark.parametrize("pair", [(np.int32(3), np.int32(5)), (True, np.int32(5)), (True, False), (3, 5)])
def test_parts_of_tuples_are_found_whatever_their_width(pair: tuple[Any, Any]) -> None:
    """Short numbers and flags, which do not lie in words of their own in a tuple, are handed over by Numba."""
    assert weighed(pair, 7) == 1000 * int(pair[0]) + 10 * int(pair[1]) + 7
    assert part(pair) == int(pair[0]) - int(pair[1])


def test_a_table_has_no_parts_narrower_than_words() -> None:
    with pytest.raises(UnknownKindError, match="flags or short numbers"):
        WordTable((True, 3))


def test_a_table_keeps_its_words_where_others_do_not_fit() -> None:
    place = WordTable(counter(16))
    with pytest.raises(TypeError, match="compiled code reads"):
        place.write((3, 5))
    assert added(place, 0, place, 0.0) == 16
