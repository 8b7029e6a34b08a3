"""The summary: one Result as plain JSON types, the only thing that pages, tables and rebuilt reports read.

It holds the public keys of ``archsim.result/2`` and one more, ``details`` (``report.run.details``), with what pages
draw beyond them. Summaries of ``archsim.result/1`` are read as what they are: what came later is absent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError
from archsim.ir.activity import CacheStats
from archsim.ir.result import FIRST_SCHEMA, SCHEMA, Result, Summary
from archsim.report.run.details import CacheLines, RunDetails, WhyRow
from archsim.report.run.dram_windows import dram_parts, row_hit_rates
from archsim.report.run.noc_rows import network
from archsim.report.run.timeline import timeline

FILE = "summary.json"
RUNS = (SCHEMA, FIRST_SCHEMA)  # the schemas of a run's summary that are read
SCENARIO = "archsim.scenario_result/1"  # the schema of a scenario's summary


def summarise(result: Result, why: Sequence[WhyRow] = ()) -> dict[str, Any]:
    """The summary of ``result``; ``why``: rows of ``archsim.lab.what_if.why`` as plain mappings."""
    details: RunDetails = {
        "critical": {layer: dict(causes) for layer, causes in result.critical.items()},
        "area_breakdown_mm2": dict(result.area_breakdown_mm2),
        "sources": dict(sorted(result.sources.items())),
        "not_modelled": list(result.not_modelled),
        "timeline": timeline(result.activity, result.timelines, result.single_layers) if result.activity else [],
        "power": {part: list(spent) for part, spent in result.power_parts},
        "dram": dram_parts(result.activity) if result.activity else {},
        "row_hit_rate": row_hit_rates(result.activity) if result.activity else {},
        "peak_dtype_macs_per_s": result.peak_dtype_macs_per_s,
    }
    if result.activity is not None and result.activity.caches:
        details["caches"] = {name: _lines(stats) for name, stats in result.activity.caches.items()}
    if result.activity is not None and result.activity.noc is not None:
        details["noc"] = network(result.activity.noc)
    if result.floorplan:
        details["floorplan"] = {
            name: {"published_mm2": published, "predicted_mm2": predicted}
            for name, (published, predicted) in result.floorplan.items()
        }
    if result.predicted:
        details["predicted"] = dict(result.predicted)
    if result.refinement:
        details["refinement"] = result.refinement
    if result.net:
        details["net"] = result.net
    if result.memory_map:
        details["memory_map"] = dict(result.memory_map)
    if result.groups:
        details["groups"] = list(result.groups)
    if why:
        details["why"] = list(why)
    return {**result.to_json(), "details": details}


def _lines(stats: CacheStats) -> CacheLines:
    return {
        "hits": stats.hits,
        "misses": stats.misses,
        "write_hits": stats.write_hits,
        "write_misses": stats.write_misses,
    }


def to_text(summary: Summary) -> str:
    """JSON text: public keys indented, ``details`` on one line. Equal summaries give equal bytes.

    Raises ValueError for NaN and infinity, which JSON cannot say.
    """
    public = {key: value for key, value in summary.items() if key != "details"}
    text = json.dumps(public, indent=1, ensure_ascii=False, allow_nan=False)
    details = json.dumps(summary["details"], separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f'{text.removesuffix("}").rstrip()},\n "details": {details}\n}}\n'


def load(path: Path, schemas: Sequence[str] = RUNS) -> dict[str, Any]:
    """Read a stored summary of ``schemas`` from its file or directory; raises ConfigError naming file and fault."""
    file = path / FILE if path.is_dir() else path
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot be read ({error.strerror}); 'archsim run MODEL --on CHIP --out DIR' writes it"
        ) from error
    except ValueError as error:
        raise ConfigError(f"{file}: is not JSON: {error}") from error
    if not isinstance(summary, dict) or summary.get("schema") not in schemas:
        found = summary.get("schema") if isinstance(summary, dict) else type(summary).__name__
        raise ConfigError(f"{file}: found schema {found!r}; allowed {', '.join(map(repr, schemas))}")
    return upgraded(summary)


def holds_run(directory: Path) -> bool:
    """Whether a run's summary is stored there: not a scenario's, not nothing."""
    try:
        load(directory)
    except ConfigError:
        return False
    return True


def upgraded(summary: Summary) -> dict[str, Any]:
    """A summary as today's readers take it: of the first schema ``macs``, then those on arrays, are counted by who did
    them (a layer that was not on an array was on a vector unit: the host had none); the rest stays absent."""
    found = {"details": {}, **summary}
    if found.get("schema") != FIRST_SCHEMA or "macs_array" in found or not {"macs", "workload"} <= found.keys():
        return found
    on_arrays, whole = found["macs"], found["workload"]["macs"]
    return {**found, "macs": whole, "macs_array": on_arrays, "macs_vector": whole - on_arrays, "macs_host": 0}
