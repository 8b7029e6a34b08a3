"""The layer table says what each figure is over: use of a span beside what bounds the critical path is no riddle."""

from __future__ import annotations

from typing import Any

import pytest
from fixtures_result import make_result

import archsim as ax
from archsim.report.kit.number_format import NONE
from archsim.report.run import html, markdown
from archsim.report.run.layer_columns import HEADS, NOTE, layer_rows, totals
from archsim.report.run.layer_rows import layer_row, remarks
from archsim.report.run.summary import summarise
from tests.tools.commands import GOLDEN

LAYER: dict[str, Any] = {
    "name": "conv_3_7x8x8", "op": "Conv", "macs": 1000, "cycles_start": 0, "cycles_end": 1000, "cycles_total": 1000,
    "utilization": 0.067, "energy_j": 0.0, "dram_read_bytes": 0, "dram_write_bytes": 0, "cycles_critical": 100,
    "bound_by": "compute", "stalls": {}, "fused_with": ["relu_4_7x8x8", "pool_5_3x4x8"], "view_of": None,
    "on_host": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return summarise(make_result(6))


def test_the_cause_that_bounds_a_layer_comes_with_its_share_of_the_critical_cycles() -> None:
    row = layer_row(LAYER, 1000, {"compute": 94, "dram": 6})
    assert (row["use_text"], row["bound"], row["bound_share_text"]) == ("6.7 %", "compute", "94.0 %")
    assert not row["bound_aside"] and row["bound_tip"] == ""
    assert layer_row(LAYER, 1000)["bound_share_text"] == NONE  # a summary that does not say


def test_a_layer_that_is_never_on_the_path_is_bound_by_its_arrays_time_and_says_so() -> None:
    row = layer_row({**LAYER, "cycles_critical": 0, "bound_by": "dram"}, 1000, {})
    assert (row["bound"], row["bound_share_text"], row["bound_aside"]) == ("DRAM", NONE, True)
    assert "arrays' time" in row["bound_tip"]
    view = layer_row({**LAYER, "cycles_critical": 0, "cycles_total": 0}, 1000)
    assert view["free"] and view["bound"] == "" and not view["bound_aside"]


def test_every_share_is_of_the_layers_critical_cycles() -> None:
    found = ax.run(GOLDEN / "workload.yaml", on=GOLDEN / "chip.yaml").summary
    critical = found["details"]["critical"]
    bound = [layer for layer in found["layers"] if layer["cycles_critical"]]
    shares = {row["name"]: row["bound_share"] for row in layer_rows(found)}
    for layer in bound:
        causes = critical[layer["name"]]
        assert shares[layer["name"]] == max(causes.values()) / sum(causes.values())
    assert len(bound) >= 2


def test_columns_stand_in_groups_by_what_they_are_over(summary: dict[str, Any]) -> None:
    page = html.render(summary)
    assert [head.name for head in HEADS if head.first] == ["start", "cycles", "energy", "remarks"]
    assert [head.name for head in HEADS if head.find] == ["layer", "operator", "longest wait", "bound by"]
    for group in ("over its own span", "on the critical path"):
        assert f'scope="colgroup">{group}</th>' in page
    table = page.partition('id="layer-table"')[2].partition("</table>")[0]
    assert table.count("data-find") == 4 and table.count('<tr><th scope="row">') == 1
    row = table.partition("<tbody>")[2].partition("</tr>")[0]
    assert row.count("<td") == len(HEADS)
    text = markdown.render(summary)
    assert "| span | use in span | longest wait | critical | of the run | bound by | share of critical |" in text
    assert NOTE.partition(";")[0] in text


def test_the_last_row_sums_what_can_be_summed(summary: dict[str, Any]) -> None:
    found = totals(summary)
    cycles = sum(layer["cycles_critical"] for layer in summary["layers"])
    assert found["critical"] == f"{cycles:,}" and cycles == summary["cycles_total"] == found["cycles"]
    assert found["share"] == "100.0 %"
    assert f"sum of all {len(summary['layers'])} rows" in html.render(summary)
    empty = totals({**summary, "layers": []})
    assert (empty["macs"], empty["critical"], empty["energy"]) == (NONE, "0", NONE)


def test_fused_layers_are_told_without_the_shape_that_they_share() -> None:
    assert remarks(LAYER) == "with relu_4, pool_5_3x4x8"
    assert remarks({**LAYER, "name": "stem"}) == "with relu_4_7x8x8, pool_5_3x4x8"
