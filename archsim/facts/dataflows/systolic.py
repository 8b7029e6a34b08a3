"""What the systolic dataflows share: the timing of folds and the counts of a stationary operand.

Notation: R x C PEs, F folds, L cycles that one fold streams (``ArrayShape.run_cycles`` of its steps).
Values hop one PE per cycle, so PE (r, c) runs r + c cycles behind PE (0, 0): a fold ends L + R + C - 2 cycles
after its first MAC. The skew down the rows (R - 1) is booked as fill, the one over the columns (C - 1) as
drain; both in full for partial folds too. Loading that nothing hides is booked apart, as load.

A stationary operand is shifted in through the top row, ``load_rows`` w of them per cycle, W = ceil(R / w) cycles for
every fold; values carry a valid bit, so a register keeps its value until one of the next fold arrives. Cycles of a
command:

    double buffer  overlap   cycles
    no             no        F (W + L + R + C - 2)                          (w = 1: SCALE-Sim's formula)
    yes            no        W + F (L + R + C - 2)
    no             yes       F (W + L) + R + C - 2
    yes            yes       W + (F - 1) max(L, W) + L + R + C - 2
    nothing held   no        F (L + R + C - 2)                              (SCALE-Sim's formula)
    nothing held   yes       F L + R + C - 2

Why: with a second register the load of the next fold starts when PE (0, 0) starts the fold before. Without
overlap that fold still takes L + R + C - 2 >= W cycles, so only the first load ever shows; with overlap the
next fold could enter after L cycles, so a load shows where W > L. With one register but overlap, the load
follows the last MAC of the fold before from PE to PE in the same skew: L + W cycles apart.
Base formulas: A. Samajdar et al., SCALE-Sim (ISPASS 2020), as measured on version 3.0.0.
"""

from __future__ import annotations

from archsim.facts.dataflows.fold import ArrayMoves, ArrayShape, Fold, NestSizes, actions_of, ceil_div, streams_of


def timing(folds: int, fold_cycles: int, load_cycles: int, array: ArrayShape) -> tuple[int, int, int, int]:
    """Load, fill, stream and drain cycles of ``folds`` folds that stream ``fold_cycles`` each.

    ``load_cycles``: loading of stationary operands that is not hidden, over the whole command.
    """
    skews = 1 if array.fold_overlap else folds
    return load_cycles, skews * (array.rows - 1), folds * fold_cycles, skews * (array.cols - 1)


def shown_load_cycles(folds: int, fold_cycles: int, array: ArrayShape) -> int:
    """Cycles of the command in which the array waits for a stationary operand (module docstring)."""
    load = array.load_cycles
    if not array.weight_double_buffer:
        return folds * load
    if not array.fold_overlap:
        return load
    short = load - fold_cycles  # shown where it is above 0
    return load + (folds - 1) * ((short + abs(short)) // 2)


def column_hops(length: int, rows: int) -> int:
    """Hops between the edge and ``length`` rows cut into folds of ``rows``, one value each.

    The rows of a partial fold are those farthest from that edge: ``used`` of them need R, R - 1, ... hops.
    """
    full, used = divmod(length, rows)
    return full * rows * (rows + 1) // 2 + used * (2 * rows - used + 1) // 2


def held_moves(size: NestSizes, held_cols: int, array: ArrayShape) -> ArrayMoves:
    """Moves of the stationary operand, k x held_cols values per batch: down its column, then a read per MAC.

    Partial folds sit in the bottom rows, from where sums leave at once. A row holds ``pack`` values.
    """
    words = ceil_div(size.k, array.pack)
    short = words * array.pack - size.k  # values missing in the last word, which sits in the bottom row
    hops = array.pack * column_hops(words, array.rows) - short * array.rows
    writes = size.batch * held_cols * hops
    onward = writes - size.batch * held_cols * size.k
    return ArrayMoves(reads=size.macs + onward, writes=writes, hops=writes)


def stationary(
    size: NestSizes, array: ArrayShape, *, held: str, held_cols: int, moving_rows: int, accumulate: bool
) -> Fold:
    """Fold of a dataflow that holds a k x held_cols matrix and streams moving_rows rows past it.

    The reduction lies on the array's rows, ``held_cols`` on its columns; sums leave at the bottom after
    every fold, so all but the first fold along k (the first too when ``accumulate``) read them back.
    ``held`` = "a" or "b", the operand in the PEs; the other one streams.
    """
    k_folds = ceil_div(size.k, array.rows * array.pack)
    col_folds = ceil_div(held_cols, array.cols)
    folds = size.batch * k_folds * col_folds
    fold_cycles = array.run_cycles(moving_rows)
    outputs = size.batch * size.m * size.n
    edge = {held: size.batch * size.k * held_cols}
    edge["a" if held == "b" else "b"] = size.batch * size.k * moving_rows * col_folds
    held_use = held_moves(size, held_cols, array)
    moving_use = ArrayMoves(size.macs, size.macs, size.macs)
    sums = outputs * ceil_div(size.k, array.pack)
    return Fold(
        *timing(folds, fold_cycles, shown_load_cycles(folds, fold_cycles, array), array),
        streams=streams_of(
            a=edge["a"],
            b=edge["b"],
            acc_read=(k_folds - 1 + accumulate) * outputs,
            acc_write=k_folds * outputs,
        ),
        inner_actions=actions_of(
            size.macs,
            a=held_use if held == "a" else moving_use,
            b=held_use if held == "b" else moving_use,
            acc=ArrayMoves(sums, sums, sums),
        ),
    )
