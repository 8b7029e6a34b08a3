"""Building, growing and reading the arrays of the machine's DRAM model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from archsim.base import served
from archsim.base.arrays import IntArray
from archsim.base.errors import SimulationError
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramMemory
from archsim.memory.dram import device_records
from archsim.memory.dram.compiled import records as k
from archsim.memory.dram.compiled import records as t

FIRST_SLOTS = 16  # transfers under way before the arrays first grow
FIRST_WORDS = 4096
FIRST_SHAPES = 16
FIRST_MOVED = 1024


def initial(
    dram: DramMemory, policy: ControllerPolicy, mapping: AddressMap, interleave_bytes: int, *, log: bool
) -> t.DramState:
    """The arrays of an idle DRAM at time 0: rows closed, the first refresh one interval away."""
    rules = device_records.rules(dram.device, policy, mapping)
    channels = device_records.channels(dram.device, rules, dram.channels)
    channels["writing"] = 1  # as after a cycle in which no read waits; nothing is submitted before the first
    logs = np.zeros(dram.channels, k.LOG)
    logs["limit"] = k.LOG_ROOM if log else 0
    transfers = np.zeros(FIRST_SLOTS, t.TRANSFER)
    header = np.zeros(k.HEADER, np.int64)
    header[served.NEXT_PS] = served.NEVER
    return t.DramState(
        header=header,
        completions=np.zeros((FIRST_SLOTS, served.COMPLETION_WIDTH), np.int64),
        rules=rules,
        spread=_spread(dram, rules, interleave_bytes, policy.turn_bursts),
        channels=channels,
        feeds=_feeds(dram, rules),
        transfers=transfers,
        table=_table(transfers),
        shapes=np.zeros((FIRST_SHAPES, t.TRANSFER.itemsize // 8), np.int64),
        staged=np.zeros(0, np.int64),
        cursors=np.zeros((dram.channels, FIRST_SLOTS), t.CURSOR),
        ending=np.full(1, k.NONE, np.int64),
        free=np.arange(FIRST_SLOTS)[::-1].copy(),
        words=np.zeros(FIRST_WORDS, np.int64),
        logs=logs,
        charged=np.zeros((0, k.CHARGES), np.int64),
        moved=np.zeros((0, k.MOVED_WIDTH), np.int64),
    )


def with_room(state: t.DramState) -> t.DramState:
    """The same state with twice of what it lacks: room on the trace, slots for transfers, or words."""
    lacking = len(state.transfers) + int(state.header[k.MOVED]) - len(state.moved)
    if state.header[k.TRACES] and lacking > 0:
        return state._replace(moved=padded(state.moved, max(lacking, len(state.moved), FIRST_MOVED)))
    if state.spread["free_slots"][0]:
        return state._replace(words=padded(state.words, len(state.words)))
    slots = len(state.transfers)
    transfers = padded(state.transfers, slots)
    transfers["place"] += slots
    state.spread["free_slots"] = slots
    return state._replace(
        completions=padded(state.completions, slots),
        transfers=transfers,
        table=_table(transfers),
        cursors=padded(state.cursors, slots, 1),
        free=np.concatenate([np.arange(slots, 2 * slots)[::-1], state.free]),
    )


def with_shape(state: t.DramState, number: int, words: IntArray) -> t.DramState:
    """The same state with one more shape."""
    if number == len(state.shapes):
        state = state._replace(shapes=padded(state.shapes, number))
    state.shapes[number] = words
    return state


def next_staged(state: t.DramState) -> int:
    """Where the next list that is to be submitted goes: behind those that have not been taken."""
    header = state.header
    if not header[k.STAGED]:
        header[k.STAGED_END] = 0
    return int(header[k.STAGED_END])


def with_staged(state: t.DramState, first: int, words: IntArray) -> t.DramState:
    """The same state with a list that is to be submitted."""
    more = first + len(words) - len(state.staged)
    if more > 0:
        state = state._replace(staged=padded(state.staged, max(more, len(state.staged))))
    state.staged[first : first + len(words)] = words
    state.header[[k.STAGED, k.STAGED_END]] += len(words)
    return state


def with_asker(state: t.DramState, requests: int, hz: int) -> tuple[t.DramState, int]:
    """The same state with an asker of whom nothing has come yet, and the first of its words."""
    first = int(state.spread["used_words"][0])
    end = first + k.ASKER + requests
    while end > len(state.words):
        state = state._replace(words=padded(state.words, len(state.words)))
    state.words[first : first + k.ASKER] = (requests, hz, 0, 0, 0)
    state.spread["used_words"] = end
    return state, first


def padded(array: Any, entries: int, axis: int = 0) -> Any:
    """The array with ``entries`` more zero entries along ``axis``."""
    shape = tuple(entries if d == axis else size for d, size in enumerate(array.shape))
    return np.concatenate([array, np.zeros(shape, array.dtype)], axis)


def _table(array: Any) -> Any:
    """Records of 64-bit integers as a table of the same memory."""
    return array.view(np.int64).reshape(array.size, -1)


def issued(channels: Any) -> tuple[Any, Any, Any, Any]:
    """Reads, writes, activates and refreshes by channel."""
    counts = channels["counts"]
    reads, writes = counts[:, k.RD] + counts[:, k.RDA], counts[:, k.WR] + counts[:, k.WRA]
    return reads, writes, counts[:, k.ACT], counts[:, k.REFAB] + counts[:, k.REFPB]


def opened(channels: Any, now: int) -> int:
    """Cycles before ``now`` in which a rank had a row open, of all ranks and channels."""
    return int(device_records.opened(channels, now).sum())


def relative(state: t.DramState, askers: Iterable[int], now: int) -> bytes:
    """What an idle memory does next depends on this alone: rows, and the cycles from ``now`` on that are not free.

    ``askers``: the first word of each.
    """
    rules, channels = state.rules[0], state.channels
    never = k.NEVER // 2  # far from what is reached, and from what never is

    def ahead(cycles: Any) -> Any:
        return np.where(cycles >= never, k.NEVER, np.maximum(cycles - now, 0))

    longest = int(rules["window_cycles"].max())
    units = max(1, int(rules["banks"]) // max(1, int(rules["refresh_scope"])))
    found = [ahead(channels["ready"][:, : int(rules["banks"]) << k.COMMAND_BITS])]
    found += [ahead(channels["bus"][:, : int(rules["ranks"]) << k.COMMAND_BITS])]
    found += [ahead(channels[name]) for name in ("clock_until", "refresh_due")]
    found += [channels["open_row"], channels["writing"], np.maximum(_oldest_first(rules, channels) - now, -longest)]
    found += [channels["refresh_asked"] - channels["refresh_done"], channels["refresh_done"] % units]
    if rules["row_policy"] == k.TIMEOUT:
        found.append(np.maximum(channels["accessed"] - now, -int(rules["row_timeout"])))
    found += [np.array(times, np.int64) for times in _held_back(state, askers, now)]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in found)


def _held_back(state: t.DramState, askers: Iterable[int], now: int) -> list[tuple[int, ...]]:
    """Of each asker that took in bursts so late that they hold back coming ones: its number, and how late they were."""
    found = []
    for number, first in enumerate(askers):
        most, hz, _, taken, _ = state.words[first : first + t.ASKER].tolist()
        times = [int(state.words[first + t.ASKER + n % most]) for n in range(max(0, taken - most), taken)]
        late = [now - at for at in times if (now - at) * hz < 2 * int(state.spread[0]["clock_hz"]) + 2 * hz]
        if late:
            found.append((number, taken % most, *late))
    return found


def _oldest_first(rules: Any, channels: Any) -> Any:
    """The commands that windows remember, of each unit the oldest first."""
    counts = np.maximum(rules["window_count"], 1)[None, :, None, None]
    places = np.arange(k.LONGEST_WINDOW)[None, None, None, :]
    order = np.where(places < counts, (channels["history_at"][..., None] + places) % counts, places)
    return np.take_along_axis(channels["history"], order, axis=3)


def commands(state: t.DramState) -> list[Any]:
    """Every command by channel; raises SimulationError when there were more than are kept."""
    if (state.logs["limit"] == 0).any() or (state.logs["count"] >= state.logs["limit"]).any():
        raise SimulationError(f"DRAM: its commands were not kept, or are more than {k.LOG_ROOM} on a channel")
    return [log["rows"][: log["count"]].copy() for log in state.logs]


def _spread(dram: DramMemory, rules: Any, interleave_bytes: int, turn_bursts: int) -> Any:
    found = np.zeros(1, t.SPREAD)
    found["channels"] = dram.channels
    found["burst_bits"] = _bits(dram.device.burst_bytes)
    found["interleave_bits"] = _bits(interleave_bytes // dram.device.burst_bytes)
    found["turn"] = turn_bursts
    found["clock_hz"] = dram.device.clock_hz
    found["burst_bytes"] = dram.device.burst_bytes
    found["capacity_bytes"] = dram.capacity_bytes
    found["gap"] = _gap(rules)
    found["free_slots"] = FIRST_SLOTS
    found["free_words"] = k.NONE
    found["paced"] = k.NONE
    found["shortest"] = min(int(rules["read_end"][0]), int(rules["write_end"][0]))
    return found


def _gap(rules: Any) -> int:
    """Cycles between any two column commands of a channel, at least."""
    columns = [k.RD, k.WR] + ([k.RDA, k.WRA] if rules["row_policy"][0] == k.CLOSED else [])
    others = 2 if rules["ranks"][0] > 1 else 1
    return max(1, int(rules["spacing"][0][columns][:, :others][:, :, columns].min()))


def _feeds(dram: DramMemory, rules: Any) -> Any:
    found = np.zeros(dram.channels, t.FEED)
    found["number"] = np.arange(dram.channels)
    found["next_at"] = rules["refresh_interval"][0]
    found["planned"] = found["plan_at"] = found["take_at"] = k.NEVER
    found["release_at"] = k.NEVER
    found["room_at"] = k.NONE
    found["pending_head"] = found["parked"] = found["tails"] = k.NONE
    return found


def _bits(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1
