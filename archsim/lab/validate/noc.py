"""Suite ``noc``: mean packet latency under offered load against measured curves.

Reads ``curves.json`` (form in studies/validation/noc/README.md). A curve has passed when mean latency is within 2 % at
every rate up to 0.9 of the last stable one (or at the lowest), and the network is stable at that one and unstable at
the next recorded one. Its figure is the worst of these. ``zero_load_by_hops.json``, where present, is reported beside:
the latency of lone packets by the number of links. Speed is cycles of a point per CPU second of its whole measurement:
tables, traffic, cycles and statistics, compiled code loaded beforehand. Source: BookSim 2.0.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from archsim.base.errors import ConfigError
from archsim.base.progress import each
from archsim.lab.validate.noc_configs import NocSetup, read
from archsim.lab.validate.suite import SCORING, ScoredCase, SkippedCase, SuiteResult, summarize
from archsim.noc import traffic
from archsim.noc.channel_load import hops
from archsim.noc.offered import LoadProcedure, OfferedLoad, offer
from archsim.noc.replay import replay

THRESHOLD_PCT = 2.0
KNEE = 0.9  # of the last stable rate: up to there latency has a threshold
_UNREADABLE = (KeyError, TypeError, ValueError)
_APART_CYCLES = 4096  # between lone packets
BRIEF = LoadProcedure(period_cycles=1, warm_up=0, periods=1)


def run(reference: Path) -> SuiteResult:
    """Score every curve. Raises ConfigError when curves.json is missing or has no curve that can be scored."""
    config = _load(reference / "curves.json")
    scored: list[ScoredCase] = []
    skipped: list[SkippedCase] = []
    speeds: list[float] = []
    ratios: list[float] = []
    for row in each(config["runs"], SCORING, "curves", _name):
        case = _name(row)
        try:
            scored.append(score(case, row, points(config, row, speeds, ratios)))
        except (ConfigError, *_UNREADABLE) as error:
            skipped.append(SkippedCase(case, f"{type(error).__name__}: {error}"))
    if not scored:
        raise ConfigError(f"{reference}: no curve that can be scored; the first: {skipped[0] if skipped else 'none'}")
    speed = {"cycles_per_cpu_s_median": median(speeds), "cycles_per_cpu_s_least": min(speeds)}
    if ratios:
        speed |= {"times_reference_median": median(ratios), "times_reference_least": min(ratios)}
    lone = reference / "zero_load_by_hops.json"
    beside = [row for entry in _load_list(lone) for row in zero_load(config, entry)] if lone.exists() else []
    return summarize("noc", scored, threshold=THRESHOLD_PCT, speed=speed, skipped=skipped, beside=beside)


def points(
    config: Mapping[str, Any], row: Mapping[str, Any], speeds: list[float], ratios: list[float]
) -> Iterator[tuple[Mapping[str, Any], OfferedLoad]]:
    """The recorded points of a curve that are judged, with ours; cycles per CPU second go to ``speeds``."""
    setup = read(config, row)
    _measure(replace(setup, procedure=BRIEF), row, _lowest(row))  # loads or compiles the compiled code before the clock
    for point in _judged(row):
        start_s = time.process_time()
        found = _measure(setup, row, point["injection_rate"])
        speed = found.cycles / max(time.process_time() - start_s, 1e-9)
        speeds.append(speed)
        if point.get("user_cpu_s") and point.get("cycles"):
            ratios.append(speed / (point["cycles"] / point["user_cpu_s"]))
        yield point, found


def _measure(setup: NocSetup, row: Mapping[str, Any], rate: float) -> OfferedLoad:
    pattern = traffic.by_name(row["traffic"], len(setup.topology.nodes), setup.topology.shape)
    return offer(
        setup.topology, setup.routes, setup.parameters, pattern,
        rate=rate, flits=row["packet_size"], seed=row["seed"], procedure=setup.procedure,
    )  # fmt: skip


def score(case: str, row: Mapping[str, Any], found: Iterator[tuple[Mapping[str, Any], OfferedLoad]]) -> ScoredCase:
    """The worst of a curve's points."""
    last = float(row["last_stable_rate"])
    worst = ScoredCase(case, 0.0, 0.0)
    for point, ours in found:
        rate = float(point["injection_rate"])
        stable = rate <= last
        judged = ScoredCase(f"{case} at {rate:g}", float(point["pkt_lat"]), as_printed(ours.latency_mean))
        if ours.stable != stable:
            judged = ScoredCase(f"{case} at {rate:g}: stable", float(stable), float(ours.stable))
        elif not stable or (rate > KNEE * last and rate > _lowest(row)):
            continue
        if judged.error_pct >= worst.error_pct:
            worst = judged
    return worst


def as_printed(value: float) -> float:
    """With six significant digits, as the reference."""
    return float(f"{value:.6g}")


def zero_load(config: Mapping[str, Any], row: Mapping[str, Any]) -> list[ScoredCase]:
    """Recorded and own latency of lone packets, by the number of links on their way."""
    setup = read(config, row)
    nodes = len(setup.topology.nodes)
    pairs = np.arange(nodes * nodes)
    lone = replay(
        setup.topology, setup.routes, setup.parameters,
        pairs * _APART_CYCLES, pairs // nodes, pairs % nodes, np.full(pairs.size, row["pkt"]),
    )  # fmt: skip
    links = np.array([hops(setup.topology, setup.routes, pair // nodes, pair % nodes) for pair in pairs.tolist()])
    latency = lone.ended - pairs * _APART_CYCLES
    found = []
    for text, expected in row["min_by_link_hops"].items():
        ours = set(latency[links == int(text)].tolist())
        extra = "".join(f"/{name}={value}" for name, value in row["extra"].items())
        case = f"{row['topo']}/{row['vc']}/flits={row['pkt']}{extra}/links={text} latency of lone packets"
        found += [ScoredCase(case, expected, float(value)) for value in sorted(ours)]
    return found


def _judged(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Points up to the last stable one, and the one after it."""
    last = float(row["last_stable_rate"])
    curve = sorted(row["curve"], key=lambda point: float(point["injection_rate"]))
    beyond = [point for point in curve if point["injection_rate"] > last]
    yield from (point for point in curve if point["injection_rate"] <= last)
    yield from beyond[:1]


def _lowest(row: Mapping[str, Any]) -> float:
    return min(float(point["injection_rate"]) for point in row["curve"])


def _name(row: Any) -> str:
    if not isinstance(row, dict):
        return str(row)[:40]
    extra = "".join(f", {name} {value}" for name, value in (row.get("extra") or {}).items())
    flits = f"{row.get('packet_size')} flit" + "s" * (row.get("packet_size") != 1)
    return "/".join(str(part) for part in (row.get("topo"), row.get("vc"), flits, row.get("traffic"))) + (
        f", seed {row.get('seed')}{extra}"
    )


def _load(path: Path) -> Any:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        for key in ("runs", "topo", "vc", "base_params"):
            found[key]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; --reference needs curves.json") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not a JSON object with runs, topo, vc and base_params: {error}") from None
    return found


def _load_list(path: Path) -> list[Any]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{path}: not a JSON list: {error}") from None
