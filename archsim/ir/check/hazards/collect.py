"""Every operand of every command as a bounding byte interval of its tensor or ring, checked to lie inside.

All runs of one command text in its nest are evaluated together: offsets, extents and clips as arrays. Bounds count from
a region's constant offset, so that equal texts of many cores are evaluated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from archsim.base.arrays import BoolArray, IntArray
from archsim.base.errors import ProgramError
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
from archsim.ir.program import Affine, Clip, Command, Extent, PlacedTensor, Program, Region, Ring


class RunBounds(NamedTuple):
    """Places in the nest and bounding bytes [``low``, ``high``), from the constant offset on, of the runs that touch
    anything."""

    at: IntArray
    low: IntArray
    high: IntArray


class EvaluatedTexts:
    """What was evaluated of texts, by the parts of commands as objects, which the compiler shares among cores."""

    def __init__(self) -> None:
        self._repeats: dict[tuple[int, ...], Repeats] = {}

    def of(self, text: NestText) -> Repeats:
        """The runs of a text and of all that run alike, with equal extents."""
        command = text.command
        key = (id(text.nest), text.number, id(command.extents), id(command.fresh))
        found = self._repeats.get(key)
        if found is None:
            found = self._repeats[key] = Repeats(text)
        return found


class Repeats:
    """The runs of a text in its nest that are not empty."""

    def __init__(self, text: NestText) -> None:
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
        self._bounds: dict[tuple[int | None, ...], RunBounds] = {}

    def bounds(self, region: Region, rows_above: int, only: bool | None) -> RunBounds:
        """Of ``region``, clamped and clipped; ``rows_above``: bytes from the first row of a looked-up table to its last
        one; ``only`` the runs that start afresh (True), or continue (False)."""
        terms = region.offset.terms
        key = (id(region.strides), id(terms), id(region.clips), region.element_bytes, rows_above, only)
        found = self._bounds.get(key)
        if found is None:
            found = self._bounds[key] = self._bounds_of(region, rows_above, only)
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


def collect(program: Program, ledger: TokenLedger) -> AccessTable:
    """All accesses by tensor and ring; raises ProgramError for one outside its store or without a slot."""
    for ring in program.rings:
        if ring.retain:
            slot_starts(ring, ledger)
    found = _Found(program, ledger)
    for queue, unrolled in enumerate(ledger.steps):
        for rank, text in enumerate(unrolled.texts):
            if text.command.reads or text.command.writes:
                found.add(queue, rank, text)
    return found.uses()


class OperandColumn(NamedTuple):
    """One operand of one command text. ``offset``: its constant one; ``touch``: which it is of the text's.

    ``begin`` of the nest in the queue; ``rank`` of the text there. ``few``: whether its runs are.
    """

    store: int
    kind: AccessKind
    queue: int
    begin: int
    offset: int
    rank: int
    touch: int
    few: bool


class _Found:
    """Operands with their accesses, while they are collected."""

    def __init__(self, program: Program, ledger: TokenLedger) -> None:
        self.ledger = ledger
        self.items: list[PlacedTensor | Ring] = [*program.tensors, *program.rings]
        self.numbers = {item.name: number for number, item in enumerate(self.items)}
        self.known = EvaluatedTexts()
        self.regions: list[Region] = []
        self.texts: list[NestText] = []
        self.columns: list[OperandColumn] = []
        self.bounds: list[RunBounds] = []

    def add(self, queue: int, rank: int, text: NestText) -> None:
        """Append what a command text of ``queue`` does to its operands."""
        command, nest, number, begin = text
        repeats, few = self.known.of(text), len(nest.runs[number].at) < FEW
        index, table = command.index, command.table
        for touch, (region, kind, only) in enumerate(_touches(command)):
            above = (index.rows - 1) * index.row_bytes if index is not None and region is table else 0
            bounds = repeats.bounds(region, above, only)
            if len(bounds.at):
                store, offset = self.numbers[region.store], region.offset.const
                self.regions.append(region)
                self.texts.append(text)
                self.columns.append(OperandColumn(store, kind, queue, begin, offset, rank, touch, few))
                self.bounds.append(bounds)

    def uses(self) -> AccessTable:
        """All accesses in their groups; those of rings on their tapes."""
        sizes = np.fromiter([len(bounds.at) for bounds in self.bounds], dtype=np.int64, count=len(self.bounds))
        region = np.repeat(np.arange(len(sizes)), sizes)
        columns = np.array(self.columns, dtype=np.int64).reshape(-1, len(OperandColumn._fields))
        store, kind, queue, begin, offset = columns.T[:5]
        index, low, high = (_joined(parts) for parts in (zip(*self.bounds, strict=True) if self.bounds else [()] * 3))
        index += begin[region]
        low += offset[region]
        high += offset[region]
        room = np.array([i.slot_bytes if isinstance(i, Ring) else i.size_bytes for i in self.items], dtype=np.int64)
        wrong = (low < 0) | (high > room[store][region])
        if wrong.any():
            self._refuse_first(columns, region, index, low, high, wrong)
        return self._grouped(columns, region, index, low, high)

    def _grouped(
        self, columns: IntArray, region: IntArray, index: IntArray, low: IntArray, high: IntArray
    ) -> AccessTable:
        store, kind, queue = columns.T[:3]
        names, group = np.unique((store * 3 + kind) * len(self.ledger.steps) + queue, return_inverse=True)
        stride = max(map(len, self.ledger.steps), default=0) + 1
        order = np.argsort(group[region] * stride + index, kind="stable")
        index, low, high, region = index[order], low[order], high[order], region[order]
        group = group[region]
        begin, end = (np.searchsorted(group, np.arange(len(names)), side=side) for side in ("left", "right"))
        first = region[begin]
        heads = GroupHeads(store[first], queue[first])
        shift = slot_begins(self.ledger, self.items, heads, index, group)
        if len(shift) and shift.min() < 0:
            self._refuse_early(columns, region, index, group, shift)
        low, high = low + shift, high + shift
        spans = _spans(low, high, begin) if len(begin) else (low, high)
        groups = AccessGroups(store[first], kind[first], queue[first], begin, end, index[begin], index[end - 1], *spans)
        return AccessTable(self.ledger, self.items, self.regions, self.texts, index, low, high, region, group, groups)

    def _refuse_first(
        self, columns: IntArray, region: IntArray, index: IntArray, low: IntArray, high: IntArray, wrong: BoolArray
    ) -> NoReturn:
        """Say of the first access that lies outside; what an earlier queue does without a slot is said before."""
        rows = np.flatnonzero(wrong)
        row = int(rows[np.argmin(_places(columns, region[rows], index[rows]))])
        queue = int(columns[region[row]][2])
        operands = int(np.searchsorted(columns[:, 2], queue))
        before = slice(int(np.searchsorted(region, operands)))
        self._grouped(columns[:operands], region[before], index[before], low[before], high[before])
        operand = self.regions[int(region[row])]
        number = self.numbers[operand.store]
        item = self.items[number]
        where, size = ("a slot", item.slot_bytes) if isinstance(item, Ring) else ("the whole", item.size_bytes)
        step = self.ledger.steps[queue][int(index[row])]
        raise ProgramError(
            f"{step.where} of {step.queue}: operand '{operand.operand}' touches bytes [{low[row]}, {high[row]}) of "
            f"{describe(item)}; {where} has [0, {size})"
        )

    def _refuse_early(
        self, columns: IntArray, region: IntArray, index: IntArray, group: IntArray, shift: IntArray
    ) -> NoReturn:
        """Say of the first group, by its first access, that touches a ring before a slot of it is taken."""
        early = np.unique(group[shift < 0])
        rows = np.flatnonzero(np.isin(group, early))
        first = rows[np.argmin(_places(columns, region[rows], index[rows]))]
        row = int(np.flatnonzero((group == group[first]) & (shift < 0))[0])
        step = self.ledger.steps[int(columns[region[row]][2])][int(index[row])]
        item = self.items[int(columns[region[row]][0])]
        raise ProgramError(f"{step.where} of {step.queue} touches {describe(item)} before it took a slot")


def _places(columns: IntArray, region: IntArray, index: IntArray) -> IntArray:
    """Places of accesses in the Program, operand by operand of a text; run by run where they are few."""
    queue, rank, touch, few = columns[region].T[[2, 5, 6, 7]]
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
