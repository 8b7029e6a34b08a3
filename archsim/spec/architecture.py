"""The resolved chip: a tree of parts in canonical form, plain integers and fractions, frozen.

``archsim.spec.load`` makes it from YAML; compiler, machine and energy model read only this.
Sizes are in bytes, clocks in Hz, bandwidths in bytes per cycle of the part's own clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from archsim.errors import ConfigError

ROLES = ("inputs", "weights", "outputs", "partials", "tables", "kv")
TILED = ("inputs", "weights", "outputs")  # roles whose tiles the DMA moves on chip


@dataclass(frozen=True, slots=True)
class Sourced:
    """A number of a chip file with where it comes from (``source``; 'estimated: ...' when not published)."""

    value: float
    source: str


@dataclass(frozen=True, slots=True)
class Part:
    """What all parts share. ``path`` is the key path in the chip file, e.g. ``l1``; ``name`` is unique."""

    name: str
    kind: str
    clock_hz: int
    sync_stages: int
    scope: str  # chip | dram | host
    energy_pj: Mapping[str, Sourced]  # action -> pJ, overrides of the technology table
    area_mm2: Sourced | None  # override
    leakage_w: Sourced | None  # override
    copies: int  # instances on the chip (product of the fan-outs above it)


@dataclass(frozen=True, slots=True)
class DramControl:
    """How the controller of a DRAM maps addresses, closes rows, refreshes and queues; see the chip grammar."""

    address_map: str = "RoRaBaCoBg"
    rows: str = "open"
    row_timeout_ps: int = 100_000
    refresh: str = "all_bank"
    read_queue: int = 32
    write_queue: int = 32


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


@dataclass(frozen=True, slots=True)
class Fanout:
    """One spatial axis of an array: ``size`` copies; roles multicast to or reduced over them."""

    axis: str
    size: int
    multicast: tuple[str, ...]
    reduce: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """A folded memory inside the array, per PE."""

    name: str
    keeps: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Array(Part):
    """A PE array in expanded form: fan-outs, registers, MAC. ``dataflow`` names a file of pe/dataflows."""

    rows: int
    cols: int
    dataflow: str
    fanouts: tuple[Fanout, ...]
    registers: tuple[RegisterFile, ...]
    rates: Mapping[tuple[str, str], Fraction]  # (inputs dtype, weights dtype) -> MACs per PE and cycle
    weight_double_buffer: bool = False
    fold_overlap: bool = False
    startup_cycles: int = 0  # issue of one tile command
    form: str = "systolic"  # systolic | generic (fill and drain 0)

    @property
    def peak_macs_per_cycle(self) -> Fraction:
        """MACs per cycle at the best dtype rate."""
        return self.rows * self.cols * max(self.rates.values())

    def rate(self, inputs: str, weights: str) -> Fraction:
        """MACs per PE and cycle for a dtype pair; raises ConfigError naming the pairs present."""
        found = self.rates.get((inputs, weights))
        if found is None:
            have = ", ".join(f"{a}x{b}" for a, b in sorted(self.rates))
            pair = f"{inputs} inputs x {weights} weights"
            raise ConfigError(f"array '{self.name}' has no rate for {pair}; it has: {have}")
        return found


@dataclass(frozen=True, slots=True)
class Vector(Part):
    """A vector unit. ``lanes``: elements per cycle by dtype; ``rates``: cycles per pass of slow functions."""

    lanes: Mapping[str, int]  # dtype -> elements per cycle
    function_cycles: Mapping[str, Fraction]  # function (exp, divide, sqrt, ...) -> cycles per group of lanes
    startup_cycles: int = 0

    def lane_count(self, dtype: str) -> int:
        """Elements per cycle at ``dtype``; raises ConfigError naming the dtypes present."""
        if dtype not in self.lanes:
            have = ", ".join(sorted(self.lanes))
            raise ConfigError(f"vector unit '{self.name}' has no lanes for {dtype}; it has: {have}")
        return self.lanes[dtype]

    def slow_cycles(self, functions: tuple[str, ...]) -> Fraction:
        """Cycles per group of lanes of all slow ``functions``; raises ConfigError naming those present."""
        for name in functions:
            if name not in self.function_cycles:
                have = ", ".join(sorted(self.function_cycles)) or "none"
                raise ConfigError(f"vector unit '{self.name}' has no rate for function '{name}'; it has: {have}")
        return sum((self.function_cycles[name] for name in functions), Fraction(0))


@dataclass(frozen=True, slots=True)
class Host(Part):
    """The host runtime: launch latency, queue depth, issue interval, and its link and compute for fallbacks."""

    launch_ps: int
    depth: int
    issue_ps: int
    link_bytes_per_s: int
    flops_per_s: int


@dataclass(frozen=True, slots=True)
class Dma(Part):
    """The load and store engines of a core, ``channels`` of each; ``merged`` = one in-order engine for both."""

    merged: bool = False
    channels: int = 1
    setup_cycles: int = 0  # descriptor cost of one move
    run_setup_cycles: int = 0  # of each contiguous run of a move in DRAM
    row_setup_cycles: int = 0  # of each row of a gather or scatter
    outstanding: int | None = None  # bursts of a move, rows of a gather or scatter under way; None = no limit


@dataclass(frozen=True, slots=True)
class Architecture:
    """A whole chip. ``memories`` outermost first along the tree; leaves under one node share its memories.

    Raises ConfigError from its lookups with the names present.
    """

    name: str
    clock_hz: int
    technology: str  # name of a table in configs/technology
    voltage_v: float
    memories: tuple[Memory, ...]
    arrays: tuple[Array, ...]
    vectors: tuple[Vector, ...]
    dma: Dma
    host: Host | None
    dtypes: Mapping[str, str]  # role -> dtype; 'accumulate' too
    not_modelled: tuple[str, ...]
    source: str
    sha256: str = ""
    warnings: tuple[str, ...] = field(default=())
    description: str = ""
    caches: tuple[Cache, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)  # key path of every number -> where it comes from

    def replace(self, values: Mapping[str, object]) -> Architecture:
        """The same chip with values set by key path, e.g. ``{"dram.channels": 4, "clock": "1.2 GHz"}``.

        Raises ConfigError with the nearest key path and what is allowed.
        """
        from archsim.spec import load

        return load.replace(self, values)

    def path(self, role: str) -> tuple[Memory, ...]:
        """Explicit memories that keep ``role``, outermost first."""
        return tuple(m for m in self.memories if role in m.keeps and m.filled_by == "dma")

    def outer(self, role: str) -> Memory:
        """The outermost memory of ``role`` (where its tensors live at time 0)."""
        return self._keeper(role, 0)

    def inner(self, role: str) -> Memory:
        """The innermost explicit memory of ``role`` (what arrays and vector units read and write)."""
        return self._keeper(role, -1)

    def inside(self, role: str, home: str) -> tuple[Memory, ...]:
        """The memories that tiles of ``role`` pass on their way from ``home`` to a unit, outermost first.

        The innermost one alone where there is no other. Raises ConfigError when no memory keeps the role.
        """
        path = self.path(role)
        names = [memory.name for memory in path]
        found = path[names.index(home) + 1 :] if home in names else tuple(m for m in path if m.kind != "dram")
        return found or (self.inner(role),)

    @property
    def dma_queues(self) -> int:
        """Queues of each direction: the DMA's channels, for each on-chip memory on the longest way of tiles."""
        ways = (self.inside(role, self.outer(role).name) for role in TILED if self.path(role))
        return self.dma.channels * max((len(way) for way in ways), default=1)

    def memory(self, name: str) -> Memory:
        """The memory called ``name``."""
        for memory in self.memories:
            if memory.name == name:
                return memory
        have = ", ".join(memory.name for memory in self.memories)
        raise ConfigError(f"chip '{self.name}' has no memory '{name}'; it has: {have}")

    def cache(self, role: str) -> Cache | None:
        """The cache that gathers and scatters of ``role`` go through, if any."""
        return next((cache for cache in self.caches if role in cache.keeps), None)

    def parts(self) -> Iterator[Part]:
        """Every part, outermost first."""
        yield from self.memories
        yield from self.caches
        yield self.dma
        yield from self.arrays
        yield from self.vectors
        if self.host is not None:
            yield self.host

    @property
    def peak_macs_per_cycle(self) -> Fraction:
        """MACs per cycle of all arrays at their best dtype rates."""
        return sum((a.peak_macs_per_cycle * a.copies for a in self.arrays), Fraction(0))

    def _keeper(self, role: str, index: int) -> Memory:
        path = self.path(role)
        if not path:
            raise ConfigError(f"chip '{self.name}': no memory keeps '{role}'")
        return path[index]
