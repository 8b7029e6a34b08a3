"""The figures of a template under one spatial choice as linear forms of few columns. Compiled.

Columns that are the same but for a factor in every group's table are one; those that do not depend on the tilings are
constants. What is subtracted (the first partial sums) is bounded from above.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import allocating
from mapper.looptree.search.branch.store import Shelf


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


@allocating
def form_of(arrays: Any, t: int, shelf: Shelf, at: Any) -> Form:
    """``at`` (G): the number of each group's table."""
    columns, rooms = arrays.columns[t], arrays.rooms_of[t]
    index, scale, kept = np.empty(columns, np.int64), np.empty(columns), np.empty(columns, np.int64)
    count = _merge(arrays.column[t], shelf, at, index, scale, kept)
    energy, times = np.zeros(count + 1), np.zeros((arrays.times_of[t], count + 1))
    for k in range(arrays.terms_of[t]):
        lower, upper = arrays.terms[t, k, 0], arrays.terms[t, k, 2]
        _add(energy, arrays.energy[t, k], index, scale, lower, upper)
        for f in range(arrays.times_of[t]):
            _add(times[f], arrays.times[t, f, k], index, scale, lower, upper)
    room, bits = np.empty((rooms, 2), np.int64), np.empty(rooms)
    for i in range(rooms):
        column = arrays.room[t, i, 1]
        room[i, 0], room[i, 1] = arrays.room[t, i, 0], index[column]
        bits[i] = arrays.bits[t, i] * scale[column]
    subtracted = np.zeros(count, np.bool_)
    for c in range(count):
        subtracted[c] = energy[c] < 0 or (times[:, c] < 0).any()
    return Form(kept[:count], energy, times, room, bits, subtracted)


@allocating
def _merge(column: Any, shelf: Shelf, at: Any, index: Any, scale: Any, kept: Any) -> int:
    """Fill the ``index`` of each column among those ``kept`` (their number: a constant) and its ``scale``."""
    groups, columns = at.size, index.size
    known = np.empty((columns, groups), np.int64)
    first = np.ones(columns)
    for g in range(groups):
        row, like = shelf.figures[shelf.place[at[g], 0] :], shelf.alike[at[g]]
        for c in range(columns):
            known[c, g] = like[column[g, c]]
            first[c] *= row[column[g, c]]
    count = 0
    for c in range(columns):
        same = _like(known, kept, count, c)
        if same < 0 and known[c].max() >= 0:
            kept[count] = c
            same = count
            count += 1
        index[c] = same
    for c in range(columns):
        scale[c] = first[c]
        if index[c] < 0:
            index[c] = count
        else:
            scale[c] /= first[kept[index[c]]]
    return count


@allocating
def _like(known: Any, kept: Any, count: int, c: int) -> int:
    """Which of the columns kept is like a column in every group; -1 for none."""
    for i in range(count):
        alike = True
        for g in range(known.shape[1]):
            alike &= known[kept[i], g] == known[c, g]
        if alike:
            return i
    return -1


@allocating
def _add(row: Any, coefficient: float, index: Any, scale: Any, lower: int, upper: int) -> None:
    row[index[upper]] += coefficient * scale[upper]
    if lower >= 0:
        row[index[lower]] -= coefficient * scale[lower]
