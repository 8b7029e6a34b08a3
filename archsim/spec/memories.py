"""The memories of a resolved chip: DRAM, scratchpads, registers and caches, with ports and bandwidths.

Sizes are in bytes, bandwidths in bytes per cycle of the memory's own clock. The annotations are the keys of chip files
(``keys``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any

from archsim.base import units
from archsim.base.units import PS_PER_S
from archsim.spec import value_domains as d
from archsim.spec.dtypes import ROLES
from archsim.spec.keys import (
    REQUIRED,
    Derived,
    Key,
    KeyOrder,
    KeysOf,
    SectionOf,
    StatedSection,
    TableOf,
    cycles,
    one_or_each,
)
from archsim.spec.part import STRUCTURES, Part

CONSTANT = "constant"  # in place of a DRAM standard: a memory of constant rate
ENGINES = ("dma", "array", "vector")
STORED = "storage"  # keys of all memories but caches, which also stand in a table of their own
_MEMORIES = (STORED, "dram", "sram", "registers")
_DRAM, _SRAM = ("dram",), ("sram",)


def capacity(name: str, says: str, *kinds: str) -> Key:
    """The size of a memory."""
    return Key(name, d.whole(units.SIZE, "1 B", "16 TiB"), says, of=kinds)


@dataclass(frozen=True, slots=True)
class DramControl:
    """How the controller of a DRAM maps addresses, closes rows, refreshes, queues and takes turns; see the grammar."""

    address_map: Annotated[
        str,
        Key(
            "address_map",
            d.text("the name of an address map or an order of bits"),
            "which address bits choose channel, bank and row: RoRaBaCoBg, RoBaRaCoCh, MOP4CLXOR (all with the "
            "channel lowest), or fields from the highest bit to the lowest, such as "
            "`row bank bankgroup rank column:5 channel column:2`; `bank^row`, `bank^row@2`: the row's bits (from "
            "the third one on) are XORed into the bank",
        ),
    ] = "RoRaBaCoBg"
    rows: Annotated[
        str,
        Key(
            "rows",
            d.choice("open", "closed", "timeout"),
            "when a row is closed: on demand, after its last queued access, or when left idle",
        ),
    ] = "open"
    row_timeout_ps: Annotated[
        int,
        Key(
            "row_timeout",
            d.whole(units.TIME, "1 ns", "1 ms"),
            "for which a row may be idle with `rows: timeout`; 100 ns is about two row cycles",
            when=lambda memory: memory.control.rows == "timeout",
        ),
    ] = 100_000
    refresh: Annotated[
        str,
        Key(
            "refresh",
            d.choice("all_bank", "per_bank", "none"),
            "all banks of a rank at once, bank by bank where the standard has it, or none",
        ),
    ] = "all_bank"
    read_queue: Annotated[int, Key("read_queue", d.count(1, 128), "bursts that a channel can queue to read")] = 32
    write_queue: Annotated[int, Key("write_queue", d.count(1, 128), "bursts that a channel can queue to write")] = 32
    turn: Annotated[
        int,
        Key(
            "turn",
            d.count(1, 65536),
            "bursts of a move that a channel takes in before those of the next one that is under way",
        ),
    ] = 16
    requests: Annotated[
        int | None,
        Key(
            "requests",
            d.count(1, 65536),
            "bursts that a port of this memory (one for each place in `attach` of a network, else one for all "
            "engines) offers in a cycle of the memory's clock, over all channels; one that finds its queue full stops "
            "those behind it. Unless stated as many as the queues take in: up to 8 a cycle each",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class PortSet:
    """Ports of every bank of an sram. ``shared``: ``read`` ports (as many as ``write``) that do either in a cycle."""

    read: int = 1
    write: int = 1
    shared: bool = False

    @classmethod
    def of(cls, stated: Any, least: int) -> PortSet:
        """The ports that a section states; ``least``: those of a direction that is not stated."""
        if stated.shared is not None:
            return cls(stated.shared, stated.shared, shared=True)
        return cls(stated.read or least, stated.write or least)

    def text(self) -> dict[str, int]:
        """As canonical text states them."""
        if self.shared:
            return {"shared": self.read}
        return {key: count for key, count in (("read", self.read), ("write", self.write)) if count}

    @property
    def each(self) -> int:
        """Ports of a bank, of both directions."""
        return self.read if self.shared else self.read + self.write

    def count(self, *, write: bool) -> int:
        """Ports that can serve a direction."""
        return self.write if write else self.read


def _common_ports(stated: Any, _: StatedSection) -> PortSet:
    return PortSet.of(stated, 1)


def _all_ports(common: PortSet, memory: Memory) -> dict[str, Any]:
    return common.text() | {engine: own.text() for engine, own in memory.private_ports.items()}


def _private_ports(stated: StatedSection) -> dict[str, PortSet]:
    named = {engine: getattr(stated.section.ports, engine) for engine in ENGINES}
    return {engine: PortSet.of(own, 0) for engine, own in named.items() if own is not None}


def _for_each_kept(usual: int) -> Any:
    """Reads a table of roles: a number for each role that is kept."""

    def read(found: Mapping[str, int], stated: StatedSection) -> dict[str, int]:
        return {role: found.get(role, found.get("all", usual)) for role in stated.section.keeps}

    return read


def _padding(found: Mapping[str, int], stated: StatedSection) -> dict[str, int]:
    return {role: words for role, words in _for_each_kept(0)(found, stated).items() if words}


def _padding_of_all(kept: Mapping[str, int], memory: Memory) -> int | Mapping[str, int]:
    return one_or_each({role: kept.get(role, 0) for role in memory.keeps}, memory.keeps)


def _bytes_per_cycle(found: d.MeasuredQuantity | None, stated: StatedSection) -> Fraction | None:
    if found is None or found.per == units.BYTES_PER_CYCLE.base:
        return None if found is None else found.value
    return found.value / stated.clock_hz


def _bandwidth(kept: Fraction | None, memory: Memory) -> d.MeasuredQuantity | None:
    return None if kept is None else d.MeasuredQuantity(kept * memory.clock_hz, units.BANDWIDTH.base)


def _latency(kept: int, memory: Memory) -> d.MeasuredQuantity:
    return d.MeasuredQuantity(Fraction(kept * PS_PER_S, memory.clock_hz), units.TIME.base)


def timed(memory: Memory) -> bool:
    """Whether a dram is of a standard, with a controller."""
    return memory.standard != CONSTANT


def constant(memory: Memory) -> bool:
    """Whether a dram has a constant rate."""
    return memory.standard == CONSTANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Part):
    """An explicit or folded memory. ``kind``: dram | sram | registers.

    ``keeps``: roles, in the order of ROLES; ``slots``: role to the slots of its rings; ``filled_by``: dma (explicit:
    rings and moves) or array (folded into the array's formula). Of an sram: ``ports`` of all engines that have none of
    their own, ``private_ports``: engine to its own (0 in a direction: none), ``interleave``: word | block | xor |
    hashed, which bank holds an address (``archsim.facts.banks``), with ``block_bytes`` of a block, ``padding_words``:
    role to words left free behind each row of a tile. Of a dram: ``control`` of all standards but constant; a memory
    of constant rate has ``bytes_per_cycle`` (None: infinite) and ``latency_cycles``.
    """

    keeps: Annotated[
        tuple[str, ...],
        Key(
            "keeps",
            d.subset(ROLES, "all"),
            "tensor roles with a place here; a role's path runs through its keepers in order",
            of=_MEMORIES,
            order=KeyOrder.KEEPS,
        ),
    ]
    slots: Annotated[
        Mapping[str, int],
        Key(
            "slots",
            TableOf(d.choice("all", *ROLES), d.count(1, 1024), for_all=True),
            "slots of the rings kept here, one number or a number for each role",
            default={"all": 2},
            of=_MEMORIES,
            read=_for_each_kept(2),
            write=lambda kept, memory: one_or_each(kept, memory.keeps),
            order=KeyOrder.KEEPS,
        ),
    ]
    standard: Annotated[
        str,
        Key(
            "standard",
            d.name("the name of a DRAM standard, or constant"),
            "a DRAM standard such as lpddr5 (`show dram`), or constant",
            default=REQUIRED,
            of=_DRAM,
        ),
    ] = ""
    capacity_bytes: Annotated[
        int,
        capacity("capacity", "bytes of all channels together", "dram"),
        capacity("size", "capacity", "sram", "registers"),
    ]
    speed_mts: Annotated[
        int,
        Key(
            "speed",
            d.whole(units.TRANSFER_RATE, "100 MT/s", "64 GT/s"),
            "transfers per second of each data line (twice the clock of a double data rate bus)",
            default=None,
            of=_DRAM,
            read=lambda found, _: (found or 0) // 10**6,
            write=lambda kept, _: kept * 10**6,
            when=timed,
        ),
    ] = 0
    width_bits: Annotated[
        int,
        Key(
            "width",
            d.whole(units.WIDTH, "1 b", "4096 b"),
            "data lines of one channel",
            default=None,
            of=_DRAM,
            read=lambda found, _: found or 0,
            when=timed,
        ),
    ] = 0
    channels: Annotated[int, Key("channels", d.count(1, 1024), "independent channels", of=_DRAM, when=timed)] = 1
    fidelity: Annotated[
        str,
        Key(
            "fidelity",
            d.choice("exact", "fast"),
            "timing model: exact, command by command; fast, rates that were measured on the exact one",
            of=_DRAM,
            read=lambda found, stated: CONSTANT if stated.section.standard == CONSTANT else found,
            when=timed,
        ),
    ] = "exact"
    control: Annotated[DramControl, KeysOf(DramControl, _DRAM, when=timed)] = DramControl()
    bytes_per_cycle: Annotated[
        Fraction | None,
        Key(
            "bandwidth",
            d.measured("more than 0", units.BANDWIDTH, units.BYTES_PER_CYCLE, positive=True, endless="infinite"),
            "constant rate; required with `standard: constant`, refused otherwise",
            of=_DRAM,
            read=_bytes_per_cycle,
            write=_bandwidth,
            when=constant,
        ),
    ] = None
    latency_cycles: Annotated[
        int,
        cycles(
            "latency",
            "from request to first byte; `standard: constant` only",
            of=_DRAM,
            write=_latency,
            when=constant,
        ),
    ] = 0
    banks: Annotated[int, Key("banks", d.count(1, 65536), "banks", of=_SRAM)] = 1
    word_bytes: Annotated[
        int,
        Key("word", d.whole(units.SIZE, "1 B", "64 KiB"), "bytes per access of one bank", default=REQUIRED, of=_SRAM),
    ] = 1
    ports: Annotated[
        PortSet,
        Key(
            "ports",
            SectionOf("Ports"),
            "ports of every bank: `{read: 1, write: 1}`, `{shared: 1}`, some of them an engine's own: "
            "`{read: 1, write: 1, dma: {write: 1}}`",
            of=_SRAM,
            read=_common_ports,
            write=_all_ports,
        ),
    ] = PortSet()
    structure: Annotated[
        str | None,
        Key(
            "structure",
            d.choice(*STRUCTURES),
            "what stands around its macros, for its area: local, shared by many clients, register_file of a "
            "processor's lanes, cache with tags and control (also of one that the compiler fills here); shared above a "
            "network and local elsewhere unless stated",
            default=None,
            of=_SRAM,
        ),
    ] = None
    private_ports: Annotated[Mapping[str, PortSet], Derived(_private_ports, of=_SRAM)] = field(default_factory=dict)
    interleave: Annotated[
        str,
        Key(
            "interleave",
            d.word_or_whole(("word", "xor", "hashed"), units.SIZE, "1 B", "16 TiB"),
            "bank of a word: word: its number mod banks; a size, a multiple of the word: (address / size) mod "
            "banks; xor: (number mod banks) xor ((number / banks) mod banks), banks a power of two; hashed: by a hash "
            "of the address, with queues before the banks, so that no region loads them unevenly",
            of=_SRAM,
            read=lambda found, _: found if isinstance(found, str) else "block",
            write=lambda kept, memory: memory.block_bytes or kept,
        ),
    ] = "word"
    block_bytes: Annotated[
        int,
        Derived(
            lambda stated: stated.section.interleave if isinstance(stated.section.interleave, int) else 0, of=_SRAM
        ),
    ] = 0
    padding_words: Annotated[
        Mapping[str, int],
        Key(
            "padding",
            TableOf(d.choice("all", *ROLES), d.count(0, 65536), for_all=True),
            "words left free behind each row (innermost axis) of a tile kept here, one number or a number for "
            "each role: rows that would begin in one bank begin in different ones",
            default={"all": 0},
            of=_SRAM,
            read=_padding,
            write=_padding_of_all,
        ),
    ] = field(default_factory=dict)
    filled_by: Annotated[
        str,
        Key(
            "filled_by",
            d.choice("dma", "array"),
            "dma: explicit, rings and moves in the Program; array: folded into the array's formula",
            default="dma",
            of=_SRAM,
        ),
    ]

    def port_group(self, engine: str, *, write: bool) -> tuple[str, PortSet]:
        """(whose, ports) over which an engine (dma, array, vector) reads or writes: its own, or '' and the common."""
        own = self.private_ports.get(engine)
        if own is not None and own.count(write=write):
            return engine, own
        return "", self.ports

    def bytes_per_cycle_of(self, engine: str, *, write: bool) -> int:
        """Bytes per cycle that an engine can read or write: banks x word x its ports."""
        return self.banks * self.word_bytes * self.port_group(engine, write=write)[1].count(write=write)

    def bytes_per_cycle_of_all(self, *, write: bool) -> int:
        """Bytes per cycle of a direction: banks x word x all ports."""
        groups = (self.ports, *self.private_ports.values())
        return self.banks * self.word_bytes * sum(group.count(write=write) for group in groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Memory):
    """A set-associative cache in front of the DRAM, for gathers and scatters of tensors of the roles it ``keeps``.

    ``capacity_bytes`` = sets x ``ways`` x ``line_bytes``; ``hit_cycles``: from a row's number to what the tags say;
    ``tag_bits`` of each line: what the set's number and the place in the line leave of a DRAM address.
    """

    keeps: Annotated[
        tuple[str, ...], Key("keeps", d.subset(ROLES), "roles of the tables that it serves", order=KeyOrder.KEEPS)
    ]
    capacity_bytes: Annotated[int, capacity("size", "capacity of the lines, without tags")]
    line_bytes: Annotated[
        int,
        Key("line", d.whole(units.SIZE, "1 B", "64 KiB"), "bytes of a line, a power of two", default=REQUIRED),
    ] = 1
    ways: Annotated[int, Key("ways", d.count(1, 512), "lines of a set", default=REQUIRED)] = 1
    policy: Annotated[str, Key("policy", d.choice("lru"), "the line of a set that makes room")] = "lru"
    hit_cycles: Annotated[int, cycles("latency", "of a look-up; look-ups of the rows of a command are pipelined")] = 0
    banks: Annotated[int, Key("banks", d.count(1, 65536), "banks")] = 1
    word_bytes: Annotated[
        int, Key("word", d.whole(units.SIZE, "1 B", "64 KiB"), "bytes per access of one bank", default=REQUIRED)
    ] = 1
    ports: Annotated[
        PortSet,
        Key(
            "ports",
            SectionOf("EnginePorts"),
            "ports of every bank: `{read: 1, write: 1}` or `{shared: 1}`",
            read=_common_ports,
            write=_all_ports,
        ),
    ] = PortSet()
    tag_bits: int = 0

    @property
    def sets(self) -> int:
        """Sets of ``ways`` lines."""
        return self.capacity_bytes // (self.ways * self.line_bytes)
