"""The suite silicon: reading sets, what is predicted of a row, figures, rooflines, and what cannot be run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, ModelError
from archsim.lab.api import run
from archsim.lab.validate.silicon import baselines, operators, predict, sets, suite
from archsim.lab.validate.silicon.baselines import BaselineRow
from archsim.lab.validate.suite import default_reference

HEADER = "case,op,format,shape,time_us,floor_us,source\n"
ROWS = (
    "one,gemm,bf16,m=32 k=1024 n=1024,3.672,0,measured\n"
    "two,gemm,bf16,m=128 k=1024 n=2048,5.9,0,measured\n"
    "three,attention,bf16,phase=decode s=128,5.9,0,measured\n"
    "four,gemm,bf16,m=128 k=1024,5.9,0,measured\n"
)
ENTRY = {"chip": "tpu_v6e", "platform": "xla", "timed": "device", "rows": 4}


def reference(tmp_path: Path, rows: str = HEADER + ROWS, **entry: object) -> Path:
    """A directory with one set."""
    (tmp_path / "sets.json").write_text(json.dumps({"mine": {**ENTRY, **entry}}))
    (tmp_path / "mine.csv").write_text(rows)
    return tmp_path


def test_what_cannot_be_run_is_counted_with_its_reason(tmp_path: Path) -> None:
    """An operator without a workload, a row without a size: the others have their figures."""
    result = suite.run(reference(tmp_path))
    found = result.to_json()["sets"]["mine"]
    assert (found["rows"], found["rows_of_set"]) == (2, 4)
    assert found["not_run"] == {
        "no workload stands for the operator 'attention' yet; there are: gemm, conv, softmax, layernorm, gelu, "
        "ffn_gated, ffn_erf": 1,
        "gemm: no size 'n'; needed m, k, n": 1,
    }
    errors = [100 * row.error for row in result.sets[0].scored]
    assert found["mape_pct"] == pytest.approx(sum(map(abs, errors)) / 2)
    assert found["median_pct"] == pytest.approx(sum(map(abs, errors)) / 2)
    assert found["max_pct"] == pytest.approx(max(map(abs, errors)))
    assert found["bias_pct"] == pytest.approx(sum(errors) / 2)
    assert result.met
    assert [row["not_run"] != "" for row in result.rows()] == [False, False, True, True]


def test_sizes_may_stand_in_a_row(tmp_path: Path) -> None:
    """As one word of them all, in the order of the operator."""
    rows = "a,gemm,bf16,dims=32x64x128,5,0,x\nb,layernorm,bf16,dims=16x256,5,0,x\nc,gemm,bf16,dims=32x64,5,0,x\n"
    (measured,) = sets.read(reference(tmp_path, HEADER + rows))
    first, second, third = measured.rows
    assert operators.operator_of(first).sizes(first) == {"m": 32, "k": 64, "n": 128}
    assert operators.operator_of(second).sizes(second) == {"rows": 16, "cols": 256}
    with pytest.raises(ModelError, match="gemm: found dims=32x64; allowed mxkxn"):
        operators.operator_of(third).sizes(third)


def test_the_least_work_of_a_convolution() -> None:
    """Two images of 8 x 8 x 3, 16 filters of 3 x 3 in steps of 2, padded by 1: 4 x 4 results each."""
    sizes = dict(batch=2, height=8, width=8, channels=3, filters=16, kernel=3, stride=2, pad=1)
    work = operators.OPERATORS["conv"].work(sizes)
    assert work == (2 * 16 * 16 * 27, 2 * 64 * 3 + 27 * 16 + 2 * 16 * 16)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"chip": "tpu_v9"}, "no chip 'tpu_v9'"),
        ({"platform": "cuda"}, "platform: found 'cuda'; allowed xla"),
        ({"chip": "edge_npu"}, "allowed no platform, since the file states none"),
        ({"set": {"mxu.shpae": 1}}, "no such key path in this chip"),
    ],
)
def test_a_set_that_cannot_be_run_has_no_figures(tmp_path: Path, entry: dict[str, object], reason: str) -> None:
    result = suite.run(reference(tmp_path, **entry))
    found = result.to_json()["sets"]["mine"]
    assert found["mape_pct"] is None and found["roofline_pct"] is None and found["rows"] == 0
    ((told, count),) = found["not_run"].items()
    assert reason in told and count == 4
    assert not result.met


def test_the_suite_and_the_command_say_the_same(tmp_path: Path) -> None:
    """What is predicted of a row is the interval of the run whose command stands beside it."""
    (measured,) = sets.read(reference(tmp_path))
    on = predict.on_chip(measured)
    for row in measured.rows[:2]:
        found = predict.predicted(on, row)
        sizes = dict(pair.split("=") for pair in ("m", "k", "n") for pair in [f"{pair}={row.shape[pair]}"])
        told = run(
            "gemm", "tpu_v6e", parameters={key: int(value) for key, value in sizes.items()}, warm=1,
            schedule="platform", set={"platform": "xla"},
        )  # fmt: skip
        repeated = told.summary["provenance"]["repeat"]
        assert isinstance(repeated, dict)
        assert found.time_us == pytest.approx(repeated["interval_s"] * 1e6, rel=1e-12)
        assert found.command.startswith("archsim run gemm --on tpu_v6e --parameter m=")
        assert found.command.endswith("--schedule platform --platform xla --warm 1")


def test_calibrated_keys_can_be_left_out(tmp_path: Path) -> None:
    """Then nothing passes between kernels, and the chip has its own clock."""
    (measured,) = sets.read(reference(tmp_path))
    plain, shipped = predict.on_chip(measured, calibrated=False), predict.on_chip(measured)
    assert plain.chip.host is not None and shipped.chip.host is not None
    assert plain.chip.host.floor_ps == 0 < shipped.chip.host.floor_ps
    assert plain.chip.arrays[0].clock_hz == plain.chip.clock_hz > shipped.chip.arrays[0].clock_hz
    assert predict.predicted(plain, measured.rows[0]).time_us < predict.predicted(shipped, measured.rows[0]).time_us


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("case,op\n", "no column 'format'"),
        (HEADER, "no rows"),
        (HEADER + "a,gemm,bf16,m=1 k,1,0,x\n", "mine.csv:2: shape: found 'k'"),
        (HEADER + "a,gemm,bf16,m=1,fast,0,x\n", "mine.csv:2: time_us: found 'fast'"),
        (HEADER + "a,gemm,bf16,m=1,0,0,x\n", "time_us: found 0; allowed more than 0"),
        (HEADER + "a,gemm,bf16,m=1,nan,0,x\n", "time_us: found 'nan'"),
    ],
)
def test_data_that_is_wrong_is_refused(tmp_path: Path, rows: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        suite.run(reference(tmp_path, rows))


def test_sets_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no set 'mien' \(did you mean 'mine'\?\); it has mine"):
        suite.run(reference(tmp_path), ("mien",))
    with pytest.raises(ConfigError, match="needs a directory with sets.json"):
        suite.run(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="timed: found 'host'; allowed device, launch"):
        suite.run(reference(tmp_path, timed="host"))


def test_rooflines_of_rows_that_are_one() -> None:
    """Times of a roofline with an offset are met by the published one; those of half the rates by the fitted one."""
    least = [(3.0 * i, 40.0 - i) for i in range(1, 30)]
    exact = [BaselineRow(str(i), max(pair) + 7, *pair) for i, pair in enumerate(least)]
    slower = [BaselineRow(str(i), max(pair[0] / 0.5, pair[1] / 0.8) + 3, *pair) for i, pair in enumerate(least)]
    assert baselines.roofline(exact) == pytest.approx(0, abs=1e-9)
    assert baselines.fitted_roofline(exact) == pytest.approx(0, abs=0.3)
    plain, fitted = baselines.roofline(slower), baselines.fitted_roofline(slower)
    assert plain is not None and fitted is not None
    assert plain > 10 > 1 > fitted
    assert baselines.roofline([]) is None


def test_the_offset_is_never_below_zero() -> None:
    """Rows that are faster than the roofline have an offset of 0."""
    rows = [BaselineRow(str(i), 1.0 + i, 2.0 + 2 * i, 1.0) for i in range(8)]
    assert baselines.roofline(rows) == pytest.approx(100)


def test_every_shipped_set_is_read() -> None:
    """All rows of the reference; those of named chips are run elsewhere."""
    found = sets.read(default_reference("silicon"))
    assert len(found) == 22 and sum(len(each.rows) for each in found) == 2_972
    assert {each.timed for each in found} == {"device", "launch"}
