"""The hand-written kernels: they run, compute the product, and the walk-through says what is so."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import archsim
from archsim.lab.run.job import Job, build
from archsim.lab.verify.numbered import VerifyOptions
from archsim.lab.verify.program import verify_program
from mapper.execute.run import Executor

KERNELS = Path(__file__).resolve().parents[2] / "studies" / "kernels"
pytestmark = pytest.mark.slow  # whole Programs


@pytest.fixture(scope="module")
def page() -> Any:
    """studies/kernels/readme.py as a module."""
    spec = importlib.util.spec_from_file_location("kernels_page", KERNELS / "readme.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(page: Any) -> None:
    text = (KERNELS / "README.md").read_text(encoding="utf-8")
    assert page.figures() in text and page.broken() in text


def test_every_kernel_is_listed(page: Any) -> None:
    assert sorted(path.name for path in KERNELS.glob("*.asm")) == sorted((*page.KERNELS, *page.BROKEN))


@pytest.mark.parametrize("name", ["1_naive", "2_double", "3_stationary", "4_first_tile"])
def test_kernels_compute_the_product(name: str) -> None:
    """In integers under 5 orders, and in real numbers."""
    job = Job(str(KERNELS / f"{name}.asm"), "edge_npu")
    outcome = verify_program(VerifyOptions(job, interleavings=5, against=str(KERNELS / "gemm.yaml")))
    assert outcome.met and [check.numbers for check in outcome.checks] == ["float64", "int8"]
    assert not any(row.constant for check in outcome.checks for row in check.rows)


def test_each_step_is_what_the_page_says(page: Any) -> None:
    summaries = [archsim.run(KERNELS / name, on="edge_npu").summary for name in page.KERNELS]
    cycles = [summary["cycles_total"] for summary in summaries]
    energy = [summary["energy_j"] for summary in summaries]
    assert cycles[0] > cycles[2] > cycles[1] > cycles[3] >= 512**3 // 1024
    assert energy[2] < 0.7 * energy[1]  # it takes longer, and time alone costs energy
    for cause, of_each in (("weight_load", 32), ("fill_drain", 66)):  # the skew twice 31, and 4 to start
        found = [summary["mac_breakdown"][cause] // 1024 for summary in summaries]
        assert found == [16 * of_each, 16 * of_each, 64 * of_each, 19 * of_each]


def test_a_race_shows_in_the_numbers() -> None:
    """What the checker refuses, executed all the same, depends on the order of events."""
    built = build(Job(str(KERNELS / "broken_race.asm"), "edge_npu"))
    rng = np.random.default_rng(0)
    drawn = {"x": rng.normal(size=(512, 512)), "y.weights": rng.normal(scale=0.05, size=(512, 512))}
    results = []
    for seed in range(20):
        executor = Executor(built.program, seed=seed)
        for name, values in drawn.items():
            executor.fill(name, values)
        executor.run()
        results.append(executor.values("y"))
    assert max(np.count_nonzero(found != results[0]) for found in results) > results[0].size // 6
