"""What the cost model knows of the chip: rates in reference-clock cycles, energy per byte, cycles of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import inf
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from archsim.base.arrays import IntArray
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Nest
from archsim.facts.vector_cost import vector_cycles
from archsim.ir.footprint import ByteFootprint
from archsim.ir.functions import Function, Functions
from archsim.ir.inside import MAC
from archsim.ir.workload import Layer
from archsim.spec.architecture import Architecture, Array, Vector
from archsim.spec.part import Part
from mapper.cost.grid import Reals
from mapper.problem.array_axes import array_shape
from mapper.problem.conversion import DRAIN
from mapper.problem.problem import nest_of

FOLDED = 512  # nests on arrays that are remembered
STREAMS = ("a", "b", "acc_read", "acc_write")
Extents = tuple[tuple[str, int], ...]
Shares = tuple[tuple[int, tuple[tuple[int, float], ...]], ...]
FoldFunction = Callable[[Extents], tuple[int, ...]]


class StreamRates(Protocol):
    """How fast a DRAM serves regions."""

    @property
    def most(self) -> float:
        """The share of the peak that no region goes beyond."""

    def seconds(self, touched: ByteFootprint, *, write: bool) -> float:
        """What the bytes take, alone in the memory, beside the latency of the first burst."""


@dataclass(frozen=True)
class Outer:
    """What the cost model must be told of a DRAM.

    Peak bytes per second, least seconds that a read or write adds to its beats, granule of transfers in bytes, and
    seconds that a move takes more which finds other rows open; bytes of a row of a channel (0: it has none), channels.
    ``shares``: what is left of the peak, by streams under way at a time (ascending) and bytes of their contiguous runs
    (ascending); none where it is not known; ``aligned``: of streams that lie multiples of ``period_bytes`` apart, so
    that each meets the others in the same banks at every instant. ``engine_bytes_per_s``: what one engine can ask for,
    through one port. ``rates``: of regions by their pattern; None where they go at the peak.
    """

    peak_bytes_per_s: float
    read_latency_s: float = 0.0
    write_latency_s: float = 0.0
    burst_bytes: int = 1
    row_s: float = 0.0
    row_bytes: int = 0
    channels: int = 1
    shares: Shares = ()
    aligned: Shares = ()
    period_bytes: int = 0
    engine_bytes_per_s: float = inf
    rates: StreamRates | None = None

    def rows(self, size_bytes: int) -> int:
        """Rows that a move opens at least: one in every channel that it reaches, and in all as many as it fills."""
        if not self.row_bytes:
            return 0
        return max(-(-size_bytes // self.row_bytes), min(self.channels, -(-size_bytes // self.burst_bytes)))

    def streams(self, size_bytes: float = inf, run_bytes: float = inf, apart_bytes: int = 0) -> int:
        """Transfers of so many bytes each, in contiguous runs, so far apart (0: anywhere), at a time that move most.

        A crowd leaves a share of the peak, and each of them waits for its first beat. 0: not known.
        """
        idle_bytes = (self.read_latency_s + self.row_s) * self.peak_bytes_per_s
        found = {
            n: float(self.share(n, run_bytes, apart_bytes)) / (1 + idle_bytes / (n * size_bytes))
            for n, _ in self.shares
        }
        return max(found, key=lambda n: (found[n], -n), default=0)

    def share(self, streams: int, run_bytes: Reals | float = inf, apart_bytes: int = 0) -> Reals:
        """What so many streams of contiguous runs, so far apart (0: anywhere), leave of the peak; of other lengths than
        were measured what lies between, or is nearest."""
        meet = apart_bytes and self.aligned and apart_bytes % self.period_bytes == 0
        shares = self.aligned if meet else self.shares
        level = max((row for row in shares if row[0] <= streams), default=shares[0])[1]
        sizes = np.log2([size for size, _ in level])
        return np.asarray(np.interp(np.log2(run_bytes), sizes, [share for _, share in level]))


@dataclass(frozen=True)
class ChipCosts:
    """Rates of one chip for the cost model. ``energy_pj``: (part, 'read' | 'write') -> pJ per byte, (array, 'mac') and
    (vector unit, 'lane_ops') -> pJ; ``standing_w``: what time alone costs.

    ``outer``: DRAM parts by name; one that is not there is taken as infinitely fast, so that bounds stay bounds.
    ``opens``: moves are taken to find other rows open in DRAM, and packets to wait for others. ``shares``: (shared
    memory, 'read' | 'write') -> share of the time that the network's busiest link works then; 1 where not known.
    """

    architecture: Architecture
    outer: Mapping[str, Outer]
    energy_pj: Mapping[tuple[str, str], float]
    opens: bool = False
    standing_w: float = 0.0
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def read_rate(self, name: str) -> float:
        """Bytes per reference cycle that a DMA engine can read from a memory (infinite where unlimited)."""
        return self._rate(name, write=False)

    def write_rate(self, name: str) -> float:
        """Bytes per reference cycle that a DMA engine can write to a memory."""
        return self._rate(name, write=True)

    def port_rate(self, name: str, *, write: bool) -> float:
        """Bytes per reference cycle over all ports of a direction of an on-chip memory, or over a DRAM's pins."""
        memory = self.architecture.memory(name)
        if memory.kind == "dram":
            return self._rate(name, write=write)
        return memory.bytes_per_cycle_of_all(write=write) * self.scale(memory)

    def asked(self, elements: Reals, element_bytes: float, memory: str) -> Reals:
        """Reference cycles in which one engine asks for so many elements of a memory: 0 where nothing limits it."""
        known = self.outer.get(memory)
        if known is None or known.engine_bytes_per_s == inf:
            return np.zeros(())
        return elements * (element_bytes * self.architecture.clock_hz / known.engine_bytes_per_s)

    def burst_bytes(self, memory: str) -> int:
        """Granule of a DRAM's transfers (1 where it is not known)."""
        return self.outer[memory].burst_bytes if memory in self.outer else 1

    def usual(self) -> ChipCosts:
        """The same with moves that find other rows open, as most do."""
        return self._usual

    @cached_property
    def _usual(self) -> ChipCosts:
        return replace(self, opens=True)

    @property
    def edge(self) -> float:
        """Reference cycles of one DMA clock edge: the least that a move over ports of finite width takes."""
        return 1.0 / self.scale(self.architecture.dma)

    @property
    def setup(self) -> float:
        """Reference cycles of a move's descriptor."""
        return self.architecture.dma.setup_cycles / self.scale(self.architecture.dma)

    @property
    def run_setup(self) -> float:
        """Reference cycles of the descriptor of one contiguous run of a move in DRAM."""
        return self.architecture.dma.run_setup_cycles / self.scale(self.architecture.dma)

    @property
    def row_setup(self) -> float:
        """Reference cycles of the descriptor of one row of a gather."""
        return self.architecture.dma.row_setup_cycles / self.scale(self.architecture.dma)

    def latency(self, memory: str, write: bool) -> float:
        """Reference cycles that a move waits for DRAM beside its data beats; 0 for other memories."""
        known = self.outer.get(memory)
        if known is None:
            return 0.0
        latency_s = (known.write_latency_s if write else known.read_latency_s) + (known.row_s if self.opens else 0.0)
        return latency_s * self.architecture.clock_hz

    def move_floor(self, memory: str, write: bool) -> float:
        """Reference cycles that one move takes beside its data beats: descriptor and DRAM latency."""
        return self.setup + self.latency(memory, write)

    def _rate(self, name: str, write: bool) -> float:
        memory = self.architecture.memory(name)
        if memory.kind == "dram":
            return (
                self.outer[name].peak_bytes_per_s / self.architecture.clock_hz if name in self.outer else float("inf")
            )
        return memory.bytes_per_cycle_of("dma", write=write) * self.scale(memory)

    @property
    def standing_pj(self) -> float:
        """What a reference cycle costs in which nothing happens."""
        return self.standing_w * 1e12 / self.architecture.clock_hz

    def scale(self, part: Part) -> float:
        """Cycles of the part's clock in one reference cycle."""
        return part.clock_hz / self.architecture.clock_hz


def fold_function(chip: ChipCosts, layer: Layer, array: Array, dtypes: Mapping[str, str]) -> FoldFunction:
    """Cycles of the layer's nest on the array at the dtypes used (accumulating form), and elements over its edge by
    STREAMS; remembered over all layers and chips.
    """
    flow = catalogue.get(array.dataflow)
    nest = nest_of(layer, array.dataflow)
    shape = array_shape(array, dtypes["inputs"], dtypes["weights"])
    known = _folds(array.dataflow, nest, shape)

    def folded(extents: tuple[tuple[str, int], ...]) -> tuple[int, ...]:
        found = known.get(extents)
        if found is None:
            done = flow.fold(nest, dict(extents), shape, accumulate=True)
            found = known[extents] = (done.cycles, *(done.streams[name].accesses for name in STREAMS))
        return found

    return folded


def folds(
    chip: ChipCosts, layer: Layer, array: Array, dtypes: Mapping[str, str], extents: Mapping[str, IntArray]
) -> Reals:
    """The same of many commands, by their extents: rows of cycles and of each stream, a column for each command."""
    if not catalogue.takes_arrays(array.dataflow):
        fold, names = fold_function(chip, layer, array, dtypes), list(extents)
        each = zip(*(extents[name].tolist() for name in names), strict=True)
        return np.array([fold(tuple(zip(names, tile, strict=True))) for tile in each], dtype=np.float64).T
    nest, shape = nest_of(layer, array.dataflow), array_shape(array, dtypes["inputs"], dtypes["weights"])
    done: Any = catalogue.get(array.dataflow).fold(nest, cast(Any, extents), shape, accumulate=True)
    rows = np.broadcast_arrays(done.cycles, *(done.streams[name].accesses for name in STREAMS))
    return np.array(rows, dtype=np.float64)


@lru_cache(maxsize=FOLDED)
def _folds(dataflow: str, nest: Nest, shape: ArrayShape) -> dict[Extents, tuple[int, ...]]:
    """What is remembered of an array and a nest, by extents."""
    return {}


class LaneWork(NamedTuple):
    """What a VECTOR command does with each element: plain passes, slow functions of the chip, and what it computes."""

    passes: int
    slow: tuple[str, ...]
    functions: Functions

    def group_cycles(self, unit: Vector) -> Fraction:
        """Cycles of a group of lanes; raises ConfigError for a function that has no rate there."""
        return unit.group_cycles(self.passes, self.slow, (function.name for function in self.functions))


ADDED = LaneWork(1, (), (Function(MAC),))  # of a product in lanes


def drain_steps(layer: Layer) -> LaneWork:
    """Of the vector command that finishes a tile; a plain drain is one pass."""
    passes = sum(step.passes for step in layer.steps) or 1
    slow = tuple(name for step in layer.steps for name in step.slow)
    functions = tuple(function for step in layer.steps for function in step.functions)
    return LaneWork(passes, slow, functions or (DRAIN,))


def vector_times(elements: IntArray, work: LaneWork, unit: Vector, dtype: str) -> IntArray:
    """The same of many commands."""
    return cast(IntArray, vector_time(cast(Any, elements), work, unit, dtype))


def vector_time(elements: int, work: LaneWork, unit: Vector, dtype: str) -> int:
    """Cycles of a VECTOR command on ``unit``; raises ConfigError when dtype or function has no rate there."""
    return vector_cycles(elements, unit.lane_count(dtype), work.group_cycles(unit), unit.startup_cycles)
