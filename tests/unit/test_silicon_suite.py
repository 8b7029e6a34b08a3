"""The suite silicon: reading sets, what is predicted of a row, figures, rooflines, and what cannot be run."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archsim.base.errors import ConfigError, ModelError
from archsim.cli.app import main
from archsim.lab.validate.silicon import baselines, operators, predict, sets, suite
from archsim.lab.validate.silicon.baselines import BaselineRow
from archsim.lab.validate.silicon.measured_chip import on_chip
from archsim.lab.validate.suite import default_reference
from mapper.policies import xla
from tests.tools.told import told_us

HEADER = "case,op,format,shape,time_us,floor_us,source\n"
ROWS = (
    "one,gemm,bf16,m=32 k=1024 n=1024,3.672,0,measured\n"
    "two,gemm,bf16,m=128 k=1024 n=2048,5.9,0,measured\n"
    "three,attention,bf16,phase=decode s=128,5.9,0,measured\n"
    "four,gemm,bf16,m=128 k=1024,5.9,0,measured\n"
)
ENTRY = {"chip": "tpu_v6e", "platform": "xla", "timed": "device"}
SMALL = "small,gemm,bf16,m=32 k=64 n=64,5,0,x\n"
SHIPPED = Path(__file__).parents[2] / "configs" / "accelerators" / "tpu_v6e.yaml"
DEVICE = "host: {per: kernel, depth: 2, floor: 1.6 us}"


def reference(tmp_path: Path, text: str = HEADER + ROWS, **entry: object) -> Path:
    """A directory with one set, ``mine``."""
    (tmp_path / "sets.json").write_text(json.dumps({"mine": {**ENTRY, **entry}}))
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    return tmp_path


def other_chip(tmp_path: Path, platform: str, sources: Mapping[str, str] | None = None) -> str:
    """TPU v6e with other keys of its platform, one a line, and sources of these or others; the name of the file."""
    stated = sources or {}
    lines = SHIPPED.read_text(encoding="utf-8").replace("name: tpu_v6e", "name: other", 1).splitlines()
    lines = [line for line in lines if not line.startswith(("  platforms.", *(f"  {key}:" for key in stated)))]
    begin, end = lines.index("platforms:") + 2, lines.index("platform: xla")
    lines[begin:end] = [f"    {line}" for line in platform.splitlines()]
    at = lines.index("sources:") + 1
    lines[at:at] = [f'  {key}: "{source}"' for key, source in stated.items()]
    path = tmp_path / "other.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def first_set(directory: Path) -> sets.SiliconSet:
    (measured,) = sets.read(directory)
    return measured


def test_what_cannot_be_run_is_counted_with_its_reason(tmp_path: Path) -> None:
    """An operator without a workload, a row without a size: the others have their figures."""
    result = suite.run(reference(tmp_path))
    found = result.to_json()["sets"]["mine"]
    assert (found["rows"], found["rows_of_set"]) == (2, 4)
    assert found["not_run"] == {
        "no workload stands for the operator 'attention' yet; there are: gemm, conv, softmax, layernorm, gelu, "
        "ffn_gated, ffn_erf, input_layernorm, post_attention_layernorm, add, mlp_act": 1,
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
    first, second, third = first_set(reference(tmp_path, HEADER + rows)).rows
    assert operators.operator_of(first).sizes(first) == {"m": 32, "k": 64, "n": 128}
    assert operators.operator_of(second).sizes(second) == {"rows": 16, "cols": 256}
    with pytest.raises(ModelError, match="gemm: found dims=32x64; allowed mxkxn"):
        operators.operator_of(third).sizes(third)


def test_sizes_of_the_model_may_stand_in_a_row() -> None:
    """An operator of a transformer has its own of them; a size that is cut over chips is that of one chip."""
    model = {"tokens": 5, "hidden": 64, "ffn": 96, "tp": 4}
    row = sets.SiliconRow("a", "mlp_act", "fp16", model, 1.0, "here")
    assert operators.operator_of(row).sizes(row) == {"tokens": 5, "inner": 24}
    for op in ("input_layernorm", "post_attention_layernorm", "add"):
        norm = replace(row, op=op)
        assert operators.operator_of(norm).sizes(norm) == {"rows": 5, "cols": 64}
        assert predict.least_work(norm).bytes == (3 if op == "add" else 2) * 5 * 64 * 2
    assert predict.least_work(row).bytes == 3 * 5 * 24 * 2
    for bad, says in (({"tp": 5}, "found tp=5; allowed what divides ffn=96"), ({"tp": 0}, "found tp=0")):
        wrong = replace(row, shape={**model, **bad})
        with pytest.raises(ModelError, match=says):
            operators.operator_of(wrong).sizes(wrong)
    with pytest.raises(ModelError, match="no size 'hidden'; needed tokens, ffn, hidden, tp"):
        operators.operator_of(row).sizes(replace(row, shape={"tokens": 5, "ffn": 96, "tp": 4}))


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


def test_the_suite_and_the_command_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is predicted of a row is the interval of the run whose command stands beside it."""
    rows = HEADER + SMALL + "norm,layernorm,fp32,rows=64 cols=256,5,0,x\n"
    for row in suite.run(reference(tmp_path, rows)).rows():
        assert row["predicted_us"] == pytest.approx(told_us(row["command"], capsys), rel=1e-12)
        assert row["command"].startswith("archsim run ") and "--on tpu_v6e --parameter " in row["command"]
        assert row["command"].endswith("--schedule platform --platform xla --warm 1")


def test_the_command_has_the_keys_that_are_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the set, whatever their type, and those of kernels that are timed alone, with blanks in them."""
    chip = other_chip(tmp_path, "policy: xla\nhost: {per: kernel, depth: 2}")
    apart = {"mxu.shape": [128, 512], "mxu.fold_overlap": False, "clock": "1.5 GHz"}
    (row,) = suite.run(reference(tmp_path, HEADER + SMALL, chip=chip, set=apart)).rows()
    assert row["predicted_us"] == pytest.approx(told_us(row["command"], capsys), rel=1e-12)
    given = shlex.split(row["command"])
    assert [value for key, value in zip(given, given[1:], strict=False) if key == "--set"] == [
        "mxu.shape=[128, 512]",
        "mxu.fold_overlap=false",
        "clock=1.5 GHz",
        "platforms.xla.host.launch=0 s",
        "platforms.xla.host.issue=0 s",
    ]


@pytest.mark.parametrize(
    "launched",
    [
        "",
        "launch: 90 us, issue: 0 s",
        "launch: {default: 0 s, Gemm: 90 us}, issue: 0 s",
        "launch: 0 s, issue: {default: 0 s, Gemm: 90 us}",
    ],
)
def test_a_kernel_that_is_timed_alone_is_not_launched(tmp_path: Path, launched: str) -> None:
    """Whatever the chip's host, or the platform's for some operators, takes for that: as where both state 0."""

    def time_us(timed: str, host: str) -> float:
        chip = other_chip(tmp_path, f"policy: framework\nhost: {{per: kernel, depth: 1, {host}}}")
        measured = first_set(reference(tmp_path, HEADER + SMALL, chip=chip, timed=timed))
        return predict.predicted(on_chip(measured), measured.rows[0]).time_us

    assert time_us("device", launched) == time_us("launch", "launch: 0 s, issue: 0 s") < time_us("launch", launched)


def test_calibrated_keys_can_be_left_out(tmp_path: Path) -> None:
    """Then nothing passes between kernels, the chip has its own clock, and its policy what it usually takes."""
    measured = first_set(reference(tmp_path))
    plain, shipped = on_chip(measured, calibrated=False), on_chip(measured)
    assert plain.chip.host is not None and shipped.chip.host is not None
    assert plain.chip.host.floor_ps == 0 < shipped.chip.host.floor_ps
    assert plain.chip.arrays[0].clock_hz == plain.chip.clock_hz > shipped.chip.arrays[0].clock_hz
    assert plain.chip.platforms["xla"].prefetch == xla.USUAL_PREFETCH != shipped.chip.platforms["xla"].prefetch
    assert predict.predicted(plain, measured.rows[0]).time_us < predict.predicted(shipped, measured.rows[0]).time_us


def test_of_values_by_name_those_that_are_calibrated_are_left_out(tmp_path: Path) -> None:
    """The others stay as they are stated."""
    platform = (
        "policy: framework\n"
        "host: {depth: 2, per: kernel, floor: {default: 1.6 us, Gemm: 9 us, Softmax: 7 us}, "
        "launch: {default: 3 us, Gemm: 4 us}, issue: 2 us}\n"
        "vector_share: {default: 0.5, exp: 0.25}\n"
        "clock_share: 0.9"
    )
    names = (
        "host.floor.default", "host.floor.Gemm", "host.launch.Gemm", "host.issue", "vector_share", "clock_share",
    )  # fmt: skip
    chip = other_chip(tmp_path, platform, {f"platforms.xla.{name}": "calibrated: rows" for name in names})
    on = on_chip(first_set(reference(tmp_path, chip=chip, timed="launch")), calibrated=False)
    found = on.chip.platforms["xla"]
    assert found.host.floor == (0, {"Softmax": 7_000_000})
    assert found.host.launch == (3_000_000, {})
    assert found.host.issue == (0, {})
    assert found.vector_share == (1, {})
    assert found.clock_share == 1


@pytest.mark.parametrize("key", ["platforms.xla.host.depth", "clock"])
def test_a_calibrated_key_without_a_neutral_value_is_refused(tmp_path: Path, key: str) -> None:
    """By its path, whether it is the platform's or the chip's."""
    measured = first_set(reference(tmp_path, chip=other_chip(tmp_path, DEVICE, {key: "calibrated: rows"})))
    with pytest.raises(ConfigError, match=f"chip 'other': {key}: is calibrated and has no neutral value"):
        on_chip(measured, calibrated=False)
    on_chip(measured)


def test_rows_without_a_peak_are_left_out_of_the_rooflines_alone(tmp_path: Path) -> None:
    """GELU needs no array; fp8 is multiplied as bf16; a product in a format that nothing holds has no peak."""
    rows = HEADER + SMALL + "a,gelu,fp32,elements=4096,5,0,x\nb,gemm,fp8,m=32 k=64 n=64,5,0,x\n"
    found = suite.run(reference(tmp_path, rows))
    assert found.to_json()["sets"]["mine"]["rows"] == 3
    assert found.to_json()["sets"]["mine"]["roofline_pct"] is not None
    on = on_chip(found.sets[0].measured)
    small, gelu, fp8 = (predict.least(on, row.row) for row in found.sets[0].rows)
    assert small is not None and small.least_mac_us > 0
    assert gelu is not None and (gelu.least_mac_us, gelu.least_byte_us) == (0, pytest.approx(4096 * 8 / 1.6384e6))
    assert fp8 is not None and fp8.least_mac_us == small.least_mac_us
    wide = first_set(reference(tmp_path, HEADER + "c,gemm,fp32,m=32 k=64 n=64,5,0,x\n")).rows[0]
    assert predict.least(on, wide) is None


def test_the_peak_of_a_format_that_the_vector_unit_converts_is_that_of_what_it_becomes(tmp_path: Path) -> None:
    """TPU v4 multiplies fp16 as fp32, 131,072 products of 1.05 GHz in both cores."""
    rows = HEADER + "a,gemm,fp16,m=1024 k=1024 n=1024,5,0,x\n"
    measured = first_set(reference(tmp_path, rows, chip="tpu_v4", platform="xla"))
    found = predict.least(on_chip(measured), measured.rows[0])
    assert found is not None and found.least_mac_us == pytest.approx(1024**3 / (131072 * 1050))


@pytest.mark.parametrize(("rows", "at"), [(1, 0), (9, 8), (10, 8), (11, 9), (20, 17), (100, 89)])
def test_nine_of_ten_rows_are_no_further_off_than_p90(tmp_path: Path, rows: int, at: int) -> None:
    """By the nearest rank: of ten rows the ninth."""
    (row,) = first_set(reference(tmp_path, HEADER + SMALL)).rows
    predictions = tuple(predict.SiliconPrediction(row, time_us=row.time_us * (1 + i / 1000)) for i in range(rows))
    found = suite.SetScore(first_set(tmp_path), predictions).to_json()
    assert found["p90_pct"] == pytest.approx(at / 10)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("case,op\n", "no column 'format'"),
        (HEADER, "no rows"),
        (HEADER + "a,gemm,bf16,m=1 k,1,0,x\n", "mine.csv:2: shape: found 'k'"),
        (HEADER + "a,gemm,bf16,m=1,fast,0,x\n", "mine.csv:2: time_us: found 'fast'"),
        (HEADER + "a,gemm,bf16,m=1,0,0,x\n", "mine.csv:2: time_us: found '0'; allowed 1e-06 to 1e.12 microseconds"),
        (HEADER + "a,gemm,bf16,m=1,nan,0,x\n", "mine.csv:2: time_us: found 'nan'"),
        (HEADER + "a,gemm,bf16,m=1,inf,0,x\n", "mine.csv:2: time_us: found 'inf'"),
        (HEADER + SMALL + "a,gemm,bf16,m=1,1e-320,0,x\n", "mine.csv:3: time_us: found '1e-320'"),
        (HEADER + "a,gemm,bf16,dims=32x²x64,5,0,x\n", "mine.csv:2: shape: found '²'; allowed sizes of 1 to 18 digits"),
        (HEADER + "a,gemm,bf16,m=² k=1 n=1,5,0,x\n", "mine.csv:2: shape: found '²'"),
        (HEADER + f"a,gemm,bf16,m={5000 * '9'} k=1 n=1,5,0,x\n", "mine.csv:2: shape: found '99999999999999999999'; "),
        (HEADER + f"a,gemm,bf16,dims=1x{5000 * '9'}x1,5,0,x\n", "mine.csv:2: shape: found '99999999999999999999'; "),
        (HEADER + "a,gemm,bf16,m=32 m=64 k=1 n=1,5,0,x\n", "mine.csv:2: shape: found m=32 and m=64; allowed each"),
        (HEADER + "a,gemm,bf16,dims=1x1x1 m=9,5,0,x\n", "mine.csv:2: shape: found dims=1x1x1 beside other sizes"),
        (HEADER + "a,gemm,bf16,m=1,5,0,x,y\n", "mine.csv:2: more cells than columns"),
        (HEADER + "a,gemm,,m=1,5,0,x\n", "mine.csv:2: format: found nothing"),
        (
            HEADER + SMALL + "small,gemm,bf16,m=64 k=64 n=64,5,0,x\n",
            "mine.csv:3: case: found 'small', which is another operator at .*mine.csv:2",
        ),
        (HEADER.replace("floor_us", "floor_us,note"), "mine.csv:1: found column 'note'; allowed once each: case, op"),
        (HEADER.replace("floor_us", "floor_us,op"), "mine.csv:1: found column 'op' 2 times"),
    ],
)
def test_data_that_is_wrong_is_refused(tmp_path: Path, rows: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        suite.run(reference(tmp_path, rows))


def test_a_case_may_be_measured_twice(tmp_path: Path) -> None:
    """The same operator in another time; columns with watts may stand beside the others."""
    rows = HEADER + SMALL + SMALL.replace(",5,", ",6,") + "none,gpt,bf16,dims=-,6,0,x\n"
    rows = rows.replace("floor_us", "floor_us,power_w").replace(",0,x", ",0,90,x")
    found = first_set(reference(tmp_path, rows)).rows
    assert [(row.case, row.time_us) for row in found] == [("small", 5), ("small", 6), ("none", 6)]
    assert found[2].work == ("gpt", "bf16", {}, ())


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"timed": "host"}, "sets.json: mine.timed: found 'host'; allowed device, launch"),
        ({"chip": 3}, "sets.json: mine.chip: found 3; allowed text"),
        ({"sett": {}}, r"sets.json: mine: no key 'sett' \(did you mean 'set'\?\); allowed chip, platform, timed, rows"),
        ({"rows": 3}, "sets.json: mine.rows: found 3; mine.csv has 4"),
        ({"rows": "4"}, "sets.json: mine.rows: found '4'; mine.csv has 4"),
        ({"set": []}, r"sets.json: mine.set: found \[\]; allowed a mapping"),
        ({"set": {"platform": "xla"}}, "sets.json: mine.set: found 'platform'"),
    ],
)
def test_a_set_that_is_stated_wrongly_is_refused(tmp_path: Path, entry: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        sets.read(reference(tmp_path, **entry))


def test_sets_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no set 'mien' \(did you mean 'mine'\?\); it has mine"):
        suite.run(reference(tmp_path), ("mien",))
    with pytest.raises(ConfigError, match="needs a directory with sets.json"):
        suite.run(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="set 'mine' asked for 2 times; allowed once"):
        suite.run(tmp_path, ("mine", "mine"))
    (tmp_path / "sets.json").write_text("{}")
    with pytest.raises(ConfigError, match="allowed a mapping of names of sets to mappings, one at least"):
        suite.run(tmp_path)


def test_exit_codes_and_files_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that cannot be run do not fail as long as others can; no row has a threshold that may be skipped."""

    def ended(*arguments: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as caught:
            main(["validate", "silicon", "--reference", str(tmp_path), *arguments])
        return caught.value.code or 0, capsys.readouterr().err

    reference(tmp_path, HEADER + SMALL + "=1,attention,bf16,s=128,5,0,x\n")
    assert ended("--out", str(tmp_path / "out"))[0] == 0
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"silicon.json", "silicon.csv", "report.html", "report.md"}
    assert json.loads((tmp_path / "out" / "silicon.json").read_text())["rows"][0]["bound_by"]
    with (tmp_path / "out" / "silicon.csv").open(newline="") as file:
        small, attention = csv.DictReader(file)
    assert (small["case"], attention["case"], attention["predicted_us"]) == ("small", "'=1", "")
    assert "no workload stands for" in attention["not_run"]
    reference(tmp_path, HEADER + "a,attention,bf16,s=128,5,0,x\n")
    assert ended() == (1, "error: validate silicon: no row could be run\n")
    code, said = ended("--allow-skipped")
    assert code == 2 and "is no option of the suite silicon" in said


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
