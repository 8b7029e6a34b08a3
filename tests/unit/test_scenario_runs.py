"""Scenarios on the golden chip: runs, queue, power, operating points, pages, sweeps."""

from __future__ import annotations

import json
from math import fsum
from pathlib import Path
from typing import Any

import pytest
from fixtures_scenario import CHIP, scenario, without

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.energy.chip import tables_for
from archsim.lab.kit.options import Requirement, scalars
from archsim.lab.run.job import Job
from archsim.lab.scenario.find import load
from archsim.lab.scenario.run import ScenarioRun, execute, idle_nw
from archsim.lab.scenario.words import KEYS
from archsim.lab.sweep.process_executor import ProcessExecutor
from archsim.lab.sweep.resolve import resolve
from archsim.lab.sweep.run import RunningSweep, SilentWatch
from archsim.report.run import run_files
from archsim.report.scenario.page import _legend
from archsim.spec import load as chips
from tests.tools.scenarios import served, service, stream

SWEEP = """
name: clocks
chip: {chip}
models: [{models}]
axes: {{{axes}}}
constraints: ["misses == 0"]
objectives: [power_avg_w, max slack_min_s]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ScenarioRun:
    return ax.run_scenario(scenario(tmp_path_factory.mktemp("scenario")), on=CHIP)


def test_a_frame_is_a_run_of_its_model(run: ScenarioRun) -> None:
    """Time, energy and peak power of a frame are those of the model's run alone, on the chip of the operating point."""
    half = {"clock": "0.5 GHz", "technology.voltage": "0.5 V"}
    assert run.summary["point"] == "half"
    for name, row in run.summary["streams"].items():
        alone = ax.run(run.runs[name].built.workload, on=CHIP, set=half).summary
        assert row["run_s"] == alone["latency_s"] and row["run_cycles"] == alone["cycles_total"]
        assert row["energy_frame_j"] == pytest.approx(alone["energy_j"], rel=1e-12)
        assert row["response_worst_s"] >= row["run_s"]
        assert row["frames"] == round(row["rate_hz"] * run.summary["hyperperiod_s"])


def test_sums(run: ScenarioRun) -> None:
    found = run.summary
    assert fsum(found["energy_breakdown_j"].values()) == fsum(found["energy_parts_j"].values()) == found["energy_j"]
    assert found["power_avg_w"] == pytest.approx(found["energy_j"] / found["hyperperiod_s"], rel=1e-12)
    assert found["busy_share"] + found["idle_share"] == pytest.approx(1)
    assert found["load"] == pytest.approx(sum(row["utilization"] for row in found["streams"].values()))
    assert fsum(found["idle_breakdown_w"].values()) == pytest.approx(found["power_idle_w"])
    assert found["misses"] == sum(row["misses"] for row in found["streams"].values()) == 0
    assert set(KEYS) | {"schema", "scenario", "point", "points", "bounds", "provenance", "details"} == set(found)
    assert found["bounds"] == {"area_mm2": "lower", "power_avg_w": "lower"}


def test_operating_points(run: ScenarioRun) -> None:
    """Both meet their deadlines; half the clock at a lower voltage takes less power, and its frames twice as long."""
    full, half = run.points.loc["full"], run.points.loc["half"]
    assert full["misses"] == half["misses"] == 0
    assert half["power_avg_w"] < full["power_avg_w"]
    assert half["load"] > 1.5 * full["load"]
    ratio = half["power_idle_w"] / full["power_idle_w"]
    assert (0.5 / 0.7) ** 3 < ratio < (0.5 / 0.7) ** 2 * 1.001  # of what leaks in SRAM the cube, in logic the square


@pytest.mark.slow
def test_an_overloaded_point_is_a_row_and_one_alone_an_error(tmp_path: Path) -> None:
    slow = ("clock: 0.5 GHz", "clock: 2 MHz")
    found = ax.run_scenario(scenario(tmp_path, slow), on=CHIP)
    assert found.summary["point"] == "full"
    assert found.points.loc["half", "load"] > 1
    assert found.points["power_avg_w"].isna().tolist() == [False, True]
    with pytest.raises(
        ConfigError, match=r"found a load of \d.* of the chip: small .*30000 Hz x .* ms.*allowed at most 1"
    ):
        ax.run_scenario(scenario(tmp_path, slow, ("clock: 1 GHz", "clock: 1 MHz")), on=CHIP)


def test_a_point_that_misses_fewest_is_taken_where_none_meets(tmp_path: Path) -> None:
    found = ax.run_scenario(scenario(tmp_path, ("deadline: 90 us", "deadline: 1 us")), on=CHIP).summary
    assert found["misses"] == found["streams"]["large"]["frames"] and found["slack_min_s"] < 0
    assert all(row["misses"] for row in found["points"])


def test_power_at_rest_is_the_parts_leakage_or_what_they_state() -> None:
    plain = chips.load(CHIP)
    gated = chips.load(CHIP, {"l1.idle": "3 uW", "acc.idle": "0 W"})
    leakage = {name: table.leakage_nw for name, table in tables_for(plain).parts.items()}
    assert idle_nw(plain) == leakage and leakage["l1"] > 0
    assert idle_nw(gated) == leakage | {"l1": 3000, "acc": 0}
    assert tables_for(gated).parts["l1"].leakage_nw == leakage["l1"]
    assert chips.loads(chips.to_yaml(gated)) == gated
    assert "idle" not in tables_for(plain).parts["l1"].sources


def test_a_chip_that_sleeps_answers_later_and_takes_less(tmp_path: Path) -> None:
    asleep = ax.run_scenario(scenario(tmp_path, *without("points")), on=CHIP).summary
    awake = ax.run_scenario(scenario(tmp_path, *without("points", "sleep")), on=CHIP).summary
    assert awake["point"] is None and awake["points"] == []
    assert asleep["power_avg_w"] < awake["power_avg_w"]
    small = [summary["streams"]["small"]["response_mean_s"] for summary in (asleep, awake)]
    assert small[0] > small[1]
    assert set(asleep["energy_breakdown_j"]) - set(awake["energy_breakdown_j"]) == {"wake", "sleep"}
    assert awake["details"]["sleep"] is None and asleep["details"]["sleep"] == {"power_w": 1e-5, "wake_s": 1e-6}


def test_the_queue_between_layers() -> None:
    """A run of two layers of 6 and 4; a frame with a nearer deadline comes 1 later, waits for the layer or the end."""
    long, short = stream(0, 30), stream(1, 30, deadline_ps=20, offset_ps=1)
    whole = served([service(long, 10, 0, (6, 10)), service(short, 3)], preempt="never")
    cut = served([service(long, 10, 0, (6, 10)), service(short, 3)], preempt="layer")
    assert [each.response_ps for place in (0, 1) for each in whole.done(place)] == [10, 12]
    assert [each.response_ps for place in (0, 1) for each in cut.done(place)] == [13, 8]
    assert (
        served([service(long, 10, 0, (6, 10)), service(short, 3)], preempt="layer", policy="fifo")
        .done(1)[0]
        .response_ps
        == 12
    )


def test_layers_of_a_run_are_where_it_may_be_cut(run: ScenarioRun) -> None:
    from archsim.lab.scenario.serve import service as of_run

    large = of_run(load_stream(run, "large"), run.runs["large"])
    assert len(large.layer_ends_ps) >= 2 and large.layer_ends_ps[-1] == large.run_ps
    assert list(large.layer_ends_ps) == sorted(set(large.layer_ends_ps))


def load_stream(run: ScenarioRun, name: str) -> Any:
    places = list(run.summary["streams"])
    return stream(places.index(name), 10**9)


def test_streams_of_one_model_share_a_run(tmp_path: Path) -> None:
    found = ax.run_scenario(
        scenario(
            tmp_path,
            ("large.csv", "small.csv"),
            ("batch: 1, dtype: int8", "offset: 0 us"),
            ("offset: 5 us, ", ""),
            *without("points"),
        ),
        on=CHIP,
    )
    assert found.runs["small"] is found.runs["large"]


def test_streams_of_one_model_with_other_batches_have_runs_of_their_own(tmp_path: Path) -> None:
    changes = (("large.csv", "small.csv"), ("batch: 1, dtype: int8", "batch: 2"), ("offset: 5 us, ", ""))
    found = ax.run_scenario(scenario(tmp_path, *changes, *without("points")), on=CHIP)
    macs = {name: run.summary["macs"] for name, run in found.runs.items()}
    assert macs["large"] == 2 * macs["small"] > 0


def test_values_of_chip_and_point_may_not_meet(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="clock: set for the chip, and by the operating point 'full' of scenario"):
        ax.run_scenario(scenario(tmp_path), on=CHIP, set={"clock": "1 GHz"})
    with pytest.raises(ConfigError, match="two_streams.yaml is a scenario; run_scenario runs it"):
        ax.run(scenario(tmp_path), on=CHIP)
    with pytest.raises(ConfigError, match="streams.large.dtype: unknown dtype 'int17'"):
        ax.run_scenario(scenario(tmp_path, ("dtype: int8", "dtype: int17")), on=CHIP)


def test_requirements_name_its_numbers(run: ScenarioRun) -> None:
    found = scalars(run.summary)
    assert {"misses", "load", "streams.small.response_worst_s", "energy_breakdown_j.sleep"} <= set(found)
    assert Requirement.parse("streams.large.misses==0", KEYS).met(run.summary)
    assert not Requirement.parse("power_avg_w<=0", KEYS).met(run.summary)
    with pytest.raises(ConfigError, match="no 'cycles_total' in a result"):
        Requirement.parse("cycles_total<1", KEYS)


def test_equal_runs_give_equal_bytes_and_pages_come_again(run: ScenarioRun, tmp_path: Path) -> None:
    paths = run.save(tmp_path / "out")
    assert [path.name for path in paths] == ["summary.json", "streams.csv", "report.html", "report.md"]
    before = {path: path.read_bytes() for path in paths}
    again = execute(Job(scenario(tmp_path), CHIP)).save(tmp_path / "again")
    assert [path.read_bytes() for path in again] == list(before.values())
    for path in paths[2:]:
        path.unlink()
    assert run_files.rebuild(tmp_path / "out") == paths[2:]
    assert {path: path.read_bytes() for path in paths} == before
    assert json.loads(before[paths[0]])["schema"] == "archsim.scenario_result/1"


def test_pages_say_what_is_assumed(run: ScenarioRun, tmp_path: Path) -> None:
    _, csv, html, markdown = (path.read_text() for path in run.save(tmp_path))
    assert csv.splitlines()[0].startswith("stream,model,rate_hz") and len(csv.splitlines()) == 3
    for page in (html, markdown):
        assert "each begins cold" in page and "the chip sleeps at 10 \N{MICRO SIGN}W" in page
        assert "half \N{LEFTWARDS ARROW}" in page and "All deadlines are met" in page
        assert "what it had brought ahead is taken as kept" in page
    frames = run.summary["frames"]
    assert html.count(", frame ") >= frames and html.count("waking up") >= 2
    assert "<script src" not in html and "http://" not in html.replace("http://www.w3.org", "")
    assert "two_streams on golden" in run._repr_html_()


def sweep(folder: Path, models: str, axes: str, objective: str = "") -> Path:
    path = folder / "sweep.yaml"
    path.write_text(SWEEP.format(chip=CHIP, models=models, axes=axes) + objective)
    return path


@pytest.mark.slow
def test_a_sweep_takes_scenarios(tmp_path: Path) -> None:
    scenario(tmp_path, *without("points"))
    resolved = resolve(sweep(tmp_path, "two_streams.yaml", "l1.size: [8 KiB, 16 KiB, 32 B], clock: [1 GHz]"))
    with RunningSweep(resolved, tmp_path / "out", resume=False) as sweeping, ProcessExecutor(1) as crew:
        table = sweeping.run(crew, SilentWatch())
    assert table["status"].tolist() == ["ok", "ok", "impossible"]
    alone = ax.run_scenario(tmp_path / "two_streams.yaml", on=CHIP, set={"l1.size": "16 KiB"}).summary
    row = table.iloc[1]
    assert row["power_avg_w"] == alone["power_avg_w"] and row["streams.large.misses"] == 0
    assert table["point"].tolist() == [0, 1, 2] and row["architecture.clock_hz"] == 1e9
    assert table["front"].sum() >= 1 and table["meets"].tolist() == [True, True, False]


def test_sweeps_refuse_what_scenarios_have_not(tmp_path: Path) -> None:
    scenario(tmp_path)
    with pytest.raises(ConfigError, match=r"sweep.yaml:\d+:\d+: axes.clock: the operating point 'full' of scenario"):
        resolve(sweep(tmp_path, "two_streams.yaml", "clock: [1 GHz]"))
    with pytest.raises(ConfigError, match="two_streams.yaml is a scenario; its streams state batch, parameters, dtype"):
        resolve(sweep(tmp_path, "{model: two_streams.yaml, batch: 2}", "l1.banks: [4]"))
    for model, known, other in (("small.csv", "latency_s", "misses"), ("two_streams.yaml", "misses", "cycles_total")):
        path = sweep(tmp_path, model, "l1.banks: [4]")
        text = (
            path.read_text().replace("misses ==", f"{other} ==").replace("[power_avg_w, max slack_min_s]", f"[{known}]")
        )
        path.write_text(text)
        with pytest.raises(ConfigError, match=f"no '{other}' in a.* result"):
            resolve(path)
    path = sweep(tmp_path, "two_streams.yaml", "l1.banks: [4]")
    path.write_text(path.read_text().replace("power_avg_w,", "cycles_total,"))
    with pytest.raises(ConfigError, match="no 'cycles_total' in a scenario's result"):
        resolve(path)


def test_a_scenario_is_simulated_and_compared_with_no_run(run: ScenarioRun, tmp_path: Path) -> None:
    path = sweep(scenario(tmp_path).parent, "two_streams.yaml", "l1.banks: [4]", "fidelity: cost\n")
    with pytest.raises(
        ConfigError, match="fidelity: found 'cost'; .*two_streams.yaml is a scenario; allowed fast, exact"
    ):
        resolve(path)
    run.save(tmp_path / "out")
    with pytest.raises(ConfigError, match="found schema 'archsim.scenario_result/1'; allowed 'archsim.result/2', "):
        ax.compare(tmp_path / "out", tmp_path / "out")


def test_the_key_of_a_row_knows_the_scenario(tmp_path: Path) -> None:
    first = load(scenario(tmp_path)).sha256
    assert load(scenario(tmp_path, ("rate: 30 kHz", "rate: 20 kHz"))).sha256 != first
    (tmp_path / "small.csv").write_text((tmp_path / "large.csv").read_text())
    assert load(tmp_path / "two_streams.yaml").sha256 != first


def test_the_legend_has_what_the_timeline_shows() -> None:
    def words(*slices: tuple[str | None, bool]) -> list[str]:
        shown = [[name, 0, 0.0, 1.0, late] for name, late in slices]
        summary = {"streams": {"eye": {}}, "details": {"timeline": {"slices": shown}}}
        return [word for _, word in _legend(summary)]

    assert words(("eye", False)) == ["eye"]
    assert words(("eye", False), (None, False)) == ["eye", "waking up"]
    assert words(("eye", True)) == ["eye", "behind its deadline"]
