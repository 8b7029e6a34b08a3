"""The entries of an index stream, any of them at once: what compiler, checker, machine and interpreter agree on.

Entry n of a stream of seed s is a function of (s, n) alone. u(s, n) = mix(mix(s) + (n + 1) * GAMMA) in 64 bits, the
SplitMix64 generator (Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014; constants as
in Vigna's splitmix64.c). It is brought to [0, total) as floor(u * total / 2**64).

uniform: total = rows, and that is the row. zipf: row r weighs w(r) = max(1, floor(W / (r + 1) ** exponent)) with
W = floor(2**62 / rows), total is the sum of all weights, and the row is the one whose stretch of [0, total) holds the
number. So everything behind the power is whole numbers; weights are within 1 / w of the real ones.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from archsim.ir.indices import Indices
from archsim.ir.unroll import Step

WordArray = NDArray[np.uint64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
WEIGHT_BITS = 62
KEPT = 8  # zipf tables, and traces as arrays, that are kept at a time
_ARRAYS: dict[int, tuple[tuple[int, ...], IntArray]] = {}


def entries(indices: Indices, rows: int, numbers: IntArray) -> IntArray:
    """Row numbers in [0, ``rows``) of the entries ``numbers`` (from 0); IndexError beyond the end of a trace."""
    if indices.kind == "trace":
        return _traced(indices.trace)[numbers]
    drawn = _drawn(indices.seed, numbers)
    if indices.kind == "uniform":
        return _scaled(drawn, rows).astype(np.int64)
    ends = _ends(rows, indices.exponent)
    return np.searchsorted(ends, _scaled(drawn, int(ends[-1])), side="right")


def lookups(step: Step) -> tuple[tuple[str, ...], IntArray]:
    """The extents that count a GATHER's or SCATTER's lookups, in the command's order, and the entries' numbers.

    One axis for each of the extents; rows are moved in the order of the flattened array.
    """
    lookup = step.command.index
    assert lookup is not None
    terms = dict(lookup.terms)
    dims = tuple(dim for dim in step.extents if dim in terms)
    numbers = np.full([1] * len(dims), lookup.start.at(step.env), dtype=np.int64)
    for axis, dim in enumerate(dims):
        shape = [-1 if other == axis else 1 for other in range(len(dims))]
        numbers = numbers + terms[dim] * np.arange(step.extents[dim], dtype=np.int64).reshape(shape)
    return dims, numbers


def rows_of(step: Step) -> IntArray:
    """The rows that a GATHER or SCATTER moves, in order."""
    lookup = step.command.index
    assert lookup is not None
    return entries(lookup.indices, lookup.rows, lookups(step)[1].ravel())


def _drawn(seed: int, numbers: IntArray) -> WordArray:
    start = _mixed(np.array([seed % 2**64], dtype=np.uint64))
    return _mixed(start + (numbers.astype(np.uint64) + np.uint64(1)) * GAMMA)


def _mixed(words: WordArray) -> WordArray:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: WordArray = words ^ (words >> np.uint64(31))
    return found


def _scaled(words: WordArray, total: int) -> WordArray:
    """floor(word * total / 2**64) for ``total`` < 2**63, by halves of 32 bits."""
    high, low = words >> _HALF, words & _LOW
    above, below = np.uint64(total >> 32), np.uint64(total & 0xFFFFFFFF)
    middle = high * below + ((low * below) >> _HALF)
    found: WordArray = high * above + (middle >> _HALF) + ((low * above + (middle & _LOW)) >> _HALF)
    return found


@lru_cache(maxsize=KEPT)
def _ends(rows: int, exponent: float) -> WordArray:
    """Where the stretch of each row ends: running sums of the weights."""
    weight = np.arange(1, rows + 1, dtype=np.float64) ** -exponent * float(2**WEIGHT_BITS // rows)
    return np.cumsum(np.maximum(weight, 1.0).astype(np.uint64))


def _traced(trace: tuple[int, ...]) -> IntArray:
    """The trace as an array; kept by identity, since a long tuple is slow to hash."""
    found = _ARRAYS.get(id(trace))
    if found is None or found[0] is not trace:
        if len(_ARRAYS) == KEPT:
            _ARRAYS.clear()
        found = _ARRAYS[id(trace)] = (trace, np.array(trace, dtype=np.int64))
    return found[1]
