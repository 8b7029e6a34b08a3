"""The figures of a template under one spatial choice as linear forms of few columns. Compiled.

Columns that are the same but for a factor in every group's table are one; those that do not depend on the tilings are
constants. What is subtracted (the first partial sums) is bounded from above.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.base.jit import inlined, njit
from mapper.looptree.search.branch.rows import fill
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


class Merge(NamedTuple):
    """Room for a form of C columns, written over. ``form``: of all of them; of each column the ``index`` among those
    kept and the ``scale``, its ``first`` figure and the classes ``known`` (C, G).
    """

    form: Form
    index: Any
    scale: Any
    first: Any
    known: Any


def merge_of(arrays: Any) -> Merge:
    """Room for the form of any template."""
    columns, groups = int(arrays.columns.max()), arrays.shape.shape[1]
    form = Form(
        np.empty(columns, np.int64),
        np.empty(columns + 1),
        np.empty((arrays.times.shape[1], columns + 1)),
        np.empty((arrays.bits.shape[1], 2), np.int64),
        np.empty(arrays.bits.shape[1]),
        np.empty(columns, np.bool_),
    )
    index, known = np.empty(columns, np.int64), np.empty((columns, groups), np.int64)
    return Merge(form, index, np.empty(columns), np.empty(columns), known)


@njit
def fill_form(arrays: Any, t: int, shelf: Shelf, at: Any, merge: Merge) -> int:
    """Put the form of a template into ``merge``; how many columns it has.

    ``at`` (G): the number of each group's table.
    """
    count = _merge(arrays.column[t], arrays.columns[t], shelf, at, merge)
    rooms, seconds = arrays.rooms_of[t], arrays.times_of[t]
    form, index, scale = merge.form, merge.index, merge.scale
    energy, times, room, bits = form.energy, form.times, form.room, form.bits
    fill(energy[: count + 1], 0.0)
    for f in range(seconds):
        fill(times[f, : count + 1], 0.0)
    for k in range(arrays.terms_of[t]):
        lower, upper = arrays.terms[t, k, 0], arrays.terms[t, k, 2]
        _add(energy, arrays.energy[t, k], index, scale, lower, upper)
        for f in range(seconds):
            _add(times[f], arrays.times[t, f, k], index, scale, lower, upper)
    for i in range(rooms):
        column = arrays.room[t, i, 1]
        room[i, 0], room[i, 1] = arrays.room[t, i, 0], index[column]
        bits[i] = arrays.bits[t, i] * scale[column]
    for c in range(count):
        subtracted = energy[c] < 0
        for f in range(seconds):
            subtracted |= times[f, c] < 0
        form.subtracted[c] = subtracted
    return count


@njit
def _merge(column: Any, columns: int, shelf: Shelf, at: Any, merge: Merge) -> int:
    """Fill the index of each column among those kept (their number: a constant) and its scale; how many are kept."""
    kept, index, scale, first, known = merge.form.columns, merge.index, merge.scale, merge.first, merge.known
    fill(first, 1.0)
    for g in range(at.size):
        row, like = shelf.figures[shelf.place[at[g], 0] :], shelf.alike[at[g]]
        for c in range(columns):
            known[c, g] = like[column[g, c]]
            first[c] *= row[column[g, c]]
    count = 0
    for c in range(columns):
        same = _like(known, kept, count, c)
        if same < 0 and _varies(known[c]):
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


@inlined
def _varies(classes: Any) -> bool:
    """Whether a column varies in any group's table."""
    varies = False
    for g in range(classes.size):
        varies |= classes[g] >= 0
    return varies


@njit
def _like(known: Any, kept: Any, count: int, c: int) -> int:
    """Which of the columns kept is like a column in every group; -1 for none."""
    for i in range(count):
        alike = True
        for g in range(known.shape[1]):
            alike &= known[kept[i], g] == known[c, g]
        if alike:
            return i
    return -1


@njit
def _add(row: Any, coefficient: float, index: Any, scale: Any, lower: int, upper: int) -> None:
    row[index[upper]] += coefficient * scale[upper]
    if lower >= 0:
        row[index[lower]] -= coefficient * scale[lower]
