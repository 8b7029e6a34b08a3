"""The cost of an enlarged part is known where a model follows the change; else it is absent, with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fixtures_result import make_result

from archsim.base.errors import MappingError
from archsim.ir.result import Result
from archsim.lab.run.job import Job, build
from archsim.lab.what_if.change_cost import FREE, UnknownCost, unknown
from archsim.lab.what_if.variants import variants
from archsim.lab.what_if.why import why
from archsim.report.run.layouts import what_would_help
from archsim.spec.architecture import Architecture
from archsim.spec.load import load, loads
from archsim.spec.load import replace as vary
from tests.tools.commands import GOLDEN
from tests.tools.tables import shown


@pytest.fixture
def golden() -> Architecture:
    return load(GOLDEN / "chip.yaml")


def of(chip: Architecture, name: str) -> UnknownCost:
    """What is not known of the cost of a variant by name."""
    (variant,) = [each for each in variants(chip) if each.name == name]
    return unknown(chip, vary(chip, variant.keys), variant.keys)


def test_literals_of_a_chip_are_no_cost_of_a_change() -> None:
    chip = load("nvdla_large")
    columns = of(chip, "mac columns x2")
    assert columns.area == "area of mac is stated as 3.3 mm2, whatever its shape" and not columns.power
    assert of(chip, "sdp lanes x2").area == "area of sdp is stated as 0 mm2, whatever its lanes"
    assert of(chip, "dram bandwidth x2").area == "no model of area follows bandwidth of dram"
    assert of(chip, "conv_buffer size x2") == UnknownCost()


def test_stated_leakage_and_energy_are_no_power_of_a_change(golden: Architecture) -> None:
    text = (GOLDEN / "chip.yaml").read_text(encoding="utf-8")
    for values, name, said in (
        ({"mxu.leakage": "3 mW"}, "mxu columns x2", "leakage of mxu is stated as 0.003 W, whatever its shape"),
        ({"l1.energy.read": "2 pJ"}, "l1 size x2", "energy of l1.read is stated as 2 pJ, whatever its size"),
    ):
        assert of(loads(text, values), name).power == said
        assert not of(golden, name).power
    stated = loads(text, {"mxu.energy.mac": "1 pJ"})  # of one MAC, however many there are
    assert not of(stated, "mxu columns x2").power


def test_what_no_model_prices_has_no_cost(golden: Architecture) -> None:
    found = of(golden, "dma channels x2")
    assert found.area == found.power == found.said == "no model of area and power follows channels of dma"
    overlap = of(golden, "mxu fold overlap")
    assert overlap.area == overlap.power and "fold_overlap of mxu" in overlap.area
    assert of(golden, "mxu double buffer") == UnknownCost()  # registers are priced


@pytest.mark.slow
@pytest.mark.parametrize("name", ["edge_npu", "nvdla_large", "mtia_v2i", "a100"])
def test_every_difference_of_zero_is_free_by_nature_or_keeps_the_peak(name: str) -> None:
    """A cost that is known and zero is of what ``FREE`` lists, or of bursts: as many pins as before."""
    from archsim.energy.chip import tables_for

    chip = load(name)
    area = sum(tables_for(chip).area_breakdown_mm2().values())
    seen = set()
    for variant in variants(chip):
        changed = vary(chip, variant.keys)
        found = unknown(chip, changed, variant.keys)
        if not found.area and sum(tables_for(changed).area_breakdown_mm2().values()) == area:
            last = {key.rpartition(".")[2] for key in variant.keys}
            assert last <= FREE.keys() or last == {"width", "channels"}, variant.name
            seen |= last
    assert {"clock", "slots"} <= seen


def test_more_banks_and_wider_words_say_what_the_tables_leave_out() -> None:
    chip = load("mtia_v2i")
    for key in ("banks", "word"):
        said = of(chip, f"local_memory {key} x2")
        assert (said.area == "no model of area follows word of local_memory") is (key == "word")
        assert "crossbar that join them are not modelled" in said.remark
        assert ("CACTI points have less energy of an access" in said.remark) is (key == "banks")
    assert not of(chip, "local_memory size x2").remark


def outcomes(
    golden: Architecture, new: int, kept: int | None, objective: str = "latency", joules: float = 0.0
) -> tuple[dict[str, object], list[Architecture]]:
    """The row of twice the banks where the new mapping takes so many more cycles, and the kept one so many."""
    base, asked = make_result(3), list[Architecture]()

    def other(more: int, energy_j: float = 0.0) -> Result:
        cycles = base.cycles_total + more
        latency = base.latency_s + more * 1e-9
        figures = {"cycles_total": cycles, "latency_s": latency, "energy_j": base.energy_j + energy_j}
        return replace(base, figures={**base.figures, **figures})

    def keep(chip: Architecture) -> Result | None:
        asked.append(chip)
        return None if kept is None else other(kept)

    def simulate(_: Architecture, name: str) -> Result:
        if name == "l1 size x2":
            raise MappingError("nothing fits")
        return other(new if name == "l1 banks x2" else 0, joules if name == "l1 banks x2" else 0.0)

    rows = {row.variant.name: row.to_json() for row in why(base, golden, simulate, keep, objective)}
    return dict(rows["l1 banks x2"]), asked


def test_the_mapping_of_the_chip_as_it_is_is_kept_where_the_new_one_is_worse(golden: Architecture) -> None:
    row, asked = outcomes(golden, new=7, kept=-2)
    assert (row["mapping"], row["gain_cycles"]) == ("kept", 2)
    assert str(row["remark"]).startswith("the mapping is kept; what the search chose for this chip takes ")
    assert len(asked) == 1 and asked[0].memory("l1").banks == 2 * golden.memory("l1").banks
    for kept in (7, 9, None):  # no better, worse, not valid there
        row, asked = outcomes(golden, new=7, kept=kept)
        assert (row["mapping"], row["gain_cycles"], len(asked)) == ("new", -7, 1)
    row, asked = outcomes(golden, new=-1, kept=-5)
    assert (row["mapping"], row["gain_cycles"], asked) == ("new", 1, [])


def test_the_objective_says_what_is_worse(golden: Architecture) -> None:
    row, asked = outcomes(golden, new=5, kept=0, objective="energy", joules=-1e-9)
    assert (row["mapping"], asked) == ("new", [])
    row, asked = outcomes(golden, new=-5, kept=0, objective="energy", joules=1e-9)
    assert (row["mapping"], len(asked)) == ("kept", 1)


def test_absent_costs_are_dashes_and_each_remark_stands_once(golden: Architecture) -> None:
    rows = [row.to_json() for row in why(make_result(3), golden, lambda *_: make_result(3))]
    made = what_would_help({"details": {"why": rows}})
    costs = {row["change of the chip"]: (row["area, mm²"], row["power, mW"]) for row in shown(made)}
    assert costs["dma channels x2"] == ("–", "–")
    raw = {row["name"]: row for row in rows}
    assert raw["dma channels x2"]["area_mm2"] is None and raw["l1 slots x2"]["area_mm2"] == 0
    notes = [note for note in made.below if "priced as n banks" in note]
    assert len(notes) == 1 and notes[0].startswith("acc banks x2, acc word x2, l1 banks x2, l1 word x2: ")


def test_a_kept_mapping_is_the_one_that_the_chip_has() -> None:
    """On the same chip it lowers to the same Program; on a larger one no layer is mapped anew."""
    job = Job("eye_tracking", "edge_npu")
    base = build(job)
    assert build(job, keep=base.mapping).program == base.program
    wider = vary(base.architecture, {"l1.banks": 2 * base.architecture.memory("l1").banks})
    other = build(job.on(wider), keep=base.mapping)
    assert base.mapping is not None and other.mapping is not None
    assert [each.nodes for each in other.mapping.layers] == [each.nodes for each in base.mapping.layers]
