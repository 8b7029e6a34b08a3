"""The layer table says what each figure is over: use of a span beside what bounds the critical path is no riddle."""

from __future__ import annotations

from typing import Any

import pytest
from fixtures_result import make_result

import archsim as ax
from archsim.report.kit.number_format import NONE
from archsim.report.kit.table import HTML, ReportTable, TableCell
from archsim.report.run import html, markdown
from archsim.report.run.layer_layout import LAYERS_NOTE, layers, remarks
from archsim.report.run.summary import summarise
from tests.tools.commands import GOLDEN
from tests.tools.tables import cell, shown

LAYER: dict[str, Any] = {
    "name": "conv_3_7x8x8", "op": "Conv", "macs": 1000, "cycles_start": 0, "cycles_end": 1000, "cycles_total": 1000,
    "utilization": 0.067, "energy_j": 0.0, "dram_read_bytes": 0, "dram_write_bytes": 0, "cycles_critical": 100,
    "bound_by": "compute", "stalls": {}, "fused_with": ["relu_4_7x8x8", "pool_5_3x4x8"], "view_of": None,
    "on_host": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return summarise(make_result(6))


def table_of(layer: dict[str, Any], total: int, critical: dict[str, int] | None = None) -> ReportTable:
    """The table of a run that has this layer alone."""
    details = {} if critical is None else {"critical": {layer["name"]: critical}}
    return layers({"layers": [layer], "cycles_total": total, "details": details})


def test_the_cause_that_bounds_a_layer_comes_with_its_share_of_the_critical_cycles() -> None:
    made = table_of(LAYER, 1000, {"compute": 94, "dram": 6})
    (row,) = shown(made)
    assert (row["use in span"], row["bound by"], row["share of critical"]) == ("6.7 %", "compute", "94.0 %")
    bound = cell(made, 0, "bound by")
    assert not bound.aside and bound.tip == ""
    assert shown(table_of(LAYER, 1000))[0]["share of critical"] == NONE  # a summary that does not say


def test_a_layer_that_is_never_on_the_path_is_bound_by_its_arrays_time_and_says_so() -> None:
    made = table_of({**LAYER, "cycles_critical": 0, "bound_by": "dram"}, 1000, {})
    bound = cell(made, 0, "bound by")
    assert (bound.shown, cell(made, 0, "share of critical").shown, bound.aside) == ("DRAM", NONE, True)
    assert "arrays' time" in bound.tip and not made.dim
    view = table_of({**LAYER, "cycles_critical": 0, "cycles_total": 0}, 1000)
    bound = cell(view, 0, "bound by")
    assert view.dim == {0} and bound.shown == "" and not bound.aside


def test_every_share_is_of_the_layers_critical_cycles() -> None:
    found = ax.run(GOLDEN / "workload.yaml", on=GOLDEN / "chip.yaml").summary
    critical = found["details"]["critical"]
    bound = [layer for layer in found["layers"] if layer["cycles_critical"]]
    made = layers(found)
    names = [row["layer"] for row in shown(made)]
    shares = {name: cell(made, at, "share of critical").value for at, name in enumerate(names)}
    for layer in bound:
        causes = critical[layer["name"]]
        assert shares[layer["name"]] == max(causes.values()) / sum(causes.values())
    assert len(bound) >= 2


def test_columns_stand_in_groups_by_what_they_are_over(summary: dict[str, Any]) -> None:
    page = html.render(summary)
    columns = layers(summary).columns
    groups = {column.group: column.heading for column in reversed(columns)}
    assert [groups[name] for name in ("over its own span", "on the critical path", "all that it caused")] == [
        "start", "critical", "energy",
    ]  # fmt: skip
    assert [column.heading for column in columns if column.find] == ["layer", "operator", "longest wait", "bound by"]
    for group in ("over its own span", "on the critical path"):
        assert f'scope="colgroup">{group}</th>' in page
    table = page.partition('id="layer-table"')[2].partition("</table>")[0]
    assert table.count("data-find") == 4 and table.count('<tr><th scope="row">') == 1
    row = table.partition("<tbody>")[2].partition("</tr>")[0]
    assert row.count("<td") == len(columns)
    text = markdown.render(summary)
    heads = "span, cycles | use in span | longest wait | critical, cycles | of the run | bound by | share of critical"
    assert f"| {heads} |" in text
    assert LAYERS_NOTE.partition(";")[0] in text


def test_the_last_row_sums_what_can_be_summed(summary: dict[str, Any]) -> None:
    made = layers(summary)
    last = [cell for cell in made.total_cells(HTML) if isinstance(cell, TableCell)]
    found = dict(zip(made.headings(HTML), last, strict=True))
    cycles = sum(layer["cycles_critical"] for layer in summary["layers"])
    assert found["critical, cycles"].shown == f"{cycles:,}" and cycles == summary["cycles_total"]
    assert found["of the run"].shown == "100.0 %" and found["of the run"].value == cycles
    assert f"sum of all {len(summary['layers'])} rows" in html.render(summary)
    nothing = {key: 0 for key in ("macs", "energy_j", "dram_read_bytes", "dram_write_bytes", "cycles_critical")}
    sums = layers({**summary, "layers": [{**LAYER, **nothing}]}).texts(HTML)[-1]
    empty = dict(zip(made.headings(HTML), sums, strict=True))
    assert (empty["MACs"], empty["critical, cycles"], empty["energy"]) == (NONE, "0", NONE)


def test_fused_layers_are_told_without_the_shape_that_they_share() -> None:
    assert remarks(LAYER) == "with relu_4, pool_5_3x4x8"
    assert remarks({**LAYER, "name": "stem"}) == "with relu_4_7x8x8, pool_5_3x4x8"
