"""What a chip draws by what it does: idle classes, waiting, delivery, and the sums of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures_chip import CHIP, small_chip

from archsim.base.errors import ConfigError
from archsim.energy.account import account
from archsim.energy.bands import add_bands, sides
from archsim.energy.chip import tables_for
from archsim.energy.states import load_states
from archsim.ir.result import Result
from archsim.ir.result_parts import Bands
from archsim.lab.run.job import Job
from archsim.lab.run.run import execute
from archsim.lab.validate.power import points
from archsim.lab.validate.power import suite as power_suite
from archsim.lab.validate.suite import WORTH, default_reference
from archsim.spec.load import load, loads

GPU = {"class": "gpu"}


def watts(key: str, **keys: object) -> float:
    """Leakage or waiting power of all parts on the chip."""
    tables = tables_for(small_chip(**keys))
    return sum(getattr(part, key) for part in tables.parts.values() if part.scope == "chip")


def test_an_idle_class_draws_by_the_area_of_the_die() -> None:
    states, tables = load_states(), tables_for(small_chip(**GPU))
    die = sum(tables.area_breakdown_mm2().values())
    assert watts("leakage_w", **GPU) == pytest.approx(states.idle["gpu"].value * die)  # 1 GHz, nominal supply
    assert watts("waiting_w", **GPU) == pytest.approx(states.waiting["gpu"].value * die)
    parts = {name: part for name, part in tables.parts.items() if part.scope == "chip"}
    density = {part.leakage_w / part.area_mm2 for part in parts.values() if part.area_mm2}
    assert max(density) == pytest.approx(min(density))  # spread by area
    assert tables.parts["mxu"].sources["leakage"].startswith("estimated: idle class gpu: calibrated: idle points")


def test_the_class_of_a_chip_says_how_it_idles_unless_it_states_it() -> None:
    assert [small_chip(**{"class": name}).idle_class for name in ("datacenter", "gpu", "block", "edge")] == [
        "always_on", "gpu", "gated", "gated",
    ]  # fmt: skip
    stated = {"class": "datacenter", "idle_class": "gated"}
    assert small_chip(**stated).idle_class == "gated" and small_chip().idle_class == ""
    assert watts("leakage_w", **stated) < watts("leakage_w", **{"class": "datacenter"}) / 4
    with pytest.raises(ConfigError, match=r"idle_class: found 'gate'; allowed .*gated.*did you mean 'gated'"):
        small_chip(idle_class="gate")


def test_half_goes_with_clock_and_voltage_the_rest_with_voltage() -> None:
    base = watts("leakage_w", **GPU)
    assert watts("leakage_w", clock="2 GHz", **GPU) == pytest.approx(1.5 * base)
    assert watts("waiting_w", clock="2 GHz", **GPU) == pytest.approx(2 * watts("waiting_w", **GPU))
    high = tables_for(small_chip(technology__voltage="1.8 V", **GPU)).parts
    low = tables_for(small_chip(**GPU)).parts
    assert high["mxu"].leakage_w == pytest.approx(4 * low["mxu"].leakage_w)
    assert high["l1"].leakage_w == pytest.approx((0.5 * 4 + 0.5 * 8) * low["l1"].leakage_w)
    assert high["mxu"].waiting_w == pytest.approx(4 * low["mxu"].waiting_w)


def test_what_a_part_states_is_taken_out_of_the_rest() -> None:
    whole = watts("leakage_w", **GPU)
    tables = tables_for(small_chip(l1__leakage="1 mW", **GPU))
    assert tables.parts["l1"].leakage_w == pytest.approx(1e-3)
    assert watts("leakage_w", l1__leakage="1 mW", **GPU) == pytest.approx(whole)
    assert watts("leakage_w", l1__leakage="10 W", **GPU) == pytest.approx(10)  # more than the whole: nothing is left


def test_the_power_of_the_whole_chip_may_be_stated() -> None:
    chip = small_chip(power={"idle": "28 W"}, **{"class": "datacenter"})
    tables = tables_for(chip)
    assert sum(part.leakage_w for part in tables.parts.values() if part.scope == "chip") == pytest.approx(28)
    assert tables_for(small_chip(power={"idle": "28 W"})).parts["mxu"].leakage_w > 1
    with pytest.raises(ConfigError, match=r"power.idel: unknown key 'idel'; allowed idle"):
        small_chip(power={"idel": "28 W"})


def test_sub_cores_deliver_operands() -> None:
    text = CHIP.replace("  - parallel:", "  - control: {name: schedulers, subcores: 4}\n  - parallel:")
    plain, simt = tables_for(small_chip()), tables_for(loads(text))
    factor = load_states().delivery.value
    for part, action in (("mxu", "mac"), ("vpu", "lane_ops"), ("vpu", "exp")):
        assert simt.pj(part, action) == pytest.approx(factor * plain.pj(part, action))
    assert simt.pj("l1", "read_accesses") == plain.pj("l1", "read_accesses")
    assert "delivery: " in simt.sources()["mxu.energy.mac"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A layer on a chip of class gpu."""
    path = tmp_path_factory.mktemp("states") / "gpu.yaml"
    path.write_text("extends: edge_npu\nname: gpu\nclass: gpu\n", encoding="utf-8")
    return execute(Job("eye_tracking", str(path), net=False)).result


def test_states_sum_to_the_energy_and_waiting_begins_with_the_kernel(run: Result) -> None:
    states, activity = run.power["states"], run.activity
    assert states["idle_j"] + states["waiting_j"] + states["actions_j"] == run.energy_j
    launch_ps = 2_000_000  # edge_npu's
    assert activity.total_ps - launch_ps <= activity.kernel_ps + 10**6 < activity.total_ps
    assert states["waiting_j"] > 0
    assert sum(sum(spent) for _, spent in run.power_parts) == run.energy_j


def test_power_over_time_has_the_waiting_surplus_while_a_kernel_is_on_the_chip(run: Result) -> None:
    trace = [watts for _, watts in run.power_trace]
    states, seconds = run.power["states"], run.activity.total_ps * 1e-12
    assert min(trace) >= states["idle_j"] / seconds * 0.999
    assert trace[-1] >= (states["idle_j"] + states["waiting_j"]) / seconds * 0.99


def test_a_chip_without_a_class_is_as_before() -> None:
    tables = tables_for(small_chip())
    assert all(part.waiting_w == 0 for part in tables.parts.values())
    assert tables.parts["vpu"].leakage_w == pytest.approx(
        tables.parts["vpu"].area_mm2 * 8.633e-3
    )  # logic at 45 nm by its area


def test_sides_and_bands() -> None:
    text = CHIP.replace("  - parallel:", "  - control: {name: schedulers, subcores: 4}\n  - parallel:")
    none, bare, edge, tpu = (small_chip(**keys) for keys in ({}, GPU, {"class": "edge"}, {"class": "datacenter"}))
    gpu = loads(text, GPU)
    assert sides(none) == sides(edge) == {"area_mm2": "lower", "power_avg_w": "lower"}
    assert sides(bare) == {"area_mm2": "estimate", "power_avg_w": "lower"}  # nothing issues to its units
    assert sides(gpu) == sides(tpu) == {"area_mm2": "estimate", "power_avg_w": "estimate"}
    empty: Bands = {"interval_s": {"cases": 0, "reason": "none"}}
    assert add_bands(empty, none, 100, 10) == add_bands(empty, edge, 100, 10) == empty
    assert "power_avg_w" not in add_bands(empty, bare, 100, 10)
    found, other = add_bands(empty, gpu, 100, 10), add_bands(empty, tpu, 100, 10)
    assert found["area_mm2"] == {"low": 100 / 1.22, "high": 122.0, "cases": 4}
    assert found["power_avg_w"] == {"low": 10 / 1.22, "high": pytest.approx(12.2), "cases": 7}
    assert other["area_mm2"]["cases"] == 7 and other["power_avg_w"]["high"] == pytest.approx(13.3)


def test_clocks_that_arrays_sustain_count() -> None:
    plain, paced = load("a100"), load("a100", {"platform": "llmcompass"})
    share = float(paced.platforms["llmcompass"].clock_share)
    waiting = [sum(part.waiting_w for part in tables_for(chip).parts.values()) for chip in (plain, paced)]
    assert waiting[1] == pytest.approx(share * waiting[0])


def test_parts_that_leak_more_than_the_chip_are_a_contradiction() -> None:
    with pytest.raises(ConfigError, match=r"power.idle: found 1 W of the chip, and 3 W of `leakage` of its parts"):
        tables_for(small_chip(power={"idle": "1 W"}, l1__leakage="3 W"))


def test_replacing_the_class_replaces_how_it_idles() -> None:
    assert load("edge_npu").replace({"class": "datacenter"}).idle_class == "always_on"


def test_account_prices_time_with_a_kernel_apart() -> None:
    chip = small_chip(**GPU)
    tables = tables_for(chip)

    class Counts:
        counts: dict[tuple[str, str, str], int] = {}  # noqa: RUF012
        total_ps, kernel_ps = 1000, 400

    energy = account(Counts(), chip, tables)
    for name, part in tables.parts.items():
        assert energy.static_zj[name] == 1000 * part.leakage_nw + 400 * part.waiting_nw
        assert energy.waiting_zj[name] == 400 * part.waiting_nw
    found = energy.by_state_j()
    assert found["actions_j"] == 0
    assert found["idle_j"] + found["waiting_j"] == energy.total_j


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("tpu_v1,idle", "tpu_v9,idle", r"power_points.csv:2: die: found 'tpu_v9' \(did you mean 'tpu_v\d'\?\)"),
        ("idle,always_on,28", "idle,always_on,-28", r":2: watts: found '-28'; allowed a number from 0"),
        ("idle,always_on,28", "idle,always_on,0", r":2: watts: found 0; allowed a number 1e-06 to 100000"),
        ("0,int8,1,", "0,fp17,1,", r":2: format: found 'fp17'.*; allowed int8, int16"),
        ("tpu_v3 min,", "tpu_v1 idle,", r"two points are called tpu_v1 idle"),
        ("idle,always_on,28", "sleep,always_on,28", r":2: state: found 'sleep'; allowed idle, busy"),
        ("idle,always_on,28", "idle,never_on,28", r":2: idle_class: found 'never_on'.*allowed always_on, gpu, gated"),
        ("point,die,state", "point,dye,state", r":1: no column die"),
    ],
)
def test_points_are_read_with_their_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    data = default_reference(WORTH)
    for name in ("dies.json", points.FILE):
        text = (data / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(old, new, 1) if name == points.FILE else text, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        power_suite.run(tmp_path)
