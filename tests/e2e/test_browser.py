"""Pages in a real browser, without a window: no complaint, everything drawn, nothing sticks out, they print."""

from __future__ import annotations

from pathlib import Path

import pytest

import archsim as ax
from archsim.errors import ConfigError
from archsim.report import pdf
from tests.tools.browser import WIDTH, pages, seen
from tests.tools.commands import GOLDEN, Archsim, cache_of_its_own

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
axes: {{clock: [0.5 GHz, 1 GHz], dram.bandwidth: [4 GB/s, 8 GB/s, 16 GB/s]}}
constraints: ["latency_s <= 1"]
objectives: [latency_s, power_avg_w]
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run with what-ifs, a sweep and a comparison, each in its folder."""
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
    return {name: root / name for name in ("run", "sweep", "comparison")}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "drawings", "marks", "titles", "tables"),
    [("run", 9, 300, 150, 1), ("sweep", 3, 20, 12, 1), ("comparison", 2, 3, 3, 1)],
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
@pytest.mark.parametrize("name", ["run", "sweep", "comparison"])
def test_a_page_prints_on_a4(archsim: Archsim, folders: dict[str, Path], name: str) -> None:
    done = archsim("report", str(folders[name]), "--export", "pdf")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.splitlines()[-1] == str(folders[name] / "report.pdf")
    sizes = pages(folders[name] / "report.pdf")
    assert 1 <= len(sizes) <= 20
    assert all(size == pytest.approx(A4_LANDSCAPE, abs=1) for size in sizes)


@pytest.mark.browser
def test_what_a_page_does_wrong_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!DOCTYPE html><html><head></head><body><main><div style='width: 1500px'>wide</div>"
        "<table class='sortable'><tr><th>a</th></tr></table></main>"
        "<script>console.warn('careful'); nothing();</script></body></html>"
    )
    found = seen(page, tmp_path)
    assert "careful" in found.said and any("nothing is not defined" in text for text in found.said)
    assert found.width > WIDTH and found.wide == ("DIV: wide",)
    assert (found.tables, found.unsorted, found.marks, found.titles) == (1, 1, (), 0)


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
