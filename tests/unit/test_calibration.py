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
    on = predict.on_chip(replace(measured, keys=TRUE))
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
    assert chip.sources["platforms.xla.host.floor"] == "calibrated: mine, 4 rows"
    rows = [predict.predicted(predict.on_chip(replace(measured, chip=str(path))), row) for row in measured.rows]
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


def test_one_name_of_a_table_is_fitted(reference: Path) -> None:
    """The others stay, and the file has that name alone."""
    chip = load("a100")
    values = {fit.PlatformKey("host.floor", "Gelu"): 3.7e7, fit.PlatformKey("vector_share", "softmax"): 0.06}
    errors = ((9.0, None), (8.0, None))
    found = fit.Calibration("a100", "llmcompass", "mine", 3, values, values, errors)
    text = found.chip_file("mine", "a100")
    path = reference / "a100_mine.yaml"
    path.write_text(text)
    made = load(str(path)).platforms["llmcompass"]
    stated = chip.platforms["llmcompass"]
    assert stated.host.floor is not None and made.host.floor is not None
    assert made.host.floor.of("Gelu") == 37_000_000 and made.host.floor.of("Softmax") == stated.host.floor.of("Softmax")
    assert float(made.vector_share.of("softmax")) == 0.06 and made.vector_share.default == 1


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (("clock_shar",), "--key: found 'clock_shar'; allowed host.floor, clock_share, .* mean 'clock_share'"),
        (("host.launch",), "--key: found 'host.launch'; allowed host.floor"),
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
