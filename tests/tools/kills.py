"""A sweep killed again and again, its workers or itself, before, between and during rows: equal tables in the end.

python -m tests.tools.kills --kills 40 --seed 0
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from archsim.lab.sweep.store import FILE
from tests.tools.commands import COMMAND, GOLDEN, cache_of_its_own, environment
from tests.tools.processes import children

VICTIMS = ("worker", "parent", "parent, SIGTERM")
MOMENTS = ("before rows", "between rows", "during a row")
ROW_S = 0.3  # a row takes about so long
LONG_S = 120.0
SPEC = """
name: small
chip: {chip}
models: [{model}]
axes:
  l1.size: [4 KiB, 8 KiB, 16 KiB, 32 B, 32 KiB]
  dram.bandwidth: [4 GB/s, 8 GB/s, 16 GB/s]
  clock: [0.7 GHz, 0.8 GHz, 0.9 GHz, 1 GHz]
objectives: [latency_s, energy_j]
limits: {{time: 1 min, memory: 8 GiB}}
"""
MODEL = "name, h, w, fh, fw, c, k, s,\nconv1, 10, 10, 3, 3, 4, 8, 1,\nconv2, 8, 8, 3, 3, 8, 8, 1,\n"


@dataclass
class Campaign:
    """``kills`` by victim and moment; ``faults``: what was not as it should be."""

    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    rows: int = 0


def command(spec: Path, out: Path) -> list[str]:
    """The sweep, going on."""
    return [*COMMAND, "sweep", str(spec), "--out", str(out), "--resume", "-j", "2"]


def kept(folder: Path) -> int:
    """Rows that are committed."""
    if not (folder / FILE).is_file():
        return 0
    with suppress(sqlite3.Error), closing(sqlite3.connect(folder / FILE, timeout=60)) as base:
        return int(base.execute("select count(*) from rows").fetchone()[0])
    return 0


def _wait(process: subprocess.Popen[str], out: Path, moment: str, chance: random.Random) -> None:
    """Until the moment has come, or the sweep is over."""
    before, began = kept(out), time.monotonic()
    while process.poll() is None and time.monotonic() - began < LONG_S:
        if moment == MOMENTS[0] and children(process.pid, "spawn_main"):
            break
        if moment != MOMENTS[0] and kept(out) > before:
            break
        time.sleep(0.01)
    if moment == MOMENTS[2]:
        time.sleep(chance.uniform(0.0, ROW_S))


def _kill(process: subprocess.Popen[str], victim: str, chance: random.Random) -> str:
    """Kill it; what it said that it should not have."""
    workers = children(process.pid, "spawn_main")
    if victim == "worker" and workers:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(workers), signal.SIGKILL)
        time.sleep(chance.uniform(0.0, ROW_S))
        process.kill()
    elif victim == VICTIMS[2]:
        process.terminate()
    else:
        process.kill()
    _, said = process.communicate(timeout=LONG_S)
    if victim != VICTIMS[2] or process.returncode == 0:
        return ""
    wrong = process.returncode != 128 + signal.SIGTERM or len(said.splitlines()) > 1 or "leaked" in said
    return f"SIGTERM: exit code {process.returncode}, said {said!r}" if wrong else ""


def campaign(folder: Path, kills: int, seed: int) -> Campaign:
    """Kill a sweep so often, then let it end; its table against that of one that nobody disturbed."""
    folder.mkdir(parents=True, exist_ok=True)
    chip, model, spec = GOLDEN / "chip.yaml", folder / "model.csv", folder / "small.yaml"
    model.write_text(MODEL)
    spec.write_text(SPEC.format(chip=chip, model=model))
    variables = environment(cache_of_its_own(folder / "cache"))
    found, chance, out = Campaign(), random.Random(seed), folder / "out"
    every = list(product(VICTIMS, MOMENTS))
    for number in range(kills):
        victim, moment = every[number % len(every)]
        process = subprocess.Popen(
            command(spec, out), env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        _wait(process, out, moment, chance)
        fault = _kill(process, victim, chance)
        found.kills[victim, moment] += 1
        found.faults += [f"kill {number}, {victim}, {moment}: {fault}"] if fault else []
    for place in (out, folder / "calm"):
        done = subprocess.run(command(spec, place), env=variables, capture_output=True, text=True, check=False)
        found.faults += [done.stderr] if done.returncode or done.stderr else []
    tables = [pd.read_parquet(place / "results.parquet") for place in (out, folder / "calm")]
    found.rows = len(tables[1])
    if not tables[0].equals(tables[1]):
        found.faults.append(f"the tables differ in {tables[0].compare(tables[1]).shape[0]} rows")
    found.faults += [f"left behind: {path.name}" for path in out.glob(".*.part")]
    return found


def main() -> int:
    """Print kills by victim and moment; 1 where anything was lost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = campaign(Path(folder), asked.kills, asked.seed)
    for (victim, moment), count in sorted(found.kills.items()):
        print(f"{victim:18}{moment:16}{count:4}")
    print(f"{sum(found.kills.values())} kills, {found.rows} rows: {'equal tables' if not found.faults else 'FAULTS'}")
    print("\n".join(found.faults))
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
