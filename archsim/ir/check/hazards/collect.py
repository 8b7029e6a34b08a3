"""Every operand of every command as a bounding byte interval of its tensor or ring, checked to lie inside.

All runs of one command text in its nest are evaluated together: offsets, extents and clips as arrays. Bounds count from
a region's constant offset, so that equal texts of many cores are evaluated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple, NoReturn

import numpy as np

from archsim.base.arrays import BoolArray, IntArray
from archsim.base.errors import ProgramError
from archsim.base.ragged import Picked, alike, firsts, stretches
from archsim.ir.check.form.declarations import describe
from archsim.ir.check.hazards.accesses import (
    READS,
    SCATTERS,
    WRITES,
    AccessGroups,
    AccessKind,
    AccessTable,
    GroupHeads,
    slot_begins,
    slot_starts,
)
from archsim.ir.check.tokens.ledger import TokenLedger
from archsim.ir.check.tokens.unrolled import NestText, TextRuns
from archsim.ir.program import Affine, Clip, Command, Extent, PlacedTensor, Region, Ring


class RunBounds(NamedTuple):
    """Places in the nest and bounding bytes [``low``, ``high``), from the constant offset on, of the runs that touch
    anything."""

    at: IntArray
    low: IntArray
    high: IntArray


class DistinctBounds:
    """The distinct bounds ``found``. Columns that are everywhere the same take no room."""

    def __init__(self) -> None:
        self.found: list[RunBounds] = []
        self._numbers: dict[tuple[object, ...], int] = {}

    def number(self, bounds: RunBounds) -> int:
        """Number of equal bounds; -1 if nothing is touched."""
        if not len(bounds.at):
            return -1
        low, high = _small(bounds.low), _small(bounds.high)
        key = (_mark(bounds.at), _mark(low), _mark(high))
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.found)
            self.found.append(RunBounds(bounds.at, low, high))
        return known


def _small(column: IntArray) -> IntArray:
    """The same column, which takes no room if it is one number."""
    if len(column) <= LONG or column[0] != column[-1] or (column != column[0]).any():
        return column
    return np.broadcast_to(column[0], column.shape)


def _mark(column: IntArray) -> tuple[int, bytes]:
    """Equal for equal columns."""
    if column.strides == (0,):
        return len(column), column[:1].tobytes()
    return -len(column), blake2b(column.tobytes()).digest() if len(column) > LONG else column.tobytes()


LONG = 16  # numbers of a column, from which on its digest stands for it


class EvaluatedTexts:
    """What was evaluated of texts, by the parts of commands as objects, which the compiler shares among cores.

    ``bounds``: what their operands touch.
    """

    def __init__(self) -> None:
        self.bounds = DistinctBounds()
        self._repeats: dict[tuple[int, ...], Repeats] = {}

    def of(self, text: NestText) -> Repeats:
        """The runs of a text and of all that run alike, with equal extents."""
        command = text.command
        key = (id(text.nest), text.number, id(command.extents), id(command.fresh))
        found = self._repeats.get(key)
        if found is None:
            found = self._repeats[key] = Repeats(text, self.bounds)
        return found


class Repeats:
    """The runs of a text in its nest that are not empty. ``distinct``: where bounds are put."""

    def __init__(self, text: NestText, distinct: DistinctBounds) -> None:
        runs = text.nest.runs[text.number]
        values = {extent.dim: _extent(extent, runs) for extent in text.command.extents}
        live = np.ones(len(runs.at), dtype=np.bool_)
        for value in values.values():
            if not isinstance(value, int):
                live &= value > 0
        whole = bool(live.all())
        self.text = text
        self.runs = runs if whole else runs.pick(live)
        self.extents = values if whole else {dim: _picked(value, live) for dim, value in values.items()}
        self._bounds: dict[tuple[int | None, ...], int] = {}
        self._distinct = distinct

    def bounds(self, region: Region, rows_above: int, only: bool | None) -> int:
        """Number of the bounds of ``region``, clamped and clipped, -1 if nothing is touched; ``rows_above``: bytes from
        the first row of a looked-up table to its last one; ``only`` the runs that start afresh (True), or continue
        (False)."""
        terms = region.offset.terms
        key = (id(region.strides), id(terms), id(region.clips), region.element_bytes, rows_above, only)
        found = self._bounds.get(key)
        if found is None:
            found = self._bounds[key] = self._distinct.number(self._bounds_of(region, rows_above, only))
        return found

    def _bounds_of(self, region: Region, rows_above: int, only: bool | None) -> RunBounds:
        low = _affine(Affine(0, region.offset.terms), self.runs)
        high = low + (region.element_bytes + rows_above)
        live = self._kept(only)
        for dim, stride in region.strides:
            if any(each.dim == dim for each in region.clips):
                first, end = self._range(dim, region.clips)
                live &= end > first
                low, high = low + first * stride, high + (end - 1) * stride
            else:
                high += (self.extents[dim] - 1) * stride
        if live.all():
            return RunBounds(self.runs.at, low, high)
        return RunBounds(self.runs.at[live], low[live], high[live])

    def _kept(self, only: bool | None) -> BoolArray:
        """Which runs are ``only`` asked for, None for all. Without a condition all start afresh."""
        if only is None:
            return np.ones(len(self.runs.at), dtype=np.bool_)
        fresh = np.isin(self.runs.at, self.text.nest.places(self.text.number, self.text.command.fresh))
        return fresh if only else ~fresh

    def _range(self, dim: str, clips: tuple[Clip, ...]) -> tuple[IntArray, IntArray]:
        """Indices [first, end) of a clipped extent that exist in the tensor."""
        first = np.zeros(len(self.runs.at), dtype=np.int64)
        end = first + self.extents[dim]
        for clip in clips:
            if clip.dim == dim:
                start = _affine(clip.start, self.runs)
                first, end = np.maximum(first, -start), np.minimum(end, clip.length - start)
        return first, end


def _picked(value: int | IntArray, keep: BoolArray) -> int | IntArray:
    return value if isinstance(value, int) else value[keep]


def _extent(extent: Extent, runs: TextRuns) -> int | IntArray:
    """Of each run; one number where nothing limits it."""
    if not extent.limits and extent.size > 0:
        return extent.size
    value = np.full(len(runs.at), extent.size, dtype=np.int64)
    for limit in extent.limits:
        np.minimum(value, _affine(limit, runs), out=value)
    return value


def _affine(affine: Affine, runs: TextRuns) -> IntArray:
    value = np.full(len(runs.at), affine.const, dtype=np.int64)
    for var, coefficient in affine.terms:
        value += coefficient * runs.env[var]
    return value


FEW = 8  # runs of a text below which its mistakes are looked for run by run
OperandTouch = tuple[
    Region, AccessKind, bool | None
]  # operand, what is done to it, only if fresh (True) or not (False)
_START = {"MATMUL": "bias", "mac": "in2"}  # what accumulates (operation or vector function): where it begins


STORE, KIND, QUEUE, BEGIN, OFFSET, RANK, TOUCH, FEW_RUNS, BOUNDS = range(9)  # columns of an operand


@dataclass(frozen=True)
class OperandTable:
    """All operands of command texts that touch anything, as the Program has them.

    ``columns``, shape (operands, 9): numbers of the STORE and the QUEUE, the KIND of access, the BEGIN of the nest in
    the queue, the constant OFFSET, the RANK of the text in the queue, which TOUCH of the text's it is, whether its runs
    are few (FEW_RUNS), and the number of its BOUNDS.
    ``items``: tensors and rings by store number. ``bounds``: the distinct ones, by number.
    """

    ledger: TokenLedger
    items: Sequence[PlacedTensor | Ring]
    regions: Picked[Region]
    texts: Picked[NestText]
    columns: IntArray
    bounds: Sequence[RunBounds]

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Of each operand its first and last command, and the first byte and the end of all that it touches."""
        found = [(int(at[0]), int(at[-1]), int(low.min()), int(high.max())) for at, low, high in self.bounds]
        first, last, low, high = np.array(found, dtype=np.int64).reshape(-1, 4)[self.columns[:, BOUNDS]].T
        begin, offset = self.columns[:, BEGIN], self.columns[:, OFFSET]
        return first + begin, last + begin, low + offset, high + offset

    @cached_property
    def groups(self) -> AccessGroups:
        """All groups; bytes of rings count from the slot's first one. ``begin``, ``end``: their rows of ``order``."""
        order, (first, last, low, high) = self.order, self.ends
        keys = self._keys[order]
        begin = np.flatnonzero(np.diff(keys, prepend=-1))
        head = self.columns[order[begin]]
        spans = (
            (
                np.minimum.reduceat(first[order], begin),
                np.maximum.reduceat(last[order], begin),
                np.minimum.reduceat(low[order], begin),
                np.maximum.reduceat(high[order], begin),
            )
            if len(begin)
            else (first, last, low, high)
        )
        return AccessGroups(
            head[:, STORE], head[:, KIND], head[:, QUEUE], begin, np.append(begin, len(keys))[1:], *spans
        )

    def intervals(self, rows: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The distinct intervals of operands: place in ``rows``, first byte, end."""
        numbers, which = np.unique(self.columns[rows, BOUNDS], return_inverse=True)
        parts = [self._distinct(number) for number in numbers.tolist()]
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        every = np.concatenate([np.empty((0, 2), dtype=np.int64), *parts])
        begin = (np.cumsum(sizes) - sizes)[which]
        count = sizes[which]
        place = np.repeat(np.arange(len(rows)), count)
        at = np.arange(len(place)) + np.repeat(begin - (np.cumsum(count) - count), count)
        offset = self.columns[rows, OFFSET][place]
        return place, every[at, 0] + offset, every[at, 1] + offset

    def _distinct(self, number: int) -> IntArray:
        _, low, high = self.bounds[number]
        if len(low) == 1 or ((low == low[0]).all() and (high == high[0]).all()):
            return np.array([[low[0], high[0]]], dtype=np.int64)
        return np.unique(np.stack((low, high), axis=1), axis=0)

    @cached_property
    def order(self) -> IntArray:
        """Operands by their group."""
        return np.argsort(self._keys, kind="stable")

    @cached_property
    def _keys(self) -> IntArray:
        store, kind, queue = self.columns[:, STORE], self.columns[:, KIND], self.columns[:, QUEUE]
        keys: IntArray = (store * 3 + kind) * len(self.ledger.steps) + queue
        return keys

    def of_stores(self, wanted: BoolArray) -> OperandTable:
        """The operands that touch the ``wanted`` stores."""
        rows = np.flatnonzero(wanted[self.columns[:, STORE]])
        return replace(self, regions=self.regions.pick(rows), texts=self.texts.pick(rows), columns=self.columns[rows])


def operands_of(ledger: TokenLedger) -> OperandTable:
    """All operands; raises ProgramError for one outside its store or without a slot."""
    for ring in ledger.program.rings:
        if ring.retain:
            slot_starts(ring, ledger)
    table = _table(ledger)
    if not _held_inside(table):
        collect(table)
    return table


def _table(ledger: TokenLedger) -> OperandTable:
    """All operands of texts; what those of one nest, number and shape do is found out once."""
    columns, texts, known = ledger.columns, ledger.texts, EvaluatedTexts()
    touching = np.flatnonzero(np.diff(columns.operands)[texts.command] > 0)
    command = texts.command[touching]
    chosen, kind = alike([texts.nest[touching], texts.number[touching], columns.shape[1][command]])
    touched = [_touched(texts.text(row), known) for row in touching[chosen].tolist()]
    sizes = np.array([len(each) for each in touched], dtype=np.int64)
    at, row = stretches(firsts(sizes)[kind], sizes[kind])
    does = np.array([each for of in touched for each in of], dtype=np.int64).reshape(-1, 5)[at]
    place, access, touch, few, bounds = does.T
    region, text = columns.operands[command[row]] + place, touching[row]
    queue, begin, rank = texts.queue[text], texts.begin[text], texts.rank[text]
    found = (columns.store[region], access, queue, begin, columns.offset[region], rank, touch, few, bounds)
    regions, of_texts = Picked(columns.regions.__getitem__, region), Picked(texts.text, text)
    return OperandTable(ledger, columns.items, regions, of_texts, np.stack(found, axis=1), known.bounds.found)


def _touched(text: NestText, known: EvaluatedTexts) -> list[_Alike]:
    """What texts of one nest, number and shape do alike."""
    command, repeats = text.command, known.of(text)
    few, index, table = len(text.nest.runs[text.number].at) < FEW, command.index, command.table
    places = {id(region): place for place, region in enumerate(command.reads + command.writes)}
    found = []
    for touch, (region, kind, only) in enumerate(_touches(command)):
        above = (index.rows - 1) * index.row_bytes if index is not None and region is table else 0
        bounds = repeats.bounds(region, above, only)
        if bounds >= 0:
            found.append(_Alike(places[id(region)], kind, touch, few, bounds))
    return found


def _held_inside(table: OperandTable) -> bool:
    """Whether all that is touched lies inside its store, and in a slot that is taken."""
    store, (first, _, low, high) = table.columns[:, STORE], table.ends
    if (low < 0).any() or (high > _rooms(table.items)[store]).any():
        return False
    ring, rings = store - (len(table.items) - len(table.ledger.program.rings)), table.ledger.program.rings
    on = np.flatnonzero(ring >= 0)
    queue, taken = table.columns[on, QUEUE], table.ledger.taken
    writer = np.array([table.ledger.numbers[item.writer] for item in rings], dtype=np.int64)
    side = taken.find(queue * taken.tokens + 2 * ring[on] + (queue != writer[ring[on]]))
    if (side < 0).any():
        return False
    return not (first[on] < taken.nth(side, np.zeros_like(side))).any()


def _rooms(items: Sequence[PlacedTensor | Ring]) -> IntArray:
    """Bytes of each tensor, and of a slot of each ring."""
    return np.array([i.slot_bytes if isinstance(i, Ring) else i.size_bytes for i in items], dtype=np.int64)


class _Alike(NamedTuple):
    """What many texts do to an operand: its ``place`` among what they read, then write; columns of ``OperandTable``."""

    place: int
    kind: AccessKind
    touch: int
    few: bool
    bounds: int


def collect(table: OperandTable) -> AccessTable:
    """All accesses of operands in their groups, those of rings on their tapes; raises ProgramError for one outside its
    store or without a slot."""
    bounds = [table.bounds[number] for number in table.columns[:, BOUNDS].tolist()]
    sizes = np.fromiter([len(each.at) for each in bounds], dtype=np.int64, count=len(bounds))
    region = np.repeat(np.arange(len(sizes)), sizes)
    index, low, high = (_joined(parts) for parts in (zip(*bounds, strict=True) if bounds else [()] * 3))
    index += table.columns[region, BEGIN]
    low += table.columns[region, OFFSET]
    high += table.columns[region, OFFSET]
    wrong = (low < 0) | (high > _rooms(table.items)[table.columns[region, STORE]])
    if wrong.any():
        _refuse_first(table, region, index, low, high, wrong)
    return _grouped(table, region, index, low, high)


def _grouped(table: OperandTable, region: IntArray, index: IntArray, low: IntArray, high: IntArray) -> AccessTable:
    columns, ledger = table.columns, table.ledger
    store, kind, queue = columns.T[:3]
    names, group = np.unique((store * 3 + kind) * len(ledger.steps) + queue, return_inverse=True)
    stride = max(map(len, ledger.steps), default=0) + 1
    order = np.argsort(group[region] * stride + index, kind="stable")
    index, low, high, region = index[order], low[order], high[order], region[order]
    group = group[region]
    begin, end = (np.searchsorted(group, np.arange(len(names)), side=side) for side in ("left", "right"))
    first = region[begin]
    heads = GroupHeads(store[first], queue[first])
    shift = slot_begins(ledger, table.items, heads, index, group)
    if len(shift) and shift.min() < 0:
        _refuse_early(table, region, index, group, shift)
    low, high = low + shift, high + shift
    spans = _spans(low, high, begin) if len(begin) else (low, high)
    groups = AccessGroups(store[first], kind[first], queue[first], begin, end, index[begin], index[end - 1], *spans)
    return AccessTable(ledger, table.items, table.regions, table.texts, index, low, high, region, group, groups)


def _refuse_first(
    table: OperandTable, region: IntArray, index: IntArray, low: IntArray, high: IntArray, wrong: BoolArray
) -> NoReturn:
    """Say of the first access that lies outside; what an earlier queue does without a slot is said before."""
    rows = np.flatnonzero(wrong)
    row = int(rows[np.argmin(_places(table.columns, region[rows], index[rows]))])
    queue = int(table.columns[region[row], QUEUE])
    operands = int(np.searchsorted(table.columns[:, QUEUE], queue))
    before = slice(int(np.searchsorted(region, operands)))
    earlier = replace(table, columns=table.columns[:operands])
    _grouped(earlier, region[before], index[before], low[before], high[before])
    operand = table.regions[int(region[row])]
    item = table.items[int(table.columns[region[row], STORE])]
    where, size = ("a slot", item.slot_bytes) if isinstance(item, Ring) else ("the whole", item.size_bytes)
    step = table.ledger.steps[queue][int(index[row])]
    raise ProgramError(
        f"{step.where} of {step.queue}: operand '{operand.operand}' touches bytes [{low[row]}, {high[row]}) of "
        f"{describe(item)}; {where} has [0, {size})"
    )


def _refuse_early(table: OperandTable, region: IntArray, index: IntArray, group: IntArray, shift: IntArray) -> NoReturn:
    """Say of the first group, by its first access, that touches a ring before a slot of it is taken."""
    early = np.unique(group[shift < 0])
    rows = np.flatnonzero(np.isin(group, early))
    first = rows[np.argmin(_places(table.columns, region[rows], index[rows]))]
    row = int(np.flatnonzero((group == group[first]) & (shift < 0))[0])
    step = table.ledger.steps[int(table.columns[region[row], QUEUE])][int(index[row])]
    item = table.items[int(table.columns[region[row], STORE])]
    raise ProgramError(f"{step.where} of {step.queue} touches {describe(item)} before it took a slot")


def _places(columns: IntArray, region: IntArray, index: IntArray) -> IntArray:
    """Places of accesses in the Program, operand by operand of a text; run by run where they are few."""
    queue, rank, touch, few = columns[region].T[[QUEUE, RANK, TOUCH, FEW_RUNS]]
    inner = (np.where(few, index, touch), np.where(few, touch, index))
    order = np.lexsort((inner[1], inner[0], rank, queue))
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _joined(parts: Sequence[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _spans(low: IntArray, high: IntArray, begin: IntArray) -> tuple[IntArray, IntArray]:
    return np.minimum.reduceat(low, begin), np.maximum.reduceat(high, begin)


def _touches(command: Command) -> list[OperandTouch]:
    """What a command does to its operands.

    Where fresh, an accumulation begins from its bias, else from what it writes.
    """
    start = _START.get(command.function if command.functions else command.op)
    found: list[OperandTouch] = []
    if start is not None:
        found += [(region, READS, True) for region in command.reads if region.operand == start]
        found += [(region, READS, False) for region in command.writes]
    for region in command.reads:
        if start is None or region.operand not in (start, "acc"):
            found.append((region, READS, None))
    for region in command.writes:
        found.append((region, SCATTERS if region is command.table else WRITES, None))
        if command.combine:
            found.append((region, READS, None))
    return found
