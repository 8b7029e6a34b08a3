"""Memory layout of the fast DRAM model in compiled code: tables of 64-bit integers, a row for each thing.

What is measured or worked out once is asked of Python, which keeps it where the compiled code finds it the next time:
kinds of transfers (of a shape, where its first byte lies in a burst, and whether it follows another one), lists of
rows, and crowds (how many transfers of each pattern are under way, and how many of them at a time).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from archsim.memory.dram.compiled.records import MOVED

SCALE = 1 << 20  # parts of a picosecond in which work is kept
MOST_WORK = 1 << 60  # of a transfer, in these parts: 1.1 s of the memory's time
REMEMBERED = 64  # ends of transfers, for those that follow them
LACKING = -1  # in place of a time: Python has to be asked first
HASH: Any = np.int64(0x9E3779B97F4A7C1)

# ---- the header, behind what all DRAMs have (``records``)

(
    BURST_BYTES, CAPACITY, CLOCK_HZ, READ_LATENCY, WRITE_LATENCY, REACHED_PS, WORK, SUBMITTED, FIRST_PS, UNDER_WAY_PS,
    FREE, SERVED, LAST_SERVED, ENDING, LAST_ENDING, PRESENT, TOTAL, TOGETHER, PACE, ENDS_FIRST, ENDS_COUNT,
    LACKS, LACK_HASH, LACK_WHAT, LACK_OFFSET, LACK_FOLLOWS, DIVIDED, DIVIDED_SIDE,
    READS, WRITES, ROW_HITS, ROW_MISSES, ROW_CONFLICTS, ROWS_OPENED, BUSY_PS, ANSWERS,
) = range(MOVED + 1, MOVED + 37)  # fmt: skip
ANSWER_WIDTH = 4  # of each side of a rate: which rate, what it was multiplied with, the floor, whether there is a rest
ANSWER_RATE, ANSWER_OF, ANSWER_FLOOR, ANSWER_REST = range(ANSWER_WIDTH)
HEADER = ANSWERS + 2 * ANSWER_WIDTH
SLOTS, KINDS, LISTS, CROWDS, DIVISIONS, TRACE = range(6)  # what LACKS says

# ---- tables

JOB_WIDTH = 9
# as ``sorted_slots`` has it, then what is the model's own; the key of its list is the work done in all at which it is
# through, then when it ends
JOB_NEXT, JOB_BEFORE, JOB_KEY, JOB_ORDER, JOB_START_PS, JOB_KIND, JOB_TICKET, JOB_LAYER, JOB_ASKED_PS = range(JOB_WIDTH)

SHAPE_WIDTH = 4
SHAPE_BELOW, SHAPE_ABOVE, SHAPE_USEFUL, SHAPE_RUN = range(SHAPE_WIDTH)  # RUN: NONE where it is not contiguous

KIND_WIDTH = 18
(
    KIND_HASH, KIND_SHAPE, KIND_OFFSET, KIND_FOLLOWS, KIND_PATTERN, KIND_WORK, KIND_WRITE, KIND_USEFUL, KIND_PIN_BYTES,
    KIND_HITS, KIND_MISSES, KIND_CONFLICTS, KIND_ACTIVATES, KIND_BUS_PS, KIND_ASKER, KIND_ASKER_2, KIND_CYCLES, KIND_HZ,
) = range(KIND_WIDTH)  # fmt: skip

CROWD_WIDTH = 2
CROWD_HASH, CROWD_AT = range(CROWD_WIDTH)  # its words: how many together, how many patterns, number and count of each

SIDE_WIDTH = 5
# of a rate v = NUMERATOR / DENOMINATOR: MANTISSA / 2^SHIFT is v, or, where it is ROUNDED, below it by less than one of
# the mantissa; the numerator modulo 2^64, a denominator from 2^63 on is 0
MANTISSA, SHIFT, ROUNDED, NUMERATOR, DENOMINATOR = range(SIDE_WIDTH)
FORWARD, INVERSE = 0, SIDE_WIDTH  # parts of work in a picosecond; picoseconds in one of these parts
RATE_WIDTH = 2 * SIDE_WIDTH

ASKER_WIDTH = 2
ASKER_COUNT, ASKER_GROUP = range(ASKER_WIDTH)  # transfers under way; those of its name's first part


class FastState(NamedTuple):
    """All arrays of a memory, S slots for transfers under way; see the columns above."""

    header: Any  # (HEADER,)
    completions: Any  # (S, served.COMPLETION_WIDTH) of the instant reached
    jobs: Any  # (S, JOB_WIDTH)
    present: Any  # (S, 2) the patterns under way by number, and their transfers
    shapes: Any  # (N, SHAPE_WIDTH)
    kinds: Any  # (K, KIND_WIDTH)
    kind_table: Any  # (2^k,) numbers of kinds by hash; NONE
    listed: Any  # (L,) the kinds of lists of rows; NONE where that is not known yet
    crowds: Any  # (C, CROWD_WIDTH)
    crowd_table: Any  # (2^c,)
    words: Any  # (W,) of crowds
    rates: Any  # (C, RATE_WIDTH) of crowds
    ends: Any  # (REMEMBERED,) where the last contiguous transfers end, a ring
    askers: Any  # (A, ASKER_WIDTH)
    groups: Any  # (G,) transfers that another one of their asker comes before
    charged: Any  # (layers, records.CHARGES)
    moved: Any  # (M, records.MOVED_WIDTH)
