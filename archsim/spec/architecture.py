"""The resolved chip: a tree of parts in canonical form, plain integers and fractions, frozen.

``archsim.spec.load`` makes it from YAML; compiler, machine and energy model read only this.
Sizes are in bytes, clocks in Hz, bandwidths in bytes per cycle of the part's own clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from archsim.base.errors import ConfigError
from archsim.base.units import PS_PER_S
from archsim.spec.memories import Cache, Memory
from archsim.spec.network import Noc, instance, part_of
from archsim.spec.part import Part

ROLES = ("inputs", "weights", "outputs", "partials", "tables", "kv")
TILED = ("inputs", "weights", "outputs")  # roles whose tiles the DMA moves on chip


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

    def work_ps(self, flops: int, size_bytes: int) -> int:
        """A layer's time on the host beside its launch: ceil of the link's and the processor's, without rounding
        either."""
        link, rate = self.link_bytes_per_s, self.flops_per_s
        return -(-(size_bytes * rate + flops * link) * PS_PER_S // (link * rate))


@dataclass(frozen=True, slots=True)
class Dma(Part):
    """The load and store engines of a core, ``channels`` of each; ``merged`` = one in-order engine for both."""

    merged: bool = False
    channels: int = 1
    setup_cycles: int = 0  # descriptor cost of one move
    run_setup_cycles: int = 0  # of each contiguous run of a move in DRAM
    row_setup_cycles: int = 0  # of each row of a gather or scatter
    outstanding: int | None = None  # bursts of a move, rows of a gather or scatter under way; None = no limit
    requests: int | None = None  # bursts that an engine offers to DRAM in a cycle; None = as many as queues take in


Variant = Callable[["Architecture", Mapping[str, object]], "Architecture"]  # a chip with values set by key path


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
    noc: Noc | None = None
    sources: Mapping[str, str] = field(default_factory=dict)  # key path of every number -> where it comes from
    variant: Variant | None = field(default=None, repr=False, compare=False)  # who made it makes others of it

    def replace(self, values: Mapping[str, object]) -> Architecture:
        """The same chip with values set by key path, e.g. ``{"dram.channels": 4, "clock": "1.2 GHz"}``.

        Raises ConfigError with the nearest key path and what is allowed.
        """
        if self.variant is None:
            raise ConfigError(f"chip '{self.name}' was not made from a file; allowed are keys of chips that are")
        return self.variant(self, values)

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

    @property
    def cores(self) -> int:
        """Copies of what stands below the network; 1 without one."""
        return self.noc.cores if self.noc is not None else 1

    def instances(self, memory: Memory) -> tuple[str, ...]:
        """The names under which a Program knows a memory: one for each core where it stands below the network."""
        if self.noc is None or memory.name not in self.noc.inside:
            return (memory.name,)
        return tuple(instance(memory.name, core) for core in range(self.noc.cores))

    def memory(self, name: str) -> Memory:
        """The memory called ``name``, or of which that is a core's own copy."""
        for memory in self.memories:
            if memory.name == part_of(name):
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
        if self.noc is not None:
            yield from reversed(self.noc.levels)
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
