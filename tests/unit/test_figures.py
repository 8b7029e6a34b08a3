"""Figures that must not mislead: whose MACs, of which peak, memory, sample; what is warned of; what is tried."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fixtures_chip import small_chip
from fixtures_result import make_result
from fixtures_timeline import UNITS, activity, record

from archsim.base.errors import SimulationError
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Nest
from archsim.ir.activity import Activity, DramStats
from archsim.ir.figure_table import FIGURES, RunQuantities
from archsim.ir.result import FIRST_SCHEMA, LayerResult
from archsim.ir.result_parts import MemoryFigures
from archsim.lab.compare.figures import figures as compared_figures
from archsim.lab.compare.runs import compare
from archsim.lab.run import warnings_of_run
from archsim.lab.run.account import array_time, macs_by_engine
from archsim.lab.run.dram_figures import dram_parts
from archsim.lab.what_if.variants import NO_VOLTAGE, variants
from archsim.lab.what_if.why import WhatIf
from archsim.report.kit.number_format import NONE, counted
from archsim.report.run import html, markdown, terminal
from archsim.report.run.headline import headline
from archsim.report.run.layer_layout import layers
from archsim.report.run.summary import load, summarise, to_text, upgraded
from archsim.sim.attribution import attribute
from archsim.sim.critical import bound_by, critical_cycles, critical_path
from archsim.sim.mac_breakdown import array_units, peak_macs_per_cycle, peak_of_dtypes, peak_of_formats
from archsim.spec.load import load as load_chip
from archsim.spec.load import names
from archsim.spec.load import replace as vary
from tests.tools.tables import cell

ARRAY = UNITS[1]
NEW = (
    "macs_array",
    "macs_vector",
    "macs_host",
    "macs_dense",
    "macs_executed",
    "utilization_dtype",
    "network_bound_cycles",
    "gap",
    "compulsory_bytes",
    "bounds",
    "per_sample",
)


def row(name: str, critical: int, bound: str = "compute") -> LayerResult:
    return LayerResult(name, "Conv", 0, 0, 0, 0, 0.0, 0.0, 0, 0, critical, bound, {})


def one_tile(**figures: int) -> Activity:
    """A tile of 20 cycles on the array: 5 of loading, 3 of fill, 10 of streaming, 2 of drain."""
    phases = (("weight_load", 5), ("fill_drain", 8), ("busy", 18), ("fill_drain", 20))
    return activity(record(ARRAY, 0, (0, 0, 20), None, phases, **figures))


# loading, useful work, what bounds


@pytest.mark.parametrize("dataflow", ["weight_stationary", "input_stationary", "output_stationary"])
@pytest.mark.parametrize("options", [{}, {"fold_overlap": True}, {"weight_double_buffer": True}])
def test_loading_is_what_a_command_takes_beyond_streaming_and_skew(dataflow: str, options: dict[str, bool]) -> None:
    """8 folds on 4 x 6: 4 cycles to load one; a second register hides all but the first; where sums stay none."""
    if dataflow == "output_stationary" and "weight_double_buffer" in options:
        return
    shape = ArrayShape(4, 6, **options)
    nest, extents = Nest(("g",), ("m",), ("n",), ("k",)), {"g": 8, "m": 5, "n": 5, "k": 3}
    extents["m" if dataflow == "output_stationary" else "k"] = 4
    found = catalogue.get(dataflow).fold(nest, extents, shape, accumulate=False)
    held = {"output_stationary": 0}.get(dataflow, 4 if "weight_double_buffer" in options else 8 * 4)
    skews = 1 if "fold_overlap" in options else 8
    assert (found.cycles_load, found.cycles_fill, found.cycles_drain) == (held, skews * 3, skews * 5)


def test_a_tile_is_charged_to_loading_useful_work_and_underfill() -> None:
    """Of 10 busy cycles at 4 slots 12 MACs are 3 useful ones."""
    run = one_tile(macs=12, slots=4)
    causes = critical_cycles(critical_path(run), run.clock_hz)["l0"]
    assert causes == {"weight_load": 5, "fill_drain": 5, "compute": 3, "edge_underfill": 7}
    assert bound_by(causes, {}) == "edge_underfill"
    full = one_tile(macs=40, slots=4)
    assert bound_by(critical_cycles(critical_path(full), full.clock_hz)["l0"], {}) == "compute"
    assert attribute(run).time_breakdown()[ARRAY]["weight_load"] == 5


def test_useful_time_is_in_the_clock_of_the_array() -> None:
    """At half the chip's clock 12 MACs take 6 cycles of the chip."""
    run = one_tile(macs=12, slots=4)
    causes = critical_cycles(critical_path(run, {ARRAY: run.clock_hz // 2}), run.clock_hz)["l0"]
    assert (causes["compute"], causes["edge_underfill"]) == (6, 4)


def test_layers_off_the_path_are_bound_by_the_largest_share_of_their_arrays_time() -> None:
    run = one_tile(macs=12, slots=4)
    own = array_time(run, attribute(run), array_units(run, small_chip()))["l0"]
    assert own == {"compute": 3, "edge_underfill": 7, "weight_load": 5, "fill_drain": 5}
    assert bound_by({}, {"stall_dram.weights": 6, **own}) == "edge_underfill"
    assert bound_by({}, {"stall_dram.weights": 8, **own}) == "dram"


# MACs and peaks


def test_macs_that_nobody_did_are_an_error() -> None:
    from test_account import model, run

    assert macs_by_engine(model(), run()) == (64, 0, 0)
    with pytest.raises(SimulationError, match="MACs are not conserved: the model has 64, arrays did 0"):
        macs_by_engine(model(), activity(record(UNITS[0], 0, (0, 0, 9), None, (("dram", 9),))))


def test_macs_on_vector_units_are_counted_apart() -> None:
    run = activity(record(ARRAY, 0, (0, 0, 9), macs=40, slots=4), record(UNITS[2], 0, (0, 0, 9), macs=7))
    assert macs_by_engine(None, run) == (40, 7, 0)


def test_the_peak_of_formats_is_that_of_the_best_pair_used() -> None:
    chip = load_chip("edge_npu")
    best, bf16 = peak_macs_per_cycle(chip), {"inputs": "bf16", "weights": "bf16"}
    assert peak_of_dtypes(chip, bf16) == best / 2 and peak_of_dtypes(chip, chip.dtypes) == best
    assert peak_of_dtypes(chip, {"inputs": "fp32", "weights": "fp32"}) == best  # no rate: nothing can run on the array
    half = activity(record(ARRAY, 0, (0, 0, 9), macs=40, slots=512))
    mixed = activity(record(ARRAY, 0, (0, 0, 9), slots=512), record(ARRAY, 1, (9, 9, 20), slots=1024))
    idle = activity(record(UNITS[0], 0, (0, 0, 9), None, (("dram", 9),)))
    found = [peak_of_formats(run, chip, bf16) for run in (half, mixed, idle)]
    assert found == [best / 2, best, best / 2]


# DRAM


def quantities(memories: dict[str, MemoryFigures]) -> RunQuantities:
    """Of a run that did nothing but move data."""
    times, macs, joules = (0, 1e-6, 1e-6), (0, 0, 0, 0, Fraction(1), Fraction(1)), (0.0, 0.0, 0.0, 0.0)
    return RunQuantities(small_chip(), None, {}, *times, *macs, *joules, memories, 0)


def stats(read: int, useful: int, peak: int) -> DramStats:
    return DramStats(read, 0, useful, 0, 3, 1, 0, 1, 0, peak)


def test_the_share_of_dram_is_the_busiest_memorys() -> None:
    base = activity(record(ARRAY, 0, (0, 0, 1000)))
    run = replace(base, dram={"near": stats(800, 700, 10**9), "far": stats(200, 200, 10**12)})
    layer = replace(row("l0", 1000), dram_read_bytes=1000)
    found = dram_parts(run, [layer], 1e-6)
    assert found["near"]["bandwidth_utilization"] == pytest.approx(0.8)
    assert found["far"]["bandwidth_utilization"] == pytest.approx(2e-4)
    parts = quantities(found)
    share, read, useful = (
        FIGURES[f"dram.{name}"].run(parts) for name in ("bandwidth_utilization", "read_bytes", "useful_bytes")
    )
    assert (share, read, useful) == (found["near"]["bandwidth_utilization"], 1000, 900)
    with pytest.raises(SimulationError, match="DRAM bytes are not conserved"):
        dram_parts(run, [row("l0", 1000)], 1e-6)


def test_bytes_that_nobody_asked_for_are_warned_of() -> None:
    base = activity(record(ARRAY, 0, (0, 0, 1000)))
    counts = {
        ("emb", "dram", "read_bytes"): 8,
        ("emb", "dram", "pin_read_bytes"): 64,
        ("fc", "dram", "read_bytes"): 128,
    }
    counts |= {("fc", "dram", "pin_read_bytes"): 128}
    slow = replace(base, counts=counts, dram={"dram": stats(192, 136, 10**9)})
    (said,) = warnings_of_run.figures(slow, [], {}, 1000)
    assert said.startswith("dram fetched far more than was asked for: emb 64 B for 8 B; ") and "fc" not in said
    fast = replace(slow, dram={"dram": stats(192, 136, 10**12)})  # 56 bytes in 56 ps of a us: of no importance
    assert warnings_of_run.figures(fast, [], {}, 1000) == []


def test_time_far_above_the_bounds_is_warned_of() -> None:
    run = activity(record(ARRAY, 0, (0, 0, 1000)))
    bounds = {name: {"bound_cycles": cycles} for name, cycles in (("a", 100), ("b", 300), ("c", 1), ("host", 0))}
    layers = [row("a", 400, "dram"), row("b", 597), row("c", 3), row("host", 50)]
    (said,) = warnings_of_run.figures(run, layers, bounds, 1000)
    assert "30.2 % of the run: a 400 cycles, 4 times, bound by DRAM, c 3 cycles, 3 times" in said
    assert warnings_of_run.figures(run, layers, bounds, 10_000) == []  # of no importance


# pages and comparisons


def test_pages_say_formats_first_and_lower_bounds() -> None:
    summary = summarise(make_result(6))
    shown = {name: (figure, remark) for name, figure, remark in headline(summary)}
    assert shown["utilization"][0] == f"{100 * summary['utilization_dtype']:.1f} %"
    assert shown["utilization"][1] == "of 409.6 GMAC/s as used"
    assert shown["of best peak"] == (f"{100 * summary['utilization']:.1f} %", "of 819.2 GMAC/s")
    assert "lower bound" in shown["area"][1] and "lower bound" in shown["power"][1]
    out = io.StringIO()
    terminal.show(summary, terminal.Console(file=out, width=100))
    for text in (out.getvalue(), html.render(summary), markdown.render(summary)):
        assert "weight load" in text and "lower bound" in text and "as used" in text


def batched(samples: int) -> dict[str, Any]:
    base = make_result(3)
    each = {"samples": samples, "cycles": 5.0, "time_s": 2e-6, "energy_j": 3e-6, "macs": 7.0, "dram_bytes": 9.0}
    return summarise(replace(base, per_sample=each))


def test_figures_of_a_sample_stand_beside_those_of_a_batch() -> None:
    shown = [figure for figure in headline(batched(4)) if figure[0] == "per sample"]
    assert shown == [
        ("per sample", "2 \N{MICRO SIGN}s", "5 cycles"),
        ("per sample", "3 \N{MICRO SIGN}J", "9 B of DRAM"),
    ]
    assert "per sample" not in [name for name, _, _ in headline(batched(1))]
    keys = {row["key"]: row for row in compared_figures([batched(1), batched(4)])}
    assert keys["per_sample.samples"]["values"] == [1, 4] and keys["per_sample.energy_j"]["unit"] == "J"
    assert keys["area_mm2"]["label"] == "area (lower bound)"
    said = compare([batched(1), batched(4)]).says
    assert any(text.startswith("The batches differ, 4 and 1: a sample takes 2") for text in said)
    assert not any(row["key"].startswith("per_sample") for row in compared_figures([batched(1), batched(1)]))


def test_several_memories_are_told_by_the_busiest() -> None:
    summary = summarise(make_result(3))
    one = summary["dram"]["memories"]["dram"]
    summary["dram"]["memories"] = {"lpddr": {**one, "bandwidth_utilization": 0.2}, "hbm": one}
    summary["details"]["dram"] = {name: {"peak_bytes_per_s": 10**12} for name in ("lpddr", "hbm")}
    shown = {name: remark for name, _, remark in headline(summary)}
    assert shown["DRAM traffic"] == "37.0 % of hbm's 1 TB/s"


def first_schema() -> dict[str, Any]:
    """A summary as the first schema had it: no new key, no new cause, MACs on arrays alone."""
    found = summarise(make_result(3))
    old = {key: value for key, value in found.items() if key not in NEW} | {"schema": FIRST_SCHEMA}
    old["macs"] = found["macs_array"]
    old["dram"] = {key: value for key, value in found["dram"].items() if key != "memories"}
    old["mac_breakdown"] = {key: value for key, value in found["mac_breakdown"].items() if key != "weight_load"}
    old["mac_breakdown"]["fill_drain"] += found["mac_breakdown"]["weight_load"]
    old["details"] = {key: value for key, value in found["details"].items() if key != "peak_dtype_macs_per_s"}
    return old


def test_summaries_of_the_first_schema_are_read(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(to_text(first_schema()))
    found, now = load(tmp_path), summarise(make_result(3))
    assert [found[key] for key in ("macs", "macs_array", "macs_vector")] == [
        now["macs"], now["macs_array"], now["macs_vector"],
    ]  # fmt: skip
    assert "utilization_dtype" not in found and upgraded(now) == now
    assert "lower bound" not in html.render(found) and "per sample" not in markdown.render(found)
    told = compare([found, now], ["old", "new"])
    assert told.figures.loc["macs_array", "old"] == told.figures.loc["macs_array", "new"]
    slots = told.slots.set_index("cause")
    assert slots.loc["weight_load", "base"] == 0 and slots["difference"].sum() == 0


# what would help


def test_what_ifs_tune_arrays_rings_words_moves_and_bursts() -> None:
    chip = small_chip()
    plain = vary(load_chip("edge_npu"), {"mxu.weight_double_buffer": False, "mxu.fold_overlap": False})
    found = {variant.name: variant for variant in variants(plain)}
    assert {
        "mxu double buffer", "mxu fold overlap", "l1 slots x2", "acc slots x2", "l1 word x2", "dma channels x2",
        "dram burst x2",
    } <= {*found}  # fmt: skip
    better = vary(plain, {**found["mxu double buffer"].keys, **found["mxu fold overlap"].keys}).arrays[0]
    assert better.weight_double_buffer and better.fold_overlap
    assert set(vary(plain, found["l1 slots x2"].keys).memory("l1").slots.values()) == {4}
    assert vary(plain, found["l1 word x2"].keys).memory("l1").word_bytes == 2 * plain.memory("l1").word_bytes
    assert vary(plain, found["dma channels x2"].keys).dma.channels == 2
    wide, dram = vary(plain, found["dram burst x2"].keys).memory("dram"), plain.memory("dram")
    assert (wide.width_bits, wide.channels) == (2 * dram.width_bits, dram.channels // 2)
    assert not any("double buffer" in variant.name for variant in variants(load_chip("edge_npu")))  # it has one
    assert not any("burst" in variant.name for variant in variants(chip) if chip.memory("dram").standard == "constant")


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_what_if_is_a_chip_and_its_options_have_a_meaning(name: str) -> None:
    chip = load_chip(name)
    tried = [*variants(chip)]
    assert len({variant.name for variant in tried}) == len(tried)
    for variant in tried:
        assert vary(chip, variant.keys) != chip
        for array in vary(chip, variant.keys).arrays:
            shape = ArrayShape(array.rows, array.cols, Fraction(1), array.weight_double_buffer, array.fold_overlap)
            catalogue.get(array.dataflow).registers({"inputs": 8, "weights": 8, "partials": 32}, shape)


def test_a_faster_clock_says_that_voltage_is_not_counted() -> None:
    (clock,) = [variant for variant in variants(load_chip("edge_npu")) if variant.name == "clock x1.2"]
    told = WhatIf(clock, 100, 20, 16.7, 0.0, 5.0).to_json()
    assert told["remark"] == NO_VOLTAGE
    summary = summarise(make_result(3), (told,))
    out = io.StringIO()
    terminal.show(summary, terminal.Console(file=out, width=100))
    for text in (out.getvalue(), html.render(summary), markdown.render(summary)):
        assert "clock x1.2: voltage is not counted" in text


def test_counts_of_one_screen_say_what_they_count() -> None:
    """Layers are those of the model, in the headline and in sentences; rows of the result, views and the host's own
    time among them, are called rows; one is no plural."""
    summary = summarise(make_result(3))
    summary["workload"] = {**summary["workload"], "layers": 2}
    out = io.StringIO()
    terminal.show(summary, terminal.Console(file=out, width=100))
    shown = " ".join(out.getvalue().split())
    assert "2 layers, " in shown and f" of {len(summary['layers'])} rows" in shown and len(summary["layers"]) > 2
    assert "of 2 layers make half" in shown or "One layer makes half" in shown
    assert counted(1, "layer") == "1 layer" and counted(1234, "row") == "1,234 rows"


def test_use_of_arrays_that_did_nothing_of_a_layer_is_a_dash() -> None:
    summary = summarise(make_result(3))
    layer = {**summary["layers"][0], "macs": 9, "utilization": 0.0, "on_host": False}
    rows = layers({**summary, "layers": [layer, {**layer, "on_host": True}, {**layer, "utilization": 0.25}]})
    nothing, quarter = cell(rows, 0, "use in span"), cell(rows, 2, "use in span")
    assert nothing.shown == NONE and "which did none of its MACs" in nothing.tip
    assert (quarter.shown, quarter.tip) == ("25.0 %", "")
    said = [cell(rows, at, "remarks").shown for at in range(3)]
    assert "MACs on a vector unit" in said[0] and "vector" not in said[1] + said[2]
