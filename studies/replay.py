"""Replay: every number of a small study grid as hashes, so that a change of any of them shows in a diff.

    python studies/replay.py            prints what differs from tests/golden/replay.json
    python studies/replay.py --write    rewrites it (make replay)

A refactor leaves the file as it is. A change of a model changes it, and the diff is part of that change: it names the
chips and models that moved, which sections of their results, and a few numbers to read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import archsim
from archsim.base.errors import ArchsimError

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "golden" / "replay.json"
SCHEMA = "archsim.replay/1"
MODELS: Mapping[str, str] = {
    "squeezenet": "squeezenet",
    "eye_tracking": "eye_tracking",
    "every_kind": str(ROOT / "studies" / "workloads" / "every_kind.yaml"),
}
OBJECTIVES = ("latency", "energy")
MANY_CORES = 16  # chips with more run the smallest model alone
READABLE = ("cycles_total", "energy_j", "macs")
HEADLINE = ("throughput_per_s", "utilization", "power_avg_w", "power_peak_w", "area_mm2", "edp_js", "latency_s")
SECTIONS = ("dram", "mac_breakdown", "energy_breakdown_j", "time_breakdown", "layers", "details")

DIGITS = 12

Entry = dict[str, Any]


def grid() -> Iterator[tuple[str, str, str]]:
    """(chip, model, objective): every chip found, every model; both objectives for the smallest model."""
    for chip in archsim.list_chips():
        cores = archsim.load_chip(chip).cores
        for model in MODELS if cores < MANY_CORES else ("every_kind",):
            for objective in OBJECTIVES if model == "every_kind" and cores < MANY_CORES else OBJECTIVES[:1]:
                yield chip, model, objective


def replay() -> dict[str, Entry]:
    """Point -> its entry, in the order of the grid."""
    return {f"{chip} {model} {objective}": point(chip, model, objective) for chip, model, objective in grid()}


def point(chip: str, model: str, objective: str) -> Entry:
    """Some numbers to read and a hash for each section; the message where the chip refuses the model."""
    try:
        summary = archsim.run(MODELS[model], on=chip, objective=objective, net=False).summary
    except ArchsimError as error:
        return {"refused": str(error)}
    return entry(summary)


def entry(summary: Mapping[str, Any]) -> Entry:
    """The entry of one summary."""
    found: Entry = {key: numbers(summary[key]) for key in READABLE}
    found |= {key: summary["dram"][key] for key in ("read_bytes", "write_bytes")}
    found["headline"] = digest(numbers({key: summary[key] for key in HEADLINE}))
    return found | {section: digest(numbers(summary[section])) for section in SECTIONS}


def numbers(value: Any) -> Any:
    """The same structure without texts that only explain (sources), floats to ``DIGITS`` digits (not the last bit,
    which depends on how a processor's vector unit adds up).
    """
    if isinstance(value, Mapping):
        return {key: numbers(item) for key, item in value.items() if key not in ("sources", "not_modelled")}
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return [numbers(item) for item in value] if isinstance(value, list | tuple) else value


def digest(value: Any) -> str:
    """First 16 hex digits of the SHA-256 of the canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def to_text(points: Mapping[str, Entry]) -> str:
    """One point to a line."""
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(item)}" for name, item in points.items())
    return f'{{\n "schema": "{SCHEMA}",\n "points": {{\n{rows}\n }}\n}}\n'


def stored() -> dict[str, Entry]:
    """The points of tests/golden/replay.json."""
    found: dict[str, Entry] = json.loads(FILE.read_text(encoding="utf-8"))["points"]
    return found


def differences(old: Mapping[str, Entry], new: Mapping[str, Entry]) -> list[str]:
    """One line for each point that differs: which sections, and the readable numbers that moved."""
    lines = []
    for name in sorted({*old, *new}):
        before, after = old.get(name, {}), new.get(name, {})
        keys = [key for key in (after or before) if before.get(key) != after.get(key)]
        if keys:
            plain = [key for key in keys if key not in (*SECTIONS, "headline")]
            moved = [f"{key} {before.get(key)} -> {after.get(key)}" for key in plain]
            lines.append(f"{name}: {', '.join(keys)}" + (f" ({'; '.join(moved)})" if moved else ""))
    return lines


def main() -> int:
    """Compare, or rewrite; 1 when something differs."""
    parser = argparse.ArgumentParser(description="every number of a small study grid, as hashes")
    parser.add_argument("--write", action="store_true", help="rewrite tests/golden/replay.json")
    write = parser.parse_args().write
    found = replay()
    changed = differences(stored() if FILE.exists() else {}, found)
    print("\n".join(changed) or f"{len(found)} points, nothing differs")
    if write:
        FILE.write_text(to_text(found), encoding="utf-8", newline="\n")
        return 0
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
