"""Every table of every kind of result has one layout: terminal, Markdown, HTML and notebooks show the same headings
with their units, in the same order, and the same cells, but for what the layout itself leaves out of a medium."""

from __future__ import annotations

import html as entities
import io
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import replace as vary
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import archsim as ax
from archsim.base.plain import code, visible
from archsim.base.plain import markdown as escaped
from archsim.lab.compare.runs import compare
from archsim.lab.dram.measure import DramReplay
from archsim.lab.dram.measure import measure as replayed
from archsim.lab.noc.measure import NocOptions, measure
from archsim.lab.run.job import Job
from archsim.lab.sweep.digest import digest, fronts
from archsim.lab.what_if.explain import explained
from archsim.report.compare import layouts as of_comparison
from archsim.report.compare import page as comparison_page
from archsim.report.compare import terminal as comparison_terminal
from archsim.report.dram import layouts as of_dram
from archsim.report.dram import page as dram_page
from archsim.report.dram import terminal as dram_terminal
from archsim.report.kit import part_page, table_html, table_markdown, table_notebook, table_terminal
from archsim.report.kit.console import PlainConsole, folded
from archsim.report.kit.table import (
    HTML,
    MARKDOWN,
    NOTEBOOK,
    TERMINAL,
    BarCell,
    Medium,
    ReportTable,
    ShortForm,
    TableCell,
    TableColumn,
)
from archsim.report.noc import layouts as of_network
from archsim.report.noc import page as network_page
from archsim.report.noc import terminal as network_terminal
from archsim.report.run import explanation, html, markdown, notebook, terminal
from archsim.report.run import layouts as of_run
from archsim.report.run.noc_rows import network
from archsim.report.run.summary import summarise
from archsim.report.scenario import layouts as of_scenario
from archsim.report.scenario import page as scenario_page
from archsim.report.scenario import terminal as scenario_terminal
from archsim.report.sweep import layouts as of_sweep
from archsim.report.sweep import page as sweep_page
from archsim.report.sweep import terminal as sweep_terminal
from tests.tools.commands import GOLDEN
from tests.unit.fixtures_result import make_result
from tests.unit.fixtures_scenario import CHIP, scenario
from tests.unit.test_report_network import STATS
from tests.unit.test_sweep_band import planted
from tests.unit.test_sweep_band import row as point
from tests.unit.test_terminal_widths import WHY

KINDS = ("run", "comparison", "scenario", "sweep", "network", "trace of packets", "memory", "explanation")
WIDE = 100_000
RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"


@dataclass(frozen=True)
class Shown:
    """A result: its tables, and what it is in each medium that it has."""

    tables: list[ReportTable]
    media: Mapping[Medium, str]


def on_terminal(show: Callable[[Console], None]) -> str:
    out = io.StringIO()
    show(Console(file=out, width=WIDE, highlight=False))
    return out.getvalue()


def a_run() -> Shown:
    summary = summarise(make_result(14), WHY)
    summary["details"]["noc"] = network(STATS)
    first = summary["layers"][0]["name"]
    summary["details"]["predicted"] = {first: {"bound_cycles": 10, "alone_cycles": None, "proof": "optimal | in space"}}
    summary["details"]["refinement"] = {
        "candidates": 2, "refined_cycles": 10, "analytic_cycles": 11, "kept": "refined",
    }  # fmt: skip
    summary["layers"][1]["name"] = "<b>|`evil`|</b>"
    media: dict[Medium, str] = {
        TERMINAL: on_terminal(lambda console: terminal.show(summary, console)),
        MARKDOWN: markdown.render(summary),
        HTML: html.render(summary),
        NOTEBOOK: notebook.card(summary),
    }
    return Shown([*of_run.tables(summary).values()], media)


def a_comparison() -> Shown:
    base = make_result(14)
    parts = {**base.energy_breakdown_j, "dram": 4.1e-3}
    layers = [
        vary(layer, cycles_critical=layer.cycles_critical + 3, energy_j=2.0 * layer.energy_j) for layer in base.layers
    ]
    figures = {"cycles_total": base.cycles_total + 3 * len(layers), "energy_j": sum(parts.values())}
    other = vary(base, figures={**base.figures, **figures}, energy_breakdown_j=parts, layers=layers)
    told = compare([summarise(base), summarise(other)], ["a|b", "<c>"]).told
    (found,) = told["differences"]
    made = [*of_comparison.tables(told).values(), *of_comparison.difference_tables(found).values()]
    media: dict[Medium, str] = {
        TERMINAL: on_terminal(lambda console: comparison_terminal.show(told, console)),
        MARKDOWN: comparison_page.markdown(told),
        HTML: comparison_page.html(told),
        NOTEBOOK: comparison_page.card(told),
    }
    return Shown(made, media)


def a_scenario(folder: Path) -> Shown:
    summary = ax.run_scenario(scenario(folder), on=CHIP).summary
    media: dict[Medium, str] = {
        TERMINAL: on_terminal(lambda console: scenario_terminal.show(summary, console)),
        MARKDOWN: scenario_page.markdown(summary),
        HTML: scenario_page.html(summary),
        NOTEBOOK: scenario_page.card(summary),
    }
    return Shown([*of_scenario.tables(summary).values()], media)


def a_sweep() -> Shown:
    table = planted(*(point(at, 1.0 + at / 100, 2.0 - at / 100) for at in range(23)))
    told = digest(table)
    media: dict[Medium, str] = {
        TERMINAL: on_terminal(lambda console: sweep_terminal.show(fronts(table), console)),
        MARKDOWN: sweep_page.markdown(told),
        HTML: sweep_page.html(told),
    }
    return Shown([of_sweep.front(told, model) for model in told["models"]], media)


def a_network(found: dict[str, Any]) -> Shown:
    made = network_page.KIND.page(found)
    media: dict[Medium, str] = {
        TERMINAL: network_terminal.to_table(found),
        MARKDOWN: part_page.markdown(made),
        HTML: part_page.html(made),
    }
    return Shown([*of_network.tables(found).values()], media)


def a_trace() -> Shown:
    load = {"packets": 3, "flits": 3, "multicasts": 0, "queued_cycles_mean": 0.5, "cycles": 10, "trace": "t.csv"}
    latency = {"mean": 4.0, "p50": 4, "p99": 5, "max": 5}
    curve = measure(NocOptions("ring", (4,), rates=(0.1,), fidelity="link"))
    shape = {key: curve[key] for key in ("topology", "shape", "nodes", "routers", "link_count", "link_delay_cycles")}
    shape |= {key: curve[key] for key in ("router", "routing", "fidelity", "links")}
    return a_network({**shape, **load, "latency_cycles": latency})


def a_memory(folder: Path) -> Shown:
    trace = folder / "t.csv"
    trace.write_text("cycle,address,write\n0,0,R\n5,64,W\n9,4096,R\n", encoding="utf-8")
    found = json.loads(json.dumps(replayed(DramReplay(trace=trace, standard="ddr4", speed_mts=2400))))
    made = dram_page.KIND.page(found)
    media: dict[Medium, str] = {
        TERMINAL: dram_terminal.to_table(found),
        MARKDOWN: part_page.markdown(made),
        HTML: part_page.html(made),
    }
    return Shown([*of_dram.tables(found).values()], media)


def an_explanation() -> Shown:
    told = explained(Job(str(GOLDEN / "workload.yaml"), str(GOLDEN / "chip.yaml")), "conv2").to_json()
    told["doubled"].append({"name": "l1 word x2", "cycles": None, "reason": "it does not fit"})
    return Shown([*explanation.tables(told).values()], {TERMINAL: explanation.to_table(told)})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    found = measure(NocOptions("ring", (4,), rates=(0.1, 1.0), fidelity="link"))
    made = (
        a_run(), a_comparison(), a_scenario(tmp_path_factory.mktemp("scenario")), a_sweep(), a_network(found),
        a_trace(), a_memory(tmp_path_factory.mktemp("dram")), an_explanation(),
    )  # fmt: skip
    return dict(zip(KINDS, made, strict=True))


class Cells(HTMLParser):
    """The texts of the cells of all tables on a page: of each table its rows, of each row its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.tables[-1][-1][-1] += data


def of_html(page: str, made: ReportTable) -> list[list[str]]:
    """Headings and rows; what stands above the headings says only what columns have in common."""
    (rows,) = Cells(page).tables
    groups = {column.group for column in made.columns} - {""}
    return rows[1:] if groups and groups <= set(rows[0]) else rows


def of_markdown(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert set(lines[1]) <= set("|-: ")
    return [re.split(r"(?<!\\) \| ", line[2:-2]) for line in (lines[0], *lines[2:])]


def of_terminal(made: ReportTable) -> list[list[str]]:
    """The lines cut where the columns are; headings may take several lines."""
    grid = table_terminal.rendered(made)
    widths, left_out = grid.fitted(WIDE)
    assert not left_out
    lines = grid.text(WIDE).split("\n")
    rule = next(at for at, line in enumerate(lines) if line.startswith(RULE))
    places, begin = [], 1
    for room in widths.values():
        places.append((begin, begin + room))
        begin += room + 2
    cut = [[line[first:last].strip() for first, last in places] for line in lines]
    heads = [" ".join(filter(None, column)) for column in zip(*cut[:rule], strict=True)]
    return [heads, *cut[rule + 1 :]]


def kept(made: ReportTable, medium: Medium) -> list[TableColumn]:
    """What the layout says: a medium has all columns but those that name others; bars are a terminal's."""
    return [each for each in made.columns if medium in each.media and (each.kind != "bar" or medium == TERMINAL)]


def whole(made: ReportTable) -> dict[str, list[str]]:
    """The text of every cell of every row, by the name of the row's place; no medium has a say in it."""
    rows = {str(at): row for at, row in enumerate(made.rows)}
    rows |= {"total": made.total} if made.total is not None else {}
    texts = {}
    for name, row in rows.items():
        found = []
        for column, cell in zip(made.columns, row, strict=True):
            own = cell.text if isinstance(cell, TableCell) else None
            value = cell.value if isinstance(cell, TableCell) else cell
            found.append("" if isinstance(cell, BarCell) else own if own is not None else column.show(value))
        texts[name] = found
    return texts


def expected(made: ReportTable, medium: Medium) -> list[list[str]]:
    texts, columns = whole(made), kept(made, medium)
    names = [str(at) for at in made.rows_in(medium)]
    names += ["total"] if made.total is not None and len(names) == len(made.rows) else []
    places = [at for at, one in enumerate(made.columns) if any(one is column for column in columns)]
    heads = [", ".join(filter(None, (column.heading, column.unit))) for column in columns]
    return [heads, *([texts[name][at] for at in places] for name in names)]


@pytest.mark.parametrize("kind", KINDS)
def test_all_media_show_the_same_headings_and_cells(results: dict[str, Shown], kind: str) -> None:
    assert results[kind].tables
    for made in results[kind].tables:
        assert of_html(table_html.rendered(made), made) == expected(made, HTML), made.title
        assert of_html(table_notebook.rendered(made), made) == expected(made, NOTEBOOK), made.title
        written = of_markdown(table_markdown.rendered(made))
        columns = kept(made, MARKDOWN)
        heads, *rows = expected(made, MARKDOWN)
        assert written[0] == [escaped(head) for head in heads]
        assert written[1:] == [
            [code(text) if column.code and text else escaped(text) for column, text in zip(columns, row, strict=True)]
            for row in rows
        ], made.title
        columns = kept(made, TERMINAL)
        bars = [at for at, column in enumerate(columns) if column.kind == "bar"]
        heads, *rows = expected(made, TERMINAL)
        found = of_terminal(made)
        assert found[0] == heads
        for row, texts in zip(found[1:], rows, strict=True):
            assert [text for at, text in enumerate(row) if at not in bars] == [
                " ".join(text.split()) if "\n" in text else text.strip()
                for at, text in enumerate(texts)
                if at not in bars
            ], made.title
        frame = table_notebook.columns(made)
        assert [*frame] == [*dict.fromkeys(expected(made, NOTEBOOK)[0])]


@pytest.mark.parametrize("kind", KINDS)
def test_a_medium_has_the_tables_that_say_so_and_no_others(results: dict[str, Shown], kind: str) -> None:
    """Headlines are cards on pages and on terminals; every other table is drawn by the renderer of its medium."""
    found = results[kind]
    for medium, text in found.media.items():
        own = [made for made in found.tables if medium in made.media]
        drawn = [made for made in own if made.title != "Headline" or medium in (MARKDOWN, NOTEBOOK)]
        if medium == TERMINAL:
            assert sum(line.startswith(RULE) for line in text.splitlines()) == len(drawn)
        elif medium == MARKDOWN:
            assert sum(bool(re.fullmatch(r"\|( -+:? \|)+", line)) for line in text.splitlines()) == len(drawn)
        else:
            assert text.count("<table") == len(drawn)
        for made in drawn:
            shown = {
                TERMINAL: lambda made: table_terminal.rendered(made).text(WIDE).splitlines()[-1].rstrip(),
                MARKDOWN: table_markdown.rendered,
                HTML: lambda made: str(table_html.rendered(made)).partition("<tbody>")[2].partition("</tbody>")[0],
                NOTEBOOK: table_notebook.rendered,
            }[medium](made)
            assert shown in text, (medium, made.title)
        for made in own:
            if made not in drawn:
                values = [texts[1] for texts in made.texts(medium)]
                assert all(value in entities.unescape(text) for value in values)


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_is_shown_somewhere_and_terminals_of_60_columns_keep_numbers(
    results: dict[str, Shown], kind: str
) -> None:
    for made in results[kind].tables:
        assert all(any(column.shown_in(medium) for medium in made.media) for column in made.columns), made.title
        assert all(made.headings(medium) for medium in made.media)
        for width in (60, 80, 120, 200):
            grid = table_terminal.rendered(made)
            lines = grid.text(width).splitlines()
            shown, left_out = grid.fitted(width)
            numbers = [at for at, column in enumerate(grid.columns) if column.kind == "number" and at in shown]
            for row in grid.rows:
                for at in numbers:
                    assert any(str(row[at]) in line for line in lines)
            assert set(left_out) <= {column.head for column in made.columns if column.rank}


def test_a_short_form_says_which_rows_of_how_many() -> None:
    columns = (TableColumn("name", "name"), TableColumn("size"))
    rows = [("c", 1), ("b", 5), ("a", 5), ("d", 0)]
    made = ReportTable(
        "Sizes", columns, rows, total=("all", 11), short=ShortForm({TERMINAL: 2}, by=1, words="the largest")
    )
    assert made.titled(TERMINAL) == "Sizes, the largest 2 of 4 rows" and made.titled(HTML) == "Sizes"
    assert made.texts(TERMINAL) == [["a", "5"], ["b", "5"]] and made.total_cells(TERMINAL) == []
    assert made.texts(HTML)[-1] == ["all", "11"] and len(made.texts(HTML)) == 5
    three = ReportTable("Sizes", columns, rows, short=ShortForm({TERMINAL: 3}))
    assert [row[0] for row in three.texts(TERMINAL)] == ["c", "b", "a"] and three.is_short(TERMINAL)


def test_a_table_without_rows_is_nothing() -> None:
    empty = ReportTable("None", (TableColumn("name"),), [], note="Nobody reads this.")
    assert not empty and table_html.rendered(empty, 3) == "" == table_markdown.rendered(empty)
    assert (
        table_markdown.section(empty) == [] == table_terminal.text(empty, 80) and table_notebook.rendered(empty) == ""
    )


def test_what_is_hidden_or_means_something_is_text_in_every_medium() -> None:
    evil = "<script>alert(1)</script>|\x1b[31m[bold]"
    columns = (TableColumn(evil, "word", meaning=evil), TableColumn("code", "word", code=True))
    made = ReportTable(evil, columns, [(TableCell(evil, tip=evil), evil)], note=evil, below=[evil])
    page = table_html.rendered(made, 3)
    assert "<script" not in page and "\x1b" not in page and page.count("&lt;script&gt;") == 8
    for text in ("\n".join(table_markdown.section(made)), table_notebook.rendered(made)):
        assert "<script" not in text.replace("`<script>", "") and "\x1b" not in text
    out, console = io.StringIO(), PlainConsole()
    console.file = out
    table_terminal.show(made, console)
    assert "\x1b" not in out.getvalue() and "[bold]" in out.getvalue()
    lines = folded("\n".join(table_terminal.text(made, WIDE)), None)
    assert "\x1b" not in visible(lines, keep="\n") and "[bold]" in lines
