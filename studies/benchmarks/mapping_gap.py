"""How far the compiler's mappings are from the least that any LoopTree takes, over all distinct matmul layers.

python studies/benchmarks/mapping_gap.py [--layers]

Energy gaps are those of mappings made for energy, latency gaps of mappings made for latency. ``--layers``: each layer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from archsim.lab.run.job import Job, load_chip, prepare
from mapper.explain import figures, least
from mapper.layers import Layers
from mapper.looptree.bound import Least
from mapper.options import resolve_dtypes

MODELS, CHIPS = ("resnet50", "squeezenet"), ("edge_npu", "tpu_v1", "nvdla_large")


@dataclass(frozen=True)
class Gap:
    """One layer: its mapping's figure over the least one."""

    layer: str
    least: Least
    gap: float
    bounded_by: str


def gaps(model: str, chip: str, objective: str) -> Iterator[Gap]:
    """Of every distinct matmul layer that runs on an array."""
    job = Job(model, chip, objective=objective)
    asked = prepare(job, load_chip(job))
    architecture = load_chip(job)
    dtypes = resolve_dtypes(architecture, asked.options.dtypes or {})
    layers, seen = Layers(asked.workload, architecture, dtypes, asked.options), set[str]()
    mapped = layers.map()
    for problem, mapping in zip(mapped.problems, mapped.mappings, strict=True):
        if problem is None or (key := layers.solver.key(problem)) in seen:
            continue
        seen.add(key)
        found, own = least(layers, problem), figures(layers, problem, mapping)
        if not isinstance(found, str):
            bound, figure = (
                (found.energy_pj, own.accesses_pj) if objective == "energy" else (found.cycles, float(own.cycles))
            )
            yield Gap(problem.layer.name, bound, bound.gap(figure), own.bounded_by)


def main() -> None:
    """Print the table."""
    print("| model | chip | layers | energy: median | > 10 % | worst | latency: median | > 10 % | worst |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for model in MODELS:
        for chip in CHIPS:
            cells = [model, chip]
            for objective in ("energy", "latency"):
                found = list(gaps(model, chip, objective))
                cells += [str(len(found))] if objective == "energy" else []
                worst = max(found, key=lambda one: one.gap)
                wide = sum(one.gap > 0.1 for one in found)
                assert all(one.least.proven for one in found)
                middle = 100 * median(one.gap for one in found)
                cells += [f"{middle:.1f} %", str(wide), f"{100 * worst.gap:.1f} % ({worst.layer})"]
                if "--layers" in sys.argv:
                    for one in found:
                        print(model, chip, objective, one.layer, f"{100 * one.gap:.1f} %", one.bounded_by)
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
