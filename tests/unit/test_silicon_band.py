"""How far silicon may be from a run, from measured operators that are like its layers."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.run import silicon_band
from archsim.lab.run.job import Job
from archsim.lab.run.run import RunResult, execute
from archsim.lab.run.silicon_band import LayerRange, MeasuredWork, WorkKind, _like, _range, _reason
from archsim.lab.validate.silicon.predicted_file import predicted_rows
from archsim.lab.validate.silicon.sets import PREDICTED
from archsim.report.run.run_sentences import sentences

ROOT = Path(__file__).resolve().parents[2]
HEAD = "set,case,predicted_us,command,not_run\n"

TWO = """\
schema: archsim.workload/1
name: two
source: a test
inputs: {x: [512, 4096]}
layers:
  - softmax: {name: weights, input: x}
  - act: {name: gelu, input: weights, function: gelu}
"""

JOB = Job(
    "gelu", "a100", parameters={"elements": 1 << 21}, values={"platform": "llmcompass"}, schedule="platform", warm=1
)


@pytest.fixture(scope="module")
def done() -> RunResult:
    return execute(JOB)


def test_a_run_like_measured_rows_has_a_range_around_its_interval(done: RunResult) -> None:
    band = done.result.to_json()["bands"]["interval_s"]
    interval_s = done.result.to_json()["provenance"]["repeat"]["interval_s"]
    assert band["cases"] >= 3 and band["sets"] == band["fitted"] == ["a100_gelu"]
    assert band["low_pct"] < band["high_pct"] and band["share"] == 1
    for end, pct in (("low", band["high_pct"]), ("high", band["low_pct"])):
        assert band[end] == pytest.approx(interval_s / (1 + pct / 100))


def test_the_range_is_that_of_the_rows_that_are_like_it(done: RunResult) -> None:
    band = done.result.to_json()["bands"]["interval_s"]
    assert done.built.workload is not None
    (layer,) = done.built.workload.layers
    rows = silicon_band._measured("a100")["llmcompass"][WorkKind("Gelu", "fp16")]
    errors = [row.error for row in _like(0, 4 * layer.points, rows)]
    assert [band["low_pct"], band["high_pct"]] == pytest.approx([100 * min(errors), 100 * max(errors)])


def test_the_report_says_it_in_a_sentence(done: RunResult) -> None:
    said = sentences(done.summary)[-1]
    assert said.startswith("Predictions for ") and " were between " in said
    assert "measured operators like its layers (a100_gelu, to which numbers of the chip were fitted) were" in said


def test_layers_of_a_network_share_the_time_of_a_run(tmp_path: Path) -> None:
    """A softmax and a GELU, each like measured ones: the host's time, most of a first run, belongs to both."""
    path = tmp_path / "two.yaml"
    path.write_text(TWO)
    found = execute(replace(JOB, model=path, parameters={})).result.to_json()["bands"]["interval_s"]
    assert found["sets"] == ["a100_gelu", "a100_softmax"] and found["share"] == 1
    assert found["low"] < found["high"]


def test_times_of_layers_add_up() -> None:
    """Half of the time was predicted twice as short as it is, half as it is: silicon takes one and a half times it."""
    layers = [LayerRange(10, (replace(_work("a", 0, 1), error=error),)) for error in (-0.5, 0.0)]
    found = _range(layers, 1.0, 2.0, ["calibrated: another_set, 3 rows"])
    assert found["low"] == pytest.approx(3.0) == found["high"]
    assert found["low_pct"] == found["high_pct"] == pytest.approx(-100 / 3) and found["fitted"] == []


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (replace(JOB, warm=None), "operators were timed run after run, as --warm 1 does"),
        (replace(JOB, schedule="best"), "measured on a100 by kernels of llmcompass, which --schedule platform"),
        (replace(JOB, values={**JOB.values, "hbm.speed": "2800 MT/s"}), "and the chip of this run is another"),
        (replace(JOB, fidelity="fast"), "with no option but chip, platform, format and parameters"),
        (replace(JOB, objective="energy"), "with no option but chip, platform, format and parameters"),
        (Job("gelu", "edge_npu", parameters={"elements": 4096}), "no operators were measured on edge_npu"),
        (replace(JOB, model="layernorm", parameters={"rows": 8, "cols": 64}), "take 0 % of the time"),
        (replace(JOB, dtype="bf16"), "take 0 % of the time"),
    ],
    ids=["not repeated", "schedule", "chip", "fidelity", "objective", "nobody measured", "nothing like it", "format"],
)
def test_a_run_without_a_range_says_why(job: Job, reason: str) -> None:
    result = execute(job)
    found = result.result.to_json()["bands"]["interval_s"]
    assert found["cases"] == 0 and set(found) == {"cases", "reason"}
    assert reason in found["reason"]
    assert reason in sentences(result.summary)[-1]


def test_what_is_set_as_it_is_shipped_is_the_chip(done: RunResult) -> None:
    assert not _reason(replace(JOB, values={**JOB.values, "clock": "1410 MHz"}), done.built, ("llmcompass",))


def _work(place: str, macs: int, moved_bytes: int) -> MeasuredWork:
    return MeasuredWork("set", place, macs, moved_bytes, 0.0)


def test_like_is_who_moves_ten_times_as_many_bytes_at_most() -> None:
    rows = [_work("less", 0, 101), _work("same", 0, 1000), _work("more", 0, 9900), _work("far", 0, 10100)]
    assert [row.place for row in _like(0, 1000, rows)] == ["same", "more", "less"]
    assert _like(0, 1000, rows[1:3]) == ()
    assert _like(0, 0, rows) == ()


def test_the_macs_of_a_byte_differ_by_four_times_at_most() -> None:
    work = _work("", 8000, 1000)
    assert work.distance(8000, 1000) == 0
    assert work.distance(2000, 1000) == pytest.approx(1) == work.distance(2000 * 10, 1000 * 10)
    assert work.distance(0, 100) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set,case\na,b\n", "predicted_us"), (HEAD + "a,b,many,,\n", "many"), (HEAD + "a,b,nan,,\n", "nan"),
        (HEAD + "a,b,0,,\n", "found '0'"), (HEAD + f"a,{'b' * 200_000},1,,\n", "field larger"),
    ],
    ids=["column", "word", "nan", "zero", "long"],
)  # fmt: skip
def test_a_damaged_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / PREDICTED
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"silicon.csv: .*{said}.*archsim validate silicon --out DIR writes it"):
        predicted_rows(path)


def test_an_installed_package_has_the_rows() -> None:
    """What the wheel takes beside its packages: the folder that the suite looks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    taken = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert taken["studies/validation/silicon"] == "archsim/studies/validation/silicon"
