"""Expected action counts of one mapped layer, as integers, from its LoopTree alone (convention ``archsim``).

Tiles are counted by classes of equal extents, not one by one; the machine counts command by command. Both must agree.
Keys as in Activity: (part, action).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from archsim.facts.dataflows import catalogue
from archsim.ir.activity import combining
from archsim.ir.footprint import ByteFootprint, runs_of
from archsim.spec.architecture import Architecture
from mapper.allocate.placement import slabs
from mapper.allocate.residency import Resident
from mapper.cost.chip_rates import drain_steps
from mapper.cost.partial_sums import ways
from mapper.lower.frame import Frame
from mapper.lower.lookups import dims_lookup
from mapper.lower.tile_moves import joint_tiles, moves, repeats, tiles
from mapper.lower.window_padding import WindowPadding
from mapper.problem.array_axes import array_shape
from mapper.problem.bounded import Trims, coupled
from mapper.problem.geometry import Counts as TileNumbers
from mapper.problem.geometry import tiles_of
from mapper.problem.operands import ACC, BIAS, OUT, OperandPlan
from mapper.problem.problem import nest_of

Counts = Counter[tuple[str, str]]
NO_BURSTS: Mapping[str, int] = MappingProxyType({})
FIRST, FRESH = "first", "fresh"  # tile of a reduction, of a core's share of one


def expected_counts(
    frame: Frame, architecture: Architecture, dtypes: Mapping[str, str], bursts: Mapping[str, int] = NO_BURSTS
) -> Counts:
    """Counts of one mapped layer, without the borders of tensors pinned on chip (``border_counts``) and without what
    gathers read through a cache (``mapper.analytic.cache_counts``).

    ``bursts``: bytes of a burst by DRAM, whose bursts are then counted as accesses, as if each tile began with one.
    """
    counts: Counts = Counter()
    words = {memory.name: memory.word_bytes for memory in architecture.memories if memory.kind != "dram"}
    for plan in frame.problem.operands:
        if plan.made_of:
            _convert(frame, plan, counts, words)
        elif plan.name != ACC and not plan.resident and plan.buffered:
            _move(frame, plan, counts, words, bursts)
    if frame.problem.engine == "array":
        _array(frame, counts, words, architecture, dtypes)
        _adding(frame, counts, words, architecture.dma.name)
    if frame.problem.engine == "copy":
        _copy(frame, counts, words, bursts)
    else:
        _vector(frame, counts, words)
    return Counter({key: count for key, count in counts.items() if count})


def border_counts(pinned: Resident, shape: tuple[int, ...], architecture: Architecture) -> Counts:
    """Writes that fill the border of a tensor pinned on chip."""
    counts: Counts = Counter()
    word, layout = architecture.memory(pinned.memory).word_bytes, pinned.layout
    for slab in slabs(layout, shape):
        _touch(counts, pinned.memory, "write", slab.sizes, layout.strides, layout.element_bytes, word, 1)
    return counts


def padding_counts(padding: WindowPadding, trips: Sequence[int], vector: str, architecture: Architecture) -> Counts:
    """What the unit ``vector`` writes where readers of a window see padding; ``trips``: of its maker's shared loops."""
    counts: Counts = Counter()
    memory, stored = padding.plan.window.level, padding.plan.stored
    word = architecture.memory(memory).word_bytes
    for sizes, times in padding.fills(trips):
        _touch(counts, memory, "write", sizes, stored.strides, stored.element_bytes, word, times)
        counts[vector, "lane_ops"] += prod(sizes) * times
    return counts


def _touch(
    counts: Counts,
    memory: str,
    direction: str,
    sizes: Sequence[int],
    strides: Sequence[int],
    element: int,
    word: int,
    times: int,
    lead: Sequence[int] | None = None,
) -> None:
    """Bytes and whole accesses of a strided block, walked in the order of ``lead``: strides of a move's other side."""
    if 0 in sizes:
        return
    runs = _runs(sizes, strides, element, lead or strides)
    counts[memory, f"{direction}_bytes"] += runs.size_bytes * times
    if word:
        counts[memory, f"{direction}_accesses"] += runs.accesses(word) * times


def _runs(sizes: Sequence[int], strides: Sequence[int], element: int, lead: Sequence[int]) -> ByteFootprint:
    axes = [(n, s, led) for n, s, led in zip(sizes, strides, lead, strict=True) if n > 1 and s]
    return runs_of(0, element, [(n, s) for n, s, _ in axes], [led for _, _, led in axes])


def _copy(frame: Frame, counts: Counts, words: Mapping[str, int], bursts: Mapping[str, int]) -> None:
    """The move out of the ring (or straight from the tensor) into the target tensor, by the layer's dims."""
    source, target = frame.problem.operand("in0"), frame.problem.operand(OUT)
    depth = frame.keeps["in0"][0] if source.buffered else len(frame.loops)
    reads = source.level if source.resident or source.buffered else source.home
    writes = target.level if target.resident else target.home
    ends = [(source, reads, "read"), (target, writes, "write")]
    leading = next((plan for plan, memory, _ in ends if memory not in words), source)
    gathers = not source.buffered and dims_lookup(frame, source, depth) is not None
    lead = {} if gathers else dict(frame.dims_region(leading, "", depth).strides)
    if not source.resident and not source.buffered:  # straight from DRAM: what lies in the padding is not read
        ends.pop(0)
        again = 0 if source.cached else repeats(frame, source, depth) * _each(frame, source, reads)
        for _, touched, times in tiles(frame, source, depth, None):
            size = prod(touched) * source.element_bytes
            counts[reads, "read_bytes"] += size * times * again
            counts[reads, "read_accesses"] += -(-size // bursts[reads]) * times * again if reads in bursts else 0
    granules = {**words, **bursts}
    for extents, times, _ in _tiles(frame, tuple(frame.problem.dims), depth):
        for plan, memory, direction in ends:
            strides = dict(frame.dims_region(plan, "", depth).strides)
            sizes = list(extents.values())
            steps = [strides.get(dim, 0) for dim in extents]
            led = [lead.get(dim, 0) for dim in extents]
            _touch(counts, memory, direction, sizes, steps, plan.element_bytes, granules.get(memory, 0), times, led)


def _move(frame: Frame, plan: OperandPlan, counts: Counts, words: Mapping[str, int], bursts: Mapping[str, int]) -> None:
    """Bytes beyond the edge: inside the tensor, or of the whole tile in a slot; bytes of the whole tile within it.

    A move from DRAM goes in the order of DRAM, one between on-chip memories in the order of what it reads.
    """
    at_home, at_level = _each(frame, plan, plan.home), _each(frame, plan, plan.level)
    outwards, inwards = ("write", "read") if plan.operand == OUT else ("read", "write")
    near, far = frame.slot_strides(plan), frame.far_strides(plan)
    lead = near if outwards == "write" else far
    for filled, inside, times in moves(frame, plan):
        if plan.home in words:
            _touch(
                counts, plan.home, outwards, inside, far, plan.element_bytes, words[plan.home], times * at_home, lead
            )
        elif not plan.cached:
            counts[plan.home, f"{outwards}_bytes"] += prod(inside) * plan.element_bytes * times * at_home
            if plan.home in bursts:
                runs = _runs(inside, far, plan.element_bytes, lead)
                counts[plan.home, f"{outwards}_accesses"] += runs.accesses(bursts[plan.home]) * times * at_home
        _touch(counts, plan.level, inwards, filled, near, plan.element_bytes, words[plan.level], times * at_level)


def _convert(frame: Frame, plan: OperandPlan, counts: Counts, words: Mapping[str, int]) -> None:
    """Tiles that a VECTOR command makes of those that came in."""
    sources, names = [frame.problem.operand(name) for name in plan.made_of], [p.name for p in frame.parts[plan.name]]
    each = _each(frame, plan, plan.level)
    for filled, _, times in moves(frame, plan):
        sizes = dict(zip(names, filled, strict=True))
        counts[frame.problem.vector, "lane_ops"] += prod(filled) * plan.passes * times * each
        for source in sources:
            moving = [part for part in frame.parts[source.name] if part.terms]  # not of rows that are one group
            elements = prod(sizes[part.name] for part in moving)
            _stream(counts, words, source, "read", elements, times * each)
        _stream(counts, words, plan, "write", prod(filled), times * each)


def far_moves(frame: Frame, plan: OperandPlan) -> Iterator[tuple[int, int]]:
    """(bytes, how often) of an operand's moves, as the memory beyond its edge sees them."""
    each = _each(frame, plan, plan.home)
    for _, inside, times in moves(frame, plan):
        yield prod(inside) * plan.element_bytes, times * each


def _each(frame: Frame, plan: OperandPlan, memory: str) -> int:
    """How often a tile of an operand is moved at a memory: in a core's own for each core that needs it, in one that
    cores share for each that brings it."""
    problem, spread = frame.problem, frame.problem.spread
    if spread is None:
        return 1
    having = problem.having(plan)
    return (min(problem.copies(plan), having) if memory in spread.shared else having) // problem.different(plan)


def _tiles(
    frame: Frame, dims: tuple[str, ...], depth: int, trims: Trims = ()
) -> Iterator[tuple[dict[str, int], int, str]]:
    """(extents, how often, whether it starts a reduction) over the tiles below ``depth`` loops; those that bounds leave
    nothing of are no tiles. ``trims``: what they leave out.

    It is FIRST where it starts the whole, FRESH where it starts one core's share of it, '' elsewhere.
    """
    reductions = set(dims) - set(frame.problem.operand(OUT).dims)
    groups = coupled(trims, dims)
    tied = {dim for group in groups for dim in group}
    choices = [_alone(frame, dim, depth) for dim in dims if dim not in tied]
    choices += [_jointly(frame, trims, group, depth) for group in groups]
    for combo in product(*choices):
        found = {dim: each for chosen, _ in combo for dim, each in chosen.items()}
        begun = {found[dim].kind for dim in reductions}
        fresh = "" if "" in begun else FRESH if FRESH in begun else FIRST
        yield {dim: found[dim].size for dim in dims}, prod(times for _, times in combo), fresh


class DimTile(NamedTuple):
    """A tile of one dim: its size, and whether it starts a reduction."""

    size: int
    kind: str


TileChoices = list[tuple[dict[str, DimTile], int]]  # tiles of some dims, and how often there are such


def _alone(frame: Frame, dim: str, depth: int) -> TileChoices:
    extent = frame.dims[dim]
    starts, sizes = tiles_of(extent, frame.cut(depth).get(dim, extent), frame.reach(dim))
    return [({dim: tile}, times) for tile, times in Counter(_dim_tiles(frame, dim, starts, sizes)).items()]


def _jointly(frame: Frame, trims: Trims, group: tuple[str, ...], depth: int) -> TileChoices:
    joint = joint_tiles(frame, trims, group, depth)
    each = [_dim_tiles(frame, dim, joint.starts[dim], joint.extents[dim]) for dim in group]
    rows = Counter(zip(*each, strict=True))
    return [
        (dict(zip(group, row, strict=True)), times) for row, times in rows.items() if all(tile.size for tile in row)
    ]


def _dim_tiles(frame: Frame, dim: str, starts: TileNumbers, sizes: TileNumbers) -> list[DimTile]:
    reach = frame.reach(dim)
    pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
    return [DimTile(size, FIRST if not start else "" if start % reach else FRESH) for start, size in pairs]


def _stream(
    counts: Counts, words: Mapping[str, int], plan: OperandPlan, direction: str, elements: int, times: int
) -> None:
    size = elements * plan.element_bytes
    counts[plan.level, f"{direction}_bytes"] += size * times
    counts[plan.level, f"{direction}_accesses"] += -(-size // words[plan.level]) * times


def _array(
    frame: Frame,
    counts: Counts,
    words: Mapping[str, int],
    architecture: Architecture,
    dtypes: Mapping[str, str],
) -> None:
    problem = frame.problem
    array = next(part for part in architecture.arrays if part.name == problem.unit)
    layer, shape = problem.layer, array_shape(array, **problem.pair)
    nest = nest_of(layer, array.dataflow)
    for extents, times, fresh in _tiles(frame, tuple(problem.dims), len(frame.loops), frame.trims):
        fold = catalogue.get(array.dataflow).fold(nest, extents, shape, accumulate=not fresh)
        for action, count in fold.inner_actions.items():
            counts[array.name, action] += count * times
        for name, operand, direction in (
            ("a", "a", "read"),
            ("b", "b", "read"),
            ("acc_read", ACC, "read"),
            ("acc_write", ACC, "write"),
        ):
            _stream(counts, words, problem.operand(operand), direction, fold.streams[name].accesses, times)
        if fresh == FIRST:
            for plan in problem.reads:
                if plan.name == BIAS:
                    _stream(counts, words, plan, "read", _moving(plan, extents), times)


def _adding(frame: Frame, counts: Counts, words: Mapping[str, int], dma: str) -> None:
    """Partial sums that cores copy, send and add up."""
    adders, plan = frame.problem.adders, frame.problem.operand(ACC)
    if adders == 1:
        return
    way = next(way for way in ways(adders) if way.name == frame.way)
    strides, word = frame.slot_strides(plan), words[plan.level]
    for sizes, _, count in tiles(frame, plan, frame.keeps[ACC][0], None):
        for direction, times in (("read", way.copies + 2 * (adders - 1)), ("write", way.copies + adders - 1)):
            _touch(counts, plan.level, direction, sizes, strides, plan.element_bytes, word, count * times)
        counts[dma, combining(plan.dtype)] += prod(sizes) * count * (adders - 1)


def _moving(plan: OperandPlan, extents: Mapping[str, int]) -> int:
    return prod(size for dim, size in extents.items() if dim in plan.dims)


def _vector(frame: Frame, counts: Counts, words: Mapping[str, int]) -> None:
    """Drains of accumulators, vector layers, and MACs on the vector unit."""
    problem = frame.problem
    unit = problem.vector
    passes, slow, _ = drain_steps(problem.layer)
    if problem.accumulates:
        depth = frame.keeps[ACC][0]
        dims = tuple(dim for dim in problem.dims if dim in problem.operand(OUT).dims)
        reads: tuple[OperandPlan, ...] = (problem.operand(ACC), *problem.added)
        if problem.engine == "vector":
            _commands(frame, counts, words, unit, tuple(problem.dims), len(frame.loops), problem.reads, ACC, 1, ())
    else:
        depth, dims, reads = len(frame.loops), tuple(problem.dims), problem.reads
    _commands(frame, counts, words, unit, dims, depth, reads, OUT, passes, slow)


def _commands(
    frame: Frame,
    counts: Counts,
    words: Mapping[str, int],
    unit: str,
    dims: tuple[str, ...],
    depth: int,
    reads: tuple[OperandPlan, ...],
    target: str,
    passes: int,
    slow: tuple[str, ...],
) -> None:
    trims = frame.trims if len(dims) == len(frame.problem.dims) else frame.trims_of(frame.problem.operand(OUT))
    for extents, times, _ in _tiles(frame, dims, depth, trims):
        elements = prod(extents.values())
        counts[unit, "lane_ops"] += elements * passes * times
        for name in slow:
            counts[unit, name] += elements * times
        for plan in reads:
            _stream(counts, words, plan, "read", _moving(plan, extents), times)
        target_plan = frame.problem.operand(target)
        _stream(counts, words, target_plan, "write", _moving(target_plan, extents), times)
