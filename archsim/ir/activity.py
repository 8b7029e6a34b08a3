"""What the machine did: one record per command, action counts, and memory statistics. Times in integer picoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from archsim.ir.causes import TIME

if TYPE_CHECKING:
    from archsim.ir.bandwidth import BandwidthTrace
    from archsim.ir.records import Records

CAUSES = TIME  # of every unit

CountKey = tuple[str, str, str]  # (layer, part, action)


@dataclass(slots=True)  # frozen ones take three times as long to make
class Record:
    """One executed command; nobody may change it.

    ``head_ps``: reached the head of its queue with its engine free; ``start_ps``: waits met; ``end_ps``: signalled.
    ``critical``: (unit, index) of the command whose signal met its last wait, None when no wait held it back.
    ``phases``: (cause, until_ps) in order, tiling [start, end): dram | noc | sram_port for moves;
    weight_load | fill_drain | busy | sram_port for arrays; busy | sram_port for vector units; launch for host and
    setup.
    ``macs``: MACs that an array or a vector command did; ``slots_per_cycle``: of an array command, MACs per array
    cycle at the dtypes used.
    """

    unit: str
    index: int
    name: str
    op: str
    layer: str
    role: str
    head_ps: int
    start_ps: int
    end_ps: int
    critical: tuple[str, int] | None
    phases: tuple[tuple[str, int], ...]
    macs: int = 0
    slots_per_cycle: int = 0


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


class Bandwidth(NamedTuple):
    """Bytes moved on a memory over [start_ps, end_ps) by one stream, for plots and traces.

    Of a DRAM part: one transfer, from the start of its first beat to its last. ``pin_bytes``: what went over the pins
    for its ``size_bytes``; its bursts were row hits, misses or conflicts (none where the model has no rows) and opened
    ``activates`` rows. All 0 of on-chip memories.
    """

    memory: str
    start_ps: int
    end_ps: int
    size_bytes: int
    write: bool
    pin_bytes: int = 0
    row_hits: int = 0
    row_misses: int = 0
    row_conflicts: int = 0
    activates: int = 0


@dataclass(frozen=True, slots=True)
class Activity:
    """The machine's whole account of one Program.

    ``records``: unit -> its commands in order; every engine instance of the chip is a key, unused ones are empty.
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


def combining(dtype: str) -> str:
    """The DMA's action of combining one element of ``dtype`` with another."""
    return f"combine.{dtype}"


def to_cycles(time_ps: int, hz: int) -> int:
    """Cycle boundary at or after ``time_ps``: ceil(t * hz / 10**12). Apply to boundaries, never to durations."""
    return -(-time_ps * hz // 10**12)


def edge_ps(cycle: int, hz: int) -> int:
    """Time of clock edge ``cycle``: cycle * 10**12 // hz."""
    return cycle * 10**12 // hz
