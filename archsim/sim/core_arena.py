"""The arena of a compiled machine, as it is before its first instant."""

from __future__ import annotations

import numpy as np

from archsim.base.ragged import stretches
from archsim.sim.arena import Arena
from archsim.sim.compiled import layout as k
from archsim.sim.compiled.exact import PRIME
from archsim.sim.models_beside import ModelsBeside
from archsim.sim.program_tables import ProgramTables

FOREIGN_FLOWS = 64  # streams under way of commands that Python runs
PLANS = 1 << 14  # at first: room that nothing is written to costs no memory
PAGE = 1 << 13  # records that are written before they are packed


def new_arena(tables: ProgramTables, cores: int, start_ps: int) -> Arena:
    """The arena of ``tables`` in which all queues start at ``start_ps``."""
    queues = len(tables.queues)
    flows = queues + FOREIGN_FLOWS
    ports = k.SHARED + cores * k.OWN_MOST
    shares = cores + 8
    most = max(4096, 8 * flows, ports + 1)
    rows = {name: max(1, len(found)) for name, found in tables.rows.items()}
    room = min(tables.runs, PAGE) + 8 * queues + 256
    rows |= {
        "ENV": queues, "TOKENS": max(1, tables.room_for_tokens), "PLANS": PLANS, "PLAN_KEYS": PLANS,
        "PLAN_TABLE": 4 * PLANS, "STREAMS": PLANS, "SHARES": 16 * PLANS,
        "CONFLICTS": 16 * PLANS,
        "LOADS": 128 * PLANS, "FLOWS": flows, "TURNS": flows, "PORTS": ports, "MEMBERS": flows * shares,
        "DIRTY": ports, "EVENTS": 64 * queues + 4096, "CROSSINGS": 16 * queues, "ASKED": 64 * queues + 4096,
        "TOLD": 64 * queues + 4096, "COUNTS": PLANS, "RECORDS": room, "PHASES": 5 * room,
        "SCRATCH": most, "KEY": tables.key_width,
        **ModelsBeside.rooms(queues),
    }  # fmt: skip
    numbers = {
        "CLOCK": max(1, len(tables.rows["CLOCKS"])), "STREAM": PLANS, "SHARE": 64 * PLANS, "CONFLICT": 16 * PLANS,
        "FLOW": 3 * flows, "PORT": ports, "SCRATCH": k.SCRATCH_EXACT * most,
    }  # fmt: skip
    widths = {"ENV": tables.depth, "TURNS": cores + 16, "COUNTS": max(1, len(tables.layers))}
    widths["PLAN_KEYS"] = tables.key_width
    arena = Arena(rows, numbers, widths)
    for name in [*tables.rows]:
        found = tables.take(name)
        if len(found):
            arena.table(name)[: len(found)] = found
    m = arena.m
    m[k.QUEUE_COUNT], m[k.DEPTHS], m[k.LAYERS] = queues, tables.depth, max(1, len(tables.layers))
    m[k.KEY_WIDTH], m[k.OWN_PORTS], m[k.PORTS_OF_CORE] = tables.key_width, k.SHARED, k.OWN_MOST
    m[k.MOST_SHARES], m[k.MOST_TURNS] = shares, cores + 16
    tell_rooms(arena)
    arena.table("PLAN_TABLE")[:] = k.NONE
    arena.table("PORTS")[:, k.PORT_FIRST] = k.NONE
    crossings = arena.table("CROSSINGS")
    crossings[:, 6] = np.arange(1, len(crossings) + 1)
    crossings[-1:, 6] = k.NONE
    for clock, (ps, edges, _) in enumerate(tables.rows["CLOCKS"]):
        arena.keep("CLOCK", clock, (0.0, 0.0, edges * pow(ps, -1, PRIME) % PRIME))
    tokens, counters = arena.table("TOKENS"), arena.table("COUNTERS")
    filled, counts = tables.initial
    tokens[stretches(counters[filled, k.TOKENS_FIRST], counts)[0]] = -1
    _start(arena, start_ps)
    return arena


def tell_rooms(arena: Arena) -> None:
    """Tell the machine how many rows its tables have."""
    for name in ("RECORD", "PHASE", "EVENT"):
        arena.m[getattr(k, f"{name}_ROOM")] = arena.rows[f"{name}S"]
    arena.m[k.ASKED_ROOM], arena.m[k.SCRATCH_ROOM] = arena.rows["ASKED"], arena.rows["SCRATCH"]
    arena.m[k.PLAN_MASK] = arena.rows["PLAN_TABLE"] - 1


def _start(arena: Arena, start_ps: int) -> None:
    """All queues start at an instant."""
    queues = arena.rows["QUEUES"]
    events = arena.table("EVENTS")[:queues]
    events[:, 0], events[:, 1], events[:, 2] = start_ps, np.arange(1, queues + 1), k.QUEUE_STARTS
    events[:, 3] = np.arange(queues)
    arena.m[k.NOW] = start_ps
    arena.m[k.EVENT_COUNT] = arena.m[k.ORDER] = queues
