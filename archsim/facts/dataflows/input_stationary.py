"""Input-stationary systolic array: an input stays in its PE while the weights stream past.

Reduction on the rows, output rows on the columns. Weights shift to the right, sums shift down and leave at
the bottom after every fold. With M, N, K the extents, p = pack and L = run_cycles(N):

    folds F = batch ceil(K / (R p)) ceil(M / C), cycles as in ``systolic`` (W to load the inputs of a fold);
    base: F (L + 2 R + C - 2).
    edge: a = batch M K, each input once; b = batch ceil(M / C) K N; acc_write = batch ceil(K / (R p)) M N;
    acc_read = acc_write less the first fold along K, unless the tile adds to sums already there.

The option ``weight_double_buffer`` gives the stationary operand, here the inputs, its second register.
Not modelled: operand-by-operand stalls (a late operand stretches the whole command).
Source: SCALE-Sim 3.0.0 for the base timing; overlap options derived in ``systolic``.
"""

from __future__ import annotations

from collections.abc import Mapping

from archsim.facts.dataflows.fold import (
    ArrayShape,
    FanoutSpec,
    Fold,
    Nest,
    RegisterSpec,
    fanouts_of,
    registers_of,
    sizes,
)
from archsim.facts.dataflows.systolic import stationary

SUMMARY = "systolic; inputs stay in the PEs, weights shift right, sums shift down"
HELD = "inputs"
OPTIONS = ("weight_double_buffer", "fold_overlap", "load_rows")
ARRAYS = True


def fanouts(rows: int, cols: int) -> tuple[FanoutSpec, ...]:
    """Rows reduce partial sums, columns share weights."""
    return fanouts_of(rows, cols, {"reduce": ("partials",)}, {"multicast": ("weights",)})


def registers(bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
    """Per PE and packed MAC: one input (two if double-buffered), one weight; one sum. ``bits`` by role."""
    array.refuse("input_stationary", "block")
    held = array.pack * (1 + array.weight_double_buffer)
    return registers_of(bits, {"inputs": held, "weights": array.pack, "partials": 1})


def fold(nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
    """Cycles, edge streams and inner actions of one command; raises ModelError for a missing extent."""
    array.refuse("input_stationary", "block")
    size = sizes(nest, extents)
    return stationary(size, array, held="a", held_cols=size.m, moving_rows=size.n, accumulate=accumulate)
