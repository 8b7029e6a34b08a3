"""A request trace on the memory model alone: every request's times, every command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ConfigError
from archsim.base.progress import stretch
from archsim.facts.dram.device import AddressMap, ControllerPolicy, DramChannel
from archsim.memory.dram import device_records
from archsim.memory.dram.compiled.records import LOG, LOG_ROOM, NONE, REQUEST
from archsim.memory.dram.compiled.replay import replay as run

Numbers = npt.NDArray[np.int64]
_MOST_BURSTS = 1 << 32  # on a channel
LAST_CYCLE = 1 << 40  # requests arrive before
PER_CHANNEL = 8  # requests a cycle that are offered for each channel, unless told
MOST_REQUESTS = 1 << 32  # a cycle


@dataclass(frozen=True)
class ReplayedTrace:
    """What came of a trace; times in clock cycles, an element for each request in its order.

    ``accepted``: taken into its queue; ``ended``: a read's last beat, the issue of a write; ``hits``, ``misses``
    and ``conflicts``: requests by the state of their row when they first caused a command, by channel.
    ``commands``: (n, 5) cycle, command, bank, row and column by channel where asked for, None otherwise.
    ``issued``: (channels, commands). ``opened``: cycles of the trace in which a rank had a row open, by channel,
    summed over ranks.
    """

    accepted: Numbers
    ended: Numbers
    hits: Numbers
    misses: Numbers
    conflicts: Numbers
    issued: Numbers
    commands: tuple[Numbers, ...] | None
    opened: Numbers

    @property
    def cycles(self) -> int:
        """The cycle at which the last read ended or the last write was issued."""
        return int(self.ended.max(initial=0))


def replay(
    device: DramChannel,
    mapping: AddressMap,
    policy: ControllerPolicy,
    arrivals: Numbers,
    addresses: Numbers,
    writes: Numbers,
    channels: int = 1,
    log: bool = False,
    interleave: int = 1,
    requests_per_cycle: int | None = None,
) -> ReplayedTrace:
    """Serve requests in their order: each when it has arrived (cycles, never falling) and its queue has room.

    A request is one burst at a byte address; ``interleave`` bursts in a row are on one channel, the next on the next.
    ``requests_per_cycle``: offered at most, over all channels together; None: PER_CHANNEL for each of them. Requests
    wait for those before them, on any channel. Raises ConfigError for arrivals that fall, and negative or too large
    numbers.
    """
    requests = _requests(arrivals, addresses // device.burst_bytes, writes, channels, interleave)
    per_cycle = offered(requests_per_cycle, channels)
    rules = device_records.rules(device, policy, mapping)
    state = device_records.channels(device, rules, channels)
    logs = np.zeros(channels, LOG)
    logs["limit"] = LOG_ROOM if log else 0
    progress, planned = np.zeros(3, np.int64), np.full(channels, NONE, np.int64)
    kept: list[list[Numbers]] = [[] for _ in range(channels)]
    done = False
    with stretch("replaying", "requests", len(requests), done=lambda: int(progress[1])):
        while not done:
            done = bool(run(rules, state, requests.view(REQUEST).reshape(-1), per_cycle, progress, planned, logs))
            for number in range(channels if log else 0):
                kept[number].append(logs["rows"][number, : logs["count"][number]].copy())
            logs["count"] = 0
    return ReplayedTrace(
        accepted=requests[:, 4],
        ended=requests[:, 5],
        hits=state["hits"],
        misses=state["misses"],
        conflicts=state["conflicts"],
        issued=state["counts"],
        commands=tuple(np.concatenate(rows) for rows in kept) if log else None,
        opened=device_records.opened(state, int(requests[:, 5].max(initial=0))),
    )


def offered(requests_per_cycle: int | None, channels: int) -> int:
    """Requests offered in a cycle over all channels; raises ConfigError unless they are 1 to MOST_REQUESTS."""
    found = PER_CHANNEL * channels if requests_per_cycle is None else requests_per_cycle
    if not isinstance(found, int) or not 1 <= found <= MOST_REQUESTS:
        raise ConfigError(f"requests a cycle: found {found}; allowed whole numbers 1 to {MOST_REQUESTS}")
    return found


def _requests(arrivals: Numbers, bursts: Numbers, writes: Numbers, channels: int, interleave: int) -> Any:
    """(n, 6) arrival, channel, burst on it, write, and two to be filled in."""
    falls = arrivals[1:] < arrivals[:-1]
    if falls.any():
        at = int(np.argmax(falls)) + 1
        raise ConfigError(f"request {at} arrives at cycle {arrivals[at]}, before the one ahead of it")
    for what, numbers, end in (("cycle", arrivals, LAST_CYCLE), ("burst number", bursts, _MOST_BURSTS * channels)):
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < end):
            at = int(np.argmax((numbers < 0) | (numbers >= end)))
            raise ConfigError(f"request {at}: {what} {numbers[at]}; allowed 0 to {end - 1}")
    table = np.empty((arrivals.size, 6), np.int64)
    table[:, 0], table[:, 3] = arrivals, writes
    if channels == 1:
        table[:, 2], table[:, 1] = bursts, 0
    else:
        blocks, inside = np.divmod(bursts, interleave)
        table[:, 2], table[:, 1] = np.divmod(blocks, channels)
        table[:, 2] = table[:, 2] * interleave + inside
    return table
