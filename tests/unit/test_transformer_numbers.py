"""Small transformers of each family, compiled for a chip: what the Program computes is what the graph says."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from tests.tools.small_transformers import SMALL, WHOLE, parameters, written

CASES = [(family, phase) for family in SMALL for phase in ([""] if family in WHOLE else ["", ":decode"])]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "phase"), CASES)
def test_a_small_model_is_verified(tmp_path: Path, family: str, phase: str) -> None:
    """In real numbers and in int8, every layer, against the graph's own interpreter."""
    job = Job(f"{written(tmp_path, family)}{phase}", "edge_npu", parameters=parameters(family))
    outcome = verify(VerifyOptions(job))
    assert [(check.numbers, check.problem, check.passed) for check in outcome.checks] == [
        ("float64", "", True), ("int8", "", True),
    ]  # fmt: skip
