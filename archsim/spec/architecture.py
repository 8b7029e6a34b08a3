"""The resolved chip: a tree of parts in canonical form, plain integers and fractions, frozen.

``archsim.spec.load`` makes it from YAML; compiler, machine and energy model read only this.
Sizes are in bytes, clocks in Hz, bandwidths in bytes per cycle of the part's own clock. The annotations of a part's
fields are its keys in chip files (``keys``); the memories are in ``memories``, the networks in ``network``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from archsim.base import units
from archsim.base.errors import ConfigError
from archsim.base.units import PS_PER_S
from archsim.spec import value_domains as d
from archsim.spec.by_name import ByName
from archsim.spec.dtypes import BITS, DTYPES, ROLES, TILED
from archsim.spec.keys import Derived, Key, SectionOf, StatedSection, TableOf, cycles, one_or_each
from archsim.spec.memories import Cache, Memory
from archsim.spec.network import Noc, instance, part_of
from archsim.spec.on_die import ChipLink, ChipPower, Control, FloorplanBlock
from archsim.spec.part import IDLE_CLASS_OF, Part, named
from archsim.spec.platforms import Platform

__all__ = [
    "ROLES",
    "TILED",
    "Architecture",
    "Array",
    "Dma",
    "Fanout",
    "Host",
    "RegisterFile",
    "Variant",
    "Vector",
]
CALIBRATED = "calibrated:"  # how the sources of numbers begin that were fitted to measured rows
DEFAULT_DATAFLOW = {"systolic": "weight_stationary", "generic": "dot_product"}


@dataclass(frozen=True, slots=True)
class Fanout:
    """One spatial axis of an array: ``size`` copies; roles multicast to or reduced over them."""

    axis: Annotated[str, Key("axis", d.name(), "name of the axis, e.g. rows")]
    size: Annotated[int, Key("size", d.count(1, 65536), "PEs along the axis")]
    multicast: Annotated[tuple[str, ...], Key("multicast", d.subset(ROLES), "roles sent to all of them", default=())]
    reduce: Annotated[tuple[str, ...], Key("reduce", d.subset(ROLES), "roles summed over them", default=())]


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """A folded memory inside the array, per PE."""

    name: Annotated[str, Key("name", d.name(), "name, e.g. weights_register")]
    keeps: Annotated[tuple[str, ...], Key("keeps", d.subset(ROLES), "roles it keeps")]
    size_bytes: Annotated[int, Key("size", d.whole(units.SIZE, "1 B", "16 TiB"), "capacity in each PE")]


def dataflow_name(stated: str | None, kind: str) -> str:
    """The dataflow of an array: stated, or the default of its kind."""
    return stated or DEFAULT_DATAFLOW[kind]


def _sorted(found: Mapping[str, Fraction], _: StatedSection) -> dict[str, Fraction]:
    return {name: found[name] for name in sorted(found)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Array(Part):
    """A PE array in expanded form: fan-outs, registers, MAC. ``dataflow`` names a file of facts/dataflows.

    ``form``: systolic or generic (no cycles of fill and drain); ``rates``: (inputs dtype, weights dtype) to MACs per PE
    and cycle; ``startup_cycles``: issue of one tile command.
    """

    form: Annotated[
        str,
        Key(
            "kind",
            d.choice("systolic", "generic"),
            "systolic: operands hop from PE to PE, so a fold fills and drains; generic: they reach all PEs at once",
        ),
    ] = "systolic"
    rows: Annotated[
        int,
        Key(
            "shape",
            d.sequence(2, 1, 65536),
            "[rows, columns] of PEs",
            read=lambda found, _: found[0],
            write=lambda rows, array: (rows, array.cols),
        ),
    ]
    cols: Annotated[int, Derived(lambda stated: stated.section.shape[1])]
    dataflow: Annotated[
        str,
        Key(
            "dataflow",
            d.name("the name of a dataflow"),
            "what stays in the PEs; weight_stationary if systolic, dot_product if generic",
            default=None,
            read=lambda found, stated: dataflow_name(found, stated.section.kind),
        ),
    ]
    rates: Annotated[
        Mapping[tuple[str, str], Fraction],
        Key(
            "rates",
            TableOf(d.pair(DTYPES), d.ratio("1/64", "64")),
            "MACs per PE and cycle for each dtype, or pair INPUTSxWEIGHTS such as int8xint4",
            read=_sorted,
        ),
    ]
    multipliers: Annotated[
        tuple[str, ...],
        Key(
            "multipliers",
            d.subset(DTYPES),
            "formats that its multipliers are made for, for its area; all of `rates` unless stated (a compiler may "
            "compute others in these)",
            default=(),
            write=lambda found, _: found or None,
        ),
    ] = ()
    weight_double_buffer: Annotated[
        bool, Key("weight_double_buffer", d.flag(), "a second register for the stationary operand")
    ] = False
    fold_overlap: Annotated[
        bool,
        Key(
            "fold_overlap",
            d.flag(),
            "the next fold enters while the one before leaves: fill and drain once a command, not once a fold",
        ),
    ] = False
    load_rows: Annotated[
        int,
        Key(
            "load_rows",
            d.count(1, 65536),
            "rows of the stationary operand that are shifted in a cycle",
            when=lambda array: array.load_rows != 1,
        ),
    ] = 1
    block: Annotated[
        int,
        Key(
            "block",
            d.count(1, 64),
            "rows and columns of sums that a PE keeps, for which operands are read once",
            when=lambda array: array.block != 1,
        ),
    ] = 1
    startup_cycles: Annotated[int, cycles("startup", "issue of one command, in cycles of the array's clock")] = 0
    fanouts: Annotated[
        tuple[Fanout, ...],
        Key(
            "fanouts",
            SectionOf("Fanout", Fanout, many=True),
            "expanded form: the axes; sizes multiply to the shape",
            default=None,
        ),
    ]
    registers: Annotated[
        tuple[RegisterFile, ...],
        Key(
            "registers",
            SectionOf("RegisterFile", RegisterFile, many=True),
            "expanded form: register files of one PE",
            default=None,
        ),
    ]

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


def _lanes(found: Mapping[str, int], _: StatedSection) -> dict[str, int]:
    """``lanes: N`` means N elements of every dtype."""
    dtypes = BITS if "all" in found else found
    return {dtype: found.get(dtype, found.get("all", 0)) for dtype in sorted(dtypes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector(Part):
    """A vector unit. ``lanes``: elements per cycle by dtype; ``function_cycles``: function (exp, divide, sqrt, ...) to
    cycles per group of lanes."""

    lanes: Annotated[
        Mapping[str, int],
        Key(
            "lanes",
            TableOf(d.choice("all", *DTYPES), d.count(1, 2**20), for_all=True),
            "elements per cycle, one number or a number for each dtype",
            read=_lanes,
            write=lambda kept, _: one_or_each(kept, DTYPES),
        ),
    ]
    function_cycles: Annotated[
        Mapping[str, Fraction],
        Key(
            "functions",
            TableOf(d.name(), d.ratio("1/64", "4096")),
            "slow functions (exp, divide, sqrt, ...) with their cycles per group of lanes",
            default={},
            read=_sorted,
        ),
    ]
    startup_cycles: Annotated[int, cycles("startup", "issue of one command")] = 0
    share: ByName[Fraction] = ByName(Fraction(1))  # of a platform: what of its rate kernels reach, by function

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

    def group_cycles(self, passes: int, slow: tuple[str, ...], functions: Iterable[str]) -> Fraction:
        """Cycles per group of lanes of ``functions`` that need so many passes and ``slow`` functions.

        A command of several functions goes at the least share of any. Raises ConfigError as ``slow_cycles``.
        """
        share = min(map(self.share.of, functions), default=self.share.default)
        return (passes + self.slow_cycles(slow)) / share


@dataclass(frozen=True, slots=True, kw_only=True)
class Host(Part):
    """The host runtime: launch latency, queue depth, issue interval, and its link and compute for fallbacks."""

    name: Annotated[str, named()] = "host"
    launch_ps: Annotated[int, Key("launch", d.whole(units.TIME, "0 s", "1 s"), "latency of one launch")]
    depth: Annotated[int, Key("depth", d.count(1, 1024), "launches in flight", default=1)]
    issue_ps: Annotated[int, Key("issue", d.whole(units.TIME, "0 s", "1 s"), "interval between launches", default=0)]
    floor_ps: Annotated[
        int,
        Key(
            "floor",
            d.whole(units.TIME, "0 s", "1 s"),
            "with `per: kernel`: from the end of a kernel to the first command of the next one",
            when=lambda host: host.per == "kernel",
        ),
    ] = 0
    per: Annotated[
        str,
        Key(
            "per",
            d.choice("program", "kernel"),
            "what the host launches: a Program once, or each kernel (a layer, or layers that run as a group); kernels "
            "do not overlap",
            when=lambda host: host.per == "kernel",
        ),
    ] = "program"
    link_bytes_per_s: Annotated[
        int,
        Key(
            "link",
            d.whole(units.BANDWIDTH, "1 kB/s", "100 TB/s"),
            "bandwidth between host and chip, for layers on the host",
        ),
    ]
    flops_per_s: Annotated[
        int,
        Key(
            "compute",
            d.whole(units.COMPUTE_RATE, "1 MFLOP/s", "10000 TFLOP/s"),
            "sustained arithmetic rate of the host, for layers on the host",
        ),
    ]

    by_operator: Mapping[str, ByName[int]] = field(default_factory=dict)  # of a platform: times by key and operator

    def time_ps(self, key: str, operator: str) -> int:
        """``launch``, ``issue`` or ``floor`` of a kernel that does ``operator``."""
        if key in self.by_operator:
            return self.by_operator[key].of(operator)
        found: int = getattr(self, f"{key}_ps")
        return found

    def work_ps(self, flops: int, size_bytes: int) -> int:
        """A layer's time on the host beside its launch: ceil of the link's and the processor's, without rounding
        either."""
        link, rate = self.link_bytes_per_s, self.flops_per_s
        return -(-(size_bytes * rate + flops * link) * PS_PER_S // (link * rate))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dma(Part):
    """The load and store engines of a core, ``channels`` of each; ``merged`` = one in-order engine for both.

    ``setup_cycles`` of one move, ``run_setup_cycles`` of each contiguous run of a move in DRAM, ``row_setup_cycles`` of
    each row of a gather or scatter.
    """

    name: Annotated[str, named()] = "dma"
    merged: Annotated[
        bool,
        Key("merged", d.flag(), "one in-order engine for loads and stores; runs Programs, not yet models"),
    ] = False
    channels: Annotated[
        int,
        Key(
            "channels",
            d.count(1, 64),
            "load engines, and store engines, of the core; each runs an in-order queue of its own. On-chip "
            "memories that are filled from on-chip memories have as many of their own",
        ),
    ] = 1
    setup_cycles: Annotated[int, cycles("setup", "descriptor cost of one move")] = 0
    run_setup_cycles: Annotated[
        int, cycles("run_setup", "descriptor cost of each contiguous run of a move in DRAM")
    ] = 0
    row_setup_cycles: Annotated[int, cycles("row_setup", "descriptor cost of each row of a gather or scatter")] = 0
    outstanding: Annotated[
        int | None,
        Key(
            "outstanding",
            d.count(1, 65536),
            "bursts of a move, rows of a gather or scatter under way in DRAM, retired in order; no limit unless stated",
        ),
    ] = None
    requests: Annotated[
        int | None,
        Key(
            "requests",
            d.count(1, 65536),
            "bursts that each engine offers to DRAM in a cycle of its clock (of the DRAM's, if that is "
            "slower), over all channels; one that finds its queue full stops those behind it. Unless stated as many as "
            "the queues take in: up to 8 a cycle each",
        ),
    ] = None


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
    controls: tuple[Control, ...] = ()
    links: tuple[ChipLink, ...] = ()
    floorplan: Mapping[str, FloorplanBlock] = field(default_factory=dict)  # name -> a published block of the die
    power: ChipPower = ChipPower()
    stated_idle_class: str = ""  # of the file; '' for that of its class
    chip_class: str = ""  # whose dies are filled alike; '' for none
    noc: Noc | None = None
    sources: Mapping[str, str] = field(default_factory=dict)  # key path of every number -> where it comes from
    platforms: Mapping[str, Platform] = field(default_factory=dict)  # that the file states, by name
    platform: str = ""  # on which it runs, whose keys its parts have; '' for none
    base: Architecture | None = field(default=None, repr=False, compare=False)  # the same before its platform
    variant: Variant | None = field(default=None, repr=False, compare=False)  # who made it makes others of it

    def replace(self, values: Mapping[str, object]) -> Architecture:
        """The same chip with values set by key path, e.g. ``{"dram.channels": 4, "clock": "1.2 GHz"}``.

        Raises ConfigError with the nearest key path and what is allowed.
        """
        if self.variant is None:
            raise ConfigError(f"chip '{self.name}' was not made from a file; allowed are keys of chips that are")
        return self.variant(self, values)

    @property
    def calibrated(self) -> dict[str, str]:
        """Sources, by key path, of the numbers that were fitted to measured rows: the chip's own, and those of the
        platform on which it runs."""
        own = f"platforms.{self.platform}."
        said = {path: text for path, text in self.sources.items() if text.startswith(CALIBRATED)}
        return {path: text for path, text in said.items() if path.startswith(own) or not path.startswith("platforms.")}

    @property
    def idle_class(self) -> str:
        """How it draws power when nothing runs, '' for what its parts leak."""
        return self.stated_idle_class or IDLE_CLASS_OF.get(self.chip_class, "")

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
        yield from self.controls
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
