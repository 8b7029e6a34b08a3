"""Memory layout of the constant-rate memory in compiled code: tables of 64-bit integers, a row for each thing.

A time on the port is whole picoseconds and, behind them, parts of one: how many of header[PARTS], the denominator of
picoseconds per byte. Shapes, and rows of lists, come with the time that they take there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from archsim.memory.dram.compiled.records import MOVED, SIZES

# of the header, behind what all DRAMs have (``records``): until when the port is busy, for how long it has been, both
# times on the port; transfers submitted, and their bytes; the first and the last transfer of each list
# (``sorted_slots``); transfers completed by direction
(
    PARTS, LATENCY_PS, FREE_PS, FREE_PARTS, BUSY_PS, BUSY_PARTS, SUBMITTED, SUBMITTED_BYTES, FREE_SLOT,
    ENDING, LAST_ENDING, ASKING, LAST_ASKING, READS, WRITES, LACKS, USED_WORDS, FREE_WORDS,
) = range(MOVED + 1, MOVED + 19)  # fmt: skip
HEADER = FREE_WORDS + SIZES
SLOTS, TRACE, TIME, BYTES = range(4)  # what LACKS says; of the last two nobody can make more

JOB_WIDTH = 13
# as ``sorted_slots`` has it, then what is the model's own; the key of its list is when it ends, or when it asks for its
# next row
(
    JOB_NEXT, JOB_BEFORE, JOB_KEY, JOB_ORDER, JOB_TICKET, JOB_LAYER, JOB_WRITE, JOB_USEFUL, JOB_FIRST_PS, JOB_ASKED_PS,
    JOB_LIST, JOB_ROW, JOB_LAST_PS,
) = range(JOB_WIDTH)  # fmt: skip

SHAPE_WIDTH = 4
SHAPE_WRITE, SHAPE_USEFUL, SHAPE_PS, SHAPE_PARTS = range(SHAPE_WIDTH)

LIST_WIDTH = 7  # words before those of the rows: how many in all; rows, and how many may be under way
LIST_WORDS, LIST_WRITE, LIST_USEFUL, LIST_ROWS, LIST_MOST, LIST_SETUP, LIST_HZ = range(LIST_WIDTH)
ROW_WIDTH = 3
ROW_BYTES, ROW_PS, ROW_PARTS = range(ROW_WIDTH)
ROW_END_PS = ROW_BYTES  # once it has been asked for


class ConstantState(NamedTuple):
    """All arrays of a memory, S slots for transfers under way; see the columns above."""

    header: Any  # (HEADER,)
    completions: Any  # (S, served.COMPLETION_WIDTH) of the instant reached
    jobs: Any  # (S, JOB_WIDTH)
    shapes: Any  # (N, SHAPE_WIDTH)
    words: Any  # (W,) of lists
    charged: Any  # (layers, records.CHARGES)
    moved: Any  # (M, records.MOVED_WIDTH)
