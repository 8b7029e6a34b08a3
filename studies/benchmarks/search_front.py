"""How much of the front a search finds in a tenth of the points: hypervolume as a share of that of the whole grid.

Every point of two grids is simulated once; the methods then search their tables, with the same trials, over seeds.

Run: python studies/benchmarks/search_front.py [FOLDER], which keeps the tables (else they are simulated again).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import archsim as ax
from archsim.lab.explore import catalogue
from archsim.lab.explore.problem import PointOutcome
from archsim.lab.sweep import search
from archsim.lab.sweep.form import Sweep, SweepGoal, read
from archsim.lab.sweep.points import SweepGrid
from archsim.lab.sweep.search import outcome
from archsim.lab.sweep.table import undominated

NPU = """
name: npu
chip: edge_npu
models: [{model: gemm_4096, parameters: {size: 256}}]
axes:
  l1.size: {log2: [16 KiB, 2048 KiB]}
  acc.size: {log2: [16 KiB, 128 KiB]}
  mxu.shape: [[8, 8], [8, 16], [16, 16], [16, 32], [32, 32], [32, 64], [64, 64]]
  clock: {range: [0.6 GHz, 1.2 GHz], steps: 3}
  dram.channels: {log2: [1, 4]}
objectives: [latency_s]
"""

# Of the dataflows one is impossible here; the constraint cuts off the fastest points.
GEMMINI = """
name: gemmini
chip: gemmini_16x16
models: [{model: gemm_4096, parameters: {size: 96}}]
axes:
  scratchpad.size: {log2: [512 B, 32768 B]}
  accumulator.size: {log2: [4 KiB, 16 KiB]}
  mesh.shape: [[4, 4], [4, 8], [8, 8], [8, 16], [16, 16]]
  mesh.dataflow: [weight_stationary, output_stationary, input_stationary]
  dram.bandwidth: {log2: [2 GB/s, 8 GB/s]}
  clock: {range: [0.6 GHz, 1 GHz], steps: 2}
constraints: ["power_avg_w <= 0.5"]
objectives: [latency_s]
"""

PAIRS = (("latency_s", "area_mm2"), ("energy_j", "area_mm2"), ("latency_s", "energy_j"))
METHODS = ("nsga2", "tpe", "qmc", "random")
SEEDS = range(1, 6)
SHARE = 10  # of how many points one is run
WORKERS = 2
MARGIN = 0.1  # of the range of the front, by which the reference point is worse than its worst


@dataclass(frozen=True)
class Space:
    """A grid with what came of each point: ``costs`` of shape (points, 2), infinite where a point does not count."""

    sweep: Sweep
    outcomes: Sequence[PointOutcome]
    costs: NDArray[np.float64]

    @classmethod
    def of(cls, sweep: Sweep, numbers: Sequence[Mapping[str, float | None] | None], pair: Sequence[str]) -> Space:
        """Of the numbers of every point, in the order of the grid, by two goals."""
        asked = replace(sweep, goals=tuple([SweepGoal(key) for key in pair]))
        found = [outcome(asked, [each]) for each in numbers]
        none = (np.inf,) * len(pair)
        costs = [each.costs if each.costs is not None and not any(each.violations) else none for each in found]
        return cls(asked, found, np.array(costs))

    @property
    def front(self) -> NDArray[np.float64]:
        """Costs of the front of all points."""
        found: NDArray[np.float64] = np.unique(self.costs[undominated(self.costs)], axis=0)
        return found

    def share(self, points: Sequence[int]) -> float:
        """The hypervolume of some points over that of all."""
        best, worst = self.front.min(axis=0), self.front.max(axis=0)
        part, whole = ((costs - best) / (worst - best) for costs in (self.costs[list(points)], self.front))
        return hypervolume(part) / hypervolume(whole)

    def searched(self, method: str, seed: int, trials: int) -> list[int]:
        """The points that a method asks for."""
        problem = replace(search.problem(self.sweep), trials=trials, seed=seed)
        method_, grid = catalogue.make(method, problem), SweepGrid(self.sweep)
        found: list[int] = []
        while batch := method_.ask():
            numbers = [grid.at(choices).number for choices in batch]
            method_.tell([self.outcomes[number] for number in numbers])
            found += numbers
        assert len(set(found)) == trials
        return found


def hypervolume(costs: NDArray[np.float64]) -> float:
    """The area between two costs (shape (points, 2)), scaled to the range of the front, and the reference point."""
    edge = 1 + MARGIN
    area, lowest = 0.0, edge
    for first, second in sorted(map(tuple, costs[(costs < edge).all(axis=1)])):
        if second < lowest:
            area += (edge - first) * (lowest - second)
            lowest = second
    return area


def simulated(text: str, folder: Path) -> tuple[Sweep, list[Mapping[str, float | None] | None]]:
    """The numbers of each point of a grid, None where there are none."""
    sweep = read(text)
    file = folder / f"{sweep.name}.yaml"
    file.write_text(text)
    began = time.time()
    table = ax.sweep(file, folder / sweep.name, WORKERS, resume=True)
    rows = table[table["fidelity"] == sweep.fidelity].to_dict("records")
    done = [row if row["status"] == "ok" else None for row in rows]
    print(
        f"{sweep.name}: {len(rows)} points, {sum(row is not None for row in done)} of them possible, "
        f"{sum(bool(row['meets']) for row in rows)} meet the constraints; {time.time() - began:.0f} s"
    )
    return sweep, done


def compare(space: Space) -> None:
    """Print a line for each method."""
    trials = len(space.outcomes) // SHARE
    pair = ", ".join(goal.key for goal in space.sweep.goals)
    print(f"\n{space.sweep.name}, {pair}: {len(space.front)} on the front, {trials} trials")
    for method in METHODS:
        began = time.process_time()
        shares = [100 * space.share(space.searched(method, seed, trials)) for seed in SEEDS]
        spent = 1000 * (time.process_time() - began) / (trials * len(shares))
        seeds = " ".join(f"{share:6.2f}" for share in shares)
        print(
            f"  {method:7} mean {np.mean(shares):6.2f} %  worst {min(shares):6.2f} %  [{seeds}]  {spent:.2f} ms/trial"
        )


def main() -> None:
    """Print how much of each front each method finds."""
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else passing)
        folder.mkdir(parents=True, exist_ok=True)
        for text in (NPU, GEMMINI):
            sweep, numbers = simulated(text, folder)
            for pair in PAIRS:
                compare(Space.of(sweep, numbers, pair))


if __name__ == "__main__":
    main()
