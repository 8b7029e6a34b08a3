"""Row-stationary array: a filter row stays in its PE, and a row of inputs slides past it there.

Filter rows r lie on the array's rows, output rows p on its columns. PE (r, p) makes, for one filter and one channel,
the sums of output row p that filter row r adds: it holds the filter row and the part of input row
p * stride + r * dilation under it. A filter row is shared along the PEs of a row, an input row along a diagonal, and
sums are added up the column, at whose top they leave. All else (images, columns, filters, channels) goes on in time.

With P, R the extents of the first window, Q, S of the last one (1 where there is none; all output rows of a product
without windows lie on the columns as P), D = the other reduction dims, M, N as in ``fold``, p = pack, ``pieces`` = the
parts of a filter row that the spads hold, and distinct(x, y) the input positions that x outputs read with y taps:

    passes F = batch N ceil(D / p) ceil(R / rows) ceil(P / cols)
    cycles:  load F S (a filter row enters, all rows at once); stream F run_cycles(M / P * S);
             drain batch N ceil(D / p) ceil(P / cols) pieces (R - ceil(R / rows)), the way up the column
    edge:    a = batch N M / (P Q) D (sum of distinct(tile of P, tile of R)) (sum of distinct(Q, piece of S));
             b = batch N K ceil(P / cols); acc_write = batch M N ceil(D / p) ceil(R / rows) pieces;
             acc_read = acc_write less the first, unless the tile adds to sums already there.

Not modelled: several sets of filter rows side by side on an array of more rows, and inputs kept for several filters.
Source: Y.-H. Chen, J. Emer, V. Sze, Eyeriss (ISCA 2016), section V; a spad of 12 inputs: Chen et al., JSSC 2017.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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

SUMMARY = "rows of filters and inputs stay in the PEs, inputs shared along diagonals, sums added up the columns"
HELD = ("weights", "inputs")
OPTIONS: tuple[str, ...] = ()
WINDOWS = True
SPAD = 12  # inputs, and weights of a filter row, that a PE holds


def fanouts(rows: int, cols: int) -> tuple[FanoutSpec, ...]:
    """Rows reduce partial sums, columns share weights; diagonals, which share inputs, are no axis."""
    return fanouts_of(rows, cols, {"reduce": ("partials",)}, {"multicast": ("weights",)})


def registers(bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
    """Per PE and packed MAC: a piece of a filter row and as many inputs; one sum. ``bits`` by role."""
    _refuse_options(array)
    return registers_of(bits, {"weights": SPAD * array.pack, "inputs": SPAD * array.pack, "partials": 1})


def spread(nest: Nest, array: ArrayShape) -> dict[str, tuple[str, ...]]:
    """Output rows and filter rows, where the array has more than one column or row for them."""
    first = nest.windows[:1]
    across = tuple(window.output for window in first) or nest.m
    return {
        "rows": tuple(window.tap for window in first) if array.rows > 1 else (),
        "cols": across if array.cols > 1 else (),
    }


def fold(nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
    """Cycles, edge streams and inner actions of one command.

    Raises ModelError for a missing extent, ConfigError for options of systolic arrays.
    """
    _refuse_options(array)
    size = sizes(nest, extents)
    p, r, q, s, rows_read, row_values = size.m, 1, 1, 1, size.m, 1
    if nest.windows:
        window = nest.windows[0]
        p, r = extents[window.output], extents[window.tap]
        rows_read = sum(window.distinct(i, j) for i in tiles(p, array.cols) for j in tiles(r, array.rows))
    if len(nest.windows) > 1:
        window = nest.windows[-1]
        q, s = extents[window.output], extents[window.tap]
        row_values = sum(window.distinct(q, piece) for piece in tiles(s, SPAD))
    depth = size.k // (r * s)
    steps = size.batch * size.n * ceil_div(depth, array.pack)  # over filters and channels
    row_folds, col_folds, pieces = ceil_div(r, array.rows), ceil_div(p, array.cols), ceil_div(s, SPAD)
    passes = steps * row_folds * col_folds
    images = size.m // (p * q)
    outputs = size.batch * size.m * size.n
    sums_out = outputs * ceil_div(depth, array.pack) * row_folds * pieces
    sums_in = sums_out - (0 if accumulate else outputs)
    inputs = size.batch * size.n * depth * images * row_values  # of one input row, for all that slides past it
    updates = steps * size.m * r * s
    return Fold(
        cycles_load=passes * s,
        cycles_fill=0,
        cycles_stream=passes * array.run_cycles(size.m // p * s),
        cycles_drain=steps * col_folds * pieces * (r - row_folds),
        streams=streams_of(
            a=inputs * rows_read, b=size.batch * size.k * size.n * col_folds, acc_read=sums_in, acc_write=sums_out
        ),
        inner_actions=actions_of(
            size.macs,
            a=ArrayMoves(size.macs, inputs * r * p, inputs * r * p),
            b=ArrayMoves(size.macs, size.batch * size.k * size.n * p, size.batch * size.k * size.n * p),
            acc=ArrayMoves(updates, updates, steps * size.m * pieces * r + sums_in),
        ),
    )


def tiles(extent: int, most: int) -> Iterator[int]:
    """Sizes of the tiles of at most ``most`` that cover an extent."""
    yield from (min(most, extent - start) for start in range(0, extent, most))


def _refuse_options(array: ArrayShape) -> None:
    array.refuse("row_stationary", "weight_double_buffer", "fold_overlap", "load_rows", "block")
