"""The figures of a template under one spatial choice as linear forms of few columns. Compiled.

Columns that are the same but for a factor in every group's table are one; those that do not depend on the tilings are
constants. What is subtracted (the first partial sums) is bounded from above.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.kernels import njit


class Form(NamedTuple):
    """N columns, F times: figure = constant + sum of coefficient x product of the column over groups.

    ``columns`` (N): of the template; ``energy`` (N + 1) J and ``times`` (F, N + 1) s, the constants last; ``room``
    (R, 2): memory and column, ``bits`` (R); ``subtracted`` (N): whether a column is anywhere.
    """

    columns: Any
    energy: Any
    times: Any
    room: Any
    bits: Any
    subtracted: Any


@njit
def form_of(arrays: Any, t: int, tables: Any, alike: Any, at: Any) -> Form:
    """``at`` (G): the number of each group's table."""
    groups, columns = at.size, arrays.columns[t]
    kept, index, scale = np.empty(columns, np.int64), np.empty(columns, np.int64), np.ones(columns)
    count = 0
    for c in range(columns):
        index[c] = -1
        if not _varies(arrays, t, tables, at, c):
            for g in range(groups):
                scale[c] *= tables[at[g]][0, arrays.column[t, g, c]]
            continue
        for i in range(count):
            if _same(arrays, t, alike, at, c, kept[i]):
                index[c] = i
                break
        if index[c] < 0:
            index[c] = count
            kept[count] = c
            count += 1
        for g in range(groups):
            own, other = arrays.column[t, g, c], arrays.column[t, g, kept[index[c]]]
            scale[c] *= tables[at[g]][0, own] / tables[at[g]][0, other]
    energy, times = np.zeros(count + 1), np.zeros((arrays.times_of[t], count + 1))
    for k in range(arrays.terms_of[t]):
        lower, upper = arrays.terms[t, k, 0], arrays.terms[t, k, 2]
        _add(energy, arrays.energy[t, k], index, scale, count, lower, upper)
        for f in range(arrays.times_of[t]):
            _add(times[f], arrays.times[t, f, k], index, scale, count, lower, upper)
    rooms = arrays.rooms_of[t]
    room, bits = np.empty((rooms, 2), np.int64), np.empty(rooms)
    for i in range(rooms):
        column = arrays.room[t, i, 1]
        room[i, 0], room[i, 1] = arrays.room[t, i, 0], index[column] if index[column] >= 0 else count
        bits[i] = arrays.bits[t, i] * scale[column]
    subtracted = np.zeros(count, np.bool_)
    for c in range(count):
        subtracted[c] = energy[c] < 0 or (times[:, c] < 0).any()
    return Form(kept[:count], energy, times, room, bits, subtracted)


@njit
def _add(row: Any, coefficient: float, index: Any, scale: Any, count: int, lower: int, upper: int) -> None:
    row[index[upper] if index[upper] >= 0 else count] += coefficient * scale[upper]
    if lower >= 0:
        row[index[lower] if index[lower] >= 0 else count] -= coefficient * scale[lower]


@njit
def _varies(arrays: Any, t: int, tables: Any, at: Any, c: int) -> bool:
    for g in range(at.size):
        column = tables[at[g]][:, arrays.column[t, g, c]]
        if column.max() > column.min():
            return True
    return False


@njit
def _same(arrays: Any, t: int, alike: Any, at: Any, c: int, other: int) -> bool:
    for g in range(at.size):
        known = alike[at[g]]
        if known[arrays.column[t, g, c]] != known[arrays.column[t, g, other]]:
            return False
    return True
