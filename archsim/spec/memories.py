"""The memories of a resolved chip: DRAM, scratchpads, registers and caches, with ports and bandwidths.

Sizes are in bytes, bandwidths in bytes per cycle of the memory's own clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from archsim.spec.part import Part


@dataclass(frozen=True, slots=True)
class DramControl:
    """How the controller of a DRAM maps addresses, closes rows, refreshes, queues and takes turns; see the grammar."""

    address_map: str = "RoRaBaCoBg"
    rows: str = "open"
    row_timeout_ps: int = 100_000
    refresh: str = "all_bank"
    read_queue: int = 32
    write_queue: int = 32
    turn: int = 16
    requests: int | None = None  # bursts that a port offers in a cycle; None = as many as queues take in


@dataclass(frozen=True, slots=True)
class PortSet:
    """Ports of every bank of an sram. ``shared``: ``read`` ports (as many as ``write``) that do either in a cycle."""

    read: int = 1
    write: int = 1
    shared: bool = False

    @property
    def each(self) -> int:
        """Ports of a bank, of both directions."""
        return self.read if self.shared else self.read + self.write

    def count(self, *, write: bool) -> int:
        """Ports that can serve a direction."""
        return self.write if write else self.read


@dataclass(frozen=True, slots=True)
class Memory(Part):
    """An explicit or folded memory. ``kind``: dram | sram | registers."""

    capacity_bytes: int
    keeps: tuple[str, ...]  # roles, in ROLES order
    slots: Mapping[str, int]  # role -> slots of its rings (default 2)
    filled_by: str  # dma (explicit: rings and moves) | array (folded into the array's formula)
    # sram
    banks: int = 1
    word_bytes: int = 1
    ports: PortSet = PortSet()  # of all engines that have none of their own
    private_ports: Mapping[str, PortSet] = field(default_factory=dict)  # engine -> its own (0 in a direction: none)
    interleave: str = "word"  # word | block | xor: which bank holds an address, see archsim.memory.banks
    block_bytes: int = 0  # of interleave block
    padding_words: Mapping[str, int] = field(default_factory=dict)  # role -> words left free behind each row of a tile
    # dram
    standard: str = ""
    speed_mts: int = 0
    width_bits: int = 0
    channels: int = 1
    fidelity: str = "exact"
    control: DramControl = DramControl()  # of all standards but constant
    bytes_per_cycle: Fraction | None = None  # a plain constant-rate memory (standard: constant); None = infinite
    latency_cycles: int = 0  # constant-rate memories only

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


@dataclass(frozen=True, slots=True)
class Cache(Memory):
    """A set-associative cache in front of the DRAM, for gathers and scatters of tensors of the roles it ``keeps``.

    ``capacity_bytes`` = sets x ``ways`` x ``line_bytes``; ``hit_cycles``: from a row's number to what the tags say.
    """

    line_bytes: int = 1
    ways: int = 1
    policy: str = "lru"
    hit_cycles: int = 0
    tag_bits: int = 0  # of each line: what the set's number and the place in the line leave of a DRAM address

    @property
    def sets(self) -> int:
        """Sets of ``ways`` lines."""
        return self.capacity_bytes // (self.ways * self.line_bytes)
