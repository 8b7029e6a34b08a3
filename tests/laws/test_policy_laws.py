"""Law 58: what a schedule policy leaves is never better than the best schedule."""

from __future__ import annotations

import pytest

import archsim as ax
from archsim.lab.run.job import Job
from archsim.lab.run.net import trial

SHAPES = [
    {"m": 1, "n": 512, "k": 1024},
    {"m": 32, "n": 1024, "k": 1024},
    {"m": 200, "n": 768, "k": 2304},
    {"m": 512, "n": 8192, "k": 256},
    {"m": 4096, "n": 1024, "k": 512},
    {"m": 3000, "n": 5000, "k": 300},
]


@pytest.mark.usefixtures("net")
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_law_58_best_is_at_most_platform(sizes: dict[str, int]) -> None:
    """Law 58: best <= platform in simulated cycles, with the same host."""
    best, platform = (
        ax.run("gemm", "tpu_v6e", parameters=sizes, schedule=schedule).summary["cycles_total"]
        for schedule in ("best", "platform")
    )
    assert best <= platform


LAYERS = [
    ("ffn_erf", "tpu_v6e", {"tokens": 64}),
    ("ffn_erf", "tpu_v6e", {"tokens": 8, "hidden": 256, "inner": 256}),
    ("ffn_erf", "tpu_v6e", {"tokens": 16, "hidden": 512, "inner": 512}),
    ("ffn_erf", "tpu_v6e", {"tokens": 1, "hidden": 256, "inner": 512}),
    ("ffn_erf", "tpu_v6e", {"tokens": 128, "hidden": 1024, "inner": 1024}),
    ("ffn_erf", "tpu_v3", {"tokens": 64, "hidden": 256, "inner": 256}),
    ("ffn_gated", "tpu_v3", {"tokens": 64, "hidden": 256, "inner": 256}),
]


@pytest.mark.usefixtures("net")
@pytest.mark.parametrize(("model", "chip", "sizes"), LAYERS, ids=str)
def test_law_58_the_platforms_schedule_is_a_candidate(model: str, chip: str, sizes: dict[str, int]) -> None:
    """Law 58: of a model of several layers, which the policy launches as one kernel, too, also where that is all in
    which its Program differs."""
    tried, _ = trial(Job(model, chip, parameters=sizes, net=True))
    alone = ax.run(model, chip, parameters=sizes, schedule="platform").summary
    assert tried["platform"]["cycles"] == alone["cycles_total"]
    assert ax.run(model, chip, parameters=sizes).summary["cycles_total"] <= alone["cycles_total"]
