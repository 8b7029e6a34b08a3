"""What the machine did: one record per command, action counts, and memory statistics. Times in integer picoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from archsim.ir.bandwidth import BandwidthTrace
from archsim.ir.program import Command
from archsim.ir.records import Records

ON_HOST = ("SETUP", "HOST")  # what the host does
MOVING = ("MOVE", "GATHER", "SCATTER")

CountKey = tuple[str, str, str]  # (layer, part, action)
RoleKey = tuple[str, str, str, str]  # (layer, role, part, action)
_MARK = "\x1f"  # between the layer and the role that a move is charged to


def charged_to(command: Command) -> str:
    """The account of a command's actions: its layer, and where it moves data the role of what it moves."""
    return f"{command.layer}{_MARK}{command.role}" if command.op in MOVING else command.layer


def split_account(account: str) -> tuple[str, str]:
    """Layer and role of an account, '' where it has none."""
    layer, mark, role = account.rpartition(_MARK)
    return (layer, role) if mark else (account, "")


@dataclass(frozen=True, slots=True)
class DramStats:
    """Totals of one DRAM part. Pin bytes are bursts x burst size; useful bytes are what the Program asked for."""

    read_bytes: int
    write_bytes: int
    useful_read_bytes: int
    useful_write_bytes: int
    row_hits: int
    row_misses: int
    row_conflicts: int
    activates: int
    refreshes: int
    peak_bytes_per_s: int


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Line accesses of one cache: those of gathers (``hits``, ``misses``) and those of scatters."""

    hits: int
    misses: int
    write_hits: int
    write_misses: int


class LinkFlits(NamedTuple):
    """Flits, headers too, that entered the link from router ``source`` to router ``target``."""

    source: int
    target: int
    flits: int


@dataclass(frozen=True, slots=True)
class NocStats:
    """Totals of a network over ``cycles`` of its own clock. A link takes a flit a cycle at most, or every ``periods``.

    ``links``: in the topology's order; ``node_in``, ``node_out``: flits that each node has sent into the network and
    that have left it for the node. ``routers``: how many; ``places``: their coordinates, where they have any;
    ``node_routers``: where each node stands, the cores first; ``ports``: nodes of each part above. Of nested networks
    ``levels`` are the names, innermost first, and ``router_levels`` to which each router belongs; ``periods``: of each
    link the cycles that a flit takes it, empty where that is one for all; ``within``: of each router its coordinates in
    its own network, then those of that network in the one around it (``places`` are then those of a drawing).
    """

    name: str
    cycles: int
    links: tuple[LinkFlits, ...]
    node_in: tuple[int, ...]
    node_out: tuple[int, ...]
    routers: int = 0
    places: tuple[tuple[int, ...], ...] = ()
    node_routers: tuple[int, ...] = ()
    ports: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    router_levels: tuple[int, ...] = ()
    periods: tuple[float, ...] = ()
    within: tuple[tuple[tuple[int, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Activity:
    """The machine's whole account of one Program.

    ``records``: unit -> its commands in order; every engine instance of the chip is a key, unused ones are empty.
    ``roles``: (layer, role, part, action) -> integer, of what moves did in DRAM.
    ``counts``: (layer, part, action) -> integer. Actions: memories ``read_bytes``, ``write_bytes``, ``read_accesses``,
    ``write_accesses`` (dram also ``pin_read_bytes``, ``pin_write_bytes``, ``row_hits``, ``row_misses``,
    ``row_conflicts``, ``activates``, ``refreshes``, ``row_open_ps``; caches ``lookups``); arrays ``mac`` and the
    dataflow's inner actions; vector ``lane_ops``; host ``flops``, ``link_bytes``; networks ``link_flits``,
    ``router_flits``; DMA ``combine.DTYPE`` (elements). All cores' copies of a part are counted together.
    """

    program: str
    total_ps: int
    clock_hz: int
    records: Mapping[str, Records]
    counts: Mapping[CountKey, int]
    dram: Mapping[str, DramStats]
    bandwidth: BandwidthTrace
    fidelity: Mapping[str, str]
    caches: Mapping[str, CacheStats] = field(default_factory=dict)
    noc: NocStats | None = None
    roles: Mapping[RoleKey, int] = field(default_factory=dict)

    @property
    def kernel_ps(self) -> int:
        """For how long a kernel is on the chip: from the first command that the host does not do to the end."""
        starts = [start for records in self.records.values() if (start := _first(records)) is not None]
        return self.total_ps - min(starts, default=self.total_ps)


def _first(records: Records) -> int | None:
    """When the first command of a unit starts that the host does not do; None where there is none."""
    columns = records.columns()
    on_chip = np.array([text.op not in ON_HOST for text in records.texts], dtype=np.bool_)
    chosen = columns.start_ps[on_chip[columns.text]] if len(on_chip) else columns.start_ps
    return int(chosen.min()) if len(chosen) else None


def combining(dtype: str) -> str:
    """The DMA's action of combining one element of ``dtype`` with another."""
    return f"combine.{dtype}"


def to_cycles(time_ps: int, hz: int) -> int:
    """Cycle boundary at or after ``time_ps``: ceil(t * hz / 10**12). Apply to boundaries, never to durations."""
    return -(-time_ps * hz // 10**12)


def edge_ps(cycle: int, hz: int) -> int:
    """Time of clock edge ``cycle``: cycle * 10**12 // hz."""
    return cycle * 10**12 // hz
