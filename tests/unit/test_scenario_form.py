"""Scenario files: what they say, what is refused and where."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from fixtures_scenario import TEXT, scenario

from archsim.errors import ConfigError, ModelError
from archsim.frontend.load import names as models
from archsim.lab.check import check_file
from archsim.lab.scenario.find import find, is_scenario, load, names
from archsim.lab.scenario.form import OperatingPoint, Scenario, Sleep, Stream, read
from archsim.lab.scenario.frames import frames_of, hyperperiod_ps, released

MISTAKES = [
    ("schema: archsim.scenario/1", "schema: archsim.scenario/2", "allowed archsim.scenario/1"),
    ("name: two_streams", "nam: two_streams", "name: missing"),
    ("source: \"by definition: round numbers for tests\"\n", "", "source: missing"),
    ("rate: 30 kHz", "rate: 30", "streams.small.rate: found 30, a bare number where a unit is due"),
    ("rate: 30 kHz", "rate: 0 Hz", "streams.small.rate: found '0 Hz'; allowed a frequency above 0"),
    ("rate: 30 kHz", "rate: 0.0001 Hz", "allowed 1/3600 Hz to 1000 GHz"),
    ("rate: 30 kHz, ", "", "streams.small.rate: missing"),
    ("deadline: 90 us", "deadline: 0 us", "streams.large.deadline: found '0 us'; allowed a time above 0"),
    ("offset: 5 us", "offset: 0.1 ps", "streams.large.offset: found '0.1 ps'; allowed a whole number of picoseconds"),
    ("batch: 1", "batch: 0", "streams.large.batch: found 0; allowed 1 or more"),
    ("dtype: int8", "dtype: int9", "streams.large.dtype: "),
    ("rate: 30 kHz", "rat: 30 kHz", "streams.small.rate: missing"),
    ("batch: 1", "batches: 1", "streams.large.batches: unknown key"),
    ("  small:", "  2nd:", "found the name '2nd'; allowed letters, digits and underscores"),
    ("  small:", "  idle:", "found the name 'idle'; allowed letters, digits and underscores, not idle, sleep, wake"),
    ("policy: edf", "policy: edff", "queue.policy: found 'edff'; allowed edf, rate_monotonic, fifo (did you mean"),
    ("preempt: layer", "preempt: tile", "queue.preempt: found 'tile'; allowed never, layer"),
    ("wake: 1 us, ", "", "sleep.wake: missing"),
    ("power: 10 uW, wake: 1 us, source: \"by definition\"", "power: 10 uW, wake: 1 us", "sleep.source: missing"),
    ("power: 10 uW", "power: 10 us", "sleep.power: found '10 us'; allowed a power with one of the units W, mW, uW"),
    ("full: {set: {clock: 1 GHz, technology.voltage: 0.7 V}, ", "full: {", "points.full.set: missing"),
    ("0.5 V}, source: \"by definition\"}", "0.5 V}}", "points.half.source: missing"),
    ("queue:", "queues:", "queues: unknown key"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[message for *_, message in MISTAKES])
def test_mistakes_of_form(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError) as error:
        read(TEXT.replace(old, new), "two.yaml")
    assert message in str(error.value)
    assert str(error.value).startswith("two.yaml:")


def test_a_scenario_has_streams() -> None:
    with pytest.raises(ConfigError, match="streams: missing; allowed names of streams"):
        read("schema: archsim.scenario/1\nname: none\nsource: made up\n")


def test_what_the_golden_file_says() -> None:
    period = Fraction(10**12, 30_000)
    assert read(TEXT) == Scenario(
        "two_streams",
        "a small and a large convolution at two rates",
        "by definition: round numbers for tests",
        (
            Stream("small", "small.csv", period, period),
            Stream("large", "large.csv", Fraction(10**8), Fraction(90 * 10**6), 5 * 10**6, 1, {}, "int8"),
        ),
        "edf",
        "layer",
        Sleep(Fraction(1, 10**5), 10**6, "by definition"),
        (
            OperatingPoint("full", {"clock": "1 GHz", "technology.voltage": "0.7 V"}, "by definition"),
            OperatingPoint("half", {"clock": "0.5 GHz", "technology.voltage": "0.5 V"}, "by definition"),
        ),
    )


def test_what_may_be_left_out() -> None:
    found = read("schema: archsim.scenario/1\nname: one\nsource: made up\nstreams: {a: {model: m, rate: 59.94 Hz}}\n")
    assert (found.policy, found.preempt, found.sleep, found.points) == ("edf", "never", None, ())
    assert found.streams[0].period_ps == found.streams[0].deadline_ps == Fraction(10**14, 5994)
    assert found.streams[0].rate_hz == Fraction(5994, 100)


def test_releases_of_ntsc_do_not_drift() -> None:
    """30000/1001 Hz: frame 30000 is released after 1001 s to the picosecond; rounded periods would be 20 ns early."""
    stream = Stream("a", "m", Fraction(1001 * 10**12, 30_000), Fraction(10**12))
    frames = released([stream], 1001 * 10**12 + 1)
    assert frames[30_000].release_ps == 1001 * 10**12
    assert 30_000 * frames[1].release_ps == 1001 * 10**12 - 20_000
    assert frames_of(stream, hyperperiod_ps([stream])) == 3


def test_rates_that_hardly_ever_meet_are_refused() -> None:
    streams = [Stream(str(rate), "m", 10**12 / rate, Fraction(1)) for rate in (Fraction("59.94"), Fraction("60.0001"))]
    with pytest.raises(ConfigError, match=r"59.94 Hz.*60.0001 Hz meet again after .*; allowed rates whose common"):
        hyperperiod_ps(streams)


def test_scenarios_are_found_by_name_and_by_schema(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    assert is_scenario("ar_glasses") and is_scenario(path) and is_scenario(str(path))
    assert not is_scenario("resnet50") and not is_scenario(tmp_path / "small.csv") and not is_scenario(3)
    other = tmp_path / "workload.yaml"
    other.write_text("schema: archsim.workload/1\n")
    assert not is_scenario(other)
    assert "ar_glasses" in names() and all(names().values())
    with pytest.raises(ConfigError, match="no scenario 'ar_glases' .did you mean 'ar_glasses'.."):
        find("ar_glases")


def test_a_file_in_a_plug_in_folder_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scenarios").mkdir()
    scenario(tmp_path / "scenarios")
    monkeypatch.setenv("ARCHSIM_CONFIGS", str(tmp_path))
    assert is_scenario("two_streams") and names()["two_streams"] == "a small and a large convolution at two rates"
    assert set(load("two_streams").workloads) == {"small", "large"}


def test_models_are_beside_the_file_and_read_once(tmp_path: Path) -> None:
    path = scenario(tmp_path, ("model: large.csv", "model: small.csv"), ("batch: 1, ", ""))
    found = load(path)
    assert found.workloads["small"] is found.workloads["large"]
    assert load(path).sha256 == found.sha256
    assert load(scenario(tmp_path)).sha256 != found.sha256
    (tmp_path / "small.csv").unlink()
    with pytest.raises(ModelError, match="no such file"):
        load(path)


def test_check_says_what_it_is(tmp_path: Path) -> None:
    found = check_file(scenario(tmp_path))
    assert found == "scenario 'two_streams', 2 streams, hyperperiod 0.0001 s"


@pytest.mark.parametrize("name", names())
def test_shipped_scenarios_have_sources_and_models(name: str) -> None:
    found = load(name)
    assert name not in models()  # else `run NAME` would be two things
    assert found.scenario.name == name and found.scenario.description and found.scenario.source
    assert all(point.source for point in found.scenario.points)
    assert set(found.workloads) == {stream.name for stream in found.scenario.streams}
