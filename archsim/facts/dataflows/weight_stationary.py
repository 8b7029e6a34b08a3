"""Weight-stationary systolic array: a weight stays in its PE while the inputs stream past.

Reduction on the rows, output columns on the columns. Inputs shift to the right, sums shift down and leave at
the bottom after every fold. With M, N, K the extents, p = pack and L = run_cycles(M):

    folds F = batch ceil(K / (R p)) ceil(N / C), cycles as in ``systolic`` (W to load the weights of a fold);
    base: F (L + 2 R + C - 2).
    edge: a = batch ceil(N / C) M K; b = batch K N, each weight once; acc_write = batch ceil(K / (R p)) M N;
    acc_read = acc_write less the first fold along K, unless the tile adds to sums already there.

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

SUMMARY = "systolic; weights stay in the PEs, inputs shift right, sums shift down"
HELD = "weights"
OPTIONS = ("weight_double_buffer", "fold_overlap", "load_rows")
ARRAYS = True


def fanouts(rows: int, cols: int) -> tuple[FanoutSpec, ...]:
    """Rows reduce partial sums, columns share inputs."""
    return fanouts_of(rows, cols, {"reduce": ("partials",)}, {"multicast": ("inputs",)})


def registers(bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
    """Per PE and packed MAC: one weight (two if double-buffered), one input; one sum. ``bits`` by role."""
    array.refuse("weight_stationary", "block")
    held = array.pack * (1 + array.weight_double_buffer)
    return registers_of(bits, {"weights": held, "inputs": array.pack, "partials": 1})


def fold(nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
    """Cycles, edge streams and inner actions of one command; raises ModelError for a missing extent."""
    array.refuse("weight_stationary", "block")
    size = sizes(nest, extents)
    return stationary(size, array, held="b", held_cols=size.n, moving_rows=size.m, accumulate=accumulate)
