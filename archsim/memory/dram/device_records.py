"""A device, a policy and an address map as the records of the compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from archsim.base.errors import ConfigError
from archsim.base.units import PS_PER_S
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramChannel, TimingConstraint
from archsim.memory.dram.address_images import images
from archsim.memory.dram.compiled import records as k

COMMANDS = {
    "RD": k.RD,
    "WR": k.WR,
    "PREpb": k.PRE,
    "ACT": k.ACT,
    "ACT1": k.ACT,
    "ACT2": k.ACT2,
    "CAS_RD": k.CAS_RD,
    "CAS_WR": k.CAS_WR,
    "RDA": k.RDA,
    "WRA": k.WRA,
    "PREab": k.PREAB,
    "REFab": k.REFAB,
    "REFpb": k.REFPB,
}
_PROTOCOLS = {"single": k.SINGLE, "split": k.SPLIT, "dual": k.DUAL}
_ROWS = {"open": k.OPEN, "closed": k.CLOSED, "timeout": k.TIMEOUT}
_OF_RANK = (k.PREAB, k.REFAB)  # commands to all banks of a rank, kept at its first bank
_SAME_BANK = (-1, 0, 1)  # mask, flip, size
LONG_AGO = -(1 << 40)  # cycles; before time 0 by more than any constraint

SpacingRule = tuple[
    int, int, int, int
]  # follow; banks of a unit; 0 or, for other units, the banks that hold them; cycles
WithinRule = tuple[int, int, int, int, int]  # follow, mask, flip, size, cycles (see k.Rules)
WindowRule = tuple[int, int, int, int, int]  # before, follow, bits, count, cycles


@lru_cache(maxsize=64)
def rules(device: DramChannel, policy: ControllerPolicy, mapping: AddressMap) -> Any:
    """(1,) Rules, not to be written to. Raises ConfigError for unknown commands and too many."""
    found = np.zeros(1, k.RULES)
    for name, value in _scalars(device, policy).items():
        found[name] = value
    found["images"] = images(device, mapping)
    _enter_rules(found, device, _used(device, policy))
    found.setflags(write=False)
    return found


def _scalars(device: DramChannel, policy: ControllerPolicy) -> dict[str, int]:
    if device.ranks > k.MOST_RANKS:
        raise ConfigError(f"{device.standard}: {device.ranks} ranks; allowed at most {k.MOST_RANKS}")
    if device.all_banks > k.MOST_BANKS or max(policy.read_queue, policy.write_queue) > k.MOST_QUEUED:
        raise ConfigError(
            f"{device.standard}: {device.all_banks} banks, queues of {policy.read_queue} and {policy.write_queue}; "
            f"allowed at most {k.MOST_BANKS} banks, queues of {k.MOST_QUEUED}"
        )
    interval, scope, stride = _refreshes(device, policy)
    write_leave = policy.write_low * policy.write_queue
    if write_leave <= 0:
        raise ConfigError(
            f"{device.standard}: writes drained until fewer than {write_leave:g} are queued never stop; "
            f"allowed write_low above 0, got {policy.write_low:g}"
        )
    return {
        "rank_bits": _bits(device.size_of("rank")),
        "ranks": device.ranks,
        "follows": 1 << k.COMMAND_BITS,
        "banks": device.all_banks,
        "protocol": _PROTOCOLS[device.protocol],
        "burst": device.burst_cycles,
        "read_end": device.read_latency + device.burst_cycles,
        "write_end": device.write_latency + device.burst_cycles,
        "read_queue": policy.read_queue,
        "write_queue": policy.write_queue,
        "write_enter": int(policy.write_high * policy.write_queue) + 1,
        "write_leave": int(write_leave) - (write_leave == int(write_leave)),
        "row_policy": _ROWS[policy.rows],
        "row_timeout": max(1, -(-policy.row_timeout_ps * device.clock_hz // PS_PER_S)),
        "refresh_interval": interval or k.NEVER,
        "refresh_scope": scope,
        "refresh_stride": stride,
        "refresh_reach": 1 - (-max((rule.cycles for rule in device.constraints), default=0) // max(1, interval)),
        "rank_banks": device.size_of("rank"),
        "activate_window": device.activate_window,
        "clock_linger": device.clock_linger,
    }


def _refreshes(device: DramChannel, policy: ControllerPolicy) -> tuple[int, int, int]:
    """Interval in cycles (0 for none), banks of a refresh, and from one of them to the next."""
    of_rank = device.size_of("rank")
    if policy.refresh == "per_bank":
        if not device.bank_refresh_cycles:
            raise ConfigError(f"{device.standard}: refresh: found per_bank; allowed all_bank, none")
        return device.bank_refresh_cycles, device.bank_refresh_banks, of_rank // device.bank_refresh_banks
    return device.refresh_cycles if policy.refresh == "all_bank" else 0, of_rank, 1


def _used(device: DramChannel, policy: ControllerPolicy) -> set[int]:
    """The commands that can occur; constraints on others cost time for nothing."""
    used = {k.RD, k.WR, k.PRE, k.ACT}
    used |= {k.REFPB} if policy.refresh == "per_bank" else {k.PREAB, k.REFAB}
    used |= {k.RDA, k.WRA} if policy.rows == "closed" else set()
    return used | ({k.ACT2, k.CAS_RD, k.CAS_WR} if device.protocol == "split" else set())


def _enter_rules(found: Any, device: DramChannel, used: set[int]) -> None:
    after, windows = _sorted_out(device, used)
    within: list[WithinRule] = []
    found["spacing"] = k.IMPLIED
    for command, rules_ in after.items():
        spacing = found["spacing"][0, command]
        _enter_spacing(spacing, device, rules_)
        rest = _within(device, [rule for rule in rules_ if rule[3] > spacing[0, rule[0]]])
        alone = [rule for rule in rest if rule[1:4] == _SAME_BANK]
        found["first"][0, command] = len(within)
        found["first_wide"][0, command] = len(within) + len(alone)
        within += alone + [rule for rule in rest if rule[1:4] != _SAME_BANK]
    found["first"][0, k.COMMANDS] = len(within)
    if len(within) > k.MOST_RULES or len(windows) > k.MOST_WINDOWS:
        raise ConfigError(f"{device.standard}: more constraints than {k.MOST_RULES}, {k.MOST_WINDOWS} with windows")
    _enter_columns(found, ("follow", "mask", "flip", "size", "cycles"), within)
    _enter_columns(found, [f"window_{name}" for name in ("before", "follow", "bits", "count", "cycles")], windows)
    found["windows"] = len(windows)


def _enter_columns(found: Any, names: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
    for number, row in enumerate(rows):
        for name, value in zip(names, row, strict=True):
            found[name][0, number] = value


def _enter_spacing(spacing: Any, device: DramChannel, listed: list[SpacingRule]) -> None:
    """Rules between ranks and within the whole of one: ``spacing`` is (2, commands) of own and other ranks."""
    of_rank = device.size_of("rank")
    for follow, size, around, cycles in listed:
        if size < of_rank and follow not in _OF_RANK:
            continue
        own, others = size < of_rank or not around, size > of_rank or around > of_rank
        for column, applies in enumerate((own, others)):
            if applies:
                spacing[column, follow] = max(spacing[column, follow], cycles)


def _within(device: DramChannel, listed: list[SpacingRule]) -> list[WithinRule]:
    """Rules on some banks of a rank, without those that another one implies: of a larger unit, at least as long."""
    kept: list[SpacingRule] = []
    for rule in sorted(set(listed), key=lambda rule: (rule[2], -rule[1], -rule[3])):
        follow, size, around, cycles = rule
        whole = size >= device.size_of("rank") or follow in _OF_RANK
        implied = any(other[0] == follow and other[2] == around == 0 and other[3] >= cycles for other in kept)
        if not whole and not implied:
            kept.append(rule)
    return [
        (follow << _bits(device.size_of("rank")), -size, flip, size, cycles)
        for follow, size, around, cycles in kept
        for flip in (range(size, around, size) if around else (0,))
    ]


def _sorted_out(device: DramChannel, used: set[int]) -> tuple[dict[int, list[SpacingRule]], list[WindowRule]]:
    """Rules by the command that they follow, and windows."""
    after: dict[int, list[SpacingRule]] = {command: [] for command in range(k.COMMANDS)}
    windows: list[WindowRule] = []
    for constraint in device.constraints:
        size = device.size_of(constraint.level)
        alone = constraint.siblings and size == device.around(constraint.level)
        for first, second in _pairs(device, constraint, used):
            if constraint.window > 1:
                windows.append((first, second, _bits(size), constraint.window, constraint.cycles))
            elif not alone:
                around = device.around(constraint.level) if constraint.siblings else 0
                after[first].append((second, size, around, constraint.cycles))
    return after, windows


def _pairs(device: DramChannel, constraint: TimingConstraint, used: set[int]) -> list[tuple[int, int]]:
    for name in (*constraint.before, *constraint.after):
        if name not in COMMANDS:
            raise ConfigError(f"{device.standard}: unknown command '{name}'; allowed {', '.join(COMMANDS)}")
    if constraint.window > k.LONGEST_WINDOW:
        raise ConfigError(f"{device.standard}: a window of {constraint.window}; allowed at most {k.LONGEST_WINDOW}")
    before = sorted({COMMANDS[name] for name in constraint.before} & used)
    return [(first, second) for first in before for second in sorted({COMMANDS[n] for n in constraint.after} & used)]


def _bits(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1


def opened(channels_: Any, now: int) -> Any:
    """Cycles before ``now`` in which a bank was open, by channel, summed over ranks."""
    still = np.where(channels_["open_banks"] > 0, now - channels_["open_since"], 0)
    return (channels_["open_cycles"] + still).sum(axis=1)


def channels(device: DramChannel, rules_: Any, count: int) -> Any:
    """(count,) Channel at time 0: rows closed, queues empty, the first refresh one interval away."""
    found = np.zeros(count, k.CHANNEL)
    found["free_slots"] = k.MOST_ENTRIES
    found["free"] = np.arange(k.MOST_ENTRIES)[::-1]
    found["held"] = found["synced"] = found["open_row"] = found["refresh_low"] = k.NONE
    found["following"] = found["before"] = np.arange(found["following"].shape[1])
    found["refresh_due"] = rules_["refresh_interval"][0]
    found["planned_at"] = found["column_at"] = k.NEVER
    found["history"] = LONG_AGO
    return found
