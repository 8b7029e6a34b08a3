"""Applications of the TPU v1 paper (ISCA'17, Tables 1 and 3) on tpu_v1, whose shapes were derived before any was run.

What lies between published and simulated figures is told by docs/silicon.md; these floors hold what is reached.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

STUDY = Path(__file__).parents[2] / "studies" / "validation" / "tpu_v1" / "apps.py"
REACHED = {"MLP0": 0.22, "MLP1": 0.24, "LSTM0": 0.15, "LSTM1": 0.52, "CNN0": 0.36}  # of the published TOPS; CNN1: study
SHIFTED = 12  # points of the matrix unit's cycles that weights are shifted in


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """studies/validation/tpu_v1/apps.py as a module."""
    spec = importlib.util.spec_from_file_location("tpu_v1_apps", STUDY)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tpu_v1_apps"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("app", REACHED)
def test_tops_and_the_shift_of_weights(study: ModuleType, app: str) -> None:
    measured, found = study.published()[app], study.simulate(app)
    assert abs(found.tops / measured.tops - 1) < REACHED[app]
    assert abs(found.shares.weight_shift - measured.shares.weight_shift) < SHIFTED


def test_shares_are_of_all_cycles(study: ModuleType) -> None:
    for application in study.published().values():
        assert sum(application.shares) == pytest.approx(100, abs=0.2)
