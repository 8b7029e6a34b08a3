"""A queue's text as it is run: the next command, what limits it, where its operands lie, which plan it has."""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.base.jit import entry, inlined, njit
from archsim.sim.compiled import layout as k


@njit
def next_command(m: Any, q: int) -> int:
    """Go to the next command of queue ``q`` that is run at all; its row, NONE at the end."""
    queue = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH
    env = m[k.ENV_AT] + q * m[k.DEPTHS]
    while m[queue + k.PC] < m[queue + k.PC_END]:
        node = m[k.NODES_AT] + m[queue + k.PC] * k.NODE_WIDTH
        if m[node + k.KIND] == k.COMMAND:
            m[queue + k.PC] += 1
            command = m[k.COMMANDS_AT] + m[node + k.OTHER] * k.COMMAND_WIDTH
            if m[queue + k.BITS] & m[command + k.WHEN_BITS] == m[command + k.WHEN]:
                return int(m[node + k.OTHER])
        elif m[node + k.KIND] == k.LOOP:
            if m[node + k.TRIPS] <= 0:
                m[queue + k.PC] = m[node + k.OTHER] + 1
            else:
                _enter(m, queue, env, node, 0)
                m[queue + k.PC] += 1
        else:
            loop = m[k.NODES_AT] + m[node + k.OTHER] * k.NODE_WIDTH
            value = m[env + m[loop + k.DEPTH]] + 1
            if value < m[loop + k.TRIPS]:
                _enter(m, queue, env, loop, value)
                m[queue + k.PC] = m[node + k.OTHER] + 1
            else:
                m[queue + k.BITS] &= ~(3 << (2 * m[loop + k.DEPTH]))
                m[queue + k.PC] += 1
    return k.NONE


@inlined
def _enter(m: Any, queue: int, env: int, loop: int, value: int) -> None:
    """Begin round ``value`` of a loop."""
    depth = m[loop + k.DEPTH]
    m[env + depth] = value
    edges = (1 if value == 0 else 0) | (2 if value == m[loop + k.TRIPS] - 1 else 0)
    m[queue + k.BITS] = m[queue + k.BITS] & ~(3 << (2 * depth)) | edges << (2 * depth)


@njit
def value_of(m: Any, affine: int, env: int) -> int:
    """Of an affine at the loop indices from ``env`` on."""
    row = m[k.AFFINES_AT] + affine * k.AFFINE_WIDTH
    found = m[row]
    for term in range(m[row + 1], m[row + 2]):
        place = m[k.TERMS_AT] + term * k.TERM_WIDTH
        found += m[place + 1] * m[env + m[place]]
    return int(found)


@njit
def address(m: Any, q: int, operand: int) -> int:
    """First byte of an operand (its row) of the command that queue ``q`` is at."""
    row = m[k.OPERANDS_AT] + operand * k.OPERAND_WIDTH
    site = m[k.SITES_AT] + m[row] * k.SITE_WIDTH
    found = m[site + k.BASE] + value_of(m, m[row + 1], m[k.ENV_AT] + q * m[k.DEPTHS])
    if m[site + k.SLOT_COUNTER] >= 0:
        slot = m[m[k.COUNTERS_AT] + m[site + k.SLOT_COUNTER] * k.COUNTER_WIDTH + k.TAKEN] - 1
        if m[site + k.TAPE] >= 0:
            found += m[m[k.TAPES_AT] + m[site + k.TAPE] + slot] % m[site + k.RING_BYTES]
        else:
            found += slot % m[site + k.SLOTS] * m[site + k.SLOT_BYTES]
    return int(found)


@njit
def key_of(m: Any, q: int) -> int:
    """Write what the plan of the present command of queue ``q`` follows from to KEY; how many numbers it is."""
    queue, env, key = m[k.QUEUES_AT] + q * k.QUEUE_WIDTH, m[k.ENV_AT] + q * m[k.DEPTHS], m[k.KEY]
    command = m[k.COMMANDS_AT] + m[queue + k.CURRENT] * k.COMMAND_WIDTH
    m[key] = m[command + k.SORT]
    m[key + 1] = 1 if m[queue + k.BITS] & m[command + k.FRESH_BITS] == m[command + k.FRESH] else 0
    size = 2
    for extent in range(m[command + k.EXTENTS], m[command + k.EXTENTS_END]):
        row = m[k.EXTENTS_AT] + extent * k.EXTENT_WIDTH
        length = m[row]
        for limit in range(m[row + 1], m[row + 2]):
            length = min(length, value_of(m, limit, env))
        m[key + size] = max(length, 0)
        size += 1
    for clip in range(m[command + k.CLIPS], m[command + k.CLIPS_END]):
        row = m[k.CLIPS_AT] + clip * k.CLIP_WIDTH
        start = value_of(m, m[row + 1], env)
        end = m[key + 2 + m[row]] if m[row] >= 0 else 0
        m[key + size] = max(0, -start)
        m[key + size + 1] = min(end, m[row + 2] - start)
        size += 2
    for place in range(m[command + k.PLACES], m[command + k.PLACES_END]):
        row = m[k.PLACES_AT] + place * k.PLACE_WIDTH
        m[key + size] = address(m, q, m[row]) % m[row + 1]
        size += 1
    return size


@entry
@njit
def write_key(m: Any, q: int) -> int:
    """As ``key_of``, for Python."""
    return key_of(m, q)


@njit
def _hash(m: Any, key: int, size: int) -> int:
    """Hash of the first ``size`` numbers of a key."""
    found: Any = np.int64(0)
    for place in range(size):
        found = (found ^ m[key + place]) * k.HASH
        found ^= found >> np.int64(29)
    return int(found)


@njit
def find_plan(m: Any, size: int) -> int:
    """The plan of KEY, which has ``size`` numbers; NONE where there is none yet."""
    mask, key = m[k.PLAN_MASK], m[k.KEY]
    place = _hash(m, key, size) & mask
    while m[m[k.PLAN_TABLE_AT] + place] != k.NONE:
        plan = m[m[k.PLAN_TABLE_AT] + place]
        known = m[k.PLAN_KEYS_AT] + plan * m[k.KEY_WIDTH]
        same = m[known + m[k.KEY_WIDTH] - 1] == size
        for number in range(size):
            same = same and m[known + number] == m[key + number]
        if same:
            return int(plan)
        place = (place + 1) & mask
    return k.NONE


@njit
def insert_plan(m: Any, plan: int) -> None:
    """Put a plan where its key finds it."""
    mask, key = m[k.PLAN_MASK], m[k.PLAN_KEYS_AT] + plan * m[k.KEY_WIDTH]
    place = _hash(m, key, m[key + m[k.KEY_WIDTH] - 1]) & mask
    while m[m[k.PLAN_TABLE_AT] + place] != k.NONE:
        place = (place + 1) & mask
    m[m[k.PLAN_TABLE_AT] + place] = plan
