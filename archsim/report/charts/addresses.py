"""A memory over the run: what lies at which addresses, below the groups of layers that run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archsim.ir.result import single_layers
from archsim.report.charts.time_axis import LEFT, RIGHT, axis, place
from archsim.report.kit import svg
from archsim.report.kit.number_format import at_word, count, si

HEIGHT, LANE, LANES = 220.0, 20.0, 3
LETTER = 7.0  # user units that one takes at most, in the mean
KINDS = {  # colour, and what it is
    "kept": ("#0072B2", "tensors that stay", "made by one layer and read by later ones"),
    "window": ("#E69F00", "windows", "parts of tensors between layers that run together"),
    "tiles": ("#C9D1D9", "tiles", "what a layer works on"),
}
LEGEND = list(KINDS.values())
GROUP_COLOURS = ("#5F6873", "#8B949E")  # by turns


class _Span(NamedTuple):
    start: int
    end: int


def addresses(summary: Mapping[str, Any], memory: str) -> str:
    """``memory``: a key of ``details.memory_map``. Time runs to the right, addresses upwards."""
    found, total = summary["details"]["memory_map"][memory], summary["cycles_total"]
    spans = {row["name"]: _Span(row["cycles_start"], row["cycles_end"]) for row in single_layers(summary)}
    groups = summary["details"].get("groups", ())
    drawn, y = [], 0.0
    if groups:
        drawn.append(svg.text(LEFT - 10, 13, "groups", "t dim", "end"))
        ends: list[int] = []  # of the last group of each lane
        for at, group in enumerate(groups):
            own = _joined([spans[layer] for layer in group["layers"] if layer in spans])
            lane = next((lane for lane, end in enumerate(ends) if end <= own.start), min(len(ends), LANES - 1))
            ends[lane : lane + 1] = [own.end]
            drawn.append(_group(group, GROUP_COLOURS[at % 2], own, lane * LANE, total))
        y = len(ends) * LANE + 8
    drawn += _frame(y, found["size_bytes"])
    order = sorted(found["blocks"], key=lambda block: block["kind"] != "tiles")
    drawn += [_block(block, y, found["size_bytes"], spans, total) for block in order]
    drawn.append(axis(y + HEIGHT, summary["latency_s"]))
    return svg.picture(y + HEIGHT + 24, f"What lies in {memory} over the run", drawn)


def _group(group: Mapping[str, Any], colour: str, own: _Span, y: float, total: int) -> str:
    x, end = place(own.start, total), place(own.end, total)
    width = max(end - x - 0.6, 0.6)
    tip = f"{', '.join(group['layers'])}: cycles {count(own.start)} to {count(own.end)}"
    words = at_word(group["layers"][0], int((width - 8) / LETTER))
    named = svg.text(x + 4, y + 12, words, "t small inverse") if words else ""
    return svg.rect(x, y, width, LANE - 4, colour, tip) + named


def _frame(y: float, size_bytes: int) -> list[str]:
    drawn = [svg.rect(LEFT, y, RIGHT - LEFT, HEIGHT, "#F3F5F7")]
    for part in range(5):
        at = y + HEIGHT * (1 - part / 4)
        drawn.append(svg.line(LEFT, at, RIGHT, at))
        words = si(size_bytes * part / 4, "B", 3) if part else "0"
        drawn.append(svg.text(LEFT - 10, min(max(at + 4, y + 11), y + HEIGHT), words, "t num dim", "end"))
    return drawn


def _block(block: Mapping[str, Any], y: float, size_bytes: int, spans: Mapping[str, _Span], total: int) -> str:
    if block["first"] not in spans or block["last"] not in spans:
        return ""
    start, end = spans[block["first"]].start, spans[block["last"]].end
    x, width = place(start, total), max(place(end, total) - place(start, total), 0.6)
    height = max(HEIGHT * block["size_bytes"] / size_bytes, 0.6)
    top = y + HEIGHT * (1 - (block["base"] + block["size_bytes"]) / size_bytes)
    colour, what, _ = KINDS[block["kind"]]
    where = f"bytes {count(block['base'])} to {count(block['base'] + block['size_bytes'])}"
    tip = f"{block['name']} ({what}): {where}, cycles {count(start)} to {count(end)}"
    return svg.rect(x, top, width, height, colour, tip, stroke="#FFFFFF", stroke_width=0.5)


def _joined(spans: Sequence[_Span]) -> _Span:
    return _Span(min((span.start for span in spans), default=0), max((span.end for span in spans), default=0))
