"""What networks and memories that ran alone leave in a directory: whole, made again from their numbers, kept apart."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from archsim.base import writable
from archsim.base.errors import ConfigError
from archsim.cli.app import app
from archsim.lab.files.stored_results import rebuilt
from archsim.lab.noc.measure import NocOptions, measure
from archsim.report.dram import page as dram_page
from archsim.report.kit import part_page
from archsim.report.noc import page as noc_page

RING = ("noc", "--topology", "ring", "--shape", "4", "--fidelity", "link", "--rates", "0.1,0.9")
FILES = ["curve.csv", "links.csv", "noc.json", "report.html", "report.md"]


def called(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("noc") / "ring"
    done = called(*RING, "--out", out)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-5:] == [str(out / name) for name in ("noc.json", *FILES[:2], *FILES[3:])]
    return out


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dram") / "t.csv"
    path.write_text("cycle,address,write\n0,0,R\n5,64,W\n9,4096,R\n", encoding="utf-8")
    return path


def test_a_network_leaves_numbers_tables_and_pages(ring: Path) -> None:
    assert sorted(path.name for path in ring.iterdir()) == FILES
    found = json.loads((ring / "noc.json").read_text())
    printed = json.loads(called(*RING, "--format", "json").stdout)
    assert found == printed and found["schema"] == "archsim.noc/1"
    with (ring / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["rate"]) for row in rows] == [point["rate"] for point in found["points"]] == [0.1, 0.9]
    for row, point in zip(rows, found["points"], strict=True):
        assert float(row["latency_mean_cycles"]) == point["latency_cycles"]["mean"]
        assert row["stable"] == str(point["stable"]) and int(row["flit_hops"]) == point["flit_hops"]
    with (ring / "links.csv").open() as file:
        links = list(csv.DictReader(file))
    assert [(int(row["from"]), int(row["to"]), float(row["flits_per_cycle"])) for row in links] == [
        (link["from"], link["to"], link["flits_per_cycle"]) for link in found["links"]
    ]


def test_its_page_has_the_curve_and_loads_nothing(ring: Path) -> None:
    page, words = (ring / "report.html").read_text(), (ring / "report.md").read_text()
    assert page.count("<svg") == 3 and page.count('class="chart narrow"') == page.count('class="chart wide"') == 1
    assert page.count('<figure class="moves">') == 1  # the map
    assert not re.search(r'(src|href)="(?!#|data:)|https?://|url\(', page)
    found = json.loads((ring / "noc.json").read_text())
    for text in (page, words):
        assert "ring 4, uniform" in text and f"{found['points'][0]['latency_cycles']['mean']:.1f}" in text
    assert len(re.findall(r"<circle", page)) == 2 * sum(point["stable"] for point in found["points"])
    assert f"stable up to {found['last_stable_rate']:g}, accepted" in words


def test_pages_are_made_again_byte_for_byte(ring: Path) -> None:
    before = {path.name: path.read_bytes() for path in ring.iterdir()}
    (ring / "report.html").unlink()
    assert rebuilt(ring) == [ring / "report.html", ring / "report.md"]
    assert {path.name: path.read_bytes() for path in ring.iterdir()} == before


def test_a_trace_of_packets_has_links_and_no_curve(tmp_path: Path) -> None:
    packets = tmp_path / "p.csv"
    packets.write_text("cycle,source,target,flits\n0,0,2,3\n1,1,3,2\n", encoding="utf-8")
    done = called("noc", "--topology", "mesh", "--shape", "2x2", "--trace", packets, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [name for name in FILES if name != "curve.csv"]
    assert "2 packets, 5 flits" in (tmp_path / "out" / "report.md").read_text()


def test_a_crossbar_without_links_has_no_table_of_them() -> None:
    found = measure(NocOptions("crossbar", (4,), rates=(0.1,), fidelity="link"))
    made = noc_page.KIND.page(found)
    assert found["links"] == [] and [*made.tables] == ["curve.csv"]
    assert [section.table.title for section in made.sections] == ["Latency against load"]


def test_a_memory_leaves_the_same(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("dram", trace, "--standard", "ddr4", "--speed", "2400")
    done = called(*command, "--out", out)
    assert done.exit_code == 0, done.output
    names = ["commands.csv", "dram.json", "latency.csv", "report.html", "report.md"]
    assert sorted(path.name for path in out.iterdir()) == names
    found: dict[str, Any] = json.loads((out / "dram.json").read_text())
    assert found == json.loads(called(*command, "--format", "json").stdout)
    with (out / "commands.csv").open() as file:
        assert {row["command"]: int(row["count"]) for row in csv.DictReader(file)} == found["commands"]
    with (out / "latency.csv").open() as file:
        assert sum(int(row["reads"]) for row in csv.DictReader(file)) == found["reads"] == 2
    before = (out / "report.html").read_bytes()
    assert rebuilt(out) and (out / "report.html").read_bytes() == before


def test_writes_alone_have_no_latency(trace: Path, tmp_path: Path) -> None:
    only = tmp_path / "w.csv"
    only.write_text("cycle,address,write\n0,0,W\n", encoding="utf-8")
    assert called("dram", only, "--standard", "ddr4", "--speed", "2400", "--out", tmp_path / "out").exit_code == 0
    assert not (tmp_path / "out" / "latency.csv").exists()


def test_results_of_one_kind_do_not_replace_those_of_another(ring: Path, trace: Path, tmp_path: Path) -> None:
    """Refused before anything is simulated."""
    before = {path.name: path.read_bytes() for path in ring.iterdir()}
    done = called("dram", trace, "--standard", "ddr4", "--speed", "2400", "--out", ring)
    assert isinstance(done.exception, ConfigError) and "holds a network's run" in str(done.exception)
    assert {path.name: path.read_bytes() for path in ring.iterdir()} == before
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds a run or scenario, whose pages would be replaced; allowed another"):
        part_page.check_free(tmp_path, dram_page.KIND)


def test_whole_or_not_there(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads((ring / "noc.json").read_text())
    left = [3]

    def full(path: Path, data: bytes, **kept: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise OSError(28, "No space left on device")
        put(path, data, **kept)

    put = writable.put
    monkeypatch.setattr(writable, "put", full)
    with pytest.raises(ConfigError, match="cannot be written"):
        part_page.save(tmp_path / "new", found, noc_page.KIND)
    assert not (tmp_path / "new").exists()


def test_what_is_damaged_is_refused(ring: Path, tmp_path: Path) -> None:
    for text, said in (("{", "cannot be read"), ('{"schema": "x"}', "found schema 'x'"), ("[]", "found schema 'list'")):
        (tmp_path / "noc.json").write_text(text)
        with pytest.raises(ConfigError, match=re.escape(said)):
            rebuilt(tmp_path)
    found = json.loads((ring / "noc.json").read_text())
    del found["points"]
    (tmp_path / "noc.json").write_text(json.dumps(found))
    with pytest.raises(ConfigError, match="what is stored there is damaged"):
        rebuilt(tmp_path)
