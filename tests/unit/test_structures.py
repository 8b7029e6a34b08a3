"""Areas of structures by hand, nodes between tables, and what a chip file adds to its die."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import pytest
from fixtures_chip import CHIP, small_chip

from archsim.base.errors import ConfigError
from archsim.energy import die
from archsim.energy.chip import tables_for
from archsim.energy.structures import DieArea, load_structures
from archsim.energy.technology import load_technology
from archsim.lab.validate.area import before, inventory, suite
from archsim.lab.validate.area.dies import read
from archsim.spec.load import load, loads, names
from archsim.spec.locate import config_files
from archsim.spec.part import FILL, SEQUENCERS, STATUSES
from tests.tools.scripts import script

DERIVE = Path(__file__).parents[2] / "studies" / "technology" / "derive.py"


@pytest.fixture(scope="module")
def made() -> DieArea:
    return DieArea(load_technology("7nm"), load_structures())


def test_logic_is_gates_of_four_transistors_at_the_density_of_the_node(made: DieArea) -> None:
    assert made.logic(1e6) == pytest.approx(4 / 96.3)
    assert DieArea(load_technology("28nm"), made.structures).logic(1e6) == pytest.approx(4 / 15.3)


def test_a_mac_is_a_multiplier_an_adder_and_registers(made: DieArea) -> None:
    """Horowitz: 282 and 137 um2 at 45 nm, 0.8 um2 a gate; 56 register bits of 20 gates; 2.2 times all of it."""
    assert made.mac_gates(("int8", "int8"), "int32", 56) == pytest.approx(2.2 * (352 + 171 + 20 * 56))
    assert made.mac_gates(("int8", "bf16"), "fp32", 0) == pytest.approx(2.2 * (1069 + 5230))


def test_an_sram_is_cells_by_the_share_of_a_macro_that_is_cells(made: DieArea) -> None:
    cells = 1024 * 8192 * 0.027e-6
    assert made.sram(1024, 256, 1.0, "local") == pytest.approx(cells / 0.73 * 1.3)
    assert made.sram(1024, 4096, 1.5, "shared") == pytest.approx(cells / 0.73 * 1.5 * 2)  # no macro is larger
    assert made.sram(1024, 4, 1.0, "cache") == pytest.approx(cells / 0.45 * 6)


def test_efficiency_lies_on_a_line_along_the_logarithm_of_the_size() -> None:
    table = load_structures()
    assert table.macro_efficiency(32) == pytest.approx(0.58)
    assert table.macro_efficiency((4 * 32) ** 0.5) == pytest.approx((0.45 + 0.58) / 2)
    shares = [table.macro_efficiency(2.0**power) for power in range(-12, 14)]
    assert shares == sorted(shares)
    assert shares[0] == 0.2


def test_pads_do_not_shrink(made: DieArea) -> None:
    one = made.structures.memory("hbm")
    assert made.interface(one, 6) == pytest.approx(6 * (10.45 + 552.7 / 96.3))
    wide = DieArea(load_technology("28nm"), made.structures)
    assert wide.interface(one, 6) - made.interface(one, 6) == pytest.approx(6 * 552.7 * (1 / 15.3 - 1 / 96.3))
    with pytest.raises(ConfigError, match=r"no link 'pcie6' \(did you mean 'pcie\d'\?\); the area table has: pcie4"):
        made.structures.link("pcie6")


def test_a_node_between_tables_lies_between_them() -> None:
    low, high, between = (load_technology(f"{node}nm") for node in (7, 12, 10))
    share = log(10 / 7) / log(12 / 7)
    for dtype, unit in between.arithmetic.items():
        ends = (low.arithmetic[dtype].multiply_pj.value, high.arithmetic[dtype].multiply_pj.value)
        assert unit.multiply_pj.value == pytest.approx(ends[0] ** (1 - share) * ends[1] ** share)
    assert between.density_mtr_per_mm2.source.startswith("derived: 10nm, between 7nm (")
    assert low.sram.bank("read_pj", 65536, 64).value < between.sram.bank("read_pj", 65536, 64).value
    chip = small_chip(technology__node="10nm", technology__voltage="0.75 V")
    assert tables_for(chip).pj("mxu", "mac") > 0.07 + 0.03  # at 7 nm and the same supply


@pytest.mark.parametrize("node", ["2nm", "90nm", "7", "seven", "07nm", "7.5nm"])
def test_a_node_beyond_the_tables_is_refused_at_its_line(node: str) -> None:
    with pytest.raises(ConfigError, match=r"technology.node: found .*; allowed 12nm"):
        small_chip(technology__node=node)


def test_every_figure_of_every_table_has_a_status() -> None:
    """Those of a node are what the rules make of 45 and 7 nm."""
    derive = script(DERIVE)
    nodes = {int(name.removesuffix("nm")): path for name, path in config_files("technology").items()}
    assert sorted(nodes) == [3, 4, 5, 7, 12, 16, 28, 45, 65]
    for node in derive.VOLTAGE:
        assert nodes[node].read_text(encoding="utf-8") == derive.text(node), f"python {DERIVE} --write"
    for node in nodes:
        assert set(_statuses(derive.read(node))) <= set(STATUSES)


def _statuses(found: object) -> list[object]:
    """Status of every figure below; None where one has none."""
    if not isinstance(found, dict):
        return []
    own = [found.get("status")] if "value" in found or "points" in found else []
    return own + [status for child in found.values() for status in _statuses(child)]


def test_figures_below_seven_nanometres_are_claims() -> None:
    for node in ("5nm", "4nm", "3nm"):
        assert load_technology(node).arithmetic["int8"].multiply_pj.source.startswith("claimed: ")
    assert load_technology("5nm").arithmetic["int4"].multiply_pj.source.startswith("estimated: ")


GPU = {"class": "gpu", "links": [{"kind": "pcie4", "lanes": 16}, {"kind": "pcie4", "lanes": 4}]}


def test_links_are_of_kinds_of_the_area_table() -> None:
    with pytest.raises(ConfigError, match=r"links.1.kind: found 'pcie6'; allowed pcie4, .*\(did you mean 'pcie\d'\?\)"):
        small_chip(links=[{"kind": "pcie4", "lanes": 1}, {"kind": "pcie6", "lanes": 1}])


@pytest.mark.parametrize(
    ("control", "said"),
    [
        ("{name: c}", "c: found none of scalar_cores, subcores, units"),
        ("{name: c, scalar_cores: 1, lanes: 8}", "c.lanes: has no meaning without `subcores`"),
        ("{name: c, scalar_core: 1}", "c.scalar_core: unknown key 'scalar_core'"),
        ("{name: c, units: {fp65: 1}}", "c.units.fp65: found 'fp65'"),
        ("{name: fill, scalar_cores: 1}", "fill.name: found 'fill', a top-level key"),
    ],
)
def test_control_that_says_nothing_is_refused(control: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        loads(CHIP.replace("  - parallel:", f"  - control: {control}\n  - parallel:"))


def test_scalar_cores_and_units_take_the_area_of_their_gates(made: DieArea) -> None:
    text = "  - control: {name: c, scalar_cores: 2, units: {fp64: 3}}\n  - parallel:"
    areas = tables_for(loads(CHIP.replace("  - parallel:", text))).area_breakdown_mm2()
    die = DieArea(load_technology("45nm"), made.structures)
    assert areas["c"] == pytest.approx(die.logic(2 * 0.4e6 + 3 * die.lane_gates("fp64")))


def test_the_die_is_that_of_the_chips_own_formats() -> None:
    """A run in other formats computes on the same die."""
    base = tables_for(small_chip()).area_breakdown_mm2()
    assert (
        tables_for(small_chip(), {"inputs": "bf16", "weights": "bf16", "accumulate": "fp32"}).area_breakdown_mm2()
        == base
    )
    fewer = tables_for(small_chip(mxu__multipliers=["int8"])).area_breakdown_mm2()
    assert fewer["mxu"] < base["mxu"]


def test_a_stated_area_is_not_filled() -> None:
    keys = {"class": "gpu"}
    filled, stated = (
        tables_for(small_chip(**more, **keys)).area_breakdown_mm2() for more in ({}, {"mxu__area": "9 mm2"})
    )
    assert stated["mxu"] == 9 and stated[FILL] < filled[FILL]
    chip = load("a100")
    areas = tables_for(chip).area_breakdown_mm2()
    logic = sum(areas[name] for name in ("tensor_cores", "cuda_cores", "schedulers"))
    assert areas[FILL] == pytest.approx((load_structures().fill["gpu"].value - 1) * logic)


@pytest.mark.parametrize("chip", names())
def test_claims_and_estimates_are_found_by_how_their_sources_begin(chip: str) -> None:
    for key, text in tables_for(load(chip)).sources().items():
        for word in ("claimed: ", "estimated: "):
            inside = word in text and not text.startswith(("estimated: ", "claimed: "))
            assert not inside, f"{key}: {text}"


def test_a_class_fills_the_die_and_links_stand_on_it() -> None:
    bare, filled = (tables_for(small_chip(**keys)).area_breakdown_mm2() for keys in ({}, GPU))
    structures = load_structures()
    logic = sum(bare[name] for name in ("mxu", "vpu", SEQUENCERS))
    assert bare[SEQUENCERS] == pytest.approx(0.15 * (bare["mxu"] + bare["vpu"]))
    assert filled[FILL] == pytest.approx((structures.fill["gpu"].value - 1) * logic)
    density = load_technology("45nm").density_mtr_per_mm2.value
    assert filled["link pcie4"] == pytest.approx(20 * (0.48 + 3.962 / density))
    assert {name: filled[name] for name in bare} == bare


def test_what_is_on_the_die_and_not_in_use_counts_in_the_area_alone() -> None:
    used, spare = tables_for(small_chip()), tables_for(small_chip(l1__on_die="3/2", mxu__on_die=2))
    for part in ("host", "dma"):
        with pytest.raises(ConfigError, match=rf"{part}.on_die: has no meaning of a {part}, which has no area"):
            small_chip(**{f"{part}__on_die": 2})
    areas, more = used.area_breakdown_mm2(), spare.area_breakdown_mm2()
    assert (more["l1"], more["mxu"]) == pytest.approx((1.5 * areas["l1"], 2 * areas["mxu"]))
    assert spare.parts["l1"].leakage_w == used.parts["l1"].leakage_w
    with pytest.raises(ConfigError, match=r"l1.on_die: found 1/2; allowed from 1, the instances in use"):
        small_chip(l1__on_die="1/2")


def test_structures_of_memories() -> None:
    areas = {
        word: tables_for(small_chip(l1__structure=word)).parts["l1"].area_mm2
        for word in ("local", "shared", "register_file", "cache")
    }
    assert areas["local"] == tables_for(small_chip()).parts["l1"].area_mm2
    assert areas["shared"] == areas["register_file"] == pytest.approx(areas["local"] * 2 / 1.3)
    assert areas["cache"] == pytest.approx(areas["local"] * 6 / 1.3)


def test_a_block_of_a_floorplan_names_what_is_on_the_die() -> None:
    plan = {"core": {"area": "3 mm2", "parts": ["mxu", "dram interface"]}}
    chip = small_chip(floorplan=plan)
    areas = tables_for(chip).area_breakdown_mm2()
    assert die.block_mm2(chip.floorplan["core"], areas) == areas["mxu"] + areas["dram interface"]
    for wrong, said in (
        (["mxv"], r"floorplan.core.parts: found 'mxv'; allowed dram interface, dma, l1, .*\(did you mean 'mxu'\?\)"),
        ([], r"floorplan.core.parts: found a list of 0; allowed a list of 1 text or more"),
    ):
        with pytest.raises(ConfigError, match=said):
            small_chip(floorplan={"core": {"area": "3 mm2", "parts": wrong}})


def test_dies_are_read_with_their_place(tmp_path: Path) -> None:
    plain = {"node_nm": 7, "die_mm2": 10, "area_status": "seen", "class": "gpu", "dram": None}
    (tmp_path / "dies.json").write_text(json.dumps({"a": plain}), encoding="utf-8")
    assert read(tmp_path)["a"].scored
    for wrong, said in (
        ({"die_mm2": -1}, r"dies.json:1:\d+: a.die_mm2: found -1; allowed a number above 0"),
        ({"clas": "gpu"}, r"a.clas: unknown key 'clas'; allowed area_status, class"),
        ({"class": "phone"}, r"a.class: found 'phone'; allowed datacenter, gpu, block, edge"),
        ({"area_status": "recalled"}, r"no die whose area_status is seen or bound"),
        ({"sram": [{"kib": 1, "macro_kib": 1, "kind": "l2"}]}, r"kind: found 'l2'; allowed local, shared, cache, rf"),
    ):
        (tmp_path / "dies.json").write_text(json.dumps({"a": plain | wrong}), encoding="utf-8")
        with pytest.raises(ConfigError, match=said):
            read(tmp_path)
    with pytest.raises(ConfigError, match=r"no such file; the suite reads dies.json"):
        read(tmp_path / "none")


def test_an_inventory_by_hand(tmp_path: Path) -> None:
    inside = {
        "node_nm": 28, "die_mm2": 100, "area_status": "bound", "class": "datacenter",
        "macs": {"int8": 1000, "fp16": 10},
        "scalar_cores": 2, "links": [{"kind": "pcie4", "lanes": 1}],
    }  # fmt: skip
    (tmp_path / "dies.json").write_text(json.dumps({"a": inside}), encoding="utf-8")
    found = inventory.parts(read(tmp_path)["a"])
    macs = 1000 * 2.2 * (352 + 171 + 20 * 56) * 4 / 15.3e6
    assert found[inventory.MACS] == pytest.approx(macs)
    assert found[SEQUENCERS] == pytest.approx(0.15 * macs)
    assert found[inventory.SCALAR_CORES] == pytest.approx(2 * 0.4 * 4 / 15.3)
    (row,) = suite.run(tmp_path).rows
    assert row.predicted == pytest.approx(sum(found.values()) + 1.57 * inventory.logic(found))
    assert row.left_out == row.predicted  # no other die of its class
    assert before.mm2(row.die) == pytest.approx(1e-6 * 1000 * (580 + 406.3 + 8.74 * 56))
