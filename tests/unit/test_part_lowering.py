"""What parts are compiled to does what Python does: items, variables, operations, tuples of arrays as arguments."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import typeof
from numba.core import types
from numba.core.errors import LoweringError
from numba.core.registry import cpu_target
from numba.extending import overload

from archsim.base.calling import PartTarget, goes_whole
from archsim.base.jit import allocating, entry, njit
from archsim.base.passes import part_passes
from archsim.base.signatures import maker, remembered


class Tables(NamedTuple):
    """Arrays of each kind, and a number."""

    row: Any
    grid: Any
    strided: Any
    records: Any
    scale: int


RECORD = np.dtype([("count", np.int64), ("pair", np.int64, (2,))], align=True)


def tables() -> Tables:
    """Small ones."""
    return Tables(
        np.arange(5), np.arange(12).reshape(3, 4), np.arange(24).reshape(4, 6)[::2, ::3], np.zeros(3, RECORD), 7
    )


@njit
def _fill(tables: Any, count: Any) -> Any:
    """Reads and writes items at constant, negative, computed and several places; variables change in a loop."""
    total = 0
    for at in range(count):
        if at % 2:
            step = tables.scale
            tables.records[at].count += step
        else:
            tables.records[-1].pair[1] = at
        total += tables.row[at - 1] * tables.grid[at, -2] - tables.strided[at % 2, 1] // 3
        tables.row[0] = total
        tables.grid[-1, at] = tables.row[-2]
    return total + tables.row[0] + 2**count


@njit
def _twice(tables: Any, count: Any) -> Any:
    """Passes a tuple on."""
    return _fill(tables, count) + _fill(tables, np.uint64(1))


called = entry(_twice)


@entry
@allocating
def grown(values: Any, count: Any) -> Any:
    """Makes arrays, replaces them and takes whole ones apart, which counts who holds them."""
    for _ in range(count):
        values = np.array([value + 1 for value in values])
    return values[1:] * 2


@pytest.fixture(autouse=True)
def unkept() -> None:
    """What is compiled here is kept nowhere."""
    for each in (called, grown, measured):
        each.place, each._is_native = None, False  # type: ignore[attr-defined]


def test_items_variables_and_tuples_are_those_of_python() -> None:
    made = tables()
    asked = tables()._replace(records=np.zeros(3, RECORD).view(np.recarray))
    expected = _fill.py_func(asked, 3) + _fill.py_func(asked, 1)  # type: ignore[attr-defined]
    assert called(made, 3) == expected
    for mine, known in zip(made[:4], asked[:4], strict=True):
        assert mine.tobytes() == known.tobytes()


def test_parts_that_make_arrays_count_who_holds_them() -> None:
    assert grown(np.arange(4), 3).tolist() == [8, 10, 12]


def test_a_tuple_of_arrays_is_one_argument_and_names_tell_types_apart() -> None:
    kind = typeof(tables())
    target = PartTarget(cpu_target.target_context, remembered(cpu_target.typing_context))
    assert goes_whole(kind) and not goes_whole(types.UniTuple(types.int64, 2))
    found = target.call_conv.get_function_type(types.int64, (kind, types.int64))
    assert len(found.args) == 4  # behind where result and error go
    names = {target.mangler("part", (each,)) for each in (kind, types.int64, types.uint64)}
    assert len(names) == 3 and max(map(len, names)) < 64


def width(tables: Tables) -> int:
    """How many values there are."""
    return len(tables)


@overload(width)  # type: ignore[untyped-decorator]
def _width(tables):  # type: ignore[no-untyped-def]  # Numba compares signatures, annotations as well
    """As Numba compiles it."""

    def counted(tables):  # type: ignore[no-untyped-def]
        return len(tables)

    return counted


@entry
@njit
def measured(tables: Any) -> Any:
    """Calls a function that is compiled with Numba's own calls."""
    return width(tables)


def test_numbas_own_functions_get_no_tuple_of_arrays() -> None:
    """At a call of one the compiler stops."""
    with pytest.raises(LoweringError, match="cannot be given a tuple of arrays"):
        measured(tables())


def test_what_makes_code_is_looked_up_once_and_is_none_where_nothing_does() -> None:
    called(tables(), 3)  # Numba has filled its tables
    target = PartTarget(cpu_target.target_context, remembered(cpu_target.typing_context))
    both = (types.int64, types.int64)
    found = maker(target, operator.add, both)
    assert found is not None and found.signature.return_type == types.int64
    assert maker(target, operator.add, both) is found
    assert maker(target, operator.add, (types.int64, types.none)) is None


def test_passes_over_arrays_are_for_parts_that_make_them() -> None:
    class State:
        """What the choice depends on."""

        class func_id:  # noqa: N801
            """The function."""

            code = _fill.py_func.__code__  # type: ignore[attr-defined]

        class flags:  # noqa: N801
            """Its options."""

            nrt = False

    few = part_passes(State)
    State.flags.nrt = True
    assert len(few.passes) < len(part_passes(State).passes)
