"""Weight-stationary systolic arrays side by side: R x C PEs are C / R square arrays that share a command.

Each array has columns of weights of its own, and all see the same rows of inputs; or they have the same weights, and
each has rows of inputs of its own; or some of both. A command is dealt in the way that ends first, of equal ones that
with the most columns side by side. With U = C / R arrays (one where the columns make no squares), of which u lie beside
each other over the columns:

    cycles: those of ``weight_stationary`` on R x C / U PEs with ceil(M u / U) rows and ceil(N / u) columns;
    edge: inputs, weights and sums of ``weight_stationary`` on such PEs; inputs that u arrays share cross once.

Not modelled: a command whose reduction is split over arrays.
Source: four 256 x 256 arrays of a TPU v6e, four 128 x 128 ones of a TPU v4 (Google Cloud, system architecture).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from archsim.facts.dataflows import weight_stationary
from archsim.facts.dataflows.fold import (
    ArrayShape,
    EdgeStream,
    Fold,
    Nest,
    RegisterSpec,
    ceil_div,
    sizes,
)
from archsim.facts.dataflows.systolic import stationary
from archsim.facts.dataflows.weight_stationary import ARRAYS, HELD, OPTIONS, fanouts

SUMMARY = "square weight-stationary arrays side by side, which share a command"
__all__ = ["ARRAYS", "HELD", "OPTIONS", "SUMMARY", "fanouts", "fold", "registers", "spread"]


def spread(nest: Nest, array: ArrayShape) -> dict[str, tuple[str, ...]]:
    """The reduction over the rows; over the columns output columns, and over several arrays output rows too."""
    rows = nest.m if _units(array) > 1 else ()
    return {"rows": nest.k, "cols": (*rows, *nest.n)}


def registers(bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
    """As those of a weight-stationary array."""
    _refuse_options(array)
    return weight_stationary.registers(bits, array)


def fold(nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
    """Cycles, edge streams and inner actions of one command; raises ModelError for a missing extent."""
    _refuse_options(array)
    size, units = sizes(nest, extents), _units(array)
    square = replace(array, cols=array.cols // units)
    whole = stationary(size, square, held="b", held_cols=size.n, moving_rows=size.m, accumulate=accumulate)
    dealt = []
    for beside in (count for count in range(units, 0, -1) if units % count == 0):
        part = size._replace(m=ceil_div(size.m * beside, units), n=ceil_div(size.n, beside))
        made = stationary(part, square, held="b", held_cols=part.n, moving_rows=part.m, accumulate=accumulate)
        inputs = whole.streams["a"].accesses // ceil_div(size.n, square.cols) * ceil_div(part.n, square.cols)
        dealt.append((made, inputs))
    return _first_to_end(whole, dealt)


def _refuse_options(array: ArrayShape) -> None:
    array.refuse("weight_stationary_units", "block")


def _units(array: ArrayShape) -> int:
    """Arrays side by side."""
    return array.cols // array.rows if array.cols % array.rows == 0 else 1


def _first_to_end(whole: Fold, dealt: list[tuple[Fold, int]]) -> Fold:
    """The way of dealing a command, with its inputs, that takes the fewest cycles, of several the first; of many
    commands that of each."""
    first, inputs = dealt[0]
    best = _phases(first)
    for made, other in dealt[1:]:
        found = _phases(made)
        sooner = sum(found) < sum(best)
        best = tuple(_where(sooner, this, that) for this, that in zip(found, best, strict=True))
        inputs = _where(sooner, other, inputs)
    load, fill, stream, drain = best
    return Fold(load, fill, stream, drain, {**whole.streams, "a": EdgeStream(inputs, "read")}, whole.inner_actions)


def _phases(fold: Fold) -> tuple[int, ...]:
    """Cycles of load, fill, stream and drain."""
    return fold.cycles_load, fold.cycles_fill, fold.cycles_stream, fold.cycles_drain


def _where(chosen: bool, this: int, that: int) -> int:
    """One of two numbers, of arrays in each place."""
    return that + (this - that) * chosen
