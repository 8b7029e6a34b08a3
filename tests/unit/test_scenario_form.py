"""Scenario files: what they say, what is refused and where."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from fixtures_scenario import CHIP, TEXT, scenario

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.load import names as models
from archsim.lab.files.check_files import check_file
from archsim.lab.run.job import Job
from archsim.lab.scenario.find import find, is_scenario, load, names
from archsim.lab.scenario.form import ChipSleep, FrameStream, OperatingPoint, Scenario, read
from archsim.lab.scenario.frames import frames_of, hyperperiod_ps, released
from archsim.lab.scenario.run import execute

MISTAKES = [
    ("schema: archsim.scenario/1", "schema: archsim.scenario/2", "allowed archsim.scenario/1"),
    ("name: two_streams", "nam: two_streams", "unknown key 'nam'; allowed description, name, points, queue, schema"),
    ("source: \"by definition: round numbers for tests\"\n", "", "source: missing"),
    ("rate: 30 kHz", "rate: 30", "streams.small.rate: found 30, a bare number where a unit is due"),
    ("rate: 30 kHz", "rate: 0 Hz", "streams.small.rate: found '0 Hz'; allowed 1/3600 Hz to 1000 GHz, in Hz,"),
    ("rate: 30 kHz", "rate: 0.0001 Hz", "allowed 1/3600 Hz to 1000 GHz"),
    ("rate: 30 kHz, ", "", "streams.small.rate: missing"),
    ("deadline: 90 us", "deadline: 0 us", "streams.large.deadline: found '0 us'; allowed above 0 s to 3600 s, in ps"),
    ("offset: 5 us", "offset: 0.1 ps", "streams.large.offset: found '0.1 ps', which is not a whole number of ps"),
    ("batch: 1", "batch: 0", "streams.large.batch: found 0; allowed whole numbers 1 to"),
    ("dtype: int8", "dtype: int9", "streams.large.dtype: "),
    ("rate: 30 kHz", "rat: 30 kHz", "streams.small.rat: unknown key 'rat'; allowed batch, deadline, dtype, "),
    ("batch: 1", "batches: 1", "streams.large.batches: unknown key"),
    ("  small:", "  2nd:", "found the name '2nd'; allowed letters, digits and underscores"),
    ("  small:", "  idle:", "found the name 'idle'; allowed letters, digits and underscores, a letter first, not"),
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
    with pytest.raises(ConfigError, match="streams: missing; allowed names of streams, each with its model and rate"):
        read("schema: archsim.scenario/1\nname: none\nsource: made up\n")


def test_what_the_golden_file_says() -> None:
    period = Fraction(10**12, 30_000)
    assert read(TEXT) == Scenario(
        "two_streams",
        "a small and a large convolution at two rates",
        "by definition: round numbers for tests",
        (
            FrameStream("small", "small.csv", period, period),
            FrameStream("large", "large.csv", Fraction(10**8), Fraction(90 * 10**6), 5 * 10**6, 1, {}, "int8"),
        ),
        "edf",
        "layer",
        ChipSleep(Fraction(1, 10**5), 10**6, "by definition"),
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
    stream = FrameStream("a", "m", Fraction(1001 * 10**12, 30_000), Fraction(10**12))
    frames = released([stream], 1001 * 10**12 + 1)
    assert frames[30_000].release_ps == 1001 * 10**12
    assert 30_000 * frames[1].release_ps == 1001 * 10**12 - 20_000
    assert frames_of(stream, hyperperiod_ps([stream])) == 3


def test_rates_that_hardly_ever_meet_are_refused() -> None:
    streams = [
        FrameStream(str(rate), "m", 10**12 / rate, Fraction(1)) for rate in (Fraction("59.94"), Fraction("60.0001"))
    ]
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


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("clock: 1 GHz", "clokc: 1 GHz", "points.full.set.clokc: no such key path in any chip (did you mean 'clock'?)"),
        ("clock: 1 GHz", "clock: 1 rocket", "points.full.set.clock: found '1 rocket'; allowed a frequency"),
        ("clock: 1 GHz", "clock: 200 GHz", "points.full.set.clock: found '200 GHz'; allowed 1 kHz to 100 GHz"),
        ("0.7 V", "-0.7 V", "points.full.set.technology.voltage: found '-0.7 V'; a voltage cannot be negative"),
        ("technology.voltage: 0.7", "technology.volage: 0.7", "technology.volage: unknown key 'volage'; allowed n"),
        ("technology.voltage: 0.7", "technolgy.voltage: 0.7", "(did you mean 'technology.voltage'?)"),
        ("clock: 1 GHz", "l1.siz: 1 MiB", "l1.siz: no such key path in any chip (did you mean 'l1.size'?)"),
        ("clock: 1 GHz", "l1.size: 1 MHz", "points.full.set.l1.size: found '1 MHz'; allowed a size"),
        ("clock: 1 GHz", "mxu.rates.int9: 1", "points.full.set.mxu.rates.int9: found 'int9'; allowed"),
        ("clock: 1 GHz", "l1.: 1", "no such key path in any chip"),
        ("{clock: 1 GHz, technology.voltage: 0.7 V}", "{}", "points.full.set: found none; allowed key paths"),
        ("{clock: 1 GHz, technology.voltage: 0.7 V}", "[1]", "points.full.set: found a list of 1; allowed a mapping"),
    ],
)  # fmt: skip
def test_operating_points_are_judged_without_a_chip(old: str, new: str, said: str, tmp_path: Path) -> None:
    """What no chip has, and what no chip takes, is refused where it stands."""
    with pytest.raises(ConfigError) as error:
        check_file(scenario(tmp_path, (old, new)))
    assert said in str(error.value)
    assert f"{tmp_path / 'two_streams.yaml'}:" in str(error.value)


def test_operating_points_take_keys_that_some_part_has(tmp_path: Path) -> None:
    keys = "{clock: 1 GHz, dram.capacity: 8 GiB, l1.size: 1 MiB, l1.slots.inputs: 3, mxu.rates.int8: 1/2, x.lanes: 8}"
    check_file(scenario(tmp_path, ("{clock: 1 GHz, technology.voltage: 0.7 V}", keys)))


def test_on_a_chip_that_lacks_a_key_the_place_is_named(tmp_path: Path) -> None:
    path = scenario(tmp_path, ("clock: 1 GHz", "l9.size: 1 MiB"))
    with pytest.raises(ConfigError, match=r"two_streams.yaml:\d+:\d+: points.full.set l9.size: no such key path"):
        execute(Job(path, CHIP))
