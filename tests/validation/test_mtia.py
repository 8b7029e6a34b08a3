"""Fully connected layers of MTIA 2i against the published figures (ISCA'25, sections 3.3 and 4.2), at fast fidelity.

Published: more than 92 % of the peak where the operands are in the shared SRAM; more than 95 % of the LPDDR5 bandwidth
where weights are streamed from it. What lies between these and the simulated figures is attributed, cause by cause, by
``studies/benchmarks/fc_mtia.py`` (docs/silicon.md).
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from archsim.ir.result import Result
from archsim.lab.run.job import Job, build
from archsim.lab.run.run import simulated
from tests.tools.scripts import script

STUDY = Path(__file__).parents[2] / "studies" / "benchmarks" / "fc_mtia.py"
ALONE_IN_SRAM = {"int8": 0.92, "fp16": 0.91}  # of the peak; published: more than 0.92
STREAMS_LEAVE = 0.90  # of the pins beside refreshes: (1 - tRFC / tREFI) of LPDDR5 at 32 Gb
OF_STREAMS = 0.90  # of that: a floor against regressions


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """studies/benchmarks/fc_mtia.py as a module."""
    return script(STUDY)


def run(tmp_path: Path, text: str, dtype: str = "int8") -> Result:
    model = tmp_path / "fc.yaml"
    model.write_text(text)
    job = Job(model, "mtia_v2i", dtype=dtype, fidelity="fast")
    return simulated(job, build(job))


@pytest.mark.parametrize("dtype", ["int8", "fp16"])
def test_operands_in_the_shared_sram_keep_the_arrays_busy(tmp_path: Path, study: ModuleType, dtype: str) -> None:
    """From when they are there to the layer's last command; of the peak of the dtype."""
    layer = study.LAYERS["in_sram"]
    result = run(tmp_path, layer.text, dtype)
    found = next(row for row in result.layers if row.name == "fc")
    assert found.dram_read_bytes == found.dram_write_bytes == 0
    peak = 64 * 2048 if dtype == "int8" else 64 * 1024
    assert ALONE_IN_SRAM[dtype] < found.macs / peak / study.span(layer, result) < 1


def test_weights_are_streamed_near_the_rate_of_dram(tmp_path: Path, study: ModuleType) -> None:
    """All bytes of the layer cross the pins once, in little more time than refreshes leave for them."""
    result = run(tmp_path, study.LAYERS["streamed"].text)
    moved = sum(row.dram_read_bytes + row.dram_write_bytes for row in result.layers)
    assert 512 * 26592 + 26592 * 2048 + 512 * 2048 <= moved < 1.001 * (512 * 26592 + 26592 * 2048 + 512 * 2048)
    share = moved / (result.latency_s * 204.8e9)
    assert OF_STREAMS * STREAMS_LEAVE < share < STREAMS_LEAVE


@pytest.mark.parametrize("name", ["in_sram", "streamed"])
def test_the_causes_of_the_study_add_up(study: ModuleType, name: str) -> None:
    """From the chip as described down to the ideal, at a small size."""
    layer = study.in_sram(256, 256, 256) if name == "in_sram" else study.streamed(64, 256, 4096)
    rows = list(study.ladder(layer, "int8"))
    assert [row.cause for row in rows[:-1]] == [cause for cause, _ in study.LADDERS[layer.streamed]]
    assert rows[0].cost == 0 and sum(row.cost for row in rows) == rows[0].cycles - rows[-1].cycles
    assert all(0 < row.share < 1 for row in rows[:-1]) and rows[-1].share == 1
    assert all(row.share == pytest.approx(rows[-1].cycles / row.cycles, rel=1e-3) for row in rows)
    assert rows[-2].cycles < rows[0].cycles
