"""Dot-product array (NVDLA's MAC cells, tensor-core-like engines): C dot products of R lanes every cycle.

Not systolic: inputs are broadcast to the C columns, an adder tree sums each column's R lanes, nothing is
skewed, so fill and drain are 0 (a generic array in expanded form). The **first** dim of the nest's ``k``
(the channels c of a convolution) lies on the lanes, the other reduction dims (filter rows and columns) are
steps in time; output columns lie on the columns. With p = pack and k_t = the product of the other k dims:

    cycles = batch k_t ceil(c / (R p)) ceil(N / C) run_cycles(M)
    edge: b = batch K N: a block of R p x C weights is read once and stays over all of M;
    a = batch ceil(N / C) M K: inputs are read again for every block of columns;
    acc_write = batch k_t ceil(c / (R p)) M N: sums leave after every pass; acc_read the same less the first
    pass, unless the tile adds to sums already there.

Weights have two registers per lane, one loads while the other works: inside the array a load never shows.
When M is too short for the memory to supply the next block in time, that wait is the memory's to charge.
Adder trees are part of the MAC; ``wire.acc`` counts the sums that enter and leave the columns.
Source: NVDLA hardware manual, convolution core ("atomic", "stripe" and "block" operations).
"""

from __future__ import annotations

from collections.abc import Mapping

from archsim.facts.dataflows.fold import (
    ArrayMoves,
    ArrayShape,
    FanoutSpec,
    Fold,
    Nest,
    RegisterSpec,
    actions_of,
    ceil_div,
    fanouts_of,
    registers_of,
    sizes,
    streams_of,
)

SUMMARY = "dot products over the rows, one output column per array column, inputs broadcast; not systolic"
HELD = "weights"
OPTIONS: tuple[str, ...] = ()
ARRAYS = True


def fanouts(rows: int, cols: int) -> tuple[FanoutSpec, ...]:
    """Rows (lanes) reduce partial sums, columns share inputs."""
    return fanouts_of(rows, cols, {"reduce": ("partials",)}, {"multicast": ("inputs",)})


def registers(bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
    """Per lane and packed MAC: two weights (one works, one loads) and one input; ``bits`` by role."""
    _refuse_options(array)
    return registers_of(bits, {"weights": 2 * array.pack, "inputs": array.pack})


def fold(nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
    """Cycles, edge streams and inner actions of one command.

    Raises ModelError for a missing extent, ConfigError for options of systolic arrays.
    """
    _refuse_options(array)
    size = sizes(nest, extents)
    lanes = extents[nest.k[0]] if nest.k else 1
    passes = size.k // lanes * ceil_div(lanes, array.rows * array.pack)
    col_folds = ceil_div(size.n, array.cols)
    outputs = size.batch * size.m * size.n
    weights = size.batch * size.k * size.n
    sums_in = (passes - 1 + accumulate) * outputs
    return Fold(
        cycles_load=0,
        cycles_fill=0,
        cycles_stream=size.batch * passes * col_folds * array.run_cycles(size.m),
        cycles_drain=0,
        streams=streams_of(
            a=size.batch * col_folds * size.m * size.k,
            b=weights,
            acc_read=sums_in,
            acc_write=passes * outputs,
        ),
        inner_actions=actions_of(
            size.macs,
            a=ArrayMoves(size.macs, size.macs, size.macs),
            b=ArrayMoves(size.macs, weights, weights),
            acc=ArrayMoves(0, 0, sums_in + passes * outputs),
        ),
    )


def _refuse_options(array: ArrayShape) -> None:
    array.refuse("dot_product", "weight_double_buffer", "fold_overlap", "load_rows", "block")
