"""Pages in a real browser, without a window: no complaint, everything drawn, nothing sticks out, on a desk and on a
phone; they print on full sheets, and the layers can be filtered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.report.kit import pdf
from archsim.report.run import html
from archsim.report.run.layer_layout import layers
from archsim.report.run.summary import load
from tests.tools.browser import PHONE, WIDTH, pages, seen
from tests.tools.commands import GOLDEN, Archsim, cache_of_its_own
from tests.tools.tables import shown

pytestmark = pytest.mark.slow  # a browser for each page

A4_LANDSCAPE = (841.92, 594.96)
LONG = "a_layer_with_a_name_that_is_much_longer_than_any_column_of_a_table_should_ever_have_to_be_and_no_blank_in_it"
TOPOLOGY = f"""Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 10, 10, 3, 3, 4, 8, 1,
{LONG}, 8, 8, 3, 3, 8, 8, 1,
"""
SWEEP = """
name: small
chip: {chip}
models: [{model}]
axes: {{clock: [0.5 GHz, 1 GHz], dram.bandwidth: [4 GB/s, 8 GB/s, 16 GB/s], dma.channels: [2], l1.banks: [4]}}
constraints: ["latency_s <= 1"]
objectives: [latency_s, power_avg_w]
"""
PAGES = ("run", "sweep", "comparison", "scenario")
CAUSE = "DRAM"  # of one layer, not of all
LETTERS = 9.0  # pixels, of the smallest letters in a drawing
# On a phone, without moving anything: drawings, how many bars they have, and some of their words.
DRAWN: dict[str, tuple[tuple[str, int, tuple[str, ...]], ...]] = {
    "run": (
        ("MAC slots by cause", 3, ("peak", "100.0 %, ", "useful MACs", "share, cycles' worth")),
        ("Cycles of each unit by cause", 4, ("core[0].array",)),
        ("Critical path by layer", 2, ("conv1",)),
        ("Roofline of the layers", 0, ("peak ", "DRAM ", "MACs per byte of DRAM traffic", "conv1")),
        ("Energy by part", 2, ("J, ", " %")),
    ),
    "sweep": (
        ("How latency_s changes along each axis", 2, ("clock", "dram.bandwidth", " x  (")),
        ("Points of the sweep: power_avg_w against latency_s", 0, ("power_avg_w", "latency_s")),
    ),
    "comparison": (("Difference of the time by cause", 1, ("-",)), ("Difference of the energy by part", 1, ())),
    "scenario": (("Power by stream", 1, ("W, ",)), ("Power by part", 1, ("W, ",))),
}
MOST_SHEETS = {"run": 9, "sweep": 3, "comparison": 4, "scenario": 3}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run with what-ifs, a sweep, a comparison and a scenario, each in its folder."""
    root = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARCHSIM_CACHE", str(cache_of_its_own(root / "cache")))
        chip, model = GOLDEN / "chip.yaml", root / "tiny.csv"
        model.write_text(TOPOLOGY)
        base = ax.run(model, on=chip, why=True)
        base.save(root / "run")
        wider = ax.run(model, on=chip, set={"mxu.shape": [4, 8]})
        ax.compare(base, wider, names=["base", "wider"]).save(root / "comparison")
        (root / "sweep.yaml").write_text(SWEEP.format(chip=chip, model=model))
        ax.sweep(root / "sweep.yaml", out=root / "sweep", workers=1)
        for name in ("small", "large"):
            (root / f"{name}.csv").write_text(TOPOLOGY)
        (root / "scenario.yaml").write_text((GOLDEN / "scenario.yaml").read_text())
        ax.run_scenario(root / "scenario.yaml", on=chip).save(root / "scenario")
    return {name: root / name for name in PAGES}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "drawings", "marks", "titles", "tables"),
    [("run", 9, 300, 150, 1), ("sweep", 3, 20, 12, 1), ("comparison", 2, 3, 3, 1), ("scenario", 3, 10, 8, 3)],
)
def test_a_page_opens_without_complaint_and_fits(
    folders: dict[str, Path], tmp_path: Path, name: str, drawings: int, marks: int, titles: int, tables: int
) -> None:
    found = seen(folders[name] / "report.html", tmp_path)
    assert found.said == ()
    assert found.width <= WIDTH and found.wide == ()
    assert len(found.marks) >= drawings and min(found.marks) >= 1 and sum(found.marks) >= marks
    assert found.titles >= titles
    assert found.tables == tables and found.unsorted == 0


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_on_a_phone(folders: dict[str, Path], tmp_path: Path, name: str) -> None:
    found = seen(folders[name] / "report.html", tmp_path, PHONE)
    assert found.said == ()
    assert found.width <= PHONE and found.wide == ()
    assert found.letters >= LETTERS
    assert found.crushed == ()
    assert found.moving >= 1 and found.lost == ()
    assert found.outside == () and found.unsaid == () and found.hides == ()
    drawn = {title: (bars, words) for title, bars, words in found.drawn}
    for title, least, said in DRAWN[name]:
        bars, words = drawn[title]
        assert bars >= least and all(text in words for text in said), (title, words)


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_each_screen_shows_one_drawing_of_two(folders: dict[str, Path], tmp_path: Path, name: str) -> None:
    wide, narrow = (seen(folders[name] / "report.html", tmp_path, width) for width in (WIDTH, PHONE))
    titles = [title for title, _, _ in wide.drawn]
    assert titles == [title for title, _, _ in narrow.drawn] and len(titles) == len(set(titles))
    assert {title for title, _, _ in DRAWN[name]} <= set(titles)


@pytest.mark.browser
@pytest.mark.parametrize("width", [PHONE, WIDTH])
def test_words_of_remarks_are_whole_and_a_table_of_layers_fits(
    folders: dict[str, Path], tmp_path: Path, width: int
) -> None:
    summary = load(folders["run"])
    for at, layer in enumerate(summary["layers"]):
        layer["fused_with"] = [f"batchnormalization_{at + 117}", f"relu_{at + 118}"]
        layer["name"] = f"conv_{at + 116}_112x112x256"
        layer.update(cycles_start=10_030_458, cycles_total=1_122_455, cycles_critical=1_113_688, macs=115_605_504)
    (tmp_path / "long.html").write_text(html.render(summary), encoding="utf-8")
    found = seen(tmp_path / "long.html", tmp_path, width)
    assert found.split == ()
    assert width == PHONE or found.cut == ()


@pytest.mark.browser
@pytest.mark.parametrize("width", [PHONE, WIDTH])
def test_layers_are_filtered_by_name_operator_and_cause(folders: dict[str, Path], tmp_path: Path, width: int) -> None:
    typed = ("", "CONV", "conv1", CAUSE, "no such layer", "t", "")
    found = seen(folders["run"] / "report.html", tmp_path, width, typed)
    assert found.said == () and len(found.typed) == len(typed)
    everything, operators, name, cause, nothing, all_hold, again = found.typed
    assert everything["label"] == "Filter layers" and everything["seen"] and everything["told"] == ""
    assert sorted(everything["rows"]) == sorted(["conv1", LONG, "_host", "_static"])
    assert sorted(operators["rows"]) == sorted(["conv1", LONG]) and operators["told"] == "2 of 4 rows"
    assert name["rows"] == ["conv1"] and name["totals"][0] == 'sum of 1 of 4 rows with "conv1"'
    held = {
        row["layer"]
        for row in shown(layers(load(folders["run"])))
        if CAUSE in f"{row['bound by']} {row['longest wait']}"
    }
    assert set(cause["rows"]) == held and 0 < len(held) < 4
    assert nothing["rows"] == [] and nothing["told"] == "0 of 4 rows"
    assert all_hold["totals"][1:] == everything["totals"][1:]  # the page sums and writes as the report does
    assert again == everything and everything["totals"][0] == "sum of all 4 rows"
    cycles = [int(each["totals"][7].replace(",", "")) for each in (everything, operators, name, nothing)]
    assert cycles[0] == cycles[1] > cycles[2] > cycles[3] == 0
    assert everything["totals"][8] == "100.0 %"


@pytest.mark.browser
def test_on_paper_the_filter_is_not_there_and_the_last_row_says_what_it_sums(folders: dict[str, Path]) -> None:
    page = (folders["run"] / "report.html").read_text(encoding="utf-8")
    style = page.partition("@media print")[2].partition("</style>")[0]
    assert ".screen { display: none; }" in style and '<div class="find screen" hidden>' in page
    assert not re.search(r"break-before: *(page|always)", style)


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_on_a4(archsim: Archsim, folders: dict[str, Path], name: str) -> None:
    done = archsim("report", str(folders[name]), "--export", "pdf")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.splitlines()[-1] == str(folders[name] / "report.pdf")
    sizes = pages(folders[name] / "report.pdf")
    assert 1 <= len(sizes) <= MOST_SHEETS[name]
    assert all(size == pytest.approx(A4_LANDSCAPE, abs=1) for size in sizes)


@pytest.mark.browser
def test_what_a_page_does_wrong_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!DOCTYPE html><html><head></head><body><main><div style='width: 1500px'>wide</div>"
        "<div class='scroll'><table class='sortable'><thead><tr><th>a</th></tr></thead><tbody><tr>"
        "<td style='display: inline-block; width: 20px; overflow: hidden'>words in a narrow column</td>"
        "<td style='min-width: 3000px'>a</td></tr></tbody></table></div>"
        "<svg viewBox='0 0 10000 10' width='100'><text font-size='20'>small</text></svg></main>"
        "<script>console.warn('careful'); nothing();</script></body></html>"
    )
    found = seen(page, tmp_path)
    assert "careful" in found.said and any("nothing is not defined" in text for text in found.said)
    assert found.width > WIDTH and found.wide == ("DIV: wide",)
    assert (found.tables, found.unsorted, found.marks, found.titles) == (1, 1, (0,), 0)
    assert found.letters < LETTERS and found.moving == 1
    assert found.crushed == ("TD: words in a narrow column",) and found.lost == ("DIV: awords in a narrow columna",)


@pytest.mark.browser
def test_what_a_page_hides_on_a_phone_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "hides.html"
    page.write_text(
        "<!DOCTYPE html><html><head></head><body style='margin: 0'><main><figure style='overflow: auto'>"
        "<svg viewBox='0 0 900 20' style='width: 900px'><title>bars</title><rect x='500' width='9' height='9'/>"
        "<text x='2' y='9'>name</text></svg></figure><div class='scroll' style='overflow: auto'><table><tbody><tr>"
        "<td style='min-width: 400px'>a</td><td>b<br>c<br>d<br>e<br>f</td></tr></tbody></table><table><tbody><tr>"
        "<td class='line' style='width: 60px; overflow-wrap: anywhere'>with batchnormalization_8</td>"
        "<td style='min-width: 300px'>a</td></tr></tbody></table></div></main></body></html>"
    )
    found = seen(page, tmp_path, PHONE)
    assert found.outside == ("rect: ",) and found.drawn == (["bars", 1, "name"],)
    assert found.unsaid == ("FIGURE: barsname",) and found.hides == ("TR: abcdef",)
    assert len(found.cut) == 1 and found.split == ("TD: with batchnormalization_8",)


def test_without_a_browser_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(pdf, "PLACES", ())
    with pytest.raises(ConfigError, match="pdf: no Chromium or Chrome") as refused:
        pdf.browser()
    for package in ("apt-get install chromium", "Ubuntu", "brew install --cask google-chrome", "Google.Chrome"):
        assert package in str(refused.value)


def installed(path: Path, script: str) -> str:
    """A program of that name that runs a shell script."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_browser_that_does_not_work_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pdf, "PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    stub = installed(tmp_path / "chromium-browser", "echo 'this needs a snap' >&2; exit 10")
    with pytest.raises(ConfigError, match="chromium-browser does not work: this needs a snap"):
        pdf.browser()
    working = installed(tmp_path / "google-chrome", '[ "$1" = --version ] || { echo broken >&2; exit 3; }')
    assert stub != working == pdf.browser()
    with pytest.raises(ConfigError, match="google-chrome failed on .*broken"):
        pdf.print_pdf(tmp_path / "page.html", tmp_path / "page.pdf")
    installed(tmp_path / "google-chrome", "exit 0")
    with pytest.raises(ConfigError, match="page.pdf: the browser wrote nothing"):
        pdf.print_pdf(tmp_path / "page.html", tmp_path / "page.pdf")
