"""What a network did, from a run in which only some of its equal blocks were simulated (``ir.blocks``).

The third block stands for those that are left out: its commands are repeated, each time a period later, and all behind
it comes as many periods later. The period is by how much the third block ends after the second one, or longer where a
queue needs longer for its commands of the third: so no queue does two things at once. How much the period before it
differs is measured, and told.

Counts, DRAM bytes and flits of the third block are counted again for each block that is left out. What belongs to no
layer (refreshes, open rows) and what is not counted by layer (links, caches) grows in proportion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from archsim.base.arrays import AnyArray, IntArray
from archsim.energy.account import STATIC
from archsim.ir.activity import Activity, CacheStats, CountKey, DramStats, NocStats, RoleKey
from archsim.ir.bandwidth import FIELDS, BandwidthStreams, BandwidthTrace
from archsim.ir.blocks import KEPT, EqualBlocks, equal_blocks, renamed, shortened
from archsim.ir.group_blocks import groups_of_all
from archsim.ir.mapping import ModelMapping
from archsim.ir.records import CommandText, PackedRecords, Records
from archsim.ir.result_parts import BlockFacts
from archsim.ir.workload import Workload
from archsim.report.kit.number_format import counted

_BEFORE, _NOWHERE = -1, -2  # the blocks of what comes before all of them, and of commands without a layer


class LeftOut(NamedTuple):
    """``blocks`` of ``whole``, of which ``short`` has KEPT."""

    whole: Workload
    blocks: EqualBlocks
    short: Workload

    @property
    def copies(self) -> int:
        """How many blocks are left out."""
        return self.blocks.times - KEPT


@dataclass(frozen=True, slots=True)
class Replay:
    """The Activity of the whole network, and of each run of equal blocks what was simulated of it."""

    activity: Activity
    facts: tuple[BlockFacts, ...]


def leave_out(workload: Workload) -> tuple[LeftOut, ...]:
    """Leave blocks out, one run of equal ones after the other, until that spares nothing more."""
    found: list[LeftOut] = []
    while (blocks := equal_blocks(workload)) is not None:
        found.append(LeftOut(workload, blocks, shortened(workload, blocks)))
        workload = found[-1].short
    return tuple(found)


def lengthened(mapping: ModelMapping, left_out: Sequence[LeftOut]) -> ModelMapping | None:
    """The mapping of the whole network, without places: where tensors lie, and how long, follows from all layers.

    None where groups of layers tell equal blocks apart, or layers run otherwise in them where there are groups.
    """
    for part in reversed(left_out):
        groups = groups_of_all(mapping.groups, part.whole, part.blocks, part.short)
        if groups is None or (groups and not _are_alike(mapping, part)):
            return None
        by_name = {layer.layer: layer for layer in mapping.layers}
        for place in part.blocks.middle:
            for by in range(1, part.copies + 1):
                name = renamed(part.whole, part.blocks, place, by)
                by_name[name] = replace(by_name[part.whole.layers[place].name], layer=name)
        layers = tuple(by_name[layer.name] for layer in part.whole.layers if layer.name in by_name)
        mapping = replace(mapping, layers=layers, placements=(), workload_sha256=part.whole.sha256, groups=groups)
    return mapping


def _are_alike(mapping: ModelMapping, part: LeftOut) -> bool:
    """Whether each layer of the third block runs as that of the second one does."""
    found = {layer.layer: (layer.unit, layer.nodes, layer.resident) for layer in mapping.layers}
    layers, size = part.short.layers, part.blocks.size
    return all(found.get(layers[place].name) == found.get(layers[place - size].name) for place in part.blocks.middle)


def replay(activity: Activity, left_out: Sequence[LeftOut]) -> Replay:
    """What the whole network did."""
    facts: list[BlockFacts] = []
    for part in reversed(left_out):
        cuts = _cuts(activity, part)
        period = _Period.of(cuts.values())
        facts.insert(0, _facts(part, period))
        activity = _longer(activity, part, cuts, period)
    return Replay(activity, tuple(facts))


def _facts(part: LeftOut, period: _Period) -> BlockFacts:
    blocks, layers = part.blocks, part.whole.layers
    return {
        "first": layers[blocks.first].name,
        "layers": blocks.size,
        "times": blocks.times,
        "simulated": KEPT,
        "difference": period.time_ps / period.before_ps - 1 if period.before_ps else 0.0,
    }


class _QueueCut(NamedTuple):
    """The commands of the third block among those of a queue: from ``begin`` to ``end``.

    ``size_before``: commands of the second block, mostly as many. ``ends_ps``: when the queue was through with the
    first three blocks, 0 where it has none of one; ``least_ps``: how long it needed for the third, from ``begun_ps``;
    ``next_ps``: when it began what follows.
    """

    begin: int
    end: int
    size_before: int
    ends_ps: tuple[int, int, int]
    least_ps: int
    begun_ps: int
    next_ps: int

    @property
    def size(self) -> int:
        """Commands of the third block."""
        return self.end - self.begin

    @classmethod
    def of(cls, records: Records, reached: IntArray) -> _QueueCut:
        """``reached``: the block that a queue is at with each command."""
        columns = records.columns()
        starts, ends = columns.start_ps, columns.end_ps
        at = np.searchsorted(reached, range(KEPT)).tolist()
        through = tuple([int(ends[after - 1]) if after > first else 0 for first, after in pairwise(at)])
        _, _, third, fourth = at
        begun_ps = int(starts[third]) if fourth > third else 0
        least_ps = int(ends[fourth - 1]) - begun_ps if fourth > third else 0
        next_ps = int(starts[fourth]) if fourth > third and fourth < len(starts) else 0
        return cls(third, fourth, third - at[1], through, least_ps, begun_ps, next_ps)  # type: ignore[arg-type]  # three of four


def _cuts(activity: Activity, part: LeftOut) -> dict[str, _QueueCut]:
    """Those of all queues. Commands without a layer are behind the third block where the fourth one has begun."""
    numbers = {layer.name: _block(part.blocks, at) for at, layer in enumerate(part.short.layers)}
    named: dict[str, IntArray] = {}
    unnamed: dict[str, IntArray] = {}
    for unit, records in activity.records.items():
        of_text = np.array([numbers.get(text.layer, _NOWHERE) for text in records.texts], dtype=np.int64)
        reached = of_text[records.columns().text]
        (unnamed if (reached == _NOWHERE).any() else named)[unit] = reached
    cuts = {
        unit: _QueueCut.of(activity.records[unit], np.maximum.accumulate(reached)) for unit, reached in named.items()
    }
    next_ps = max((cut.next_ps for cut in cuts.values()), default=0)
    for unit, reached in unnamed.items():
        late = activity.records[unit].columns().start_ps >= next_ps
        found = np.where(reached == _NOWHERE, np.where(late, KEPT, _NOWHERE), reached)
        cuts[unit] = _QueueCut.of(activity.records[unit], np.maximum.accumulate(found))
    return {unit: cuts[unit] for unit in activity.records}


class _Period(NamedTuple):
    """Of the third block, and of the second one. ``until_ps``: all queues have begun with the fourth one."""

    time_ps: int
    before_ps: int
    until_ps: int

    @classmethod
    def of(cls, cuts: Iterable[_QueueCut]) -> _Period:
        """From what all queues did."""
        known = list(cuts)
        first, second, third = (max(cut.ends_ps[block] for cut in known) for block in range(KEPT - 1))
        time_ps = max(third - second, *(cut.least_ps for cut in known))
        return cls(time_ps, second - first, max(cut.next_ps for cut in known))


def _block(blocks: EqualBlocks, layer: int) -> int:
    """The number of the block of a layer of the short network; KEPT behind all."""
    return min(max((layer - blocks.first) // blocks.size, _BEFORE), KEPT)


def _longer(activity: Activity, part: LeftOut, cuts: Mapping[str, _QueueCut], period: _Period) -> Activity:
    copies, names, period_ps = part.copies, _Names(part), period.time_ps
    records = _settled({unit: _records(rows, cuts, names, period_ps) for unit, rows in activity.records.items()})
    total_ps = activity.total_ps + copies * period_ps
    grown = total_ps / activity.total_ps
    counts = _counts(activity.counts, names, grown)
    again = _Again(copies, {part.whole.layers[place].name for place in part.blocks.middle}, activity.counts, grown)
    noc = activity.noc
    return replace(
        activity,
        total_ps=total_ps,
        records=records,
        counts=counts,
        dram={name: again.dram(name, stats) for name, stats in activity.dram.items()},
        bandwidth=_bandwidth(activity.bandwidth, list(activity.dram), _windows(cuts, period, copies)),
        caches={name: again.cache(name, stats) for name, stats in activity.caches.items()},
        noc=again.noc(noc) if noc is not None else None,
        roles=_by_role(activity.roles, names),
    )


class _Names:
    """What layers, and commands of them, are called so many blocks later."""

    def __init__(self, part: LeftOut) -> None:
        self.copies = part.copies
        self._part = part
        before = part.blocks.left_out.start
        self._at = {layer.name: at for at, layer in enumerate(part.whole.layers[:before])}
        self.middle = [part.whole.layers[place].name for place in part.blocks.middle]

    def layer(self, name: str, by: int) -> str:
        """A layer ``by`` blocks later; those beside the blocks, and of the last one, have one name."""
        at = self._at.get(name)
        return name if at is None else renamed(self._part.whole, self._part.blocks, at, by)

    def text(self, text: CommandText, by: int) -> CommandText:
        """A command of it."""
        layer = self.layer(text.layer, by)
        name = layer + text.name.removeprefix(text.layer) if text.name.startswith(text.layer) else text.name
        return text._replace(name=name, layer=layer)


def _records(records: Records, cuts: Mapping[str, _QueueCut], names: _Names, period_ps: int) -> Records:
    """The commands of a queue with those that are left out."""
    cut, copies = cuts[records.unit], names.copies
    packed = records.packed()
    head, middle, tail = slice(0, cut.end), slice(cut.begin, cut.end), slice(cut.end, len(packed.end_ps))
    texts = _Texts(records.texts)
    shift = _index_shift(records, cuts)
    parts = [_part(packed, head)]
    for by in range(1, copies + 1):
        parts.append(_later(_part(packed, middle), records, names, texts, shift[middle], by, period_ps))
    parts.append(_later(_part(packed, tail), records, names, texts, shift[tail], copies, period_ps))
    return Records.filled(records.unit, texts.all, records.names, _joined(parts))


class _Texts:
    """The texts of a queue's commands by their numbers, of which some may be alike, and new ones behind them."""

    def __init__(self, known: Sequence[CommandText]) -> None:
        self.all = list(known)
        self._numbers = {text: number for number, text in enumerate(known)}

    def number(self, text: CommandText) -> int:
        """That of a text, which is a new one unless it is known."""
        found = self._numbers.setdefault(text, len(self.all))
        if found == len(self.all):
            self.all.append(text)
        return found


def _settled(records: Mapping[str, Records]) -> dict[str, Records]:
    """No command waits for one that ends after it starts: it then waits for the one before that in the other queue.

    Blocks may differ by a command that only synchronises, so the numbers of commands of others may be one too large.
    """
    ends = {unit: rows.packed().end_ps for unit, rows in records.items()}
    found = {}
    for unit, rows in records.items():
        packed = rows.packed()
        start_ps = packed.end_ps - packed.run_ps
        index, waits = packed.critical_index.astype(np.int64), packed.critical_unit.astype(np.int64)
        for number in np.unique(waits[waits >= 0]).tolist():
            of = waits == number
            last = np.searchsorted(ends[rows.names[number]], start_ps[of], side="right") - 1
            index[of] = np.minimum(index[of], last)
        none = (waits >= 0) & (index < 0)
        index[none], waits[none] = 0, -1
        found[unit] = Records.filled(
            unit, rows.texts, rows.names, replace(packed, critical_index=index, critical_unit=waits)
        )
    return found


def _index_shift(records: Records, cuts: Mapping[str, _QueueCut]) -> IntArray:
    """By how much the number of the command that met each one's last wait is larger a block later."""
    columns = records.columns()
    sizes, firsts = np.zeros(len(records.names) + 1, dtype=np.int64), np.zeros(len(records.names) + 1, dtype=np.int64)
    for number, name in enumerate(records.names):
        cut = cuts.get(name)
        if cut is not None:
            sizes[number], firsts[number] = cut.size, cut.begin - cut.size_before
    units, index = columns.critical_unit, columns.critical_index
    found: IntArray = np.where((units >= 0) & (index >= firsts[units]), sizes[units], 0)
    return found


@dataclass(frozen=True, slots=True)
class _PackedPart:
    """Columns of some commands, with the number of phases of each in place of where they end."""

    columns: dict[str, AnyArray]
    counts: IntArray
    phase: AnyArray
    left_ps: AnyArray
    of: PackedRecords


_COLUMNS = ("text", "end_ps", "wait_ps", "run_ps", "critical_unit", "critical_index", "kind")


def _part(packed: PackedRecords, place: slice) -> _PackedPart:
    ends = np.concatenate(([0], packed.phases.astype(np.int64)))
    phases = slice(int(ends[place.start]), int(ends[place.stop]))
    columns = {name: getattr(packed, name)[place] for name in _COLUMNS}
    counts = np.diff(ends)[place]
    return _PackedPart(columns, counts, packed.phase[phases], packed.left_ps[phases], packed)


def _later(
    part: _PackedPart, records: Records, names: _Names, texts: _Texts, shift: IntArray, by: int, period_ps: int
) -> _PackedPart:
    """The same commands ``by`` blocks later. ``texts``: to which new ones are added."""
    old, place = np.unique(part.columns["text"], return_inverse=True)
    later = [names.text(records.texts[number], by) for number in old.tolist()]
    new = np.array([texts.number(text) for text in later], dtype=np.int64)
    columns = part.columns | {
        "text": new[place] if len(new) else part.columns["text"],
        "end_ps": part.columns["end_ps"] + by * period_ps,
        "critical_index": part.columns["critical_index"] + by * shift,
    }
    return replace(part, columns=columns)


def _joined(parts: Sequence[_PackedPart]) -> PackedRecords:
    """One behind the other; a command comes to the head of its queue when the one before has ended."""
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in _COLUMNS}
    start_ps = columns["end_ps"] - columns["run_ps"]
    ends = np.concatenate(([0], columns["end_ps"][:-1]))
    columns["wait_ps"] = np.minimum(columns["wait_ps"], np.maximum(start_ps - ends, 0))
    return PackedRecords(
        **columns,
        phases=np.cumsum(np.concatenate([part.counts for part in parts])),
        phase=np.concatenate([part.phase for part in parts]),
        left_ps=np.concatenate([part.left_ps for part in parts]),
        macs=parts[0].of.macs,
        slots_per_cycle=parts[0].of.slots_per_cycle,
    )


def _counts(counts: Mapping[CountKey, int], names: _Names, grown: float) -> dict[CountKey, int]:
    """Those of the third block again for each that is left out."""
    found: dict[CountKey, int] = {}
    middle = set(names.middle)
    for (layer, part, action), amount in counts.items():
        found[layer, part, action] = int(amount * grown) if layer == STATIC else amount
        if layer in middle:
            for by in range(1, names.copies + 1):
                found[names.layer(layer, by), part, action] = amount
    return found


def _by_role(roles: Mapping[RoleKey, int], names: _Names) -> dict[RoleKey, int]:
    """Those of the third block again for each that is left out."""
    found = dict(roles)
    middle = set(names.middle)
    for (layer, *what), amount in roles.items():
        for by in range(1, names.copies + 1 if layer in middle else 1):
            role, part, action = what
            found[names.layer(layer, by), role, part, action] = amount
    return found


class _Again:
    """Totals with what ``layers``, those of the third block, did ``copies`` times more.

    ``grown``: how many times as long the run is.
    """

    def __init__(self, copies: int, layers: set[str], counts: Mapping[CountKey, int], grown: float) -> None:
        self._copies = copies
        self._grown = grown
        self._own: dict[tuple[str, str], int] = {}
        self._all: dict[tuple[str, str], int] = {}
        for (layer, part, action), amount in counts.items():
            key = part, action
            self._all[key] = self._all.get(key, 0) + amount
            if layer in layers:
                self._own[key] = self._own.get(key, 0) + amount

    def dram(self, name: str, stats: DramStats) -> DramStats:
        """Of a DRAM part."""
        more = {
            "read_bytes": "pin_read_bytes", "write_bytes": "pin_write_bytes", "useful_read_bytes": "read_bytes",
            "useful_write_bytes": "write_bytes", "row_hits": "row_hits", "row_misses": "row_misses",
            "row_conflicts": "row_conflicts", "activates": "activates",
        }  # fmt: skip
        sums = {
            key: getattr(stats, key) + self._copies * self._own.get((name, action), 0) for key, action in more.items()
        }
        return replace(stats, **sums, refreshes=int(stats.refreshes * self._grown))

    def cache(self, name: str, stats: CacheStats) -> CacheStats:
        """Of a cache: in proportion to its lookups."""
        share = self._share(name, "lookups")
        return CacheStats(*(_more(amount, share) for amount in (
            stats.hits, stats.misses, stats.write_hits, stats.write_misses,
        )))  # fmt: skip

    def noc(self, stats: NocStats) -> NocStats:
        """Of a network: links in proportion to the flits on all links of their level."""
        levels = stats.levels or (stats.name,)
        shares = [self._share(level, "link_flits") for level in levels]
        level_of = stats.router_levels or (0,) * stats.routers
        links = tuple(link._replace(flits=_more(link.flits, shares[level_of[link.source]])) for link in stats.links)
        ends = self._share(levels[0], "router_flits")
        return replace(
            stats,
            cycles=int(stats.cycles * self._grown),
            links=links,
            node_in=tuple(_more(flits, ends) for flits in stats.node_in),
            node_out=tuple(_more(flits, ends) for flits in stats.node_out),
        )

    def _share(self, part: str, action: str) -> float:
        """What is to be added of an amount, as a share of it."""
        whole = self._all.get((part, action), 0)
        return self._copies * self._own.get((part, action), 0) / whole if whole else 0.0


def _more(amount: int, share: float) -> int:
    return amount + round(amount * share)


class _Window(NamedTuple):
    """What began from ``since_ps`` to ``until_ps``, which comes ``copies`` times more, a period later each."""

    since_ps: int
    until_ps: int
    period_ps: int
    copies: int


def _windows(cuts: Mapping[str, _QueueCut], period: _Period, copies: int) -> dict[str, _Window]:
    """Of streams on chip (''), and of what queues of a kind ask of a DRAM (load, store): while these were at the third
    block, which they may be at long before the others are."""
    time_ps, _, until_ps = period
    found = {"": _Window(until_ps - time_ps, until_ps, time_ps, copies)}
    for kind in ("load", "store"):
        known = [cut for unit, cut in cuts.items() if unit.partition(".")[2].startswith(kind) and cut.next_ps]
        since, until = (min([getattr(cut, name) for cut in known], default=0) for name in ("begun_ps", "next_ps"))
        found[kind] = _Window(since, until, time_ps, copies) if known else found[""]
    return found


def _bandwidth(trace: BandwidthTrace, drams: Sequence[str], windows: Mapping[str, _Window]) -> BandwidthTrace:
    """Streams of the windows again and again; those on chip when they are asked for."""
    own = {name: streams for name in drams if (streams := trace.transfers(name)) is not None}

    def transfers(streams: BandwidthStreams) -> BandwidthStreams:
        ways = ((~streams.write, windows["load"]), (streams.write, windows["store"]))
        return BandwidthStreams.of(np.concatenate([_streams(streams.pick(way), window) for way, window in ways]))

    return BandwidthTrace(
        {name: transfers(streams) for name, streams in own.items()},
        lambda: {
            name: BandwidthStreams.of(_streams(part, windows[""]))
            for name, part in trace.by_memory.items()
            if name not in own
        },
    )


def _streams(streams: BandwidthStreams, window: _Window) -> IntArray:
    """Rows of FIELDS, in any order."""
    since, until = np.searchsorted(streams.start_ps, (window.since_ps, window.until_ps)).tolist()
    table = np.column_stack([streams.column(name) for name in FIELDS]).astype(np.int64)
    parts = [table[:until], *[table[since:until]] * window.copies, table[until:]]
    later = [*range(window.copies + 1), window.copies]
    times = np.array([name in ("start_ps", "end_ps") for name in FIELDS], dtype=np.int64)
    return np.concatenate([part + by * window.period_ps * times for part, by in zip(parts, later, strict=True)])


def sentences(facts: Sequence[BlockFacts]) -> tuple[str, ...]:
    """What a reader of the result has to know."""
    return tuple(
        f"of {block['times']} equal blocks of {counted(block['layers'], 'layer')} from {block['first']} on "
        f"{block['simulated']} were simulated (all with --repeat exact); the third one stands for the rest, and took "
        f"{100 * abs(block['difference']):.2f} % {'more' if block['difference'] >= 0 else 'less'} time than the second"
        for block in facts
    )
