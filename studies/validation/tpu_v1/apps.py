"""The six applications of the TPU v1 paper on tpu_v1 against what was counted on the chip: a table of docs/silicon.md.

    python studies/validation/tpu_v1/apps.py [APP ...]

Published (``apps.csv``): TOPS, and where the matrix unit's cycles went. Layers' shapes are not published; those of
``configs/workloads/tpu_v1_*.yaml`` were derived from the paper's tables before any of them was run, and nothing of the
chip was fitted to the applications. Operations are two for each multiply-accumulate of the file, and the time is that
of one batch behind another.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from archsim.base.units import PS_PER_S
from archsim.ir.result import Result
from archsim.lab.run.job import Job, build
from archsim.lab.run.simulation import simulated
from archsim.repetition import repeat

CHIP = "tpu_v1"
UNIT = "core[0].array"
INT16 = {"dtypes.inputs": "int16", "dtypes.outputs": "int16"}
# whose published TOPS are nearer to a half of the useful share of the peak than to all of it
OF_INT16 = ("LSTM0", "LSTM1", "CNN1")
APPS = Path(__file__).with_name("apps.csv")
HEAD = """| application | TOPS published | simulated | | active | weight stall | weight shift | other |
|---|---|---|---|---|---|---|---|"""


class Shares(NamedTuple):
    """Of the matrix unit's cycles, in per cent."""

    active: float
    weight_stall: float
    weight_shift: float
    other: float


class Application(NamedTuple):
    """What was published, or what was simulated, of one."""

    tops: float
    shares: Shares


def published(path: Path = APPS) -> Mapping[str, Application]:
    """By name."""
    columns = ("array_active_pct", "weight_stall_pct", "weight_shift_pct", "non_matrix_pct")
    with path.open(encoding="utf-8", newline="") as file:
        return {
            row["app"]: Application(float(row["TOPS"]), Shares(*(float(row[name]) for name in columns)))
            for row in csv.DictReader(file)
        }


def simulate(app: str) -> Application:
    """One of them on the chip as it is described."""
    job = Job(f"tpu_v1_{app.lower()}", CHIP, values=INT16 if app in OF_INT16 else {})
    built = build(job)
    seconds = repeat(built.program, built.architecture, 2).interval_ps / PS_PER_S
    result = simulated(job, built)
    return Application(2 * sum(row.macs for row in result.layers) / seconds / 1e12, shares(result))


def shares(result: Result) -> Shares:
    """Where the cycles of the matrix unit went: waiting for weights, shifting them in, multiplying, and all else."""
    spent = result.time_breakdown[UNIT]
    percent = {cause: 100 * cycles / result.cycles_total for cause, cycles in spent.items()}
    known = percent["busy"], percent["stall_dram"], percent["weight_load"]
    return Shares(*known, 100 - sum(known))


def rows(apps: Mapping[str, Application]) -> Iterator[str]:
    """Lines of the table: simulated, with what was published in brackets."""
    for name, measured in apps.items():
        found = simulate(name)
        error = 100 * (found.tops / measured.tops - 1)
        cells = [f"{mine:.0f} ({its:.0f})" for mine, its in zip(found.shares, measured.shares, strict=True)]
        yield f"| {name} | {measured.tops} | {found.tops:.1f} | {error:+.0f} % | {' | '.join(cells)} |"


def main(asked: list[str]) -> None:
    """Print the table."""
    apps = published()
    print(HEAD)
    for row in rows({name: apps[name] for name in asked or apps}):
        print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
