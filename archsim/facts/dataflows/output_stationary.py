"""Output-stationary systolic array: a sum stays in its PE over the whole reduction.

Output rows on the rows, output columns on the columns. Inputs shift to the right, weights shift down. With
M, N, K the extents, p = pack and L = run_cycles(ceil(K / p)):

    folds F = batch ceil(M / R) ceil(N / C), cycles as in ``systolic`` with nothing to load;
    base: F (L + R + C - 2).
    edge: a = batch ceil(N / C) M K; b = batch ceil(M / R) K N; acc_write = batch M N;
    acc_read = batch M N when the tile adds to sums already there, else 0.

A finished sum leaves over a wire of its own in the cycle after its last MAC (and an old sum enters so): the
base formula gives it no time. Wires are counted in hops down the column to the bottom edge.
Not modelled: operand-by-operand stalls (a late operand stretches the whole command).
Source: SCALE-Sim 3.0.0 for the base timing; the overlap option derived in ``systolic``.
"""

from __future__ import annotations

from collections.abc import Mapping

from archsim.facts.dataflows.fold import (
    ArrayMoves,
    ArrayShape,
    FanoutSpec,
    Fold,
    Nest,
    NestSizes,
    RegisterSpec,
    actions_of,
    ceil_div,
    fanouts_of,
    registers_of,
    sizes,
    streams_of,
)
from archsim.facts.dataflows.systolic import column_hops, timing

SUMMARY = "systolic; sums stay in the PEs, inputs shift right, weights shift down"
HELD = "partials"
OPTIONS = ("fold_overlap",)
ARRAYS = True


def fanouts(rows: int, cols: int) -> tuple[FanoutSpec, ...]:
    """Rows share weights, columns share inputs."""
    return fanouts_of(rows, cols, {"multicast": ("weights",)}, {"multicast": ("inputs",)})


def registers(bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
    """Per PE and packed MAC: one input, one weight; one sum. ``bits`` by role."""
    _refuse_options(array)
    return registers_of(bits, {"partials": 1, "inputs": array.pack, "weights": array.pack})


def fold(nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
    """Cycles, edge streams and inner actions of one command.

    Raises ModelError for a missing extent, ConfigError for ``weight_double_buffer`` (nothing is loaded).
    """
    _refuse_options(array)
    size = sizes(nest, extents)
    row_folds = ceil_div(size.m, array.rows)
    col_folds = ceil_div(size.n, array.cols)
    outputs = size.batch * size.m * size.n
    shifted = ArrayMoves(size.macs, size.macs, size.macs)
    return Fold(
        *timing(
            folds=size.batch * row_folds * col_folds,
            fold_cycles=array.run_cycles(ceil_div(size.k, array.pack)),
            load_cycles=0,
            array=array,
        ),
        streams=streams_of(
            a=size.batch * col_folds * size.m * size.k,
            b=size.batch * row_folds * size.k * size.n,
            acc_read=outputs if accumulate else 0,
            acc_write=outputs,
        ),
        inner_actions=actions_of(size.macs, a=shifted, b=shifted, acc=_sum_moves(size, array, accumulate)),
    )


def _refuse_options(array: ArrayShape) -> None:
    array.refuse("output_stationary", "weight_double_buffer", "load_rows", "block")


def _sum_moves(size: NestSizes, array: ArrayShape, accumulate: bool) -> ArrayMoves:
    """Moves of the sums: written each step, read each step but the first, read once to leave.

    An old sum is one more write (it enters) and one more read (the first step adds to it).
    """
    entering = size.batch * size.m * size.n if accumulate else 0
    updates = size.batch * size.m * size.n * ceil_div(size.k, array.pack)
    way_out = size.batch * size.n * column_hops(size.m, array.rows)
    return ArrayMoves(updates + entering, updates + entering, way_out * (2 if accumulate else 1))
