"""Register-blocked array (tensor cores of a GPU, matrix units of a core): a block of sums lies in registers.

Not systolic: operands are broadcast, nothing is skewed. Output rows lie on the rows, output columns on the columns, the
reduction is steps in time. A PE keeps ``block`` x ``block`` sums, so that what is read of both operands for a step
serves a block of P = R block output rows and Q = C block output columns, one part of R x C after the other: warps that
share a core's memory read each operand once for their tile of sums. With p = pack:

    cycles = batch ceil(M / R) ceil(N / C) run_cycles(ceil(K / p));
    edge: a = batch ceil(N / Q) M K; b = batch ceil(M / P) K N; acc_write = batch M N;
    acc_read = batch M N when the tile adds to sums already there, else 0.

A sum that is kept over commands enters and leaves the array once for each of them: the accumulators outside are the
same registers, which the machine times as a memory. What is read of an operand hops from PE to PE along the row or
column of a block, and each keeps what its own sums need of it. Not modelled: the latency of the loads into registers;
a block that does not fill its warps is as fast as one that does.
Source: CUTLASS, "Efficient GEMM in CUDA" (threadblock, warp and instruction tiles).
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

SUMMARY = "sums of a block of outputs stay in registers, operands are read once for the block; not systolic"
HELD = "partials"
OPTIONS = ("block",)
ARRAYS = True


def fanouts(rows: int, cols: int) -> tuple[FanoutSpec, ...]:
    """Rows share weights, columns share inputs."""
    return fanouts_of(rows, cols, {"multicast": ("weights",)}, {"multicast": ("inputs",)})


def registers(bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
    """Per PE: its block of sums; per packed MAC, one input and one weight for each row and column of the block."""
    _refuse_options(array)
    operands = array.block * array.pack
    return registers_of(bits, {"partials": array.block**2, "inputs": operands, "weights": operands})


def fold(nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
    """Cycles, edge streams and inner actions of one command.

    Raises ModelError for a missing extent, ConfigError for options of other dataflows.
    """
    _refuse_options(array)
    size = sizes(nest, extents)
    steps = ceil_div(size.k, array.pack)
    row_folds, col_folds = ceil_div(size.m, array.rows), ceil_div(size.n, array.cols)
    inputs, weights = size.batch * size.m * size.k, size.batch * size.k * size.n
    outputs = size.batch * size.m * size.n
    read_a = ceil_div(size.n, array.cols * array.block) * inputs
    read_b = ceil_div(size.m, array.rows * array.block) * weights
    handed_a = inputs * _spanned(size.n, array.cols, array.block)
    handed_b = weights * _spanned(size.m, array.rows, array.block)
    sums_in = outputs if accumulate else 0
    updates = outputs * steps
    return Fold(
        cycles_load=0,
        cycles_fill=0,
        cycles_stream=size.batch * row_folds * col_folds * array.run_cycles(steps),
        cycles_drain=0,
        streams=streams_of(a=read_a, b=read_b, acc_read=sums_in, acc_write=outputs),
        inner_actions=actions_of(
            size.macs,
            a=ArrayMoves(size.macs, handed_a, handed_a),
            b=ArrayMoves(size.macs, handed_b, handed_b),
            acc=ArrayMoves(updates + sums_in, updates + sums_in, outputs + sums_in),
        ),
    )


def _spanned(length: int, pes: int, block: int) -> int:
    """PEs of an axis that have a part of ``length`` outputs, added up over all blocks."""
    full, rest = divmod(length, pes * block)
    return full * pes + rest - (rest - pes) * (rest > pes)


def _refuse_options(array: ArrayShape) -> None:
    array.refuse("register_blocked", "weight_double_buffer", "fold_overlap", "load_rows")
