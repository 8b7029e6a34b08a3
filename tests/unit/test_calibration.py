"""``archsim calibrate``: what is fitted to rows, and what cannot be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.cli.app import main
from archsim.lab.validate.silicon import fit, predict, sets
from archsim.lab.validate.silicon.measured_chip import on_chip
from archsim.lab.validate.suite import default_reference
from archsim.spec.load import load

CHIP = "tpu_v6e"
SIZES = [(m, k, 512) for m in (32, 128) for k in (256, 512)]
TRUE = {"platforms.xla.host.floor": "3 us"}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set whose times are those of the chip with other keys."""
    folder = tmp_path_factory.mktemp("reference")
    rows = [f"gemm {m}x{k}x{n},gemm,bf16,m={m} k={k} n={n},1,0,simulated" for m, k, n in SIZES]
    stated = {"mine": {"chip": CHIP, "platform": "xla", "timed": "device", "rows": len(rows)}}
    (folder / "sets.json").write_text(json.dumps(stated))
    path = folder / "mine.csv"
    path.write_text("\n".join([",".join(sets.COLUMNS), *rows]) + "\n")
    (measured,) = sets.read(folder, ("mine",))
    on = on_chip(replace(measured, keys=TRUE))
    times = [predict.predicted(on, row).time_us for row in measured.rows]
    rows = [row.replace(",1,0,", f",{time},0,") for row, time in zip(rows, times, strict=True)]
    path.write_text("\n".join([",".join(sets.COLUMNS), *rows]) + "\n")
    return folder


def test_a_key_is_found_from_its_rows(reference: Path, tmp_path: Path) -> None:
    """Nearly the one with which the rows were made, which then holds for the rows that were not fitted, too; the file
    that is written is the chip with it, marked with the set and the number of its rows."""
    (measured,) = sets.read(reference, ("mine",))
    found = fit.fit(measured, ("host.floor",))
    floor = found.after[fit.PlatformKey("host.floor")]
    assert floor == pytest.approx(3e6, rel=0.02)
    (before, before_others), (after, others) = found.errors
    assert before_others is not None and others is not None
    assert before > 20 < before_others and after < 2 > others
    path = tmp_path / "mine.yaml"
    path.write_text(found.chip_file("mine", CHIP))
    chip = load(str(path))
    assert chip.platforms["xla"].host.floor == (round(floor), {})
    assert chip.sources["platforms.xla.host.floor"] == "calibrated: mine, 2 rows"
    rows = [predict.predicted(on_chip(replace(measured, chip=str(path))), row) for row in measured.rows]
    assert max(abs(row.error) for row in rows) < 0.02


def test_keys_that_act_together_are_found() -> None:
    """A floor and a rate of rows whose time is their sum, within the bounds of each."""
    floor, share = fit.PlatformKey("host.floor"), fit.PlatformKey("clock_share")
    works = [1e5, 1e6, 4e6, 2e7]

    def error(values: fit.Values) -> float:
        times = [(values[floor] + work / values[share]) / (2.5e6 + work / 0.6) for work in works]
        return 100 * sum(abs(time - 1) for time in times) / len(times)

    found = fit.least({floor: 1e6, share: 0.9}, error)
    assert found[floor] == pytest.approx(2.5e6, rel=0.03) and found[share] == pytest.approx(0.6, rel=0.03)
    kept = fit.least({floor: 2.5e6, share: 0.6}, error)
    assert kept == {floor: 2.5e6, share: 0.6}
    bounded = fit.least({share: 0.1}, lambda values: 1 - values[share])
    assert bounded[share] == pytest.approx(0.4, rel=0.02)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("a100_gemm", {"host.floor": 3.1e7}),  # the default of a table
        ("a100_gelu", {"host.floor.Gelu": 3.7e7, "host.issue": 1e6}),  # one of its names
        ("mi210_gelu", {"vector_share.erf": 0.2, "clock_share": 0.5}),  # a name that it does not have
        ("tpu_v3", {"vector_share.softmax": 0.06}),  # one beside a single value, which nothing states
        ("tpu_v6e_gemm", {"host.floor.Gemm": 2e6, "prefetch": 0.6}),
    ],
)
def test_a_file_is_the_chip_that_was_fitted(name: str, keys: dict[str, float], tmp_path: Path) -> None:
    """What it does not fit of a table stays, and each number that it does says so; it runs on that platform."""
    (measured,) = sets.read(default_reference("silicon"), (name,))
    on = on_chip(measured)
    values = {fit.PlatformKey.parse(key): value for key, value in keys.items()}
    stated = fit._stated(on, values)
    done = fit.Calibration(
        measured.chip, on.chip.platform, name, (4, 2), values, values, stated, ((9.0, None), (8.0, None))
    )
    path = tmp_path / "mine.yaml"
    path.write_text(done.chip_file("mine", measured.chip))
    made = load(str(path))
    tried = {f"platforms.{on.chip.platform}.{key}": value for key, value in stated.items()}
    expected = load(measured.chip, {"platform": on.chip.platform, **tried})
    assert (made.platform, made.platforms) == (on.chip.platform, expected.platforms)
    marked = {place: text for place, text in made.sources.items() if text == f"calibrated: {name}, 2 rows"}
    assert len(marked) == len(keys)


def test_keys_that_were_fitted_before_are_fitted_again() -> None:
    """Those of the set alone; others have to be named."""
    found = {}
    for measured in sets.read(default_reference("silicon")):
        if measured.name in ("a100_gelu", "a100_softmax", "mi210_gemm", "tpu_v6e_gemm"):
            found[measured.name] = [str(key) for key in fit._fitted_before(on_chip(measured))]
    assert found == {
        "a100_gelu": ["host.issue.Gelu", "host.floor.Gelu"],
        "a100_softmax": ["host.floor.Softmax", "vector_share.softmax"],
        "mi210_gemm": ["host.floor", "clock_share"],
        "tpu_v6e_gemm": ["host.floor", "clock_share", "prefetch"],
    }
    (other,) = sets.read(default_reference("silicon"), ("tpu_v6e_ffn",))
    with pytest.raises(ConfigError, match="no key of platform 'xla' was calibrated by 'tpu_v6e_ffn'; name some by"):
        fit.fit(other)


def test_cases_that_were_measured_twice_are_on_one_side() -> None:
    (measured,) = sets.read(default_reference("silicon"), ("a100_softmax",))
    fitted, others = fit._halves(measured.rows)
    assert len(fitted) + len(others) == 15 and fitted and others
    assert not {row.case for row in fitted} & {row.case for row in others}


def test_bounds_are_those_of_a_chip_file() -> None:
    """A share of 0 is searched from the least one on, and nothing beyond what a file may state."""
    assert fit.PlatformKey("prefetch").bounds(0.0) == (0.001, 0.004)
    assert fit.PlatformKey("vector_share").bounds(0.002) == (0.001, 0.008)
    assert fit.PlatformKey("host.floor").bounds(5e11) == (1.25e11, 1e12)
    assert fit.PlatformKey("clock_share").bounds(0.9) == (0.225, 1.0)


def test_a_trial_in_which_a_row_cannot_be_run_is_none(reference: Path) -> None:
    (measured,) = sets.read(reference, ("mine",))
    row = measured.rows[0]
    good, bad = predict.SiliconPrediction(row, time_us=row.time_us), predict.SiliconPrediction(row, reason="no room")
    assert fit._error([good]) == 0 and fit._error([good, bad]) == float("inf")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (("clock_shar",), "--key: found 'clock_shar'; allowed host.floor, host.issue, .* mean 'clock_share'"),
        (("host.launch",), "--key: found 'host.launch'; allowed host.floor"),
        (("host.issue",), "--key: found 'host.issue'; set 'mine' was timed on the device, without launches"),
        (("host.floor", "clock_share"), "--key: found 2; allowed fewer than the 2 rows that are fitted"),
        (("clock_share.gelu",), "--key: found 'clock_share.gelu'; clock_share has one value"),
    ],
)
def test_what_is_no_number_of_a_platform_is_refused(reference: Path, keys: tuple[str, ...], says: str) -> None:
    (measured,) = sets.read(reference, ("mine",))
    with pytest.raises(ConfigError, match=says):
        fit.fit(measured, keys)


def test_a_set_of_which_nothing_runs_is_refused(reference: Path) -> None:
    (measured,) = sets.read(reference, ("mine",))
    rows = tuple(replace(row, op="attention") for row in measured.rows[:2])
    with pytest.raises(ConfigError, match="set 'mine': no row can be run on 'tpu_v6e'"):
        fit.fit(replace(measured, rows=rows), ("clock_share",))


def test_results_name_what_was_fitted() -> None:
    """Of the platform on which the chip runs; without one nothing was."""
    sizes = {"m": 64, "k": 128, "n": 128}
    found = ax.run("gemm", "tpu_v3", parameters=sizes).summary["provenance"]
    assert found["calibrated"] == {"platforms.xla.host.floor": "calibrated: tpu_v3, 7 rows"}
    assert "calibrated" not in ax.run("gelu", "edge_npu", parameters={"elements": 4096}).summary["provenance"]


def test_the_command(reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints keys and errors, writes a chip file once, and refuses bad names with one message."""
    out = tmp_path / "mine.yaml"
    words = [
        "calibrate",
        CHIP,
        "--set",
        "mine",
        "--reference",
        str(reference),
        "--key",
        "host.floor",
        "--out",
        str(out),
    ]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert not ended.value.code and told["rows"] == 4 and set(told["keys"]) == {"host.floor"}
    assert told["mape_pct"]["fitted"]["after"] < told["mape_pct"]["fitted"]["before"]
    assert load(str(out)).platforms["xla"].host.floor is not None
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and "already" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["calibrate", CHIP, "--set", "mne", "--reference", str(reference)])
    assert ended.value.code == 2 and "no set 'mne'" in capsys.readouterr().err
