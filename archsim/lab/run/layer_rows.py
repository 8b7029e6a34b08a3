"""The rows of ``layers``: one per layer of the model, per view, for the host and for static energy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from operator import itemgetter

import numpy as np

from archsim.energy.account import HOST, STATIC
from archsim.ir.activity import Activity, to_cycles
from archsim.ir.composites import Composite
from archsim.ir.result import CompositeResult, LayerResult
from archsim.ir.workload import Layer, ViewNode, Workload
from archsim.sim.critical import bound_by

_PINS = {"pin_read_bytes": 0, "pin_write_bytes": 1}


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """What is known by layer. ``stalls`` and ``critical``: layer -> cause -> cycles; ``energy_j``: layer ->
    joules.

    ``peak``: MACs per reference cycle of the chip; ``own``: layer -> cause -> cycles in which its arrays did not wait.
    """

    activity: Activity
    stalls: Mapping[str, Mapping[str, int]]
    critical: Mapping[str, Mapping[str, int]]
    energy_j: Mapping[str, float]
    peak: float
    own: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class _Span:
    """When a layer ran, what ran, its MACs, those on arrays, and its bytes on DRAM pins (read, written)."""

    start_ps: int | None = None
    end_ps: int = 0
    macs: int = 0
    array_macs: int = 0
    ops: dict[str, None] = field(default_factory=dict)
    pins: list[int] = field(default_factory=lambda: [0, 0])


def layer_rows(workload: Workload | None, facts: LayerFacts) -> tuple[LayerResult, ...]:
    """All rows in order; their critical cycles, energies and DRAM bytes sum to the run's."""
    spans = _spans(facts)
    rows: list[LayerResult] = []
    for layer in workload.layers if workload is not None else ():
        rows.append(_row(layer.name, layer.op, spans.pop(layer.name, _Span()), facts, layer))
    owners = {layer.output.tensor: layer.name for layer in workload.layers} if workload is not None else {}
    for view in workload.views if workload is not None else ():
        rows.insert(_place(owners.get(view.of, view.of), rows, owners), _view(view))
    host, static = spans.pop(HOST, _Span()), spans.pop(STATIC, _Span())
    rows += [_row(name, "+".join(span.ops), span, facts) for name, span in spans.items()]
    return (*rows, _row(HOST, "host", host, facts), _row(STATIC, "static", static, facts))


def with_composites(
    rows: tuple[LayerResult, ...], composites: Sequence[Composite], facts: LayerFacts
) -> tuple[LayerResult, ...]:
    """The rows with one for each composite where its first layer stands, which has its layers, and the views of what
    they make, as parts."""
    owner = {member: each for each in composites for member in each.members}
    parts: dict[str, list[LayerResult]] = {each.name: [] for each in composites}
    found: list[LayerResult | Composite] = []
    last: Composite | None = None
    for row in rows:
        last = last if row.view_of is not None else owner.get(row.name)
        if last is None:
            found.append(row)
            continue
        if not parts[last.name]:
            found.append(last)
        parts[last.name].append(row)
    return tuple(each if isinstance(each, LayerResult) else _joined(each, parts[each.name], facts) for each in found)


def _joined(composite: Composite, parts: Sequence[LayerResult], facts: LayerFacts) -> CompositeResult:
    """The row of a composite: sums over its parts, and the span from the first of them to the last."""
    worked = [part for part in parts if part.view_of is None]
    ran = [part for part in worked if part.cycles_end] or worked
    start, end = min(part.cycles_start for part in ran), max(part.cycles_end for part in ran)
    used = sum(part.utilization * part.cycles_total for part in worked)
    by_cause = [_summed(named, worked) for named in (facts.critical, facts.stalls, facts.own)]
    critical, stalls, own = by_cause
    return CompositeResult(
        name=composite.name,
        op=composite.kind,
        macs=sum(part.macs for part in worked),
        cycles_start=start,
        cycles_end=end,
        cycles_total=end - start,
        utilization=used / (end - start) if end > start else 0.0,
        energy_j=fsum(part.energy_j for part in worked),
        dram_read_bytes=sum(part.dram_read_bytes for part in worked),
        dram_write_bytes=sum(part.dram_write_bytes for part in worked),
        cycles_critical=sum(part.cycles_critical for part in worked),
        bound_by=bound_by(critical, {**stalls, **own}),
        stalls=stalls,
        on_host=any(part.on_host for part in worked),
        parts=tuple(parts),
    )


def _summed(named: Mapping[str, Mapping[str, int]], parts: Sequence[LayerResult]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(named.get(part.name, {}))
    return dict(total)


def _spans(facts: LayerFacts) -> dict[str, _Span]:
    """Layer -> span, in order of first start; every layer that any figure names is there."""
    found: dict[str, _Span] = {}
    for (layer, op), (start_ps, _) in sorted(_starts(facts.activity).items(), key=itemgetter(1)):
        found.setdefault(layer, _Span(start_ps)).ops[op] = None
    for records in facts.activity.records.values():
        columns = records.columns()
        macs, end_ps = (np.zeros(len(records.texts), dtype=np.int64) for _ in range(2))
        np.add.at(macs, columns.text, columns.macs)
        np.maximum.at(end_ps, columns.text, columns.end_ps)
        for text, done, ended_ps in zip(records.texts, macs.tolist(), end_ps.tolist(), strict=True):
            span = found[text.layer or HOST]
            span.macs += done
            span.array_macs += done if text.op == "MATMUL" else 0
            span.end_ps = max(span.end_ps, ended_ps)
    for (layer, _, action), count in facts.activity.counts.items():
        span = found.setdefault(layer or HOST, _Span())
        if action in _PINS:
            span.pins[_PINS[action]] += count
    for layer in (*facts.critical, *facts.energy_j):
        found.setdefault(layer, _Span())
    return found


def _starts(activity: Activity) -> dict[tuple[str, str], tuple[int, int]]:
    """(layer, op) -> first start, and the number of the first command that starts then, unit by unit."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    number = 0
    for records in activity.records.values():
        columns = records.columns()
        texts, first = np.unique(columns.text, return_index=True)  # starts ascend
        for at, text, start_ps in zip(first.tolist(), texts.tolist(), columns.start_ps[first].tolist(), strict=True):
            _, op, layer, _ = records.texts[text]
            begun = start_ps, number + at
            key = layer or HOST, op
            found[key] = min(found.get(key, begun), begun)
        number += len(records)
    return found


def _row(name: str, op: str, span: _Span, facts: LayerFacts, layer: Layer | None = None) -> LayerResult:
    hz = facts.activity.clock_hz
    start, end = to_cycles(span.start_ps or 0, hz), to_cycles(span.end_ps, hz)
    stalls, critical = facts.stalls.get(name, {}), facts.critical.get(name, {})
    slots = (end - start) * facts.peak
    return LayerResult(
        name=name,
        op=op,
        macs=layer.macs if layer is not None else span.macs,
        cycles_start=start,
        cycles_end=end,
        cycles_total=end - start,
        utilization=span.array_macs / slots if slots else 0.0,
        energy_j=facts.energy_j.get(name, 0.0),
        dram_read_bytes=span.pins[0],
        dram_write_bytes=span.pins[1],
        cycles_critical=sum(critical.values()),
        bound_by=bound_by(critical, {**stalls, **facts.own.get(name, {})}),
        stalls=stalls,
        fused_with=layer.fused if layer is not None else (),
        on_host=layer is not None and layer.kind == "host",
    )


def _view(view: ViewNode) -> LayerResult:
    return LayerResult(view.name, view.op, 0, 0, 0, 0, 0.0, 0.0, 0, 0, 0, bound_by({}, {}), {}, view_of=view.of)


def _place(owner: str, rows: list[LayerResult], owners: Mapping[str, str]) -> int:
    """Behind the row that is viewed and the views already there; at the end when there is no such row."""
    names = [row.name for row in rows]
    if owner not in names:
        return len(rows)
    after = names.index(owner) + 1
    while after < len(rows) and owners.get(rows[after].view_of or "", rows[after].view_of) == owner:
        after += 1
    return after
