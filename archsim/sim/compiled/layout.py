"""Memory layout of the compiled machine: three arrays, ``m`` of whole numbers, ``x`` and ``r`` of exact ones.

``m`` begins with the header: where each table begins, how much there is of everything, and what time it is. A table has
a row for each thing and a column for each property. Exact number n (``exact``) is x[2 n] + x[2 n + 1] with the residue
r[n]; tables of them are numbered one after the other too.

The text of a Program stands in NODES (its loops and commands, queue after queue) and COMMANDS with the lists that these
point into: first row, and the row after the last. What runs stands in QUEUES, FLOWS and PORTS. A port, or a memory, of
the core's own is numbered -1, -2, ... where cores share what is said of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NEVER = 1 << 62
NONE = -1

# ---- the header

TABLES = (
    *("NODES", "COMMANDS", "WAITS", "SIGNALS", "EXTENTS", "AFFINES", "TERMS", "CLIPS", "PLACES", "OPERANDS"),
    *("SITES", "TAPES", "QUEUES", "ENV", "COUNTERS", "TOKENS", "RINGS", "RELEASES", "GUARDS", "CLOCKS"),
    *("PLANS", "PLAN_KEYS", "PLAN_TABLE", "DEMANDS", "STREAMS", "SHARES", "CONFLICTS", "LOADS", "FLOWS", "TURNS"),
    *("PORTS", "MEMBERS", "DIRTY", "EVENTS", "CROSSINGS", "ASKED", "TOLD", "COUNTS", "RECORDS", "PHASES"),
    *("STREAMED", "SCRATCH", "KEY", "MODELS", "REQUESTS", "TICKETS", "BEGUN", "BEGUN_TABLE", "PARCELS"),
)
(
    NODES_AT, COMMANDS_AT, WAITS_AT, SIGNALS_AT, EXTENTS_AT, AFFINES_AT, TERMS_AT, CLIPS_AT, PLACES_AT, OPERANDS_AT,
    SITES_AT, TAPES_AT, QUEUES_AT, ENV_AT, COUNTERS_AT, TOKENS_AT, RINGS_AT, RELEASES_AT, GUARDS_AT, CLOCKS_AT,
    PLANS_AT, PLAN_KEYS_AT, PLAN_TABLE_AT, DEMANDS_AT, STREAMS_AT, SHARES_AT, CONFLICTS_AT, LOADS_AT, FLOWS_AT,
    TURNS_AT, PORTS_AT, MEMBERS_AT, DIRTY_AT, EVENTS_AT, CROSSINGS_AT, ASKED_AT, TOLD_AT, COUNTS_AT, RECORDS_AT,
    PHASES_AT, STREAMED_AT, SCRATCH_AT, KEY, MODELS_AT, REQUESTS_AT, TICKETS_AT, BEGUN_AT, BEGUN_TABLE_AT, PARCELS_AT,
) = range(49)  # fmt: skip
EXACT_TABLES = ("CLOCK", "STREAM", "SHARE", "CONFLICT", "FLOW", "PORT", "SCRATCH")
(
    CLOCK_NUMBERS, STREAM_NUMBERS, SHARE_NUMBERS, CONFLICT_NUMBERS, FLOW_NUMBERS, PORT_NUMBERS, SCRATCH_NUMBERS, NOW,
    EVENT_COUNT, ORDER, DIRTY_COUNT, ASKED_COUNT, TOLD_COUNT, RECORD_COUNT, PHASE_COUNT, STREAMED_COUNT, FAILED,
    STAMP, CROSSING_FREE, QUEUE_COUNT, DEPTHS, LAYERS, PLAN_MASK, RECORD_ROOM, PHASE_ROOM, STREAMED_ROOM, EVENT_ROOM,
    ASKED_ROOM, SCRATCH_ROOM, OWN_PORTS, PORTS_OF_CORE, OWN_MEMORIES, MEMORIES_OF_CORE, MOST_SHARES, MOST_DEMANDS,
    MOST_TURNS, LEAST_SETUP_PS, SUBMITS_PS, FLOWS_BEGUN, MODEL_COUNT, MODELS_PS, SHORT_MODEL, REQUEST_COUNT,
    REQUEST_ROOM, TICKET_ROOM, TICKETS_OUT, FREE_TICKET, BEGUN_MASK, MOST_PARCELS,
) = range(49, 98)  # fmt: skip
HEADER = 98
FINE, FULL, LOST, UNCERTAIN, UNDERFLOW, MODEL_FULL, MODEL_STUCK = range(7)  # FAILED

# ---- the text

NODE_WIDTH = 4
KIND, TRIPS, DEPTH, OTHER = range(4)  # OTHER: of a loop its end, of an end its loop, of a command its row
COMMAND, LOOP, END = range(3)

COMMAND_WIDTH = 20
(
    WHEN_BITS, WHEN, WAITS, WAITS_END, SIGNALS, SIGNALS_END, EXTENTS, EXTENTS_END, FRESH_BITS, FRESH, CLIPS,
    CLIPS_END, PLACES, PLACES_END, DOES, TEXT, LAYER, SORT, OPERANDS, OPERANDS_END,
) = range(COMMAND_WIDTH)  # fmt: skip
SYNC, PLANNED, FOREIGN = range(3)  # what a command does: nothing, what a plan says, what Python does

WAIT_WIDTH = 4  # bits, wanted, counter, tokens
SIGNAL_WIDTH = 6  # bits, wanted, kind of sink, sink, tokens, clock of who sees them later (NONE: at once)
TO_COUNTER, TO_RELEASE, TO_GUARD, TO_PYTHON = range(4)
EXTENT_WIDTH = 3  # size, first limit, last limit: affines
AFFINE_WIDTH = 3  # constant, first term, last term
TERM_WIDTH = 2  # depth of its loop, coefficient
CLIP_WIDTH = 3  # place of its extent in the command or NONE, affine, length
PLACE_WIDTH = 2  # operand, granule
OPERAND_WIDTH = 2  # site, affine

SITE_WIDTH = 6  # where a queue finds a tensor, or a ring
BASE, SLOT_BYTES, SLOTS, SLOT_COUNTER, TAPE, RING_BYTES = range(SITE_WIDTH)

# ---- what runs

QUEUE_WIDTH = 23
(
    PC, PC_END, BITS, CORE, CLOCK, CURRENT, INDEX, LACKING, HEAD_PS, START_PS, LAST_PS, LAST_UNIT, LAST_INDEX, PLAN,
    PENDING, MOVING_PS, BEAT_PS, TRAVEL_BEAT_PS, TRAVEL_FLIT_PS, STATE, RECORD, UNIT_RANK, IS_HERE,
) = range(QUEUE_WIDTH)  # fmt: skip
IDLE, BLOCKED, RUNNING, ENDED = range(4)

COUNTER_WIDTH = 7
COUNTER_QUEUE, TOKENS_FIRST, TOKENS_ROOM, TOKENS_HEAD, TOKENS_COUNT, NEED, TAKEN = range(COUNTER_WIDTH)
TOKEN_WIDTH = 3  # when it was seen, unit and number of the command that gave it
RING_WIDTH = 5
FREE_COUNTER, FREED, HOLDING, RELEASES, RELEASES_END = range(RING_WIDTH)
RELEASE_WIDTH = 2  # ring, slots given
GUARD_WIDTH = 2  # counter of what was taken, slots given
CLOCK_WIDTH = 3
SYNC_STAGES = 2  # behind: picoseconds, and how many edges they have

PLAN_WIDTH = 16
(
    PLAN_KIND, STREAM, END_1, END_2, END_3, END_4, MACS, SLOTS_PER_CYCLE, SETUP, OWN_CYCLES, LEGS, TRAVELS, READS,
    DEMANDS, DEMANDS_END, OUTER,
) = range(PLAN_WIDTH)  # fmt: skip
ARRAY, VECTOR, MOVE, LAUNCH = range(4)
SEVERAL = -2  # OUTER of moves that are begun command by command
KEY_WIDTH = 256  # what a plan follows from, and how many numbers that is
HASH: Any = np.int64(0x9E3779B97F4A7C1)
DEMAND_WIDTH = 3  # memory, write, bytes

STREAM_WIDTH = 3
SHARES, SHARES_END, WHOLE_CYCLES = range(STREAM_WIDTH)
SHARE_WIDTH = 3
PORT, CONFLICTS, CONFLICTS_END = range(SHARE_WIDTH)
SHARE, INVERSE, EVEN, PEAK = range(4)  # exact numbers of a share
CONFLICT_WIDTH = 6  # a stream that loads some banks more than others, by where it lies
CONFLICT_OPERAND, CONFLICT_SHIFT, CONFLICT_GRANULE, CONFLICT_PERIOD, LOADS, BANKS = range(CONFLICT_WIDTH)

FLOW_WIDTH = 7
FLOW_STREAM, FLOW_CORE, FLOW_CLOCK, FLOW_END_PS, FLOW_VERSION, FLOW_ACTIVE, FLOW_ORDER = range(FLOW_WIDTH)
DONE, PACE, SINCE = range(3)  # exact numbers of a flow
PORT_WIDTH = 4
PORT_FLOWS, PORT_FIRST, PORT_UNEVEN, PORT_DIRTY = range(PORT_WIDTH)
MEMBER_WIDTH = 4  # flow, share, the member before, the one after
SCRATCH_WIDTH, SCRATCH_EXACT = 18, 7

EVENT_WIDTH = 5  # time, order, kind, what, version
FLOW_ENDS, TOKEN_SEEN, QUEUE_READY, QUEUE_STARTS, LEG_ENDS, TRAVEL_ENDS = range(6)
CROSSING_WIDTH = 7  # kind of sink, sink, tokens, when seen, unit, number, next unused one

# ---- models beside it

MODEL_WIDTH = 5  # addresses: of its entries, its table, its completions, and of the time of the next one at the soonest
SUBMIT, ADVANCE, TABLE, COMPLETIONS, NEXT_PS_AT = range(MODEL_WIDTH)
TICKET_WIDTH = 3  # of a request: the event that its end is, or FOR_PYTHON; of which queue; the next one that is free
TICKET_KIND, TICKET_WHAT, TICKET_NEXT = range(TICKET_WIDTH)
FOR_PYTHON = -1
BEGUN_WIDTH = 5  # how a plan is begun on a queue: by parcels, or by Python
BEGUN_QUEUE, BEGUN_PLAN, BEGUN_RANK, PARCELS, PARCELS_END = range(BEGUN_WIDTH)
BY_PYTHON = -1  # in place of a rank
BEGUN_HASH = 40503
PARCEL_WIDTH = 5  # a request: of which model, which one of the move, what it knows it by, how far behind the address
PARCEL_MODEL, PARCEL_NUMBER, PARCEL_WHAT, PARCEL_SHIFT, PARCEL_ENDS = range(PARCEL_WIDTH)

# ---- to and from Python

WITHIN, AHEAD, MODELS_ALONE = range(3)  # how it is run: this instant; instants and models; the next model

ASKED_WIDTH = 6
WANT_PLAN, WANT_TRANSFERS, WANT_FOREIGN, FLOW_ENDED, TOKEN_OUT, COMPLETED = range(6)
TOLD_WIDTH = 16
HAVE_PLAN, LEG_ENDED, TRAVEL_ENDED, FOREIGN_ENDED, BEGIN_FLOW, GIVE_TOKEN, HAVE_BEGUN, HAVE_REQUEST = range(8)

RECORD_WIDTH = 8  # queue, text, head, start, end, unit and number of the command that met the last wait, plan
PHASE_WIDTH = 3  # record, phase, until
STREAMED_WIDTH = 5  # memory, start, end, bytes, write
PHASE_NAMES = ("", "busy", "fill_drain", "weight_load", "sram_port", "dram", "noc", "launch")
BUSY, FILL_DRAIN, WEIGHT_LOAD, SRAM_PORT, DRAM, NOC, LAUNCHING = range(1, len(PHASE_NAMES))
