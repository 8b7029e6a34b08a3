"""``validate mapping``: recorded optima, larger spaces beside them, files of other workloads, and wrong data."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.validate import mapping, suite
from archsim.lab.validate.mapping_files import read
from mapper.looptree.conventions import ACCELFORGE
from mapper.looptree.search.objective import OBJECTIVES
from mapper.looptree.search.optimal import search
from mapper.looptree.search.space import Space
from mapper.looptree.text import write

REFERENCE = suite.default_reference("mapping")
BETTER = Path(__file__).parents[2] / "studies" / "benchmarks" / "mapping_better.py"
NVDLA = "nvdla_gemm_128_768_3072_energy"
CONVOLUTION = "nvdla_r50_c2_3x3_edp"


def data_of(name: str) -> dict[str, Any]:
    """A recorded file."""
    found: dict[str, Any] = json.loads((REFERENCE / "accelforge" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def run(tmp_path: Path, **files: object) -> suite.SuiteResult:
    """The suite on these files."""
    (tmp_path / "accelforge").mkdir()
    for name, data in files.items():
        (tmp_path / "accelforge" / f"{name}.json").write_text(json.dumps(data))
    return mapping.run(tmp_path)


@pytest.fixture(scope="module")
def recorded() -> suite.SuiteResult:
    """The suite on the recorded files."""
    return mapping.run(REFERENCE)


def test_every_file_passes(recorded: suite.SuiteResult) -> None:
    assert (recorded.cases, recorded.passed, recorded.failed, recorded.skipped) == (14, 14, (), ())
    assert recorded.threshold == pytest.approx(1e-7)
    assert recorded.max_error_pct == 0


def test_a_larger_space_is_no_worse(recorded: suite.SuiteResult) -> None:
    """Interleaving holds every mapping in order; on both Eyeriss it holds better ones."""
    rows = {row.case: row.got / row.expected for row in recorded.beside if "interleaved" in row.case}
    assert len(rows) == 14
    assert max(rows.values()) <= 1 + 1e-9
    better = {case.partition("_gemm")[0] for case, ratio in rows.items() if ratio < 1 - 1e-6}
    assert better == {"eyeriss", "tl_eyeriss"}


def test_any_factors_are_no_worse(recorded: suite.SuiteResult) -> None:
    """Beside the matrix products only; figures are those of the busiest instance on both sides."""
    rows = {row.case: row.got / row.expected for row in recorded.beside if "any factors" in row.case}
    assert len(rows) == 13
    assert max(rows.values()) <= 1 + 1e-9
    assert min(rows.values()) < 0.6


def test_speed_is_beside_the_recorded(recorded: suite.SuiteResult) -> None:
    assert {"times_reference_median", "times_reference_least", "times_reference_warm_median"} <= set(recorded.speed)
    assert sum(row.case.endswith(" CPU seconds") for row in recorded.beside) == 14


@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (NVDLA, {"M": 197, "K": 768, "N": 768}),
        (NVDLA, {"M": 1, "K": 4096, "N": 1000}),
        ("tpu_v4i_gemm_128_768_3072_edp", {"M": 1000, "K": 1000, "N": 1000}),
        (CONVOLUTION, {"N": 1, "M": 64, "C": 3, "P": 112, "Q": 112, "R": 7, "S": 7, "stride": 2}),
        (CONVOLUTION, {"N": 1, "M": 256, "C": 64, "P": 56, "Q": 56, "R": 1, "S": 1, "stride": 1}),
        (CONVOLUTION, {"N": 1, "C": 144, "P": 28, "Q": 28, "R": 3, "S": 3, "stride": 2}),
    ],
    ids=str,
)
def test_files_of_other_workloads(tmp_path: Path, name: str, shape: dict[str, int], objective: str) -> None:
    """A file made of what the search finds is read back from its text and passes."""
    data = data_of(name) | {"shape": shape, "objective": objective}
    dims = sorted({dim.lower() for dim in shape} - {"stride"})
    data["mapping_text"] = " ".join(f"T-{dim} in [0..1) shape=1" for dim in dims)
    (tmp_path / "draft.json").write_text(json.dumps(data))
    draft = read(tmp_path / "draft.json")
    found = search(Space(draft.einsum, draft.hierarchy, ACCELFORGE, in_order=True), OBJECTIVES[objective])
    cost = found.cost
    data |= {"mapping_text": write(found.nest), "energy_j": cost.energy_j, "latency_s": cost.latency_s}
    data["actions_bits"] = {f"X|action|{m}|{o or None}|{a}": count for (m, o, a), count in cost.actions.items()}
    result = run(tmp_path, one=data)
    assert (result.cases, result.passed, result.skipped) == (1, 1, ())


@pytest.mark.parametrize("key", ["energy_j", "latency_s"])
def test_another_figure_fails(tmp_path: Path, key: str) -> None:
    """Within 1e-6, or the case fails by the name of the figure."""
    data = data_of(NVDLA)
    near, far = (data | {key: data[key] * (1 + error)} for error in (5e-7, 2e-6))
    result = run(tmp_path, near=near, far=far)
    assert (result.cases, result.passed) == (2, 1)
    assert result.failed[0].case == f"far evaluated: {key.partition('_')[0]}"
    assert not result.met


def test_an_action_that_is_not_recorded_fails(tmp_path: Path) -> None:
    data = data_of(NVDLA)
    data["actions_bits"].pop("GEMM|action|Register|W|write")
    result = run(tmp_path, one=data)
    assert [case.case for case in result.failed] == ["one evaluated: Register W write"]


def test_a_mapping_that_does_not_fit_fails(tmp_path: Path) -> None:
    data = data_of(NVDLA)
    data["levels"][1]["size_bits"] = 64.0
    result = run(tmp_path, one=data)
    assert result.passed == 0
    assert "one evaluated: 'GlobalBuffer' has 64 bits; its tiles need" in result.failed[0].case


def test_a_search_that_is_worse_fails() -> None:
    """Only an excess is an error."""
    assert suite.AtMostCase("less", 2.0, 1.0).error_pct == 0
    assert suite.AtMostCase("equal", 2.0, 2.0).error_pct == 0
    assert suite.AtMostCase("more", 2.0, 2.0 * (1 + 1e-8)).error_pct == pytest.approx(1e-6)


def test_what_cannot_be_read_is_skipped_with_a_reason(tmp_path: Path) -> None:
    data = data_of(NVDLA)
    rule = json.loads(json.dumps(data))
    rule["levels"][0]["latency_rule"] = "max(reads, writes)"
    fused = data | {"options": {"max_fused_loops": 2}}
    other = data | {"shape": {"B": 2, "M": 4, "K": 4, "N": 4}}
    result = run(tmp_path, good=data, rule=rule, fused=fused, other=other)
    assert (result.cases, result.passed) == (1, 1)
    reasons = {skipped.case: skipped.reason for skipped in result.skipped}
    assert set(reasons) == {"rule", "fused", "other"}
    assert "latency_rule: 'max(reads, writes)' is not read" in reasons["rule"]
    assert "fused layers are not read" in reasons["fused"]
    assert "shape.B: not a dim" in reasons["other"]


def test_nothing_to_score(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no accelforge/\\*.json; --reference needs"):
        mapping.run(tmp_path)
    with pytest.raises(ConfigError, match="no file that can be scored; the first: .*key 'shape' is missing"):
        run(tmp_path, bad={})


def better() -> Any:
    """studies/benchmarks/mapping_better.py as a module."""
    spec = importlib.util.spec_from_file_location("mapping_better", BETTER)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", better().CASES, ids=lambda case: f"{case.accelerator} {case.product}")
def test_better_than_the_references(case: Any) -> None:
    """Where the space allows more, what is found reaches what is asked; of any tiles of large dims without a proof."""
    found = case.found()
    assert found.proven is not case.any_factors
    assert found.doubt.startswith("of dims larger than 64" if case.any_factors else "")
    assert found.value <= case.edp_js
