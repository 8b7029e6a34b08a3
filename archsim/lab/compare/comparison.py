"""Runs compared: what was asked differently, the figures side by side, and what the differences consist of.

As plain JSON types (schema ``archsim.compare/1``): ``runs``, ``question`` (what is not equal in all), ``figures`` with
ratios to the first run, and ``differences``, one for each further run against the first:

    time         base, other, difference in ``unit``: cycles, or s where the clocks differ
    slots        by cause, in the shares of the MAC slots
    arrays       by layer and cause.operand, of the mean array's time; layer '' for what no layer is charged with
    layers       by layer on the critical path, with its causes, how the layers were matched, energy and DRAM bytes
    energy       by part, in J; ``area`` by part, in mm2

The parts of each list sum to the whole's base, other and difference, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from archsim.base.errors import ConfigError
from archsim.ir.result import Summary, single_layers
from archsim.lab.compare import shares
from archsim.lab.compare.figures import figures
from archsim.lab.compare.match import LayerPair, match
from archsim.lab.compare.question import question
from archsim.lab.compare.sentences import says
from archsim.lab.compare.shares import ComparePart, split
from archsim.report.run.headline import setting, title

SCHEMA = "archsim.compare/1"
Told = dict[str, Any]


def compared(summaries: Sequence[Summary], names: Sequence[str]) -> Told:
    """Two or more summaries under their names, the first is the base; raises ConfigError for what lacks a key."""
    for summary, name in zip(summaries, names, strict=True):
        _check(summary, name)
    base, *others = summaries
    asked = question(summaries)
    return {
        "schema": SCHEMA,
        "runs": [
            {"name": name, "title": title(summary), "setting": list(setting(summary))}
            for name, summary in zip(names, summaries, strict=True)
        ],
        "question": asked,
        "figures": figures(summaries),
        "differences": [
            _difference(base, other, names[0], name) for other, name in zip(others, names[1:], strict=True)
        ],
    }


def _check(summary: Summary, name: str) -> None:
    """The keys that a comparison reads."""
    needed = (
        "workload", "architecture", "cycles_total", "dram", "mac_breakdown", "time_breakdown", "energy_breakdown_j",
        "layers", "provenance",
    )  # fmt: skip
    missing = [key for key in needed if key not in summary]
    if missing:
        raise ConfigError(f"{name}: the summary lacks {', '.join(missing)}; 'archsim run MODEL --on CHIP' writes them")


def _difference(base: Summary, other: Summary, base_name: str, name: str) -> Told:
    seconds = base["architecture"]["clock_hz"] != other["architecture"]["clock_hz"]
    pairs = match(single_layers(base), single_layers(other))
    names = {pair.other["name"]: pair.name for pair in pairs if pair.other is not None}
    energy, area = (split(view(base), view(other)) for view in (shares.energy, shares.area))
    found = {
        "base": base_name,
        "name": name,
        "unit": "s" if seconds else "cycles",
        "time": split({"": shares.total(base, seconds)}, {"": shares.total(other, seconds)})[""].to_json(),
        "slots": _rows(split(shares.slots(base, seconds), shares.slots(other, seconds)), "cause"),
        "arrays": _placed(shares.arrays(base, seconds), shares.arrays(other, seconds), names),
        "layers": _layers(pairs, shares.critical(base, seconds), shares.critical(other, seconds), names),
        "energy": _rows(energy, "part"),
        "area": _rows(area, "part"),
    }
    return {**found, "says": says(found, base, other)}


def _rows(parts: Mapping[str, ComparePart], key: str) -> list[Told]:
    """The largest difference first."""
    order = sorted(parts.items(), key=lambda item: (-abs(item[1].difference), item[0]))
    return [{key: name, **part.to_json()} for name, part in order if part.base or part.other]


def _placed(
    base: Mapping[shares.ShareKey, Fraction], other: Mapping[shares.ShareKey, Fraction], names: Mapping[str, str]
) -> list[Told]:
    parts = split(base, _renamed(other, names))
    order = sorted(parts.items(), key=lambda item: (-abs(item[1].difference), item[0]))
    return [{"layer": layer, "cause": cause, **part.to_json()} for (layer, cause), part in order]


def _renamed(found: Mapping[shares.ShareKey, Fraction], names: Mapping[str, str]) -> dict[shares.ShareKey, Fraction]:
    return {(names.get(layer, layer), cause): amount for (layer, cause), amount in found.items()}


def _layers(
    pairs: Sequence[LayerPair],
    base: Mapping[shares.ShareKey, Fraction],
    other: Mapping[shares.ShareKey, Fraction],
    names: Mapping[str, str],
) -> list[Told]:
    """A row for each layer of either run, in the order of the base."""
    parts = split(base, _renamed(other, names))
    rows = []
    for pair in pairs:
        causes = {cause: part for (layer, cause), part in parts.items() if layer == pair.name}
        whole = ComparePart(sum(part.base for part in causes.values()), sum(part.other for part in causes.values()))
        known = {cause: part.difference for cause, part in causes.items() if cause and part.difference}
        rows.append(
            {
                "name": pair.name,
                "op": (pair.base or pair.other or {})["op"],
                "in_base": pair.base is not None,
                "in_other": pair.other is not None,
                "remark": pair.remark,
                **whole.to_json(),
                "causes": known,
                "energy_j": _of(pair, "energy_j"),
                "dram_bytes": _of(pair, "dram_read_bytes", "dram_write_bytes"),
            }
        )
    return rows


def _of(pair: LayerPair, *keys: str) -> Told:
    """The sum of some numbers of a layer in both runs, 0 where it has no row."""
    base, other = (sum(row[key] for key in keys) if row else 0 for row in (pair.base, pair.other))
    return ComparePart(base, other).to_json()
