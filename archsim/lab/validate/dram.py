"""Suite ``dram``: request streams on the DRAM controller against measured runs, cycles and mean read latency exact.

Reads ``runs.json`` and ``configs.json`` of a folder, then of each folder in it that has them (form in
studies/validation/dram/README.md). Runs named ``ram_*`` have a
threshold: the cycle at which the last read returned or the last write was issued, and the mean of (end -
acceptance) over reads. Source: Ramulator 2.1. Runs of DRAMsim3 (``ds3_*``) have none: their commands and energy are
reported beside ours (see dram_energy).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from archsim.base.errors import ConfigError
from archsim.base.progress import each
from archsim.lab.validate.dram_configs import read
from archsim.lab.validate.dram_energy import OTHERS, beside
from archsim.lab.validate.dram_streams import stream
from archsim.lab.validate.suite import SCORING, ScoredCase, SkippedCase, SuiteResult, summarize
from archsim.memory.dram.trace import ReplayedTrace, replay

MEAN_DECIMALS = 4  # as recorded
_UNREADABLE = (KeyError, TypeError, ValueError)


def run(reference: Path, wanted: Callable[[Any], bool] = lambda row: True) -> SuiteResult:
    """Score every ``ram_*`` run that is ``wanted``, told its row.

    Raises ConfigError when a file is missing or no run can be scored.
    """
    scored: list[ScoredCase] = []
    skipped: list[SkippedCase] = []
    reported: list[ScoredCase] = []
    speeds: list[float] = []
    ratios: list[float] = []
    rows = [found for found in _rows(reference) if wanted(found[1])]
    for case, row, configs in each(rows, SCORING, "rows", itemgetter(0)):
        try:
            if row["config"] in OTHERS:
                reported += beside(case, row)
                continue
            result, speed = _run(row, configs)
            scored.append(_score(case, row, result))
            speeds.append(speed)
            anchor = row.get("anchor_speed", {}).get("sim_req_per_cpu_s")
            ratios += [speed / anchor] if anchor else []
        except (ConfigError, *_UNREADABLE) as error:
            skipped.append(SkippedCase(case, f"{type(error).__name__}: {error}", _has_threshold(row)))
    if not scored:
        raise ConfigError(f"{reference}: no run that can be scored; the first: {skipped[0] if skipped else 'none'}")
    speed_of = {"requests_per_cpu_s_median": median(speeds), "requests_per_cpu_s_least": min(speeds)}
    if ratios:
        speed_of |= {"times_reference_median": median(ratios), "times_reference_least": min(ratios)}
    return summarize("dram", scored, threshold=0.0, speed=speed_of, skipped=skipped, beside=reported)


def _rows(reference: Path) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Name, row and configurations of every run, those of the folders below after those of the folder itself."""
    below = sorted(path.parent for path in reference.glob("*/runs.json"))
    for folder in (reference, *below):
        runs, configs = _load(folder / "runs.json", "results"), _load(folder / "configs.json", "configs")
        for row in runs:
            yield _name(row), row, configs


def _has_threshold(row: Any) -> bool:
    """Of what cannot be told apart it is taken that it has one."""
    return not (isinstance(row, dict) and str(row.get("config")).startswith("ds3_"))


def _load(path: Path, key: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))[key]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; --reference needs runs.json and configs.json") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not a JSON object with '{key}': {error}") from None


def _name(row: Any) -> str:
    if not isinstance(row, dict):
        return str(row)[:40]
    return "/".join(str(row.get(key)) for key in ("config", "pattern", "load"))


def _run(row: Mapping[str, Any], configs: Mapping[str, Any]) -> tuple[ReplayedTrace, float]:
    """The run, and requests per CPU second."""
    if row["config"] not in configs:
        raise ConfigError(f"configs.json has no configuration '{row['config']}'")
    device, mapping, policy, channels = read(row["config"], configs[row["config"]], row["req_bytes"])
    requests = stream(row["pattern"], row["n"], row["req_bytes"], row["num"], row["den"])
    serve = partial(replay, device, mapping, policy, channels=channels, requests_per_cycle=row.get("ipc"))
    serve(*(numbers[:100] for numbers in requests))  # compiled before the clock
    start_s = time.process_time()
    result = serve(*requests)
    return result, row["n"] / max(time.process_time() - start_s, 1e-9)


def _score(case: str, row: Mapping[str, Any], result: ReplayedTrace) -> ScoredCase:
    """Cycles; where those are equal, the mean read latency."""
    cycles = ScoredCase(case, row["cycles"], result.cycles)
    recorded = row["lat_from_accept"]
    if cycles.error_pct or not recorded or not row["reads"]:
        return cycles
    _, _, writes = stream(row["pattern"], row["n"], row["req_bytes"], row["num"], row["den"])
    mean = float(np.mean((result.ended - result.accepted)[writes == 0]))
    if abs(mean - recorded["mean"]) <= 0.6 * 10**-MEAN_DECIMALS:
        return cycles
    return ScoredCase(f"{case} read latency", recorded["mean"], mean)
