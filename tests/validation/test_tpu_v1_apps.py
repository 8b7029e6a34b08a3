"""Applications of the TPU v1 paper (ISCA'17, Tables 1 and 3) on tpu_v1, whose shapes were derived before any was run.

What lies between published and simulated figures is told by docs/silicon.md; these limits hold what is reached.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from types import ModuleType

import pytest

from archsim.frontend.load import load_model
from tests.tools.scripts import script

STUDY = Path(__file__).parents[2] / "studies" / "validation" / "tpu_v1" / "apps.py"
REACHED = {"MLP0": 0.22, "MLP1": 0.24, "LSTM0": 0.09, "LSTM1": 0.40, "CNN0": 0.36, "CNN1": 0.09}  # of published TOPS
SHIFTED = 7  # points of the matrix unit's cycles in which weights are shifted in
FILLED = {"mlp0": 12.5 / 12.8, "mlp1": 9.4 / 10.6, "lstm0": 1.0, "lstm1": 6.3 / 10.5}  # of tiles, by useful MACs
WEIGHTS = {"mlp0": 20e6, "mlp1": 5e6, "lstm0": 52e6, "lstm1": 34e6, "cnn0": 8e6, "cnn1": 100e6}
TILE = 256


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """studies/validation/tpu_v1/apps.py as a module."""
    return script(STUDY)


@pytest.mark.parametrize("app", REACHED)
def test_tops_and_the_shift_of_weights(study: ModuleType, app: str) -> None:
    measured, found = study.published()[app], study.simulate(app)
    assert abs(found.tops / measured.tops - 1) < REACHED[app]
    assert abs(found.shares.weight_shift - measured.shares.weight_shift) < SHIFTED


@pytest.mark.parametrize("app", WEIGHTS)
def test_weights_are_those_of_the_paper(app: str) -> None:
    assert load_model(f"tpu_v1_{app}").parameters == pytest.approx(WEIGHTS[app], rel=0.05)


@pytest.mark.parametrize("app", FILLED)
def test_matrices_fill_their_tiles_as_the_paper_counts_useful_work(app: str) -> None:
    """Of 256 x 256 weights, padded at the edges."""
    for layer in load_model(f"tpu_v1_{app}").layers:
        if layer.kind == "matmul":
            columns, rows = (layer.dims[dims[0]] for dims in (layer.n, layer.k))
            tiles = ceil(columns / TILE) * ceil(rows / TILE)
            assert columns * rows / (tiles * TILE**2) == pytest.approx(FILLED[app], abs=0.005)


def test_shares_are_of_all_cycles(study: ModuleType) -> None:
    for application in study.published().values():
        assert sum(application.shares) == pytest.approx(100, abs=0.2)
